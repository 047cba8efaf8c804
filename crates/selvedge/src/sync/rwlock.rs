//! Reader-writer locks.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use super::guarded::{Guarded, Taken, changes_data, guards_data, shows_data};
use super::lock::Hold;
use super::{LockResult, TryLockError, TryLockResult};

/// A reader-writer lock, as [`std::sync::RwLock`]. Whether readers wait for a writer that waits is left open, as
/// in `std`, and both are explored: see [`RwLockPolicy`](crate::RwLockPolicy).
pub struct RwLock<T: ?Sized> {
    inner: Guarded<T>,
}

// SAFETY: all threads of checked code run on one system thread; the lock decides which of them may
// access the data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// Unlocked.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { inner: Guarded::new(value, "RwLock", Location::caller()) }
    }

    /// Takes the data out.
    ///
    /// # Errors
    /// With the data, if the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for the lock and takes it for reading.
    ///
    /// # Errors
    /// With the guard, if the lock is poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let taken = self.inner.acquire(Hold::Read, Location::caller());
        self.reading(taken)
    }

    /// Waits for the lock and takes it for writing.
    ///
    /// # Errors
    /// With the guard, if the lock is poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let taken = self.inner.acquire(Hold::Write, Location::caller());
        self.writing(taken)
    }

    /// Takes the lock for reading if no thread writes. While a writer waits, it may fail; both are tried.
    ///
    /// # Errors
    /// If a thread writes, or waits to, or with the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.inner.try_acquire(Hold::Read, Location::caller()) {
            Some(taken) => self.reading(taken).map_err(TryLockError::Poisoned),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// Takes the lock for writing if it is free.
    ///
    /// # Errors
    /// If a thread has, or with the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.inner.try_acquire(Hold::Write, Location::caller()) {
            Some(taken) => self.writing(taken).map_err(TryLockError::Poisoned),
            None => Err(TryLockError::WouldBlock),
        }
    }

    fn reading(&self, taken: Taken) -> LockResult<RwLockReadGuard<'_, T>> {
        let spot = taken.spot();
        self.inner.result(RwLockReadGuard { lock: self, taken, not_send: PhantomData }, spot)
    }

    fn writing(&self, taken: Taken) -> LockResult<RwLockWriteGuard<'_, T>> {
        let spot = taken.spot();
        self.inner.result(RwLockWriteGuard { lock: self, taken, not_send: PhantomData }, spot)
    }
}

guards_data!(RwLock, try_read);

/// A lock that is held for reading; dropping it releases the lock.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    taken: Taken,
    not_send: PhantomData<*const T>,
}

shows_data!(RwLockReadGuard);

/// A lock that is held for writing; dropping it releases the lock.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    taken: Taken,
    not_send: PhantomData<*const ()>,
}

shows_data!(RwLockWriteGuard);
changes_data!(RwLockWriteGuard);

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on reading; no writer comes in between.
    #[track_caller]
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(this).lock;
        let taken = lock.inner.downgrade(Location::caller());
        RwLockReadGuard { lock, taken, not_send: PhantomData }
    }
}
