//! Blocks of memory: which there are in an execution, who freed them, and what goes wrong with that.
//!
//! A free is no step: it happens in the code after one, and [`Freed`] tells explorers after which. They
//! try an access that can come after it in that order (`selvedge-explore/src/outcome/frees.rs`); here it is seen
//! when an operation on an object runs whose block is free by then. Freed blocks stay as they are and
//! are not used again, unless [`Reuse`](crate::Reuse) says so: using one after it was seen does no
//! harm.

use std::alloc::Layout;

use selvedge_core::{Fault, Freed, ObjectId, Violation, ViolationKind};
use selvedge_report::plural;
use selvedge_rt::{Fresh, Way, World};

use super::arena::{self, Lies};
use super::counted;
use super::freed::{Content, Contents};
use super::guarded::{Guarded, close_guarded, guard};
use super::hooks::running;
use super::object::{Touching, address_text};
use super::reuse::{self, Pool, recycles};
use super::watched::{AboutBlock, BlockName, Event, Happened, watch_free};
use super::world::{Engine, Runtime, Rust, Spot};

/// A block that a thread allocated in this execution.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// As it was asked for.
    pub(crate) size: usize,
    /// How much its thread had allocated before it.
    pub(crate) offset: u64,
    /// As a power of two.
    align: u8,
    /// Whether allocating and freeing it are steps.
    pub(crate) recycles: bool,
    /// Which free it was, of those of this execution.
    pub(crate) free: Option<u32>,
    /// The object in it that was used last for the first time, as an index of `Memory::objects`.
    last_object: Option<u32>,
}

impl Block {
    pub(crate) fn new(start: usize, layout: Layout, offset: u64) -> Self {
        let (size, align) = (layout.size(), layout.align().trailing_zeros() as u8);
        Self { start, size, offset, align, recycles: false, free: None, last_object: None }
    }

    pub(super) fn align(&self) -> usize {
        1 << self.align
    }
}

/// A free of this execution.
struct Free {
    thread: usize,
    /// Its last operation before that.
    spot: Spot,
    /// The step in whose code it was.
    position: Option<usize>,
}

/// What happened to blocks in an execution.
#[derive(Default)]
pub(crate) struct Memory {
    /// Objects in blocks, and the one before in the same block.
    objects: Vec<(ObjectId, Option<u32>)>,
    frees: Vec<Free>,
    /// Those that matter to others.
    pub(crate) freed: Vec<Freed>,
    /// References that were given up without a step: an address in what they kept, and after which step.
    given_up: Vec<(usize, usize)>,
    /// Blocks that allocations may give again.
    pub(super) pools: Vec<Pool>,
    pub(super) contents: Contents,
    pub(super) guarded: Guarded,
    /// Whether a block was freed that objects lie in.
    pub(super) has_freed_objects: bool,
}

impl Fresh for Memory {
    fn fresh(last: Self) -> Self {
        Self {
            objects: Vec::fresh(last.objects),
            frees: Vec::fresh(last.frees),
            freed: Vec::fresh(last.freed),
            given_up: Vec::fresh(last.given_up),
            pools: Vec::fresh(last.pools),
            contents: Contents::fresh(last.contents),
            guarded: Guarded::default(),
            has_freed_objects: false,
        }
    }
}

/// How much is kept about blocks.
#[derive(Clone, Copy)]
pub(crate) struct Remembered {
    objects: usize,
    frees: usize,
}

impl Memory {
    pub(super) fn remembered(&self) -> Remembered {
        Remembered { objects: self.objects.len(), frees: self.frees.len() }
    }

    /// Forgets what was kept since: the blocks that it is about are taken back.
    pub(super) fn forget_since(&mut self, remembered: Remembered) {
        self.objects.truncate(remembered.objects);
        self.frees.truncate(remembered.frees);
    }
}

/// The step in whose code the running thread is. The code before a thread's first step is part of the step
/// that spawned it.
fn position(rt: &Runtime) -> Option<usize> {
    let thread = &rt.threads[rt.now.current];
    thread.last_step.or_else(|| rt.threads[rt.known[rt.now.current].creator?.0].last_step)
}

/// The block that an address lies in.
pub(super) fn block_of(rt: &mut Runtime, address: usize) -> Option<&mut Block> {
    let Lies::In { thread, offset } = arena::locate(address) else { return None };
    let arena = &mut rt.known.get_mut(thread)?.home;
    arena.block_at(offset).filter(|block| address - block.start <= block.size)
}

/// The same, and the thread that allocated it.
pub(super) fn block_around(rt: &Runtime, address: usize) -> Option<(usize, &Block)> {
    let Lies::In { thread, offset } = arena::locate(address) else { return None };
    let log = rt.known.get(thread)?.home.log();
    let after = log.partition_point(|block| block.offset <= offset);
    let block = log.get(after.checked_sub(1)?)?;
    (address - block.start <= block.size).then_some((thread, block))
}

/// An object at an address is used for the first time in this execution.
pub(super) fn note_object(rt: &mut Runtime, address: usize, object: ObjectId) {
    let next = rt.now.own.memory.objects.len() as u32;
    let Some(block) = block_of(rt, address) else { return };
    let before = block.last_object.replace(next);
    let is_free = block.free.is_some();
    rt.now.own.memory.objects.push((object, before));
    rt.now.own.memory.has_freed_objects |= is_free;
}

/// A block that was freed is allocated again.
pub(super) fn use_again(rt: &mut Runtime, address: usize) {
    rt.now.own.memory.guarded.open(address);
    if let Some(block) = block_of(rt, address) {
        (block.free, block.last_object) = (None, None);
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

/// The running thread frees the block at an address.
fn free(rt: &mut Runtime, address: usize, layout: Layout) -> Result<(), Violation> {
    let size = layout.size();
    let next = rt.now.own.memory.frees.len() as u32;
    let Some(block) = block_of(rt, address).filter(|block| block.start == address) else {
        return Err(invalid_free(rt, address));
    };
    let (allocated, last_object, recycles) =
        ((block.size, block.align()), block.last_object, block.recycles);
    if let Some(free) = block.free {
        return Err(double_free(rt, free, address));
    }
    block.free = Some(next);
    let thread = rt.now.current;
    let (position, spot) = (position(rt), freeing_at(rt));
    rt.now.own.memory.frees.push(Free { thread, spot, position });
    if allocated != (size, layout.align()) {
        return Err(other_layout(rt, allocated, (size, layout.align()), address));
    }
    if rt.now.way == Way::Announce && !guard(rt, address, size) {
        let most = rt.shared.settings.caps.compared;
        rt.now.own.memory.contents.keep(address, size, next, most);
    }
    if rt.is_answered() && rt.now.way == Way::Announce {
        note_freed_to_all(rt, last_object);
    } else if let Some(position) = position.filter(|_| rt.now.way == Way::Announce) {
        note_freed(rt, last_object, position, address..address + size);
    }
    if recycles {
        rt.now.own.memory.add_free_block(layout, address);
    }
    Ok(())
}

/// Under a memory model a free is a write of what lies in the block. But for references that are counted without
/// steps: they order the free, and who does it last depends on nothing.
fn note_freed_to_all(rt: &mut Runtime, last_object: Option<u32>) {
    let mut at = last_object;
    let mut objects = Vec::new();
    while let Some((object, before)) = at.map(|at| rt.now.own.memory.objects[at as usize]) {
        objects.push(object);
        at = before;
    }
    rt.now.own.memory.has_freed_objects |= !objects.is_empty();
    if !counted::is_dropping(rt) {
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

/// The last operation of the running thread: where it is now is not known.
fn freeing_at(rt: &Runtime) -> Spot {
    rt.threads[rt.now.current].spot
}

/// What is wrong with using the object at an address, if its block was freed.
fn used_after_free(rt: &mut Runtime, touching: Touching, spot: Spot) -> Option<Violation> {
    let block = block_of(rt, touching.address)?;
    let (free, start) = (block.free?, block.start);
    let name = Rust::object_name(touching.kind, touching.created);
    let user = rt.thread_name(rt.now.current);
    let message = format!("{user} uses {name}, but its memory was freed");
    let text = format!("{user} uses it");
    let used = Happened { event: Event::Used, text, spot: Some(spot) };
    Some(about_block(rt, ViolationKind::UseAfterFree, message, used, start, Some(free)))
}

/// What is wrong with a plain access of the running thread to an address in a freed block, if it lies in one.
pub(super) fn accessed_after_free(
    rt: &Runtime,
    thread: usize,
    address: usize,
) -> Option<Violation> {
    let (_, block) = block_around(rt, address)?;
    let (free, start) = (block.free?, block.start);
    let name = rt.thread_name(thread);
    let message = format!("{name} reads or writes memory that was freed");
    let spot = Some(rt.threads[thread].spot);
    let text = format!("{name} reads or writes it");
    let used = Happened { event: Event::Accessed, text, spot };
    let mut violation = rt.violation(thread, ViolationKind::UseAfterFree, message, &[]);
    tell_about(rt, &mut violation, vec![used], start, Some(free));
    Some(violation)
}

#[cold]
fn double_free(rt: &mut Runtime, free: u32, address: usize) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let message = format!("{name} frees memory that was freed before");
    let wrong = wrong_free(rt, format!("{name} frees it again"));
    about_block(rt, ViolationKind::DoubleFree, message, wrong, address, Some(free))
}

#[cold]
fn invalid_free(rt: &Runtime, address: usize) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let place = address_text(rt, address);
    let message = format!("{name} frees {place}, where no block begins");
    let wrong = wrong_free(rt, format!("{name} frees it"));
    about_block(rt, ViolationKind::InvalidFree, message, wrong, address, None)
}

#[cold]
fn other_layout(
    rt: &Runtime,
    allocated: (usize, usize),
    freed: (usize, usize),
    address: usize,
) -> Violation {
    let name = rt.thread_name(rt.now.current);
    let text = |(size, align): (usize, usize)| match allocated.1 == freed.1 {
        true => plural(size as u64, "byte", "bytes"),
        false => format!("{} aligned to {align}", plural(size as u64, "byte", "bytes")),
    };
    let (freed, allocated) = (text(freed), text(allocated));
    let message = format!("{name} frees a block of {freed}, but it was allocated as {allocated}");
    let wrong = wrong_free(rt, format!("{name} frees it"));
    about_block(rt, ViolationKind::InvalidFree, message, wrong, address, None)
}

fn wrong_free(rt: &Runtime, text: String) -> Happened {
    Happened { event: Event::WrongFree, text, spot: Some(freeing_at(rt)) }
}

fn about_block(
    rt: &Runtime,
    kind: ViolationKind,
    message: String,
    wrong: Happened,
    address: usize,
    free: Option<u32>,
) -> Violation {
    let mut violation = rt.violation(rt.now.current, kind, message, &[]);
    tell_about(rt, &mut violation, vec![wrong], address, free);
    violation
}

/// Adds to a violation what happened to the block at an address before.
pub(super) fn tell_about(
    rt: &Runtime,
    violation: &mut Violation,
    mut happened: Vec<Happened>,
    address: usize,
    free: Option<u32>,
) {
    let free = free.map(|free| &rt.now.own.memory.frees[free as usize]);
    if let Some(free) = free {
        let text = format!("{} freed it", rt.thread_name(free.thread));
        happened.push(Happened { event: Event::Freed, text, spot: Some(free.spot) });
    }
    let block = block_around(rt, address);
    if let Some((thread, block)) = block {
        let it = if block.start == address { "it" } else { "the block around it" };
        let text = format!("{} allocated {it}", rt.thread_name(thread));
        happened.push(Happened { event: Event::Allocated, text, spot: None });
    }
    let block = block.map(|(thread, block)| BlockName { thread, offset: block.offset });
    let about = AboutBlock {
        message: violation.message.clone(),
        block,
        happened,
        freed_by: free.and_then(|free| free.position),
    };
    about.tell(violation, &|_| None);
    if rt.tracing {
        rt.shared.about_block.replace(Some(about));
    }
}

/// How large a block is that was freed, and by whom.
pub(super) fn freed_size_and_name(rt: &Runtime, content: Content) -> (String, String) {
    let size = block_around(rt, content.address).map_or(0, |(_, block)| block.size as u64);
    let free = &rt.now.own.memory.frees[content.free as usize];
    (plural(size, "byte", "bytes"), rt.thread_name(free.thread))
}

/// A block that is never freed, if there is one.
#[cold]
pub(super) fn leaked_block(rt: &Runtime) -> Option<Violation> {
    let mut left = Vec::new();
    for (number, known) in rt.known.iter().enumerate() {
        let blocks = known.home.log().iter().filter(|block| block.free.is_none());
        left.extend(blocks.map(|block| (number, block)));
    }
    let &(thread, block) = left.first()?;
    let more = match left.len() {
        1 => String::new(),
        more => format!(", and {} more", plural(more as u64 - 1, "block", "blocks")),
    };
    let (name, bytes) = (rt.thread_name(thread), plural(block.size as u64, "byte", "bytes"));
    let message = format!("a block of {bytes} that {name} allocated is never freed{more}");
    let mut violation = rt.violation(thread, ViolationKind::Leak, message, &[]);
    violation.thread = None;
    tell_about(rt, &mut violation, Vec::new(), block.start, None);
    Some(violation)
}

/// The operation at `spot` runs now, on objects at these addresses: their blocks must not be free. Returns what is
/// wrong if one is.
#[cold]
#[inline(never)]
pub(super) fn use_of_freed(
    rt: &mut Runtime,
    touching: [Option<Touching>; 2],
    spot: Spot,
) -> Option<Fault> {
    close_guarded(rt);
    let mut used = touching.into_iter().flatten();
    used.find_map(|touching| used_after_free(rt, touching, spot)).map(Fault::Violation)
}

/// Notes that the block at an address is freed, which the arena `of` of a thread has. False if that is wrong,
/// so that nothing is to be freed.
pub(super) fn note_free(
    address: usize,
    layout: Layout,
    of: *const arena::Arena,
    thread: usize,
) -> bool {
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
