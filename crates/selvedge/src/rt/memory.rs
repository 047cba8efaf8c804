//! What happened to blocks of memory in an execution.

use std::alloc::Layout;

use selvedge_core::{Freed, ObjectId};
use selvedge_rt::Fresh;

use super::freed::{Content, Contents};
use super::guarded::{Guarded, close_opened};
use super::published::Published;
use crate::spot::Spot;

/// Blocks of a layout that are free, in the order in which they were freed.
struct Pool {
    layout: Layout,
    free: Vec<usize>,
}

/// A free of this execution.
pub(super) struct Free {
    pub(super) thread: usize,
    /// Its last operation before that.
    pub(super) spot: Spot,
    /// The step in whose code it was.
    pub(super) position: Option<usize>,
}

/// What happened to blocks in an execution.
#[derive(Default)]
pub(crate) struct Memory {
    /// Objects in blocks, and the one before in the same block.
    pub(super) objects: Vec<(ObjectId, Option<u32>)>,
    pub(super) frees: Vec<Free>,
    /// Those that matter to others.
    pub(crate) freed: Vec<Freed>,
    /// References that were given up without a step: an address in what they kept, and after which step.
    pub(super) given_up: Vec<(usize, usize)>,
    /// Blocks that allocations may return again.
    pools: Vec<Pool>,
    pub(super) contents: Contents,
    pub(super) guarded: Guarded,
    pub(super) published: Published,
    /// Whether a block was freed that objects lie in.
    pub(super) has_freed_objects: bool,
}

impl Fresh for Memory {
    fn fresh(last: Self) -> Self {
        Self {
            objects: Vec::fresh(last.objects),
            frees: Vec::fresh(last.frees),
            freed: Vec::fresh(last.freed),
            given_up: Vec::fresh(last.given_up),
            pools: Vec::fresh(last.pools),
            contents: Contents::fresh(last.contents),
            guarded: Guarded::default(),
            published: Published::default(),
            has_freed_objects: false,
        }
    }
}

/// How much is kept about blocks.
#[derive(Clone, Copy)]
pub(crate) struct Remembered {
    objects: usize,
    frees: usize,
}

impl Memory {
    /// The engine may have looked at blocks that are inaccessible: they are so again, since checked code is about to run.
    #[inline]
    pub(super) fn close_to_engine(&self) {
        if !(self.guarded.is_empty() && self.published.is_empty()) {
            close_opened(self.guarded.pages().chain(self.published.pages()));
        }
    }

    pub(super) fn remembered(&self) -> Remembered {
        Remembered { objects: self.objects.len(), frees: self.frees.len() }
    }

    /// Forgets what was kept since: the blocks that it is about are taken back.
    pub(super) fn forget_since(&mut self, remembered: Remembered) {
        self.objects.truncate(remembered.objects);
        self.frees.truncate(remembered.frees);
    }

    /// The first freed block that was written to.
    pub(super) fn changed(&self) -> Option<&Content> {
        self.contents.changed()
    }

    /// The blocks of a layout that an allocation may return again.
    pub(super) fn free_blocks(&self, layout: Layout) -> &[usize] {
        self.pools.iter().find(|pool| pool.layout == layout).map_or(&[], |pool| &pool.free)
    }

    /// From now on an allocation may return this block.
    pub(super) fn add_free_block(&mut self, layout: Layout, address: usize) {
        match self.pools.iter_mut().find(|pool| pool.layout == layout) {
            Some(pool) => pool.free.push(address),
            None => self.pools.push(Pool { layout, free: vec![address] }),
        }
    }

    /// An allocation returns this block of a layout, of those that are free.
    pub(super) fn take_free_block(&mut self, layout: Layout, index: usize) -> Option<usize> {
        let pool = self.pools.iter_mut().find(|pool| pool.layout == layout)?;
        (index < pool.free.len()).then(|| pool.free.remove(index))
    }
}
