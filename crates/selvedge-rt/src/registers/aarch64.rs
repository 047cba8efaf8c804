//! Registers of AArch64.

/// How many registers a function gives back as it found them.
pub(super) const SAVED: usize = 20;

/// Those registers, and the stack pointer.
#[inline(always)]
pub(super) fn here() -> Option<([usize; SAVED], usize)> {
    let (mut saved, mut stack) = ([0; SAVED], 0_usize);
    // SAFETY: it writes to the array, which is long enough, and to registers that it names.
    unsafe {
        std::arch::asm!(
            "stp x19, x20, [x0]",
            "stp x21, x22, [x0, #16]",
            "stp x23, x24, [x0, #32]",
            "stp x25, x26, [x0, #48]",
            "stp x27, x28, [x0, #64]",
            "stp x29, x30, [x0, #80]",
            "stp d8, d9, [x0, #96]",
            "stp d10, d11, [x0, #112]",
            "stp d12, d13, [x0, #128]",
            "stp d14, d15, [x0, #144]",
            "mov x0, sp",
            inout("x0") saved.as_mut_ptr() as usize => stack,
            clobber_abi("C"),
        );
    }
    Some((saved, stack))
}
