//! House rules that no other tool checks.

#[path = "../../selvedge-campaigns/src/bin/deliberate_mistakes/list/mod.rs"]
mod mistakes;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use selvedge_explore::Algorithm;

/// Longer files hold more than one idea.
const MOST_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below `folder` with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder of the project can be read");
            todo.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn files_are_short_and_finished() {
    let sources = ["crates", "examples"].map(|folder| files(&root().join(folder), "rs")).concat();
    assert!(sources.len() > 50, "the sources were found");
    for path in sources {
        let text = read(&path);
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        for word in ["TO\u{44}O", "FIX\u{4d}E", "XX\u{58}"] {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}

#[test]
fn every_algorithm_explains_itself() {
    let docs = read(&root().join("docs/papers.md"));
    let folder = root().join("crates/selvedge-explore/src");
    let sources = files(&folder, "rs");
    for algorithm in Algorithm::ALL {
        let name = algorithm.info().name;
        let is_home = |path: &&PathBuf| read(path).contains(&format!("    name: \"{name}\",\n"));
        let home = sources.iter().find(is_home).unwrap_or_else(|| panic!("{name} has no file"));
        let header = read(home);
        let home = home.strip_prefix(&folder).expect("it is in the folder").display().to_string();
        for part in [
            "**Equivalence:**",
            "**Guarantee:**",
            "**Differs from the paper:**",
            "**Cost:**",
            "**Tests:**",
        ] {
            assert!(header.contains(part), "{home} does not say {part}");
        }
        assert!(name == "oracle" || docs.contains(&home), "docs/papers.md does not name {home}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for page in files(&root().join("docs"), "md").into_iter().chain(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "programs/README.md"]
            .map(|name| root().join(name)),
    ) {
        // What stands between fences is code.
        let text: String = read(&page).split("```").step_by(2).collect();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let file = target.split('#').next().unwrap_or(target);
            let path = page.parent().expect("a page is in a folder").join(file);
            assert!(path.exists(), "{}: {target} is not there", page.display());
        }
    }
}

/// A page that names files stays true when they move.
#[test]
fn files_that_pages_name_exist() {
    let pages = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/papers.md",
        "docs/tests.md",
        "docs/mistakes.md",
    ];
    let sources = ["crates", "examples", "docs", "programs"].map(|name| root().join(name));
    let all: Vec<_> = ["rs", "md", "css", "sel", "c"]
        .into_iter()
        .flat_map(|ending| sources.iter().flat_map(move |folder| files(folder, ending)))
        .collect();
    let mut named = 0;
    for page in pages {
        // What stands between fences is code.
        let text: String = read(&root().join(page)).split("```").step_by(2).collect();
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = path.contains('/') || path.ends_with(".rs");
            if !is_path || path.contains([' ', '*', '<', '{', '=', '…', '$']) || path == "//#" {
                continue;
            }
            let is_there = root().join(path).exists()
                || sources.iter().any(|folder| folder.join(path).exists())
                || all.iter().any(|file| match path.strip_suffix('/') {
                    Some(folder) => file.ancestors().any(|above| above.ends_with(folder)),
                    None => file.ancestors().any(|above| above.ends_with(path)),
                });
            assert!(is_there, "{page}: `{path}` is not there");
            named += 1;
        }
    }
    assert!(named > 150, "only {named} paths were found");
}

/// The second invariant of `ARCHITECTURE.md`: what these crates compute depends on their arguments alone.
#[test]
fn the_inner_crates_perform_no_io() {
    let inner = ["core", "explore", "lang", "symbolic", "report", "rt"];
    let outer = ["selvedge-report/src/file.rs", "selvedge-rt/src/last_words.rs"];
    let forbidden = [
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::io::stdout",
        "std::io::stderr",
        "Instant::now",
        "SystemTime",
        "print!(",
        "println!(",
        "eprint!(",
        "eprintln!(",
    ];
    let mut looked_at = 0;
    for name in inner {
        let sources = files(&root().join(format!("crates/selvedge-{name}/src")), "rs");
        for path in sources.iter().filter(|path| !outer.iter().any(|it| path.ends_with(it))) {
            let is_test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
            if path.iter().any(is_test) {
                continue;
            }
            let text = read(path);
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code.take_while(|line| *line != "mod tests {") {
                let found = forbidden.iter().find(|word| line.contains(**word));
                assert!(found.is_none(), "{}: {line}", path.display());
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 300, "only {looked_at} files were found");
}

/// The tests of a crate are one program; a file that it does not name would not be run.
#[test]
fn every_file_of_tests_is_run() {
    let crates = fs::read_dir(root().join("crates")).expect("the crates are there");
    let mut found = 0;
    for folder in crates.map(|entry| entry.expect("an entry can be read").path().join("tests")) {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
            if name == "main"
                || !(path.with_extension("rs").exists() || path.join("mod.rs").exists())
            {
                continue;
            }
            let main = read(&folder.join("main.rs"));
            let is_named = main.lines().any(|line| line == format!("mod {name};"));
            assert!(is_named, "{} does not name {name}", folder.join("main.rs").display());
            found += 1;
        }
    }
    assert!(found > 50, "the tests were found");
}

/// `cargo test -p` of one crate must not build a dependency again, with other features, and then all that uses it.
#[test]
fn tests_of_one_crate_share_the_build_of_all() {
    let tree = |of: &[&str]| -> BTreeSet<String> {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "--locked", "--edges=normal,dev,build", "--prefix=none"])
            .args(["--format={p} [{f}]"])
            .args(of)
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("cargo writes text");
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    };
    let all = tree(&[]);
    let members: BTreeSet<&str> = all
        .iter()
        .filter(|line| line.contains("/crates/") || line.contains("/examples/"))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(members.len() > 10, "{members:?}");
    for member in members {
        let alone = tree(&["-p", member]);
        let again: Vec<&String> = alone.difference(&all).collect();
        assert!(again.is_empty(), "`cargo test -p {member}` builds {again:?} again");
    }
}

/// `cargo run -p selvedge-campaigns --bin deliberate_mistakes` makes them; that takes long.
#[test]
fn deliberate_mistakes_can_be_made_and_are_listed() {
    let page = read(&root().join("docs/mistakes.md"));
    for mistake in mistakes::all() {
        let name = mistake.name;
        let (folder, package) = mistake.home();
        let text = read(&root().join(folder).join(mistake.file));
        assert_eq!(text.matches(mistake.right).count(), 1, "“{name}” has no place");
        assert_ne!(mistake.right, mistake.wrong, "“{name}” changes nothing");
        if mistake.suite == "lib" {
            let function = mistake.test.rsplit("::").next().unwrap_or(mistake.test);
            let is_there = |path: PathBuf| {
                read(&path).contains(&format!("#[test]\n    fn {function}("))
                    || read(&path).contains(&format!("#[test]\nfn {function}("))
            };
            let sources = files(&root().join(folder), "rs");
            assert!(sources.into_iter().any(is_there), "“{name}” has no test {function}");
            assert!(
                page.contains(&format!("| {name} |")),
                "docs/mistakes.md does not list “{name}”"
            );
            continue;
        }
        // A suite is a file in `tests/`, or a folder with a file for each module.
        let (file, test) = match mistake.test.split_once("::") {
            Some((module, test)) => (format!("{}/{module}", mistake.suite), test),
            None => (mistake.suite.to_owned(), mistake.test),
        };
        let suite = root().join(format!("crates/{package}/tests/{file}.rs"));
        assert!(read(&suite).contains(&format!("fn {test}(")), "“{name}” has no test");
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} |")));
        let row = row.unwrap_or_else(|| panic!("docs/mistakes.md does not list “{name}”"));
        assert!(row.contains(mistake.test) && row.contains(mistake.file), "{row}");
    }
}
