//! The state of a thread's code as a number: its stack, and the memory of checked code.
//!
//! Two states with the same number are taken to be the same; what makes them comparable is said in `spin/mod.rs`.

use std::mem::MaybeUninit;

use crate::fiber::ROOM;
use crate::runtime::Runtime;
use crate::spin::{Content, Sum};
use crate::world::World;

/// Below the place where a thread notes where its stack ends there is what it saves when it is switched away, which
/// is less than this.
const SAVED: usize = 2 << 10;

/// Writes over what functions of the engine that have returned left below the caller's frame: it differs from turn to
/// turn, and would get into frames that are put there next, as values that no code set.
///
/// The engine is entered only if there is more room than this.
#[inline(never)]
pub(crate) fn clear_stack_below() {
    const WORDS: usize = (SAVED + (1 << 10)) / size_of::<u64>();
    const _: () = assert!(size_of::<[u64; WORDS]>() < ROOM / 2);
    let mut words = [const { MaybeUninit::<u64>::uninit() }; WORDS];
    // SAFETY: it is a variable.
    unsafe { words.as_mut_ptr().write_bytes(0, WORDS) };
    // Nothing reads it, but it is to be written.
    std::hint::black_box(&mut words);
}

impl<W: World> Runtime<W> {
    /// A number for what a lock guards, and for the memory of checked code.
    pub(crate) fn memory(&self, content: Content) -> Option<u128> {
        let mut sum = Sum::new();
        // SAFETY: the thread holds the lock that it lies in.
        unsafe { sum.add_memory(content.address, content.address + content.length) };
        self.add_homes(&mut sum)?;
        Some(sum.number())
    }

    fn add_homes(&self, sum: &mut Sum) -> Option<()> {
        for known in &self.known {
            for (from, to) in W::filled(&known.home)? {
                // SAFETY: it is memory of checked code, which stays mapped.
                unsafe { sum.add_memory(from, to) };
            }
        }
        Some(())
    }

    /// A number for all that the next turn of a thread depends on, which was switched away. `None` if that is not
    /// known.
    pub(crate) fn state_of(&self, thread: usize) -> Option<u128> {
        let mut sum = Sum::new();
        sum.add(self.threads.len() as u64);
        for (number, other) in self.threads.iter().enumerate() {
            let from = match number == thread {
                true => other.stack_end.saturating_sub(SAVED),
                // What it announced lies at the end of what others can know of its stack.
                false => other.pending.cast::<u8>() as usize,
            };
            let Some(fiber) = &other.fiber else { continue };
            // Above it lies what the switch of stacks needs.
            let end = other.yielder as usize;
            let from = if number == thread { from.max(fiber.limit()) } else { from };
            if fiber.contains(from) && (from..fiber.base()).contains(&end) {
                // SAFETY: a stack is mapped as long as there is code on it.
                unsafe { sum.add_memory(from, end) };
            }
        }
        self.add_homes(&mut sum)?;
        Some(sum.number())
    }
}
