//! Which checked code runs on this thread of the system.

use std::cell::Cell;

use super::state::Runtime;

thread_local! {
    /// The runtime whose code runs on this thread of the system.
    static RUNNING: Cell<*mut Runtime> = const { Cell::new(std::ptr::null_mut()) };
}

/// The runtime whose code runs, or null.
#[inline]
pub(crate) fn running() -> *mut Runtime {
    RUNNING.with(Cell::get)
}

/// Makes `rt` the one whose code runs. Returns the one before.
#[inline]
pub(super) fn set_running(rt: *mut Runtime) -> *mut Runtime {
    RUNNING.with(|running| running.replace(rt))
}
