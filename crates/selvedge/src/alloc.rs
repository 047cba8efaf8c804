//! Memory that must be freed by the end of an execution.
//!
//! ```
//! use selvedge::alloc::Track;
//! use selvedge::{Builder, ViolationKind};
//!
//! let outcome = Builder::new().explore(|| std::mem::forget(Track::new(7)));
//! assert_eq!(outcome.kinds(), [ViolationKind::Leak]);
//! ```

use std::fmt;
use std::panic::Location;

use selvedge_core::ViolationKind;

use crate::rt::{Engine, Spot};

pub use std::alloc::{GlobalAlloc, Layout, LayoutError, System, handle_alloc_error};

/// Whether memory that was freed is used again in the same execution: [`Builder::reuse`](crate::Builder::reuse).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reuse {
    /// Never: every address is new, so that a use after a free is always seen.
    #[default]
    Never,
    /// At each allocation there is a choice between new memory and each block of the same size and alignment
    /// that is free: all are explored, and a compare-exchange may find an address again that is not the
    /// same thing any more (ABA). That holds for blocks with the layout of one whose address was put
    /// into an atomic; allocating and freeing such blocks are then steps.
    Choice,
}

/// Allocates memory, as [`std::alloc::alloc`]; not to free it is a leak.
///
/// # Safety
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller keeps the contract.
    let block = unsafe { std::alloc::alloc(layout) };
    track(block, Location::caller());
    block
}

/// Allocates memory that is zero, as [`std::alloc::alloc_zeroed`].
///
/// # Safety
/// As for [`std::alloc::alloc_zeroed`].
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller keeps the contract.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    track(block, Location::caller());
    block
}

/// Frees memory that [`alloc`] gave; anything else is reported.
///
/// # Safety
/// As for [`std::alloc::dealloc`].
#[track_caller]
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    untrack(block, Location::caller());
    // SAFETY: the caller keeps the contract.
    unsafe { std::alloc::dealloc(block, layout) };
}

/// Changes the size of memory that [`alloc`] gave, as [`std::alloc::realloc`]; anything else is
/// reported.
///
/// # Safety
/// As for [`std::alloc::realloc`].
#[track_caller]
pub unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let spot = Location::caller();
    untrack(block, spot);
    // SAFETY: the caller keeps the contract.
    let new = unsafe { std::alloc::realloc(block, layout, size) };
    // If there is no room for more, the old block is kept.
    track(if new.is_null() { block } else { new }, spot);
    new
}

fn untrack(block: *mut u8, spot: Spot) {
    if let Some(engine) = Engine::try_enter()
        && !engine.rt().now.leaks.remove(block as usize)
        && !crate::rt::is_unwinding()
    {
        let message = "this memory was freed before, or is not from `selvedge::alloc`".to_owned();
        engine.fail(ViolationKind::Misuse, message, &[spot]);
    }
}

fn track(block: *mut u8, spot: Spot) {
    if let Some(engine) = Engine::try_enter()
        && !block.is_null()
    {
        engine.rt().now.leaks.add(block as usize, "memory from `alloc`", spot);
    }
}

/// A value that must be dropped by the end of an execution.
pub struct Track<T> {
    value: T,
    /// A box of its own, so that it has an address that does not move.
    key: Box<u8>,
}

impl<T> Track<T> {
    /// Tracks `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let key = Box::new(0);
        if let Some(engine) = Engine::try_enter() {
            let address = &raw const *key as usize;
            engine.rt().now.leaks.add(address, "a tracked value", Location::caller());
        }
        Self { value, key }
    }

    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the value, to change it.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Stops tracking.
    pub fn into_inner(self) -> T {
        self.untrack();
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so each field is moved out once.
        unsafe {
            drop(std::ptr::read(&raw const this.key));
            std::ptr::read(&raw const this.value)
        }
    }

    fn untrack(&self) {
        if let Some(engine) = Engine::try_enter() {
            engine.rt().now.leaks.remove(&raw const *self.key as usize);
        }
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        self.untrack();
    }
}

impl<T: fmt::Debug> fmt::Debug for Track<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
