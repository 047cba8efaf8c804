//! Reader-writer locks.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use selvedge_core::{Mode, ObjectId};

use super::lock::{Hold, Lock, TouchPoison};
use super::mutex::{restorer, result, show};
use super::{LockResult, TryLockError, TryLockResult};
use crate::rt::{Engine, Header, Spot};

/// A reader-writer lock, as [`std::sync::RwLock`]. Readers never wait for a writer that waits.
pub struct RwLock<T: ?Sized> {
    header: Header,
    lock: Lock,
    data: UnsafeCell<T>,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns; who may touch the
// data is decided by the lock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// Unlocked.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self {
            header: Header::new(Location::caller()),
            lock: Lock::new(),
            data: UnsafeCell::new(value),
        }
    }

    /// Takes the data out.
    ///
    /// # Errors
    /// With the data, if the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> RwLock<T> {
    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, "RwLock", || restorer(&self.lock, self.data.get()))
    }

    fn acquire(&self, hold: Hold, spot: Spot) {
        let engine = Engine::enter();
        let object = self.object(&engine);
        self.lock.acquire(&engine, object, hold, spot);
    }

    fn try_acquire(&self, hold: Hold, spot: Spot) -> bool {
        let engine = Engine::enter();
        let object = self.object(&engine);
        self.lock.try_acquire(&engine, object, hold, spot)
    }

    fn release(&self, hold: Hold, changed: bool, spot: Spot) {
        if let Some(engine) = Engine::try_enter() {
            let object = self.object(&engine);
            self.lock.release(&engine, object, hold, changed, spot);
        }
    }

    /// Waits for the lock and takes it for reading.
    ///
    /// # Errors
    /// With the guard, if the lock is poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let spot = Location::caller();
        self.acquire(Hold::Read, spot);
        self.reading(spot)
    }

    /// Waits for the lock and takes it for writing.
    ///
    /// # Errors
    /// With the guard, if the lock is poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let spot = Location::caller();
        self.acquire(Hold::Write, spot);
        self.writing(spot)
    }

    /// Takes the lock for reading if nobody writes.
    ///
    /// # Errors
    /// If somebody does, or with the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let spot = Location::caller();
        match self.try_acquire(Hold::Read, spot) {
            true => self.reading(spot).map_err(TryLockError::Poisoned),
            false => Err(TryLockError::WouldBlock),
        }
    }

    /// Takes the lock for writing if nobody has it.
    ///
    /// # Errors
    /// If somebody has, or with the guard if the lock is poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let spot = Location::caller();
        match self.try_acquire(Hold::Write, spot) {
            true => self.writing(spot).map_err(TryLockError::Poisoned),
            false => Err(TryLockError::WouldBlock),
        }
    }

    fn reading(&self, spot: Spot) -> LockResult<RwLockReadGuard<'_, T>> {
        result(RwLockReadGuard { lock: self, spot, not_send: PhantomData }, self.lock.is_poisoned())
    }

    fn writing(&self, spot: Spot) -> LockResult<RwLockWriteGuard<'_, T>> {
        let guard = RwLockWriteGuard {
            lock: self,
            spot,
            changed: Cell::new(false),
            panicking: std::thread::panicking(),
            not_send: PhantomData,
        };
        result(guard, self.lock.is_poisoned())
    }

    /// Whether a thread panicked while it wrote.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.touch_poison(Mode::Read, "is_poisoned", Location::caller());
        self.lock.is_poisoned()
    }

    /// Takes the poison away.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.touch_poison(Mode::Write, "clear_poison", Location::caller());
        self.lock.clear_poison();
    }

    /// A step that looks at the poison, or takes it away.
    fn touch_poison(&self, mode: Mode, verb: &'static str, spot: Spot) {
        if let Some(engine) = Engine::try_enter() {
            let lock = self.object(&engine);
            let poison = self.header.part(&engine, "poison", 1);
            engine.visible(&TouchPoison { lock, poison, mode, verb }, spot);
        }
    }

    /// The data, to those who own the lock: no step.
    ///
    /// # Errors
    /// With the data, if the lock is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.get_mut(), poisoned)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Looks at the data as `try_read` does.
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = Engine::try_enter().is_some();
        show("RwLock", checked.then(|| self.try_read()), &self.lock, f)
    }
}

/// A lock that is held for reading; dropping it gives the lock up.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    spot: Spot,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it only gives access to the data.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: whoever has the guard holds the lock for reading, so nobody writes.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.release(Hold::Read, false, self.spot);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A lock that is held for writing; dropping it gives the lock up.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    spot: Spot,
    changed: Cell<bool>,
    /// Whether the thread was unwinding when it took the lock.
    panicking: bool,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it only gives access to the data.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on reading; no writer comes in between.
    #[track_caller]
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let spot = Location::caller();
        let this = ManuallyDrop::new(this);
        if let Some(engine) = Engine::try_enter() {
            let object = this.lock.object(&engine);
            this.lock.lock.downgrade(&engine, object, this.changed.get(), spot);
        }
        RwLockReadGuard { lock: this.lock, spot, not_send: PhantomData }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: whoever has the guard holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed.set(true);
        // SAFETY: whoever has the guard holds the lock, and has borrowed it alone.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if !self.panicking && std::thread::panicking() {
            self.lock.lock.poison();
        }
        self.lock.release(Hold::Write, self.changed.get(), self.spot);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
