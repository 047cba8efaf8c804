//! A value that is made at its first use.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::once_lock::OnceLock;

/// A value that is made at its first use, as [`std::sync::LazyLock`].
///
/// In a static it is made anew in every execution, so its initialiser must be one that can run more
/// than once: a function or a closure without content.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    make: UnsafeCell<ManuallyDrop<F>>,
    /// Whether `make` was used up.
    used: Cell<bool>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time; `make` is used by
// the one thread that initialises.
unsafe impl<T: Send, F: Send> Send for LazyLock<T, F> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// To be made by `make`.
    #[track_caller]
    pub const fn new(make: F) -> Self {
        let make = UnsafeCell::new(ManuallyDrop::new(make));
        Self { value: OnceLock::new(), make, used: Cell::new(false) }
    }

    /// Returns the value.
    ///
    /// # Panics
    /// If an earlier attempt to make it panicked.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init_once(std::mem::needs_drop::<F>(), || {
            // SAFETY: it is initialised once. A second time happens only after it was set back, to an
            // initialiser that owns nothing, or to a static; what the initialiser of a static owns was
            // made by the compiler, so that a copy of its bytes is as good as the original.
            let make = unsafe { std::ptr::read(this.make.get()) };
            this.used.set(true);
            ManuallyDrop::into_inner(make)()
        })
    }

    /// Returns the value, which the exclusive borrow protects.
    ///
    /// # Panics
    /// As [`LazyLock::force`].
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        let value = this.value.get_mut();
        value.expect("internal error: a value that was made is not there")
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value, if it was made.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        this.value.get_unless_spent(std::mem::needs_drop::<F>())
    }

    /// Returns the value, if it was made; the exclusive borrow protects it.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        if !self.used.get() {
            // SAFETY: it was not used, and is not used any more.
            unsafe { ManuallyDrop::drop(self.make.get_mut()) };
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        Self::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.look(std::mem::needs_drop::<F>()) {
            Some(value) => f.debug_tuple("LazyLock").field(value).finish(),
            None => f.write_str("LazyLock(<uninit>)"),
        }
    }
}
