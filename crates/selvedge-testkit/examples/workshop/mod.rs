//! A copy of the sources in which mistakes are made.

use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the sources.
pub(crate) struct Workshop {
    folder: PathBuf,
    /// Whether the folder stays when this is dropped.
    kept: bool,
}

impl Workshop {
    /// Copies the files of a build that are wanted, to a folder that stays if it is named.
    pub(crate) fn new(folder: Option<PathBuf>, is_wanted: impl Fn(&Path) -> bool) -> Self {
        let name = format!("selvedge-mistakes-{}", std::process::id());
        let kept = folder.is_some();
        let folder = folder.unwrap_or_else(|| std::env::temp_dir().join(name));
        let workshop = Self { folder, kept };
        workshop.copy(is_wanted);
        workshop
    }

    fn copy(&self, is_wanted: impl Fn(&Path) -> bool) {
        let mut todo: Vec<PathBuf> =
            ["Cargo.toml", "Cargo.lock", "README.md", "crates", "docs", "programs"]
                .map(PathBuf::from)
                .to_vec();
        while let Some(path) = todo.pop() {
            let source = original(&path);
            if source.is_dir() {
                fs::create_dir_all(self.path(&path)).expect("the copy can be made");
                for entry in fs::read_dir(&source).expect("the sources can be read") {
                    todo.push(path.join(entry.expect("the sources can be read").file_name()));
                }
            } else if is_wanted(&path) {
                self.write(&path, fs::read(&source).expect("the sources can be read"));
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

impl Drop for Workshop {
    fn drop(&mut self) {
        if !self.kept {
            // It is a temporary folder; leaving it there would only cost space.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
