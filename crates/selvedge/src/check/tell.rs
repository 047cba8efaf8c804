//! What a check prints and writes when it is over, and how a test fails.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use selvedge_core::Verdict;

use super::Builder;
use super::kept::plain;
use crate::failure::{Look, short};
use crate::outcome::Outcome;

/// The folder for pages of failing tests.
fn pages() -> Option<PathBuf> {
    std::env::var_os("SELVEDGE_HTML").filter(|name| !name.is_empty()).map(PathBuf::from)
}

impl Builder {
    /// Whether a page may be written, which shows the executions as a tree.
    pub(super) fn wants_page(&self) -> bool {
        let is_page = |path: &PathBuf| path.extension().is_some_and(|form| form == "html");
        self.report_file.as_ref().is_some_and(is_page) || pages().is_some()
    }

    /// Checks a program, and tells what came out. Nothing here is generic: see [`Builder::explore_program`].
    #[track_caller]
    pub(super) fn check_program(&self, program: Rc<dyn Fn()>) {
        let outcome = self.explore_program(program);
        let unwritten = self.report_file.as_deref().and_then(|path| outcome.write_to(path).err());
        if self.statistics || std::env::var_os("SELVEDGE_STATISTICS").is_some() {
            print_statistics(&outcome);
        }
        let fine = match outcome.verdict() {
            Verdict::Verified => true,
            Verdict::Violated => false,
            Verdict::Inconclusive => {
                outcome.report().inconclusive.iter().all(|reason| self.asked_for(reason))
            }
        };
        if fine && !self.quiet {
            print_not_proved(&outcome);
        }
        let text = (!fine).then(|| {
            annotate(&outcome);
            let page = write_page(&outcome).unwrap_or_default();
            format!("{}{page}", outcome.text_as(Look::of_terminal()))
        });
        match (text, unwritten) {
            (None, None) => {}
            (Some(text), None) => panic!("{text}"),
            (text, Some(error)) => panic!("{}selvedge: {error}", text.unwrap_or_default()),
        }
    }
}

/// What a check that passed does not prove. Test harnesses keep what passing tests print, so this goes to
/// the terminal itself; once for each check of a process, however often it runs.
fn print_not_proved(outcome: &Outcome) {
    static TOLD: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let lines = outcome.not_proved();
    if lines.is_empty() {
        return;
    }
    if std::env::var_os("SELVEDGE_QUIET").is_some_and(|quiet| quiet != "0") {
        return;
    }
    let current = std::thread::current();
    let test = current.name().unwrap_or("a check").to_owned();
    let place = short(outcome.checked_at);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert((test.clone(), place.clone())) {
        // Not with `eprintln!`: tests keep that for themselves. One write: lines of others stay whole.
        let line = |line| format!("selvedge: {test} ({place}): passed, but {line}\n");
        let text: String = lines.into_iter().map(line).collect();
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Marks the lines of what is wrong for a service that runs tests, if `SELVEDGE_ANNOTATIONS` names one.
fn annotate(outcome: &Outcome) {
    if std::env::var_os("SELVEDGE_ANNOTATIONS").is_some_and(|service| service == "github") {
        let marks = selvedge_report::github(&outcome.found_out);
        // Not with `eprint!`: tests keep that for themselves, and the service reads whole lines.
        let _ = std::io::stderr().write_all(marks.as_bytes());
    }
}

/// Writes the page of a failing test to the folder that `SELVEDGE_HTML` names. Returns a line that says so.
fn write_page(outcome: &Outcome) -> Option<String> {
    let folder = pages()?;
    let current = std::thread::current();
    let name = format!("{}-{}.html", current.name().unwrap_or("check"), short(outcome.checked_at));
    let path = folder.join(plain(&name));
    let written = std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))
        .and_then(|()| outcome.write_to(&path));
    Some(match written {
        Ok(()) => format!("selvedge: to look at it: {}\n", path.display()),
        Err(error) => format!("selvedge: {error}\n"),
    })
}

/// The result in one line, for `SELVEDGE_STATISTICS`.
#[allow(clippy::print_stderr, reason = "asked for")]
fn print_statistics(outcome: &Outcome) {
    let current = std::thread::current();
    let test = current.name().unwrap_or("a check");
    let (verdict, executions) = (outcome.verdict(), outcome.executions());
    let seconds = outcome.time().as_secs_f64();
    eprintln!("selvedge: {test}: {verdict}, {executions} executions, {seconds:.3} s");
    for line in outcome.not_covered() {
        eprintln!("selvedge: {test}: {line}");
    }
}
