//! A copy of the sources in which mistakes are made.

pub(crate) mod schemata;
pub(crate) mod site;
pub(crate) mod suites;

use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the sources.
pub(crate) struct Workshop {
    folder: PathBuf,
    /// Whether the folder stays when this is dropped.
    kept: bool,
}

impl Workshop {
    /// Copies the files of a build, to a folder that stays if it is named, but for the sources: those are
    /// written with mistakes ([`schemata::Schemata`]).
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let name = format!("selvedge-mistakes-{}", std::process::id());
        let kept = folder.is_some();
        let folder = folder.unwrap_or_else(|| std::env::temp_dir().join(name));
        let workshop = Self { folder, kept };
        workshop.copy();
        workshop
    }

    fn copy(&self) {
        const PARTS: [&str; 13] = [
            "Cargo.toml",
            "Cargo.lock",
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
            "README.md",
            "benches",
            "crates",
            "docs",
            "editors",
            "examples",
            "programs",
            "scripts",
        ];
        self.forget(PARTS.map(PathBuf::from).to_vec());
        let mut todo = PARTS.map(PathBuf::from).to_vec();
        while let Some(path) = todo.pop() {
            let source = original(&path);
            if source.is_dir() {
                fs::create_dir_all(self.path(&path)).expect("the copy can be made");
                for entry in fs::read_dir(&source).expect("the sources can be read") {
                    todo.push(path.join(entry.expect("the sources can be read").file_name()));
                }
            } else if path.ends_with("Cargo.toml") {
                self.write(&path, allowing_unsafe(&source));
            } else if !schemata::is_source(&path) {
                self.write(&path, fs::read(&source).expect("the sources can be read"));
            }
        }
    }

    /// Removes files of an earlier copy that the sources no longer have: the compiler would find both.
    fn forget(&self, mut todo: Vec<PathBuf>) {
        while let Some(path) = todo.pop() {
            let copy = self.path(&path);
            if copy.is_dir() {
                for entry in fs::read_dir(&copy).expect("the copy can be read") {
                    todo.push(path.join(entry.expect("the copy can be read").file_name()));
                }
            } else if copy.exists() && !original(&path).exists() {
                fs::remove_file(copy).expect("the copy can be written");
            }
        }
    }

    /// Writes a file of the copy. One that has that text already is left alone: cargo goes by dates.
    pub(crate) fn write(&self, file: &Path, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        if fs::read(&path).ok().as_deref() != Some(text.as_ref()) {
            fs::write(path, text).expect("the copy can be written");
        }
    }

    /// Where a file of the copy is.
    pub(crate) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.join(file)
    }
}

/// Where a file of the sources is.
pub(crate) fn original(file: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// A manifest: the choice of a mistake needs what the product does without.
fn allowing_unsafe(manifest: &Path) -> String {
    let mut text = fs::read_to_string(manifest).expect("the sources can be read");
    for level in ["forbid", "deny"] {
        text = text.replace(&format!("unsafe_code = \"{level}\""), "unsafe_code = \"allow\"");
    }
    text
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if !self.kept {
            // It is a temporary folder; leaving it there would only cost space.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
