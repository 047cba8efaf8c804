//! Registers that a function need not keep, written over when the engine returns to checked code that is tried out.
//!
//! What the engine left in them differs from turn to turn of a loop. No code reads it, but a signal handler has it in its frame on
//! the stack of the thread (`plain_access.rs`), and code may push a register only to align its stack: so it would be a part of
//! states that are compared (`spin/mod.rs`).

/// Writes over the registers that the caller does not expect to be kept.
#[inline]
pub(crate) fn clear() {
    clear_general();
    #[cfg(target_arch = "x86_64")]
    {
        // The instructions that the functions of the C library use, if the processor has them.
        if std::arch::is_x86_feature_detected!("avx512f") {
            clear_upper();
        }
        if std::arch::is_x86_feature_detected!("avx") {
            // SAFETY: it clears registers that are said to be changed.
            unsafe { std::arch::asm!("vzeroall", clobber_abi("C"), options(nomem, nostack)) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn clear_general() {
    // SAFETY: it clears registers that are said to be changed.
    unsafe {
        std::arch::asm!(
            "xorps xmm0, xmm0",
            "xorps xmm1, xmm1",
            "xorps xmm2, xmm2",
            "xorps xmm3, xmm3",
            "xorps xmm4, xmm4",
            "xorps xmm5, xmm5",
            "xorps xmm6, xmm6",
            "xorps xmm7, xmm7",
            "xorps xmm8, xmm8",
            "xorps xmm9, xmm9",
            "xorps xmm10, xmm10",
            "xorps xmm11, xmm11",
            "xorps xmm12, xmm12",
            "xorps xmm13, xmm13",
            "xorps xmm14, xmm14",
            "xorps xmm15, xmm15",
            "xor eax, eax",
            "xor ecx, ecx",
            "xor edx, edx",
            "xor esi, esi",
            "xor edi, edi",
            "xor r8d, r8d",
            "xor r9d, r9d",
            "xor r10d, r10d",
            "xor r11d, r11d",
            clobber_abi("C"),
            options(nomem, nostack)
        );
    }
}

/// Those that only the widest vectors have.
#[cfg(target_arch = "x86_64")]
#[cold]
fn clear_upper() {
    // SAFETY: the processor has them, and they are said to be changed.
    unsafe {
        std::arch::asm!(
            "vpxord zmm16, zmm16, zmm16",
            "vpxord zmm17, zmm17, zmm17",
            "vpxord zmm18, zmm18, zmm18",
            "vpxord zmm19, zmm19, zmm19",
            "vpxord zmm20, zmm20, zmm20",
            "vpxord zmm21, zmm21, zmm21",
            "vpxord zmm22, zmm22, zmm22",
            "vpxord zmm23, zmm23, zmm23",
            "vpxord zmm24, zmm24, zmm24",
            "vpxord zmm25, zmm25, zmm25",
            "vpxord zmm26, zmm26, zmm26",
            "vpxord zmm27, zmm27, zmm27",
            "vpxord zmm28, zmm28, zmm28",
            "vpxord zmm29, zmm29, zmm29",
            "vpxord zmm30, zmm30, zmm30",
            "vpxord zmm31, zmm31, zmm31",
            "kxorw k0, k0, k0",
            "kxorw k1, k1, k1",
            "kxorw k2, k2, k2",
            "kxorw k3, k3, k3",
            "kxorw k4, k4, k4",
            "kxorw k5, k5, k5",
            "kxorw k6, k6, k6",
            "kxorw k7, k7, k7",
            clobber_abi("C"),
            options(nomem, nostack)
        );
    }
}

#[cfg(target_arch = "aarch64")]
fn clear_general() {
    // SAFETY: it clears registers that are said to be changed.
    unsafe {
        std::arch::asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            "mov x0, #0",
            "mov x1, #0",
            "mov x2, #0",
            "mov x3, #0",
            "mov x4, #0",
            "mov x5, #0",
            "mov x6, #0",
            "mov x7, #0",
            "mov x8, #0",
            "mov x9, #0",
            "mov x10, #0",
            "mov x11, #0",
            "mov x12, #0",
            "mov x13, #0",
            "mov x14, #0",
            "mov x15, #0",
            "mov x16, #0",
            "mov x17, #0",
            clobber_abi("C"),
            options(nomem, nostack)
        );
    }
}

/// Nothing is known about these.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn clear_general() {}
