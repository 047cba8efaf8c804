//! Addresses that come again: a block that was freed may be what an allocation returns.
//!
//! Then allocations and frees of blocks of a size are steps, since each allocation chooses between a new block
//! and those that are free. Sizes that matter are those of blocks whose address was put into an atomic:
//! they are learned while the code runs, and then the search starts again.

use std::alloc::Layout;

use selvedge_core::{Effect, Fault, Mode, ObjectId};
use selvedge_rt::{Operation, Subject, Way};

use super::address::address_text;
use super::arena;
use super::blocks::{block_of, use_again};
use super::memory_errors::written_before_use;
use super::state::{Engine, Runtime};
use crate::spot::Spot;

/// A new block, or one that was freed.
struct Allocate {
    layout: Layout,
    pool: ObjectId,
}

impl Operation<Runtime> for Allocate {
    fn choices(&self, rt: &Runtime, _me: usize) -> u32 {
        1 + rt.now.own.memory.free_blocks(self.layout).len() as u32
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

impl Operation<Runtime> for Release {
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.pool, Mode::Update);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("free {} bytes at {}", self.layout.size(), address_text(rt, self.address))
    }
}

/// Returns whether allocations and frees of this layout are steps.
pub(super) fn recycles(rt: &Runtime, layout: Layout) -> bool {
    rt.shared.reuses
        && rt.takes_steps()
        && !rt.threads[rt.now.current].own.aborting
        && rt.shared.recycled.borrow().contains(&(layout.size(), layout.align()))
}

/// A value was put into an atomic. If it is the address of a block, its layout matters.
pub(super) fn note_published(rt: &mut Runtime, value: usize) {
    let Some(block) = block_of(rt, value).filter(|block| block.start == value) else { return };
    let layout = (block.size, block.align());
    if rt.now.way == Way::Announce && rt.shared.recycled.borrow_mut().insert(layout) {
        rt.learn();
    }
}

/// The step that a free of this block is, if it is one.
pub(super) fn release(engine: &Engine, layout: Layout, address: usize) {
    let rt = engine.rt();
    let pool = rt.names.pool(layout.size(), layout.align());
    let spot = rt.threads[rt.now.current].spot;
    visible_in_allocator(engine, &Release { layout, pool, address }, spot);
}

/// As [`Engine::visible`], in the allocator, through which nothing may unwind: a thread that is taken down
/// continues to its next operation.
pub(super) fn visible_in_allocator(
    engine: &Engine,
    operation: &impl Operation<Runtime>,
    spot: Spot,
) -> u32 {
    let me = engine.me();
    engine.rt().threads[me].own.allocates = true;
    let choice = engine.visible(operation, spot);
    engine.rt().threads[me].own.allocates = false;
    choice
}

/// Under a memory model, says in the allocator that the running thread frees an object.
pub(super) fn tell_in_allocator(engine: &Engine, object: ObjectId, spot: Spot) {
    let me = engine.me();
    engine.rt().threads[me].own.allocates = true;
    engine.rt().note_freed_objects(&[object]);
    engine.tell_blocks(spot);
    engine.rt().threads[me].own.allocates = false;
}

/// Stops the running thread in the allocator, through which nothing may unwind: comes back when the thread is taken
/// down, which then happens at its next operation.
#[cold]
pub(super) fn stop_in_allocator(engine: &Engine, fault: Fault) {
    let me = engine.me();
    engine.stop_until(fault, |rt| rt.threads[me].own.aborting);
}

/// Chooses what an allocation of checked code returns. Returns whether it is a step, and the block that was free.
pub(super) fn choose(layout: Layout) -> (bool, Option<usize>) {
    let Some(engine) = Engine::try_enter() else { return (false, None) };
    let rt = engine.rt();
    if !recycles(rt, layout) {
        return (false, None);
    }
    let pool = rt.names.pool(layout.size(), layout.align());
    let spot = rt.threads[rt.now.current].spot;
    let choice = visible_in_allocator(&engine, &Allocate { layout, pool }, spot) as usize;
    let rt = engine.rt();
    let again = choice.checked_sub(1);
    let chosen = again.and_then(|index| rt.now.own.memory.take_free_block(layout, index));
    if let Some(address) = chosen {
        if let Some(violation) = written_before_use(rt, address) {
            stop_in_allocator(&engine, Fault::Violation(violation));
        }
        use_again(engine.rt(), address);
        arena::use_again(address);
    }
    engine.note(|rt| match chosen {
        Some(address) => {
            let place = address_text(rt, address);
            format!("allocate {} bytes: {place} again", layout.size())
        }
        None => format!("allocate {} bytes", layout.size()),
    });
    (true, chosen)
}
