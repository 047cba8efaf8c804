//! All that the next turn of a loop depends on, as one number: what a thread has in its registers and on
//! its stack, and what lies in the memory of checked code.
//!
//! If a thread that runs alone comes to the same number again, it will do the same again, for ever. What
//! lies outside of that memory is not seen: statics of other types than this crate's, and what the
//! closure captured. Such code would also not do the same in every execution.

use super::runtime::{Runtime, Thread};

/// How many registers a function gives back as it found them.
#[cfg(target_arch = "x86_64")]
const SAVED: usize = 6;
#[cfg(target_arch = "aarch64")]
const SAVED: usize = 20;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SAVED: usize = 0;

/// What a running function and its callers have in registers, and where its stack ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registers {
    saved: [usize; SAVED],
    stack: usize,
}

impl Registers {
    /// Nothing of value is in any other register, since the code that reads them may use all others.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn here() -> Option<Self> {
        let mut all = [0; SAVED + 1];
        // SAFETY: it writes to the array, which is long enough, and to registers that it names.
        unsafe {
            std::arch::asm!(
                "mov [rax], rbx",
                "mov [rax + 8], rbp",
                "mov [rax + 16], r12",
                "mov [rax + 24], r13",
                "mov [rax + 32], r14",
                "mov [rax + 40], r15",
                "mov [rax + 48], rsp",
                inout("rax") all.as_mut_ptr() => _,
                clobber_abi("C"),
            );
        }
        Some(Self::of(&all))
    }

    /// As above.
    #[inline(always)]
    #[cfg(target_arch = "aarch64")]
    pub(crate) fn here() -> Option<Self> {
        let mut all = [0; SAVED + 1];
        // SAFETY: it writes to the array, which is long enough, and to registers that it names.
        unsafe {
            std::arch::asm!(
                "stp x19, x20, [x0]",
                "stp x21, x22, [x0, #16]",
                "stp x23, x24, [x0, #32]",
                "stp x25, x26, [x0, #48]",
                "stp x27, x28, [x0, #64]",
                "stp x29, x30, [x0, #80]",
                "stp d8, d9, [x0, #96]",
                "stp d10, d11, [x0, #112]",
                "stp d12, d13, [x0, #128]",
                "stp d14, d15, [x0, #144]",
                "mov x1, sp",
                "str x1, [x0, #160]",
                inout("x0") all.as_mut_ptr() => _,
                clobber_abi("C"),
            );
        }
        Some(Self::of(&all))
    }

    /// Elsewhere nobody knows.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) fn here() -> Option<Self> {
        None
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn of(all: &[usize; SAVED + 1]) -> Self {
        let mut saved = [0; SAVED];
        saved.copy_from_slice(&all[..SAVED]);
        Self { saved, stack: all[SAVED] }
    }
}

/// Takes in words, and gives a number for all of them.
struct Sum(u64, u64);

impl Sum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.1 = (self.1.rotate_left(11) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
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

impl Runtime {
    /// A number for all that a thread's next turn depends on; it stands, or runs, where `registers` are
    /// from. `None` if that is not known.
    pub(super) fn state_of(&self, thread: usize, registers: Option<Registers>) -> Option<u128> {
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
            for (from, to) in other.arena.blocks()? {
                // SAFETY: memory of an arena is never unmapped.
                unsafe { sum.add_memory(from, to) };
            }
        }
        Some(u128::from(sum.0) << 64 | u128::from(sum.1))
    }
}

/// The frames of a thread's code from an address on. Behind them lies what the switch of stacks needs.
fn frames(thread: &Thread, from: usize) -> Option<(usize, usize)> {
    let fiber = thread.fiber.as_ref()?;
    let end = thread.yielder as usize;
    let is_inside = (fiber.limit..fiber.base).contains(&from) && (from..fiber.base).contains(&end);
    is_inside.then_some((from, end))
}
