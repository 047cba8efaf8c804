//! Lists the programs of the repository, which are in the binary as examples of the workbench.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root =
        Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../programs");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut found = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|ending| ending == "sel") {
                found.push(path);
            }
        }
    }
    // Those without a folder first.
    found.sort_by_key(|path| (path.components().count() > 1, path.clone()));
    let mut list = String::from("&[\n");
    for path in found {
        let name = path.to_string_lossy().replace('\\', "/");
        let _ = writeln!(list, "({name:?}, include_str!({:?})),", root.join(&path));
    }
    list.push_str("]\n");
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("examples.rs");
    fs::write(out, list).expect("the folder for generated files can be written");
}
