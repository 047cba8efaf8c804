//! What lies in freed blocks: it must stay as it was until the block is used again.
//!
//! Reads and writes of plain memory are not seen. But a write through a pointer into a block that was freed
//! changes what is there: so each freed block is compared with what it was, when it is used again and at the
//! end of the execution. The content itself is left alone, since types of this crate may lie in it, whose
//! uses are found out in another way (see `memory_errors.rs`).

use std::mem::MaybeUninit;

use selvedge_rt::Fresh;

use super::arena::LARGE;

/// What a block had in it when it was freed.
#[derive(Clone, Copy)]
pub(super) struct Content {
    pub(super) address: usize,
    length: usize,
    /// Where the copy lies, as an index of all copies.
    copy: usize,
    /// Which free it was, of those of this execution.
    pub(super) free: u32,
}

/// Contents of freed blocks.
#[derive(Default)]
pub(crate) struct Contents {
    blocks: Vec<Content>,
    copies: Vec<MaybeUninit<u8>>,
}

impl Fresh for Contents {
    fn fresh(last: Self) -> Self {
        Self { blocks: Vec::fresh(last.blocks), copies: Vec::fresh(last.copies) }
    }
}

impl Contents {
    /// Keeps what lies in a block that is freed now, at most so much of it.
    #[inline]
    pub(super) fn keep(&mut self, address: usize, size: usize, free: u32, most: usize) {
        // The pages of large ones are given back to the system.
        if size == 0 || size >= LARGE {
            return;
        }
        let length = size.min(most);
        // SAFETY: the block was allocated with this size, and memory of an arena stays mapped.
        let content =
            unsafe { std::slice::from_raw_parts(address as *const MaybeUninit<u8>, length) };
        self.blocks.push(Content { address, length, copy: self.copies.len(), free });
        self.copies.extend_from_slice(content);
    }

    fn is_changed(&self, block: &Content) -> bool {
        let copy = &self.copies[block.copy..block.copy + block.length];
        // SAFETY: both are as long as that. Bytes that were never written are compared, too: they do not change
        // by themselves, and the compiler does not know what is compared here.
        unsafe { libc::memcmp(block.address as *const _, copy.as_ptr().cast(), block.length) != 0 }
    }

    /// The first freed block that was written to.
    pub(super) fn changed(&self) -> Option<&Content> {
        self.blocks.iter().find(|block| self.is_changed(block))
    }

    /// The block at an address is used again. Returns it if it was written to.
    pub(super) fn use_again(&mut self, address: usize) -> Option<Content> {
        let index = self.blocks.iter().rposition(|block| block.address == address)?;
        let block = self.blocks.remove(index);
        self.is_changed(&block).then_some(block)
    }
}
