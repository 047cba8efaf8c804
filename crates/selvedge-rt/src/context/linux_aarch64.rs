//! The context of a signal on Linux, AArch64.

use crate::fiber::{Fiber, Outcome};

/// The stack pointer of the code that was interrupted.
pub(crate) fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system gave it to the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.sp as usize)
}

/// The address of the instruction that was interrupted.
pub(crate) fn instruction(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system gave it to the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.pc as usize)
}

/// Sets the address of the instruction that was interrupted.
///
/// # Safety
/// The context is that of a signal.
pub(crate) unsafe fn set_instruction(context: *mut libc::c_void, instruction: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc = instruction as _ };
}

/// Ends the code on a stack when the handler returns.
///
/// # Safety
/// The context is that of a signal which interrupted code on this stack.
pub(crate) unsafe fn leave(fiber: &Fiber, context: *mut libc::c_void, outcome: Outcome) {
    // SAFETY: the caller's promise.
    unsafe {
        let registers = fiber.trap_handler().setup_trap_handler(move || outcome);
        let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        context.pc = registers.pc;
        context.sp = registers.sp;
        context.regs[0] = registers.x0;
        context.regs[1] = registers.x1;
        context.regs[29] = registers.x29;
        context.regs[30] = registers.lr;
    }
}
