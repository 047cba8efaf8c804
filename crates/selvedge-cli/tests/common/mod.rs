//! Runs the built binary in a folder of its own.

pub(crate) mod late;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use selvedge_testkit::is_campaign;

/// Returns the members of a list that a test looks at which takes long on each: all in a campaign, in `cargo test` every third.
pub(crate) fn some<T: Copy>(all: &[T]) -> impl Iterator<Item = T> {
    all.iter().copied().step_by(if is_campaign() { 1 } else { 3 })
}

/// Two threads lose an update.
pub(crate) const LOST: &str = "\
const N = 2;
shared x = 0;
thread inc(i in 0..N) {
    let v = x;
    x = v + 1;
}
finally { assert x == N; }
";

/// The same, done well.
pub(crate) const LOCKED: &str = "\
const N = 2;
shared x = 0;
mutex m;
thread inc(i in 0..N) {
    lock m;
    let v = x;
    x = v + 1;
    unlock m;
}
finally { assert x == N; }
";

/// Two locks in two orders.
pub(crate) const DEADLOCK: &str = "\
mutex a;
mutex b;
thread first { lock a; lock b; unlock b; unlock a; }
thread second { lock b; lock a; unlock a; unlock b; }
";

/// A loop that waits for another thread.
pub(crate) const SPIN: &str = "\
shared flag = false;
thread waiter { while !flag { } }
thread setter { flag = true; }
";

/// Every execution ends at an `assume`.
pub(crate) const ASSUME: &str = "\
shared x = 0;
thread t { x = 1; assume x == 2; }
";

/// Far too many executions.
pub(crate) const LARGE: &str = "\
const N = 9;
shared x = 0;
thread inc(i in 0..N) { x += 1; x += 1; x += 1; }
";

/// A folder that is removed at the end.
pub(crate) struct Folder {
    path: PathBuf,
}

/// What a run of the binary gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("selvedge-cli-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self { path }
    }

    /// A folder with one file.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        let folder = Self::new();
        folder.write(name, text.as_bytes());
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path.join(name), bytes).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).expect("a file can be read")
    }

    /// Runs `selvedge` with these arguments, separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, b"")
    }

    pub(crate) fn run_with(&self, arguments: &str, input: &[u8]) -> Run {
        let mut child = self.spawn(arguments);
        let mut stdin = child.stdin.take().expect("there is a pipe");
        // A child that does not read it closes the pipe.
        let _ = stdin.write_all(input);
        drop(stdin);
        finish(child)
    }

    pub(crate) fn spawn(&self, arguments: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(arguments.split_whitespace());
        self.start(command)
    }

    /// Starts a command in this folder.
    pub(crate) fn start(&self, mut command: Command) -> Child {
        command
            .current_dir(&self.path)
            .env_remove("COLUMNS")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be run")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn finish(child: Child) -> Run {
    let output = child.wait_with_output().expect("the binary ends");
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

impl Run {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that the result contains a text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "no `{text}` in\n{}\n{}", self.out, self.err);
        self
    }

    /// Checks that the messages contain a text.
    #[track_caller]
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "no `{text}` in\n{}", self.err);
        self
    }

    /// The result as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}", self.out))
    }
}

/// The processes that a process has started and that still run.
pub(crate) fn children(parent: u32) -> Vec<String> {
    let parent = parent.to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        let mut words = after_name.split(' ');
        let state = words.next();
        if words.next() == Some(&parent) && state != Some("Z") {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Whether a process runs.
pub(crate) fn is_running(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

/// The private folders that a process has left in the folder for temporary files.
pub(crate) fn left_folders(process: u32) -> usize {
    let start = format!("selvedge-{process}-");
    let all = std::fs::read_dir(std::env::temp_dir()).expect("it can be read").flatten();
    all.filter(|it| it.file_name().to_string_lossy().starts_with(&start)).count()
}

/// The names of all fields of an object and of what is in it.
pub(crate) fn fields(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(object) => {
            let inner = object.values().flat_map(fields);
            inner.chain(object.keys().cloned()).collect()
        }
        serde_json::Value::Array(array) => array.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    }
}

/// The text without what differs from run to run: times, speeds, amounts of memory, and the widths
/// of columns that depend on them.
pub(crate) fn normalised(text: &str) -> String {
    text.lines().map(|line| normalised_line(line) + "\n").collect()
}

fn normalised_line(line: &str) -> String {
    // The compiler is that of the machine.
    if line.starts_with("  compiler ") {
        return "  compiler #".to_owned();
    }
    const UNITS: &[&str] =
        &["ms", "s", "min", "B", "KiB", "MiB", "GiB", "executions/s", "states/s"];
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || ".,-".contains(c));
    let mut words: Vec<String> = Vec::new();
    let mut measured = false;
    for word in line.split_whitespace() {
        let unit = word.trim_end_matches(',');
        let follows_number = words.last().is_some_and(|last| is_number(last));
        if follows_number && UNITS.contains(&unit) {
            measured = true;
            words.pop();
            // In a table a speed stands between a time and an amount of memory.
            if words.len() >= 2
                && words[words.len() - 2] == "#"
                && is_number(&words[words.len() - 1])
            {
                words.pop();
            }
            if words.last().is_none_or(|last| last != "#") {
                words.push("#".to_owned());
            }
        } else {
            words.push(word.to_owned());
        }
    }
    if measured || line.starts_with("algorithm ") { words.join(" ") } else { line.to_owned() }
}
