//! Barriers under a memory model.
//!
//! If as many threads come to a barrier as it is for, or fewer, all of them come in each round: then who comes when does not
//! matter. Each says that it is there, at a location of its own, and waits for the others. If more come, or if the program asks
//! which thread is the serial one, the barrier is a word with the round and how many are there, and arrivals are in an
//! order.

use selvedge_core::{Answer, Bits, Label, Order};

use super::asked::{Ready, Update};
use crate::entry::At;
use crate::machine::Machine;
use crate::objects::Object;
use crate::op::Op;

/// The size of a barrier.
const BARRIER: usize = 32;

/// Returns the round of a barrier.
pub(super) fn round(word: Bits) -> Bits {
    word >> 32
}

/// Returns what an arrival leaves: one more, or the next round.
pub(super) fn arrived(word: Bits, parties: u64) -> Bits {
    match (word & 0xffff_ffff) + 1 >= parties {
        true => (round(word) + 1) << 32,
        false => word + 1,
    }
}

impl At {
    /// Comes to a barrier, and waits until all have come. Returns its result.
    pub(super) fn ask_arrive(self, op: Op) -> u64 {
        let Op::Arrive { address } = op else { return 0 };
        self.with(|machine| machine.stands_asked(self, op, &[(address, BARRIER)]));
        // That it is there, for a thread that initialises or destroys it.
        if let Some(label) = self.with(|machine| machine.use_of_barrier(self.me)) {
            self.stand(label);
        }
        let known = self.with(|machine| machine.comes_to_barrier(self.me, address));
        let Some((parties, round, is_counted)) = known else {
            return self.arrive(op).unwrap_or(0);
        };
        let ready = match is_counted {
            true => {
                let word = Object::Barrier { address, half: false };
                let word = self.with(|machine| machine.locate_other(word));
                self.with(|machine| {
                    machine.threads[self.me].asked.update = Update::Arrives { parties };
                });
                let label = Label::Update { at: word, order: Order::AcqRel };
                let before = match self.stand(label) {
                    Some(Answer::Value(before)) => before,
                    _ => 0,
                };
                if self.arrive(op).is_none() {
                    return 0;
                }
                let is_last = self::round(arrived(before, parties)) != self::round(before);
                if !is_last {
                    self.wait_for(word, Ready::RoundOver(self::round(before)));
                }
                None
            }
            false => {
                let mine = Object::Arrival { address, round, thread: self.me };
                let at = self.with(|machine| machine.locate_other(mine));
                self.stand(Label::Store { at, order: Order::Release, value: 1 });
                if self.arrive(op).is_none() {
                    return 0;
                }
                Some(at)
            }
        };
        if let Some(mine) = ready {
            // An index, since nothing may be dropped after a switch.
            let mut others = 0;
            while let Some(other) =
                self.with(|machine| machine.party(address, round, others, self.me))
            {
                others += 1;
                self.wait_for(other, Ready::OtherThan(0));
            }
            if (others as u64) + 1 < parties {
                // It is for more threads than ever come.
                self.wait_for(mine, Ready::Never);
            }
        }
        self.with(|machine| match machine.threads[self.me].op {
            Op::Pass { result, .. } => result,
            _ => 0,
        })
    }

    /// Counts this thread. Returns `None` if that goes wrong.
    fn arrive(self, op: Op) -> Option<u64> {
        let fault = self.with(|machine| {
            let thread = &mut machine.threads[self.me];
            thread.op = op;
            thread.asked.used.clear();
            machine.perform(self.me, 0).err()
        });
        match fault {
            None => Some(0),
            Some(fault) => {
                self.with(|machine| machine.fail(self.me, fault));
                self.stand_still();
                None
            }
        }
    }

    fn wait_for(self, at: selvedge_core::Location, ready: Ready) {
        self.with(|machine| {
            let asked = &mut machine.threads[self.me].asked;
            (asked.ready, asked.update) = (ready, Update::Same);
            asked.looks.clear();
        });
        self.stand(Label::Await { at, order: Order::Acquire, update: false });
    }
}

impl Machine {
    fn use_of_barrier(&mut self, me: usize) -> Option<Label> {
        let object = *self.threads[me].objects.first()?;
        let at = self.locate(object, 0);
        Some(Label::Access { at, write: false })
    }

    /// Returns the location of an object that is no memory of the program.
    pub(super) fn locate_other(&mut self, object: Object) -> selvedge_core::Location {
        let object = self.shared.objects.borrow_mut().other(object);
        self.locate(object, 0)
    }

    /// A thread comes to a barrier. Returns for how many it is, the round, and whether arrivals are counted; `None` if it is
    /// not initialised.
    fn comes_to_barrier(&mut self, me: usize, address: usize) -> Option<(u64, u64, bool)> {
        let barrier = self.synchronisation.barriers.get(&address)?;
        let (parties, round) = (barrier.parties, barrier.round);
        let learned = &self.shared.learned;
        if learned.arrives(address, me, parties) {
            // Others did not wait for it so far.
            learned.news.set(true);
        }
        let is_counted = self.shared.module.has_serial_thread || learned.is_crowded(address);
        Some((parties, round, is_counted))
    }

    /// Returns where one of the others says that it is there.
    fn party(
        &mut self,
        address: usize,
        round: u64,
        nth: usize,
        me: usize,
    ) -> Option<selvedge_core::Location> {
        let mut parties = self.shared.learned.parties_of(address);
        parties.retain(|&thread| thread != me);
        let &thread = parties.get(nth)?;
        Some(self.locate_other(Object::Arrival { address, round, thread }))
    }
}
