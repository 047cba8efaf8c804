//! Blocks of memory: which there are in an execution, who freed them, and what goes wrong with that.
//!
//! A free is no step: it happens in the code after one, and [`Freed`] tells explorers after which. They
//! try an access that can come after it in that order (`selvedge-explore/src/outcome/frees.rs`); here it is seen
//! when an operation on an object runs whose block is free by then. Freed blocks stay as they are and
//! are not used again, unless [`Reuse`](crate::Reuse) says so: whoever uses one after it was seen does no
//! harm.

use std::alloc::Layout;

use selvedge_core::{Fault, Freed, ObjectId, Violation, ViolationKind};
use selvedge_report::plural;

use super::arena::{self, Lies};
use super::engine::Engine;
use super::freed::{Content, Contents};
use super::guarded::Guarded;
use super::names::Names;
use super::object::Touching;
use super::operation::Spot;
use super::reuse::Pool;
use super::runtime::{Runtime, Way, running};
use super::watched::{AboutBlock, BlockName, Event, Happened};

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

impl Memory {
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.frees.clear();
        self.freed.clear();
        self.given_up.clear();
        self.pools.clear();
        self.contents.clear();
        self.guarded.open_all();
        self.has_freed_objects = false;
    }
}

impl Runtime {
    /// The step in whose code the running thread is. The code before a thread's first step is part of the step
    /// that spawned it.
    fn position(&self) -> Option<usize> {
        let thread = &self.threads[self.current];
        thread.last_step.or_else(|| self.threads[thread.creator?.0].last_step)
    }

    /// The block that an address lies in.
    pub(super) fn block_of(&mut self, address: usize) -> Option<&mut Block> {
        let Lies::In { thread, offset } = arena::locate(address) else { return None };
        let arena = &mut self.threads.get_mut(thread)?.arena;
        arena.block_at(offset).filter(|block| address - block.start <= block.size)
    }

    /// The same, and the thread that allocated it.
    pub(super) fn block_around(&self, address: usize) -> Option<(usize, &Block)> {
        let Lies::In { thread, offset } = arena::locate(address) else { return None };
        let log = self.threads.get(thread)?.arena.log();
        let after = log.partition_point(|block| block.offset <= offset);
        let block = log.get(after.checked_sub(1)?)?;
        (address - block.start <= block.size).then_some((thread, block))
    }

    /// An object at an address is used for the first time in this execution.
    pub(super) fn note_object(&mut self, address: usize, object: ObjectId) {
        let next = self.memory.objects.len() as u32;
        let Some(block) = self.block_of(address) else { return };
        let before = block.last_object.replace(next);
        let is_free = block.free.is_some();
        self.memory.objects.push((object, before));
        self.memory.has_freed_objects |= is_free;
    }

    /// A block that was freed is allocated again.
    pub(super) fn use_again(&mut self, address: usize) {
        self.memory.guarded.open(address);
        if let Some(block) = self.block_of(address) {
            (block.free, block.last_object) = (None, None);
        }
    }

    /// A reference to what lies at an address is given up without a step.
    pub(crate) fn give_up_reference(&mut self, address: usize) {
        if self.way == Way::Announce
            && let Some(position) = self.position()
        {
            self.memory.given_up.push((address, position));
        }
    }

    /// The running thread frees the block at an address.
    fn free(&mut self, address: usize, layout: Layout) -> Result<(), Violation> {
        let size = layout.size();
        let next = self.memory.frees.len() as u32;
        let Some(block) = self.block_of(address).filter(|block| block.start == address) else {
            return Err(self.invalid_free(address));
        };
        let (allocated, last_object, recycles) =
            ((block.size, block.align()), block.last_object, block.recycles);
        if let Some(free) = block.free {
            return Err(self.double_free(free, address));
        }
        block.free = Some(next);
        let thread = self.current;
        let (position, spot) = (self.position(), self.freeing_at());
        self.memory.frees.push(Free { thread, spot, position });
        if allocated != (size, layout.align()) {
            return Err(self.other_layout(allocated, (size, layout.align()), address));
        }
        if self.way == Way::Announce && !self.guard(address, size) {
            self.memory.contents.keep(address, size, next, self.shared.caps.compared);
        }
        if let Some(position) = position.filter(|_| self.way == Way::Announce) {
            self.note_freed(last_object, position, address..address + size);
        }
        if recycles {
            self.memory.add_free_block(layout, address);
        }
        Ok(())
    }

    fn note_freed(
        &mut self,
        last_object: Option<u32>,
        by: usize,
        addresses: std::ops::Range<usize>,
    ) {
        let memory = &mut self.memory;
        let mut objects = Vec::new();
        let mut at = last_object;
        while let Some((object, before)) = at.map(|at| memory.objects[at as usize]) {
            objects.push(object);
            objects.extend_from_slice(self.names.parts(object));
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
    fn freeing_at(&self) -> Spot {
        self.threads[self.current].spot
    }

    /// What is wrong with using the object at an address, if its block was freed.
    fn used_after_free(&mut self, touching: Touching, spot: Spot) -> Option<Violation> {
        let block = self.block_of(touching.address)?;
        let (free, start) = (block.free?, block.start);
        let name = Names::name_of(touching.kind, touching.created);
        let user = self.thread_name(self.current);
        let message = format!("{user} uses {name}, but its memory was freed");
        let text = format!("{user} uses it");
        let used = Happened { event: Event::Used, text, spot: Some(spot) };
        Some(self.about_block(ViolationKind::UseAfterFree, message, used, start, Some(free)))
    }

    /// What is wrong with a plain access of the running thread to an address in a freed block, if it lies in one.
    pub(super) fn accessed_after_free(&self, thread: usize, address: usize) -> Option<Violation> {
        let (_, block) = self.block_around(address)?;
        let (free, start) = (block.free?, block.start);
        let name = self.thread_name(thread);
        let message = format!("{name} reads or writes memory that was freed");
        let spot = Some(self.threads[thread].spot);
        let text = format!("{name} reads or writes it");
        let used = Happened { event: Event::Accessed, text, spot };
        let mut violation = self.violation(thread, ViolationKind::UseAfterFree, message, &[]);
        self.tell_about(&mut violation, vec![used], start, Some(free));
        Some(violation)
    }

    #[cold]
    fn double_free(&mut self, free: u32, address: usize) -> Violation {
        let name = self.thread_name(self.current);
        let message = format!("{name} frees memory that was freed before");
        let wrong = self.wrong_free(format!("{name} frees it again"));
        self.about_block(ViolationKind::DoubleFree, message, wrong, address, Some(free))
    }

    #[cold]
    fn invalid_free(&self, address: usize) -> Violation {
        let name = self.thread_name(self.current);
        let place = self.address_text(address);
        let message = format!("{name} frees {place}, where no block begins");
        let wrong = self.wrong_free(format!("{name} frees it"));
        self.about_block(ViolationKind::InvalidFree, message, wrong, address, None)
    }

    #[cold]
    fn other_layout(
        &self,
        allocated: (usize, usize),
        freed: (usize, usize),
        address: usize,
    ) -> Violation {
        let name = self.thread_name(self.current);
        let text = |(size, align): (usize, usize)| match allocated.1 == freed.1 {
            true => plural(size as u64, "byte", "bytes"),
            false => format!("{} aligned to {align}", plural(size as u64, "byte", "bytes")),
        };
        let (freed, allocated) = (text(freed), text(allocated));
        let message =
            format!("{name} frees a block of {freed}, but it was allocated as {allocated}");
        let wrong = self.wrong_free(format!("{name} frees it"));
        self.about_block(ViolationKind::InvalidFree, message, wrong, address, None)
    }

    fn wrong_free(&self, text: String) -> Happened {
        Happened { event: Event::WrongFree, text, spot: Some(self.freeing_at()) }
    }

    fn about_block(
        &self,
        kind: ViolationKind,
        message: String,
        wrong: Happened,
        address: usize,
        free: Option<u32>,
    ) -> Violation {
        let mut violation = self.violation(self.current, kind, message, &[]);
        self.tell_about(&mut violation, vec![wrong], address, free);
        violation
    }

    /// Adds to a violation what happened to the block at an address before.
    pub(super) fn tell_about(
        &self,
        violation: &mut Violation,
        mut happened: Vec<Happened>,
        address: usize,
        free: Option<u32>,
    ) {
        let free = free.map(|free| &self.memory.frees[free as usize]);
        if let Some(free) = free {
            let text = format!("{} freed it", self.thread_name(free.thread));
            happened.push(Happened { event: Event::Freed, text, spot: Some(free.spot) });
        }
        let block = self.block_around(address);
        if let Some((thread, block)) = block {
            let it = if block.start == address { "it" } else { "the block around it" };
            let text = format!("{} allocated {it}", self.thread_name(thread));
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
        if self.tracing {
            self.shared.about_block.replace(Some(about));
        }
    }

    /// How large a block is that was freed, and by whom.
    pub(super) fn freed_size_and_name(&self, content: Content) -> (String, String) {
        let size = self.block_around(content.address).map_or(0, |(_, block)| block.size as u64);
        let free = &self.memory.frees[content.free as usize];
        (plural(size, "byte", "bytes"), self.thread_name(free.thread))
    }

    /// A block that is never freed, if there is one.
    #[cold]
    pub(super) fn leaked_block(&self) -> Option<Violation> {
        let mut left = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let blocks = thread.arena.log().iter().filter(|block| block.free.is_none());
            left.extend(blocks.map(|block| (number, block)));
        }
        let &(thread, block) = left.first()?;
        let more = match left.len() {
            1 => String::new(),
            more => format!(", and {} more", plural(more as u64 - 1, "block", "blocks")),
        };
        let (name, bytes) = (self.thread_name(thread), plural(block.size as u64, "byte", "bytes"));
        let message = format!("a block of {bytes} that {name} allocated is never freed{more}");
        let mut violation = self.violation(thread, ViolationKind::Leak, message, &[]);
        violation.thread = None;
        self.tell_about(&mut violation, Vec::new(), block.start, None);
        Some(violation)
    }
}

impl Engine {
    /// The operation at `spot` runs now, on objects at these addresses: their blocks must not be free.
    #[cold]
    #[inline(never)]
    pub(super) fn check_alive(&self, touching: [Option<Touching>; 2], spot: Spot) {
        let rt = self.rt();
        rt.close_guarded();
        for touching in touching.into_iter().flatten() {
            if let Some(violation) = rt.used_after_free(touching, spot) {
                self.stop(Fault::Violation(violation));
            }
        }
    }
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
    if !rt.threads.get(thread).is_some_and(|it| std::ptr::eq(&raw const *it.arena, of)) {
        return true;
    }
    if rt.recycles(layout) && rt.block_of(address).is_some_and(|block| block.recycles) {
        engine.release(layout, address);
    }
    let rt = engine.rt();
    let freed = rt.free(address, layout);
    if rt.watches_block {
        rt.watch_free(address, freed.is_err());
    }
    let Err(violation) = freed else { return true };
    let me = &rt.threads[rt.current];
    if rt.way == Way::Announce && me.runs && !me.aborting {
        engine.stop_in_allocator(Fault::Violation(violation));
    }
    false
}
