//! The programs of `programs/`.

use std::fs;
use std::path::{Path, PathBuf};

/// Where they are.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// All of them, in a fixed order.
///
/// # Panics
/// If a folder cannot be read.
pub fn programs() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![corpus()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of programs can be read") {
            let path = entry.expect("an entry of it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sel") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
