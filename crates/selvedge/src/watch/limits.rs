//! Limits of time. The budget of a check ends when its time is up, and every phase asks it. Code that takes long
//! between two operations does not: its thread gets a signal, whose handler (`selvedge-rt/src/crash.rs`) leaves the code.
//!
//! A step that is under way when the time is up is let go on for a moment, so that a step which is merely the last one
//! is never taken for one without an end, however busy the machine is.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use selvedge_rt::WAKE_UP;

use super::pulse::{BETWEEN_SIGNALS, Pulse, USUAL_PAUSE, Why};

/// When the time is up, a step may compute for so long, or wait for something of the system.
const MORE_COMPUTING: Duration = Duration::from_millis(500);
const MORE_WAITING: Duration = Duration::from_secs(5);

/// If code cannot be left where it is for so long, the process ends.
const LAST: Duration = Duration::from_secs(5);

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
            // Not wall-clock time: a debugger may hold the process.
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
