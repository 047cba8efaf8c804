//! Visible operations: what a thread announces before it does it.

use selvedge_core::{Mode, Order};

use crate::spin::Looks;

/// How memory is accessed: a number of the shim, above it the memory ordering of an atomic access, and in the upper half which access of
/// the shim it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct How(pub(crate) u64);

impl How {
    pub(crate) const WRITE: How = How(1);
    /// An update that is ordered with everything.
    pub(crate) const UPDATE: How = How(6 | SEQ_CST << 8);

    fn kind(self) -> u64 {
        self.0 & 0xff
    }

    /// Returns the same without which access of the shim it is.
    pub(crate) fn without_site(self) -> Self {
        How(self.0 & 0xffff)
    }

    /// Returns which access of the shim it is; 0 for those of the checker.
    pub(crate) fn site(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns whether a loop can be recognised here. Not where the shim writes what is not part of the state of the code that called it,
    /// nor in loops of its own, during which that code does not come round.
    pub(crate) fn is_place_of_loop(self) -> bool {
        self.kind() != 7 && self.0 & IN_LOOP == 0
    }

    /// Returns the mode of the access.
    pub(crate) fn mode(self) -> Mode {
        match self.kind() {
            0 | 2 | 4 => Mode::Read,
            1 | 3 | 5 | 7 => Mode::Write,
            // Also what the shim does not have: it depends on everything.
            _ => Mode::Update,
        }
    }

    /// Returns its ordering. A volatile access is no data race, and orders no other access, as if it were atomic and relaxed.
    pub(crate) fn order(self) -> Order {
        match self.kind() {
            0 | 1 | 7 => Order::NonAtomic,
            2 | 3 => Order::Relaxed,
            _ => order(self.0 >> 8),
        }
    }

    pub(crate) fn is_atomic(self) -> bool {
        !self.is_volatile() && self.order() != Order::NonAtomic
    }

    pub(crate) fn is_volatile(self) -> bool {
        matches!(self.kind(), 2 | 3)
    }

    /// Returns whether an ordering weaker than sequential consistency is asked for.
    pub(crate) fn is_weak(self) -> bool {
        !self.is_volatile() && !matches!(self.order(), Order::NonAtomic | Order::SeqCst)
    }
}

const SEQ_CST: u64 = 5;
const IN_LOOP: u64 = 1 << 16;

/// Returns the memory ordering with the number that compilers give it.
pub(crate) fn order(number: u64) -> Order {
    match number & 0xff {
        0 => Order::Relaxed,
        // Compilers treat the weaker `consume` as `acquire`.
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

/// Why an operation is in a program's way to an error: what it returns then.
pub(crate) const EPERM: u64 = 1;
pub(crate) const ESRCH: u64 = 3;
pub(crate) const EAGAIN: u64 = 11;
pub(crate) const EBUSY: u64 = 16;
pub(crate) const EINVAL: u64 = 22;
pub(crate) const EDEADLK: u64 = 35;
pub(crate) const ETIMEDOUT: u64 = 110;
/// What one thread at a barrier gets.
pub(crate) const SERIAL_THREAD: u64 = u64::MAX;

/// A visible operation. Addresses are those of the program's objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Accesses memory.
    Access { address: usize, size: usize, how: How },
    /// Compares, and writes if it finds what lies at `wanted`.
    Compare { address: usize, size: usize, wanted: usize, orders: Orders },
    /// Orders what its thread does around it.
    Fence { order: Order },
    /// Creates a thread.
    Spawn { child: usize },
    /// Waits for the end of a thread.
    Join { target: usize, timed: bool },
    /// Looks whether a thread has ended.
    TryJoin { target: usize, otherwise: u64 },
    /// The last step of a thread.
    End,
    /// Makes or destroys an object: no thread may use it now.
    Make { address: usize, what: What },
    /// Takes a mutex.
    Lock { address: usize, kind: Kind, timed: bool },
    /// Takes several mutexes at once, whose addresses lie at `list`.
    LockAll { list: usize, count: usize },
    /// Takes a mutex if it is free.
    TryLock { address: usize, kind: Kind, otherwise: u64 },
    /// Releases a mutex.
    Unlock { address: usize, kind: Kind },
    /// Releases a mutex and waits for a signal, or for something else that ends it.
    Wait { cond: usize, mutex: usize, timed: bool, ends: Ends },
    /// Takes the mutex again.
    Reacquire { mutex: usize, depth: u32, result: u64 },
    /// Wakes one waiter, or all.
    Signal { cond: usize, all: bool },
    /// Takes a reader-writer lock.
    RwLock { address: usize, write: bool, timed: bool },
    /// Takes a reader-writer lock if that is possible.
    RwTry { address: usize, write: bool, otherwise: u64 },
    /// Releases a reader-writer lock.
    RwUnlock { address: usize },
    /// Lowers a semaphore.
    Down { address: usize, timed: bool },
    /// Lowers a semaphore if it is not 0.
    TryDown { address: usize, otherwise: u64 },
    /// Raises a semaphore.
    Up { address: usize },
    /// Looks at the value of a semaphore.
    Value { address: usize },
    /// Comes to a barrier.
    Arrive { address: usize },
    /// Leaves it when all have come.
    Pass { address: usize, round: u64, result: u64 },
    /// Begins what is done once, or finds that it was done.
    Once { address: usize, is_marked: bool },
    /// Ends what is done once: it is done, or failed and is tried again.
    OnceEnd { address: usize, is_marked: bool, is_done: bool },
    /// Waits for a wake-up if a word is what it is expected to be, or only until its time is up.
    FutexWait { address: usize, size: usize, wanted: usize, timed: bool, expires: bool },
    /// Continues after a wake-up.
    FutexWoken { address: usize },
    /// Wakes so many of those that wait for a word.
    FutexWake { address: usize, most: usize },
    /// Chooses whether what comes next ends spuriously.
    Whim,
    /// Chooses one of several alternatives.
    Choose { most: u32 },
    /// Has allocated a block: a write of all of it, for data races.
    Allocate { block: usize },
    /// Frees a block.
    Free { block: usize, by: By },
    /// Shows what went wrong before the first operation of a thread.
    Doomed,
    /// Waits until something that a loop looked at has changed.
    Spin,
}

/// How a wait on a condition variable ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    Signalled,
    TimedOut,
    WithoutReason,
}

/// The orderings of a compare-exchange: if it finds what it wants, and if not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Orders {
    pub(crate) success: Order,
    pub(crate) failure: Order,
}

/// Kinds of mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Its holder deadlocks with itself if it takes it again.
    Normal,
    /// Its holder can take it again.
    Recursive,
    /// Errors are returned.
    Checked,
}

impl Kind {
    pub(crate) fn new(number: u64) -> Self {
        match number {
            1 => Kind::Recursive,
            2 => Kind::Checked,
            _ => Kind::Normal,
        }
    }
}

/// By which function a block was allocated, or is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// `malloc` and its family.
    Malloc,
    /// The same: a block that moves.
    Realloc,
    New,
    NewArray,
}

impl By {
    pub(crate) fn new(number: u64) -> Self {
        match number {
            1 => By::New,
            2 => By::NewArray,
            _ => By::Malloc,
        }
    }

    /// Returns whether what is allocated by `self` can be freed by `other`.
    pub(crate) fn fits(self, other: By) -> bool {
        let family = |by: By| if by == By::Realloc { By::Malloc } else { by };
        family(self) == family(other)
    }

    /// Returns what allocates like this, and what frees it.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            By::Malloc | By::Realloc => ("malloc", "free"),
            By::New => ("new", "delete"),
            By::NewArray => ("new[]", "delete[]"),
        }
    }

    /// Returns what a thread does that frees.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            By::Malloc => "frees",
            By::Realloc => "reallocates",
            By::New | By::NewArray => "deletes",
        }
    }
}

/// What is made or destroyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Mutex,
    Cond,
    RwLock,
    Semaphore(u64),
    Barrier(u64),
    NoMutex,
    NoSpinLock,
    NoCond,
    NoRwLock,
    NoSemaphore,
    NoBarrier,
}

impl What {
    /// Returns the name of the object, and whether it is destroyed.
    pub(crate) fn name(self) -> (&'static str, bool) {
        match self {
            What::Mutex => ("mutex", false),
            What::Cond => ("condition variable", false),
            What::RwLock => ("reader-writer lock", false),
            What::Semaphore(_) => ("semaphore", false),
            What::Barrier(_) => ("barrier", false),
            What::NoMutex => ("mutex", true),
            What::NoSpinLock => ("spin lock", true),
            What::NoCond => ("condition variable", true),
            What::NoRwLock => ("reader-writer lock", true),
            What::NoSemaphore => ("semaphore", true),
            What::NoBarrier => ("barrier", true),
        }
    }
}

impl Op {
    /// Returns whether time alone would end the wait.
    pub(crate) fn is_timed(self) -> bool {
        match self {
            Op::Join { timed, .. }
            | Op::Lock { timed, .. }
            | Op::RwLock { timed, .. }
            | Op::Down { timed, .. } => timed,
            _ => false,
        }
    }

    /// Returns what it returns if it fails, if it may fail and changes nothing then.
    pub(crate) fn tries(self) -> Option<u64> {
        match self {
            Op::TryLock { otherwise, .. }
            | Op::TryDown { otherwise, .. }
            | Op::RwTry { otherwise, .. } => Some(otherwise),
            _ => None,
        }
    }

    /// Returns what it looks at, and would look at again, if it changes nothing.
    pub(crate) fn looks(self) -> Option<Looks> {
        match self {
            Op::Access { address, size, how } => {
                Some(Looks::Memory { address, size, site: how.site() })
            }
            Op::Compare { address, size, .. } => Some(Looks::Memory { address, size, site: 0 }),
            Op::TryLock { address, .. } => Some(Looks::Mutex(address)),
            Op::Lock { address, timed: false, .. } => Some(Looks::Taken(address)),
            Op::Unlock { address, .. } => Some(Looks::GivenUp(address)),
            _ => None,
        }
    }
}
