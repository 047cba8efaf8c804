//! What the rest of the process knows about checks while they run: a system thread watches them, reports their
//! progress ([`progress`]), and ends what takes too long ([`limits`]). Checked code that waits outside of
//! the check, for a lock of `std` say, or computes without end, cannot do so itself.

mod limits;
mod progress;
mod pulse;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

pub(crate) use pulse::{Overdue, Pulse, Times};

use crate::spot::Spot;
use limits::Limited;
use progress::Told;
use pulse::USUAL_PAUSE;

/// A check that is looked at until this is dropped.
pub(crate) struct Watched(Arc<Pulse>);

impl Watched {
    pub(crate) fn new(pulse: &Arc<Pulse>) -> Self {
        static START: Once = Once::new();
        // Without the thread nothing is reported, and time limits are not enforced.
        START.call_once(|| {
            let name = "selvedge".to_owned();
            drop(std::thread::Builder::new().name(name).spawn(look_on));
        });
        let mut all = CHECKS.lock();
        all.list.push(Arc::clone(pulse));
        // Mostly it looks now and then anyway: to wake it takes longer than a short check.
        let is_hurried = pulse.times.pause() < USUAL_PAUSE;
        if std::mem::replace(&mut all.is_idle, false) || is_hurried {
            CHECKS.news.notify_one();
        }
        Self(Arc::clone(pulse))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        CHECKS.lock().list.retain(|other| !Arc::ptr_eq(other, &self.0));
    }
}

/// The checks of all tests of this process.
struct Checks {
    all: Mutex<All>,
    news: Condvar,
}

struct All {
    list: Vec<Arc<Pulse>>,
    /// Whether no thread looks until the next one begins.
    is_idle: bool,
}

static CHECKS: Checks =
    Checks { all: Mutex::new(All { list: Vec::new(), is_idle: false }), news: Condvar::new() };

impl Checks {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was seen of a check so far.
struct Seen {
    pulse: Arc<Pulse>,
    told: Option<Told>,
    limited: Limited,
}

/// Looks at all checks, as long as the process lives.
fn look_on() {
    let interval = progress::interval();
    let mut seen: Vec<Seen> = Vec::new();
    let mut all = CHECKS.lock();
    loop {
        all.is_idle = all.list.is_empty();
        all = match all.is_idle {
            true => CHECKS.news.wait(all).unwrap_or_else(PoisonError::into_inner),
            false => {
                let pauses = seen.iter().map(|seen| seen.limited.pause(&seen.pulse));
                let usual = interval.map_or(USUAL_PAUSE, |interval| USUAL_PAUSE.min(interval / 4));
                let pause = pauses.fold(usual, Duration::min);
                let waited = CHECKS.news.wait_timeout(all, pause);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        seen.retain(|seen| all.list.iter().any(|pulse| Arc::ptr_eq(pulse, &seen.pulse)));
        for pulse in &all.list {
            if !seen.iter().any(|seen| Arc::ptr_eq(pulse, &seen.pulse)) {
                let told = interval.map(|interval| Told::new(pulse, interval));
                let limited = Limited::new(pulse);
                seen.push(Seen { pulse: Arc::clone(pulse), told, limited });
            }
        }
        for seen in &mut seen {
            if let Some(line) = seen.told.as_mut().and_then(Told::news) {
                progress::print(&line);
            }
            // The list is locked, so its thread is there.
            seen.limited.look(&seen.pulse);
        }
    }
}

/// Says which checks do not come to their end, since the process ends. False if there are none.
pub(crate) fn tell_cut_short() -> bool {
    // Who ends the process may be in the middle of anything.
    let Ok(all) = CHECKS.all.try_lock() else { return false };
    for pulse in &all.list {
        progress::print(&format!(
            "{}: the process ends (`exit`) while this check runs, and nothing is proved ({})",
            pulse.test, pulse.checked_at
        ));
    }
    !all.list.is_empty()
}

/// A thread that runs no checked code used a type of this crate at `spot`, and its stack points to memory of the
/// checks for which `is_meant` holds.
pub(crate) fn note_stranger(spot: Spot, is_meant: impl Fn(&Arc<Pulse>) -> bool) {
    let all = CHECKS.lock();
    let others = all.list.iter().filter(|pulse| pulse.is_elsewhere());
    others.filter(|pulse| is_meant(pulse)).for_each(|pulse| pulse.note_stranger(spot));
}

/// Returns whether another thread runs a check.
pub(crate) fn is_any_elsewhere() -> bool {
    CHECKS.lock().list.iter().any(|pulse| pulse.is_elsewhere())
}
