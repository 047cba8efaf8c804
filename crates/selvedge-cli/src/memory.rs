//! How much memory an exploration needs: an allocator that counts while it is asked to.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call goes on to the system")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// The system's allocator, with a count of the bytes in use.
pub(crate) struct Counting;

/// Nothing is counted otherwise: a look at it is all that other commands pay.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Bytes since counting began; negative if older memory was freed.
static CURRENT: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// Does `work` and tells how many bytes, above those in use before, it had at most.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    CURRENT.store(0, Ordering::Relaxed);
    PEAK.store(0, Ordering::Relaxed);
    ACTIVE.store(true, Ordering::Relaxed);
    let result = work();
    ACTIVE.store(false, Ordering::Relaxed);
    (result, PEAK.load(Ordering::Relaxed).unsigned_abs() as u64)
}

#[inline]
fn count(change: isize) {
    if ACTIVE.load(Ordering::Relaxed) {
        let now = CURRENT.fetch_add(change, Ordering::Relaxed) + change;
        if now > PEAK.load(Ordering::Relaxed) {
            PEAK.fetch_max(now, Ordering::Relaxed);
        }
    }
}

/// A layout's size is at most `isize::MAX`.
#[inline]
fn size(layout: Layout) -> isize {
    layout.size() as isize
}

// SAFETY: every function passes its arguments on to `System`, whose contract is the same, and
// counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: `block` came from `System` through this allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - size(layout));
        // SAFETY: `block` came from `System` through this allocator, with this layout.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_counted_not_the_end() {
        let (_, peak) = peak_of(|| {
            let first = vec![0_u8; 3_000_000];
            drop(first);
            vec![0_u8; 1_000_000]
        });
        assert!((3_000_000..20_000_000).contains(&peak), "{peak}");
    }
}
