//! Blocks that are inaccessible although they are in use, since uses of them are steps: see `plain.rs`.

use selvedge_core::ObjectId;

use super::pages::{page_size, protect};

/// Blocks of an execution that are inaccessible although they are in use.
#[derive(Default)]
pub(crate) struct Published {
    pub(super) blocks: Vec<Closed>,
    /// Those that the running thread may use, as indices.
    open: Vec<usize>,
}

/// A block that is inaccessible.
pub(super) struct Closed {
    pub(super) start: usize,
    /// In bytes, whole pages.
    length: usize,
    /// What stands for it, once it was used.
    pub(super) object: Option<ObjectId>,
}

impl Closed {
    fn contains(&self, address: usize) -> bool {
        (self.start..self.start + self.length).contains(&address)
    }

    fn protect(&self, is_accessible: bool) -> bool {
        protect((self.start, self.length), is_accessible)
    }
}

/// A use of such a block that was interrupted.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) address: usize,
    /// Of the code.
    pub(super) instruction: usize,
}

/// What a thread may use up to its next operation.
#[derive(Default)]
pub(crate) struct MayUse {
    /// The use that was interrupted last.
    pub(super) interrupted: Option<Use>,
    /// Blocks, as indices, and the instruction that was the last to be interrupted.
    pub(super) blocks: Vec<usize>,
    pub(super) instruction: usize,
}

impl Published {
    /// The index of the block that an address lies in.
    pub(super) fn at(&self, address: usize) -> Option<usize> {
        self.blocks.iter().rposition(|block| block.contains(address))
    }

    /// Makes a block inaccessible, if there are fewer than `most`. Returns whether it is.
    pub(super) fn add(&mut self, start: usize, size: usize, most: usize) -> bool {
        debug_assert!(start.is_multiple_of(page_size()), "the block lies on pages of its own");
        let block = Closed { start, length: size.next_multiple_of(page_size()), object: None };
        let is_closed = self.blocks.len() < most && block.protect(false);
        if is_closed {
            self.blocks.push(block);
        }
        is_closed
    }

    /// The running thread comes to its next operation, or another is about to run.
    #[inline]
    pub(super) fn close(&mut self) {
        if !self.open.is_empty() {
            self.close_open();
        }
    }

    #[cold]
    fn close_open(&mut self) {
        for index in self.open.drain(..) {
            self.blocks[index].protect(false);
        }
    }

    /// Returns whether nothing is inaccessible.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whole pages that are inaccessible: address and length.
    pub(super) fn pages(&self) -> impl Iterator<Item = (usize, usize)> {
        let closed = self.blocks.iter().enumerate().filter(|(index, _)| !self.open.contains(index));
        closed.map(|(_, block)| (block.start, block.length))
    }

    /// The running thread may use a block.
    pub(super) fn open(&mut self, index: usize) {
        self.blocks[index].protect(true);
        self.open.push(index);
    }

    /// Nothing that runs from now on is a result.
    pub(super) fn open_all(&mut self) {
        self.open.clear();
        for block in self.blocks.drain(..) {
            block.protect(true);
        }
    }

    /// The block at an address is allocated again: its address is not known to others.
    pub(super) fn forget(&mut self, address: usize) {
        if let Some(index) = self.at(address) {
            self.blocks[index].protect(true);
            // Other indices stay as they are.
            self.blocks[index].length = 0;
        }
    }
}
