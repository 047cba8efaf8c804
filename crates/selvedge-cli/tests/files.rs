//! Files that the tool writes: whole or not at all; and one that cannot be written hides no verdict.

use crate::common::{Folder, LOCKED, LOST};

/// Places where nothing can be written, each with a word of the message.
fn bad_places(folder: &Folder) -> Vec<(&'static str, &'static str)> {
    std::fs::create_dir_all(folder.path().join("folder")).expect("a folder can be made");
    folder.write("fixed", b"fixed");
    let mut permissions =
        folder.path().join("fixed").metadata().expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.path().join("fixed"), permissions).expect("it can be set");
    let mut places = vec![
        ("/nonexistent/t.json", "No such file"),
        ("folder", "it is a directory"),
        ("fixed", "it is read-only"),
        ("/proc/t.json", "cannot be written to /proc/t.json"),
    ];
    if cfg!(target_os = "linux") {
        places.push(("/dev/full", "No space left on device"));
    }
    places
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("the folder can be read");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("an entry").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn a_trace_that_cannot_be_written_does_not_hide_the_verdict() {
    let folder = Folder::with("lost.sel", LOST);
    let places = bad_places(&folder);
    let before = names(&folder);
    for (place, message) in places {
        for symbolic in ["", "--symbolic"] {
            let run = folder.run(&format!("check lost.sel {symbolic} --save-trace {place}"));
            run.exits(1)
                .says("violated: assertion")
                .says("replay: selvedge replay lost.sel --schedule ")
                .complains("error: the trace cannot be written to ")
                .complains(message)
                .complains("choose a file in a writable folder");
        }
        let run = folder.run(&format!("check lost.sel --json --save-trace {place}")).exits(1);
        assert_eq!(run.json()["verdict"], "violated");
    }
    assert_eq!(folder.read("fixed"), "fixed");
    assert_eq!(names(&folder), before, "nothing is left over");
}

#[test]
fn results_are_shown_before_a_file_fails() {
    let folder = Folder::with("locked.sel", LOCKED);
    folder
        .write("b.sel", b"shared x = 0; atomic proc add(v: int) { x += v; } thread t { add(1); }");
    for (place, message) in bad_places(&folder) {
        let run = folder.run(&format!("constraints b.sel --write {place}")).exits(2);
        run.says("add(v), add(v2): ").complains(message);
        let run = folder.run(&format!("mat locked.sel --svg {place}")).exits(2);
        run.says("pairs are left").complains(message);
        let run = folder.run(&format!("check locked.sel --symbolic --export-formula {place}"));
        run.exits(2).complains("the formula cannot be written").complains(message);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_does_not_hide_a_violation() {
    for (text, code) in [(LOST, 1), (LOCKED, 2)] {
        let folder = Folder::with("p.sel", text);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .args(["check", "p.sel"])
            .current_dir(folder.path())
            .stdout(full)
            .output()
            .expect("the binary can be run");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard output cannot be written"), "{said}");
    }
}

/// A file system that is full leaves the old file as it was, and nothing beside it.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("check lost.sel --save-trace t.json").exits(1);
    let old = folder.read("t.json");
    // A limit on the size of files is a disk that is full at once; the signal is ignored, so that
    // writing fails.
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} check lost.sel --const N=3 --save-trace t.json",
        env!("CARGO_BIN_EXE_selvedge")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .output()
        .expect("a shell can be run");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("violated"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"), "{output:?}");
    assert_eq!(folder.read("t.json"), old);
    assert_eq!(names(&folder), ["lost.sel", "t.json"]);
}
