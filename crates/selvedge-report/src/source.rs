//! The lines of source that belong to executions: whole files if they are short, else the lines around the places.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::Place;
use serde::Serialize;

use crate::view::{Origin, TraceView};

/// Consecutive lines of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SourceView {
    /// The file as places name it.
    pub file: String,
    /// The number of the first line, from 1.
    pub first: usize,
    /// The lines.
    pub lines: Vec<String>,
}

/// So many lines are shown in all.
const MOST_LINES: usize = 2000;

/// So many lines are shown before and after a place, if not the whole file is.
const AROUND: usize = 20;

/// A file with so many lines is shown whole.
const SHORT: usize = 400;

/// Returns the source around all places of `traces`, by file and line, at most 2,000 lines. `program`: a file that is shown if it
/// is short, whether or not a place is in it.
pub fn sources<'a>(
    program: Option<&'a str>,
    traces: impl IntoIterator<Item = &'a TraceView>,
    origin: &dyn Origin,
) -> Vec<SourceView> {
    let mut wanted: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    wanted.extend(program.map(|file| (file, BTreeSet::new())));
    for trace in traces {
        for Place { file, line, .. } in trace.places() {
            wanted.entry(file).or_default().insert(*line as usize);
        }
    }
    let (mut all, mut room) = (Vec::new(), MOST_LINES);
    for (file, places) in wanted {
        let Some(text) = origin.text(file) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        for (first, last) in ranges(&places, lines.len()) {
            let last = last.min(first + room - 1);
            let shown = lines[first - 1..last].iter().map(|line| visible_source(line));
            all.push(SourceView { file: file.to_owned(), first, lines: shown.collect() });
            room -= last + 1 - first;
            if room == 0 {
                return all;
            }
        }
    }
    all
}

/// Returns the first and last lines to show of a file with `length` lines, ascending and apart.
fn ranges(places: &BTreeSet<usize>, length: usize) -> Vec<(usize, usize)> {
    if length == 0 {
        return Vec::new();
    }
    if length <= SHORT {
        return vec![(1, length)];
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &line in places.iter().filter(|&&line| line <= length) {
        let (first, last) = (line.saturating_sub(AROUND).max(1), (line + AROUND).min(length));
        match ranges.last_mut() {
            Some(range) if first <= range.1 + 1 => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }
    ranges
}

/// Returns the line without characters that would make it look like other code. Tabs stay: they are indentation.
fn visible_source(line: &str) -> String {
    line.split('\t').map(crate::width::visible).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_shown_around_the_places() {
        let places = |lines: &[usize]| lines.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(ranges(&places(&[7]), 12), [(1, 12)]);
        assert_eq!(ranges(&places(&[7, 30, 900, 5000]), 1000), [(1, 50), (880, 920)]);
        assert_eq!(ranges(&places(&[1000]), 1000), [(980, 1000)]);
        assert!(ranges(&places(&[1]), 0).is_empty());
    }

    #[test]
    fn indentation_stays_and_disguises_do_not() {
        assert_eq!(visible_source("\tx\u{202e}\u{1b}"), "\tx\u{fffd}\u{fffd}");
    }
}
