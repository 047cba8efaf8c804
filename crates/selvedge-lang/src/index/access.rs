//! What a use of a name does to what it names.

use selvedge_core::Mode;

use super::SymbolKind;
use crate::ops::LockMode;

/// What a use does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// "reads", "locks", "calls": what stands between the thread and the name.
    pub verb: &'static str,
    /// How the step accesses the object, if it does. Decides what the step depends on.
    pub mode: Option<Mode>,
}

impl Access {
    pub(super) const DECLARES: Access = Access { verb: "declares", mode: None };
    pub(super) const NAMES: Access = Access { verb: "names", mode: None };
    pub(super) const READS: Access = Access::of("reads", Mode::Read);
    pub(super) const WRITES: Access = Access::of("writes", Mode::Write);
    pub(super) const UPDATES: Access = Access::of("reads and writes", Mode::Update);
    pub(super) const CHANGES: Access = Access::of("changes", Mode::Update);
    pub(super) const CALLS: Access = Access { verb: "calls", mode: None };
    pub(super) const SPAWNS: Access = Access { verb: "spawns", mode: None };
    pub(super) const JOINS: Access = Access { verb: "waits for the end of", mode: None };
    pub(super) const WATCHES: Access = Access { verb: "watches", mode: None };
    pub(super) const PUTS: Access = Access::of("sends to", Mode::Update);
    pub(super) const SENDS: Access = Access { verb: "sends to", mode: None };

    const fn of(verb: &'static str, mode: Mode) -> Self {
        Self { verb, mode: Some(mode) }
    }

    pub(super) fn acquires(mode: LockMode) -> Self {
        match mode {
            LockMode::Mutex => Self::of("locks", Mode::Acquire),
            LockMode::Read => Self::of("locks for reading", Mode::ShareAcquire),
            LockMode::Write => Self::of("locks for writing", Mode::Acquire),
        }
    }

    pub(super) fn releases(mode: LockMode) -> Self {
        match mode {
            LockMode::Mutex | LockMode::Write => Self::of("unlocks", Mode::Release),
            LockMode::Read => Self::of("unlocks for reading", Mode::ShareRelease),
        }
    }

    /// An object of this kind that is given to a routine, which may use it in every way.
    pub(super) fn passes(kind: SymbolKind) -> Self {
        let mode = match kind {
            SymbolKind::Mutex | SymbolKind::Rwlock => Mode::Acquire,
            SymbolKind::Cond => Mode::Signal,
            SymbolKind::Semaphore => Mode::Down,
            SymbolKind::Barrier => Mode::Arrive,
            _ => Mode::Update,
        };
        Self::of("passes", mode)
    }

    /// Returns what a built-in routine does to the object that is its argument with this index.
    pub(super) fn by_built_in(routine: &str, argument: usize) -> Option<Self> {
        Some(match (routine, argument) {
            ("load" | "contains" | "index_of" | "min" | "max" | "has" | "get" | "len", 0) => {
                Self::READS
            }
            ("store", 0) => Self::WRITES,
            ("exchange" | "fetch_add" | "compare_exchange", 0) => Self::UPDATES,
            ("push" | "pop" | "pop_front" | "remove" | "clear", 0) => Self::CHANGES,
            ("receive", 0) => Self::of("receives from", Mode::Update),
            ("try_lock" | "try_write_lock", 0) => Self::of("tries to lock", Mode::Acquire),
            ("try_read_lock", 0) => Self::of("tries to lock for reading", Mode::ShareAcquire),
            ("down" | "try_down", 0) => Self::of("decrements", Mode::Down),
            ("count", 0) => Self::of("reads", Mode::Probe),
            ("up", 0) => Self::of("increments", Mode::Up),
            ("wait", 0) => Self::of("waits on", Mode::Wait),
            ("wait", 1) => Self::of("unlocks and locks again", Mode::Release),
            ("signal" | "broadcast", 0) => Self::of("signals", Mode::Signal),
            ("arrive", 0) => Self::of("arrives at", Mode::Arrive),
            _ => return None,
        })
    }
}

/// Returns whether this argument of a built-in routine is a memory ordering, which is no name.
pub(super) fn is_ordering(routine: &str, argument: usize, word: &str) -> bool {
    let place = match routine {
        "fence" => argument == 0,
        "load" => argument == 1,
        "store" | "exchange" | "fetch_add" => argument == 2,
        "compare_exchange" => argument == 3 || argument == 4,
        _ => false,
    };
    place && matches!(word, "relaxed" | "acquire" | "release" | "acq_rel" | "seq_cst")
}
