//! The files for editors. The extension for VS Code is run in Node, with a stand-in for the editor; without Node that is skipped
//! and says so, and `SELVEDGE_NEED_NODE=1` makes it an error. Neovim itself is driven without a screen, if it is there;
//! `SELVEDGE_NEED_NVIM=1` makes it an error if not.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Folder;

fn editors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors")
}

/// Runs a script of the extension in Node, and returns what it prints. `None`: there is no Node.
fn in_node(script: &str, arguments: &[PathBuf]) -> Option<String> {
    let mut node = Command::new("node");
    node.arg(script).args(arguments).current_dir(editors().join("vscode"));
    let output = match node.output() {
        Ok(output) => output,
        Err(error) => {
            let needed = std::env::var_os("SELVEDGE_NEED_NODE").is_some();
            assert!(!needed, "SELVEDGE_NEED_NODE is set, and node does not run: {error}");
            let _ =
                writeln!(std::io::stderr(), "skipped: node does not run; install nodejs ({error})");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_extension_speaks_to_the_server() {
    let selvedge = PathBuf::from(env!("CARGO_BIN_EXE_selvedge"));
    let Some(said) = in_node("test.js", &[selvedge]) else { return };
    assert_eq!(said, "the extension works\n");
}

/// All programs of the repository, and one with what they do not have.
fn programs(folder: &Folder) -> Vec<PathBuf> {
    folder.write(
        "rare.sel",
        "/* a /* b\n */ c \"no\" */ shared x = 0x1F; // \"no\" /* é\nthread t { assert x == 1_0, \"é \\\" // /* \\\\\"; }\n"
            .as_bytes(),
    );
    let mut all = vec![folder.path().join("rare.sel")];
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            match path.extension().and_then(|it| it.to_str()) {
                Some("sel") => all.push(path),
                _ if path.is_dir() => open.push(path),
                _ => {}
            }
        }
    }
    all.sort();
    all
}

/// The grammar takes every part of every program for what it is: comments, strings, numbers, words of the language, and names.
#[test]
fn the_grammar_agrees_with_the_language() {
    use selvedge_lang::index::{Highlight, Index, PLACED};
    let folder = Folder::new();
    let files = programs(&folder);
    assert!(files.len() > 200);
    let Some(said) = in_node("test-grammar.js", &files) else { return };
    for (file, line) in files.iter().zip(said.lines()) {
        let text = std::fs::read_to_string(file).expect("the program can be read");
        let parts: Vec<(usize, usize, String)> = serde_json::from_str(line).expect("a list");
        // The scope of each byte.
        let mut scopes = vec![""; text.len()];
        for (from, to, scope) in &parts {
            scopes[*from..*to].fill(scope.split(' ').next_back().unwrap_or_default());
        }
        let mut is_known = vec![false; text.len()];
        for (span, highlight) in Index::new(&text).highlights(&text) {
            let (from, to) = (span.start as usize, span.end as usize);
            let part = &text[from..to];
            is_known[from..to].fill(true);
            let wanted: &[&str] = match highlight {
                Highlight::Comment => &["comment."],
                Highlight::Text => &["string.", "constant.character.escape."],
                Highlight::Number => &["constant.numeric."],
                Highlight::Keyword => {
                    &["storage.", "keyword.control.", "keyword.other.", "constant.language."]
                }
                // Where these words are names only the language server knows.
                Highlight::Name { .. } if PLACED.contains(&part) => &["storage.", "keyword."],
                Highlight::Name { .. } | Highlight::BuiltIn => {
                    &["entity.name.function.", "keyword.other.", "constant.other."]
                }
            };
            let is_plain = matches!(highlight, Highlight::Name { .. } | Highlight::BuiltIn);
            let is_right = |at: usize| {
                let scope = scopes[at];
                (is_plain && scope.is_empty())
                    || text.as_bytes()[at] == b'\n'
                    || wanted.iter().any(|it| scope.starts_with(it))
            };
            let wrong = (from..to).find(|&at| !is_right(at));
            assert_eq!(
                wrong,
                None,
                "{}: {highlight:?} `{part}`: {:?}",
                file.display(),
                &scopes[from..to]
            );
        }
        // What is nothing of that is no comment, string or number either.
        for at in (0..text.len()).filter(|&at| !is_known[at]) {
            let is_plain = ["", "keyword.operator.", "entity.name.function.", "constant.other."]
                .iter()
                .any(|it| scopes[at] == *it || (!it.is_empty() && scopes[at].starts_with(it)));
            assert!(is_plain, "{}: byte {at}: {}", file.display(), scopes[at]);
        }
    }
}

/// A mistake is marked and mended, a name is hovered over and renamed, the text is formatted and highlighted.
#[test]
fn neovim_speaks_to_the_server() {
    let folder = Folder::with("a.sel", "shared x = 0;\nthread a { x = 1; }\nthread b { y = 2; }\n");
    let editors = std::fs::canonicalize(editors()).expect("the folder is there");
    let mut nvim = Command::new("nvim");
    nvim.args(["--headless", "-u", "NONE", "-i", "NONE", "-n"])
        .arg("--cmd")
        .arg(format!("set rtp^={}/vim", editors.display()))
        .args(["--cmd", "filetype plugin on", "--cmd", "syntax on", "a.sel", "-c"])
        .arg(format!("luafile {}/vim/test.lua", editors.display()))
        .env("SELVEDGE", env!("CARGO_BIN_EXE_selvedge"))
        .env("SELVEDGE_EDITORS", &editors)
        .current_dir(folder.path());
    let output = match nvim.output() {
        Ok(output) => output,
        Err(error) => {
            let needed = std::env::var_os("SELVEDGE_NEED_NVIM").is_some();
            assert!(!needed, "SELVEDGE_NEED_NVIM is set, and nvim does not run: {error}");
            let _ =
                writeln!(std::io::stderr(), "skipped: nvim does not run; install neovim ({error})");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "the editor works\n", "{}", String::from_utf8_lossy(&output.stderr));
}

/// What the extension says it can do is what it registers, and its files are there.
#[test]
fn the_manifest_of_the_extension_is_right() {
    let folder = editors().join("vscode");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the file is there");
    let manifest: serde_json::Value = serde_json::from_str(&read("package.json")).expect("JSON");
    assert_eq!(manifest["main"], "./extension.js");
    let commands = manifest["contributes"]["commands"].as_array().expect("a list");
    for command in commands {
        let name = command["command"].as_str().expect("a name");
        assert!(read("extension.js").contains(&format!("registerCommand(\"{name}\"")), "{name}");
    }
    assert!(folder.join("syntaxes/sel.tmLanguage.json").exists());
    // What the editor knows of a manifest, as far as it is used here: a key that is misspelt would be ignored.
    let keys = |value: &serde_json::Value, known: &[&str]| {
        for key in value.as_object().expect("an object").keys() {
            assert!(known.contains(&key.as_str()), "{key} in {value}");
        }
    };
    keys(
        &manifest,
        &[
            "name",
            "displayName",
            "description",
            "version",
            "publisher",
            "license",
            "engines",
            "categories",
            "main",
            "activationEvents",
            "capabilities",
            "contributes",
        ],
    );
    let gives = &manifest["contributes"];
    keys(gives, &["languages", "grammars", "configuration", "commands", "problemMatchers"]);
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let language = &gives["languages"][0];
    keys(language, &["id", "aliases", "extensions", "configuration"]);
    let grammar = &gives["grammars"][0];
    keys(grammar, &["language", "scopeName", "path"]);
    assert_eq!(grammar["language"], language["id"]);
    assert_eq!(
        manifest["activationEvents"][0],
        format!("onLanguage:{}", language["id"].as_str().expect("a name"))
    );
    let json = |name: &serde_json::Value| -> serde_json::Value {
        serde_json::from_str(&read(name.as_str().expect("a path"))).expect("JSON")
    };
    assert_eq!(json(&grammar["path"])["scopeName"], grammar["scopeName"]);
    keys(
        &json(&language["configuration"]),
        &[
            "comments",
            "brackets",
            "autoClosingPairs",
            "surroundingPairs",
            "wordPattern",
            "indentationRules",
            "folding",
            "onEnterRules",
        ],
    );
}

/// Every word of the language is a word for every editor. Semantic tokens come from the language itself.
#[test]
fn editors_know_every_word() {
    use selvedge_lang::index::{PLACED, WORDS};
    for file in [
        "vim/syntax/sel.vim",
        "vscode/syntaxes/sel.tmLanguage.json",
        "helix/queries/sel/highlights.scm",
    ] {
        let text = std::fs::read_to_string(editors().join(file)).expect("the file is there");
        let words: Vec<&str> =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        let missing: Vec<&&str> =
            WORDS.iter().chain(PLACED).filter(|word| !words.contains(word)).collect();
        assert!(missing.is_empty(), "{file} does not know {missing:?}");
    }
}
