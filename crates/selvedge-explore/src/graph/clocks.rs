//! Clocks of events: which events come before an event, in the orders that no longer change once it is in the graph.
//!
//! | clock | what it holds |
//! |---|---|
//! | `HB` | happens-before |
//! | `PORF` | program order, reads-from, spawn and join |
//! | `MESSAGE` | of a write: what an acquiring read of it learns (with its release sequence, as in C++20) |
//! | `PENDING` | what an acquire fence would learn here, from the reads before it |
//! | `FENCED` | what was before the last release fence, and the fence: relaxed writes pass it on |
//!
//! The entry of a clock for a thread is how many events of that thread are in it, from the first on. All five
//! sets are closed under program order, so nothing is lost. Neither `HB` nor `PORF` contains the event itself.
//! An event that is added is last in all of these orders, so clocks are computed once and never change; a read
//! that is made to read another write is added anew.

use selvedge_core::EventId;

/// The clocks of one event, one after the other.
pub(super) const HB: usize = 0;
pub(super) const PORF: usize = 1;
pub(super) const MESSAGE: usize = 2;
pub(super) const PENDING: usize = 3;
pub(super) const FENCED: usize = 4;
/// How many there are.
pub(super) const CLOCKS: usize = 5;

/// A borrowed clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock<'a>(pub(super) &'a [u32]);

impl Clock<'_> {
    /// Returns whether the event is in it.
    #[inline]
    pub(super) fn contains(self, event: EventId) -> bool {
        self.0.get(event.thread.index()).is_some_and(|&events| events > event.nth)
    }
}

/// Adds the events of `other` to `clock`.
#[inline]
pub(super) fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// Adds an event, and those before it in its thread, to `clock`.
#[inline]
pub(super) fn add(clock: &mut [u32], event: EventId) {
    let mine = &mut clock[event.thread.index()];
    *mine = (*mine).max(event.nth + 1);
}
