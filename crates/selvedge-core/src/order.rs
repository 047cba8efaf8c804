//! Memory orderings, as in C++ and Rust.

use std::fmt;
use std::sync::atomic::Ordering;

/// The memory ordering of an operation, as in C++ and Rust.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// Not atomic: it can be part of a data race.
    NonAtomic,
    /// Of an object that no code can name, such as the list of those who wait at a condition variable: it cannot be part of a
    /// data race, and makes nothing else visible. [`Order::Relaxed`] would, together with fences.
    Unseen,
    /// Atomic, and orders nothing else.
    Relaxed,
    /// What it reads from is seen with all that was before it.
    Acquire,
    /// A read that takes its value from it sees everything that happened before it.
    Release,
    /// Both.
    AcqRel,
    /// Both, and in one order with all others of its kind.
    SeqCst,
}

impl Order {
    /// Returns whether a read or fence with it acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Returns whether a write or fence with it releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }

    /// Returns whether an access with it is to an atomic object: fences make it synchronise.
    #[inline]
    pub fn is_atomic(self) -> bool {
        !matches!(self, Order::NonAtomic | Order::Unseen)
    }

    /// Of the read part of a read-modify-write with this ordering.
    #[inline]
    pub fn of_read_part(self) -> Self {
        match self {
            Order::NonAtomic | Order::Unseen => self,
            Order::Relaxed | Order::Release => Order::Relaxed,
            Order::Acquire | Order::AcqRel => Order::Acquire,
            Order::SeqCst => Order::SeqCst,
        }
    }

    /// Of a compare-exchange that fails, if only the ordering for success was said: what is left of it for a load.
    #[inline]
    pub fn of_failure(self) -> Self {
        self.of_read_part()
    }

    /// Of the write part of a read-modify-write with this ordering.
    #[inline]
    pub fn of_write_part(self) -> Self {
        match self {
            Order::NonAtomic | Order::Unseen => self,
            Order::Relaxed | Order::Acquire => Order::Relaxed,
            Order::Release | Order::AcqRel => Order::Release,
            Order::SeqCst => Order::SeqCst,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::NonAtomic | Order::Unseen => "no ordering",
            Order::Relaxed => "Relaxed",
            Order::Acquire => "Acquire",
            Order::Release => "Release",
            Order::AcqRel => "AcqRel",
            Order::SeqCst => "SeqCst",
        })
    }
}

impl From<Ordering> for Order {
    fn from(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Acquire => Order::Acquire,
            Ordering::Release => Order::Release,
            Ordering::AcqRel => Order::AcqRel,
            Ordering::SeqCst => Order::SeqCst,
            // One that does not exist yet synchronises nothing until it is known what it does.
            _ => Order::Relaxed,
        }
    }
}
