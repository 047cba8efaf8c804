//! Registers of x86-64.

/// How many registers a function gives back as it found them.
pub(super) const SAVED: usize = 6;

/// Those registers, and the stack pointer.
#[inline(always)]
pub(super) fn here() -> Option<([usize; SAVED], usize)> {
    let (mut saved, mut stack) = ([0; SAVED], 0_usize);
    // SAFETY: it writes to the array, which is long enough, and to registers that it names.
    unsafe {
        std::arch::asm!(
            "mov [rax], rbx",
            "mov [rax + 8], rbp",
            "mov [rax + 16], r12",
            "mov [rax + 24], r13",
            "mov [rax + 32], r14",
            "mov [rax + 40], r15",
            "mov rax, rsp",
            inout("rax") saved.as_mut_ptr() as usize => stack,
            clobber_abi("C"),
        );
    }
    Some((saved, stack))
}
