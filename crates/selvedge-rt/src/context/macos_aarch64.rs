//! The context of a signal on macOS, AArch64.

use crate::fiber::{Fiber, Outcome};

/// The stack pointer of the code that was interrupted.
pub(crate) fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system passed it to the handler, and it points to the registers.
    let registers = unsafe { &(*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss };
    Some(registers.__sp as usize)
}

/// The address of the instruction that was interrupted.
pub(crate) fn instruction(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system passed it to the handler, and it points to the registers.
    let registers = unsafe { &(*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss };
    Some(registers.__pc as usize)
}

/// Sets the address of the instruction that was interrupted.
///
/// # Safety
/// The context is that of a signal.
pub(crate) unsafe fn set_instruction(context: *mut libc::c_void, instruction: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__ss.__pc = instruction as _ };
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
        context.__pc = registers.pc;
        context.__sp = registers.sp;
        context.__x[0] = registers.x0;
        context.__x[1] = registers.x1;
        context.__fp = registers.x29;
        context.__lr = registers.lr;
    }
}
