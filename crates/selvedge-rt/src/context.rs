//! How a system hands the registers of interrupted code to a signal handler: one file for each.
//!
//! [`stack_pointer`] says where code was interrupted, [`leave`] ends it.

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

pub(crate) use signal::{leave, stack_pointer};
