//! Blocks of memory of the running execution, by address.
//!
//! Freed blocks stay as they are and are not used again, unless [`Reuse`](crate::Reuse) says so: using one after it
//! was seen does no harm.

use selvedge_core::ObjectId;
use selvedge_rt::Way;

use super::arena::{self, Lies};
use super::block::Block;
use super::state::Runtime;

/// The step in whose code the running thread is. The code before a thread's first step is part of the step
/// that spawned it.
pub(super) fn position(rt: &Runtime) -> Option<usize> {
    let thread = &rt.threads[rt.now.current];
    thread.last_step.or_else(|| rt.threads[rt.known[rt.now.current].creator?.0].last_step)
}

/// The block that an address lies in.
pub(super) fn block_of(rt: &mut Runtime, address: usize) -> Option<&mut Block> {
    let Lies::In { thread, offset } = arena::locate(address) else { return None };
    let arena = &mut rt.known.get_mut(thread)?.home;
    arena.block_at(offset).filter(|block| block.contains(address))
}

/// The same, and the thread that allocated it.
pub(super) fn block_around(rt: &Runtime, address: usize) -> Option<(usize, &Block)> {
    let Lies::In { thread, offset } = arena::locate(address) else { return None };
    let log = rt.known.get(thread)?.home.log();
    let after = log.partition_point(|block| block.offset <= offset);
    let block = log.get(after.checked_sub(1)?)?;
    block.contains(address).then_some((thread, block))
}

/// An object at an address is used for the first time in this execution.
pub(super) fn note_object(rt: &mut Runtime, address: usize, object: ObjectId) {
    let next = rt.now.own.memory.objects.len() as u32;
    let Some(block) = block_of(rt, address) else { return };
    let before = block.last_object.replace(next);
    block.counted &= block.begins_with_counts(address);
    let is_free = block.free.is_some();
    rt.now.own.memory.objects.push((object, before));
    rt.now.own.memory.has_freed_objects |= is_free;
}

/// A block that was freed is allocated again.
pub(super) fn use_again(rt: &mut Runtime, address: usize) {
    rt.now.own.memory.guarded.open(address);
    rt.now.own.memory.published.forget(address);
    if let Some(block) = block_of(rt, address) {
        (block.free, block.known_to) = (None, 0);
        (block.captured_by, block.passed_counted) = (0, true);
        (block.last_object, block.counted) = (None, true);
    }
}

/// A reference to what lies at an address is given up without a step.
pub(crate) fn give_up_reference(rt: &mut Runtime, address: usize) {
    if rt.now.way == Way::Announce
        && let Some(position) = position(rt)
    {
        rt.now.own.memory.given_up.push((address, position));
    }
}
