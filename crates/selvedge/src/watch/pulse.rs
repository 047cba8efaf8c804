//! What others know about a check while it runs.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::{Budget, Spent};

use crate::spot::Spot;

/// How often all checks are looked at, unless there is a reason to hurry.
pub(super) const USUAL_PAUSE: Duration = Duration::from_secs(1);

/// How often code that takes too long is asked to end.
pub(super) const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);

/// How long a check, and what lies between two operations of its code, may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// In all.
    pub(crate) all: Option<Duration>,
    /// Processor time between two operations.
    pub(crate) between: Duration,
}

impl Times {
    /// How often to look.
    pub(super) fn pause(&self) -> Duration {
        let least = BETWEEN_SIGNALS;
        let all = self.all.map_or(USUAL_PAUSE, |all| (all / 4).max(least));
        USUAL_PAUSE.min(all).min((self.between / 4).max(least))
    }
}

/// What others know about a check. But for the last two, only its own thread writes.
pub(crate) struct Pulse {
    pub(super) test: String,
    pub(super) checked_at: Spot,
    pub(super) start: Instant,
    pub(super) times: Times,
    budget: Budget,
    pub(super) thread: libc::pthread_t,
    pub(super) executions: AtomicU64,
    pub(super) beats: AtomicU64,
    /// Operations of checked code.
    pub(super) operations: AtomicU64,
    /// Whether it waits for another check.
    pub(crate) is_queued: AtomicBool,
    /// Whether what was found is shown again, which may take longer than the time that was asked for.
    pub(crate) is_confirming: AtomicBool,
    /// One more than the number of operations after which code takes too long, and why.
    pub(super) overdue_after: AtomicU64,
    pub(super) why_overdue: AtomicU8,
    /// Where a thread that the check does not know used a type of this crate.
    stranger: Mutex<Option<Spot>>,
}

impl Pulse {
    pub(crate) fn new(checked_at: Spot, times: Times, budget: &Budget) -> Arc<Self> {
        Arc::new(Self {
            test: std::thread::current().name().unwrap_or("a check").to_owned(),
            checked_at,
            start: Instant::now(),
            times,
            budget: budget.clone(),
            // SAFETY: it has no conditions.
            thread: unsafe { libc::pthread_self() },
            executions: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            is_queued: AtomicBool::new(false),
            is_confirming: AtomicBool::new(false),
            overdue_after: AtomicU64::new(0),
            why_overdue: AtomicU8::new(0),
            stranger: Mutex::new(None),
        })
    }

    /// The name of the test.
    pub(crate) fn test(&self) -> &str {
        &self.test
    }

    /// An execution is over.
    pub(crate) fn count_execution(&self) {
        self.executions.store(self.executions.load(Relaxed) + 1, Relaxed);
    }

    /// The search continues. Ends its budget if the time is up: the thread that looks on may be late, or not be there.
    pub(crate) fn count_search(&self) {
        self.beats.store(self.beats.load(Relaxed) + 1, Relaxed);
        self.end_in_time();
    }

    /// Checked code came to an operation.
    #[inline]
    pub(crate) fn beat(&self) {
        self.operations.store(self.operations.load(Relaxed) + 1, Relaxed);
    }

    /// Returns whether another thread runs the check.
    pub(super) fn is_elsewhere(&self) -> bool {
        // SAFETY: it has no conditions.
        self.thread != unsafe { libc::pthread_self() }
    }

    /// Where a thread that the check does not know used a type of this crate.
    pub(crate) fn stranger(&self) -> Option<Spot> {
        *self.stranger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_stranger(&self, spot: Spot) {
        let mut stranger = self.stranger.lock().unwrap_or_else(PoisonError::into_inner);
        stranger.get_or_insert(spot);
    }

    /// Ends the budget if the time is up. Returns whether it is.
    pub(super) fn end_in_time(&self) -> bool {
        let is_up = self.times.all.is_some_and(|all| self.start.elapsed() >= all);
        if is_up {
            self.budget.end(Spent::Time);
        }
        is_up
    }

    /// Why the code that runs now should be left, if so. For its own thread.
    pub(crate) fn overdue(&self) -> Option<Overdue> {
        let is_same = self.overdue_after.load(Relaxed) == self.operations.load(Relaxed) + 1;
        let why = self.why_overdue.load(Relaxed);
        let kind = if why & 1 == 0 { Why::All } else { Why::Between };
        is_same.then_some(Overdue { why: kind, times: self.times, must_end: why & 2 != 0 })
    }
}

/// Code that takes too long between two operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overdue {
    why: Why,
    times: Times,
    /// Whether the process ends if the code cannot be left.
    pub(crate) must_end: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// The time of the check is up.
    All,
    /// It computed for too long.
    Between,
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::All => write!(
                f,
                "came to no operation that the check sees when the time limit of {:?} \
                 (`Builder::max_time`) was reached",
                self.times.all.unwrap_or_default()
            ),
            Why::Between => write!(
                f,
                "computed for {:?} without an operation that the check sees (`Builder::max_step_time` \
                 says how long it may)",
                self.times.between
            ),
        }
    }
}
