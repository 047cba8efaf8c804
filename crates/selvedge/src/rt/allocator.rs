//! The allocator of a test binary: memory of checked code comes from arenas, all other from elsewhere.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::Ordering;

use selvedge_rt::keep_room;

use super::answered_blocks;
use super::arena::{Arena, LARGE, current, release_pages, span_of, switch};
use super::frees::note_free;
use super::reuse::choose;
use super::running::running;
use super::state::Engine;
use super::watched::watch_allocation;

/// Allocates memory for checked code at the same addresses in every execution, and for all other code the
/// memory of `A`.
///
/// With the feature `allocator`, which is on by default, it is installed around the system's
/// allocator. A test binary with an allocator of its own turns the feature off and wraps it:
///
/// ```ignore
/// #[global_allocator]
/// static ALLOCATOR: selvedge::Allocator<Mine> = selvedge::Allocator::new(Mine);
/// ```
pub struct Allocator<A = System> {
    inner: A,
}

impl<A> Allocator<A> {
    /// Around `inner`.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

// SAFETY: blocks of an arena do not overlap, are aligned and stay mapped; all others are `inner`'s,
// and each block goes back to where it came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let arena = current();
        if arena.is_null() {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            return unsafe { self.inner.alloc(layout) };
        }
        // SAFETY: the arena of the running thread lives as long as the thread runs, and no other thread
        // allocates from it.
        let block = unsafe {
            match (*arena).asks {
                false => allocate(&mut *arena, layout),
                true => allocate_or_reuse(arena, layout),
            }
        };
        if block.is_null() {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            return unsafe { self.inner.alloc(layout) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match span_of(block as usize) {
            Some(span) => {
                // SAFETY: spans are never unmapped.
                let (start, arena, thread) =
                    unsafe { ((*span).start, (*span).arena, (*span).thread) };
                // What earlier executions left is not noted any more.
                if block as usize >= start
                    && !note_free(block as usize, layout, arena, thread as usize)
                {
                    return;
                }
                if layout.size() >= LARGE {
                    release_pages(block as usize, layout.size());
                }
                // SAFETY: spans are never unmapped.
                unsafe { (*span).live.fetch_sub(1, Ordering::Release) };
            }
            // SAFETY: the caller keeps the contract of `GlobalAlloc`, and the block is `inner`'s.
            None => unsafe { self.inner.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if span_of(block as usize).is_none() {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`, and the block is `inner`'s.
            return unsafe { self.inner.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that the new size is valid for this alignment; both blocks
        // are at least as long as what is copied, and do not overlap.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[inline]
fn allocate(arena: &mut Arena, layout: Layout) -> *mut u8 {
    match arena.allocate(layout) {
        Some(block) => block,
        None => allocate_in_next_span(arena, layout),
    }
}

#[cold]
fn allocate_in_next_span(arena: &mut Arena, layout: Layout) -> *mut u8 {
    keep_room_on_stack();
    arena.allocate_in_next_span(layout)
}

/// A stack that is about to overflow does so here, and not while the list of spans is changed.
fn keep_room_on_stack() {
    if let Some(running) = ptr::NonNull::new(running()) {
        // SAFETY: the runtime is alive while its code runs.
        keep_room(unsafe { running.as_ref() });
    }
}

/// Allocates, maybe what was freed before.
///
/// # Safety
/// The arena is that of the running thread.
#[cold]
unsafe fn allocate_or_reuse(arena: *mut Arena, layout: Layout) -> *mut u8 {
    // Other threads may run here, and free blocks of the arena.
    let block = match choose(layout) {
        (_, Some(again)) => again as *mut u8,
        (is_step, None) => {
            // SAFETY: the running thread is back, and no other one allocates from its arena.
            let arena = unsafe { &mut *arena };
            let new = match is_apart(layout) {
                true => {
                    keep_room_on_stack();
                    arena.allocate_apart(layout)
                }
                false => allocate(arena, layout),
            };
            if let Some(block) = arena.last_block(new as usize) {
                block.recycles = is_step;
            }
            new
        }
    };
    if let Some(engine) = Engine::try_enter() {
        answered_blocks::note_allocated(engine.rt(), block as usize);
        if engine.rt().shared.watches_block() {
            watch_allocation(engine.rt(), block as usize);
        }
    }
    block
}

/// Returns whether blocks of a layout lie on pages of their own.
fn is_apart(layout: Layout) -> bool {
    let running = ptr::NonNull::new(running());
    // SAFETY: the runtime is alive while its code runs.
    running.is_some_and(|rt| unsafe { rt.as_ref() }.shared.guards((layout.size(), layout.align())))
}

/// Returns whether memory of checked code can be told apart: tries it.
pub(crate) fn is_installed() -> bool {
    let mut arena = Arena::new(0, 0, false);
    let before = switch(&raw mut arena);
    let probe = Box::new(0_u64);
    switch(before);
    let address = &raw const *probe as usize;
    span_of(address).is_some()
}

#[cfg(feature = "allocator")]
#[global_allocator]
static INSTALLED: Allocator = Allocator::new(System);
