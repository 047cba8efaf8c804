//! How much memory is in use, and a limit on it: an allocator that counts.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; every call moves on to the system")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, Ordering::Relaxed};
use std::time::Duration;

use crate::exit;

/// The system's allocator, with a count of the bytes in use.
pub(crate) struct Counting;

/// Bytes in use.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
/// The most of them since [`peak_of`] began.
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// More than this exhausts the current budget.
static LIMIT: AtomicIsize = AtomicIsize::new(isize::MAX);
/// More than this stops the code that allocates, which cannot be notified: see `so_far.rs`.
static LAST: AtomicIsize = AtomicIsize::new(isize::MAX);
/// Whether more than the limit was in use at some time.
static EXCEEDED: AtomicBool = AtomicBool::new(false);
/// Whether a thread waits to show what was found, once the code that allocates is stopped.
static CAN_STOP: AtomicBool = AtomicBool::new(false);
/// Whether that code is stopped.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// Memory to show what was found, where the system has no more.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// Whether no limit applies to this thread.
    static IS_EXEMPT: Cell<bool> = const { Cell::new(false) };
}

/// The default limit, in percent of the free memory.
const USUAL_SHARE: u64 = 80;
/// How much of it may be used to show what was found, once the limit is reached.
const LAST_SHARE: u64 = 95;
/// What may be needed besides the limit to show what was found.
const TO_SHOW: u64 = 64 << 20;
/// What is reserved for that. It takes address space only.
const RESERVED: Layout = match Layout::from_size_align(8 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// Sets the limit: so many bytes, or else most of what is free now. Returns it, if there is one: what is
/// free is only known on Linux.
pub(crate) fn limit(bytes: Option<u64>) -> Option<u64> {
    let (limit, last) = limits(bytes, free())?;
    let signed = |bytes: u64| isize::try_from(bytes).unwrap_or(isize::MAX);
    LAST.store(signed(last), Relaxed);
    LIMIT.store(signed(limit), Relaxed);
    Some(limit)
}

/// Returns the limit, and the one at which the code that allocates is stopped, for a limit that the user gave and the
/// memory that is free, as far as they are known.
fn limits(bytes: Option<u64>, free: Option<u64>) -> Option<(u64, u64)> {
    let limit = bytes.or(free.map(|free| free / 100 * USUAL_SHARE))?;
    let twice = limit.saturating_mul(2).saturating_add(TO_SHOW);
    let last = free.map_or(twice, |free| twice.min(limit.max(free / 100 * LAST_SHARE)));
    Some((limit, last))
}

/// Returns the limit, in bytes; the largest number if there is none.
pub(crate) fn limit_now() -> u64 {
    u64::try_from(LIMIT.load(Relaxed)).unwrap_or(u64::MAX)
}

/// Of what is left of the limit, this process may only use its share: it is one of several that work together.
pub(crate) fn divide_limit(processes: usize) {
    let (now, limit) = (IN_USE.load(Relaxed), LIMIT.load(Relaxed));
    if limit < isize::MAX {
        LIMIT.store(now + (limit - now).max(0) / processes.max(1) as isize, Relaxed);
    }
}

/// Returns whether there is a limit.
pub(crate) fn has_limit() -> bool {
    LIMIT.load(Relaxed) < isize::MAX
}

/// Returns whether the limit was reached.
pub(crate) fn is_exceeded() -> bool {
    EXCEEDED.load(Relaxed)
}

/// Says whether code that exceeds the last limit is to be stopped, since a thread waits for that; otherwise the
/// process ends.
pub(crate) fn stop_if_exhausted(on: bool) {
    if on && RESERVE.load(Relaxed).is_null() {
        // SAFETY: the layout has a size. It is not counted, and freed in `lift_limit`.
        RESERVE.store(unsafe { System.alloc(RESERVED) }, Relaxed);
    }
    CAN_STOP.store(on, Relaxed);
}

/// Returns whether code was stopped since it exceeded the last limit, or the system had no more.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Relaxed)
}

/// From now on no limit applies to the calling thread.
pub(crate) fn lift_limit() {
    IS_EXEMPT.set(true);
    let reserve = RESERVE.swap(std::ptr::null_mut(), Relaxed);
    if !reserve.is_null() {
        // SAFETY: it came from the system with this layout, and is not used.
        unsafe { System.dealloc(reserve, RESERVED) };
    }
}

/// Something new begins: what was in use before it is over does not count.
pub(crate) fn begin() {
    let now = IN_USE.load(Relaxed);
    PEAK.store(now, Relaxed);
    EXCEEDED.store(now > LIMIT.load(Relaxed), Relaxed);
}

/// Returns how many bytes are in use.
pub(crate) fn in_use() -> u64 {
    u64::try_from(IN_USE.load(Relaxed)).unwrap_or(0)
}

/// Does `work` and returns its peak memory, above what was in use before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let peak = PEAK.load(Relaxed) - before;
    (result, u64::try_from(peak).unwrap_or(0))
}

/// Returns the memory that this process can still have, as far as the system says.
fn free() -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let meminfo = read("/proc/meminfo")?;
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let mut free = number(available.trim().strip_suffix("kB")?)?.checked_mul(1024)?;
    // A container may have less than the machine, a process less than both.
    let groups = [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ];
    for (most, used) in groups {
        if let (Some(most), Some(used)) =
            (read(most).and_then(|text| number(&text)), read(used).and_then(|text| number(&text)))
        {
            free = free.min(most.saturating_sub(used));
        }
    }
    if let Some(limits) = read("/proc/self/limits")
        && let Some(line) = limits.lines().find(|line| line.starts_with("Max address space"))
        && let Some(most) = line.split_whitespace().nth(3).and_then(number)
    {
        free = free.min(most);
    }
    Some(free)
}

#[inline]
fn count(change: isize) {
    let now = IN_USE.fetch_add(change, Relaxed) + change;
    if change > 0 && now > PEAK.load(Relaxed) {
        grown(now);
    }
}

#[cold]
fn grown(now: isize) {
    PEAK.fetch_max(now, Relaxed);
    if now > LIMIT.load(Relaxed) {
        EXCEEDED.store(true, Relaxed);
        if now > LAST.load(Relaxed) {
            out_of_memory();
        }
    }
}

/// An allocator cannot refuse gracefully: the code that allocates would abort. It is stopped here permanently if
/// another thread shows what was found, and otherwise the process ends.
#[cold]
fn out_of_memory() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if IS_EXEMPT.get() {
        return;
    }
    while CAN_STOP.load(Relaxed) {
        STOPPED.store(true, Relaxed);
        std::thread::sleep(Duration::from_secs(1));
    }
    // What ends the process may ask for memory as well.
    if !SAID.swap(true, Relaxed) {
        exit::complain(
            "inconclusive: the memory limit was reached by a single large piece of data before there was \
             anything to show\n  raise the limit (--max-memory), or make the program smaller \
             (of a model: smaller constants, --const)\n",
        );
        std::process::exit(i32::from(exit::INCONCLUSIVE));
    }
}

/// Returns what the system gave, unless it gave nothing.
fn given(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        out_of_memory();
    }
    block
}

/// Returns the size of a layout, which is at most `isize::MAX`.
#[inline]
fn size(layout: Layout) -> isize {
    layout.size() as isize
}

// SAFETY: every function passes its arguments on to `System`, whose contract is the same, and
// counting neither allocates nor panics; where it stops the thread or ends the process, nothing returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller keeps the contract of `alloc`.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: `block` came from `System` through this allocator, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - size(layout));
        // SAFETY: `block` came from `System` through this allocator, with this layout.
        given(unsafe { System.realloc(block, layout, new_size) })
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

    #[cfg(target_os = "linux")]
    #[test]
    fn something_is_free() {
        assert!(free() > Some(1 << 20), "{:?}", free());
    }

    #[test]
    fn the_limit_is_a_share_of_what_is_free() {
        const GIB: u64 = 1 << 30;
        assert_eq!(limits(None, Some(100 * GIB)), Some((80 * GIB, 95 * GIB)));
        // Twice the limit, and something to show what was found, as far as that is there.
        assert_eq!(limits(Some(GIB), Some(100 * GIB)), Some((GIB, 2 * GIB + TO_SHOW)));
        assert_eq!(limits(Some(80 * GIB), Some(100 * GIB)), Some((80 * GIB, 95 * GIB)));
        // The user may ask for more than there is.
        assert_eq!(limits(Some(200 * GIB), Some(100 * GIB)), Some((200 * GIB, 200 * GIB)));
        assert_eq!(limits(Some(GIB), None), Some((GIB, 2 * GIB + TO_SHOW)));
        assert_eq!(limits(None, None), None);
    }
}
