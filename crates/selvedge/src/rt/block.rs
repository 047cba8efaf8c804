//! A block of memory that checked code allocated.

use std::alloc::Layout;

/// Which part of what lies at an address stands for the block that begins there.
pub(super) const BLOCK: u32 = u32::MAX - 1;

/// A block that a thread allocated in this execution.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// As it was asked for.
    pub(crate) size: usize,
    /// How much its thread had allocated before it.
    pub(crate) offset: u64,
    /// As a power of two.
    align: u8,
    /// Whether allocating and freeing it are steps.
    pub(crate) recycles: bool,
    /// Which free it was, of those of this execution.
    pub(crate) free: Option<u32>,
    /// Threads that had its address from an atomic, or put it into one: a bit each, and one for all from the 64th on.
    pub(super) known_to: u64,
    /// The same of threads that have its address from their closure, or from a message.
    pub(super) captured_by: u64,
    /// Whether those had it as references that `std` counts.
    pub(super) passed_counted: bool,
    /// The object in it that was used last for the first time, as an index of the objects that `memory.rs` keeps.
    pub(super) last_object: Option<u32>,
    /// Whether it began like a block of `std::sync::Arc` when objects in it were used; see `unseen.rs`.
    pub(super) counted: bool,
}

impl Block {
    pub(crate) fn new(start: usize, layout: Layout, offset: u64) -> Self {
        let (size, align) = (layout.size(), layout.align().trailing_zeros() as u8);
        Self {
            start,
            size,
            offset,
            align,
            recycles: false,
            free: None,
            known_to: 0,
            captured_by: 0,
            passed_counted: true,
            last_object: None,
            counted: true,
        }
    }

    /// Returns whether an address lies in it, or at its end. Any number that may be an address is asked for: there is room
    /// between blocks.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.start..=self.start + self.size).contains(&address)
    }

    pub(super) fn align(&self) -> usize {
        1 << self.align
    }
}
