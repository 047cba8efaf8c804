//! Programs with what the language got later than the rest: each in a profile of its own, so that the programs of the others
//! stay as they are.

use super::{Construct, Profile};

impl Profile {
    /// Operations on bits, with shifts out of range.
    pub fn bits() -> Self {
        Self { name: "bits", bits: true, ..Self::memory() }
    }

    /// Local arrays, with indices out of bounds.
    pub fn local_arrays() -> Self {
        Self { name: "local-arrays", local_arrays: true, ..Self::memory() }
    }

    /// Conditions that are read piece by piece, and writes in between.
    pub fn scans() -> Self {
        use Construct::*;
        Self {
            name: "scans",
            always: vec![Await, Await, ReadWrite],
            sometimes: vec![ReadWrite, Array, Branch, Atomic, Mutex, Assert, Call, Spawn, Mailbox],
            how_many: 0..=2,
            ops: 1..=3,
            threads: 2..=3,
            interleavings: 100_000.0,
            comparisons: 3,
            scans: true,
            ..Self::default()
        }
    }

    /// Ghosts after every kind of step, and assertions over them.
    pub fn ghosts() -> Self {
        use Construct::*;
        Self {
            name: "ghosts",
            always: vec![Ghost, Ghost, Ghost, ReadWrite],
            sometimes: vec![
                ReadWrite,
                Branch,
                Loop,
                Assert,
                Mutex,
                Spawn,
                Mailbox,
                Await,
                Daemon,
                Choose,
                Atomic,
                TryLock,
                ReaderWriterLock,
                Condition,
                Semaphore,
                Barrier,
                Channel,
                Timeout,
                ReadModifyWrite,
                Call,
                List,
                Watch,
                Assume,
            ],
            how_many: 0..=3,
            threads: 2..=3,
            ops: 1..=5,
            interleavings: 50_000.0,
            ..Self::default()
        }
    }

    /// Channels of every kind, with senders and receivers that wait for each other.
    pub fn channels() -> Self {
        use Construct::*;
        Self {
            name: "channels",
            always: vec![Channel, Channel, Channel, ReadWrite],
            sometimes: vec![
                ReadWrite, Branch, Loop, Assert, Mutex, Spawn, Mailbox, Await, Daemon, Choose,
                Atomic,
            ],
            how_many: 0..=2,
            threads: 2..=3,
            ops: 1..=3,
            interleavings: 50_000.0,
            ..Self::default()
        }
    }

    /// Messages when threads end, beside other messages to the same threads.
    pub fn monitors() -> Self {
        use Construct::*;
        Self {
            name: "monitors",
            always: vec![Monitor, Mailbox, Mailbox],
            sometimes: vec![
                Monitor, Timeout, ReadWrite, Branch, Assert, Watch, Atomic, Spawn, Mutex, Daemon,
                Choose, Await,
            ],
            how_many: 0..=2,
            threads: 2..=3,
            ops: 1..=2,
            interleavings: 20_000.0,
            ..Self::default()
        }
    }

    /// All of them.
    pub fn all() -> Vec<Self> {
        vec![
            Self::memory(),
            Self::locks(),
            Self::ordinary(),
            Self::waiting(),
            Self::everything(),
            Self::wide(),
            Self::wide_awaits(),
            Self::long(),
            Self::crowd(),
            Self::objects(),
            Self::spawning(),
            Self::extremes(),
            Self::choices(),
            Self::many_choices(),
            Self::several(),
            Self::arrays(),
            Self::chains(),
            Self::conditions(),
            Self::assumptions(),
            Self::endings(),
            Self::wide_endings(),
            Self::tries_and_awaits(),
            Self::invariants(),
            Self::bits(),
            Self::scans(),
            Self::channels(),
            Self::ghosts(),
            Self::local_arrays(),
            Self::monitors(),
        ]
    }
}
