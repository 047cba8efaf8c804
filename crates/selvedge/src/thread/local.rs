//! Thread-local values.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;

use crate::cell::Cell as CheckedCell;
use crate::rt::Engine;
use crate::rt::counted::note_self;

/// A thread-local key, declared with [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

/// The value was dropped already: its thread is ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Self { init }
    }

    /// Calls `f` with the value of this thread, which is made at its first use.
    ///
    /// # Panics
    /// If the value was dropped already.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f)
            .expect("cannot access a thread-local value during or after its destruction")
    }

    /// Like [`LocalKey::with`].
    ///
    /// # Errors
    /// If the value was dropped already.
    #[track_caller]
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let value = match self.find() {
            Some(found) => found?,
            None => {
                let new: Box<dyn Any> = Box::new((self.init)());
                // Its initialiser may have used it.
                match self.find() {
                    Some(found) => found?,
                    None => self.insert(new),
                }
            }
        };
        // SAFETY: the value is boxed, and dropped only when its thread ends.
        Ok(f(unsafe { &*value }))
    }

    /// Makes the value of `value` if it is not there yet, and else sets it.
    ///
    /// # Panics
    /// If the value was dropped already.
    #[track_caller]
    fn set_or<V>(&'static self, value: V, make: impl FnOnce(V) -> T, set: impl FnOnce(&T, V)) {
        match self.find() {
            None => _ = self.insert(Box::new(make(value))),
            Some(_) => self.with(|found| set(found, value)),
        }
    }

    fn key(&'static self) -> usize {
        &raw const *self as usize
    }

    fn find(&'static self) -> Option<Result<*const T, AccessError>> {
        let engine = Engine::enter();
        note_self(engine.rt());
        let me = engine.me();
        let rt = engine.rt();
        let Some(value) = rt.threads[me].own.locals.get(self.key())? else {
            return Some(Err(AccessError));
        };
        Some(value.downcast_ref::<T>().map(|value| &raw const *value).ok_or(AccessError))
    }

    fn insert(&'static self, value: Box<dyn Any>) -> *const T {
        let engine = Engine::enter();
        let me = engine.me();
        let locals = &mut engine.rt().threads[me].own.locals;
        let pointer = value.downcast_ref::<T>().map_or(std::ptr::null(), |value| &raw const *value);
        locals.insert(self.key(), value, std::mem::needs_drop::<T>());
        pointer
    }
}

/// Of cells: those of `std`, and this crate's.
macro_rules! local_cell {
    ($cell:ident) => {
        impl<T: 'static> LocalKey<$cell<T>> {
            /// Sets the value; if it is the first use, in place of the initial one.
            #[track_caller]
            pub fn set(&'static self, value: T) {
                self.set_or(value, $cell::new, |cell, value| cell.set(value));
            }

            /// Returns a copy of the value.
            #[track_caller]
            pub fn get(&'static self) -> T
            where
                T: Copy,
            {
                self.with($cell::get)
            }

            /// Takes the value and leaves the default one.
            #[track_caller]
            pub fn take(&'static self) -> T
            where
                T: Default,
            {
                self.with($cell::take)
            }

            /// Replaces the value.
            #[track_caller]
            pub fn replace(&'static self, value: T) -> T {
                self.with(|cell| cell.replace(value))
            }
        }
    };
}

local_cell!(Cell);
local_cell!(CheckedCell);

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with the value.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with the value, to change it.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value; if it is the first use, in place of the initial one.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.set_or(value, RefCell::new, |cell, value| *cell.borrow_mut() = value);
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Declares thread-local keys, as [`std::thread_local!`] does, also with `const`.
///
/// ```
/// use std::cell::{Cell, RefCell};
///
/// selvedge::thread_local! {
///     static DEPTH: Cell<u32> = const { Cell::new(0) };
///     static NAMES: RefCell<Vec<String>> = RefCell::new(Vec::new());
/// }
///
/// selvedge::check(|| {
///     DEPTH.set(1);
///     NAMES.with_borrow_mut(|names| names.push("main".to_owned()));
///     let other = selvedge::thread::spawn(|| (DEPTH.get(), NAMES.take().len()));
///     assert_eq!(other.join().unwrap(), (0, 0));
/// });
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr) => {
        $(#[$attribute])*
        $vis static $name: $crate::thread::LocalKey<$type> =
            $crate::thread::LocalKey::new(|| $init);
    };
}
