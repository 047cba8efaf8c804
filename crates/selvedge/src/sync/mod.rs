//! Locks, conditions, channels and reference counts, as in [`std::sync`].
//!
//! A lock is poisoned by a panic, a wait with a time limit is tried both ways, and statics are set
//! back before each execution:
//!
//! ```
//! use selvedge::sync::{Condvar, Mutex};
//! use selvedge::thread;
//! use std::time::Duration;
//!
//! static READY: Mutex<bool> = Mutex::new(false);
//! static CHANGED: Condvar = Condvar::new();
//!
//! selvedge::check(|| {
//!     let setter = thread::spawn(|| {
//!         *READY.lock().unwrap() = true;
//!         CHANGED.notify_all();
//!     });
//!     let guard = READY.lock().unwrap();
//!     let waited = CHANGED.wait_timeout_while(guard, Duration::from_secs(1), |ready| !*ready);
//!     let (ready, result) = waited.unwrap();
//!     assert_eq!(*ready, !result.timed_out());
//!     drop(ready);
//!     setter.join().unwrap();
//! });
//! ```

mod answered;
pub(crate) mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod guarded;
mod lazy;
pub(crate) mod lock;
pub mod mpsc;
mod mutex;
mod notify;
mod once;
mod once_lock;
mod rwlock;
pub(crate) mod waiting_writers;

pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use notify::Notify;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
