//! Threads, as in [`std::thread`].
//!
//! ```
//! use selvedge::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use selvedge::thread;
//!
//! selvedge::check(|| {
//!     let sum = AtomicU32::new(0);
//!     thread::scope(|scope| {
//!         scope.spawn(|| sum.fetch_add(1, SeqCst));
//!         let named = thread::Builder::new().name("second".to_owned());
//!         named.spawn_scoped(scope, || sum.fetch_add(2, SeqCst)).unwrap();
//!     });
//!     assert_eq!(sum.load(SeqCst), 3);
//! });
//! ```

mod builder;
mod handle;
mod local;
mod packet;
mod parking;
mod scoped;
mod start;

use std::io;
use std::num::NonZero;
use std::panic::Location;

use crate::rt::counted::note_self;
use crate::rt::{Engine, pause};

pub use builder::{Builder, spawn};
pub use handle::{JoinHandle, Thread, ThreadId, current};
pub use local::{AccessError, LocalKey};
pub use parking::{park, park_timeout};
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

/// Lets other threads run, as in a loop that waits for something: the thread continues when something
/// that it read since it last came here has changed.
#[track_caller]
pub fn yield_now() {
    let spot = Location::caller();
    pause("yield", spot);
}

/// Like [`yield_now`]: time does not pass in checked code.
#[track_caller]
pub fn sleep(_duration: std::time::Duration) {
    let spot = Location::caller();
    pause("sleep", spot);
}

/// Returns how many threads make sense: two, on every machine, so that what is checked does not depend on
/// where it runs.
///
/// # Errors
/// Never.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    const TWO: NonZero<usize> = NonZero::<usize>::MIN.saturating_add(1);
    Ok(TWO)
}

/// Returns whether the thread is unwinding because of a panic.
pub fn panicking() -> bool {
    if let Some(engine) = Engine::try_enter()
        && engine.rt().shared.panics_are_results
    {
        note_self(engine.rt());
    }
    crate::rt::is_unwinding()
}
