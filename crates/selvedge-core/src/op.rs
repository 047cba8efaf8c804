//! What a step does to shared objects.

use std::fmt;

use smallvec::SmallVec;

use crate::ids::ObjectId;

/// How a step accesses an object.
///
/// Everything that orders events is an access, also the start and the end of a thread, a wake-up
/// or a message: each has an object of its own. So happens-before, races and classes need no
/// special cases. Which modes commute is defined in `dependence.rs` only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Mode {
    /// Reads a variable; also a compare-exchange that failed.
    Read,
    /// Writes a variable regardless of its value.
    Write,
    /// Reads a variable and writes it in one step: every read-modify-write that took effect. Also
    /// any access that depends on all others to its object, whatever they are.
    Update,

    /// Acquires a mutex, or a reader-writer lock for writing.
    Acquire,
    /// Releases what `Acquire` acquired.
    Release,
    /// Acquires a reader-writer lock for reading.
    ShareAcquire,
    /// Releases what `ShareAcquire` acquired.
    ShareRelease,
    /// Inspects a lock or semaphore without changing it: a try that failed, a misuse.
    Probe,

    /// Increments a semaphore.
    Up,
    /// Decrements a semaphore.
    Down,

    /// Starts to wait on a condition variable.
    Wait,
    /// Signals or broadcasts on a condition variable.
    Signal,
    /// Makes a waiting thread runnable; the object is that thread's wake-up.
    Wake,
    /// Continues after a wake-up; the object is the thread's own wake-up.
    Woken,

    /// Arrives at a barrier.
    Arrive,
    /// Continues after a barrier, when all have arrived.
    Pass,

    /// Puts a message into a mailbox; the object is the mailbox.
    Send,
    /// Finds no matching message and takes the timeout branch; the object is the mailbox.
    Timeout,
    /// Makes a message; the object is the message.
    Post,
    /// Takes a message; the object is the message.
    Take,

    /// Creates a thread; the objects are the thread and its wake-up.
    Spawn,
    /// The first event of a thread that was spawned; the object is the thread's own wake-up.
    Begin,
    /// The last event of a thread; the object is the thread.
    End,
    /// Waits for the end of a thread; the object is the thread.
    Join,
    /// Sees that a thread has not ended (or that it has); the object is the thread.
    Alive,

    /// Adds to what a later access may find, in an order that is not decided yet: a write or a send of a search with
    /// observers. No front end has it.
    Put,

    /// Checks an invariant, since something that it reads has changed; the object is the invariant.
    Check,

    /// Reads a ghost variable: one that only properties read.
    GhostRead,
    /// Writes a ghost variable.
    GhostWrite,
    /// Counts with a ghost variable, to which nothing is written otherwise.
    GhostAdd,
}

impl Mode {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Read => "read",
            Mode::Write => "write",
            Mode::Update => "update",
            Mode::Acquire => "acquire",
            Mode::Release => "release",
            Mode::ShareAcquire => "share-acquire",
            Mode::ShareRelease => "share-release",
            Mode::Probe => "probe",
            Mode::Up => "up",
            Mode::Down => "down",
            Mode::Wait => "wait",
            Mode::Signal => "signal",
            Mode::Wake => "wake",
            Mode::Woken => "woken",
            Mode::Arrive => "arrive",
            Mode::Pass => "pass",
            Mode::Send => "send",
            Mode::Timeout => "timeout",
            Mode::Post => "post",
            Mode::Take => "take",
            Mode::Spawn => "spawn",
            Mode::Begin => "begin",
            Mode::End => "end",
            Mode::Join => "join",
            Mode::Alive => "alive",
            Mode::Put => "put",
            Mode::Check => "check",
            Mode::GhostRead => "ghost-read",
            Mode::GhostWrite => "ghost-write",
            Mode::GhostAdd => "ghost-add",
        }
    }

    /// Returns whether it reads or writes a variable.
    #[inline]
    pub fn is_memory(self) -> bool {
        matches!(self, Mode::Read | Mode::Write | Mode::Update)
    }

    /// Returns whether it sees the value that was written last.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Mode::Read | Mode::Update)
    }

    /// Returns whether it writes a value.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Mode::Write | Mode::Update)
    }

    /// Returns whether it belongs to what is checked and not to the program: it orders executions, is in no data race and
    /// synchronises nothing.
    #[inline]
    pub fn is_of_properties(self) -> bool {
        matches!(self, Mode::Check | Mode::GhostRead | Mode::GhostWrite | Mode::GhostAdd)
    }

    /// Returns whether it changes a ghost variable.
    #[inline]
    pub fn changes_ghost(self) -> bool {
        matches!(self, Mode::GhostWrite | Mode::GhostAdd)
    }

    /// Returns whether the access to the object before this one is what makes the step possible in the
    /// first place: the creation of its thread, or its wake-up.
    #[inline]
    pub fn is_cause(self) -> bool {
        matches!(self, Mode::Begin | Mode::Woken)
    }
}

/// One object, and how it is accessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The object.
    pub object: ObjectId,
    /// How it is accessed.
    pub mode: Mode,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.mode, self.object)
    }
}

/// All accesses of one step: at most one per object.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Footprint {
    accesses: SmallVec<[Access; 2]>,
}

impl Clone for Footprint {
    #[inline]
    fn clone(&self) -> Self {
        Self { accesses: SmallVec::from_slice(&self.accesses) }
    }
}

impl Footprint {
    /// Touches nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the accesses of an event, which are to different objects.
    #[inline]
    pub fn of_event(accesses: &[Access]) -> Self {
        Self { accesses: SmallVec::from_slice(accesses) }
    }

    /// Adds an access. A second access to the same object makes both one: what is read after it
    /// was written is the step's own value, and any other two are an update.
    #[inline]
    pub fn add(&mut self, object: ObjectId, mode: Mode) {
        match self.accesses.iter_mut().find(|access| access.object == object) {
            Some(access) if access.mode == mode => {}
            Some(Access { mode: Mode::Write, .. }) if mode == Mode::Read => {}
            Some(access) if mode.is_of_properties() => access.mode = Mode::GhostWrite,
            Some(access) => access.mode = Mode::Update,
            None => self.accesses.push(Access { object, mode }),
        }
    }

    /// Forgets all accesses, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.accesses.clear();
    }

    /// Returns the accesses, in the order in which they were added.
    #[inline]
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// Returns whether it touches nothing that is shared.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }
}

impl fmt::Debug for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.accesses).finish()
    }
}

impl FromIterator<Access> for Footprint {
    fn from_iter<I: IntoIterator<Item = Access>>(accesses: I) -> Self {
        let mut footprint = Self::new();
        for access in accesses {
            footprint.add(access.object, access.mode);
        }
        footprint
    }
}
