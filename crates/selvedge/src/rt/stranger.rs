//! Threads that a check does not know: code under test called `std::thread::spawn`, or a library did.
//!
//! What such a thread does is no step, and comes at any time. It is noticed when it uses a type of this crate. Then its
//! stack points to memory of the check that it belongs to; other threads of the process that do the same mistake
//! outside of any check do not.

use std::sync::Arc;

use super::arena;
use crate::spot::Spot;
use crate::watch;

/// A thread that runs no checked code uses a type of this crate at `spot`.
#[cold]
pub(super) fn note(spot: Spot) {
    // After its check, or in between, a thread may use what it likes.
    if !watch::is_any_elsewhere() {
        return;
    }
    let owners = owners_on_stack();
    if !owners.is_empty() {
        watch::note_stranger(spot, |pulse| owners.contains(&(Arc::as_ptr(pulse) as usize)));
    }
}

/// The checks to whose memory words on the stack of this thread point.
fn owners_on_stack() -> Vec<usize> {
    // What a closure captured lies near its caller. A pointer further up is not found, and the thread not noticed: the
    // limits of the crate say that threads of `std` may not be.
    const MOST: usize = 16 << 10;
    let here = [0_usize; 1];
    let from = &raw const here as usize;
    let Some(base) = stack_base().filter(|&base| base > from) else { return Vec::new() };
    let words = (from..base.min(from + MOST)).step_by(size_of::<usize>());
    // SAFETY: the stack of this thread, from what runs now up to its base, is mapped.
    let word = |address: usize| unsafe { std::ptr::read_volatile(address as *const usize) };
    let mut owners: Vec<usize> =
        words.filter_map(|address| arena::owner_of(word(address))).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// The end of the stack of this thread, if the system tells it.
#[cfg(target_os = "linux")]
fn stack_base() -> Option<usize> {
    // SAFETY: the attributes are those of this thread, and are given back.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut limit, mut size) = (std::ptr::null_mut(), 0);
        let found =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut limit, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (found == 0).then(|| limit as usize + size)
    }
}

#[cfg(not(target_os = "linux"))]
fn stack_base() -> Option<usize> {
    None
}
