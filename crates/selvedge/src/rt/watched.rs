//! Where a block is allocated, freed and written to.
//!
//! The allocator is not told from where it is called. The stack tells, but to walk up the stack at every
//! allocation would take longer than the check. So a violation names its block, by the thread that allocated
//! it and the offset in what that thread allocates, which are the same in every execution; the execution that
//! shows the violation runs once more, and only the calls for this block are captured.

use std::backtrace::Backtrace;

use selvedge_core::{Place, Violation};
use selvedge_rt::World;

use super::arena::{self, Lies};
use super::blocks::block_around;
use super::world::{Engine, Runtime, Rust, Spot};

/// A block as all executions name it: the thread that allocates it, and how much it allocated before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockName {
    pub(super) thread: usize,
    pub(super) offset: u64,
}

impl BlockName {
    /// The name of the block that begins at an address.
    pub(super) fn of(address: usize) -> Option<Self> {
        match arena::locate(address) {
            Lies::In { thread, offset } => Some(Self { thread, offset }),
            Lies::Kept | Lies::Outside => None,
        }
    }
}

/// What is seen of a block while an execution runs again.
#[derive(Default)]
pub(crate) struct Watched {
    block: Option<BlockName>,
    pub(crate) allocated: Option<Backtrace>,
    pub(crate) freed: Option<Backtrace>,
    /// The free that is wrong, of whatever block.
    pub(crate) wrong_free: Option<Backtrace>,
    /// The plain access to the block after it was freed.
    pub(crate) accessed: Option<Backtrace>,
    /// The step in whose code it is first written to after it was freed.
    pub(crate) written: Option<Written>,
}

impl Watched {
    pub(crate) fn new(block: Option<BlockName>) -> Self {
        Self { block, ..Self::default() }
    }
}

/// A step in whose code a freed block changes.
pub(crate) struct Written {
    pub(crate) position: usize,
    pub(crate) thread: String,
    pub(crate) spot: Spot,
}

/// Something that happened to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// An operation on an object in it, of which the place is known.
    Used,
    /// A plain access.
    Accessed,
    /// A free that is wrong.
    WrongFree,
    Freed,
    Allocated,
}

/// An event in the life of a block that a violation is about.
pub(crate) struct Happened {
    pub(crate) event: Event,
    /// As a sentence: who did what.
    pub(crate) text: String,
    /// The operation itself, or the last one of its thread before it.
    pub(crate) spot: Option<Spot>,
}

/// What is known about the block of a violation.
pub(crate) struct AboutBlock {
    /// Of the violation.
    pub(crate) message: String,
    pub(crate) block: Option<BlockName>,
    pub(crate) happened: Vec<Happened>,
    /// The step in whose code it was freed.
    pub(crate) freed_by: Option<usize>,
}

impl AboutBlock {
    /// Makes places and notes of a violation from what happened, with the exact places that are known.
    pub(crate) fn tell(&self, violation: &mut Violation, exact: &dyn Fn(Event) -> Option<Place>) {
        violation.places.clear();
        violation.notes.clear();
        for happened in &self.happened {
            let mut text = happened.text.clone();
            let known = exact(happened.event);
            if known.is_none() && happened.spot.is_some() && happened.event != Event::Used {
                text.push_str(", after this operation");
            }
            match known.or_else(|| happened.spot.map(Rust::place)) {
                Some(place) => {
                    violation.places.push(place);
                    let number = violation.places.len();
                    violation.notes.push(match self.happened.len() {
                        1 => text,
                        _ => format!("({number}) {text}"),
                    });
                }
                None => violation.notes.push(text),
            }
        }
    }
}

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

/// Checked code was given the block at an address.
#[cold]
pub(super) fn note_allocated(address: usize) {
    if let Some(engine) = Engine::try_enter()
        && engine.rt().shared.watches_block()
    {
        capture(engine.rt(), address, |watched, calls| watched.allocated = Some(calls));
    }
}
