//! Plain uses of blocks that threads share through atomics, or by an address in a closure or a message, are steps, so that a use which can come after the free is found in
//! every order: [`Builder::guard_freed`](crate::Builder::guard_freed).
//!
//! Reads and writes of plain memory are not seen by themselves. So a block whose address was found in an atomic, or put into
//! one, or lies in the closure of a thread or in a message, is inaccessible from then on: a use raises a signal, and becomes an operation (`selvedge-rt/src/plain_access.rs`). When
//! that is chosen, the block is accessible to its thread up to the thread's next operation.
//!
//! Such a step accesses an object that stands for the block, and which nothing else accesses but the free. So it costs no
//! executions, and the order in which it comes after the free is tried as for objects in the block (`frees.rs`).

use selvedge_core::{Effect, Fault, Mode, ObjectId};
use selvedge_rt::{Operation, Subject, Way};
use smallvec::SmallVec;

use super::address::address_text;
use super::arena::{self, Lies};
use super::block::Block;
use super::blocks::{block_of, note_object};
use super::memory_errors::accessed_after_free;
use super::object::block_object;
use super::published::Use;
use super::reuse::{note_published, stop_in_allocator, visible_in_allocator};
use super::state::{Engine, Guards, Runtime};
use super::watched::watch_access;

/// A value was found in an atomic, or put into one.
#[inline]
pub(crate) fn published(engine: &Engine, value: u64) {
    if arena::is_inside(value as usize) {
        publish(engine.rt(), value as usize);
    }
}

/// The running thread knows an address in memory of checked code from an atomic.
#[cold]
fn publish(rt: &mut Runtime, address: usize) {
    if rt.shared.reuses {
        note_published(rt, address);
    }
    let me = rt.now.current;
    // Who allocated it may have put it there when the atomic was created.
    let owner = match arena::locate(address) {
        Lies::In { thread, .. } => bit(thread),
        Lies::Kept | Lies::Outside => 0,
    };
    let Some(block) = learn(rt, me, address) else { return };
    block.known_to |= bit(me) | owner;
    let layout = (block.size, block.align());
    if rt.shared.guards == Guards::Nothing || !rt.takes_steps() || rt.is_answered() {
        return;
    }
    if rt.shared.guards(layout) {
        close(rt, address);
    } else {
        guard_layout(rt, layout);
    }
}

/// The addresses in memory of checked code that a value has, be it in its padding. Another thread takes the value over.
pub(crate) struct Passed {
    addresses: SmallVec<[usize; 4]>,
    /// Whether the value may be what owns the blocks: then who passes it on gives them away.
    may_own: bool,
}

impl Passed {
    pub(crate) fn of<T>(value: &T) -> Self {
        let may_own = std::mem::needs_drop::<T>();
        let addresses = match align_of::<T>() < align_of::<usize>() {
            true => SmallVec::new(),
            false => words_at((&raw const *value).cast(), size_of::<T>() / size_of::<usize>()),
        };
        Self { addresses, may_own }
    }

    /// The running thread passes the value on.
    pub(crate) fn leaves(&self, rt: &mut Runtime) {
        if !self.may_own {
            self.comes_to(rt, rt.now.current);
        }
    }

    /// A thread has the value from another. Uses of its blocks are steps if such a block was freed under others that had it
    /// so: most are references that are counted.
    pub(crate) fn comes_to(&self, rt: &mut Runtime, thread: usize) {
        for &address in &self.addresses {
            let Some(block) = learn(rt, thread, address) else { continue };
            // A reference that is counted is to the start of the block.
            block.passed_counted &= address == block.start && block.has_counts();
            block.captured_by |= bit(thread);
            let layout = (block.size, block.align());
            if rt.takes_steps() && !rt.is_answered() && rt.shared.is_published(layout) {
                close(rt, address);
            }
        }
    }
}

/// Not generic, so that it is compiled once.
fn words_at(at: *const usize, count: usize) -> SmallVec<[usize; 4]> {
    // SAFETY: all of it is readable. Some of it may be padding: its bits are any, but they are some, since the compiler
    // cannot tell what a volatile access reads.
    let words = (0..count).map(|index| unsafe { at.add(index).read_volatile() });
    words.filter(|&word| arena::is_inside(word)).collect()
}

/// A thread knows an address in memory of checked code. Returns the block, if it is not free.
fn learn(rt: &mut Runtime, thread: usize, address: usize) -> Option<&mut Block> {
    let block = block_of(rt, address).filter(|block| address < block.start + block.size)?;
    if let Some(free) = block.free {
        // In another order of the same steps it knows the address, and uses the block, before the free.
        let layout = (block.size, block.align());
        let freed_by = rt.now.own.memory.frees[free as usize].thread;
        if freed_by != thread {
            note_known_to_others(rt, layout);
        }
        return None;
    }
    block_of(rt, address)
}

/// A block with this layout is freed, and another thread that knows it may still use it.
fn note_known_to_others(rt: &Runtime, layout: (usize, usize)) {
    if rt.now.way != Way::Announce {
        return;
    }
    rt.shared.frees_known.set(true);
    if rt.shared.guards != Guards::Nothing && rt.takes_steps() && !rt.is_answered() {
        guard_layout(rt, layout);
    }
}

/// Blocks with this layout are guarded from now on.
fn guard_layout(rt: &Runtime, layout: (usize, usize)) {
    if rt.now.way == Way::Announce && rt.shared.published.borrow_mut().insert(layout) {
        rt.learn();
    }
}

/// Returns whether a thread had an address in the same block from an atomic, or put it into one.
pub(crate) fn is_known(rt: &mut Runtime, address: usize) -> bool {
    block_of(rt, address).is_some_and(|block| block.known_to != 0)
}

/// The last bit of [`Block::known_to`](super::block::Block::known_to) is that of all threads from this one on.
const LAST: usize = 63;

/// The bit of a thread.
fn bit(thread: usize) -> u64 {
    1 << thread.min(LAST)
}

/// The running thread waited for the end of another: what that did, and all that it had waited for, happened before.
pub(crate) fn note_joined(rt: &mut Runtime, other: usize) {
    note_done(rt, other);
    let joined = rt.threads[other].own.joined | bit(other);
    let me = rt.now.current;
    rt.threads[me].own.joined |= joined;
}

/// The same of the end of its closure. Thread-local values of it may not be dropped yet, and use what it had from an atomic.
pub(crate) fn note_done(rt: &mut Runtime, other: usize) {
    let done = rt.threads[other].own.done | bit(other);
    let me = rt.now.current;
    rt.threads[me].own.done |= done;
}

/// The running thread spawns another, which begins after all that this one waited for.
pub(crate) fn note_spawned(rt: &mut Runtime, child: usize) {
    let own = &rt.threads[rt.now.current].own;
    let (joined, done) = (own.joined, own.done);
    (rt.threads[child].own.joined, rt.threads[child].own.done) = (joined, done);
}

/// The running thread frees a block. Notes whether another that knows it may still use it, in this
/// execution or in one that differs in the order of independent steps: it may unless its end comes before in all of them.
pub(super) fn note_freed_by(rt: &Runtime, block: Block) {
    let me = rt.now.current;
    // One that waited for some of the last has not waited for all.
    let safe = |ended: u64| (bit(me) | ended) & !bit(LAST);
    let own = &rt.threads[me].own;
    // References that `std` counts, of which this was the last: the others went before.
    let is_counted = || block.passed_counted && block.is_given_up();
    if block.known_to & !safe(own.joined) != 0
        || block.captured_by & !safe(own.done) != 0 && !is_counted()
    {
        note_known_to_others(rt, (block.size, block.align()));
    }
}

/// Returns whether the search begins again, since a layout is new: blocks that have it, and were allocated before, do not lie on
/// pages of their own.
pub(super) fn is_outdated(rt: &Runtime) -> bool {
    rt.shared.learned.news.get()
}

/// Uses of a block are steps from now on.
fn close(rt: &mut Runtime, address: usize) {
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
