//! A block is freed. That is no step, unless it may be allocated again (`reuse.rs`): it happens in the code after one,
//! and [`Freed`] tells explorers after which. They try an access that can come after it in that order
//! (`selvedge-explore/src/outcome/frees.rs`).

use std::alloc::Layout;

use selvedge_core::{Fault, Freed, Violation};
use selvedge_rt::Way;

use super::answered_blocks;
use super::arena::Arena;
use super::block::Block;
use super::blocks::{block_of, position};
use super::counted;
use super::knowers::note_freed_by;
use super::memory::Free;
use super::memory_errors::{double_free, freeing_at, invalid_free, other_layout};
use super::plain::is_outdated;
use super::reuse::{self, recycles};
use super::running::running;
use super::state::{Engine, Runtime};
use super::unseen::is_counted_unseen;
use super::watched::watch_free;

/// Notes that the block at an address is freed, which the arena `of` of a thread has. False if that is wrong,
/// so that nothing is to be freed.
pub(super) fn note_free(address: usize, layout: Layout, of: *const Arena, thread: usize) -> bool {
    // In the allocator nothing is said about threads that the check does not know.
    if running().is_null() {
        return true;
    }
    let engine = Engine::enter();
    let rt = engine.rt();
    if !rt.known.get(thread).is_some_and(|it| std::ptr::eq(&raw const *it.home, of)) {
        return true;
    }
    if recycles(rt, layout) && block_of(rt, address).is_some_and(|block| block.recycles) {
        reuse::release(&engine, layout, address);
    }
    answered_blocks::wait_to_free(&engine, address);
    let rt = engine.rt();
    let freed = free(rt, address, layout);
    if rt.shared.watches_block() {
        watch_free(rt, address, freed.is_err());
    }
    let Err(violation) = freed else { return true };
    let me = &rt.threads[rt.now.current];
    if rt.now.way == Way::Announce && me.runs && !me.own.aborting {
        reuse::stop_in_allocator(&engine, Fault::Violation(violation));
    }
    false
}

/// The running thread frees the block at an address.
fn free(rt: &mut Runtime, address: usize, layout: Layout) -> Result<(), Violation> {
    let size = layout.size();
    let next = rt.now.own.memory.frees.len() as u32;
    let Some(block) = block_of(rt, address).filter(|block| block.start == address) else {
        return Err(invalid_free(rt, address));
    };
    let (allocated, last_object, recycles) =
        ((block.size, block.align()), block.last_object, block.recycles);
    let as_it_was = *block;
    if let Some(free) = block.free {
        answered_blocks::note_double_free(rt, address);
        return Err(double_free(rt, free, address));
    }
    block.free = Some(next);
    let thread = rt.now.current;
    let (position, spot) = (position(rt), freeing_at(rt));
    rt.now.own.memory.frees.push(Free { thread, spot, position });
    if allocated != (size, layout.align()) {
        return Err(other_layout(rt, allocated, (size, layout.align()), address));
    }
    if rt.now.way == Way::Announce {
        note_freed_by(rt, as_it_was);
    }
    if rt.now.way == Way::Announce
        && !(rt.shared.guards((size, layout.align())) && guard(rt, address, size))
    {
        let most = rt.shared.settings.caps.compared;
        rt.now.own.memory.contents.keep(address, size, next, most);
    }
    if rt.is_answered() && rt.now.way == Way::Announce {
        note_freed_to_all(rt, as_it_was);
    } else if let Some(position) = position.filter(|_| rt.now.way == Way::Announce) {
        note_freed(rt, last_object, position, address..address + size);
    }
    if recycles {
        rt.now.own.memory.add_free_block(layout, address);
    }
    Ok(())
}

/// Makes the block at an address inaccessible. Returns whether it is.
#[cold]
fn guard(rt: &mut Runtime, address: usize, size: usize) -> bool {
    if is_outdated(rt) {
        return false;
    }
    let most = rt.shared.settings.caps.guarded;
    let is_guarded = rt.now.own.memory.guarded.guard(address, size, most);
    if !is_guarded {
        rt.shared.unguarded.set(true);
    }
    is_guarded
}

/// Under a memory model a free is a write of what lies in the block. But for references that are counted without
/// steps: they order the free, and nothing depends on which of them is last.
fn note_freed_to_all(rt: &mut Runtime, block: Block) {
    let (block, objects) = answered_blocks::note_free(rt, block);
    rt.now.own.memory.has_freed_objects |= !objects.is_empty();
    if !counted::is_dropping(rt) && !is_counted_unseen(rt, block, &objects) {
        rt.note_freed_objects(&objects);
    }
}

fn note_freed(
    rt: &mut Runtime,
    last_object: Option<u32>,
    by: usize,
    addresses: std::ops::Range<usize>,
) {
    let memory = &mut rt.now.own.memory;
    let mut objects = Vec::new();
    let mut at = last_object;
    while let Some((object, before)) = at.map(|at| memory.objects[at as usize]) {
        objects.push(object);
        objects.extend_from_slice(rt.names.parts(object));
        at = before;
    }
    let mut after = Vec::new();
    memory.given_up.retain(|&(address, position)| {
        let is_here = addresses.contains(&address);
        if is_here {
            after.push(position);
        }
        !is_here
    });
    if !objects.is_empty() {
        memory.has_freed_objects = true;
        memory.freed.push(Freed { objects, by, after });
    }
}
