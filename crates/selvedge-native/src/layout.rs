//! Where the memory of checked threads lies: at the same addresses in every execution and in every process.
//!
//! Addresses reach hashes, comparisons and output of the program, so they must not depend on the schedule: each thread
//! number has a slot with its thread-local variables, its heap and its stack. A slot is address space; only what is
//! used takes memory.

use std::io;
use std::sync::{Mutex, PoisonError};

/// Where the slots begin. The system maps nothing there by itself.
const BASE: usize = 0x6000_0000_0000;
/// The size of a slot.
const SLOT: usize = 128 << 20;
/// A slot begins with thread-local variables.
const TLS: usize = 1 << 20;
/// Then comes the heap.
pub(crate) const HEAP: usize = 64 << 20;
/// How many threads an execution can have.
pub(crate) const THREADS: usize = 64;
/// At the end of a slot is the stack, as large as the system's. What lies between heap and stack is inaccessible.
pub(crate) const STACK: usize = 8 << 20;

/// What kind of memory an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Region {
    /// Variables of each thread.
    Tls,
    /// Allocated blocks.
    Heap,
    /// A stack.
    Stack,
}

/// Reserves the slots, once for each process.
pub(crate) fn reserve() -> io::Result<()> {
    static RESERVED: Mutex<bool> = Mutex::new(false);
    let mut is_reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_reserved {
        map()?;
        *is_reserved = true;
    }
    Ok(())
}

fn map() -> io::Result<()> {
    // SAFETY: a new mapping where nothing is mapped; the kernel refuses if something is.
    unsafe {
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = libc::mmap(BASE as *mut _, SLOT * THREADS, access, flags, -1, 0);
        if mapped as usize != BASE {
            return Err(io::Error::last_os_error());
        }
        for thread in 0..THREADS {
            let guard = heap(thread) + HEAP;
            let size = stack(thread).0 - guard;
            if libc::mprotect(guard as *mut _, size, libc::PROT_NONE) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Returns the thread whose slot an address lies in, and the kind of memory.
#[inline]
pub(crate) fn region(address: usize) -> Option<(usize, Region)> {
    let offset = address.wrapping_sub(BASE);
    if offset >= SLOT * THREADS {
        return None;
    }
    let within = offset % SLOT;
    let region = match within {
        ..TLS => Region::Tls,
        _ if within < TLS + HEAP => Region::Heap,
        _ if within >= SLOT - STACK => Region::Stack,
        _ => return None,
    };
    Some((offset / SLOT, region))
}

/// Returns the lowest address of a thread's variables, and the one after the last.
pub(crate) fn tls(thread: usize) -> (usize, usize) {
    let start = BASE + thread * SLOT;
    (start, start + TLS)
}

/// Returns the lowest address of a thread's heap.
pub(crate) fn heap(thread: usize) -> usize {
    BASE + thread * SLOT + TLS
}

/// Returns the lowest address of a thread's stack, and the one after it.
pub(crate) fn stack(thread: usize) -> (usize, usize) {
    let end = BASE + (thread + 1) * SLOT;
    (end - STACK, end)
}

/// Returns whether an address is in the inaccessible part below a thread's stack.
pub(crate) fn is_below_stack(thread: usize, address: usize) -> bool {
    (heap(thread) + HEAP..stack(thread).0).contains(&address)
}

/// Clears the upper part of the stack of a thread that does not run. What lies deeper may differ from execution to execution.
pub(crate) fn clear_stack(thread: usize, size: usize) {
    let (limit, top) = stack(thread);
    let size = size.min(top - limit);
    // SAFETY: the stack is mapped and writable, and nothing runs on it.
    unsafe { std::ptr::write_bytes((top - size) as *mut u8, 0, size) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_slot_ends_where_the_next_begins() {
        let slot = BASE + SLOT;
        for (offset, expected) in [
            (0, Some(Region::Tls)),
            (TLS - 1, Some(Region::Tls)),
            (TLS, Some(Region::Heap)),
            (TLS + HEAP - 1, Some(Region::Heap)),
            (TLS + HEAP, None),
            (SLOT - STACK - 1, None),
            (SLOT - STACK, Some(Region::Stack)),
            (SLOT - 1, Some(Region::Stack)),
        ] {
            assert_eq!(region(slot + offset), expected.map(|region| (1, region)), "{offset:#x}");
        }
        assert_eq!(region(BASE - 1), None);
        assert_eq!(region(BASE + SLOT * THREADS), None);
    }
}
