//! Where a report ends that is not of the whole search.

use selvedge_core::Counts;

/// The executions up to some place in the order in which one worker alone comes to them: what parts up to there add up to is the
/// same for every number of workers, though some of them are already further.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Until {
    /// So many of them.
    pub(crate) executions: Option<u64>,
    /// Until they were so much [`work`].
    pub(crate) work: Option<u64>,
    /// Until one of them is cut.
    pub(crate) first_cut: bool,
}

/// Steps that an execution shares with its parent only restore a state: so many of them count as one.
const RESTORED: u64 = 16;

/// Returns how much work some executions were: their steps, unless most of it was to restore states, as where a thread spins and
/// each execution is one step longer than the one before. The same for every number of workers.
pub(crate) fn work(counts: &Counts, steps: u64, longest: usize) -> u64 {
    steps.max(counts.total().saturating_mul(longest as u64) / RESTORED)
}

/// A turn is run in so many pieces per worker, as a part of one may have to be run again.
const PIECES: u64 = 32;

impl Until {
    /// Up to so many executions, if there is a limit.
    pub(crate) fn executions(executions: Option<u64>) -> Self {
        Self { executions, ..Self::default() }
    }

    /// Returns whether this is not the end of the search.
    pub(crate) fn is_before_the_end(self) -> bool {
        self != Self::default()
    }

    /// Returns whether executions with these counts, so many steps and this length of the longest go so far. If they do, so do
    /// more of them.
    #[inline]
    pub(crate) fn is_reached(self, counts: &Counts, steps: u64, longest: usize) -> bool {
        self.executions.is_some_and(|most| counts.total() >= most)
            || self.work.is_some_and(|most| work(counts, steps, longest) >= most)
            || self.first_cut && counts.cut > 0
    }

    /// Returns how much work a worker does before it closes its part, and puts what is left where others find it.
    pub(super) fn piece(self) -> u64 {
        self.work.map_or(u64::MAX, |work| (work / PIECES).max(1))
    }
}
