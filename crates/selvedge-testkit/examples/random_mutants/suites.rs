//! The tests that CI runs, as programs: built once, run for each mistake.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::schemata::{CHOSEN, REACHED};
use crate::workshop::{Workshop, original};

/// A test program.
pub(crate) struct Suite {
    /// Package, target, and how it was built.
    pub(crate) name: String,
    /// What is run, and where.
    command: Vec<String>,
    folder: PathBuf,
    /// How long it takes without a mistake.
    pub(crate) time: Duration,
    /// The mistakes that it comes by.
    pub(crate) reached: BTreeSet<usize>,
}

/// How a run of a test program ended.
pub(crate) enum End {
    Passed,
    /// The test that failed, or how the process ended.
    Failed(String),
    TooLong,
}

/// An error of the compiler: what it says, and the places that it names.
pub(crate) struct Complaint {
    pub(crate) message: String,
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

/// Builds the tests that CI runs: those of all packages, then the golden programs in a release build.
/// In parts: others may want to use the machine in between.
pub(crate) fn build(workshop: &Workshop) -> Vec<Suite> {
    let all = ["test", "--workspace", "--no-run"];
    let units = ["--lib", "--bins", "--example=ring", "--example=oneshot", "--example=cache"];
    let mut suites = programs(workshop, &[&all[..], &units].concat(), "");
    for krate in names(&original("crates")) {
        let tests = original("crates").join(krate).join("tests");
        let tests: Vec<String> =
            names(&tests).iter().map(|name| format!("--test={name}")).collect();
        if !tests.is_empty() {
            let tests = tests.iter().map(String::as_str);
            let arguments: Vec<&str> = all.into_iter().chain(tests).collect();
            suites.extend(programs(workshop, &arguments, ""));
        }
    }
    let golden = ["test", "--no-run", "--release", "-p", "selvedge-testkit", "--test=golden"];
    suites.extend(programs(workshop, &golden, " (release)"));
    // This one is about the text of the sources.
    suites.retain(|suite| suite.name != "selvedge-testkit tidy");
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    suites.dedup_by(|a, b| a.name == b.name);
    suites
}

/// What is in a folder: Rust files without their ending, and folders of a test.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension().is_some_and(|end| end == "rs")
                || path.join("main.rs").exists()
                || path.join("src").exists()
        })
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

fn programs(workshop: &Workshop, arguments: &[&str], how: &str) -> Vec<Suite> {
    let messages = cargo(workshop, arguments);
    let finished = messages.iter().find(|message| message["reason"] == "build-finished");
    assert!(
        finished.is_some_and(|message| message["success"] == true),
        "cargo {} fails",
        arguments.join(" ")
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
            name: format!("{package} {target}{how}"),
            command: vec![program.to_owned()],
            folder,
            time: Duration::ZERO,
            reached: BTreeSet::new(),
        });
    }
    suites
}

impl Suite {
    /// Runs it without a mistake: how long it takes, what it comes by, and whether it passes.
    pub(crate) fn survey(&mut self, workshop: &Workshop) -> End {
        let folder = workshop.path("reached");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder can be made");
        let (end, time) = self.run(Duration::from_secs(1200), (REACHED, folder.as_os_str()));
        self.time = time;
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            let text = fs::read_to_string(path).expect("the folder can be read");
            self.reached.extend(text.lines().filter_map(|line| line.parse::<usize>().ok()));
        }
        end
    }

    /// Runs it with a mistake.
    pub(crate) fn try_mistake(&self, number: usize) -> End {
        let longest = self.time * 5 + Duration::from_secs(10);
        self.run(longest, (CHOSEN, number.to_string().as_ref())).0
    }

    fn run(&self, longest: Duration, (name, value): (&str, &std::ffi::OsStr)) -> (End, Duration) {
        let mut words = with();
        // What waits before that does not count.
        words.extend(["timeout", "-k", "5", &longest.as_secs().to_string()].map(str::to_owned));
        words.extend(self.command.iter().cloned());
        let mut child = command(&words)
            .current_dir(&self.folder)
            .env(name, value)
            .env("RUST_TEST_THREADS", "1")
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a test can be run");
        let output = child.stdout.take().expect("the output is piped");
        let mut started = Instant::now();
        let mut failed = None;
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if line.starts_with("running ") {
                started = Instant::now();
            }
            if let Some(test) = line.strip_prefix("test ").and_then(|l| l.strip_suffix("FAILED")) {
                failed = Some(test.trim_end_matches([' ', '.']).to_owned());
                let group = format!("-{}", child.id());
                // The others need not come to their end.
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                break;
            }
        }
        let status = child.wait().expect("a test can be waited for");
        let end = match failed {
            Some(test) => End::Failed(test),
            None if status.success() => End::Passed,
            None if matches!(status.code(), Some(124 | 137)) => End::TooLong,
            None => match status.signal() {
                Some(signal) => End::Failed(format!("signal {signal}")),
                None => End::Failed(status.to_string()),
            },
        };
        (end, started.elapsed())
    }
}
