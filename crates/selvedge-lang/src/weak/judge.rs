//! How an execution ended: the machine is put into the state that all threads have come to, and judges it as ever.

use selvedge_core::{Bits, Ending, Location, Violation};

use super::Inner;
use super::locations::What;
use crate::interpret::{Phase, held_by};
use crate::ir::{LockMode, Op};

impl Inner {
    pub(super) fn judged(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
    ) -> (Ending, Option<Violation>) {
        let waits = self.machine.threads.iter().any(|thread| {
            !matches!(
                thread.phase,
                Phase::Finished | Phase::Absent | Phase::Failed | Phase::Assumed
            )
        });
        let is_empty = self.machine.threads.is_empty();
        if is_empty || (!waits && self.loaded.program.finally.is_none()) {
            return self.machine.end(&self.loaded);
        }
        self.as_one(last, |all| all.machine.end(&all.loaded))
    }

    /// Does something while all shared objects are as they are in the end.
    pub(super) fn as_one<T>(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
        act: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.machine.begin_step(0);
        let all: Vec<(Location, What)> = self.locations.all().collect();
        for (at, what) in all {
            if let Some(value) = last(at)
                && matches!(what, What::Object(_) | What::Mailbox(_))
                && !self.is_lock(what)
            {
                self.put(what, value);
            }
        }
        for me in 0..self.threads.len() {
            if self.machine.threads[me].phase == Phase::Absent {
                continue;
            }
            for &(lock, mode) in &*self.threads[me].now.holds.clone() {
                if mode == LockMode::Read {
                    let id = selvedge_core::ObjectId::new(lock as usize);
                    if let Some((global, element)) = self.loaded.program.global_of(id) {
                        let first = self.loaded.globals[global.index()].content as usize;
                        self.machine.add_reader(first + element, me);
                    }
                } else {
                    self.machine.set_cell(lock, held_by(me));
                }
            }
            // How many have arrived at a barrier that is not open.
            if let (Phase::Passing, Op::Barrier(op)) =
                (self.machine.threads[me].phase, self.loaded.op(self.machine.threads[me].pc))
            {
                let at = self.machine.at(&self.loaded, me);
                let element = self.machine.element(at, op.barrier());
                let first = self.loaded.globals[op.barrier().global.index()].base + 2 * element;
                let arrived = self.machine.cells[first as usize] + 1;
                self.machine.set_cell(first, arrived);
            }
        }
        self.machine.is_whole = true;
        let result = act(self);
        self.machine.is_whole = false;
        self.machine.undo_step();
        result
    }

    fn is_lock(&self, what: What) -> bool {
        let What::Object(object) = what else { return false };
        let id = selvedge_core::ObjectId::new(object as usize);
        self.loaded.program.global_of(id).is_some_and(|(global, _)| {
            matches!(
                self.loaded.program.globals[global.index()].kind,
                crate::ir::GlobalKind::Mutex | crate::ir::GlobalKind::RwLock
            )
        })
    }
}
