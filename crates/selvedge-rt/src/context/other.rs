//! Systems on which no thread is left from inside a signal handler: the signal does what it did before, when the
//! schedule was printed.

use crate::fiber::{Fiber, Outcome};

/// Not known.
pub(crate) fn stack_pointer(_context: *mut libc::c_void) -> Option<usize> {
    None
}

/// The address of the instruction that was interrupted is not known.
pub(crate) fn instruction(_context: *mut libc::c_void) -> Option<usize> {
    None
}

/// # Safety
/// Never called: there is no instruction.
pub(crate) unsafe fn set_instruction(_context: *mut libc::c_void, _instruction: usize) {}

/// # Safety
/// Never called: there is no stack pointer.
pub(crate) unsafe fn leave(_fiber: &Fiber, _context: *mut libc::c_void, _outcome: Outcome) {}
