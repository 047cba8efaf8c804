//! Where static data lies.

use std::sync::OnceLock;

/// Returns whether an address lies in static data of the program or of a library that it loaded.
pub(crate) fn is_static(address: usize) -> bool {
    static SEGMENTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let segments = SEGMENTS.get_or_init(segments);
    segments.iter().any(|&(start, end)| (start..end).contains(&address))
}

/// Returns whether there is an address in a value that lies neither in static data nor nowhere: then the value was made
/// at run time. A number may look like one, if it is very large.
pub(crate) fn points_to_memory(value: usize, length: usize) -> bool {
    /// Nothing is mapped below.
    const LEAST: usize = 64 << 10;
    let first = value.next_multiple_of(align_of::<usize>());
    let words = (first..(value + length + 1).saturating_sub(size_of::<usize>()))
        .step_by(size_of::<usize>())
        // SAFETY: the word is part of the value. Volatile: it may have bytes that were never written.
        .map(|address| unsafe { std::ptr::read_volatile(address as *const usize) });
    words.filter(|&word| word >= LEAST && !is_static(word)).any(is_mapped)
}

#[cfg(target_os = "linux")]
fn is_mapped(address: usize) -> bool {
    let start = address - address % super::pages::page_size();
    let mut resident = 0_u8;
    // SAFETY: it only asks, and one byte is enough for one page. What is not mapped is an error.
    unsafe { libc::mincore(start as *mut libc::c_void, 1, &raw mut resident) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_mapped(_address: usize) -> bool {
    true
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
