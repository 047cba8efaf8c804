//! Checks, comparisons and syntheses: each in a process of its own, with limits. It ends when the client disconnects.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use selvedge_explore::Memory;
use selvedge_symbolic::Scheme;
use serde_json::{Map, Value, json};

use super::diagnose::{Given, diagnose};
use super::examples::with_imports;
use super::http::Response;
use super::ndjson::Lines;
use crate::args::ServeArgs;
use crate::child::{Aside, PrivateFolder, Said};
use crate::registry;

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often progress is reported. Also how soon a client that has disconnected is noticed.
const TELL: Duration = Duration::from_millis(200);
/// Of one algorithm in a comparison.
const COMPARED: Duration = Duration::from_secs(5);

/// Names of jobs that are to stop, at most: more than run at a time.
const MOST_STOPPED: usize = 64;

/// What is asked for, all of it checked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) text: String,
    pub(super) given: Given,
    name: String,
    method: Vec<String>,
    races: bool,
    keep_going: bool,
    /// What the client calls it, to stop it.
    job: Option<String>,
}

impl Asked {
    pub(super) fn read(body: &Value) -> Result<Self, Response> {
        let wrong = |why: &str| Response::refusal(400, why);
        let text = body["text"].as_str().ok_or_else(|| wrong("there is no program"))?.to_owned();
        let mut given = Given::new();
        for (name, value) in body["constants"].as_object().unwrap_or(&Map::new()) {
            let value = value.as_i64().or(value.as_bool().map(i64::from));
            let value = value.ok_or_else(|| wrong("a constant is a number, true or false"))?;
            if !is_name(name) {
                return Err(wrong("this is not the name of a constant"));
            }
            given.push((name.clone(), value));
        }
        let method =
            method(body).ok_or_else(|| wrong("there is no such algorithm or memory model"))?;
        let flag = |name: &str| body[name].as_bool().unwrap_or(false);
        let name = file_name(body["name"].as_str().unwrap_or_default());
        let (races, keep_going) = (flag("races"), flag("keepGoing"));
        let job = body["job"].as_str().filter(|job| is_name(job)).map(str::to_owned);
        Ok(Self { text, given, name, method, races, keep_going, job })
    }

    /// Returns the program and its constants, as arguments.
    fn program(&self, command: &str) -> Vec<String> {
        let mut arguments = vec![command.to_owned(), self.name.clone(), "--json".to_owned()];
        for (name, value) in &self.given {
            arguments.extend(["--const".to_owned(), format!("{name}={value}")]);
        }
        arguments
    }
}

/// Returns the arguments for an algorithm, an encoding or a memory model.
fn method(body: &Value) -> Option<Vec<String>> {
    let option = |name: &str, value: &str| Some(vec![name.to_owned(), value.to_owned()]);
    if let Some(memory) = body["memory"].as_str().filter(|it| !it.is_empty()) {
        return option("--memory", Memory::named(memory)?.name());
    }
    match body["algorithm"].as_str() {
        None | Some("") => Some(Vec::new()),
        Some(name) => match name.strip_prefix("symbolic ") {
            Some(scheme) => {
                let known = Scheme::ALL.iter().any(|known| known.name() == scheme);
                known.then(|| vec!["--symbolic".to_owned(), scheme.to_owned()])
            }
            None => option("--algorithm", registry::named(name)?.info().name),
        },
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() < 200
}

/// Returns a name for the file: that of the example, as far as it is harmless.
fn file_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or_default();
    let kept = last.strip_suffix(".sel").unwrap_or(last).chars();
    let kept: String =
        kept.filter(|&c| c.is_ascii_alphanumeric() || "_-".contains(c)).take(60).collect();
    match kept.trim_start_matches('-') {
        "" => "program.sel".to_owned(),
        kept => format!("{kept}.sel"),
    }
}

/// The processes, and how many there may be.
pub(super) struct Jobs {
    most: usize,
    time: Duration,
    memory: u64,
    running: AtomicUsize,
    is_over: AtomicBool,
    /// What clients have asked to stop.
    stopped: Mutex<BTreeSet<String>>,
}

/// A place for a process.
struct Slot<'j>(&'j Jobs);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Jobs {
    pub(super) fn new(args: &ServeArgs) -> Self {
        Self {
            most: usize::from(args.checks),
            time: args.time,
            memory: args.max_memory,
            running: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            stopped: Mutex::default(),
        }
    }

    /// Returns the limits, for people.
    pub(super) fn limits(&self) -> Value {
        let time = format!("{} s", self.time.as_secs_f64());
        json!({ "time": time, "memory": selvedge_report::bytes(self.memory), "checks": self.most })
    }

    /// Ends all processes, and waits until they have ended.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let start = Instant::now();
        while self.running.load(Ordering::Acquire) > 0 && start.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Has a job stop and show what it has found. One that has ended meanwhile does not notice.
    pub(super) fn stop(&self, body: &Value) -> Result<(), Response> {
        let job = body["job"].as_str().filter(|job| is_name(job));
        let job = job.ok_or_else(|| Response::refusal(400, "this is not the name of a job"))?;
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if stopped.len() == MOST_STOPPED {
            stopped.pop_first();
        }
        stopped.insert(job.to_owned());
        Ok(())
    }

    /// Returns whether a job is to stop, once.
    fn is_stopped(&self, job: Option<&str>) -> bool {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        job.is_some_and(|job| stopped.remove(job))
    }

    fn take(&self) -> Option<Slot<'_>> {
        let slot = |running: usize| (running < self.most).then_some(running + 1);
        let taken = self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, slot);
        taken.ok().map(|_| Slot(self))
    }

    fn limited(&self, arguments: &mut Vec<String>, time: Duration) {
        let time = format!("{}ms", time.min(self.time).as_millis().max(1));
        let memory = self.memory.to_string();
        arguments.extend(["--time".to_owned(), time, "--max-memory".to_owned(), memory]);
    }

    /// Checks a program. `keep` takes the page and returns its number.
    pub(super) fn check(
        &self,
        asked: &Asked,
        lines: &mut Lines,
        keep: impl FnOnce(String) -> u64,
    ) -> io::Result<()> {
        let Some(_slot) = self.begin(asked, lines)? else { return Ok(()) };
        let mut arguments = asked.program("check");
        arguments.extend_from_slice(&asked.method);
        arguments.extend(["--html".to_owned(), "page.html".to_owned()]);
        if asked.races {
            arguments.push("--races".to_owned());
        }
        if asked.keep_going {
            arguments.push("--keep-going".to_owned());
        }
        self.limited(&mut arguments, self.time);
        let folder = PrivateFolder::new()?;
        let Some(said) = self.run(asked, &arguments, &folder, lines)? else { return Ok(()) };
        let Ok(result) = serde_json::from_slice::<Value>(&said.output) else {
            return lines.write(&complaint(&said));
        };
        let page = std::fs::read_to_string(folder.path().join("page.html")).ok().map(keep);
        let violations = result["violations"].as_array().into_iter().flatten().map(
            |violation| json!({ "message": violation["message"], "places": violation["places"] }),
        );
        let told = json!({
            "verdict": result["verdict"],
            "violations": violations.collect::<Vec<_>>(),
            "inconclusive": result["inconclusive"],
            "executions": result["executions"],
            "states": result["states"],
            "seconds": result["seconds"],
            "page": page,
        });
        lines.write(&json!({ "result": told }))
    }

    /// Runs every algorithm on a program, one after the other, and tells each result when it is there.
    pub(super) fn compare(&self, asked: &Asked, lines: &mut Lines) -> io::Result<()> {
        let Some(_slot) = self.begin(asked, lines)? else { return Ok(()) };
        let mut verdicts: Vec<(Value, Value)> = Vec::new();
        // One that chooses among the others has nothing to be compared.
        let infos = registry::all().map(|algorithm| algorithm.info());
        let compared: Vec<_> = infos.filter(|info| info.chooses_from.is_empty()).collect();
        for name in compared.iter().map(|info| info.name) {
            let mut arguments = asked.program("compare");
            arguments.extend(["--algorithms".to_owned(), name.to_owned()]);
            if asked.races {
                arguments.push("--races".to_owned());
            }
            self.limited(&mut arguments, COMPARED);
            lines.write(&json!({ "running": name }))?;
            let folder = PrivateFolder::new()?;
            let Some(said) = self.run(asked, &arguments, &folder, lines)? else { return Ok(()) };
            let result = serde_json::from_slice::<Value>(&said.output).unwrap_or_default();
            let row = &result["algorithms"][0];
            if row.is_null() {
                let mut told = complaint(&said);
                told["algorithm"] = json!(name);
                lines.write(&json!({ "row": told }))?;
                continue;
            }
            verdicts.push((row["covers"].clone(), row["verdict"].clone()));
            lines.write(&json!({ "row": row }))?;
        }
        // Algorithms that cover less may miss what others find.
        let contradicts = |(covers, verdict): &(Value, Value)| {
            *verdict == "verified" && verdicts.contains(&(covers.clone(), json!("violated")))
        };
        let agree = !verdicts.iter().any(contradicts);
        lines.write(&json!({ "result": { "agree": agree } }))
    }

    /// Looks for conditions under which atomic blocks are independent.
    pub(super) fn constraints(&self, asked: &Asked, lines: &mut Lines) -> io::Result<()> {
        let Some(_slot) = self.begin(asked, lines)? else { return Ok(()) };
        let mut arguments = asked.program("constraints");
        self.limited(&mut arguments, self.time);
        let folder = PrivateFolder::new()?;
        let Some(said) = self.run(asked, &arguments, &folder, lines)? else { return Ok(()) };
        match serde_json::from_slice::<Value>(&said.output) {
            Ok(result) => lines.write(&json!({ "result": result })),
            Err(_) => lines.write(&complaint(&said)),
        }
    }

    /// Returns a place for a process, unless there is none or the program has errors; then that was said.
    ///
    /// A text that compiles is a program, and nothing that a process could take for something else.
    fn begin(&self, asked: &Asked, lines: &mut Lines) -> io::Result<Option<Slot<'_>>> {
        let found = diagnose(&asked.text, &asked.given);
        if found["fine"] != true {
            lines.write(
                &json!({ "error": "the program has errors", "diagnostics": found["diagnostics"] }),
            )?;
            return Ok(None);
        }
        let slot = self.take();
        if slot.is_none() {
            let message = format!("{} checks are running: stop one of them, or wait", self.most);
            lines.write(&json!({ "error": message }))?;
        }
        Ok(slot)
    }

    /// Runs a command to its end. `None`: the client has disconnected, and it was ended.
    fn run(
        &self,
        asked: &Asked,
        arguments: &[String],
        folder: &PrivateFolder,
        lines: &mut Lines,
    ) -> io::Result<Option<Said>> {
        folder.write(asked.name.as_ref(), &with_imports(&asked.text))?;
        let mut aside = Aside::start(arguments, folder.path())?;
        let mut told = (Instant::now(), String::new());
        loop {
            if let Some(said) = aside.ended()? {
                return Ok(Some(said));
            }
            if self.is_over.load(Ordering::Acquire) || lines.is_closed() {
                return Ok(None);
            }
            if self.is_stopped(asked.job.as_deref()) {
                // If it has just ended, there is no pipe to it.
                let _ = aside.interrupt();
            }
            std::thread::sleep(LOOK);
            if told.0.elapsed() >= TELL {
                let progress = aside.progress();
                if progress != told.1 {
                    lines.write(&json!({ "progress": progress }))?;
                }
                told = (Instant::now(), progress);
            }
        }
    }
}

/// Returns why there is no result.
fn complaint(said: &Said) -> Value {
    match said.messages.trim() {
        "" => json!({ "error": "the process was ended from outside" }),
        message => json!({ "error": message.strip_prefix("error: ").unwrap_or(message) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_checked() {
        let read = |body: Value| Asked::read(&body).map_err(|refusal| refusal.status);
        let asked = read(json!({
            "text": "x", "name": "../a b/--bank.sel", "constants": { "N": 3, "DEBUG": true },
            "algorithm": "source", "races": true,
        }));
        let asked = asked.expect("it is fine");
        assert_eq!(asked.name, "bank.sel");
        let expected = ["check", "bank.sel", "--json", "--const", "DEBUG=1", "--const", "N=3"];
        assert_eq!(asked.program("check"), expected);
        assert_eq!(asked.method, ["--algorithm", "source"]);
        let weak = read(json!({ "text": "", "algorithm": "source", "memory": "rc11" }));
        assert_eq!(weak.expect("it is fine").method, ["--memory", "rc11"]);
        let symbolic = read(json!({ "text": "", "algorithm": "symbolic mat" }));
        assert_eq!(symbolic.expect("it is fine").method, ["--symbolic", "mat"]);
        for wrong in [
            json!({}),
            json!({ "text": 7 }),
            json!({ "text": "", "constants": { "N": "3" } }),
            json!({ "text": "", "constants": { "N=1 --html": 3 } }),
            json!({ "text": "", "algorithm": "--help" }),
            json!({ "text": "", "algorithm": "symbolic x" }),
            json!({ "text": "", "memory": "alpha" }),
        ] {
            assert_eq!(read(wrong.clone()).map(|_| ()), Err(400), "{wrong}");
        }
    }
}
