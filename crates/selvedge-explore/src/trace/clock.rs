//! Vector clocks of what is not an event of the execution: of steps that may come.

use smallvec::SmallVec;

/// How many events of each thread come before.
pub(crate) type Clock = SmallVec<[u32; 16]>;

/// What comes before either.
pub(crate) fn join(clock: &mut Clock, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
