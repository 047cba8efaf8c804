//! What a mutex and a reader-writer lock have in common: a lock, and the data that it guards.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Deref;

use selvedge_core::{Mode, ObjectId};

use super::lock::{Hold, Lock, Poison, TouchPoison};
use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::rt::knowers;
use crate::rt::{Content, Engine, Header, Observed, Restorer, Spot, is_unwinding, shown};

/// Data that a lock guards.
pub(super) struct Guarded<T: ?Sized> {
    header: Header,
    /// What it is called.
    kind: &'static str,
    lock: Lock,
    data: UnsafeCell<T>,
}

/// What a guard knows about how it was taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    hold: Hold,
    /// Whether the thread was unwinding.
    unwound: bool,
    spot: Spot,
}

impl Taken {
    pub(super) fn new(hold: Hold, spot: Spot) -> Self {
        Self { hold, unwound: is_unwinding(), spot }
    }

    pub(super) fn spot(self) -> Spot {
        self.spot
    }
}

impl<T> Guarded<T> {
    pub(super) const fn new(value: T, kind: &'static str, created: Spot) -> Self {
        let header = Header::new(created);
        Self { header, kind, lock: Lock::new(), data: UnsafeCell::new(value) }
    }

    pub(super) fn into_inner(self) -> LockResult<T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> Guarded<T> {
    #[inline]
    pub(super) fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, self.kind, || restorer(&self.lock, self.data.get()))
    }

    pub(super) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Its user holds the lock.
    #[inline]
    pub(super) fn data(&self) -> *mut T {
        self.data.get()
    }

    /// The data, as memory.
    pub(super) fn content(&self) -> Content {
        let data = self.data.get();
        // SAFETY: the data lies in the lock; only its length is asked for.
        let length = unsafe { size_of_val(&*data) };
        Content { address: data.cast::<u8>() as usize, length, shown: shown::<T> }
    }

    /// Waits for the lock and takes it.
    pub(super) fn acquire(&self, hold: Hold, spot: Spot) -> Taken {
        let engine = Engine::enter();
        let object = self.object(&engine);
        self.lock.acquire(&engine, object, hold, self.content(), spot);
        Taken::new(hold, spot)
    }

    /// Takes the lock if it is free.
    pub(super) fn try_acquire(&self, hold: Hold, spot: Spot) -> Option<Taken> {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let is_free = self.lock.try_acquire(&engine, object, hold, self.content(), spot);
        is_free.then(|| Taken::new(hold, spot))
    }

    /// Releases the lock. A thread that panicked while it had it alone leaves poison, and others can see
    /// that before the lock is free.
    pub(super) fn release(&self, taken: Taken) {
        let poisons = taken.hold != Hold::Read && !taken.unwound && is_unwinding();
        // SAFETY: the thread holds the lock.
        knowers::found_in(unsafe { &*self.data() });
        let Some(engine) = Engine::try_enter() else { return };
        let object = self.object(&engine);
        // A thread that is taken down did not panic: destructors that come next find no poison.
        let poisons = poisons && !engine.rt().threads[engine.me()].own.aborting;
        if poisons {
            // Under a memory model, the next holder of the lock sees it.
            if !engine.asks() {
                self.touch_poison(Poison::Leave, taken.spot);
            }
            self.lock.poison();
        }
        let content = self.content();
        let left = match taken.hold {
            Hold::Read => Observed::Inside,
            Hold::Alone | Hold::Write if poisons => Observed::Changed(Mode::Probe),
            Hold::Alone | Hold::Write => Observed::Gave(content),
        };
        self.lock.release(&engine, object, taken.hold, (content, left), taken.spot);
    }

    /// Goes on reading; no writer comes in between.
    pub(super) fn downgrade(&self, spot: Spot) -> Taken {
        if let Some(engine) = Engine::try_enter() {
            let object = self.object(&engine);
            self.lock.downgrade(&engine, object, self.content(), spot);
        }
        Taken::new(Hold::Read, spot)
    }

    /// A guard, or an error with it. Poison is looked at after the lock is taken: another thread may clear it
    /// in between. If there is none, none can be left.
    #[inline]
    pub(super) fn result<G>(&self, guard: G, spot: Spot) -> LockResult<G> {
        // SAFETY: the thread holds the lock.
        knowers::found_in(unsafe { &*self.data() });
        let is_asked = || Engine::try_enter().is_some_and(|engine| engine.asks());
        if self.lock.is_poisoned() && !is_asked() {
            self.touch_poison(Poison::Look, spot);
        }
        result(guard, self.lock.is_poisoned())
    }

    pub(super) fn is_poisoned(&self, spot: Spot) -> bool {
        self.touch_poison(Poison::Look, spot);
        self.lock.is_poisoned()
    }

    pub(super) fn clear_poison(&self, spot: Spot) {
        self.touch_poison(Poison::Clear, spot);
        self.lock.clear_poison();
    }

    #[cold]
    fn touch_poison(&self, what: Poison, spot: Spot) {
        if let Some(engine) = Engine::try_enter() {
            let lock = self.object(&engine);
            let poison = self.header.part(&engine, lock, "poison", 1);
            engine.visible(&TouchPoison { lock, poison, what }, spot);
            match what {
                Poison::Look => engine.observed(poison, Observed::Looked(Mode::Read)),
                Poison::Leave | Poison::Clear => {
                    engine.observed(poison, Observed::Changed(Mode::Read))
                }
            }
        }
    }

    pub(super) fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.lock.is_poisoned();
        result(self.data.get_mut(), poisoned)
    }
}

impl<T: ?Sized + fmt::Debug> Guarded<T> {
    /// Shows the lock with its data, which is looked at with `try_lock`, or without a step.
    pub(super) fn show<G: Deref<Target = T>>(
        &self,
        try_lock: impl FnOnce() -> TryLockResult<G>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let taken = crate::rt::may_step_to_show().then(try_lock);
        let mut text = f.debug_struct(self.kind);
        match &taken {
            Some(Ok(guard)) => _ = text.field("data", &&**guard),
            Some(Err(TryLockError::Poisoned(error))) => _ = text.field("data", &&**error.get_ref()),
            Some(Err(TryLockError::WouldBlock)) => {
                _ = text.field("data", &format_args!("<locked>"))
            }
            // SAFETY: the lock is free, so that there is no reference to the data.
            None if self.lock.is_unused() => _ = text.field("data", &unsafe { &*self.data() }),
            None => _ = text.field("data", &format_args!("<locked>")),
        }
        text.field("poisoned", &self.lock.is_poisoned()).finish_non_exhaustive()
    }
}

/// How a static lock and what it guards are set back.
fn restorer<T: ?Sized>(lock: &Lock, data: *mut T) -> Restorer {
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

fn result<T>(value: T, poisoned: bool) -> LockResult<T> {
    if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
}

/// What guards have in common: they show the data.
macro_rules! shows_data {
    ($guard:ident) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: the owner of the guard holds the lock, so that no other thread writes.
                unsafe { &*self.lock.inner.data() }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                self.lock.inner.release(self.taken);
            }
        }

        // SAFETY: it only provides access to the data.
        unsafe impl<T: ?Sized + Sync> Sync for $guard<'_, T> {}

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// What guards that can change the data have in common.
macro_rules! changes_data {
    ($guard:ident) => {
        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the owner of the guard holds the lock alone, and has borrowed the guard alone.
                unsafe { &mut *self.lock.inner.data() }
            }
        }

        impl<T: ?Sized> std::panic::RefUnwindSafe for $guard<'_, T> {}
    };
}

/// What locks have in common: poison, and the data of one that no other thread can reach. `$looks`: how `Debug` takes it.
macro_rules! guards_data {
    ($lock:ident, $looks:ident) => {
        impl<T: ?Sized> $lock<T> {
            /// Returns whether a thread panicked while it could change the data.
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                self.inner.is_poisoned(Location::caller())
            }

            /// Takes the poison away.
            #[track_caller]
            pub fn clear_poison(&self) {
                self.inner.clear_poison(Location::caller());
            }

            /// Returns the data, which the exclusive borrow protects: no step.
            ///
            /// # Errors
            /// With the data, if the lock is poisoned.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.inner.get_mut()
            }
        }

        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.show(|| self.$looks(), f)
            }
        }
    };
}

pub(super) use {changes_data, guards_data, shows_data};
