//! Mistakes that an earlier run printed, found again in sources that have changed since.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::workshop::site::Site;

/// A mistake as it was printed: `NUMBER  FILE:LINE: CHANGE`, with more before and after.
#[derive(Hash)]
pub(crate) struct Line {
    number: usize,
    file: PathBuf,
    line: usize,
    change: String,
}

/// The mistakes in what a run printed, each once.
pub(crate) fn parse(text: &str) -> Vec<Line> {
    let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
    for line in text.lines().filter_map(parse_line) {
        lines.entry(line.number).or_insert(line);
    }
    lines.into_values().collect()
}

fn parse_line(text: &str) -> Option<Line> {
    let (before, place) = text.split_at(text.find("  crates/")?);
    let number = before.split_whitespace().next_back()?.parse().ok()?;
    let (file, rest) = place.trim_start().split_once(':')?;
    let (line, change) = rest.split_once(": ")?;
    // What follows after three blanks is how it ended.
    let change = change.split("   ").next()?.to_owned();
    Some(Line { number, file: PathBuf::from(file), line: line.parse().ok()?, change })
}

/// The places of the mistakes: those where the same becomes the same, nearest to the old line.
pub(crate) fn find(lines: &[Line], sites: Vec<Site>) -> BTreeMap<usize, Site> {
    let mut sites: Vec<Option<Site>> = sites.into_iter().map(Some).collect();
    let mut found = BTreeMap::new();
    for line in lines {
        let like = sites.iter_mut().filter(|site| {
            site.as_ref().is_some_and(|s| s.file == line.file && s.change() == line.change)
        });
        let nearest = like.min_by_key(|site| {
            site.as_ref().map_or(usize::MAX, |site| site.line.abs_diff(line.line))
        });
        match nearest.and_then(Option::take) {
            Some(site) => drop(found.insert(line.number, site)),
            None => {
                let Line { number, file, line, change } = line;
                println!("gone  {number:4}  {}:{line}: {change}", file.display());
            }
        }
    }
    found
}
