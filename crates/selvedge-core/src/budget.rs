//! The budget of a computation: time, memory, interruption, and an amount of work.
//!
//! Nothing here reads a clock. A front end exhausts the budget from another thread, a
//! signal handler or an allocator; long computations poll it often, because polling is one load.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::report::Bound;

/// Why the budget is exhausted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spent {
    /// The time limit was reached.
    Time,
    /// The memory limit was reached.
    Memory,
    /// The user asked to stop.
    Interrupted,
    /// The limit on work was reached: the same on every machine, busy or not.
    Work,
}

impl From<Spent> for Bound {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::Time => Bound::Time,
            Spent::Memory => Bound::Memory,
            Spent::Interrupted => Bound::Interrupted,
            Spent::Work => Bound::Work,
        }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bound::from(*self).fmt(f)
    }
}

/// One budget for everything that a command does. Clones share it.
///
/// Once exhausted it stays so: an interrupted computation may leave anything undone, so the code that shows
/// a result polls once more at the end, and an exhausted budget makes a proof inconclusive.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// 0 unless it is exhausted.
    ended: Arc<AtomicU8>,
    /// The remaining work; the smallest of several limits counts.
    work: Vec<Arc<AtomicU64>>,
}

impl Budget {
    /// Returns a budget without limits, until [`Budget::end`] is called.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Returns the same budget with an additional limit on work. Work counts for both.
    pub fn with_work(&self, most: u64) -> Self {
        let mut budget = self.clone();
        budget.work.push(Arc::new(AtomicU64::new(most)));
        budget
    }

    /// Exhausts it. The first reason is kept.
    pub fn end(&self, why: Spent) {
        let code = match why {
            Spent::Time => 1,
            Spent::Memory => 2,
            Spent::Interrupted => 3,
            Spent::Work => 4,
        };
        let _ = self.ended.compare_exchange(0, code, Relaxed, Relaxed);
    }

    /// Returns why it is exhausted, if it is.
    #[inline]
    pub fn spent(&self) -> Option<Spent> {
        match self.ended.load(Relaxed) {
            0 => self.work.iter().any(|left| left.load(Relaxed) == 0).then_some(Spent::Work),
            1 => Some(Spent::Time),
            2 => Some(Spent::Memory),
            3 => Some(Spent::Interrupted),
            _ => Some(Spent::Work),
        }
    }

    /// Returns whether it is exhausted.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.spent().is_some()
    }

    /// Polls the budget.
    ///
    /// # Errors
    /// If it is exhausted, with the reason.
    #[inline]
    pub fn check(&self) -> Result<(), Spent> {
        self.spent().map_or(Ok(()), Err)
    }

    /// Counts work, and polls the budget.
    ///
    /// # Errors
    /// If it is exhausted, with the reason.
    pub fn work(&self, units: u64) -> Result<(), Spent> {
        for left in &self.work {
            left.store(left.load(Relaxed).saturating_sub(units), Relaxed);
        }
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let budget = Budget::unlimited();
        assert_eq!(budget.spent(), None);
        let other = budget.clone();
        other.end(Spent::Interrupted);
        other.end(Spent::Time);
        assert_eq!(budget.check(), Err(Spent::Interrupted));
    }

    #[test]
    fn work_counts_for_all_limits() {
        let all = Budget::unlimited().with_work(10);
        let (first, second) = (all.with_work(3), all.with_work(100));
        assert_eq!(
            [first.work(2), first.work(1), second.work(6)],
            [Ok(()), Err(Spent::Work), Ok(())]
        );
        assert_eq!(all.spent(), None);
        assert_eq!(second.work(1), Err(Spent::Work));
        assert_eq!(all.spent(), Some(Spent::Work));
    }

    #[test]
    fn every_reason_is_kept() {
        for why in [Spent::Time, Spent::Memory, Spent::Interrupted, Spent::Work] {
            let budget = Budget::unlimited();
            budget.end(why);
            assert_eq!(budget.spent(), Some(why));
        }
    }
}
