//! Mutual exclusion.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use selvedge_core::{Mode, ObjectId};

use super::lock::{Hold, Lock, TouchPoison};
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::rt::{Engine, Header, Restorer, Spot};

/// A mutual exclusion lock, as [`std::sync::Mutex`].
pub struct Mutex<T: ?Sized> {
    header: Header,
    lock: Lock,
    data: UnsafeCell<T>,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns; who may touch the
// data is decided by the lock.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
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
    /// With the data, if the mutex is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    pub(super) fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, "Mutex", || restorer(&self.lock, self.data.get()))
    }

    pub(super) fn state(&self) -> &Lock {
        &self.lock
    }

    /// Waits for the lock and takes it.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        self.lock.acquire(&engine, object, Hold::Alone, spot);
        drop(engine);
        self.guarded(spot)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or with the guard if the mutex is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        let taken = self.lock.try_acquire(&engine, object, Hold::Alone, spot);
        drop(engine);
        match taken {
            true => self.guarded(spot).map_err(TryLockError::Poisoned),
            false => Err(TryLockError::WouldBlock),
        }
    }

    pub(super) fn guarded(&self, spot: Spot) -> LockResult<MutexGuard<'_, T>> {
        let guard = MutexGuard {
            mutex: self,
            spot,
            changed: Cell::new(false),
            panicking: std::thread::panicking(),
            not_send: PhantomData,
        };
        result(guard, self.lock.is_poisoned())
    }

    /// Whether a thread panicked while it held the lock.
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

    /// The data, to those who own the mutex: no step.
    ///
    /// # Errors
    /// With the data, if the mutex is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.get_mut(), poisoned)
    }
}

/// How a static lock and what it guards are set back.
pub(super) fn restorer<T: ?Sized>(lock: &Lock, data: *mut T) -> Restorer {
    let lock: *const Lock = lock;
    // SAFETY: the data lies in the lock, which outlives the execution, and no thread is left when it
    // is set back.
    match unsafe { Restorer::of(data) } {
        Restorer::Bytes { content, length, drop, owns } => {
            let reset: Box<dyn FnOnce()> = Box::new(move || {
                // SAFETY: as above.
                unsafe { (*lock).reset() };
                drop();
            });
            Restorer::Bytes { content, length, drop: reset, owns }
        }
        other => other,
    }
}

pub(super) fn result<T>(value: T, poisoned: bool) -> LockResult<T> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Looks at the data as `try_lock` does.
impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checked = Engine::try_enter().is_some();
        show("Mutex", checked.then(|| self.try_lock()), &self.lock, f)
    }
}

/// A lock with its data; `taken` is nothing if the check is over.
pub(super) fn show<T: ?Sized + fmt::Debug, G: Deref<Target = T>>(
    name: &str,
    taken: Option<TryLockResult<G>>,
    lock: &Lock,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut text = f.debug_struct(name);
    match &taken {
        Some(Ok(guard)) => _ = text.field("data", &&**guard),
        Some(Err(TryLockError::Poisoned(error))) => _ = text.field("data", &&**error.get_ref()),
        Some(Err(TryLockError::WouldBlock)) => _ = text.field("data", &format_args!("<locked>")),
        None => {}
    }
    text.field("poisoned", &lock.is_poisoned()).finish_non_exhaustive()
}

/// A mutex that is held; dropping it gives the mutex up.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Where it was taken.
    spot: Spot,
    changed: Cell<bool>,
    /// Whether the thread was unwinding when it took the lock.
    panicking: bool,
    not_send: PhantomData<*const ()>,
}

// SAFETY: it only gives access to the data.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }

    pub(super) fn may_have_changed(&self) -> bool {
        self.changed.get()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: whoever has the guard holds the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed.set(true);
        // SAFETY: whoever has the guard holds the lock, and has borrowed it alone.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let lock = &self.mutex.lock;
        if !self.panicking && std::thread::panicking() {
            lock.poison();
        }
        if let Some(engine) = Engine::try_enter() {
            let object = self.mutex.object(&engine);
            lock.release(&engine, object, Hold::Alone, self.changed.get(), self.spot);
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
