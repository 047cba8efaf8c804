//! All that the next turn of a loop depends on, as one number: what a thread has in its registers and on
//! its stack, and what lies in the memory of checked code.
//!
//! If a thread that runs alone comes to the same number again, it will do the same again, for ever. What
//! lies outside of that memory is not seen: statics of other types than this crate's, and what the
//! closure captured. Such code would also not do the same in every execution.

use std::mem::MaybeUninit;

use selvedge_core::ObjectId;

use crate::engine::Engine;
use crate::fiber::Fiber;
use crate::hooks::Hooks;
use crate::registers::Registers;
use crate::runtime::{Runtime, Thread, Way};

/// Takes in words, and gives a number for all of them.
struct Sum(u64, u64);

impl Sum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.1 = (self.1.rotate_left(11) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    fn number(&self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.1)
    }

    /// All words between two addresses.
    ///
    /// # Safety
    /// What lies there can be read.
    unsafe fn add_memory(&mut self, from: usize, to: usize) {
        self.add((to - from) as u64);
        let mut at = from & !7;
        while at < to {
            // SAFETY: the caller promises that it can be read; both ends lie in memory that is made of
            // whole pages. Volatile: there may be bytes that were never written.
            self.add(unsafe { std::ptr::read_volatile(at as *const u64) });
            at += 8;
        }
    }
}

impl<W: Hooks> Runtime<W> {
    /// A number for all that a thread's next turn depends on; it stands, or runs, where `registers` are
    /// from. `None` if that is not known.
    pub(crate) fn state_of(&self, thread: usize, registers: Option<Registers>) -> Option<u128> {
        let registers = registers?;
        let mut sum = Sum(1, 2);
        for &register in &registers.saved {
            sum.add(register as u64);
        }
        sum.add(self.threads.len() as u64);
        for (number, other) in self.threads.iter().enumerate() {
            let from = match number == thread {
                true => registers.stack,
                // What it announced lies at the end of what others can know of its stack.
                false => other.pending.cast::<u8>() as usize,
            };
            if let Some((from, to)) = frames(other, from) {
                // SAFETY: a stack is mapped as long as there is code on it.
                unsafe { sum.add_memory(from, to) };
            }
            for (from, to) in W::filled(&self.known[number].home)? {
                // SAFETY: memory of an arena is never unmapped.
                unsafe { sum.add_memory(from, to) };
            }
        }
        Some(sum.number())
    }
}

impl<W: Hooks> Engine<W> {
    /// The running thread took a lock that guards `content`.
    #[inline]
    pub fn took(&self, lock: ObjectId, content: *const impl ?Sized) {
        // The same way through the code whether it runs alone or not: see `Registers`.
        if self.watches() {
            self.keep_memory(lock, content);
        }
    }

    /// Whether the running thread may have changed what a lock guards since it took it. That is known
    /// only if the thread runs alone.
    #[inline]
    pub fn may_have_changed(&self, lock: ObjectId, content: *const impl ?Sized) -> bool {
        !self.watches() || self.has_changed_memory(lock, content)
    }

    #[cold]
    #[inline(never)]
    fn keep_memory(&self, lock: ObjectId, content: *const impl ?Sized) {
        let rt = self.rt();
        if matches!(rt.now.way, Way::Alone | Way::Trial) {
            let memory = rt.memory(content);
            rt.now.spins.alone.iter_mut().for_each(|alone| alone.memory.push((lock, memory)));
            rt.now.trial.iter_mut().for_each(|trial| trial.memory.push((lock, memory)));
        }
    }

    #[cold]
    #[inline(never)]
    fn has_changed_memory(&self, lock: ObjectId, content: *const impl ?Sized) -> bool {
        let rt = self.rt();
        match rt.now.way {
            Way::Alone => {}
            Way::Trial => return self.changes_in_trial(lock, content),
            _ => return true,
        }
        let now = rt.memory(content);
        let Some(alone) = &mut rt.now.spins.alone else { return true };
        let before = alone.memory.iter().rposition(|(other, _)| *other == lock);
        let before = before.and_then(|position| alone.memory.swap_remove(position).1);
        before.is_none() || before != now
    }

    /// The same for a thread that is tried out. What it changed before does not count: it would give up the lock
    /// in any case.
    fn changes_in_trial(&self, lock: ObjectId, content: *const impl ?Sized) -> bool {
        let rt = self.rt();
        let now = rt.memory(content);
        let Some(trial) = &mut rt.now.trial else { return true };
        let taken = trial.memory.iter().rposition(|(other, _)| *other == lock);
        let before = taken.map(|position| trial.memory.swap_remove(position).1);
        let changes = before.is_some_and(|before| before.is_none() || before != now);
        trial.changed |= changes;
        changes
    }
}

impl<W: Hooks> Runtime<W> {
    /// A number for what lies at `content` and in the memory of checked code.
    fn memory<T: ?Sized>(&self, content: *const T) -> Option<u128> {
        let mut sum = Sum(1, 2);
        let from = content.cast::<u8>() as usize;
        // SAFETY: the thread holds the lock that it lies in.
        let length = unsafe { size_of_val(&*content) };
        // SAFETY: as above.
        unsafe { sum.add_memory(from, from + length) };
        for known in &self.known {
            for (from, to) in W::filled(&known.home)? {
                // SAFETY: memory of an arena is never unmapped.
                unsafe { sum.add_memory(from, to) };
            }
        }
        Some(sum.number())
    }
}

/// Writes over what functions that have returned left on a stack: values that nobody set may become
/// visible in what is put there next, and would seem to be a new state.
#[inline(never)]
pub(crate) fn clear_stack_below(fiber: Option<&Fiber>) {
    const WORDS: usize = 1 << 10;
    let mut words = [const { MaybeUninit::<u64>::uninit() }; WORDS];
    let is_room = fiber.is_some_and(|fiber| {
        (&raw const words as usize).saturating_sub(fiber.limit()) > size_of::<[u64; WORDS]>()
    });
    if is_room {
        for word in &mut words {
            // SAFETY: it is a variable. Volatile, since nobody reads it.
            unsafe { std::ptr::write_volatile(word.as_mut_ptr(), 0) };
        }
    }
}

/// The frames of a thread's code from an address on. Behind them lies what the switch of stacks needs.
fn frames<W: Hooks>(thread: &Thread<W>, from: usize) -> Option<(usize, usize)> {
    let fiber = thread.fiber.as_ref()?;
    let end = thread.yielder as usize;
    let is_inside = fiber.contains(from) && (from..fiber.base()).contains(&end);
    is_inside.then_some((from, end))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::Sum;

    /// A state whose number says less than the sums is more likely to be taken for another.
    #[test]
    fn all_bits_of_both_sums_count() {
        let one_bit = (0..64).flat_map(|bit| [Sum(1 << bit, 0), Sum(0, 1 << bit)]);
        let numbers: BTreeSet<u128> = one_bit.map(|sum| sum.number()).collect();
        assert_eq!(numbers.len(), 128);
        assert!(!numbers.contains(&Sum(0, 0).number()));
    }

    #[test]
    fn the_order_of_words_counts() {
        let number = |words: [u64; 3]| {
            let mut sum = Sum(1, 2);
            words.iter().for_each(|&word| sum.add(word));
            sum.number()
        };
        let all = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1], [0, 0, 6]];
        assert_eq!(all.map(number).into_iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
