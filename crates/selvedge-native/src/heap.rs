//! The heap of checked code: blocks at addresses that depend only on what their thread allocated before.
//!
//! Nothing is reused within an execution, so an access to freed memory is always recognised; between blocks lies a gap
//! that belongs to none, so an access beyond a block is recognised as well.

use crate::layout;
use crate::op::By;

/// What fresh memory holds, so that programs that rely on zeros show it.
pub(crate) const FRESH: u8 = 0xCB;
/// At least so many bytes lie between two blocks.
const GAP: usize = 16;

/// An allocated block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) size: usize,
    /// Where it was allocated, and by what.
    pub(crate) made: usize,
    pub(crate) by: By,
    /// Which thread freed it, and where.
    pub(crate) freed: Option<(usize, usize)>,
}

/// A block that is asked for.
pub(crate) struct Fresh {
    pub(crate) size: usize,
    pub(crate) alignment: usize,
    pub(crate) zeroed: bool,
    pub(crate) by: By,
    /// Where.
    pub(crate) made: usize,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wrong {
    /// The block was freed before.
    Freed,
    /// It is not wholly inside of a block.
    Outside,
}

/// The blocks of all threads in an execution.
#[derive(Default)]
pub(crate) struct Heap {
    arenas: Vec<Vec<Block>>,
}

impl Heap {
    /// Allocates for a thread. `None` if its heap is full.
    pub(crate) fn allocate(&mut self, thread: usize, fresh: &Fresh) -> Option<usize> {
        let &Fresh { size, alignment, zeroed, by, made } = fresh;
        if self.arenas.len() <= thread {
            self.arenas.resize_with(thread + 1, Vec::new);
        }
        let base = layout::heap(thread);
        let blocks = &mut self.arenas[thread];
        let after = blocks.last().map_or(base, |block| block.start + block.size);
        let start = after.checked_add(GAP)?.checked_next_multiple_of(alignment)?;
        let end = start.checked_add(size)?.checked_add(GAP)?;
        if end > base + layout::HEAP {
            return None;
        }
        let fill = if zeroed { 0 } else { FRESH };
        // SAFETY: the block lies in the slot of the thread, where nothing else is.
        unsafe { std::ptr::write_bytes(start as *mut u8, fill, size) };
        blocks.push(Block { start, size, made, by, freed: None });
        Some(start)
    }

    /// Returns the blocks of each thread.
    pub(crate) fn arenas(&self) -> &[Vec<Block>] {
        &self.arenas
    }

    /// Returns which block of `thread` begins at or before an address.
    pub(crate) fn index(&self, thread: usize, address: usize) -> Option<usize> {
        let blocks = self.arenas.get(thread)?;
        blocks.partition_point(|block| block.start <= address).checked_sub(1)
    }

    /// Returns the block that begins at or before an address of the heap of `thread`.
    pub(crate) fn before(&self, thread: usize, address: usize) -> Option<&Block> {
        self.index(thread, address).map(|index| &self.arenas[thread][index])
    }

    /// Returns the block that begins at an address.
    pub(crate) fn at(&mut self, address: usize) -> Option<&mut Block> {
        let (thread, region) = layout::region(address)?;
        if region != layout::Region::Heap {
            return None;
        }
        let blocks = self.arenas.get_mut(thread)?;
        let index = blocks.binary_search_by_key(&address, |block| block.start).ok()?;
        Some(&mut blocks[index])
    }

    /// Returns what is wrong with an access to the heap of `thread`.
    pub(crate) fn check(&self, thread: usize, address: usize, size: usize) -> Option<Wrong> {
        let Some(block) = self.before(thread, address) else { return Some(Wrong::Outside) };
        if address + size > block.start + block.size {
            return Some(Wrong::Outside);
        }
        block.freed.map(|_| Wrong::Freed)
    }
}
