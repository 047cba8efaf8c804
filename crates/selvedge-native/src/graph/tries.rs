//! Operations that may fail, and do nothing then.
//!
//! In a loop that tries until it succeeds, failing again is not a step that others can see (`spin.rs`): a thread that can only
//! go round waits, and what it waits for is to succeed.

use selvedge_core::{Answer, Label, Location, Order, ThreadId};

use super::spin::Range;
use crate::entry::At;
use crate::machine::Machine;
use crate::op::{Kind, Op};

impl At {
    /// Returns whether an operation on these ranges fails as it did before, without the explorer.
    pub(super) fn fails_again(self, ranges: &[(usize, usize)]) -> bool {
        let Some(&(address, size)) = ranges.first() else { return false };
        self.goes_round(Range::Lock(address, size), &|value| Some(Answer::Failed(value))).is_some()
    }

    /// Joins a thread, or finds that it has not ended. A thread may take its time to end, whatever it did before; so both are
    /// possible, and that it never ends is no deadlock here.
    pub(super) fn ask_try_join(self, target: usize, otherwise: u64) -> u64 {
        let op = Op::TryJoin { target, otherwise };
        self.with(|machine| machine.stands_asked(self, op, &[]));
        if self.stand(Label::Choose(2)) == Some(Answer::Chosen(1)) {
            return otherwise;
        }
        let op = Op::Join { target, timed: true };
        self.with(|machine| machine.stands_asked(self, op, &[]));
        self.stand(Label::Join(ThreadId::new(target)));
        let done = self.with(|machine| machine.perform_answered(self.me, Some(Answer::Done)));
        match done {
            Ok(result) => result,
            Err(fault) => {
                self.with(|machine| machine.fail(self.me, fault));
                self.stand_still()
            }
        }
    }
}

impl Machine {
    /// Returns whether a thread tries to take a mutex that it holds, and cannot take again.
    pub(super) fn fails_by_itself(&self, me: usize) -> bool {
        match self.threads[me].op {
            Op::TryLock { address, kind, .. } => {
                kind != Kind::Recursive && self.mutex(address).owner == Some(me)
            }
            _ => false,
        }
    }

    /// Returns the label of an operation that may fail; or waits, if its thread can only go round.
    pub(super) fn try_or_wait(
        &mut self,
        me: usize,
        at: Location,
        success: Order,
        failure: Order,
    ) -> Label {
        match self.waits_for_change(me).is_some() {
            true => Label::Await { at, order: success, update: true },
            false => Label::Try { at, success, failure },
        }
    }
}
