//! Integers.

use std::fmt;

use super::Ordering;
use super::core::{Core, Value};

macro_rules! atomic_integer {
    ($name:ident, $type:ty) => {
        impl Value for $type {
            fn bits(self) -> u64 {
                self as u64
            }

            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }

        #[doc = concat!("An atomic `", stringify!($type), "`.")]
        pub struct $name {
            core: Core<$type>,
        }

        // SAFETY: all threads of checked code run on one thread of the system, one at a time, and every
        // access is a step of its own. Other threads cannot enter the engine.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
        impl std::panic::RefUnwindSafe for $name {}

        impl $name {
            /// Creates one with this value.
            #[track_caller]
            pub const fn new(value: $type) -> Self {
                Self { core: Core::new(value, stringify!($name)) }
            }

            /// Sets it to itself plus `value`, wrapping round; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_add(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_add", order, |old| old.wrapping_add(value))
            }

            /// Sets it to itself minus `value`, wrapping round; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_sub(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_sub", order, |old| old.wrapping_sub(value))
            }

            /// Sets it to `self & value`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_and(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_and", order, |old| old & value)
            }

            /// Sets it to `!(self & value)`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_nand(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_nand", order, |old| !(old & value))
            }

            /// Sets it to `self | value`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_or(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_or", order, |old| old | value)
            }

            /// Sets it to `self ^ value`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_xor(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_xor", order, |old| old ^ value)
            }

            /// Sets it to the larger of itself and `value`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_max(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_max", order, |old| old.max(value))
            }

            /// Sets it to the smaller of itself and `value`; returns the previous value.
            #[inline]
            #[track_caller]
            pub fn fetch_min(&self, value: $type, order: Ordering) -> $type {
                self.core.modify("fetch_min", order, |old| old.min(value))
            }
        }

        super::others::atomic_common!($name, $type);

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl From<$type> for $name {
            #[track_caller]
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.core.look().fmt(f)
            }
        }
    };
}

atomic_integer!(AtomicI8, i8);
atomic_integer!(AtomicI16, i16);
atomic_integer!(AtomicI32, i32);
atomic_integer!(AtomicI64, i64);
atomic_integer!(AtomicIsize, isize);
atomic_integer!(AtomicU8, u8);
atomic_integer!(AtomicU16, u16);
atomic_integer!(AtomicU32, u32);
atomic_integer!(AtomicU64, u64);
atomic_integer!(AtomicUsize, usize);
