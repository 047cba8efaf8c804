//! Marks in the program's memory: what a mutex or a flag lies in says whether it is still the same one.
//!
//! States of synchronisation are kept by address. A local variable may come to lie where another one was, and be initialised by an
//! assignment, which is no operation: then the mark of the old one is gone. Both have their first word for it, which is 0 in
//! what is new, and which only libc would use.

use crate::op::Kind;

/// In what is new.
pub(crate) const NEW: u32 = 0;
/// In a mutex that is held.
pub(crate) const HELD: u32 = 1;
/// In the flag of something that is done once, and is being done, or is done. libc has other numbers, which the shim
/// knows from before the check.
pub(crate) const BEGUN: u32 = 3;
pub(crate) const DONE: u32 = 4;

/// In what was destroyed, other than a mutex, for which libc has a mark.
pub(crate) const DESTROYED: u32 = 0x5e1f_dead;
/// In a new block of the heap, until it is initialised.
pub(crate) const FRESH: u32 = u32::from_ne_bytes([crate::heap::FRESH; 4]);

/// In a local variable, until it is initialised, by compilers that fill them.
pub(crate) const FILLED: u32 = 0xfefe_fefe;

/// In the second word of a semaphore or a barrier that was initialised before the check. The shim has the same number.
const EARLY: u32 = 0x5e1f_ea51;

/// Where libc keeps the kind of a mutex.
const KIND_AT: usize = 16;

/// Returns the kind of a mutex, which lies where libc keeps it.
pub(crate) fn kind(mutex: usize) -> Kind {
    // SAFETY: the program uses it as a mutex.
    let kind = unsafe { ((mutex + KIND_AT) as *const u32).read_unaligned() };
    Kind::new(u64::from(kind & 3))
}

/// Returns whether a mutex has the mark of one that was destroyed, as libc leaves it.
pub(crate) fn is_destroyed_mutex(mutex: usize) -> bool {
    // SAFETY: it was destroyed as a mutex, whose memory the program has not freed.
    unsafe { ((mutex + KIND_AT) as *const i32).read_unaligned() < 0 }
}

/// Returns the mark of an object that a program has used.
pub(crate) fn read(address: usize) -> u32 {
    // SAFETY: the program used it as an object of at least that size, and memory stays mapped.
    unsafe { (address as *const u32).read_unaligned() }
}

/// Returns with which number a semaphore or a barrier was initialised before the check, if it was.
pub(crate) fn early(address: usize) -> Option<u64> {
    // SAFETY: as above; both are larger than this.
    let words = unsafe { (address as *const [u32; 3]).read_unaligned() };
    let is_early = words[0] != DESTROYED && words[1] == EARLY;
    is_early.then_some(u64::from(words[2]))
}

/// An object is initialised, or destroyed, now.
pub(crate) fn forget_early(address: usize) {
    if early(address).is_some() {
        write(address + 4, NEW);
    }
}

/// Marks an object that the program uses now.
pub(crate) fn write(address: usize, mark: u32) {
    // SAFETY: as above; libc, which it belongs to, would write to it as well.
    unsafe { (address as *mut u32).write_unaligned(mark) }
}
