//! Typed indices into the tables of a program.

use std::fmt;

macro_rules! define_index {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index with this number.
            ///
            /// # Panics
            /// If it does not fit 32 bits: no source is that long.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("internal error: more than 2^32 ids"))
            }

            /// Returns the number, for indexing.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

define_index!(
    /// An index into [`Program::tables`](super::Program::tables).
    TableId,
    "table "
);
define_index!(
    /// An index into [`Program::enums`](super::Program::enums).
    EnumId,
    "enum "
);
define_index!(
    /// A place in the source: an index into [`Program::sites`](super::Program::sites).
    SiteId,
    "@"
);
define_index!(
    /// Declared shared objects: an index into [`Program::globals`](super::Program::globals).
    GlobalId,
    "g"
);
define_index!(
    /// A procedure: an index into [`Program::procedures`](super::Program::procedures).
    ProcedureId,
    "p"
);
define_index!(
    /// An atomic section: an index into [`Program::atomics`](super::Program::atomics).
    AtomicId,
    "atomic"
);
define_index!(
    /// A register of a frame: an index into [`Procedure::slots`](super::Procedure::slots).
    Slot,
    "%"
);
define_index!(
    /// The number of an instruction in its procedure.
    Label,
    "L"
);
