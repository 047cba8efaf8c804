//! Wrong usage, files that are no programs, and the commands that only print.

use crate::common::{Folder, LOST};

#[test]
fn files_that_cannot_be_checked() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("empty.sel", b" \n");
    folder.write("binary.sel", b"shared x = 0;\n\xff\xfe");
    folder.write("nothing.sel", b"shared x = 0;\n");
    folder.write("comment.sel", b"// nothing\n");
    folder.write("wrong.sel", b"thread p { y = 1; z = 2; }\n");
    folder.run("check missing.sel").exits(2).complains("missing.sel: there is no such file");
    folder.run("check lost").exits(2).complains("did you mean lost.sel?");
    folder.run("check .").exits(2).complains("it is a directory");
    folder.run("check empty.sel").exits(2).complains("it is empty");
    folder.run("check binary.sel").exits(2).complains("not text in UTF-8 (line 2)");
    folder.run("check nothing.sel").exits(2).complains("has no threads");
    folder.run("check comment.sel").exits(2).complains("has no threads");
    let run = folder.run("check wrong.sel").exits(2);
    let run = run.complains("--> wrong.sel:1:12").complains("`y`").complains("`z`");
    assert_eq!(run.out, "");
    folder.run("compare missing.sel").exits(2).complains("no such file");
    folder.run("replay missing.sel --schedule 0").exits(2).complains("no such file");
}

#[test]
fn a_byte_order_mark_and_other_line_ends() {
    let folder = Folder::new();
    let text = format!("\u{feff}{}", LOST.replace('\n', "\r\n"));
    folder.write("windows.sel", text.as_bytes());
    folder.run("check windows.sel").exits(1).says("--> windows.sel:7:18");
}

#[test]
fn file_names_with_blanks_can_be_replayed() {
    let folder = Folder::with("my program.sel", LOST);
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["check", "my program.sel"])
        .current_dir(folder.path())
        .output()
        .expect("the binary can be run");
    let out = String::from_utf8_lossy(&out.stdout);
    assert!(out.contains("replay: selvedge replay 'my program.sel' --schedule "), "{out}");
}

#[test]
fn wrong_usage() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --algorithm odpor").exits(2);
    assert_eq!(
        run.err,
        "error: unknown algorithm `odpor`; did you mean `optimal`?  (all: selvedge algorithms)\n"
    );
    folder.run("check lost.sel --time soon").exits(2).complains("500ms, 30s, 5m, 1h");
    folder.run("check lost.sel --max-steps 0").exits(2);
    folder.run("check lost.sel --max-executions -1").exits(2);
    folder.run("check lost.sel --frobnicate").exits(2);
    folder.run("check").exits(2).complains("<FILE>");
    folder.run("chekc lost.sel").exits(2).complains("'check'");
    folder.run("compare lost.sel --algorithms optimal,foo").exits(2).complains("`foo`");
}

/// An option that an algorithm cannot heed is refused, not ignored, and always with the same exit code.
#[test]
fn options_that_do_not_apply() {
    let folder = Folder::with("lost.sel", LOST);
    for (arguments, message) in [
        (
            "--algorithm data-centric --preemptions 1",
            "--preemptions does not apply to `data-centric`",
        ),
        (
            "--algorithm parsimonious --context-switches 1",
            "--context-switches does not apply to `parsimonious`",
        ),
        ("--algorithm data-centric --races", "--races does not apply to `data-centric`"),
        ("--cycles refine", "--cycles refine only applies to `data-centric`"),
        ("--unobserved-locks", "--unobserved-locks only applies to `data-centric`"),
        ("--check-constraints", "--check-constraints only applies to `constrained`"),
        ("--stats", "--stats does not apply to `auto`"),
        ("--k 2", "--k only applies to `quasi`"),
        ("--symbolic order --context-bound 2", "--context-bound only applies to `mat` and `token`"),
    ] {
        let run = folder.run(&format!("check lost.sel {arguments}")).exits(2).complains(message);
        assert_eq!(run.out, "", "{arguments}");
    }
}

#[test]
fn getting_started() {
    let run = Folder::new().run("").exits(2);
    let run = run.complains("selvedge check lost.sel").complains("selvedge --help");
    assert_eq!(run.out, "");
}

#[test]
fn help_and_version() {
    let folder = Folder::new();
    folder.run("--help").exits(0).says("Exit codes:").says("compare");
    folder.run("check --help").exits(0).says("Examples:").says("--keep-going");
    folder.run("replay --help").exits(0).says("0.1@2.0:1");
    let version = format!("selvedge {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(folder.run("--version").exits(0).out, version);
}

#[test]
fn the_registry_is_shown() {
    let run = Folder::new().run("algorithms").exits(0).says("(the default)");
    for algorithm in selvedge_explore::Algorithm::ALL {
        let info = algorithm.info();
        let shown = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [info.name, info.summary, info.advice, info.paper] {
            assert!(shown.contains(text), "{text}\n{}", run.out);
        }
    }
}

#[test]
fn completions() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        folder.run(&format!("completions {shell}")).exits(0).says("keep-going");
    }
    folder.run("completions tcsh").exits(2);
}

#[cfg(not(feature = "farm"))]
#[test]
fn a_build_without_a_farm_says_how_to_get_one() {
    let folder = Folder::new();
    for command in ["farm", "farm check x.sel --nats nats://host", "farm --help"] {
        folder
            .run(command)
            .exits(2)
            .complains("this build of selvedge has no `farm`")
            .complains("--features farm");
    }
}
