//! Condition variables under a memory model. The word of one has a bit for each thread that waits, and one for a thread that
//! chooses whom to wake. A signal takes bits away, and a thread waits until its own is gone. Nothing but the mutex
//! synchronises.

use selvedge_core::{Answer, Bits, Label, Location, Order};

use super::asked::{Does, Ready, Update};
use crate::entry::{At, CONDITION, MUTEX};
use crate::machine::Machine;
use crate::op::{Ends, Op};
use crate::perform::Then;

/// Some thread chooses whom to wake.
pub(super) const CHOOSES: Bits = 1 << 63;

/// Returns whether no thread chooses.
pub(super) fn is_open(word: Bits) -> bool {
    word & CHOOSES == 0
}

/// What a signal leaves: no thread to wake, or some that are still to be chosen.
pub(super) fn signalled(word: Bits, most: usize) -> Bits {
    if word.count_ones() as usize <= most { 0 } else { word | CHOOSES }
}

impl At {
    /// Waits until it is signalled, or for something else that ends it, and takes the mutex again. Returns its result.
    pub(super) fn ask_wait(self, op: Op) -> u64 {
        let Op::Wait { cond, mutex, timed, ends } = op else { return 0 };
        self.with(|machine| {
            machine.stands_asked(self, op, &[(cond, CONDITION), (mutex, MUTEX)]);
            machine.threads[self.me].asked.used.clear();
        });
        let Some(mine) = self.bit() else { return self.has_no_bit() };
        let (word, lock) = self.with(|machine| machine.places_of_wait(self.me));
        let holds = self.with(|machine| {
            let mutex = machine.mutex(mutex);
            mutex.owner == Some(self.me) && mutex.depth == 1
        });
        if holds {
            if ends == Ends::Signalled {
                let update = Update::Does { kind: Does::Or, operand: mine, size: 8 };
                self.await_word((word, Order::Unseen), Ready::Open, Some(update));
            }
            self.stand(Label::Unlock(lock));
        }
        // What the others do to it is told by the word: it stands at the mutex right away.
        let given = if ends == Ends::Signalled { Ends::WithoutReason } else { ends };
        self.with(|machine| {
            machine.threads[self.me].op = Op::Wait { cond, mutex, timed, ends: given }
        });
        let failed = self.with(|machine| match machine.perform(self.me, 0) {
            Ok(Then::Stands | Then::GoesOn(_)) => false,
            Err(fault) => {
                machine.fail(self.me, fault);
                true
            }
        });
        if failed {
            return self.stand_still();
        }
        if ends == Ends::Signalled {
            let again = self.with(|machine| {
                let thread = &mut machine.threads[self.me];
                thread.waits_on = Some((cond, timed));
                std::mem::replace(&mut thread.op, Op::FutexWoken { address: cond })
            });
            self.await_word((word, Order::Unseen), Ready::Woken(mine), None);
            self.with(|machine| {
                let thread = &mut machine.threads[self.me];
                (thread.waits_on, thread.op) = (None, again);
            });
        }
        self.stand(Label::Lock(lock));
        self.with(|machine| match machine.perform(self.me, 0) {
            Ok(Then::GoesOn(result)) => result,
            Ok(Then::Stands) | Err(_) => 0,
        })
    }

    /// Clears the bits of the waiters that are woken.
    pub(super) fn ask_signal(self, op: Op) -> u64 {
        let Op::Signal { cond, all } = op else { return 0 };
        self.with(|machine| {
            machine.stands_asked(self, op, &[(cond, CONDITION)]);
            machine.threads[self.me].asked.used.clear();
        });
        let (word, _) = self.with(|machine| machine.places_of_wait(self.me));
        let most = if all { usize::MAX } else { 1 };
        let before =
            self.await_word((word, Order::Unseen), Ready::Open, Some(Update::Signalled { most }));
        let waiting = match before {
            Some(Answer::Value(waiting)) => waiting,
            _ => 0,
        };
        if !all && waiting.count_ones() > 1 {
            let choice = match self.stand(Label::Choose(waiting.count_ones())) {
                Some(Answer::Chosen(choice)) => choice,
                _ => 0,
            };
            let mut left = waiting;
            for _ in 0..choice {
                left &= left - 1;
            }
            let value = waiting & !(left & left.wrapping_neg());
            self.stand(Label::Store { at: word, order: Order::Unseen, value });
        }
        let failed = self.with(|machine| match machine.perform(self.me, 0) {
            Ok(_) => false,
            Err(fault) => {
                machine.fail(self.me, fault);
                true
            }
        });
        if failed { self.stand_still() } else { 0 }
    }

    /// Returns the bit of this thread among those who wait.
    pub(super) fn bit(self) -> Option<Bits> {
        (self.me < CHOOSES.trailing_zeros() as usize).then(|| 1 << self.me)
    }

    pub(super) fn has_no_bit(self) -> u64 {
        self.give_up(
            "so many threads, of which one waits to be woken, are not supported under a memory model"
                .to_owned(),
        )
    }

    /// Waits until a word is ready, and changes it in the same step if that is asked for.
    pub(super) fn await_word(
        self,
        (at, order): (Location, Order),
        ready: Ready,
        update: Option<Update>,
    ) -> Option<Answer> {
        self.with(|machine| {
            let asked = &mut machine.threads[self.me].asked;
            (asked.ready, asked.update) = (ready, update.unwrap_or(Update::Same));
            asked.looks.clear();
        });
        self.stand(Label::Await { at, order, update: update.is_some() })
    }
}

impl Machine {
    /// Returns the locations of a condition variable, and of the mutex if it waits with one.
    fn places_of_wait(&mut self, me: usize) -> (Location, Location) {
        let objects = self.threads[me].objects.clone();
        let word = self.locate(objects[0], 0);
        let lock = objects.get(1).map_or(word, |&lock| self.locate(lock, 0));
        (word, lock)
    }
}
