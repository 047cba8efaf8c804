//! Hints, as in [`std::hint`].

use std::panic::Location;

use crate::rt::pause;

pub use std::hint::{black_box, select_unpredictable};

/// This place is never reached. If it is, the check says so.
///
/// # Safety
/// As for [`std::hint::unreachable_unchecked`].
///
/// # Panics
/// If it is reached.
#[track_caller]
pub const unsafe fn unreachable_unchecked() -> ! {
    panic!("`unreachable_unchecked` was reached: without the check, anything could happen")
}

/// This condition holds. If it does not, the check says so.
///
/// # Safety
/// As for [`std::hint::assert_unchecked`].
///
/// # Panics
/// If it does not hold.
#[track_caller]
pub const unsafe fn assert_unchecked(condition: bool) {
    assert!(condition, "`assert_unchecked` of a condition that does not hold");
}

/// Says that this path is rarely taken. Makes no difference here.
pub const fn cold_path() {}

/// One turn of a spin loop: the thread continues when something that it read since it last came here
/// has changed.
///
/// ```
/// use selvedge::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// use selvedge::{hint, sync::Arc, thread};
///
/// selvedge::check(|| {
///     let ready = Arc::new(AtomicBool::new(false));
///     let other = Arc::clone(&ready);
///     let setter = thread::spawn(move || other.store(true, SeqCst));
///     while !ready.load(SeqCst) {
///         hint::spin_loop();
///     }
///     setter.join().unwrap();
/// });
/// ```
#[track_caller]
pub fn spin_loop() {
    let spot = Location::caller();
    pause("spin", spot);
}
