//! A plain access of checked code that becomes a visible operation.
//!
//! The front end makes memory inaccessible to see when code uses it. The handler of the signal that an access then raises runs
//! on a stack of its own, where a thread cannot stand still. So it sends another signal to its thread of the system, which
//! arrives when the handler returns, before the access is tried again. That one is handled on the stack of the checked
//! thread, which announces an operation there and waits until it is chosen. When the second handler returns, the system
//! restores all registers, and the access runs.

use crate::context;
use crate::hooks::Hooks;
use crate::runtime::Runtime;

/// The second signal: one that only the system raises otherwise, for system calls that a process may not make.
pub(crate) const SIGNAL: i32 = libc::SIGSYS;

/// Installs the handler of the second signal: on the stack of the code that it interrupts, and other threads may get the same
/// signal before it returns.
pub(crate) fn install<W: Hooks>() {
    // SAFETY: a zeroed action is a valid one, and the handler keeps to its signature.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle::<W>;
        action.sa_sigaction = handler as usize;
        libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut());
    }
}

/// Returns whether an access of the running thread becomes an operation, when the handler of the first signal returns.
///
/// # Safety
/// In the handler of a signal that the access raised, with its context; [`SIGNAL`] is blocked there.
pub(crate) unsafe fn is_operation<W: Hooks>(
    rt: &mut Runtime<W>,
    address: usize,
    context: *mut libc::c_void,
) -> bool {
    let Some(instruction) = context::instruction(context) else { return false };
    // SAFETY: it sends a signal to this thread.
    rt.fiber_of(context).is_some()
        && W::is_plain_access(rt, address, instruction)
        && unsafe { libc::raise(SIGNAL) == 0 }
}

extern "C" fn handle<W: Hooks>(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the system calls this with valid pointers.
    let is_ours = unsafe { (*info).si_code <= 0 && (*info).si_pid() == libc::getpid() };
    if is_ours && !W::running().is_null() && !W::is_engine() {
        // SAFETY: it is the context of this signal.
        unsafe { context::as_a_call(context, W::plain_access) };
    } else {
        // SAFETY: what the signal does by default, when the handler returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}
