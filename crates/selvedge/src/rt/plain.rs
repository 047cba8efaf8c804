//! Plain uses of blocks that threads share are steps, so that a use which can come after the free is found in every order:
//! [`Builder::guard_freed`](crate::Builder::guard_freed).
//!
//! Reads and writes of plain memory are not seen by themselves. So a block that several threads know (`knowers.rs`) is
//! inaccessible from then on: a use raises a signal, and becomes an operation (`selvedge-rt/src/plain_access.rs`). When that is
//! chosen, the block is accessible to its thread up to the thread's next operation.
//!
//! Such a step accesses an object that stands for the block, and which nothing else accesses but the free. So it costs no
//! executions, and the order in which it comes after the free is tried as for objects in the block (`frees.rs`).

use selvedge_core::{Effect, Fault, Mode, ObjectId};
use selvedge_rt::{Operation, Subject, Way};

use super::address::address_text;
use super::blocks::{block_of, note_object};
use super::memory_errors::accessed_after_free;
use super::object::block_object;
use super::published::Use;
use super::reuse::{stop_in_allocator, visible_in_allocator};
use super::state::{Engine, Runtime};
use super::watched::watch_access;

/// Returns whether the search begins again, since a layout is new: blocks that have it, and were allocated before, do not lie on
/// pages of their own.
pub(super) fn is_outdated(rt: &Runtime) -> bool {
    rt.shared.learned.news.get()
}

/// Uses of a block are steps from now on.
pub(super) fn close(rt: &mut Runtime, address: usize) {
    if is_outdated(rt) {
        return;
    }
    let Some(block) = block_of(rt, address) else { return };
    let (start, size) = (block.start, block.size);
    let most = rt.shared.settings.caps.guarded;
    let published = &mut rt.now.own.memory.published;
    if published.at(start).is_some() {
        return;
    }
    if !published.add(start, size, most) {
        rt.shared.unguarded.set(true);
    }
}

/// The running thread uses an address that is inaccessible: called in a signal handler. Returns whether that is because its
/// block is shared, and was not freed.
pub(super) fn is_use(rt: &mut Runtime, address: usize, instruction: usize) -> bool {
    let me = rt.now.current;
    let Some(index) = rt.now.own.memory.published.at(address) else { return false };
    let start = rt.now.own.memory.published.blocks[index].start;
    let is_free = block_of(rt, start).is_none_or(|block| block.free.is_some());
    if !is_free {
        rt.threads[me].own.may_use.interrupted = Some(Use { address, instruction });
    }
    !is_free
}

/// A thread comes to an operation: what it could use up to now, it can no longer.
#[inline]
pub(super) fn come_to_operation(rt: &mut Runtime) {
    let may_use = &mut rt.threads[rt.now.current].own.may_use;
    may_use.blocks.clear();
    rt.now.own.memory.published.close();
}

/// Reads or writes a block.
struct UseBlock {
    object: ObjectId,
    start: usize,
}

impl Operation<Runtime> for UseBlock {
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, Mode::Read);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("use the block at {}", address_text(rt, self.start))
    }
}

/// The running thread waits until the use that was interrupted is chosen. Then it may use the block.
pub(super) fn wait_to_use() {
    let engine = Engine::enter();
    let rt = engine.rt();
    let me = engine.me();
    let may_use = &mut rt.threads[me].own.may_use;
    let Some(Use { address, instruction }) = may_use.interrupted.take() else { return };
    let Some(index) = rt.now.own.memory.published.at(address) else { return };
    // An instruction may use two blocks, and must be able to use both at once.
    let mut blocks = match may_use.instruction == instruction {
        true => std::mem::take(&mut may_use.blocks),
        false => Vec::new(),
    };
    blocks.push(index);
    may_use.instruction = instruction;
    let operation = use_of(&engine, index);
    let spot = rt.threads[me].spot;
    visible_in_allocator(&engine, &operation, spot);
    let rt = engine.rt();
    if matches!(rt.now.way, Way::Drain | Way::Close) || rt.threads[me].own.aborting {
        // The execution is over, and everything is accessible.
        return;
    }
    engine.note(|rt| operation.text(rt, me));
    if block_of(rt, operation.start).is_some_and(|block| block.free.is_some()) {
        if rt.shared.watches_block() {
            watch_access(rt, address);
        }
        if let Some(violation) = accessed_after_free(rt, me, address) {
            stop_in_allocator(&engine, Fault::Violation(violation));
        }
        return;
    }
    for &index in &blocks {
        let start = rt.now.own.memory.published.blocks[index].start;
        if block_of(rt, start).is_some_and(|block| block.free.is_none()) {
            rt.now.own.memory.published.open(index);
        }
    }
    rt.threads[me].own.may_use.blocks = blocks;
}

fn use_of(engine: &Engine, index: usize) -> UseBlock {
    let rt = engine.rt();
    let block = &rt.now.own.memory.published.blocks[index];
    let (start, known) = (block.start, block.object);
    let object = known.unwrap_or_else(|| {
        let spot = rt.threads[rt.now.current].spot;
        let object = block_object(engine, start, spot);
        let rt = engine.rt();
        note_object(rt, start, object);
        rt.now.own.memory.published.blocks[index].object = Some(object);
        object
    });
    UseBlock { object, start }
}
