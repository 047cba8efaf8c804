//! The context of a signal on macOS, x86-64.

use crate::fiber::{Fiber, Outcome};

/// The stack pointer of the code that was interrupted.
pub(crate) fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system passed it to the handler, and it points to the registers.
    let registers = unsafe { &(*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss };
    Some(registers.__rsp as usize)
}

/// The address of the instruction that was interrupted.
pub(crate) fn instruction(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system passed it to the handler, and it points to the registers.
    let registers = unsafe { &(*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss };
    Some(registers.__rip as usize)
}

/// Sets the address of the instruction that was interrupted.
///
/// # Safety
/// The context is that of a signal.
pub(crate) unsafe fn set_instruction(context: *mut libc::c_void, instruction: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss.__rip = instruction as _ };
}

/// Ends the code on a stack when the handler returns.
///
/// # Safety
/// The context is that of a signal which interrupted code on this stack.
pub(crate) unsafe fn leave(fiber: &Fiber, context: *mut libc::c_void, outcome: Outcome) {
    // SAFETY: the caller's promise.
    unsafe {
        let registers = fiber.trap_handler().setup_trap_handler(move || outcome);
        let context = &mut (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss;
        context.__rip = registers.rip;
        context.__rsp = registers.rsp;
        context.__rbp = registers.rbp;
        context.__rdi = registers.rdi;
        context.__rsi = registers.rsi;
    }
}
