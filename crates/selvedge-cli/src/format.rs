//! `selvedge fmt`: writes programs the one way.

use std::path::{Path, PathBuf};

use selvedge_report::plural;

use crate::args::FormatArgs;
use crate::exit::{self, Exit, Failure};
use crate::screen::Screen;
use crate::source;

/// Formats files, or says which are not formatted.
pub(crate) fn run(args: &FormatArgs, screen: &Screen) -> Result<Exit, Failure> {
    let mut differing = Vec::new();
    let files = files(&args.files)?;
    // Before any of them is written.
    if let Some(file) = files.iter().find(|file| source::is_compiled(file)) {
        return Err(Failure::User(format!(
            "{} is not a program in .sel: only these are formatted\n  leave it out; for C and C++ there is clang-format",
            file.display()
        )));
    }
    for file in files {
        let text = source::read_text(&file)?;
        let formatted = selvedge_lang::format(&text).map_err(|diagnostics| {
            let name = file.to_string_lossy();
            let colour = screen.error_paint.colour;
            Failure::Rendered(selvedge_lang::render(&diagnostics, &name, &text, colour))
        })?;
        if is_standard_input(&file) && !args.check {
            screen.print(&formatted)?;
        } else if formatted != text {
            if !args.check {
                exit::write_file(&file, "the program", &formatted)?;
            }
            differing.push(file);
        }
    }
    let mut out: String = differing.iter().map(|file| format!("{}\n", file.display())).collect();
    if args.check && !differing.is_empty() {
        let number = plural(differing.len() as u64, "file is", "files are");
        out.push_str(&format!("{number} not formatted; selvedge fmt rewrites them\n"));
    }
    screen.print(&out)?;
    Ok(if args.check && !differing.is_empty() { Exit::Violated } else { Exit::Good })
}

/// Returns the files, and those with the ending `.sel` in and below the folders.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if is_standard_input(path) || !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let mut inside = Vec::new();
        let mut todo = vec![path.clone()];
        while let Some(folder) = todo.pop() {
            let fail = |error: std::io::Error| {
                Failure::User(format!("cannot read the folder {}: {error}", folder.display()))
            };
            for entry in std::fs::read_dir(&folder).map_err(fail)? {
                let entry = entry.map_err(fail)?;
                // A link could lead back to where it is.
                if entry.file_type().map_err(fail)?.is_dir() {
                    todo.push(entry.path());
                } else if entry.path().extension().is_some_and(|ending| ending == "sel") {
                    inside.push(entry.path());
                }
            }
        }
        inside.sort();
        found.append(&mut inside);
    }
    Ok(found)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}
