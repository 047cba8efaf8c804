//! What threads hold when they come to an operation that may wait: edges of the lock order (`runtime/lock_order.rs`).

use selvedge_core::ObjectId;

use crate::operation::{Operation, Waits};
use crate::runtime::{Runtime, Way};
use crate::world::World;

impl<W: World> Runtime<W> {
    /// The running thread comes to an operation. Once there are reader-writer locks, it is kept what it holds then.
    #[inline(never)]
    pub(crate) fn note_lock_order(&self, operation: &dyn Operation<Self>) {
        let waits = operation.waits();
        if self.now.way != Way::Announce || waits == Waits::Never {
            return;
        }
        let me = self.now.current;
        let order = &mut *self.shared.learned.lock_order.borrow_mut();
        let mut is_new = false;
        for held in self.now.leaks.held_by(me) {
            // A writer that holds it for reading is reported in any case.
            if waits == (Waits::Lock { object: held, reads: false }) {
                continue;
            }
            let held = self.names.stable(held);
            is_new |= match waits {
                Waits::Lock { object, .. } => {
                    order.edges.entry(held).or_default().insert(self.names.stable(object))
                }
                Waits::Never | Waits::Other => order.others.insert(held),
            };
        }
        if let Waits::Lock { object, reads } = waits {
            let users = if reads { &mut order.read } else { &mut order.written };
            is_new |= users.insert(self.names.stable(object));
        }
        if is_new && order.decide() {
            self.learn();
        }
    }

    /// A reader-writer lock is used: from now on what threads hold matters.
    #[inline]
    pub fn uses_rwlock(&self) {
        let learned = &self.shared.learned;
        if !learned.rwlocks.get()
            && self.now.way == Way::Announce
            && self.shared.settings.writers_may_be_first
        {
            learned.rwlocks.set(true);
            self.learn();
        }
    }

    /// The running thread tries to read.
    pub fn tries_to_read(&self, lock: ObjectId) {
        if self.now.way == Way::Announce && self.shared.learned.rwlocks.get() {
            let order = &mut *self.shared.learned.lock_order.borrow_mut();
            if order.tried.insert(self.names.stable(lock)) && order.decide() {
                self.learn();
            }
        }
    }

    /// Returns whether a reader of this lock may have to wait for a writer that waits.
    pub fn may_queue(&self, lock: ObjectId) -> bool {
        let learned = &self.shared.learned;
        learned.rwlocks.get() && {
            learned.lock_order.borrow().queued.contains(&self.names.stable(lock))
        }
    }

    /// Returns whether it matters that a writer waits for this lock.
    pub fn is_announced(&self, lock: ObjectId) -> bool {
        let learned = &self.shared.learned;
        learned.rwlocks.get() && {
            learned.lock_order.borrow().announced.contains(&self.names.stable(lock))
        }
    }
}
