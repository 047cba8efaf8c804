//! Reports the progress of a check, and that it is stuck.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use selvedge_report::{grouped, plural};

use super::pulse::Pulse;

/// After how long the first line comes: as `SELVEDGE_PROGRESS` says, in seconds, and 0 for never.
pub(super) fn interval() -> Option<Duration> {
    const USUAL: f64 = 10.0;
    let variable = std::env::var("SELVEDGE_PROGRESS").ok();
    let seconds = variable.and_then(|seconds| seconds.parse().ok()).unwrap_or(USUAL);
    Duration::try_from_secs_f64(seconds).ok().filter(|interval| !interval.is_zero())
}

/// What was reported about a check so far.
pub(super) struct Told {
    pulse: Arc<Pulse>,
    /// When the next line is due, and how long after that the next but one.
    due: Duration,
    pause: Duration,
    interval: Duration,
    beats: u64,
    /// When the search was last seen to go on.
    alive: Duration,
    is_stuck: bool,
}

impl Told {
    pub(super) fn new(pulse: &Arc<Pulse>, interval: Duration) -> Self {
        Self {
            pulse: Arc::clone(pulse),
            due: interval,
            pause: interval,
            interval,
            beats: 0,
            alive: Duration::ZERO,
            is_stuck: false,
        }
    }

    /// A line, if one is due.
    pub(super) fn news(&mut self) -> Option<String> {
        self.news_at(self.pulse.start.elapsed())
    }

    /// A line, if one is due so long after the beginning.
    fn news_at(&mut self, time: Duration) -> Option<String> {
        let interval = self.interval;
        let pulse = &self.pulse;
        let beats = pulse.beats.load(Relaxed) + pulse.operations.load(Relaxed);
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

/// Not with `eprintln!`: tests keep that for themselves until they end.
pub(super) fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "selvedge: {line}");
}

fn seconds(time: Duration) -> String {
    format!("{} s", grouped(time.as_secs()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::time::Instant;

    use selvedge_core::Budget;

    use super::super::pulse::Times;
    use super::*;

    /// A search that began so many seconds ago and continues.
    fn told(seconds: u64, interval: Duration) -> Told {
        let start = Instant::now().checked_sub(Duration::from_secs(seconds));
        let times = Times { all: None, between: Duration::MAX };
        let spot = std::panic::Location::caller();
        let mut pulse = Pulse::new(spot, times, &Budget::unlimited());
        let changed = Arc::get_mut(&mut pulse).expect("it is not shared yet");
        changed.start = start.expect("the system runs for longer");
        changed.test = "a_test".to_owned();
        (changed.executions, changed.beats) = (AtomicU64::new(1234), AtomicU64::new(1));
        Told::new(&pulse, interval)
    }

    #[test]
    fn lines_come_less_and_less_often() {
        let interval = Duration::from_secs(10);
        let mut told = told(45, interval);
        let line = told.news().expect("a line is due");
        assert!(line.starts_with("a_test: 1,234 executions in 45 s so far ("), "{line}");
        assert_eq!(told.news(), None, "the next line comes later");
        assert_eq!(told.pause, interval * 2);
        assert!(told.due >= Duration::from_secs(45) + told.pause);
        for _ in 0..10 {
            told.due = Duration::ZERO;
            assert!(told.news().is_some());
        }
        assert_eq!(told.pause, interval * 30, "but not ever less often");
    }

    #[test]
    fn a_search_that_is_stuck_is_told_once() {
        let interval = Duration::from_secs(10);
        let mut told = told(45, interval);
        told.beats = 1;
        let line = told.news().expect("it has not moved for 45 seconds");
        assert!(line.starts_with("a_test: no step for 45 s: "), "{line}");
        told.due = Duration::ZERO;
        assert_eq!(told.news(), None);
        told.pulse.beats.store(2, Relaxed);
        let line = told.news().expect("it goes on");
        assert!(line.contains("so far"), "{line}");
    }

    #[test]
    fn a_line_comes_when_it_is_due() {
        let interval = Duration::from_secs(10);
        let mut told = told(0, interval);
        assert_eq!(told.news_at(interval - Duration::from_nanos(1)), None);
        let line = told.news_at(interval).expect("a line is due");
        assert!(line.starts_with("a_test: 1,234 executions in 10 s so far ("), "{line}");
    }

    #[test]
    fn nothing_is_told_of_a_short_search() {
        let interval = Duration::from_secs(10);
        assert_eq!(told(5, interval).news(), None);
    }
}
