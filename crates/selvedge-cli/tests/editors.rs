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

#[test]
fn the_extension_speaks_to_the_server() {
    let mut node = Command::new("node");
    node.arg("test.js").arg(env!("CARGO_BIN_EXE_selvedge")).current_dir(editors().join("vscode"));
    let output = match node.output() {
        Ok(output) => output,
        Err(error) => {
            let needed = std::env::var_os("SELVEDGE_NEED_NODE").is_some();
            assert!(!needed, "SELVEDGE_NEED_NODE is set, and node does not run: {error}");
            let _ =
                writeln!(std::io::stderr(), "skipped: node does not run; install nodejs ({error})");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "the extension works\n", "{}", String::from_utf8_lossy(&output.stderr));
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
