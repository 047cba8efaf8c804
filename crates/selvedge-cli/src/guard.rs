//! Exhausts the current budget: at the time limit, at the memory limit, or at a signal.
//!
//! A separate thread reads the clock, so that computations only poll a flag. A signal exhausts the budgets of all
//! computations, and what was found so far is shown. If no computation has results to show
//! (a program is read, a schedule replayed), the signal ends the process, and so does a second one.

use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::{Budget, Spent};

use crate::{exit, memory};

/// How often the thread checks the memory.
const MEMORY_LOOK: Duration = Duration::from_millis(5);
/// After a signal every computation ends within a fraction of a second. If one does not, that is
/// a bug of the tool; the process ends anyway.
const LAST_RESORT: Duration = Duration::from_secs(10);

/// A computation with a budget, which may be exhausted until the guard is dropped.
pub(crate) struct Guard {
    budget: Budget,
    number: u64,
}

struct Watched {
    number: u64,
    budget: Budget,
    deadline: Option<Instant>,
}

struct State {
    running: Vec<Watched>,
    started: u64,
    /// When the user asked to stop.
    interrupted: Option<Instant>,
}

static STATE: Mutex<State> =
    Mutex::new(State { running: Vec::new(), started: 0, interrupted: None });
static NEWS: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    /// Begins something that ends after `time` at the latest.
    pub(crate) fn start(time: Option<Duration>) -> Self {
        install();
        let budget = Budget::unlimited();
        let mut state = state();
        if state.running.is_empty() || time.is_some() {
            memory::begin();
        }
        state.started += 1;
        let number = state.started;
        if state.interrupted.is_some() {
            budget.end(Spent::Interrupted);
        }
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        state.running.push(Watched { number, budget: budget.clone(), deadline });
        NEWS.notify_one();
        Self { budget, number }
    }

    /// Returns the budget.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        state().running.retain(|other| other.number != self.number);
    }
}

/// Returns whether the user asked to stop.
pub(crate) fn is_interrupted() -> bool {
    state().interrupted.is_some()
}

/// Starts handling signals and watching the clock, once.
fn install() {
    static START: Once = Once::new();
    START.call_once(|| {
        // Without a handler signals end the process as they always do; without the thread there is no
        // limit, and that must be known.
        let _ = ctrlc::set_handler(on_signal);
        let watcher = std::thread::Builder::new().name("limits".to_owned()).spawn(watch);
        if let Err(error) = watcher {
            exit::complain(&format!(
                "warning: limits on time and memory are not enforced: {error}\n"
            ));
        }
    });
}

/// Ends all computations, as Ctrl-C does: what was found so far is shown.
pub(crate) fn interrupt() {
    on_signal();
}

fn on_signal() {
    let mut state = state();
    if state.interrupted.is_some() || state.running.is_empty() {
        exit::complain("\n");
        std::process::exit(exit::INTERRUPTED);
    }
    state.interrupted = Some(Instant::now());
    state.running.iter().for_each(|running| running.budget.end(Spent::Interrupted));
    NEWS.notify_one();
}

fn watch() {
    let mut state = state();
    loop {
        let now = Instant::now();
        for running in &state.running {
            if running.deadline.is_some_and(|deadline| now >= deadline) {
                running.budget.end(Spent::Time);
            }
            if memory::is_exceeded() {
                running.budget.end(Spent::Memory);
            }
        }
        let last_resort = state.interrupted.map(|since| since + LAST_RESORT);
        if last_resort.is_some_and(|end| now >= end) && !state.running.is_empty() {
            exit::complain(
                "interrupted: the search did not stop in time, so its results cannot be shown\n",
            );
            std::process::exit(exit::INTERRUPTED);
        }
        let deadlines = state.running.iter().filter_map(|running| running.deadline);
        let next = deadlines.filter(|&deadline| deadline > now).chain(last_resort).min();
        let mut wait = next.map_or(LAST_RESORT, |next| next.saturating_duration_since(now));
        if !state.running.is_empty() && memory::has_limit() {
            wait = wait.min(MEMORY_LOOK);
        }
        let waited = NEWS.wait_timeout(state, wait);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_ends_the_budget() {
        let guard = Guard::start(Some(Duration::from_millis(20)));
        let other = Guard::start(None);
        let started = Instant::now();
        while !guard.budget().is_spent() {
            assert!(started.elapsed() < Duration::from_secs(60), "the deadline was missed");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(guard.budget().spent(), Some(Spent::Time));
        assert!(started.elapsed() >= Duration::from_millis(19));
        assert_eq!(other.budget().spent(), None);
    }
}
