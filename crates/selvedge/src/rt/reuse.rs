//! Addresses that come again: a block that was freed may be what an allocation gives.
//!
//! Then allocations and frees of blocks of a size are steps, since each allocation chooses between a new block
//! and those that are free. Sizes that matter are those of blocks whose address was put into an atomic:
//! they are learned while the code runs, and then the search starts again.

use std::alloc::Layout;

use selvedge_core::{Effect, Fault, Mode, ObjectId};

use super::arena;
use super::engine::Engine;
use super::operation::{Operation, Subject};
use super::runtime::{Runtime, Way};

/// Blocks of a layout that are free, in the order in which they were freed.
pub(crate) struct Pool {
    layout: Layout,
    free: Vec<usize>,
}

/// A new block, or one that was freed.
struct Allocate {
    layout: Layout,
    pool: ObjectId,
}

impl Operation for Allocate {
    fn choices(&self, rt: &Runtime, _me: usize) -> u32 {
        1 + rt.memory.free_blocks(self.layout).len() as u32
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.pool, Mode::Update);
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        format!("allocate {} bytes", self.layout.size())
    }
}

/// A block is free from now on.
struct Release {
    layout: Layout,
    pool: ObjectId,
    address: usize,
}

impl Operation for Release {
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.pool, Mode::Update);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("free {} bytes at {}", self.layout.size(), rt.address_text(self.address))
    }
}

impl super::blocks::Memory {
    fn free_blocks(&self, layout: Layout) -> &[usize] {
        self.pools.iter().find(|pool| pool.layout == layout).map_or(&[], |pool| &pool.free)
    }

    /// From now on an allocation may give this block.
    pub(super) fn add_free_block(&mut self, layout: Layout, address: usize) {
        match self.pools.iter_mut().find(|pool| pool.layout == layout) {
            Some(pool) => pool.free.push(address),
            None => self.pools.push(Pool { layout, free: vec![address] }),
        }
    }
}

impl Runtime {
    /// Whether allocations may be steps.
    pub(super) fn reuses(&self) -> bool {
        self.shared.reuses && !self.shared.learned.recycled.borrow().is_empty()
    }

    /// Whether allocations are looked at.
    pub(super) fn looks_at_allocations(&self) -> bool {
        self.reuses() || self.watches_block || self.shared.guards
    }

    /// Whether allocations and frees of this layout are steps.
    pub(super) fn recycles(&self, layout: Layout) -> bool {
        self.shared.reuses
            && self.way == Way::Announce
            && !self.threads[self.current].aborting
            && self.shared.learned.recycled.borrow().contains(&(layout.size(), layout.align()))
    }

    /// A value was put into an atomic. If it is the address of a block, its layout matters.
    #[cold]
    fn note_published(&mut self, value: usize) {
        let Some(block) = self.block_of(value).filter(|block| block.start == value) else { return };
        let layout = (block.size, block.align());
        if self.way == Way::Announce && self.shared.learned.recycled.borrow_mut().insert(layout) {
            self.learn();
        }
    }
}

impl Engine {
    /// A value was put into an atomic.
    #[inline]
    pub(crate) fn published(&self, value: u64) {
        if self.rt().shared.reuses {
            self.rt().note_published(value as usize);
        }
    }

    /// The step that a free of this block is, if it is one.
    pub(super) fn release(&self, layout: Layout, address: usize) {
        let rt = self.rt();
        let pool = rt.names.pool(layout);
        let spot = rt.threads[rt.current].spot;
        self.visible_in_allocator(&Release { layout, pool, address }, spot);
    }
}

/// Chooses what an allocation of checked code gives. Returns whether it is a step, and the block that was free.
pub(super) fn choose(layout: Layout) -> (bool, Option<usize>) {
    let Some(engine) = Engine::try_enter() else { return (false, None) };
    let rt = engine.rt();
    if !rt.recycles(layout) {
        return (false, None);
    }
    let pool = rt.names.pool(layout);
    let spot = rt.threads[rt.current].spot;
    let choice = engine.visible_in_allocator(&Allocate { layout, pool }, spot) as usize;
    let rt = engine.rt();
    let chosen = choice.checked_sub(1).and_then(|index| {
        let pool = rt.memory.pools.iter_mut().find(|pool| pool.layout == layout)?;
        (index < pool.free.len()).then(|| pool.free.remove(index))
    });
    if let Some(address) = chosen {
        if let Some(violation) = rt.written_before_use(address) {
            engine.stop_in_allocator(Fault::Violation(violation));
        }
        engine.rt().use_again(address);
        arena::use_again(address);
    }
    engine.note(|rt| match chosen {
        Some(address) => {
            let place = rt.address_text(address);
            format!("allocate {} bytes: {place} again", layout.size())
        }
        None => format!("allocate {} bytes", layout.size()),
    });
    (true, chosen)
}
