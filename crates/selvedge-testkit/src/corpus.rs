//! The programs of `programs/`.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_lang::bundle::{bundle, parts};

use crate::listed;

/// Where they are.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// Returns the text of a program. Of one with imports it is what all of its files say together, as one file: what compares programs with
/// brute force or with the reference needs no imports.
///
/// # Panics
/// If a file cannot be read.
pub fn text_of(path: &Path) -> String {
    let read = |path: &Path| {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let folder = path.parent().expect("a file is in a folder");
    let whole = bundle(&path.to_string_lossy(), &read(path), &mut |it| Ok(read(&folder.join(it))));
    let is_import = |line: &&str| line.starts_with("import ");
    let own = parts(&whole).into_iter().map(|part| {
        let lines = part.text.lines();
        lines
            .map(|line| if is_import(&line) { "\n".to_owned() } else { format!("{line}\n") })
            .collect::<String>()
    });
    own.collect()
}

/// All of them, in a fixed order. Files in folders called `parts` are for others to import.
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
                if !path.ends_with("parts") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "sel") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Those of them that a test looks at which takes long on each: all in a campaign, one in seven in `cargo test`.
///
/// # Panics
/// If a folder cannot be read.
pub fn listed_programs() -> Vec<PathBuf> {
    let all = programs();
    listed(all.len()).map(|number| all[number].clone()).collect()
}
