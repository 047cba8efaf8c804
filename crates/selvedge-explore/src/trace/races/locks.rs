//! Races with acquiring a mutex.

use selvedge_core::{Execution, Mode, Position};
use smallvec::SmallVec;

use super::hard_causes;

/// Returns the events that race with taking a mutex: those that do not happen before the previous event of
/// the thread that acquires it. If the mutex was inspected while it was free, these inspections; otherwise the
/// acquire before.
pub(crate) fn lock_races(execution: &Execution, later: Position) -> SmallVec<[Position; 4]> {
    let mut races = SmallVec::new();
    let accesses = execution.accesses(later);
    let Some(nth) = accesses.iter().position(|access| access.mode == Mode::Acquire) else {
        return races;
    };
    let thread = execution.event(later).thread();
    let is_free = |e: Position| {
        let before = |cause: Position| execution.happens_before(e, cause);
        execution.event(e).thread() != thread
            && !execution.previous_of_thread(later).is_some_and(before)
            && !hard_causes(execution, accesses, later).any(before)
    };
    let (mut looked, mut released) = (false, false);
    for (e, other) in execution.history_of_access(later, nth) {
        match other.mode {
            // While it was held, coming before the inspection means coming before the acquire.
            Mode::Probe if released => continue,
            Mode::Probe => looked = true,
            _ if looked => break,
            Mode::Release => {
                released = true;
                continue;
            }
            _ => {}
        }
        if is_free(e) {
            races.push(e);
        }
        if !looked {
            break;
        }
    }
    races
}
