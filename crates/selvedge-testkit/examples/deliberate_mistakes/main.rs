//! Makes mistakes in a copy of the sources, one at a time, and expects a test to fail for each.
//!
//! `cargo run --release -p selvedge-testkit --example deliberate_mistakes [-- WORD]` tries those whose
//! name contains WORD, or all. A test suite that stays green here would not notice the mistake.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod list;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use list::Mistake;

/// Tests that take longer do not come to an end.
const LONGEST: Duration = Duration::from_secs(900);

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = std::env::temp_dir().join(format!("selvedge-mistakes-{}", std::process::id()));
    let mut missed = 0;
    copy_tree(&root, &copy);
    for mistake in list::all().filter(|mistake| mistake.name.contains(&word)) {
        let noticed = is_noticed(&copy, mistake);
        missed += usize::from(!noticed);
        println!("{}  {}", if noticed { "noticed" } else { "MISSED " }, mistake.name);
        println!("         by {} in the tests `{}`", mistake.test, mistake.suite);
    }
    // The copy is in a temporary folder; leaving it behind would only cost space.
    let _ = fs::remove_dir_all(&copy);
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes the mistake, runs the test, and takes the mistake back.
fn is_noticed(copy: &Path, mistake: &Mistake) -> bool {
    let file = copy.join(mistake.home().0).join(mistake.file);
    let text = fs::read_to_string(&file).expect("the file of the mistake can be read");
    assert_eq!(
        text.matches(mistake.right).count(),
        1,
        "the place of the mistake “{}” is not unique in {}",
        mistake.name,
        mistake.file
    );
    fs::write(&file, text.replace(mistake.right, mistake.wrong)).expect("the copy can be written");
    let built = cargo(copy, mistake, &["--no-run"]);
    assert!(built, "the mistake “{}” does not compile", mistake.name);
    let passed = cargo(copy, mistake, &["--", "--exact", mistake.test]);
    fs::write(&file, text).expect("the copy can be written");
    !passed
}

/// Whether cargo succeeds. A mistake may make a test run for ever: that is not a success.
fn cargo(copy: &Path, mistake: &Mistake, more: &[&str]) -> bool {
    let mut child = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "-p", mistake.home().1, "--test", mistake.suite])
        .args(more)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .env_remove("RUSTFLAGS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("cargo can be run");
    let end = Instant::now() + LONGEST;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("cargo can be waited for") {
            return status.success();
        }
        thread::sleep(Duration::from_millis(100));
    }
    // It may have ended just now.
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Copies what a build needs.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the temporary folder can be made");
    let mut todo: Vec<PathBuf> =
        ["Cargo.toml", "Cargo.lock", "crates", "programs"].map(PathBuf::from).to_vec();
    while let Some(path) = todo.pop() {
        let source = from.join(&path);
        if source.is_dir() {
            fs::create_dir_all(to.join(&path)).expect("the copy can be made");
            for entry in fs::read_dir(&source).expect("the sources can be read") {
                todo.push(path.join(entry.expect("the sources can be read").file_name()));
            }
        } else {
            fs::copy(&source, to.join(&path)).expect("the copy can be made");
        }
    }
}
