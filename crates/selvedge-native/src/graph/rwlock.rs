//! Reader-writer locks under a memory model.
//!
//! To the explorer a reader-writer lock is a mutex that can be shared, where readers are not ordered with each other. It cannot be
//! tried then, nor taken twice by a thread. One to which that happens is *counted*: a number, how many read, or that it is
//! written.

use selvedge_core::{Label, ObjectId, Order};

use super::asked::{Does, Ready, Update, WRITTEN};
use crate::machine::Machine;
use crate::op::Op;

impl Machine {
    /// Returns the label of an operation on a reader-writer lock; none if it holds nothing that it could give up.
    pub(super) fn label_of_rwlock(&mut self, me: usize, op: Op, lock: ObjectId) -> Option<Label> {
        let at = self.locate(lock, 0);
        let held = |address| self.synchronisation.rwlocks.get(&address);
        let reads = |address| held(address).is_some_and(|lock| lock.readers.contains(&me));
        let writes = |address| held(address).is_some_and(|lock| lock.writer == Some(me));
        if let Op::RwLock { address, .. } | Op::RwTry { address, .. } = op
            && (reads(address) || writes(address) || matches!(op, Op::RwTry { .. }))
        {
            self.shared.learned.note_counted(lock);
        }
        let is_counted = self.shared.learned.is_counted(lock);
        let (label, update) = match (op, is_counted) {
            (Op::RwLock { write: true, .. }, false) => (Label::Lock(at), Update::Same),
            (Op::RwLock { write: false, .. }, false) => (Label::Share(at), Update::Same),
            (Op::RwLock { write, .. }, true) => {
                let order = Order::Acquire;
                (Label::Await { at, order, update: true }, taken(write))
            }
            (Op::RwTry { write, .. }, _) => {
                (self.try_or_wait(me, at, Order::Acquire, Order::Relaxed), taken(write))
            }
            (Op::RwUnlock { address }, false) if writes(address) => {
                (Label::Unlock(at), Update::Same)
            }
            (Op::RwUnlock { address }, false) if reads(address) => {
                (Label::Unshare(at), Update::Same)
            }
            (Op::RwUnlock { address }, true) if writes(address) => {
                (Label::Store { at, order: Order::Release, value: 0 }, Update::Same)
            }
            (Op::RwUnlock { address }, true) if reads(address) => {
                let update = Update::Does { kind: Does::Sub, operand: 1, size: 8 };
                (Label::Update { at, order: Order::Release }, update)
            }
            _ => return None,
        };
        let asked = &mut self.threads[me].asked;
        asked.update = update;
        asked.ready = match update {
            Update::Writes => Ready::Is(0),
            _ => Ready::OtherThan(WRITTEN),
        };
        Some(label)
    }
}

/// Returns what taking a lock writes.
fn taken(write: bool) -> Update {
    match write {
        true => Update::Writes,
        false => Update::Does { kind: Does::Add, operand: 1, size: 8 },
    }
}
