//! Events of an execution graph.

use selvedge_core::{Answer, Bits, EventId, Label, Location, Order, ThreadId};

/// A write that a read can see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The value of the location before anything is written there: before all others in modification order.
    Initial,
    /// A write in the graph.
    Write(EventId),
}

/// How an operation reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reading {
    /// It has no write part: a load, an await, a compare-exchange, try or try-lock that failed.
    Alone,
    /// A weak compare-exchange that read what it expected and failed spuriously.
    Spurious,
    /// It is the read part of a read-modify-write; the write part is the next event of its thread, or owed.
    Updating,
    /// An await that read a value that does not end it. Its thread waits here; only the search looks at the event.
    Blocked,
}

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    /// A read.
    Read {
        /// What it reads from (`rf`).
        from: Source,
        /// How.
        reading: Reading,
    },
    /// A write.
    Write {
        /// Its place in the modification order of its location (`mo`); the initial write has place 0.
        place: u32,
        /// Whether it is the write part of a read-modify-write (`rmw`).
        updating: bool,
    },
    /// A fence.
    Fence,
    /// Starts a thread.
    Spawn(ThreadId),
    /// Has waited for the end of a thread.
    Join(ThreadId),
    /// A choice.
    Choice,
    /// A non-atomic access to memory of the program's own.
    Access {
        /// Whether it writes.
        write: bool,
    },
}

/// An event. Its name is an [`EventId`]: the same in every execution that has it.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What its thread stood at.
    pub label: Label,
    /// What it is.
    pub act: Act,
    /// Where, if it is an access.
    pub at: Option<Location>,
    /// How. [`Order::Relaxed`] where an ordering means nothing.
    pub order: Order,
    /// What was read, written or chosen.
    pub value: Bits,
    /// When it was added to the graph: the search compares these.
    pub(super) stamp: u32,
    /// How many answers its thread had got when it was done.
    pub(super) answers: u32,
    /// Identifies it, with all before it in its thread, in the whole search.
    pub(super) life: u64,
}

impl Event {
    /// Returns whether it is a read that its thread waits at.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        matches!(self.act, Act::Read { reading: Reading::Blocked, .. })
    }

    /// Returns whether it is a fence with [`Order::SeqCst`].
    #[inline]
    pub(super) fn is_strong_fence(&self) -> bool {
        self.act == Act::Fence && self.order == Order::SeqCst
    }

    /// Returns what a read reads from.
    #[inline]
    pub fn source(&self) -> Option<Source> {
        match self.act {
            Act::Read { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Returns whether it is a read part whose write part comes next in its thread.
    #[inline]
    pub(super) fn is_updating_read(&self) -> bool {
        matches!(self.act, Act::Read { reading: Reading::Updating, .. })
    }

    /// Returns whether it is the write part of a read-modify-write.
    #[inline]
    pub(super) fn is_updating_write(&self) -> bool {
        matches!(self.act, Act::Write { updating: true, .. })
    }

    /// Returns whether it takes or gives up a mutex that is shared.
    #[inline]
    pub(super) fn is_of_share(&self) -> bool {
        matches!(self.label, Label::Share(_) | Label::Unshare(_))
    }

    /// Returns whether it is the read part of a lock.
    #[inline]
    pub(super) fn is_lock_read(&self) -> bool {
        matches!((self.act, self.label), (Act::Read { .. }, Label::Lock(_)))
    }

    /// Returns the answer that the thread gets for the event. `None`: the answer belongs to the read part, or the thread
    /// waits.
    pub fn answer(&self) -> Option<Answer> {
        match self.act {
            Act::Read { reading: Reading::Blocked, .. } | Act::Write { updating: true, .. } => None,
            Act::Read { reading: Reading::Updating, .. } => Some(match self.label {
                Label::Lock(_) => Answer::Done,
                _ => Answer::Value(self.value),
            }),
            Act::Read { reading: Reading::Spurious, .. } => Some(Answer::Failed(self.value)),
            Act::Read { reading: Reading::Alone, .. } => Some(match self.label {
                Label::Share(_) | Label::Unshare(_) => Answer::Done,
                Label::Compare { .. } | Label::Try { .. } | Label::TryLock(_) => {
                    Answer::Failed(self.value)
                }
                _ => Answer::Value(self.value),
            }),
            // A choice is made among fewer than 2³² values.
            Act::Choice => Some(Answer::Chosen(self.value as u32)),
            Act::Write { .. } | Act::Fence | Act::Spawn(_) | Act::Join(_) | Act::Access { .. } => {
                Some(Answer::Done)
            }
        }
    }
}

/// Returns the location and the ordering with which an operation reads, if it reads like this.
pub(super) fn reads(label: Label, reading: Reading) -> (Location, Order) {
    match label {
        Label::Load { at, order } => (at, order),
        Label::Update { at, order } | Label::Await { at, order, update: true } => {
            (at, order.of_read_part())
        }
        Label::Await { at, order, update: false } => (at, order),
        Label::Close(at) => (at, Order::Relaxed),
        Label::Compare { at, success, failure, .. } | Label::Try { at, success, failure } => {
            match reading {
                Reading::Updating => (at, success.of_read_part()),
                _ => (at, failure),
            }
        }
        Label::Lock(at) | Label::Share(at) => (at, Order::Acquire),
        Label::Unshare(at) => (at, Order::Relaxed),
        Label::TryLock(at) => match reading {
            Reading::Updating => (at, Order::Acquire),
            _ => (at, Order::Relaxed),
        },
        label => unreachable!("internal error: {label:?} reads nothing"),
    }
}
