//! The context of a signal on Linux, x86-64.

use crate::fiber::{Fiber, Outcome};

/// The stack pointer of the code that was interrupted.
pub(crate) fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system gave it to the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
}

/// The address of the instruction that was interrupted.
pub(crate) fn instruction(context: *mut libc::c_void) -> Option<usize> {
    // SAFETY: the system gave it to the handler.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize)
}

/// Sets the address of the instruction that was interrupted.
///
/// # Safety
/// The context is that of a signal.
pub(crate) unsafe fn set_instruction(context: *mut libc::c_void, instruction: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] =
            instruction as _
    };
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
        context.gregs[libc::REG_RIP as usize] = registers.rip as i64;
        context.gregs[libc::REG_RSP as usize] = registers.rsp as i64;
        context.gregs[libc::REG_RBP as usize] = registers.rbp as i64;
        context.gregs[libc::REG_RDI as usize] = registers.rdi as i64;
        context.gregs[libc::REG_RSI as usize] = registers.rsi as i64;
    }
}
