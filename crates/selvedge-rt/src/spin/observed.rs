//! What types say about their operations.

use selvedge_core::Mode;

/// What the running thread came to know, or left, when it performed an operation on an object. Each says in which
/// mode the thread would look again, where that matters.
#[derive(Clone, Copy, Debug)]
pub enum Observed {
    /// It found a value, and left one.
    Value {
        /// How it would look again.
        look: Mode,
        /// The value before.
        found: u64,
        /// The value after.
        left: u64,
    },
    /// It looked at something that has no value, or none that is known.
    Looked(Mode),
    /// It changed something in a way that no value shows. That it did so itself is no reason to look again.
    Changed(Mode),
    /// It came to know what others left there, and this number; it does not look again.
    Heard(u64),
    /// A lock is held for writing or reading now, or not.
    Held {
        /// Whether for writing.
        written: bool,
        /// Whether for reading.
        read: bool,
    },
    /// It looked at what a lock guards, and changed nothing.
    Inside,
    /// It is about to take a lock that guards what lies at an address.
    Takes(Content),
    /// It gave up a lock, and may have changed what lies at an address.
    Gave(Content),
}

/// Memory that a lock guards.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Where it lies.
    pub address: usize,
    /// Its length in bytes.
    pub length: usize,
    /// What lies at that address in words, if its type has any.
    pub shown: fn(usize) -> Option<String>,
}
