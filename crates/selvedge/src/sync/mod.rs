//! Locks, conditions, channels and reference counts, as in [`std::sync`].

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
