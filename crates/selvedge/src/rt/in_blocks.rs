//! Which objects lie in which blocks, as all executions have shown: `answered_blocks.rs` says what for.

use std::collections::BTreeMap;

use crate::spot::Spot;

/// What is known about blocks, by the number of their place.
#[derive(Default)]
pub(super) struct InBlocks {
    blocks: BTreeMap<u64, InBlock>,
    learned: usize,
    /// Whether one is known from an atomic to another thread than that which allocated it.
    has_published: bool,
}

/// What is known about a block.
#[derive(Default)]
pub(super) struct InBlock {
    /// Of each object the kind and where it was created, by its distance from the start of the block.
    pub(super) objects: BTreeMap<usize, (&'static str, Spot)>,
    /// Whether one was used while the block did not begin with counts of references (`unseen.rs`).
    pub(super) uncounted: bool,
    /// Whether another thread than that which allocated it knew it from an atomic, in some execution.
    is_published: bool,
    /// Whether the block was freed, in some execution.
    was_freed: bool,
    /// Whether it was freed twice in one.
    is_contested: bool,
}

/// An object that is used.
pub(super) struct InUse {
    pub(super) distance: usize,
    pub(super) kind: &'static str,
    pub(super) created: Spot,
    /// Whether its block does not begin with counts of references.
    pub(super) uncounted: bool,
}

impl InBlocks {
    /// Returns how often something was learned that matters from the first step on.
    pub(super) fn learned(&self) -> usize {
        self.learned
    }

    /// An object in the block is used. Returns whether that is news about a block that was freed, or published.
    pub(super) fn uses(&mut self, block: u64, object: InUse) -> bool {
        let its = self.blocks.entry(block).or_default();
        let InUse { distance, kind, created, uncounted } = object;
        let is_new = its.objects.insert(distance, (kind, created)).is_none();
        let is_uncounted = uncounted && !its.uncounted;
        its.uncounted |= uncounted;
        let is_news = (is_new || is_uncounted) && its.was_freed || is_new && its.is_published;
        self.learned += usize::from(is_news);
        is_news
    }

    /// A thread that did not allocate the block knows it from an atomic. Returns whether that is news about an object in it.
    pub(super) fn publishes(&mut self, block: u64) -> bool {
        self.has_published = true;
        let its = self.blocks.entry(block).or_default();
        let is_first = !std::mem::replace(&mut its.is_published, true);
        let is_news = is_first && !its.objects.is_empty();
        self.learned += usize::from(is_news);
        is_news
    }

    /// Returns whether any block is published.
    pub(super) fn has_published(&self) -> bool {
        self.has_published
    }

    /// Returns the block, if it is published.
    pub(super) fn published(&self, block: u64) -> Option<&InBlock> {
        self.blocks.get(&block).filter(|its| its.is_published)
    }

    /// The block is freed again in one execution. Returns whether that is news.
    pub(super) fn is_freed_again(&mut self, block: u64) -> bool {
        let its = self.blocks.entry(block).or_default();
        let is_news = !std::mem::replace(&mut its.is_contested, true);
        self.learned += usize::from(is_news);
        is_news
    }

    /// Returns whether the block was freed twice in one execution.
    pub(super) fn is_contested(&self, block: u64) -> bool {
        self.blocks.get(&block).is_some_and(|its| its.is_contested)
    }

    /// The block is freed. Returns what is known about it.
    pub(super) fn frees(&mut self, block: u64) -> &InBlock {
        let its = self.blocks.entry(block).or_default();
        its.was_freed = true;
        its
    }
}
