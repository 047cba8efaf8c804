//! The seam between programs and the explorer of execution graphs.
//!
//! A [`System`](crate::System) has its own memory, and an explorer chooses which thread runs. Under a weak memory model
//! the explorer also chooses which write a read sees; so here memory belongs to the explorer, and a program is
//! only what its threads do with the values they are given.

use crate::ids::{Location, ThreadId};
use crate::order::Order;
use crate::replay::Description;
use crate::system::Ending;
use crate::violation::{Fault, Violation};

/// A value in memory, as its bits.
pub type Bits = u64;

/// What a thread stands at: its next operation, not yet answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// Reads a location.
    Load {
        /// Where.
        at: Location,
        /// How.
        order: Order,
    },
    /// Writes a location.
    Store {
        /// Where.
        at: Location,
        /// How.
        order: Order,
        /// What.
        value: Bits,
    },
    /// Reads and writes in one step; the thread computes what it writes from what it is answered.
    Update {
        /// Where.
        at: Location,
        /// How.
        order: Order,
    },
    /// Compare-exchange.
    Compare {
        /// Where.
        at: Location,
        /// The value that it replaces.
        expected: Bits,
        /// By this.
        new: Bits,
        /// How, if it does.
        success: Order,
        /// How, if it only reads.
        failure: Order,
        /// Whether it may fail although it reads what it expects.
        weak: bool,
    },
    /// Waits until [`GraphSystem::satisfies`] holds for the value there, and reads it.
    Await {
        /// Where.
        at: Location,
        /// How.
        order: Order,
        /// Whether it also writes in the same step, as [`Label::Update`] does.
        update: bool,
    },
    /// Reads, and if [`GraphSystem::satisfies`] holds for the value, also writes in the same step, as [`Label::Update`]
    /// does; else it continues without.
    Try {
        /// Where.
        at: Location,
        /// How, if it writes.
        success: Order,
        /// How, if it only reads.
        failure: Order,
    },
    /// Orders accesses before it and after it.
    Fence(Order),
    /// Takes a mutex, which is free while its value is 0. Only [`Label::Lock`], [`Label::TryLock`], [`Label::Unlock`],
    /// [`Label::Share`] and [`Label::Unshare`] touch its location.
    Lock(Location),
    /// Takes a mutex if it sees it free, and else continues without it.
    TryLock(Location),
    /// Gives up a mutex that the thread holds.
    Unlock(Location),
    /// Takes a mutex together with others that share it. One that is shared is taken by [`Label::Lock`] when all have given
    /// it up, and [`Label::TryLock`] does not touch it.
    Share(Location),
    /// Gives up a mutex that the thread shares.
    Unshare(Location),
    /// A non-atomic access to memory of the program's own. The explorer gives it no value: it only looks for
    /// data races.
    Access {
        /// Where.
        at: Location,
        /// Whether it writes.
        write: bool,
    },
    /// Starts a thread.
    Spawn(ThreadId),
    /// Tells others at a location that the thread has ended, as a relaxed [`Label::Update`], the last of the thread. It is
    /// one step with the event before it: what comes after that one comes after this one too.
    Close(Location),
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// Chooses a number below this one, which is not 0.
    Choose(u32),
    /// It ran to its end.
    Ended,
    /// It ended the program: nothing comes after its end, though others may still do what they could have done before.
    Exited,
    /// It stands at an `assume` that is false.
    Assumed,
    /// Something went wrong: [`GraphSystem::fault`] says what.
    Failed,
}

impl Label {
    /// Returns the location whose modification order it reads or adds to.
    #[inline]
    pub fn location(self) -> Option<Location> {
        match self {
            Label::Load { at, .. }
            | Label::Store { at, .. }
            | Label::Update { at, .. }
            | Label::Compare { at, .. }
            | Label::Await { at, .. }
            | Label::Try { at, .. }
            | Label::Lock(at)
            | Label::TryLock(at)
            | Label::Unlock(at)
            | Label::Share(at)
            | Label::Unshare(at)
            | Label::Close(at) => Some(at),
            Label::Fence(_)
            | Label::Access { .. }
            | Label::Spawn(_)
            | Label::Join(_)
            | Label::Choose(_)
            | Label::Ended
            | Label::Exited
            | Label::Assumed
            | Label::Failed => None,
        }
    }
}

/// The answer of the explorer to an operation of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// What was read. Of a compare-exchange, a try or a try-lock: and it succeeded.
    Value(Bits),
    /// What a compare-exchange, try or try-lock that failed has read.
    Failed(Bits),
    /// What was chosen.
    Chosen(u32),
    /// It is done, and has no value.
    Done,
}

/// A program whose memory is the explorer's.
///
/// # Contract
///
/// 1. *Deterministic:* the label of a thread depends only on the answers that it got, in their order.
/// 2. *Stable names:* threads and locations mean the same thing in every execution.
/// 3. *Shared only through labels:* a thread touches what others see only by its labels, or in memory of the
///    program's own at a [`Label::Access`]. Then it is right in every linear extension of program order,
///    reads-from, spawn and join, and explorers use no other order.
///
/// As in [`System`](crate::System), no method has a default: a system names what it does not have
/// ([`without!`](crate::without)).
pub trait GraphSystem {
    /// Returns to the initial state.
    fn restart(&mut self);

    /// Returns how many thread ids are known so far: all of them are below this number.
    fn thread_count(&self) -> usize;

    /// Returns whether a thread exists from the beginning. Others exist once a [`Label::Spawn`] was answered.
    fn is_root(&self, thread: ThreadId) -> bool;

    /// Returns the label at which `thread`, which exists, stands.
    fn label(&self, thread: ThreadId) -> Label;

    /// Returns whether this value ends the [`Label::Await`] that `thread` stands at, or lets the [`Label::Try`] succeed. It depends
    /// on the answers that the thread got and on nothing else.
    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool;

    /// Runs `thread` on to its next label. Returns what it writes, if it stood at a [`Label::Update`], a
    /// [`Label::Await`] that updates or a [`Label::Try`] that succeeded.
    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits>;

    /// Takes `thread` back to where it stood when it had got this many answers, if the system can do that
    /// without touching other threads. Returns whether it did. Threads that it has started since were taken back to
    /// their beginning before. If it did not, the explorer restarts and gives all answers again.
    fn rewind(&mut self, thread: ThreadId, answers: usize) -> bool;

    /// Returns the value of a location before anything is written there.
    fn initial(&self, at: Location) -> Bits;

    /// Returns the fault of a thread that stands at [`Label::Failed`].
    fn fault(&self, thread: ThreadId) -> Option<Fault>;

    /// Returns whether its threads use memory of the program's own. Then an answer to a thread comes after everything that
    /// is before it in program order, reads-from, spawn and join; and a data race ends an execution, since what
    /// comes after it is undefined.
    fn has_memory(&self) -> bool;

    /// What `thread`, which has memory of its own, writes if the update that it stands at reads this value. It does not continue:
    /// what it would do may be meaningless in a graph that is inconsistent.
    fn would_write(&self, thread: ThreadId, value: Bits) -> Option<Bits>;

    /// Called before a thread with memory gets the answer that its operation wrote: whether the write is the newest of its
    /// location, in modification order, of those answered so far.
    fn is_newest(&mut self, thread: ThreadId, newest: bool);

    /// The location that stands for the memory of `at` in data races: several locations may be in the same memory, one
    /// after the other.
    fn memory_of(&self, at: Location) -> Location;

    /// Judges an execution in which no thread can continue: returns how it ended, and its violation. All threads are where
    /// they ended; `last` returns the value that was written last to a location, if it was touched.
    ///
    /// A system with memory of its own may take its threads down to find out: the next call is [`Self::restart`].
    ///
    /// `None`: it judges nothing, and a thread that waits is deadlocked.
    fn judge(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
    ) -> Option<(Ending, Option<Violation>)>;
}

/// A [`GraphSystem`] that can describe its steps.
pub trait GraphDescribe: GraphSystem {
    /// The name of a thread.
    fn thread_name(&self, thread: ThreadId) -> String;

    /// The name of a location.
    fn location_name(&self, at: Location) -> String;

    /// Returns whether a location is a variable of the program, and not a part of something else, such as the waiters of a
    /// condition variable.
    fn is_variable(&self, at: Location) -> bool;

    /// A value of a location in words, if the system knows its type.
    fn value_text(&self, at: Location, value: Bits) -> Option<String>;

    /// What the thread that proceeded last did.
    fn describe_last(&self) -> Description;

    /// What a thread stands at.
    fn describe_pending(&mut self, thread: ThreadId) -> Description;
}
