//! Blocks of memory: which there are in an execution, who freed them, and what goes wrong with that.
//!
//! A free is no step: it happens in the code after one, and [`Freed`] tells explorers after which. They
//! try an access that can come after it in that order (`selvedge-explore/src/frees.rs`); here it is seen
//! when an operation on an object runs whose block is free by then. Freed blocks stay as they are and
//! are not used again, unless [`Reuse`](crate::Reuse) says so: whoever uses one after it was seen does no
//! harm.

use std::alloc::Layout;

use selvedge_core::{Fault, Freed, ObjectId, Violation, ViolationKind};

use super::arena::{self, Lies};
use super::engine::Engine;
use super::names::Names;
use super::object::Touching;
use super::operation::Spot;
use super::reuse::Pool;
use super::runtime::{Runtime, Way, running};

/// A block that a thread allocated in this execution.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) start: usize,
    /// As it was asked for.
    pub(crate) size: usize,
    /// How much its thread had allocated before it.
    pub(crate) offset: u64,
    pub(crate) align: u16,
    /// Whether allocating and freeing it are steps.
    pub(crate) recycles: bool,
    /// Which free it was, of those of this execution.
    pub(crate) free: Option<u32>,
    /// The object in it that was used last for the first time, as an index of `Memory::objects`.
    last_object: Option<u32>,
}

impl Block {
    pub(crate) fn new(start: usize, layout: Layout, offset: u64) -> Self {
        // Larger ones are not used again.
        let align = u16::try_from(layout.align()).unwrap_or(0);
        let size = layout.size();
        Self { start, size, offset, align, recycles: false, free: None, last_object: None }
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
        let (allocated, last_object, recycles) = (block.size, block.last_object, block.recycles);
        if let Some(free) = block.free {
            return Err(self.double_free(free, address));
        }
        block.free = Some(next);
        let thread = self.current;
        let (position, spot) = (self.position(), self.freeing_at());
        self.memory.frees.push(Free { thread, spot, position });
        if allocated != size {
            return Err(self.other_layout(allocated, size));
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
        let free = self.block_of(touching.address)?.free?;
        let name = Names::name_of(touching.kind, touching.created);
        let user = self.thread_name(self.current);
        let message = format!("{user} uses {name}, but its memory was freed");
        Some(self.about_block(
            ViolationKind::UseAfterFree,
            message,
            &[spot],
            free,
            touching.address,
        ))
    }

    #[cold]
    fn double_free(&mut self, free: u32, address: usize) -> Violation {
        let name = self.thread_name(self.current);
        let message = format!("{name} frees memory that was freed before");
        let spot = self.freeing_at();
        self.about_block(ViolationKind::DoubleFree, message, &[spot], free, address)
    }

    fn about_block(
        &mut self,
        kind: ViolationKind,
        message: String,
        spots: &[Spot],
        free: u32,
        address: usize,
    ) -> Violation {
        let Free { thread, spot, position } = self.memory.frees[free as usize];
        let mut violation = self.violation(self.current, kind, message, spots);
        let name = self.thread_name(thread);
        violation.notes.push(format!("it was freed by {name}, after its operation at {spot}"));
        if kind == ViolationKind::DoubleFree {
            violation
                .notes
                .push("the place is the last operation before the second free".to_owned());
        }
        let maker = match arena::locate(address) {
            Lies::In { thread, .. } => self.thread_name(thread),
            Lies::Kept | Lies::Outside => return violation,
        };
        violation.notes.push(format!("it was allocated by {maker}"));
        self.shared.freed_by.set(position);
        violation
    }

    #[cold]
    fn invalid_free(&self, address: usize) -> Violation {
        let name = self.thread_name(self.current);
        let place = self.address_text(address);
        let message = format!("{name} frees {place}, which is no block that was allocated");
        self.violation(self.current, ViolationKind::InvalidFree, message, &[self.freeing_at()])
    }

    #[cold]
    fn other_layout(&self, allocated: usize, size: usize) -> Violation {
        let name = self.thread_name(self.current);
        let message = format!(
            "{name} frees {size} bytes where {allocated} bytes were allocated as one block"
        );
        self.violation(self.current, ViolationKind::InvalidFree, message, &[self.freeing_at()])
    }

    /// Blocks that were never freed: by whom each was allocated, and how many bytes.
    pub(super) fn blocks_left(&self) -> Vec<(usize, usize)> {
        let mut left = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let blocks = thread.arena.log().iter().filter(|block| block.free.is_none());
            left.extend(blocks.map(|block| (number, block.size)));
        }
        left
    }
}

impl Engine {
    /// The operation at `spot` runs now, on objects at these addresses: their blocks must not be free.
    #[cold]
    #[inline(never)]
    pub(super) fn check_alive(&self, touching: [Option<Touching>; 2], spot: Spot) {
        let rt = self.rt();
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
    if rt.block_of(address).is_some_and(|block| block.recycles) && rt.recycles(layout) {
        engine.release(layout, address);
    }
    let rt = engine.rt();
    let Err(violation) = rt.free(address, layout) else { return true };
    let me = &rt.threads[rt.current];
    if rt.way == Way::Announce && me.runs && !me.aborting {
        engine.stop_in_allocator(Fault::Violation(violation));
    }
    false
}
