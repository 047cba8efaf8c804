//! Test programs: built once, and run for each mistake, a test at a time.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Workshop;

/// A test program.
pub(crate) struct Suite {
    /// Package and target.
    pub(crate) name: String,
    /// What is run.
    pub(crate) program: PathBuf,
    /// The folder in which it runs.
    pub(crate) folder: PathBuf,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It passed.
    Passed,
    /// It did not.
    Failed,
    /// It took much longer than without a mistake.
    TooLong,
}

/// An error of the compiler: what it says, and the places that it names.
pub(crate) struct Complaint {
    /// What it says.
    pub(crate) message: String,
    /// Files, and lines in them.
    pub(crate) places: Vec<(PathBuf, Range<usize>)>,
}

/// What every build and test is run with, to share a machine: `SELVEDGE_MUTANTS_WITH="nice"`.
fn with() -> Vec<String> {
    let with = std::env::var("SELVEDGE_MUTANTS_WITH").unwrap_or_default();
    with.split_whitespace().map(str::to_owned).collect()
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Runs cargo and returns its messages.
fn cargo(workshop: &Workshop, arguments: &[&str]) -> Vec<Value> {
    let mut words = with();
    words.push(env!("CARGO").to_owned());
    words.extend(arguments.iter().map(|&word| word.to_owned()));
    words.push("--message-format=json".to_owned());
    let output = command(&words)
        .current_dir(workshop.path("."))
        .env("CARGO_TARGET_DIR", workshop.path("target"))
        .env_remove("RUSTFLAGS")
        .stderr(Stdio::null())
        .output()
        .expect("cargo can be run");
    let lines = output.stdout.split(|&byte| byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Compiles all crates, and returns the errors.
pub(crate) fn complaints(workshop: &Workshop) -> Vec<Complaint> {
    let messages = cargo(workshop, &["check", "--workspace", "--lib", "--bins", "--keep-going"]);
    let mut complaints = Vec::new();
    for message in messages.iter().map(|message| &message["message"]) {
        if message["level"] != "error" {
            continue;
        }
        let mut places = Vec::new();
        for span in message["spans"].as_array().into_iter().flatten() {
            let offset = |name: &str| span[name].as_u64().unwrap_or_default() as usize;
            let file = PathBuf::from(span["file_name"].as_str().unwrap_or_default());
            places.push((file, offset("byte_start")..offset("byte_end").max(1)));
        }
        let message = message["message"].as_str().unwrap_or_default().to_owned();
        complaints.push(Complaint { message, places });
    }
    complaints
}

/// Builds test programs: those that `cargo test` builds with these arguments.
pub(crate) fn programs(workshop: &Workshop, arguments: &[&str]) -> Vec<Suite> {
    let messages = cargo(workshop, &[&["test", "--no-run"], arguments].concat());
    let finished = messages.iter().find(|message| message["reason"] == "build-finished");
    let errors = messages.iter().map(|message| &message["message"]);
    let error = errors.into_iter().find(|message| message["level"] == "error");
    assert!(
        finished.is_some_and(|message| message["success"] == true),
        "cargo test {} fails: {}",
        arguments.join(" "),
        error.and_then(|error| error["rendered"].as_str()).unwrap_or_default()
    );
    let mut suites = Vec::new();
    for message in &messages {
        let (Some(program), true) =
            (message["executable"].as_str(), message["profile"]["test"] == true)
        else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().expect("a manifest has a folder").to_owned();
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        let target = message["target"]["name"].as_str().unwrap_or_default();
        suites.push(Suite {
            name: format!("{package} {target}"),
            program: PathBuf::from(program),
            folder,
        });
    }
    suites
}

impl Suite {
    /// Runs one of its tests with these variables set: how that ends, and how long it takes.
    pub(crate) fn run(
        &self,
        test: &str,
        variables: &[(&str, &OsStr)],
        longest: Duration,
    ) -> (End, Duration) {
        let mut words = with();
        words.extend(["timeout", "-k", "5", &longest.as_secs().to_string()].map(str::to_owned));
        let started = Instant::now();
        let status = command(&words)
            .arg(&self.program)
            .args(["--exact", "--include-ignored", test])
            .current_dir(&self.folder)
            .envs(variables.iter().copied())
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("a test can be run");
        let end = match status.code() {
            Some(0) => End::Passed,
            Some(124 | 137) => End::TooLong,
            _ => End::Failed,
        };
        (end, started.elapsed())
    }
}
