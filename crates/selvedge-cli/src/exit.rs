//! How the process ends: exit codes, errors of the user, and internal errors.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use selvedge_core::Verdict;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Verified, or nothing to complain about.
    Good,
    /// A violation was found.
    Violated,
    /// Nothing is proved.
    Inconclusive,
}

/// Why a command could not be carried out: exit code 2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The user can fix it; the message ends with the next step.
    User(String),
    /// The same, already laid out with a source excerpt.
    Rendered(String),
    /// The tool is wrong.
    Internal(String),
}

/// The exit code for usage errors and errors of the tool.
pub(crate) const FAILURE: u8 = 2;
/// The exit code of an inconclusive verdict.
pub(crate) const INCONCLUSIVE: u8 = 3;
/// What shells expect of a program that Ctrl-C ended.
pub(crate) const INTERRUPTED: i32 = 130;

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Verified => Exit::Good,
            Verdict::Violated => Exit::Violated,
            Verdict::Inconclusive => Exit::Inconclusive,
        }
    }
}

/// Shows a failure and returns the exit code.
pub(crate) fn code(result: Result<Exit, Failure>) -> ExitCode {
    ExitCode::from(number(result))
}

/// Shows a failure and returns the exit code as a number.
pub(crate) fn number(result: Result<Exit, Failure>) -> u8 {
    match result {
        Ok(Exit::Good) => 0,
        Ok(Exit::Violated) => 1,
        Ok(Exit::Inconclusive) => INCONCLUSIVE,
        Err(failure) => {
            failure.show();
            FAILURE
        }
    }
}

/// Returns how a command ends that has its result, after the result was shown and files were written. What went
/// wrong with these is said in any case; it is the failure of the command unless a violation was found,
/// which the exit code never hides.
pub(crate) fn after(
    exit: Exit,
    done: impl IntoIterator<Item = Result<(), Failure>>,
) -> Result<Exit, Failure> {
    let failures: Vec<Failure> = done.into_iter().filter_map(Result::err).collect();
    match (exit, failures.split_last()) {
        (_, None) => Ok(exit),
        (Exit::Violated, Some(_)) => {
            failures.iter().for_each(Failure::show);
            Ok(exit)
        }
        (Exit::Good | Exit::Inconclusive, Some((last, others))) => {
            others.iter().for_each(Failure::show);
            Err(last.clone())
        }
    }
}

/// Writes a file completely, or not at all.
pub(crate) fn write_file(path: &Path, what: &str, text: &str) -> Result<(), Failure> {
    selvedge_report::write_whole(path, text).map_err(|error| {
        let path = path.display();
        Failure::User(format!(
            "{what} cannot be written to {path}: {error}\n  choose a file in a writable folder"
        ))
    })
}

impl Failure {
    fn show(&self) {
        match self {
            Failure::User(message) => complain(&format!("error: {message}\n")),
            Failure::Rendered(text) => complain(text),
            Failure::Internal(message) => complain(&internal_error(message)),
        }
    }
}

/// Writes to standard error. Ignored if that is closed.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Turns every panic into an internal error with exit code 2.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("an unknown panic");
        let message = message.strip_prefix("internal error: ").unwrap_or(message);
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        complain(&internal_error(&format!("{message}{place}")));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            complain(&format!("{backtrace}\n"));
        }
        std::process::exit(i32::from(FAILURE));
    }));
}

fn internal_error(message: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "internal error, please report: {message}\n  \
         say what you ran, with the program; this is selvedge {version}\n"
    )
}
