//! Waiting for a word, and waking those who do: `futex`, and C++ `atomic::wait`.
//!
//! Those who wait for a word are bits of another one, as with condition variables (`cond.rs`). A thread that waits keeps the
//! others out while it looks at the word, as the kernel does: a wake-up comes before that or after it. If it comes before, what
//! was written before the wake-up is seen. That is all that is ordered; the thread that was woken is not behind the one that woke it.

use selvedge_core::{Answer, Bits, Label, Location, Order};

use super::asked::{Does, Ready, Update};
use super::cond::CHOOSES;
use crate::effect::{subset, subsets};
use crate::entry::At;
use crate::machine::Machine;
use crate::objects::Object;
use crate::op::{EAGAIN, ETIMEDOUT, Op};
use crate::spin::content;

/// Bits are flipped by those who keep the others out.
fn flips(bits: Bits) -> Update {
    Update::Does { kind: Does::Xor, operand: bits, size: 8 }
}

impl At {
    /// Waits until it is woken, if a word is what it is expected to be. Returns its result.
    pub(super) fn ask_futex_wait(self, op: Op) -> u64 {
        let Op::FutexWait { address, size, wanted, timed, expires } = op else { return 0 };
        let is_whole = matches!(size, 1 | 2 | 4 | 8)
            && self.with(|machine| machine.stands_at_atomic(self, op, address, size));
        if !is_whole {
            return self.give_up(
                "a wait for a word that is accessed in parts, or is larger than 8 bytes, is not supported under a memory \
                 model; check it with --sequentially-consistent"
                    .to_owned(),
            );
        }
        let Some(mine) = self.bit() else { return self.has_no_bit() };
        let (word, queue) = self.with(|machine| machine.places_of_word(self.me, address));
        if let Some(fault) = self.with(|machine| machine.check_memory(self.me, address, size).err())
        {
            self.with(|machine| machine.fail(self.me, fault));
            return self.stand_still();
        }
        self.tell_uses();
        if !expires {
            self.update_queue(queue, Order::Acquire, flips(CHOOSES));
        }
        let is_wanted = match self.stand(Label::Load { at: word, order: Order::Relaxed }) {
            Some(Answer::Value(value)) => value == content(wanted, size),
            _ => false,
        };
        if expires {
            return if is_wanted { ETIMEDOUT } else { EAGAIN };
        }
        let waits = if is_wanted { mine } else { 0 };
        self.update_queue_held(queue, flips(CHOOSES | waits));
        if !is_wanted {
            return EAGAIN;
        }
        self.with(|machine| {
            let thread = &mut machine.threads[self.me];
            (thread.waits_on, thread.op) = (Some((address, timed)), Op::FutexWoken { address });
        });
        self.await_word((queue, Order::Relaxed), Ready::Woken(mine), None);
        self.with(|machine| machine.threads[self.me].waits_on = None);
        0
    }

    /// Wakes some of those who wait for a word. Returns how many.
    pub(super) fn ask_futex_wake(self, op: Op) -> u64 {
        let Op::FutexWake { address, most } = op else { return 0 };
        if most == 0 {
            return 0;
        }
        self.with(|machine| {
            machine.stands_asked(self, op, &[]);
            machine.threads[self.me].asked.used.clear();
        });
        let queue = self.with(|machine| machine.locate_other(Object::Queue(address)));
        let waiting = match self.update_queue(queue, Order::Release, Update::Signalled { most }) {
            Some(Answer::Value(waiting)) => waiting,
            _ => 0,
        };
        let count = waiting.count_ones() as usize;
        if count <= most {
            return count as u64;
        }
        let choice = match self.stand(Label::Choose(subsets(count, most))) {
            Some(Answer::Chosen(choice)) => choice,
            _ => 0,
        };
        self.update_queue_held(queue, flips(CHOOSES | chosen(waiting, most, choice)));
        most as u64
    }

    /// Says that blocks of the heap are used.
    fn tell_uses(self) {
        let labels = self.with(|machine| {
            let mut labels = super::labels::Labels::new();
            machine.add_uses(self.me, &mut labels);
            machine.threads[self.me].asked.used.clear();
            labels
        });
        self.stand_at(labels);
    }

    /// Changes who waits, when no thread keeps the others out.
    fn update_queue(self, queue: Location, order: Order, update: Update) -> Option<Answer> {
        self.with(|machine| {
            let asked = &mut machine.threads[self.me].asked;
            (asked.ready, asked.update) = (Ready::Open, update);
            asked.looks.clear();
        });
        self.stand(Label::Await { at: queue, order, update: true })
    }

    /// The same, of the thread that keeps the others out. It is an update, since a store would hide from others what was
    /// released before.
    fn update_queue_held(self, queue: Location, update: Update) {
        self.with(|machine| machine.threads[self.me].asked.update = update);
        self.stand(Label::Update { at: queue, order: Order::Relaxed });
    }
}

/// Returns the bits of those who are woken, of those who wait.
fn chosen(waiting: Bits, most: usize, choice: u32) -> Bits {
    let bits = (0..CHOOSES.trailing_zeros()).map(|bit| 1 << bit);
    let bits: smallvec::SmallVec<[Bits; 8]> = bits.filter(|bit| waiting & bit != 0).collect();
    subset(bits.len(), most, choice).into_iter().map(|nth| bits[nth]).sum()
}

impl Machine {
    /// Returns the locations of a word, and of those who wait for it.
    fn places_of_word(&mut self, me: usize, address: usize) -> (Location, Location) {
        let word = self.threads[me].objects[0];
        (self.locate_cell(word), self.locate_other(Object::Queue(address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_waiters_is_chosen_once() {
        let waiting = 0b1011_0010;
        let mut all: Vec<Bits> = (0..subsets(4, 2)).map(|one| chosen(waiting, 2, one)).collect();
        assert!(all.iter().all(|set| set & !waiting == 0 && set.count_ones() == 2), "{all:?}");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}
