//! Where a block is allocated, freed and written to.
//!
//! The allocator is not told from where it is called. The stack tells, but to walk up the stack at every
//! allocation would take longer than the check. So a violation names its block, by the thread that allocated
//! it and the offset in what that thread allocates, which are the same in every execution; the execution that
//! shows the violation runs once more, and only the calls for this block are captured.

use std::backtrace::Backtrace;

use super::blocks::block_around;
use super::state::Runtime;
use super::story::{BlockName, Watched, Written};

/// Captures the calls to the allocator, if they are about the block that is watched.
#[cold]
fn capture(rt: &Runtime, address: usize, into: impl FnOnce(&mut Watched, Backtrace)) {
    let mut watched = rt.shared.watched.borrow_mut();
    if let Some(watched) = &mut *watched
        && watched.block.is_some()
        && watched.block == BlockName::of(address)
    {
        into(watched, Backtrace::force_capture());
    }
}

/// The running thread frees what lies at an address, or would if that were not wrong.
#[cold]
pub(super) fn watch_free(rt: &Runtime, address: usize, is_wrong: bool) {
    if !is_wrong {
        return capture(rt, address, |watched, calls| watched.freed = Some(calls));
    }
    if let Some(watched) = &mut *rt.shared.watched.borrow_mut() {
        watched.wrong_free.get_or_insert_with(Backtrace::force_capture);
    }
}

/// The running thread accesses the freed block at an address: called in a signal handler, which that access raised, so
/// that no lock of the allocator is held.
#[cold]
pub(super) fn watch_access(rt: &Runtime, address: usize) {
    if let Some((_, block)) = block_around(rt, address) {
        capture(rt, block.start, |watched, calls| watched.accessed = Some(calls));
    }
}

/// A step was taken: looks whether its code wrote to the block that is watched.
#[cold]
pub(super) fn watch_step(rt: &Runtime, number: usize) {
    let Some(position) = rt.log.len().checked_sub(1) else { return };
    let mut watched = rt.shared.watched.borrow_mut();
    if let Some(watched) = &mut *watched
        && watched.written.is_none()
        && let Some(changed) = rt.now.own.memory.changed()
        && BlockName::of(changed.address) == watched.block
    {
        let (thread, spot) = (rt.thread_name(number), rt.log[position].spot);
        watched.written = Some(Written { position, thread, spot });
    }
}

/// The running thread was given the block at an address.
#[cold]
pub(super) fn watch_allocation(rt: &Runtime, address: usize) {
    capture(rt, address, |watched, calls| watched.allocated = Some(calls));
}
