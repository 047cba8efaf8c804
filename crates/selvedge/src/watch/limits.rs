//! Limits of time. The budget of a check ends when its time is up, and every phase asks it. Code that takes long
//! between two operations does not: its thread gets a signal, whose handler (`selvedge-rt/src/crash.rs`) leaves the code.
//!
//! A step that is under way when the time is up is let go on for a moment, so that a step which is merely the last one
//! is never taken for one without an end, however busy the machine is.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use selvedge_core::Spent;
use selvedge_rt::WAKE_UP;

use super::{Pulse, Times, USUAL_PAUSE};

/// When the time is up, a step may compute for so long, or wait for something of the system.
const MORE_COMPUTING: Duration = Duration::from_millis(500);
const MORE_WAITING: Duration = Duration::from_secs(5);

/// If code cannot be left where it is for so long, the process ends.
const LAST: Duration = Duration::from_secs(5);

/// How often code that takes too long is asked to end.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);

impl Times {
    /// How often to look.
    pub(super) fn pause(&self) -> Duration {
        let least = BETWEEN_SIGNALS;
        let all = self.all.map_or(USUAL_PAUSE, |all| (all / 4).max(least));
        USUAL_PAUSE.min(all).min((self.between / 4).max(least))
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
enum Why {
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

impl Pulse {
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

/// What is known about how long a check has been at one step.
pub(super) struct Limited {
    operations: u64,
    since: Instant,
    /// The processor time of its thread then.
    computed: Option<Duration>,
    /// When the code was first asked to end.
    asked: Option<Instant>,
}

impl Limited {
    pub(super) fn new(pulse: &Pulse) -> Self {
        let operations = pulse.operations.load(Relaxed);
        Self { operations, since: Instant::now(), computed: processor_time(pulse), asked: None }
    }

    /// How long it need not be looked at.
    pub(super) fn pause(&self, pulse: &Pulse) -> Duration {
        let left = pulse
            .times
            .all
            .map(|all| (pulse.start + all).saturating_duration_since(Instant::now()));
        let until_end = left.map_or(USUAL_PAUSE, |left| left.max(BETWEEN_SIGNALS));
        let asked = if self.asked.is_some() { BETWEEN_SIGNALS } else { USUAL_PAUSE };
        pulse.times.pause().min(until_end).min(asked)
    }

    /// Ends what takes too long. The check is in the list, which is locked.
    pub(super) fn look(&mut self, pulse: &Pulse) {
        let is_up = pulse.end_in_time();
        if pulse.operations.load(Relaxed) != self.operations || pulse.is_queued.load(Relaxed) {
            *self = Self::new(pulse);
            return;
        }
        let waited = self.since.elapsed();
        let computed = self.computed.zip(processor_time(pulse));
        let computed = computed.map(|(before, now)| now.saturating_sub(before));
        let is_up = is_up && !pulse.is_confirming.load(Relaxed);
        let is_long = computed.is_some_and(|computed| computed >= MORE_COMPUTING);
        let why = match is_up && (is_long || waited >= MORE_WAITING) {
            true => Why::All,
            // Not on the clock: who looks at it in a debugger takes his time.
            false if computed.is_some_and(|computed| computed >= pulse.times.between) => {
                Why::Between
            }
            false => return,
        };
        let asked = *self.asked.get_or_insert_with(Instant::now);
        let must_end = u8::from(asked.elapsed() >= LAST) << 1;
        pulse.why_overdue.store(u8::from(why == Why::Between) | must_end, Relaxed);
        pulse.overdue_after.store(self.operations + 1, Relaxed);
        // SAFETY: a check in the list is not over, so its thread is there; a handler is installed.
        unsafe { libc::pthread_kill(pulse.thread, WAKE_UP) };
    }
}

/// The processor time of the thread of a check, which is there, if the system tells it.
#[cfg(target_os = "linux")]
fn processor_time(pulse: &Pulse) -> Option<Duration> {
    // SAFETY: the thread is there, and both calls write what they say if they succeed.
    let time = unsafe {
        let mut clock = std::mem::zeroed();
        let mut time: libc::timespec = std::mem::zeroed();
        let succeeds = libc::pthread_getcpuclockid(pulse.thread, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0;
        succeeds.then_some(time)
    }?;
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(target_os = "linux"))]
fn processor_time(_pulse: &Pulse) -> Option<Duration> {
    None
}
