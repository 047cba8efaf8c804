//! How a system hands the registers of interrupted code to a signal handler: one file for each.
//!
//! [`stack_pointer`] and [`instruction`] say where code was interrupted, [`leave`] ends it.

#[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), path = "context/linux_x86_64.rs")]
#[cfg_attr(all(target_os = "linux", target_arch = "aarch64"), path = "context/linux_aarch64.rs")]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), path = "context/macos_x86_64.rs")]
#[cfg_attr(all(target_os = "macos", target_arch = "aarch64"), path = "context/macos_aarch64.rs")]
#[cfg_attr(
    not(all(
        any(target_os = "linux", target_os = "macos"),
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    path = "context/other.rs"
)]
mod signal;

pub(crate) use signal::{instruction, leave, stack_pointer};

/// Calls `f` while the context of a signal says that its code was interrupted one byte later: who walks up the stack takes the
/// byte before an address, as that of a call, and so finds the place of the instruction.
///
/// # Safety
/// The context is that of a signal whose handler runs.
pub(crate) unsafe fn as_a_call<T>(context: *mut libc::c_void, f: impl FnOnce() -> T) -> T {
    let before = instruction(context);
    let set = |by| {
        if let Some(before) = before {
            // SAFETY: the caller's promise.
            unsafe { signal::set_instruction(context, before + by) };
        }
    };
    set(1);
    let result = f();
    set(0);
    result
}
