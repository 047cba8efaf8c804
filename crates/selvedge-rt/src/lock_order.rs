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

use selvedge_core::ObjectId;

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::operation::{Operation, Waits};
use crate::runtime::{Runtime, Way};

/// What threads wait for while they hold locks, by numbers that are the same for all systems of a check.
#[derive(Default)]
pub(crate) struct LockOrder {
    /// From a lock that is held to those that are waited for then.
    edges: BTreeMap<u64, BTreeSet<u64>>,
    /// Locks that are held while something else is waited for.
    others: BTreeSet<u64>,
    /// Locks that somebody waits for to read, to write, and that somebody tries to read.
    read: BTreeSet<u64>,
    written: BTreeSet<u64>,
    tried: BTreeSet<u64>,
    /// Locks whose readers may have to wait for a writer that waits.
    queued: BTreeSet<u64>,
    /// Locks of which it matters whether a writer waits: a `try_read` may fail then.
    announced: BTreeSet<u64>,
}

impl LockOrder {
    /// Whether there is a way from `lock` back to itself, or to something that is no lock.
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
    fn decide(&mut self) -> bool {
        let both = self.read.intersection(&self.written);
        let queued: BTreeSet<u64> = both.copied().filter(|&lock| self.is_in_ring(lock)).collect();
        let announced: BTreeSet<u64> = self.tried.intersection(&self.written).copied().collect();
        let is_news = queued != self.queued || announced != self.announced;
        (self.queued, self.announced) = (queued, announced);
        is_news
    }
}

impl<W: Hooks> Engine<W> {
    /// The running thread comes to an operation. Once there are reader-writer locks, it is kept what it holds then.
    #[inline(never)]
    pub(crate) fn note_lock_order(&self, operation: &dyn Operation<Runtime<W>>) {
        let rt = self.rt();
        let waits = operation.waits();
        if rt.now.way != Way::Announce || waits == Waits::Never {
            return;
        }
        let me = rt.now.current;
        let order = &mut *rt.shared.learned.lock_order.borrow_mut();
        let mut is_new = false;
        for held in rt.now.leaks.held_by(me) {
            // Who writes what it reads is told in any case.
            if waits == (Waits::Lock { object: held, reads: false }) {
                continue;
            }
            let held = rt.names.stable(held);
            is_new |= match waits {
                Waits::Lock { object, .. } => {
                    order.edges.entry(held).or_default().insert(rt.names.stable(object))
                }
                Waits::Never | Waits::Other => order.others.insert(held),
            };
        }
        if let Waits::Lock { object, reads } = waits {
            let users = if reads { &mut order.read } else { &mut order.written };
            is_new |= users.insert(rt.names.stable(object));
        }
        if is_new && order.decide() {
            rt.learn();
        }
    }

    /// A reader-writer lock is used: from now on what threads hold matters.
    #[inline]
    pub fn uses_rwlock(&self) {
        let rt = self.rt();
        let learned = &rt.shared.learned;
        if !learned.rwlocks.get()
            && rt.now.way == Way::Announce
            && rt.shared.settings.writers_may_be_first
        {
            learned.rwlocks.set(true);
            rt.learn();
        }
    }

    /// The running thread tries to read.
    pub fn tries_to_read(&self, lock: ObjectId) {
        let rt = self.rt();
        if rt.now.way == Way::Announce && rt.shared.learned.rwlocks.get() {
            let order = &mut *rt.shared.learned.lock_order.borrow_mut();
            if order.tried.insert(rt.names.stable(lock)) && order.decide() {
                rt.learn();
            }
        }
    }

    /// Whether a reader of this lock may have to wait for a writer that waits.
    pub fn may_queue(&self, lock: ObjectId) -> bool {
        let rt = self.rt();
        let learned = &rt.shared.learned;
        learned.rwlocks.get() && {
            learned.lock_order.borrow().queued.contains(&rt.names.stable(lock))
        }
    }

    /// Whether it matters that a writer waits for this lock.
    pub fn is_announced(&self, lock: ObjectId) -> bool {
        let rt = self.rt();
        let learned = &rt.shared.learned;
        learned.rwlocks.get() && {
            learned.lock_order.borrow().announced.contains(&rt.names.stable(lock))
        }
    }
}
