//! Who waits for what while it holds what: whether a reader that is kept waiting by a writer that waits can
//! be part of a deadlock.
//!
//! `std` leaves open whether a reader-writer lock lets a reader in while a writer waits. If it does not, there
//! are more deadlocks, and nothing else: a reader that waits longer shows no other result. Such a deadlock is a
//! ring: a reader of `L` waits for a writer, the writer for one who holds `L` for reading, and that one, maybe
//! through further threads, for the first reader. Each but the writer waits for something while it holds
//! something, or is waited for itself (joined, sent to, notified). So there is a ring only if the graph below has
//! a way from `L` back to `L`, or to something that is no lock. Only then is it tried what happens if readers of
//! `L` wait.
//!
//! An edge depends only on what one thread does, and all that threads do shows without such waits, too: when the
//! search is over without a new edge, the graph has all of them.

use std::collections::{BTreeMap, BTreeSet};

/// What threads wait for while they hold locks, by numbers that are the same for all systems of a check.
#[derive(Default)]
pub(crate) struct LockOrder {
    /// From a lock that is held to those that are waited for then.
    pub(crate) edges: BTreeMap<u64, BTreeSet<u64>>,
    /// Locks that are held while something else is waited for.
    pub(crate) others: BTreeSet<u64>,
    /// Locks that a thread waits for to read, to write, and that a thread tries to read.
    pub(crate) read: BTreeSet<u64>,
    pub(crate) written: BTreeSet<u64>,
    pub(crate) tried: BTreeSet<u64>,
    /// Locks whose readers may have to wait for a writer that waits.
    pub(crate) queued: BTreeSet<u64>,
    /// Locks of which it matters whether a writer waits: a `try_read` may fail then.
    pub(crate) announced: BTreeSet<u64>,
}

impl LockOrder {
    /// Returns how much is known.
    pub(crate) fn count(&self) -> usize {
        let Self { edges, others, read, written, tried, queued, announced } = self;
        let edges: usize = edges.values().map(BTreeSet::len).sum();
        let sets = [others, read, written, tried, queued, announced];
        edges + sets.iter().map(|set| set.len()).sum::<usize>()
    }

    /// Returns whether there is a way from `lock` back to itself, or to something that is no lock.
    fn is_in_ring(&self, lock: u64) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![lock]);
        while let Some(at) = next.pop() {
            if self.others.contains(&at) {
                return true;
            }
            for &held in self.edges.get(&at).into_iter().flatten() {
                if held == lock {
                    return true;
                }
                if seen.insert(held) {
                    next.push(held);
                }
            }
        }
        false
    }

    /// Returns whether more locks are `queued` or `announced` than before.
    pub(crate) fn decide(&mut self) -> bool {
        let both = self.read.intersection(&self.written);
        let queued: BTreeSet<u64> = both.copied().filter(|&lock| self.is_in_ring(lock)).collect();
        let announced: BTreeSet<u64> = self.tried.intersection(&self.written).copied().collect();
        let is_news = queued != self.queued || announced != self.announced;
        (self.queued, self.announced) = (queued, announced);
        is_news
    }
}
