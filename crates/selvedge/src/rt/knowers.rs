//! Which threads know a block of memory: from an atomic, from what a lock guards, from their closure or from a message. If one of them may still use it
//! when another frees it, plain uses of it matter (`plain.rs`).
//!
//! A class of executions is run in one order. So a thread that comes to know a block after its free counts as well: in
//! another order of the same steps it knew the block before.

use selvedge_rt::Way;
use smallvec::SmallVec;

use super::answered_blocks;
use super::arena::{self, Lies};
use super::block::Block;
use super::blocks::block_of;
use super::plain::close;
use super::reuse::note_published;
use super::state::{Engine, Guards, Runtime};

/// A value was found in an atomic, or put into one.
#[inline]
pub(crate) fn published(engine: &Engine, value: u64) {
    if arena::is_inside(value as usize) {
        publish(engine.rt(), value as usize);
        answered_blocks::note_published(engine.rt(), value as usize);
    }
}

/// The running thread has data that others have as well, one after the other: what a lock guards, when it takes the lock and when
/// it gives it up. Data that has something to drop owns its blocks: who frees one takes it out of the data.
#[inline]
pub(crate) fn found_in<T: ?Sized>(data: &T) {
    if !std::mem::needs_drop::<T>() && align_of_val(data) >= align_of::<usize>() {
        let words = words_at((&raw const *data).cast(), size_of_val(data) / size_of::<usize>());
        if !words.is_empty()
            && let Some(engine) = Engine::try_enter()
        {
            words.into_iter().for_each(|address| publish(engine.rt(), address));
        }
    }
}

/// The running thread knows an address in memory of checked code from an atomic, or from shared data.
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
