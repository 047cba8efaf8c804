//! Ends a search that makes no sense any more or takes too long, and tells who waits for it how far it
//! is. Checked code that waits outside of the check, for a lock of `std` say, cannot tell anything: a
//! thread of the system does.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Ending, Execution};
use selvedge_explore::{Observer, Progress};
use selvedge_report::{grouped, plural};

use crate::rt::Spot;
use crate::rt::runtime::Shared;

/// Watches one search.
pub(crate) struct Watch<'a> {
    shared: &'a Shared,
    end: Option<Instant>,
    pulse: Option<Watched>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(shared: &'a Shared, end: Option<Instant>) -> Self {
        Self { shared, end, pulse: Watched::new(shared) }
    }
}

impl Observer for Watch<'_> {
    fn execution(&mut self, _execution: &Execution, _ending: Ending) {
        if let Some(Watched(pulse)) = &self.pulse {
            pulse.executions.store(pulse.executions.load(Relaxed) + 1, Relaxed);
        }
    }

    fn poll(&mut self, _progress: &dyn Fn() -> Progress) -> Option<Bound> {
        if let Some(Watched(pulse)) = &self.pulse {
            pulse.beats.store(pulse.beats.load(Relaxed) + 1, Relaxed);
        }
        if self.shared.learned.news.get() || self.shared.is_unsteady.get() {
            return Some(Bound::Interrupted);
        }
        self.end.is_some_and(|end| Instant::now() >= end).then_some(Bound::Time)
    }
}

/// What the thread that looks on knows about a search. Only the search writes.
struct Pulse {
    test: String,
    checked_at: Spot,
    start: Instant,
    executions: AtomicU64,
    beats: AtomicU64,
    /// Whether it waits for another search.
    is_queued: Arc<AtomicBool>,
}

/// A search that is looked at until this is dropped.
struct Watched(Arc<Pulse>);

impl Watched {
    /// `None` if nobody wants to know.
    fn new(shared: &Shared) -> Option<Self> {
        let interval = interval()?;
        static START: Once = Once::new();
        // Without the thread, nothing is told.
        START.call_once(|| {
            let name = "selvedge".to_owned();
            drop(std::thread::Builder::new().name(name).spawn(move || look_on(interval)));
        });
        let current = std::thread::current();
        let pulse = Arc::new(Pulse {
            test: current.name().unwrap_or("a check").to_owned(),
            checked_at: shared.checked_at,
            start: Instant::now(),
            executions: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            is_queued: Arc::clone(&shared.is_queued),
        });
        let mut all = SEARCHES.lock();
        all.list.push(Arc::clone(&pulse));
        // Mostly it looks now and then anyway: to wake it takes longer than a short check.
        if std::mem::replace(&mut all.is_idle, false) {
            SEARCHES.news.notify_one();
        }
        Some(Self(pulse))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        SEARCHES.lock().list.retain(|other| !Arc::ptr_eq(other, &self.0));
    }
}

/// The searches of all tests of this process.
struct Searches {
    all: Mutex<All>,
    news: Condvar,
}

struct All {
    list: Vec<Arc<Pulse>>,
    /// Whether nobody looks until the next one begins.
    is_idle: bool,
}

static SEARCHES: Searches =
    Searches { all: Mutex::new(All { list: Vec::new(), is_idle: false }), news: Condvar::new() };

impl Searches {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// After how long the first line comes: as `SELVEDGE_PROGRESS` says, in seconds, and 0 for never.
fn interval() -> Option<Duration> {
    const USUAL: f64 = 10.0;
    let variable = std::env::var("SELVEDGE_PROGRESS").ok();
    let seconds = variable.and_then(|seconds| seconds.parse().ok()).unwrap_or(USUAL);
    Duration::try_from_secs_f64(seconds).ok().filter(|interval| !interval.is_zero())
}

/// What was told about a search so far.
struct Told {
    pulse: Arc<Pulse>,
    /// When the next line is due, and how long after that the next but one.
    due: Duration,
    pause: Duration,
    beats: u64,
    /// When the search was last seen to go on.
    alive: Duration,
    is_stuck: bool,
}

/// Looks at all searches, for ever.
fn look_on(interval: Duration) {
    let mut told: Vec<Told> = Vec::new();
    let mut all = SEARCHES.lock();
    loop {
        all.is_idle = all.list.is_empty();
        all = match all.is_idle {
            true => SEARCHES.news.wait(all).unwrap_or_else(PoisonError::into_inner),
            false => {
                let pause = (interval / 4).min(Duration::from_secs(1));
                let waited = SEARCHES.news.wait_timeout(all, pause);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let list = &all.list;
        told.retain(|told| list.iter().any(|pulse| Arc::ptr_eq(pulse, &told.pulse)));
        for pulse in list.iter() {
            if !told.iter().any(|told| Arc::ptr_eq(pulse, &told.pulse)) {
                told.push(Told::new(pulse, interval));
            }
        }
        for line in told.iter_mut().filter_map(|told| told.news(interval)) {
            // Not with `eprintln!`: tests keep that for themselves until they end.
            let _ = writeln!(std::io::stderr(), "selvedge: {line}");
        }
    }
}

impl Told {
    fn new(pulse: &Arc<Pulse>, interval: Duration) -> Self {
        Self {
            pulse: Arc::clone(pulse),
            due: interval,
            pause: interval,
            beats: 0,
            alive: Duration::ZERO,
            is_stuck: false,
        }
    }

    /// A line, if one is due.
    fn news(&mut self, interval: Duration) -> Option<String> {
        let time = self.pulse.start.elapsed();
        let beats = self.pulse.beats.load(Relaxed);
        if beats != self.beats {
            (self.beats, self.alive, self.is_stuck) = (beats, time, false);
        }
        let Pulse { test, checked_at, .. } = &*self.pulse;
        if time - self.alive >= interval && !self.is_stuck {
            self.is_stuck = true;
            self.due = time + self.pause;
            if self.pulse.is_queued.load(Relaxed) {
                return Some(format!(
                    "{test}: waits for another test whose check uses statics, too"
                ));
            }
            return Some(format!(
                "{test}: no step for {}: the code checked at {checked_at} computes for long, or waits \
                 for something that the check knows nothing of, such as a lock, a channel or a thread \
                 of `std`",
                seconds(time - self.alive)
            ));
        }
        if time < self.due || self.is_stuck {
            return None;
        }
        self.pause = (self.pause * 2).min(interval * 30);
        self.due = time + self.pause;
        let executions = plural(self.pulse.executions.load(Relaxed), "execution", "executions");
        Some(format!("{test}: {executions} in {} so far ({checked_at})", seconds(time)))
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", grouped(time.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search that began so many seconds ago and goes on.
    fn told(seconds: u64, interval: Duration) -> Told {
        let start = Instant::now().checked_sub(Duration::from_secs(seconds));
        let pulse = Pulse {
            test: "a_test".to_owned(),
            checked_at: std::panic::Location::caller(),
            start: start.expect("the system runs for longer"),
            executions: AtomicU64::new(1234),
            beats: AtomicU64::new(1),
            is_queued: Arc::default(),
        };
        Told::new(&Arc::new(pulse), interval)
    }

    #[test]
    fn lines_come_less_and_less_often() {
        let interval = Duration::from_secs(10);
        let mut told = told(45, interval);
        let line = told.news(interval).expect("a line is due");
        assert!(line.starts_with("a_test: 1,234 executions in 45 s so far ("), "{line}");
        assert_eq!(told.news(interval), None, "the next line comes later");
        assert_eq!(told.pause, interval * 2);
        assert!(told.due >= Duration::from_secs(45) + told.pause);
        for _ in 0..10 {
            told.due = Duration::ZERO;
            assert!(told.news(interval).is_some());
        }
        assert_eq!(told.pause, interval * 30, "but not ever less often");
    }

    #[test]
    fn a_search_that_is_stuck_is_told_once() {
        let interval = Duration::from_secs(10);
        let mut told = told(45, interval);
        told.beats = 1;
        let line = told.news(interval).expect("it has not moved for 45 seconds");
        assert!(line.starts_with("a_test: no step for 45 s: "), "{line}");
        told.due = Duration::ZERO;
        assert_eq!(told.news(interval), None);
        told.pulse.beats.store(2, Relaxed);
        let line = told.news(interval).expect("it goes on");
        assert!(line.contains("so far"), "{line}");
    }

    #[test]
    fn nothing_is_told_of_a_short_search() {
        let interval = Duration::from_secs(10);
        assert_eq!(told(5, interval).news(interval), None);
    }
}
