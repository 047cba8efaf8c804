//! `selvedge fmt`: the programs of this repository are formatted, and formatting changes blanks alone.

use std::path::{Path, PathBuf};

use crate::common::{Folder, LOST};

/// All programs of the repository.
fn programs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder can be read");
            todo.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
        } else if path.extension().is_some_and(|ending| ending == "sel") {
            found.push(path);
        }
    }
    assert!(found.len() > 50, "the programs were found");
    found.sort();
    found
}

#[test]
fn the_programs_of_this_repository_are_formatted() {
    for path in programs() {
        let text = std::fs::read_to_string(&path).expect("a program can be read");
        let formatted = selvedge_lang::format(&text).expect("its syntax is right");
        assert_eq!(formatted, text, "{}: selvedge fmt programs", path.display());
    }
}

/// Whatever the blanks at the beginning of lines and between words are, the result is the same.
#[test]
fn blanks_do_not_matter() {
    for path in programs() {
        let text = std::fs::read_to_string(&path).expect("a program can be read");
        let formatted = selvedge_lang::format(&text).expect("its syntax is right");
        let mut shaken = String::new();
        for (number, line) in text.lines().enumerate() {
            let code = line.trim_start();
            shaken.push_str(&"\t".repeat(number % 3));
            // A comment behind code stays in its column, and texts stay as they are.
            let stays = line.contains("//") || line.contains("/*") || line.contains('"');
            match stays {
                true if code.starts_with("//") => shaken.push_str(code),
                true => {
                    shaken.truncate(shaken.len() - number % 3);
                    shaken.push_str(line);
                }
                false => shaken.push_str(&code.replace(' ', "   ").replace(';', "  ; ")),
            }
            shaken.push('\n');
            if line.is_empty() {
                shaken.push_str(" \n\n");
            }
        }
        let again = selvedge_lang::format(&shaken).expect("its syntax is right");
        assert_eq!(again, formatted, "{}", path.display());
    }
}

#[test]
fn files_are_rewritten_and_listed() {
    let folder = Folder::with("good.sel", LOST);
    std::fs::create_dir(folder.path().join("inner")).expect("a folder can be made");
    folder.write("inner/bad.sel", b"shared x=0;\nthread t{x=1;}");
    let check = folder.run("fmt --check .").exits(1);
    check.says("bad.sel\n1 file is not formatted; selvedge fmt rewrites them");
    assert_eq!(folder.read("inner/bad.sel"), "shared x=0;\nthread t{x=1;}");
    folder.run("fmt good.sel inner").exits(0).says("bad.sel\n");
    assert_eq!(folder.read("inner/bad.sel"), "shared x = 0;\nthread t { x = 1; }\n");
    assert_eq!(folder.run("fmt --check .").exits(0).out, "");
    assert_eq!(
        folder.run_with("fmt -", b"thread  t {\nskip;}").exits(0).out,
        "thread t {\n    skip; }\n"
    );
    folder.write("wrong.sel", b"thread t { x = ; }");
    folder.run("fmt wrong.sel").exits(2).complains("wrong.sel:1:16");
    folder.run("fmt missing.sel").exits(2).complains("cannot read missing.sel");
}

/// Nothing is written if one of the files is of another language.
#[test]
fn files_of_c_are_refused() {
    let folder = Folder::with("a.sel", "shared   x = 0;");
    folder.write("x.c", b"int main(void) { return 0; }");
    let run = folder.run("fmt a.sel x.c").exits(2);
    run.complains("x.c is not a program in .sel").complains("clang-format");
    assert_eq!(folder.read("a.sel"), "shared   x = 0;");
}
