//! Where static data lies.

use std::sync::OnceLock;

/// Whether an address lies in static data of the program or of a library that it loaded.
pub(crate) fn is_static(address: usize) -> bool {
    static SEGMENTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let segments = SEGMENTS.get_or_init(segments);
    segments.iter().any(|&(start, end)| (start..end).contains(&address))
}

#[cfg(target_os = "linux")]
fn segments() -> Vec<(usize, usize)> {
    extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader calls this with a valid description, and `data` is the list below.
        unsafe {
            let (info, found) = (&*info, &mut *data.cast::<Vec<(usize, usize)>>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
                let start = info.dlpi_addr as usize + header.p_vaddr as usize;
                found.push((start, start + header.p_memsz as usize));
            }
        }
        0
    }
    let mut found = Vec::new();
    // SAFETY: the callback keeps to its signature, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found
}

/// Elsewhere nothing is known to be static, and static data that owns memory is refused.
#[cfg(not(target_os = "linux"))]
fn segments() -> Vec<(usize, usize)> {
    Vec::new()
}
