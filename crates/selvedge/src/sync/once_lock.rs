//! A value that is written once.

use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use super::once::Once;
use crate::rt::{Engine, Header, Restorer, knowers};

/// A cell that is written once, as [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    header: Header,
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time; the value is
// written once, before any thread can see it.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Empty.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            header: Header::new(Location::caller()),
            once: Once::new(),
            value: UnsafeCell::new(None),
        }
    }

    /// Sees to it that a static one is emptied after the execution. `spends`: whether what fills it is used
    /// up by that; then there is no other way than a static.
    fn register(&self, spends: bool) {
        let engine = Engine::enter();
        self.header.object(&engine, "OnceLock", || {
            let value = self.value.get();
            let reset: Box<dyn FnOnce() + '_> = Box::new(move || {
                // SAFETY: what outlives an execution is not freed before the check is over, and no
                // thread is left that could look at it.
                drop(unsafe { (*value).take() });
            });
            // SAFETY: only the lifetime changes; as above.
            let reset =
                unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(reset) };
            let covers = value as usize..value as usize + size_of::<Option<T>>();
            Restorer::Empties { covers, reset, spends }
        });
    }

    /// Returns the value, if it was written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.get_unless_spent(false)
    }

    /// As [`OnceLock::get`]. `spends`: as for `register`.
    #[track_caller]
    pub(super) fn get_unless_spent(&self, spends: bool) -> Option<&T> {
        self.register(spends);
        self.once.is_completed().then(|| self.written())
    }

    /// The value if it was written, to show it.
    #[track_caller]
    pub(super) fn look(&self, spends: bool) -> Option<&T> {
        match crate::rt::may_step_to_show() {
            true => self.get_unless_spent(spends),
            // SAFETY: as above.
            false if self.once.was_completed() => unsafe { (*self.value.get()).as_ref() },
            false => None,
        }
    }

    /// Writes the value.
    ///
    /// # Errors
    /// With the value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("an initialisation runs once"));
        value.map_or(Ok(()), Err)
    }

    /// Returns the value; the first caller writes it.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.register(false);
        self.once.call_once_force(|_| self.write(f()));
        self.written()
    }

    /// As [`OnceLock::get_or_init`], but a panic of `f` is the end of it.
    #[track_caller]
    pub(super) fn get_or_init_once(&self, spends: bool, f: impl FnOnce() -> T) -> &T {
        self.register(spends);
        self.once.call_once(|| self.write(f()));
        self.written()
    }

    /// Waits until the value is written.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.register(false);
        self.once.wait_force();
        self.written()
    }

    fn write(&self, value: T) {
        // SAFETY: no thread can see the value before the initialisation is complete.
        unsafe { *self.value.get() = Some(value) };
    }

    fn written(&self) -> &T {
        // SAFETY: once complete, the value does not change while it is shared.
        let value = unsafe { (*self.value.get()).as_ref() };
        let value = value.expect("internal error: a complete cell is empty");
        knowers::found_in(value);
        value
    }

    /// Returns the value, which the exclusive borrow protects.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Takes the value out.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out and leaves an empty cell.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let new = Self::new();
        let _ = new.set(value);
        new
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().map_or_else(Self::new, |value| Self::from(value.clone()))
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.look(false) {
            Some(value) => f.debug_tuple("OnceLock").field(value).finish(),
            None => f.write_str("OnceLock(<uninit>)"),
        }
    }
}
