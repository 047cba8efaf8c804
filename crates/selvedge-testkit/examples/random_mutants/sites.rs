//! Where a small mistake can be made, and which.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A place, and what becomes what there.
pub(crate) struct Site {
    /// From the root of the sources.
    pub(crate) file: PathBuf,
    line: usize,
    /// Where in the text of the file.
    at: usize,
    right: &'static str,
    wrong: &'static str,
}

impl Site {
    /// The package that the file belongs to.
    pub(crate) fn package(&self) -> &str {
        let folder = self.file.iter().nth(1).and_then(|name| name.to_str()).unwrap_or_default();
        if folder == "selvedge-loom" { "loom" } else { folder }
    }

    /// The text of the file with the mistake.
    pub(crate) fn mutated(&self, text: &str) -> String {
        [&text[..self.at], self.wrong, &text[self.at + self.right.len()..]].concat()
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (right, wrong) = (self.right.trim(), self.wrong.trim());
        write!(f, "{}:{}: `{right}` → `{wrong}`", self.file.display(), self.line)
    }
}

/// What becomes what. With white space where an operator could be part of another.
const MISTAKES: &[(&str, &str)] = &[
    (" == ", " != "),
    (" != ", " == "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" && ", " || "),
    (" || ", " && "),
    (" + 1", ""),
    (" - 1", ""),
    (" + ", " - "),
    ("..=", ".."),
    ("if !", "if "),
    (".any(", ".all("),
    (".all(", ".any("),
    (".min(", ".max("),
    (".max(", ".min("),
    (".first()", ".last()"),
    (".last()", ".first()"),
    (".rev()", ""),
    (".skip(1)", ""),
    ("(true)", "(false)"),
    ("(false)", "(true)"),
    (" true", " false"),
    (" false", " true"),
    ("return true;", "return false;"),
    ("return false;", "return true;"),
    ("continue;", "{}"),
    ("break;", "{}"),
    (" |= ", " &= "),
    (" &= ", " |= "),
    (" += 1;", " += 2;"),
    (".is_empty()", ".len() == 1"),
    (".is_some()", ".is_none()"),
    (".is_none()", ".is_some()"),
];

/// All places in the crates below `crates` whose path contains `word`: not in tests, comments, texts,
/// attributes and assertions of debug builds.
pub(crate) fn all(crates: &Path, word: &str) -> Vec<Site> {
    let root = crates.parent().expect("the crates have a parent");
    let mut sites = Vec::new();
    for file in files(crates) {
        let file = file.strip_prefix(root).expect("the file is below the root").to_owned();
        if file.to_str().is_some_and(|path| path.contains(word)) {
            let text = fs::read_to_string(root.join(&file)).expect("the sources can be read");
            sites.extend(in_file(&file, &text));
        }
    }
    sites
}

/// The source files of the product, in the order of their names.
fn files(crates: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut todo = vec![crates.to_owned()];
    while let Some(path) = todo.pop() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if matches!(name, "tests" | "tests.rs" | "examples" | "selvedge-testkit") {
            continue;
        }
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("the sources can be read");
            todo.extend(entries.map(|entry| entry.expect("the sources can be read").path()));
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn in_file(file: &Path, text: &str) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        // Tests stand at the end of a file.
        if line.contains("#[cfg(test)]") {
            break;
        }
        if is_code(line) {
            for &(right, wrong) in MISTAKES {
                let places = line.match_indices(right).map(|(at, _)| at);
                sites.extend(places.filter(|&at| !is_in_text(line, at)).map(|at| Site {
                    file: file.to_owned(),
                    line: index + 1,
                    at: start + at,
                    right,
                    wrong,
                }));
            }
        }
        start += line.len();
    }
    sites
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    let others = ["//", "#[", "#![", "use ", "debug_assert", "where "];
    !others.iter().any(|other| line.starts_with(other))
}

/// Whether the place is in a string or in a comment behind code.
fn is_in_text(line: &str, at: usize) -> bool {
    let before = &line[..at];
    before.matches('"').count() % 2 == 1 || before.contains("//")
}
