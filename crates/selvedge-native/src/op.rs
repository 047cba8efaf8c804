//! Visible operations: what a thread announces before it does it.

use selvedge_core::Mode;

use crate::spin::Looks;

/// How memory is accessed. The numbers are those of the shim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct How(pub(crate) u64);

impl How {
    pub(crate) const READ: How = How(0);
    pub(crate) const WRITE: How = How(1);
    pub(crate) const VOLATILE_READ: How = How(2);
    pub(crate) const VOLATILE_WRITE: How = How(3);
    pub(crate) const LOAD: How = How(4);
    pub(crate) const STORE: How = How(5);
    pub(crate) const WEAK_LOAD: How = How(7);
    pub(crate) const WEAK_STORE: How = How(8);
    pub(crate) const WEAK_UPDATE: How = How(9);

    /// Returns the mode of the access.
    pub(crate) fn mode(self) -> Mode {
        match self {
            How::READ | How::VOLATILE_READ | How::LOAD | How::WEAK_LOAD => Mode::Read,
            How::WRITE | How::VOLATILE_WRITE | How::STORE | How::WEAK_STORE => Mode::Write,
            // Also what the shim does not have: it depends on everything.
            _ => Mode::Update,
        }
    }

    /// Returns whether it synchronises nothing.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, How::READ | How::WRITE)
    }

    /// Returns whether an ordering weaker than sequential consistency is asked for.
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, How::WEAK_LOAD | How::WEAK_STORE | How::WEAK_UPDATE)
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
    Compare { address: usize, size: usize, wanted: usize },
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
    /// Takes a mutex if it is free.
    TryLock { address: usize, kind: Kind, otherwise: u64 },
    /// Releases a mutex.
    Unlock { address: usize, kind: Kind },
    /// Releases a mutex and waits, or only until its time is up.
    Wait { cond: usize, mutex: usize, timed: bool, expires: bool },
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
    Once { address: usize },
    /// Ends what is done once.
    OnceDone { address: usize },
    /// Chooses one of several alternatives.
    Choose { most: u32 },
    /// Frees a block.
    Free { block: usize, verb: &'static str },
    /// Shows what went wrong before the first operation of a thread.
    Doomed,
    /// Waits until something that a loop looked at has changed.
    Spin,
}

/// Kinds of mutexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Its holder waits for good if it takes it again.
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

/// What is made or destroyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Mutex,
    Cond,
    RwLock,
    Semaphore(u64),
    Barrier(u64),
    NoMutex,
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

    /// Returns the memory that it looks at, and would look at again, if it changes nothing.
    pub(crate) fn looks(self) -> Option<Looks> {
        match self {
            Op::Access { address, size, .. } | Op::Compare { address, size, .. } => {
                Some(Looks::Memory { address, size })
            }
            Op::TryLock { address, .. } => Some(Looks::Mutex(address)),
            _ => None,
        }
    }
}
