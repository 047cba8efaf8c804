//! The state of a program: a plain value that can be cloned and compared.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::ViolationKind;

/// What expressions are, and what the visible operations of a thread returned to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Value {
    /// Nothing: the operation was done.
    Unit,
    Int(i32),
    Bool(bool),
    /// A constant array.
    Table(Vec<Value>),
    /// A local array.
    Array(Vec<Value>),
    /// A value of an enumeration: its name and its number.
    Member(String, i32),
    Thread(ThreadId),
    /// What a parameter stands for: something declared, and the indices that are known.
    Object(String, Vec<i32>),
    /// What `receive` took: by which of its branches, and the message.
    Message(usize, Vec<i32>),
}

impl Value {
    /// # Panics
    /// If it is of another type: the checker would have rejected the program.
    pub(super) fn int(&self) -> i32 {
        match self {
            Value::Int(value) => *value,
            other => panic!("{other:?} is not an integer"),
        }
    }

    /// # Panics
    /// If it is of another type.
    pub(super) fn bool(&self) -> bool {
        match self {
            Value::Bool(value) => *value,
            other => panic!("{other:?} is not a boolean"),
        }
    }

    /// As it is sent: booleans as 0 and 1, values of enumerations by their numbers.
    pub(super) fn sent(&self) -> i32 {
        match self {
            Value::Bool(value) => i32::from(*value),
            Value::Member(_, number) => *number,
            other => other.int(),
        }
    }
}

/// The name of a thread: the same in all orders of execution. A thread that starts at the beginning has one number;
/// one that is spawned has those of the thread that spawned it, and how many that had spawned before.
pub(super) type ThreadId = Vec<u32>;

/// Something shared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Object {
    Variable(Value),
    /// Its holder.
    Mutex(Option<ThreadId>),
    RwLock {
        writer: Option<ThreadId>,
        readers: BTreeSet<ThreadId>,
    },
    /// Its waiters.
    Cond(BTreeSet<ThreadId>),
    Semaphore(i32),
    Barrier {
        /// How many threads it takes to open it.
        parties: i32,
        /// How many have arrived since it was open.
        arrived: i32,
        /// How often it was open.
        opened: u32,
    },
    List(Vec<i32>),
    Channel {
        capacity: i32,
        lossy: bool,
        reordering: bool,
        /// The oldest first.
        values: Vec<i32>,
    },
    Map(BTreeMap<i32, i32>),
}

/// What a thread starts with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Start {
    /// A thread that starts at the beginning: its number.
    Declared(usize),
    /// A procedure that was spawned, and its arguments.
    Routine(String, Vec<Value>),
    /// What a `monitor` started.
    Watch(Watch),
}

/// Whose end is told, to whom, and how.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Watch {
    pub(super) watched: ThreadId,
    pub(super) told: ThreadId,
    pub(super) message: Vec<i32>,
    pub(super) line: u32,
}

/// What a thread can do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Status {
    /// It is before a visible operation on this line, enabled or not.
    Before(u32),
    Ended,
    /// It violated something.
    Failed,
    /// One of its `assume`s is false.
    Assumed,
}

/// A thread. Where it is, and its local variables, follow from what its visible operations returned: its code is
/// deterministic. So there is no program counter, and no stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Thread {
    pub(super) start: Start,
    /// What its visible operations returned.
    pub(super) answers: Vec<Value>,
    pub(super) status: Status,
    /// How many threads it has spawned.
    pub(super) spawned: u32,
    /// The messages that were sent to it and not received, the oldest first.
    pub(super) mailbox: Vec<Vec<i32>>,
    /// What it returned, once it has ended.
    pub(super) result: Value,
}

impl Thread {
    pub(super) fn new(start: Start) -> Self {
        Self {
            start,
            answers: Vec::new(),
            status: Status::Before(0),
            spawned: 0,
            mailbox: Vec::new(),
            result: Value::Unit,
        }
    }
}

/// What is wrong, and on which line.
pub(super) type Fault = (ViolationKind, u32);

/// The state of a whole program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct State {
    pub(super) objects: Vec<Object>,
    pub(super) threads: BTreeMap<ThreadId, Thread>,
}
