//! Pages of memory, as the system has them.

use std::sync::OnceLock;

/// Returns the size of a page.
pub(super) fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: it only asks.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).unwrap_or(4096)
    })
}

/// Makes whole pages of the arena accessible, or inaccessible. Returns whether the system did so.
pub(super) fn protect((address, length): (usize, usize), is_accessible: bool) -> bool {
    let protection =
        if is_accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    // SAFETY: the pages belong to a block of an arena, and to nothing else; it is free, or is about to be used again.
    unsafe { libc::mprotect(address as *mut libc::c_void, length, protection) == 0 }
}
