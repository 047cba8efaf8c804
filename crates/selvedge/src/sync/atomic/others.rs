//! Truth values, pointers, and what they share with integers.

use std::fmt;

use super::Ordering;
use super::core::{Core, Value};
use crate::rt::Runtime;
use crate::rt::address_text;

macro_rules! atomic_common {
    ($name:ident $(<$parameter:ident>)?, $type:ty) => {
        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// Reads the value.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                self.core.load(order)
            }

            /// Writes the value.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                self.core.store(value, order);
            }

            /// Writes the value; returns the previous one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("swap", order, |_| value)
            }

            /// Writes `new` if the value is `current`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn compare_and_swap(&self, current: $type, new: $type, order: Ordering) -> $type {
                let orders = (order, Ordering::SeqCst);
                let result = self.core.compare_exchange("compare_and_swap", current, new, orders);
                result.unwrap_or_else(|found| found)
            }

            /// Writes `new` if the value is `current`.
            ///
            /// # Errors
            /// The value, if it is another.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                let orders = (success, failure);
                self.core.compare_exchange("compare_exchange", current, new, orders)
            }

            /// As [`Self::compare_exchange`], but it may fail spuriously: see
            /// [`Builder::spurious`](crate::Builder::spurious).
            ///
            /// # Errors
            /// The value, if it is another.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                let orders = (success, failure);
                self.core.compare_exchange_weak(current, new, orders)
            }

            /// Replaces the value by what `f` makes of it, trying again if it changes meanwhile.
            ///
            /// # Errors
            /// The value, if `f` returns `None`.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                self.core.try_update("fetch_update", set, fetch, f)
            }

            /// As [`Self::fetch_update`].
            ///
            /// # Errors
            /// The value, if `f` returns `None`.
            #[track_caller]
            pub fn try_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                self.core.try_update("try_update", set, fetch, f)
            }

            /// Replaces the value by what `f` makes of it, trying again if it changes meanwhile;
            /// returns the previous value.
            #[track_caller]
            pub fn update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($type) -> $type,
            ) -> $type {
                let updated = self.core.try_update("update", set, fetch, |old| Some(f(old)));
                updated.unwrap_or_else(|old| old)
            }

            /// Returns the value, not atomically: a data race with any other access that is
            /// not ordered otherwise.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $type {
                self.core.get_mut("get_mut")
            }

            /// As [`Self::get_mut`].
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $type) -> R) -> R {
                f(self.core.get_mut("with_mut"))
            }

            /// Takes the value out.
            pub const fn into_inner(self) -> $type {
                self.core.into_inner()
            }

            /// Returns a pointer to the value. What is done through it is not seen.
            pub const fn as_ptr(&self) -> *mut $type {
                self.core.as_ptr()
            }

            /// Reads the value without synchronising: a data race with any write of another thread
            /// that is not ordered otherwise.
            ///
            /// # Safety
            /// As for reading through a pointer: no other thread may write meanwhile. (The check
            /// reports it if one does.)
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $type {
                self.core.unsync_load()
            }
        }
    };
}
pub(super) use atomic_common;

impl Value for bool {
    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
}

/// An atomic `bool`.
pub struct AtomicBool {
    core: Core<bool>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time, and every access is
// a step of its own. Other threads cannot enter the engine.
unsafe impl Send for AtomicBool {}
// SAFETY: as above.
unsafe impl Sync for AtomicBool {}
impl std::panic::RefUnwindSafe for AtomicBool {}

impl AtomicBool {
    /// Creates one with this value.
    #[track_caller]
    pub const fn new(value: bool) -> Self {
        Self { core: Core::new(value, "AtomicBool") }
    }

    /// Sets it to `self && value`; returns the previous value.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.core.modify("fetch_and", order, |old| old & value)
    }

    /// Sets it to `!(self && value)`; returns the previous value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.core.modify("fetch_nand", order, |old| !(old & value))
    }

    /// Sets it to `self || value`; returns the previous value.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.core.modify("fetch_or", order, |old| old | value)
    }

    /// Sets it to `self ^ value`; returns the previous value.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.core.modify("fetch_xor", order, |old| old ^ value)
    }

    /// Sets it to `!self`; returns the previous value.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.core.modify("fetch_not", order, |old| !old)
    }
}

atomic_common!(AtomicBool, bool);

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

impl From<bool> for AtomicBool {
    #[track_caller]
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.look().fmt(f)
    }
}

impl<T> Value for *mut T {
    fn bits(self) -> u64 {
        self as usize as u64
    }

    fn from_bits(bits: u64) -> Self {
        bits as usize as Self
    }

    fn text(self, rt: &Runtime) -> String {
        address_text(rt, self as usize)
    }
}

/// An atomic pointer.
pub struct AtomicPtr<T> {
    core: Core<*mut T>,
}

// SAFETY: as for `AtomicBool`; what it points to is the responsibility of the code that uses the pointer.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for AtomicPtr<T> {}
impl<T> std::panic::RefUnwindSafe for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    /// Creates one with this value.
    #[track_caller]
    pub const fn new(value: *mut T) -> Self {
        Self { core: Core::new(value, "AtomicPtr") }
    }

    /// Moves it `count` values on, wrapping round; returns the previous value.
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_ptr_add", order, |old| old.wrapping_add(count))
    }

    /// Moves it `count` values back, wrapping round; returns the previous value.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_ptr_sub", order, |old| old.wrapping_sub(count))
    }

    /// Moves it `count` bytes on, wrapping round; returns the previous value.
    #[track_caller]
    pub fn fetch_byte_add(&self, count: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_byte_add", order, |old| old.wrapping_byte_add(count))
    }

    /// Moves it `count` bytes back, wrapping round; returns the previous value.
    #[track_caller]
    pub fn fetch_byte_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_byte_sub", order, |old| old.wrapping_byte_sub(count))
    }

    /// Sets its address to `self | value`, for tags in low bits; returns the previous value.
    #[track_caller]
    pub fn fetch_or(&self, value: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_or", order, |old| old.map_addr(|old| old | value))
    }

    /// Sets its address to `self & value`, for tags in low bits; returns the previous value.
    #[track_caller]
    pub fn fetch_and(&self, value: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_and", order, |old| old.map_addr(|old| old & value))
    }

    /// Sets its address to `self ^ value`, for tags in low bits; returns the previous value.
    #[track_caller]
    pub fn fetch_xor(&self, value: usize, order: Ordering) -> *mut T {
        self.core.modify("fetch_xor", order, |old| old.map_addr(|old| old ^ value))
    }
}

atomic_common!(AtomicPtr<T>, *mut T);

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    #[track_caller]
    fn from(value: *mut T) -> Self {
        Self::new(value)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.look().fmt(f)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.core.look(), f)
    }
}
