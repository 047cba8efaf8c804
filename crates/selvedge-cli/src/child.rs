//! A command of this tool in a process of its own, for servers that continue meanwhile: the language server and the workbench.
//!
//! It has a private folder for its files, limits of its own, and ends when it is dropped; also when the process that started it is
//! killed, and cannot say so: then a pipe to it is closed.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A result that is longer is cut, and then no result.
const MOST_OUTPUT: u64 = 256 << 20;
/// Of its messages the first so many bytes are kept, and the rest of that line.
const MOST_MESSAGES: usize = 16 << 10;
/// Tells a process that its standard input is open as long as the one that started it runs.
const WITH_PARENT: &str = "SELVEDGE_WITH_PARENT";

/// Ends this process when the one is gone that started it, if it was started so; and interrupts it when that one asks.
pub(crate) fn end_with_parent() {
    if std::env::var_os(WITH_PARENT).is_none() {
        return;
    }
    let wait = || {
        // Each byte asks it to stop and to show what it has found.
        for _ in io::stdin().lock().bytes().map_while(Result::ok) {
            crate::guard::interrupt();
        }
        std::process::exit(i32::from(crate::exit::FAILURE));
    };
    let _ = std::thread::Builder::new().name("parent".to_owned()).spawn(wait);
}

/// A folder that only its owner can look into. It is removed at the end.
pub(crate) struct PrivateFolder {
    path: PathBuf,
}

impl PrivateFolder {
    /// Makes one in the folder for temporary files.
    pub(crate) fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("selvedge-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match builder().create(&path) {
                // What another process has left, or somebody else has put there.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Self { path }),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a program for a process that is to read it.
    pub(crate) fn write(&self, name: &Path, text: &str) -> io::Result<()> {
        fs::write(self.path.join(name), text)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(unix)]
fn builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn builder() -> DirBuilder {
    DirBuilder::new()
}

/// A command that runs.
pub(crate) struct Aside {
    child: Child,
    output: Option<JoinHandle<Vec<u8>>>,
    messages: Option<JoinHandle<String>>,
    progress: Arc<Mutex<String>>,
}

/// What a command that has ended has to say.
#[derive(Debug)]
pub(crate) struct Said {
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// What it complained about.
    pub(crate) messages: String,
}

impl Aside {
    /// Starts this program with other arguments, in a folder.
    pub(crate) fn start(arguments: &[String], folder: &Path) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .current_dir(folder)
            .env(crate::progress::LINES, "lines")
            .env("NO_COLOR", "1")
            .env(WITH_PARENT, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let progress = Arc::new(Mutex::new(String::new()));
        let output = child.stdout.take();
        let output = output.map(|out| std::thread::spawn(move || whole(out, MOST_OUTPUT)));
        let shared = Arc::clone(&progress);
        let messages =
            child.stderr.take().map(|err| std::thread::spawn(move || lines(err, &shared)));
        Ok(Self { child, output, messages, progress })
    }

    /// Asks it to stop and to show what it has found.
    pub(crate) fn interrupt(&mut self) -> io::Result<()> {
        self.child.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(b"\n"))
    }

    /// Returns how far it is, in words; empty if it has not said so yet.
    pub(crate) fn progress(&self) -> String {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what it said, if it has ended.
    pub(crate) fn ended(&mut self) -> io::Result<Option<Said>> {
        if self.child.try_wait()?.is_none() {
            return Ok(None);
        }
        let output = self.output.take().and_then(|thread| thread.join().ok());
        let messages = self.messages.take().and_then(|thread| thread.join().ok());
        Ok(Some(Said {
            output: output.unwrap_or_default(),
            messages: messages.unwrap_or_default(),
        }))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns what there is, or nothing if that is `most` bytes or more.
fn whole(out: impl Read, most: u64) -> Vec<u8> {
    let mut found = Vec::new();
    let mut out = out.take(most);
    if out.read_to_end(&mut found).is_err() || found.len() as u64 == most {
        found.clear();
    }
    // It must not wait for a reader.
    let _ = io::copy(&mut out.into_inner(), &mut io::sink());
    found
}

/// Keeps the last line of progress, and the messages.
fn lines(err: impl Read, progress: &Mutex<String>) -> String {
    let mut messages = String::new();
    for line in BufReader::new(err).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match line.strip_prefix(crate::progress::PREFIX) {
            Some(told) => {
                *progress.lock().unwrap_or_else(PoisonError::into_inner) = told.to_owned();
            }
            None if messages.len() < MOST_MESSAGES => {
                messages.push_str(&line);
                messages.push('\n');
            }
            None => {}
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_too_long_is_none() {
        assert_eq!(whole(&b"1234"[..], 5), b"1234");
        // And it is read to its end: who writes it does not wait.
        for text in ["12345", "123456789"] {
            let mut out = text.as_bytes();
            assert_eq!(whole(&mut out, 5), b"");
            assert_eq!(out, b"");
        }
    }

    #[test]
    fn the_first_messages_are_kept() {
        let progress = Mutex::new(String::new());
        let line = "x".repeat(1000);
        let prefix = crate::progress::PREFIX;
        let text = format!("{prefix}first\n{}{prefix}last\n", format!("{line}\n").repeat(40));
        let kept = lines(text.as_bytes(), &progress);
        assert_eq!(kept, format!("{line}\n").repeat(MOST_MESSAGES / 1001 + 1));
        assert_eq!(*progress.lock().expect("no thread has panicked"), "last");
    }
}
