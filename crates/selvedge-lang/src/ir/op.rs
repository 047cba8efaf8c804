//! The instructions.

use super::ids::{AtomicId, GlobalId, Label, ProcedureId, SiteId, Slot};

/// One instruction and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// The expression or statement it was lowered from.
    pub site: SiteId,
}

/// A value that an instruction uses. A constant fits every type that its value fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// What the slot holds.
    Slot(Slot),
    /// A constant; booleans are 0 and 1, threads that start at the beginning their number.
    Constant(i32),
}

/// One element of a [`Global`](super::Global).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRef {
    /// Which declaration.
    pub global: GlobalId,
    /// Which element, row by row: 0 without dimensions, a constant in range, or a slot that only
    /// [`Op::Index`] of the same global writes.
    pub index: Operand,
}

/// What an instruction does. `target` is the slot that gets the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    // ---- Invisible: slots and control flow ----
    /// `target = value`, of any one type.
    Copy {
        /// Gets the result.
        target: Slot,
        /// What is copied.
        value: Operand,
    },
    /// `target = op value`; faults on overflow.
    Unary {
        /// Which operation.
        op: UnaryOp,
        /// Gets the result.
        target: Slot,
        /// Its operand.
        value: Operand,
    },
    /// `target = left op right`; faults on overflow and division by zero.
    Binary {
        /// Which operation.
        op: BinaryOp,
        /// Gets the result.
        target: Slot,
        /// Left operand.
        left: Operand,
        /// Right operand.
        right: Operand,
    },
    /// `target` = flat index of an element; faults if an index is out of range. `target` is an
    /// integer slot that nothing but `Index` of the same global writes.
    Index {
        /// Gets the result.
        target: Slot,
        /// Has one dimension, or two if `second` is given.
        global: GlobalId,
        /// Index in the first dimension.
        first: Operand,
        /// Index in the second dimension.
        second: Option<Operand>,
    },
    /// `target` = handle of the thread `name[index]` among the `count` threads from number `first`
    /// on; faults if there is none. `index` counts as the declaration does: the smallest one is
    /// [`StaticThread::index`](super::StaticThread::index) of the first.
    ThreadIndex {
        /// Gets the result; of type thread.
        target: Slot,
        /// Number of the first thread of the declaration.
        first: u32,
        /// How many threads the declaration has.
        count: u32,
        /// Which of them.
        index: Operand,
    },
    /// `target` = handle of the running thread.
    Own {
        /// Gets the result; of type thread.
        target: Slot,
    },
    /// Goes to `to`.
    Jump {
        /// Where to.
        to: Label,
    },
    /// Goes to `then` if `condition` is true, else to `otherwise`.
    Branch {
        /// A boolean.
        condition: Operand,
        /// Where to if true.
        then: Label,
        /// Where to if false.
        otherwise: Label,
    },
    /// Calls a procedure.
    Call {
        /// Which.
        procedure: ProcedureId,
        /// One per parameter.
        arguments: Box<[Operand]>,
        /// Gets the result, if it is wanted; only of procedures that have one.
        target: Option<Slot>,
    },
    /// Goes back to the caller, or ends the thread.
    Return {
        /// Present exactly if the procedure has a result.
        value: Option<Operand>,
    },
    /// Faults unless `condition` is true. The site has the condition's text and what to show.
    Assert {
        /// A boolean.
        condition: Operand,
        /// What the user adds to the message.
        message: Option<Box<str>>,
    },
    /// Stops the thread, without a fault, unless `condition` is true.
    Assume {
        /// A boolean.
        condition: Operand,
    },

    // ---- Atomic sections ----
    /// Enters an atomic section; outside of others, the section is one visible operation.
    AtomicBegin {
        /// Which.
        atomic: AtomicId,
    },
    /// Leaves the atomic section entered last.
    AtomicEnd {
        /// Which.
        atomic: AtomicId,
    },
    /// Inside an atomic section only: disables the whole step while `condition` is false. The
    /// site has the condition's text.
    Await {
        /// A boolean.
        condition: Operand,
    },

    // ---- Variables ----
    /// `target = variable`.
    Read {
        /// Gets the value; of the variable's type.
        target: Slot,
        /// What is read.
        variable: ObjectRef,
    },
    /// `variable = value`.
    Write {
        /// What is written.
        variable: ObjectRef,
        /// The new value, of the variable's type.
        value: Operand,
    },
    /// `target` = whether `variable` was `expected`; if so it becomes `new`.
    CompareExchange {
        /// Gets the result; boolean.
        target: Slot,
        /// What is changed.
        variable: ObjectRef,
        /// Compared with the variable; of its type.
        expected: Operand,
        /// The new value; of its type.
        new: Operand,
    },
    /// `target` = old value of `variable`, which becomes `new`.
    Exchange {
        /// Gets the old value; of the variable's type.
        target: Slot,
        /// What is changed.
        variable: ObjectRef,
        /// The new value; of its type.
        new: Operand,
    },
    /// `target` = old value of `variable`, which grows by `delta`; faults on overflow.
    FetchAdd {
        /// Gets the old value; an integer.
        target: Slot,
        /// What is changed; an integer.
        variable: ObjectRef,
        /// What is added.
        delta: Operand,
    },

    // ---- Locks ----
    /// Takes a mutex.
    Lock {
        /// Which.
        mutex: ObjectRef,
    },
    /// Releases a mutex.
    Unlock {
        /// Which.
        mutex: ObjectRef,
    },
    /// `target` = whether the mutex was free and is now taken.
    TryLock {
        /// Gets the result; boolean.
        target: Slot,
        /// Which.
        mutex: ObjectRef,
    },
    /// Takes a reader-writer lock for reading.
    ReadLock {
        /// Which.
        rwlock: ObjectRef,
    },
    /// Releases what `ReadLock` acquired.
    ReadUnlock {
        /// Which.
        rwlock: ObjectRef,
    },
    /// `target` = whether the lock is now taken for reading.
    TryReadLock {
        /// Gets the result; boolean.
        target: Slot,
        /// Which.
        rwlock: ObjectRef,
    },
    /// Takes a reader-writer lock for writing.
    WriteLock {
        /// Which.
        rwlock: ObjectRef,
    },
    /// Releases what `WriteLock` acquired.
    WriteUnlock {
        /// Which.
        rwlock: ObjectRef,
    },
    /// `target` = whether the lock is now taken for writing.
    TryWriteLock {
        /// Gets the result; boolean.
        target: Slot,
        /// Which.
        rwlock: ObjectRef,
    },

    // ---- Semaphores, condition variables, barriers ----
    /// Raises a semaphore.
    Up {
        /// Which.
        semaphore: ObjectRef,
    },
    /// Lowers a semaphore once it is positive.
    Down {
        /// Which.
        semaphore: ObjectRef,
    },
    /// `target` = whether the semaphore was positive and is now lowered.
    TryDown {
        /// Gets the result; boolean.
        target: Slot,
        /// Which.
        semaphore: ObjectRef,
    },
    /// Releases the mutex and waits for a signal; then acquires the mutex again. Two steps.
    Wait {
        /// Where signals are awaited.
        cond: ObjectRef,
        /// Held by the thread.
        mutex: ObjectRef,
    },
    /// Wakes one waiting thread, if there is one.
    Signal {
        /// Which.
        cond: ObjectRef,
    },
    /// Wakes all waiting threads.
    Broadcast {
        /// Which.
        cond: ObjectRef,
    },
    /// Arrives at a barrier and waits for the others. Two steps.
    Arrive {
        /// Which.
        barrier: ObjectRef,
    },

    // ---- Lists and maps ----
    /// `target` = answer to a question about a list or map.
    ReadContainer {
        /// Gets the result.
        target: Slot,
        /// A list or map.
        container: ObjectRef,
        /// What is asked.
        query: Query,
    },
    /// Changes a list or map.
    ChangeContainer {
        /// A list or map.
        container: ObjectRef,
        /// How.
        change: Change,
    },

    // ---- Threads and messages ----
    /// Creates a thread that runs `procedure`.
    Spawn {
        /// Its code. A result is thrown away.
        procedure: ProcedureId,
        /// One per parameter.
        arguments: Box<[Operand]>,
        /// Gets the handle, if it is wanted.
        target: Option<Slot>,
    },
    /// Waits for the end of a thread.
    Join {
        /// Its handle.
        thread: Operand,
    },
    /// Sends a message.
    Send {
        /// Handle of the receiver.
        to: Operand,
        /// The message: 1 to 8 integers or booleans.
        values: Box<[Operand]>,
    },
    /// Takes the oldest message in the thread's own mailbox that fits any alternative, by the
    /// first alternative that it fits, and goes to that alternative's label.
    Receive {
        /// At least one, unless there is an `after`.
        alternatives: Box<[Alternative]>,
        /// Where to if no message fits; without it the step waits.
        after: Option<Label>,
    },

    // ---- Others ----
    /// `target` = one of `low`, …, `high - 1`, the scheduler's choice.
    Choose {
        /// Gets the value. A boolean only if the range is the constants 0 and 2.
        target: Slot,
        /// Smallest value.
        low: Operand,
        /// One above the largest value.
        high: Operand,
    },
    /// A step that touches nothing.
    Yield,
}

/// An operation on one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-v`.
    Negate,
    /// `!v`, on booleans.
    Not,
    /// `abs(v)`.
    Abs,
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`, towards zero.
    Divide,
    /// `%`, with the sign of the left operand.
    Remainder,
    /// `min(a, b)`.
    Min,
    /// `max(a, b)`.
    Max,
    /// `==`, on integers or booleans.
    Equal,
    /// `!=`, on integers or booleans.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
}

/// A question about a list or map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// The element of a list with this index; faults if there is none.
    Element(Operand),
    /// Number of elements of a list or map.
    Length,
    /// Whether a list has this element; boolean.
    Contains(Operand),
    /// The value of a map for this key; faults if there is none.
    Get(Operand),
    /// The value of a map for the first, or the second if there is none.
    GetOr(Operand, Operand),
    /// Whether a map has this key; boolean.
    Has(Operand),
}

/// A change of a list or map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Appends to a list.
    Push(Operand),
    /// Overwrites the element of a list with the index (first) by the value (second); faults if
    /// there is none.
    Set(Operand, Operand),
    /// Takes the last element of a list into the slot, if one is given; faults if there is none.
    Pop(Option<Slot>),
    /// Takes the first element of a list into the slot, if one is given; faults if there is none.
    PopFront(Option<Slot>),
    /// Maps the key (first) to the value (second).
    Insert(Operand, Operand),
    /// Takes a key out of a map; no effect if it has none.
    Remove(Operand),
    /// Empties a list or map.
    Clear,
}

/// One way to take a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// One per value of the message; a message of another length does not fit.
    pub patterns: Box<[Pattern]>,
    /// A further condition.
    pub guard: Option<Guard>,
    /// Where to if it is taken.
    pub to: Label,
}

/// What a value of a message must be, and where it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Equal to this.
    Equal(Operand),
    /// Anything; stored in the slot, an integer, when the message is taken.
    Bind(Slot),
    /// Anything.
    Ignore,
}

/// A condition on a message: a procedure that returns a boolean and has only invisible
/// instructions but [`Op::Assume`] and [`Op::Own`], also in what it calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The code.
    pub procedure: ProcedureId,
    /// One per parameter.
    pub arguments: Box<[GuardArgument]>,
}

/// An argument of a [`Guard`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardArgument {
    /// A value of the receiving frame, from before the message is taken.
    Local(Operand),
    /// The message's value with this index; an integer.
    Element(u32),
}
