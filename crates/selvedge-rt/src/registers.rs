//! What depends on the processor and on how its system hands registers to a signal handler: one file for each.
//!
//! - [`Registers::here`]: what a running function and its callers have in registers;
//! - [`stack_pointer`] and [`leave`]: where a signal interrupted code, and how to end the code that it interrupted.

#[cfg_attr(target_arch = "x86_64", path = "registers/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "registers/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "registers/other.rs")]
mod processor;

#[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), path = "registers/linux_x86_64.rs")]
#[cfg_attr(all(target_os = "linux", target_arch = "aarch64"), path = "registers/linux_aarch64.rs")]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "registers/no_signals.rs"
)]
mod signal;

pub(crate) use signal::{leave, stack_pointer};

/// What a running function and its callers have in registers, and where its stack ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registers {
    pub(crate) saved: [usize; processor::SAVED],
    pub(crate) stack: usize,
}

impl Registers {
    /// Nothing of value is in any other register, since the code that reads them may use all others. `None`
    /// where it is not known how to read them.
    #[inline(always)]
    pub(crate) fn here() -> Option<Self> {
        let (saved, stack) = processor::here()?;
        Some(Self { saved, stack })
    }
}
