//! What a command shows if a single allocation exceeds the memory limit: what was found so far.
//!
//! An allocation cannot fail gracefully: the code would abort. So it is stopped inside of the
//! allocator and never returns; a thread that waits for this shows the result, with what the search published
//! until then, and ends the process.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use selvedge_core::{Bound, Inconclusive, Report};

use crate::exit::{self, Exit, Failure};
use crate::memory;

/// How often the thread looks whether the allocator has stopped a search.
const LOOK: Duration = Duration::from_millis(10);

/// What the current search has found.
static FOUND: Mutex<Option<Report>> = Mutex::new(None);

/// Publishes what a search has found so far. Cheap if there is no new violation: called after every execution.
pub(crate) fn publish(report: &Report) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let known = found.get_or_insert_default();
    (known.counts, known.states, known.steps) = (report.counts, report.states, report.steps);
    (known.longest, known.threads) = (report.longest, report.threads);
    if known.violations.len() != report.violations.len() {
        known.violations.clone_from(&report.violations);
    }
    if known.inconclusive.len() != report.inconclusive.len() {
        known.inconclusive.clone_from(&report.inconclusive);
    }
}

/// Returns what the search has found, and that it has not come to its end.
fn found() -> Report {
    // If the search was stopped while it published a violation, the lock is never free again.
    let found = FOUND.try_lock().ok().and_then(|mut found| found.take());
    let mut report = found.unwrap_or_default();
    report.note(Inconclusive::Bound(Bound::Memory));
    report
}

/// Does `work`. If it needs more memory than there is, `conclude` shows what was found, and the process ends.
pub(crate) fn shown_in_any_case<T>(
    conclude: &(dyn Fn(Report) -> Result<Exit, Failure> + Sync),
    work: impl FnOnce() -> T,
) -> T {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).take();
    let is_done = AtomicBool::new(false);
    let wait = || {
        while !memory::is_stopped() {
            if is_done.load(Relaxed) {
                return;
            }
            thread::park_timeout(LOOK);
        }
        memory::lift_limit();
        let result = conclude(found());
        std::process::exit(i32::from(exit::number(result)));
    };
    thread::scope(|scope| {
        let waiting = thread::Builder::new().name("result".to_owned()).spawn_scoped(scope, wait);
        // Without the thread the process ends with a message, and without a result.
        memory::stop_if_exhausted(waiting.is_ok());
        let result = work();
        memory::stop_if_exhausted(false);
        is_done.store(true, Relaxed);
        if let Ok(waiting) = waiting {
            waiting.thread().unpark();
        }
        result
    })
}
