//! `README.md` and the pages of `docs/` that show commands cannot lie: their commands are run, and the output
//! is compared.
//!
//! With `SELVEDGE_UPDATE_DOCS=1` the outputs in the pages are rewritten.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{Folder, fields, normalised};

#[test]
fn the_page_shows_real_output() {
    let page = shows_real_output("docs/command-line.md", &Folder::new());
    assert!(page.matches("```console").count() >= 8, "the page shows commands");
}

#[test]
fn the_readme_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("README.md", &folder);
    assert!(page.matches("```console").count() >= 4, "the README shows commands");
    for command in ["cargo run --release -- check programs/bank.sel", "cargo test"] {
        assert!(page.contains(command), "the README names the command {command}");
    }
}

#[test]
fn the_page_on_observations_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/data-centric.md", &folder);
    assert!(page.matches("```console").count() >= 6, "the page shows commands");
}

#[test]
fn the_page_on_constraints_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/constrained.md", &folder);
    assert!(page.matches("```console").count() >= 2, "the page shows commands");
}

#[test]
fn the_page_on_algorithms_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/which-algorithm.md", &folder);
    for algorithm in selvedge_explore::Algorithm::ALL {
        let name = format!("`{}`", algorithm.info().name);
        let row = page.lines().find(|line| line.starts_with('|') && line.contains(&name));
        assert!(row.is_some(), "the page has no row for {name}");
    }
}

#[test]
fn the_page_on_the_language_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/language.md", &folder);
    assert!(page.contains("repeat forever"), "{page}");
}

#[test]
fn the_page_on_long_searches_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/scale.md", &folder);
    assert!(page.matches("```console").count() >= 3, "the page shows commands");
}

#[test]
fn the_page_on_synthesis_shows_real_output() {
    let page = shows_real_output("docs/constraints.md", &Folder::new());
    assert!(page.matches("```console").count() >= 4, "the page shows commands");
}

#[test]
fn the_page_on_pictures_shows_real_output() {
    let page = shows_real_output("docs/pictures.md", &Folder::new());
    assert!(page.matches("```console").count() >= 4, "the page shows commands");
}

#[test]
fn the_page_on_json_shows_real_output() {
    let folder = Folder::new();
    let page = shows_real_output("docs/json.md", &folder);
    // The program is there now.
    let json = folder.run("check lost.sel --json --tree --keep-going").exits(0).json();
    let (_, rest) = page.split_once("```json tree\n").expect("the page shows a tree");
    let (shown, _) = rest.split_once("```").expect("it ends");
    let shown: serde_json::Value = serde_json::from_str(shown).expect("it is JSON");
    assert_eq!(json["tree"], shown, "{:#}", json["tree"]);
}

#[test]
fn the_page_on_weak_memory_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/weak-memory.md", &folder);
    assert!(page.matches("```console").count() >= 10, "the page shows commands");
}

#[test]
fn the_page_on_c_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/c.md", &folder);
    assert!(page.matches("```console").count() >= 3, "the page shows commands");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("the folder is there") {
        let path = entry.expect("an entry can be read").path();
        let copy = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copy_tree(&path, &copy);
        } else {
            std::fs::copy(&path, &copy).expect("a file can be copied");
        }
    }
}

/// Runs the commands of a page in `folder` and compares their output with the page. Returns the page.
fn shows_real_output(name: &str, folder: &Folder) -> String {
    let path = root().join(name);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let real = with_real_output(&page, folder);
    if std::env::var_os("SELVEDGE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, real).expect("the page can be written");
        return page;
    }
    let (page_text, real) = (normalised(&page), normalised(&real));
    let mut lines = page_text.lines().zip(real.lines()).enumerate();
    if let Some((number, (shown, now))) = lines.find(|(_, (shown, now))| shown != now) {
        panic!(
            "{name}, line {}: the page says\n{shown}\nbut now it is\n{now}\n\
             SELVEDGE_UPDATE_DOCS=1 rewrites the page",
            number + 1
        );
    }
    assert_eq!(page_text.lines().count(), real.lines().count(), "output is missing at the end");
    page
}

#[test]
fn every_field_of_the_json_is_documented() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    // A program without constants: their names would be its own.
    let folder = Folder::with("d.sel", crate::common::DEADLOCK);
    folder
        .write("b.sel", b"shared x = 0; atomic proc add(v: int) { x += v; } thread t { add(1); }");
    folder.write("s.sel", b"shared x = 0; thread t(i in 0..2) { x = x + 1; assert x < 2; }");
    let commands = [
        "check d.sel --json",
        "check d.sel --json --sample 1",
        "check d.sel --json --algorithm quasi --stats",
        "check d.sel --json --tree",
        "check b.sel --json --races",
        "check s.sel --json",
        "compare d.sel --json",
        "replay d.sel --schedule 0.1 --json",
        "constraints b.sel --json",
    ];
    for command in commands {
        for field in fields(&folder.run(command).json()) {
            assert!(page.contains(&format!("`{field}`")), "{field} of {command}");
        }
    }
}

/// The page with what its commands print now. A block ```` ```sel NAME ```` is a file; a block
/// ```` ```console ```` has commands after `$ selvedge`, each with its output.
fn with_real_output(page: &str, folder: &Folder) -> String {
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        let mut block = || lines.by_ref().take_while(|line| *line != "```").collect::<Vec<_>>();
        if let Some(name) = line.strip_prefix("```sel ") {
            let text = block().join("\n") + "\n";
            folder.write(name, text.as_bytes());
            let _ = writeln!(out, "{text}```");
        } else if line == "```console" {
            let block = block();
            let commands = block.iter().filter_map(|line| line.strip_prefix("$ selvedge "));
            for arguments in commands {
                let run = folder.run(arguments);
                let _ = write!(out, "$ selvedge {arguments}\n{}{}", run.err, run.out);
            }
            let _ = writeln!(out, "```");
        }
    }
    out
}

#[test]
fn the_course_shows_real_output() {
    let folder = Folder::new();
    copy_tree(&root().join("programs"), &folder.path().join("programs"));
    let page = shows_real_output("docs/course.md", &folder);
    assert!(page.matches("```console").count() >= 13, "the page shows commands");
}
