//! Mutual exclusion.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use selvedge_core::ObjectId;

use super::guarded::{Guarded, Taken, changes_data, guards_data, shows_data};
use super::lock::{Hold, Lock};
use super::{LockResult, TryLockError, TryLockResult};
use crate::rt::{Content, Engine, Spot};

/// A mutual exclusion lock, as [`std::sync::Mutex`].
pub struct Mutex<T: ?Sized> {
    inner: Guarded<T>,
}

// SAFETY: all threads of checked code run on one system thread; the lock decides which of them may
// access the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// Unlocked.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { inner: Guarded::new(value, "Mutex", Location::caller()) }
    }

    /// Takes the data out.
    ///
    /// # Errors
    /// With the data, if the mutex is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(super) fn object(&self, engine: &Engine) -> ObjectId {
        self.inner.object(engine)
    }

    pub(super) fn state(&self) -> &Lock {
        self.inner.lock()
    }

    /// Waits for the lock and takes it.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let taken = self.inner.acquire(Hold::Alone, Location::caller());
        self.guard(taken)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or with the guard if the mutex is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.inner.try_acquire(Hold::Alone, Location::caller()) {
            Some(taken) => self.guard(taken).map_err(TryLockError::Poisoned),
            None => Err(TryLockError::WouldBlock),
        }
    }

    #[inline]
    fn guard(&self, taken: Taken) -> LockResult<MutexGuard<'_, T>> {
        let spot = taken.spot();
        self.inner.result(MutexGuard { lock: self, taken, not_send: PhantomData }, spot)
    }

    /// The data, as memory.
    pub(super) fn content(&self) -> Content {
        self.inner.content()
    }

    /// Takes the lock, which the caller had before.
    pub(super) fn acquire_again(&self, spot: Spot) {
        self.inner.acquire(Hold::Alone, spot);
    }

    /// Returns the guard of a thread that holds the lock again.
    pub(super) fn guarded(&self, spot: Spot) -> LockResult<MutexGuard<'_, T>> {
        self.guard(Taken::new(Hold::Alone, spot))
    }
}

guards_data!(Mutex, try_lock);

/// A mutex that is held; dropping it releases the mutex.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    taken: Taken,
    not_send: PhantomData<*const ()>,
}

shows_data!(MutexGuard);
changes_data!(MutexGuard);

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }
}
