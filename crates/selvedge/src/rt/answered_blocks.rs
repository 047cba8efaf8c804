//! Allocations and frees under a memory model: which objects they are writes of.
//!
//! A free is a write of what lies in the block. The events of a thread may depend on nothing but what it read: not on whether
//! another thread used an object of the block before, in the order in which an execution happens to run. So a free concerns what was
//! used there in any execution. When an object turns up in a block that was freed without it, the search starts again.
//!
//! The same holds for an allocation, which stands for the creation of these objects. It matters if another thread can come to know
//! the block without being ordered after its creation: from an atomic. In all other blocks it is left out, since whatever
//! else passes an address on orders the two threads, or is itself a data race.
//!
//! For the same reason the free of a block that is freed twice is an event before it takes place: which of two threads is the
//! second one may depend on that order.

use selvedge_core::ObjectId;
use selvedge_rt::{Names, Way, Where};

use super::address::lies;
use super::arena::{Lies, locate};
use super::block::{BLOCK, Block};
use super::blocks::block_of;
use super::in_blocks::{InBlock, InUse};
use super::reuse::tell_in_allocator;
use super::state::{Engine, Runtime, Rust};
use crate::spot::Spot;

/// Returns whether executions teach something: under a memory model, and not in teardown.
fn learns(rt: &Runtime) -> bool {
    rt.is_answered() && rt.now.way == Way::Announce
}

/// The number of the place where a block begins.
fn number(rt: &Runtime, start: usize) -> u64 {
    rt.names.stable_place(lies(rt, start).0)
}

/// An object in a block is used for the first time in this execution.
#[cold]
#[inline(never)]
pub(super) fn note_object(rt: &mut Runtime, address: usize, kind: &'static str, created: Spot) {
    if !learns(rt) {
        return;
    }
    let Some(&mut block) = block_of(rt, address) else { return };
    // While a content that is counted is dropped, one of the counts is 0.
    let uncounted = !block.begins_with_counts(address) && !block.may_be_dropped();
    let object = InUse { distance: address - block.start, kind, created, uncounted };
    let number = number(rt, block.start);
    if rt.shared.in_blocks.borrow_mut().uses(number, object) {
        rt.learn();
    }
}

/// The running thread knows an address from an atomic.
#[cold]
#[inline(never)]
pub(super) fn note_published(rt: &mut Runtime, address: usize) {
    if !learns(rt) {
        return;
    }
    let is_mine = matches!(locate(address), Lies::In { thread, .. } if thread == rt.now.current);
    let Some(&mut block) = block_of(rt, address).filter(|_| !is_mine) else { return };
    let number = number(rt, block.start);
    if rt.shared.in_blocks.borrow_mut().publishes(number) {
        rt.learn();
    }
}

/// The running thread was given the block at an address.
pub(super) fn note_allocated(rt: &mut Runtime, address: usize) {
    if !learns(rt) || rt.threads[rt.now.current].own.aborting {
        return;
    }
    let Some(&mut block) = block_of(rt, address) else { return };
    let place = lies(rt, block.start).0;
    let number = rt.names.stable_place(place);
    let known = rt.shared.in_blocks.borrow();
    let Some(its) = known.published(number) else { return };
    let objects = objects(&mut rt.names, its, place, block.size);
    drop(known);
    rt.note_allocated_objects(&objects);
}

/// The objects that are known to lie in a block at a place.
fn objects(names: &mut Names<Rust>, its: &InBlock, place: Where, size: usize) -> Vec<ObjectId> {
    let at = |distance: usize| Where { offset: place.offset + distance as u64, ..place };
    let objects = its.objects.range(..size);
    objects.map(|(&distance, &(kind, spot))| names.foresee(at(distance), kind, spot)).collect()
}

/// A block is freed again.
#[cold]
pub(super) fn note_double_free(rt: &mut Runtime, address: usize) {
    if learns(rt) {
        let number = number(rt, address);
        if rt.shared.in_blocks.borrow_mut().is_freed_again(number) {
            rt.learn();
        }
    }
}

/// Comes back when the running thread may free the block at an address.
pub(super) fn wait_to_free(engine: &Engine, address: usize) {
    if engine.asks() {
        wait_if_contested(engine, address);
    }
}

#[cold]
#[inline(never)]
fn wait_if_contested(engine: &Engine, address: usize) {
    let rt = engine.rt();
    let number = number(rt, address);
    let is_contested = rt.shared.in_blocks.borrow().is_contested(number);
    if is_contested && !rt.threads[rt.now.current].own.aborting {
        let spot = rt.threads[rt.now.current].spot;
        let place = Where { part: BLOCK, ..lies(rt, address).0 };
        let block = rt.names.at(place, "block", spot);
        tell_in_allocator(engine, block, spot);
    }
}

/// A block is freed. Returns it as all executions have shown it, and the objects in it.
pub(super) fn note_free(rt: &mut Runtime, mut block: Block) -> (Block, Vec<ObjectId>) {
    let place = lies(rt, block.start).0;
    let number = rt.names.stable_place(place);
    let known = &mut *rt.shared.in_blocks.borrow_mut();
    let its = known.frees(number);
    block.counted &= !its.uncounted;
    (block, objects(&mut rt.names, its, place, block.size))
}
