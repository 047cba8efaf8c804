//! Checks that the editor asked for: each in a process of its own, watched by a thread, stopped at any time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Event;
use super::document::Document;
use crate::child::{Aside, PrivateFolder};

/// How often a running check is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often its progress is reported.
const TELL: Duration = Duration::from_millis(300);
/// A check that was forgotten ends after this time.
const MOST_TIME: &str = "10m";

/// What is known of a check that runs.
pub(super) struct Check {
    /// The request that waits for it.
    pub(super) request: Value,
    /// Of the progress that the client shows; null if it shows none.
    pub(super) token: Value,
    pub(super) uri: String,
    pub(super) version: Value,
}

/// What a check has to say.
pub(super) enum News {
    Progress {
        number: u64,
        text: String,
    },
    /// `None`: it was stopped.
    Ended {
        number: u64,
        result: Result<Option<Ended>, String>,
    },
}

/// The result of a check.
pub(super) struct Ended {
    pub(super) verdict: String,
    /// What is wrong or not known; empty if it is verified.
    pub(super) message: String,
    /// The address of the page.
    pub(super) page: String,
    /// Line, column and length of the violations, in characters, from 1; and what each is.
    places: Vec<([u64; 3], String)>,
}

impl Ended {
    /// Returns the verdict in one line.
    pub(super) fn told(&self) -> String {
        match self.message.as_str() {
            "" => self.verdict.clone(),
            message => format!("{}: {message}", self.verdict),
        }
    }

    pub(super) fn message_type(&self) -> u8 {
        match self.verdict.as_str() {
            "violated" => 1,
            "inconclusive" => 2,
            _ => 3,
        }
    }

    /// Returns the violations, at their places.
    pub(super) fn diagnostics(&self, document: &Document) -> Vec<Value> {
        let told = self.places.iter().map(|([line, column, length], message)| {
            let text = document.text.split('\n').nth(line.saturating_sub(1) as usize);
            let text = text.unwrap_or_default();
            let units = |characters: u64| -> usize {
                text.chars().take(characters as usize).map(char::len_utf16).sum()
            };
            let (start, end) = (units(column - 1), units(column - 1 + length));
            let position = |character| json!({ "line": line - 1, "character": character });
            json!({
                "range": { "start": position(start), "end": position(end) },
                "severity": 1,
                "source": "selvedge check",
                "message": format!("violated: {message}"),
            })
        });
        told.collect()
    }
}

struct Running {
    check: Check,
    stop: Arc<AtomicBool>,
    watcher: JoinHandle<()>,
}

/// All checks that run, and the pages of those that have ended.
pub(super) struct Checks {
    events: Sender<Event>,
    running: BTreeMap<u64, Running>,
    next: u64,
    /// Pages are shown as long as the server runs.
    folder: Option<Arc<PrivateFolder>>,
}

impl Checks {
    pub(super) fn new(events: Sender<Event>) -> Self {
        Self { events, running: BTreeMap::new(), next: 0, folder: None }
    }

    /// Starts a check of a text.
    pub(super) fn start(
        &mut self,
        check: Check,
        text: &str,
        options: &[String],
    ) -> Result<(), String> {
        let refuse = |error: std::io::Error| format!("a check cannot be started: {error}");
        let folder = match &self.folder {
            Some(folder) => Arc::clone(folder),
            None => {
                let folder = Arc::new(PrivateFolder::new().map_err(refuse)?);
                Arc::clone(self.folder.insert(folder))
            }
        };
        self.next += 1;
        let number = self.next;
        let inside = folder.path().join(number.to_string());
        std::fs::create_dir(&inside).map_err(refuse)?;
        let name = file_name(&check.uri);
        folder.write(&inside.join(&name), text).map_err(refuse)?;
        let fixed = ["check", &name, "--json", "--html", "page.html", "--time", MOST_TIME];
        let mut arguments: Vec<String> = fixed.iter().map(|&it| it.to_owned()).collect();
        arguments.extend_from_slice(options);
        let aside = Aside::start(&arguments, &inside).map_err(refuse)?;
        let stop = Arc::new(AtomicBool::new(false));
        let watcher = Watcher {
            number,
            aside,
            stop: Arc::clone(&stop),
            events: self.events.clone(),
            page: address(&inside.join("page.html")),
            _folder: folder,
        };
        let watcher = std::thread::Builder::new().name("check".to_owned()).spawn(|| watcher.run());
        let watcher = watcher.map_err(refuse)?;
        self.running.insert(number, Running { check, stop, watcher });
        Ok(())
    }

    /// Stops some of the checks. Each says so when it has ended.
    pub(super) fn stop(&self, which: impl Fn(&Check) -> bool) {
        let stopped = self.running.values().filter(|running| which(&running.check));
        stopped.for_each(|running| running.stop.store(true, Ordering::Relaxed));
    }

    pub(super) fn get(&self, number: u64) -> Option<&Check> {
        self.running.get(&number).map(|running| &running.check)
    }

    /// Removes a check that has said that it has ended.
    pub(super) fn remove(&mut self, number: u64) -> Option<Check> {
        let running = self.running.remove(&number)?;
        // It still has the folder, which is to be gone when this process ends.
        let _ = running.watcher.join();
        Some(running.check)
    }

    /// Returns whether an address is that of a page that was written here.
    pub(super) fn has_page(&self, page: &str) -> bool {
        let Some(folder) = &self.folder else { return false };
        (1..=self.next).any(|number| {
            page == address(&folder.path().join(number.to_string()).join("page.html"))
        })
    }
}

/// No process outlives the server, and no folder.
impl Drop for Checks {
    fn drop(&mut self) {
        self.stop(|_| true);
        for running in std::mem::take(&mut self.running).into_values() {
            let _ = running.watcher.join();
        }
    }
}

struct Watcher {
    number: u64,
    aside: Aside,
    stop: Arc<AtomicBool>,
    events: Sender<Event>,
    page: String,
    /// It has to be there while the check runs.
    _folder: Arc<PrivateFolder>,
}

impl Watcher {
    fn run(mut self) {
        let number = self.number;
        let mut last = (Instant::now(), String::new());
        let result = loop {
            if self.stop.load(Ordering::Relaxed) {
                break Ok(None);
            }
            match self.aside.ended() {
                Ok(Some(said)) => break read_result(&said.output, &said.messages, &self.page),
                Ok(None) => {}
                Err(error) => break Err(format!("the check cannot be followed: {error}")),
            }
            std::thread::sleep(LOOK);
            let text = self.aside.progress();
            if last.0.elapsed() >= TELL && text != last.1 {
                last = (Instant::now(), text.clone());
                let _ = self.events.send(Event::Check(News::Progress { number, text }));
            }
        };
        drop(self.aside);
        let _ = self.events.send(Event::Check(News::Ended { number, result }));
    }
}

/// Returns what a check wrote.
fn read_result(output: &[u8], messages: &str, page: &str) -> Result<Option<Ended>, String> {
    let result: Value = serde_json::from_slice(output).map_err(|_| {
        let message = messages.trim();
        if message.is_empty() {
            "the check ended without a result".to_owned()
        } else {
            message.to_owned()
        }
    })?;
    let violations = result["violations"].as_array().map_or(&[][..], Vec::as_slice);
    let doubts = result["inconclusive"].as_array().map_or(&[][..], Vec::as_slice);
    let first = violations.iter().chain(doubts).next();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |violation: &Value| {
        let place = &violation["place"];
        let number = |name: &str| place[name].as_u64().filter(|&number| number > 0);
        let place = [number("line")?, number("column")?, number("length")?];
        Some((place, text(&violation["message"])))
    };
    Ok(Some(Ended {
        verdict: text(&result["verdict"]),
        message: first.map_or(String::new(), |first| text(&first["message"])),
        page: page.to_owned(),
        places: violations.iter().filter_map(place).collect(),
    }))
}

/// Returns the last part of an address as the name of a program, with nothing in it that means something elsewhere.
fn file_name(uri: &str) -> String {
    let last = uri.rsplit('/').next().unwrap_or_default();
    let last = last.strip_suffix(".sel").unwrap_or(last);
    let kept = last.chars().filter(|&c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let name: String = kept.take(60).collect();
    match name.trim_start_matches('-') {
        "" => "program.sel".to_owned(),
        name => format!("{name}.sel"),
    }
}

/// Returns the address of a file.
fn address(path: &Path) -> String {
    let mut out = String::from("file://");
    let path = path.to_string_lossy().replace('\\', "/");
    if !path.starts_with('/') {
        out.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_harmless() {
        for (uri, expected) in [
            ("file:///home/a/bank.sel", "bank.sel"),
            ("file:///home/a/--races.sel", "races.sel"),
            ("untitled:Untitled-1", "untitledUntitled-1.sel"),
            ("file:///a/%2e%2e%2f.c", "2e2e2fc.sel"),
            ("file:///a/", "program.sel"),
            ("", "program.sel"),
        ] {
            assert_eq!(file_name(uri), expected);
        }
        assert_eq!(address(Path::new("/tmp/a b/é.html")), "file:///tmp/a%20b/%C3%A9.html");
    }
}
