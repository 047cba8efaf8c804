//! What kind of random programs to make.

mod additions;

use std::ops::RangeInclusive;

/// A part of the language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Construct {
    ReadWrite,
    Branch,
    Loop,
    Array,
    ReadModifyWrite,
    Call,
    Mutex,
    TryLock,
    ReaderWriterLock,
    Condition,
    Semaphore,
    Barrier,
    Mailbox,
    Timeout,
    /// Tries something, and mostly ends the thread if it fails.
    Try,
    /// Observes whether a thread has ended.
    Watch,
    Spawn,
    Atomic,
    Await,
    Assume,
    Assert,
    Choose,
    Yield,
    List,
    Map,
    Daemon,
    Channel,
    Ghost,
    Monitor,
}

impl Construct {
    /// All of them but those that only put others together, [`Construct::Try`] and [`Construct::Watch`], and
    /// [`Construct::Channel`], [`Construct::Ghost`] and [`Construct::Monitor`], which came later.
    pub const ALL: &[Construct] = &[
        Construct::ReadWrite,
        Construct::Branch,
        Construct::Loop,
        Construct::Array,
        Construct::ReadModifyWrite,
        Construct::Call,
        Construct::Mutex,
        Construct::TryLock,
        Construct::ReaderWriterLock,
        Construct::Condition,
        Construct::Semaphore,
        Construct::Barrier,
        Construct::Mailbox,
        Construct::Timeout,
        Construct::Spawn,
        Construct::Atomic,
        Construct::Await,
        Construct::Assume,
        Construct::Assert,
        Construct::Choose,
        Construct::Yield,
        Construct::List,
        Construct::Map,
        Construct::Daemon,
    ];
}

/// What kind of programs to make.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name in messages.
    pub name: &'static str,
    /// In every program. Not empty.
    pub always: Vec<Construct>,
    /// Each program uses some of these.
    pub sometimes: Vec<Construct>,
    /// How many of them.
    pub how_many: RangeInclusive<usize>,
    /// How many threads.
    pub threads: RangeInclusive<usize>,
    /// How many operations a thread has, inner ones not counted.
    pub ops: RangeInclusive<usize>,
    /// How many scalar variables and mutexes: few, so that threads meet. At most 4.
    pub objects: u8,
    /// Programs with more interleavings, by an upper bound, are made smaller.
    pub interleavings: f64,
    /// How often loops go round.
    pub turns: RangeInclusive<usize>,
    /// How many comparisons a condition has at most.
    pub comparisons: usize,
    /// How many threads that do nothing come before the others, so that these have high numbers.
    pub idle: RangeInclusive<usize>,
    /// How many variables and mutexes that nothing uses come before the others, so that these have high numbers.
    pub unused: RangeInclusive<usize>,
    /// How many tasks there are to spawn.
    pub tasks: RangeInclusive<usize>,
    /// Whether tasks spawn tasks.
    pub nested: bool,
    /// How many alternatives a choice has.
    pub alternatives: RangeInclusive<usize>,
    /// How many of each kind of object there are, besides variables and mutexes: one or two.
    pub kinds: usize,
    /// How many elements the array has; 0 for two.
    pub elements: RangeInclusive<usize>,
    /// How deep chains of tasks are that spawn each other; none if it is 0.
    pub chain: RangeInclusive<usize>,
    /// Whether conditions are also over sums, lists and maps.
    pub rich: bool,
    /// Whether values are near the ends of their range, so that arithmetic overflows.
    pub extreme: bool,
    /// Whether values are computed with operations on bits.
    pub bits: bool,
    /// Whether threads have local arrays.
    pub local_arrays: bool,
    /// Whether half of the conditions that are waited for are read piece by piece.
    pub scans: bool,
    /// Whether every block waits for something.
    pub blocks_wait: bool,
    /// Whether every program has an invariant.
    pub invariants: bool,
    /// How many programs of a mix of all profiles are of this one: the more a program costs, the fewer.
    pub share: usize,
}

/// What most profiles have in common.
impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "reads and writes",
            always: vec![Construct::ReadWrite],
            sometimes: Vec::new(),
            how_many: 2..=4,
            threads: 2..=4,
            ops: 1..=4,
            objects: 2,
            interleavings: 20_000.0,
            turns: 2..=2,
            comparisons: 2,
            idle: 0..=0,
            unused: 0..=0,
            tasks: 1..=2,
            nested: false,
            alternatives: 2..=3,
            kinds: 1,
            elements: 0..=0,
            chain: 0..=0,
            rich: false,
            extreme: false,
            bits: false,
            local_arrays: false,
            scans: false,
            blocks_wait: false,
            invariants: false,
            share: 16,
        }
    }
}

impl Profile {
    /// Reads, writes, read-modify-writes, data-dependent branches and computed indices.
    pub fn memory() -> Self {
        use Construct::*;
        Self {
            name: "memory",
            sometimes: vec![Branch, Array, ReadModifyWrite, Loop, Assert, Call],
            how_many: 0..=3,
            ..Self::default()
        }
    }

    /// Mutexes, nested in every order, and try-locks, around reads and writes.
    pub fn locks() -> Self {
        use Construct::*;
        Self {
            name: "locks",
            always: vec![Mutex],
            sometimes: vec![ReadWrite, TryLock, Branch, ReadModifyWrite, Loop, Assert],
            how_many: 1..=3,
            ops: 1..=3,
            objects: 3,
            interleavings: 100_000.0,
            ..Self::default()
        }
    }

    /// What most programs use: variables, atomic operations, mutexes, tasks.
    pub fn ordinary() -> Self {
        use Construct::*;
        Self {
            name: "ordinary",
            sometimes: vec![
                Branch,
                Array,
                ReadModifyWrite,
                Loop,
                Assert,
                Call,
                Mutex,
                TryLock,
                Spawn,
                Choose,
            ],
            ..Self::default()
        }
    }

    /// Steps that wait, and steps that act differently in another state: where mistakes hide.
    pub fn waiting() -> Self {
        use Construct::*;
        Self {
            name: "waiting",
            sometimes: vec![
                Await,
                Atomic,
                ReadModifyWrite,
                Semaphore,
                ReaderWriterLock,
                Condition,
                Mailbox,
                Timeout,
                TryLock,
                Mutex,
                Branch,
                Barrier,
                Array,
                Spawn,
            ],
            how_many: 1..=3,
            ops: 1..=3,
            ..Self::default()
        }
    }

    /// Every construct.
    pub fn everything() -> Self {
        Self { name: "everything", sometimes: Construct::ALL[1..].to_vec(), ..Self::default() }
    }

    /// Many threads on few objects, each with a step or two: a step can wait for many others, and race with
    /// all of them.
    pub fn wide() -> Self {
        use Construct::*;
        Self {
            name: "wide",
            sometimes: vec![
                ReaderWriterLock,
                ReaderWriterLock,
                Semaphore,
                Await,
                Await,
                Barrier,
                Condition,
                Mailbox,
                Mutex,
                Spawn,
                Atomic,
                Branch,
            ],
            how_many: 1..=3,
            threads: 5..=10,
            ops: 1..=2,
            interleavings: 1e9,
            comparisons: 4,
            share: 8,
            ..Self::default()
        }
    }

    /// Many threads that wait for many variables.
    pub fn wide_awaits() -> Self {
        use Construct::*;
        Self {
            name: "wide awaits",
            always: vec![ReadWrite, Await],
            sometimes: vec![Atomic, Branch, Array, Daemon, ReadModifyWrite, Spawn],
            how_many: 0..=2,
            threads: 3..=6,
            ops: 1..=2,
            objects: 4,
            interleavings: 1e7,
            comparisons: 6,
            ..Self::default()
        }
    }

    /// Loops that go round hundreds of times.
    pub fn long() -> Self {
        use Construct::*;
        Self {
            name: "long",
            always: vec![Loop, ReadWrite],
            sometimes: vec![Mutex, ReadModifyWrite, Semaphore, Await, Array, Atomic, Assert],
            how_many: 0..=1,
            threads: 2..=2,
            ops: 1..=1,
            interleavings: 500.0,
            turns: 70..=250,
            share: 2,
            ..Self::default()
        }
    }

    /// Threads with numbers beyond 64 and 128.
    pub fn crowd() -> Self {
        Self { name: "crowd", idle: 58..=140, interleavings: 2_000.0, ..Self::everything() }
    }

    /// Objects with numbers beyond 64, 128, 256 and 512.
    pub fn objects() -> Self {
        Self { name: "objects", unused: 30..=600, interleavings: 2_000.0, ..Self::everything() }
    }

    /// Threads that are spawned by threads that are spawned.
    pub fn spawning() -> Self {
        use Construct::*;
        Self {
            name: "spawning",
            always: vec![Spawn, ReadWrite],
            sometimes: vec![Spawn, Mutex, Mailbox, Await, Branch, Atomic, Condition, Choose],
            how_many: 0..=2,
            threads: 1..=2,
            ops: 1..=2,
            tasks: 2..=6,
            nested: true,
            ..Self::default()
        }
    }

    /// Values near the ends of their range, overflows, divisions by zero, indices outside.
    pub fn extremes() -> Self {
        use Construct::*;
        Self {
            name: "extremes",
            sometimes: vec![
                Branch,
                Array,
                ReadModifyWrite,
                Loop,
                Assert,
                Call,
                Atomic,
                Await,
                Mailbox,
                Semaphore,
                List,
                Map,
            ],
            extreme: true,
            ..Self::default()
        }
    }

    /// Choices between a few alternatives, in all kinds of programs.
    pub fn choices() -> Self {
        use Construct::*;
        Self {
            name: "choices",
            always: vec![Choose, Choose, ReadWrite],
            sometimes: vec![
                Branch, Mailbox, Mailbox, Timeout, Condition, Spawn, Mutex, TryLock, Await, Array,
                Semaphore, Barrier, Daemon,
            ],
            how_many: 1..=3,
            ops: 1..=3,
            ..Self::default()
        }
    }

    /// Choices between tens and hundreds of alternatives.
    pub fn many_choices() -> Self {
        Self {
            name: "many choices",
            threads: 2..=2,
            ops: 1..=2,
            interleavings: 4_000.0,
            alternatives: 10..=300,
            share: 8,
            ..Self::choices()
        }
    }

    /// Two objects of each kind: locks in both orders, a thread that waits for one while it keeps another waiting.
    pub fn several() -> Self {
        use Construct::*;
        Self {
            name: "several",
            sometimes: vec![
                ReaderWriterLock,
                ReaderWriterLock,
                Semaphore,
                Semaphore,
                Condition,
                Condition,
                Barrier,
                List,
                Map,
                Mutex,
                Branch,
                Await,
                Daemon,
            ],
            kinds: 2,
            ..Self::default()
        }
    }

    /// Arrays of hundreds of elements, and steps that look at all of them.
    pub fn arrays() -> Self {
        use Construct::*;
        Self {
            name: "arrays",
            always: vec![Array, ReadWrite],
            sometimes: vec![Await, Await, Atomic, Branch, ReadModifyWrite, Loop, Assert, Mutex],
            how_many: 0..=2,
            elements: 60..=600,
            interleavings: 2_000.0,
            share: 8,
            ..Self::default()
        }
    }

    /// Tasks that are spawned by tasks, a hundred deep.
    pub fn chains() -> Self {
        use Construct::*;
        Self {
            name: "chains",
            always: vec![Spawn, ReadWrite],
            sometimes: vec![Mutex, Await, Branch, Atomic, Mailbox, ReadModifyWrite],
            how_many: 0..=2,
            threads: 1..=2,
            ops: 1..=2,
            chain: 40..=140,
            nested: true,
            // A chain has one order only, which the bound does not know.
            interleavings: f64::INFINITY,
            share: 2,
            ..Self::default()
        }
    }

    /// Conditions over sums of variables, lists and maps.
    pub fn conditions() -> Self {
        use Construct::*;
        Self {
            name: "conditions",
            always: vec![ReadWrite, Await],
            sometimes: vec![
                List, Map, Atomic, Branch, Assert, Assume, Daemon, Spawn, Semaphore, Condition,
                Mutex, Loop,
            ],
            how_many: 1..=3,
            objects: 3,
            comparisons: 3,
            rich: true,
            ..Self::default()
        }
    }

    /// Threads that stop at an `assume` while others go on.
    pub fn assumptions() -> Self {
        use Construct::*;
        Self {
            name: "assumptions",
            always: vec![ReadWrite, Assume, Assert],
            sometimes: vec![
                Branch,
                Choose,
                Mutex,
                Await,
                Atomic,
                Spawn,
                Condition,
                Semaphore,
                Mailbox,
                Daemon,
                ReadModifyWrite,
                Loop,
                ReaderWriterLock,
                Barrier,
            ],
            how_many: 0..=2,
            ..Self::default()
        }
    }

    /// Operations that try something and end their thread if they fail, and threads that see whether it has ended.
    pub fn endings() -> Self {
        use Construct::*;
        Self {
            name: "endings",
            always: vec![Try, Try, Try, Watch, Watch],
            sometimes: vec![
                ReadWrite,
                Mutex,
                Mutex,
                Semaphore,
                ReaderWriterLock,
                ReadModifyWrite,
                Mailbox,
                Spawn,
                Branch,
                List,
                Map,
                Array,
                Atomic,
            ],
            how_many: 0..=1,
            threads: 3..=4,
            ops: 1..=2,
            objects: 1,
            ..Self::default()
        }
    }

    /// The same with many threads.
    pub fn wide_endings() -> Self {
        Self {
            name: "wide endings",
            threads: 4..=8,
            ops: 1..=1,
            objects: 1,
            interleavings: 1e7,
            share: 8,
            ..Self::endings()
        }
    }

    /// Blocks that wait for a variable, and locks that are taken and tried.
    pub fn tries_and_awaits() -> Self {
        use Construct::*;
        Self {
            name: "tries and awaits",
            always: vec![Atomic, Atomic, Mutex, TryLock],
            sometimes: vec![Await, ReadWrite, Semaphore, Condition, ReaderWriterLock, Try],
            how_many: 0..=1,
            threads: 2..=3,
            ops: 2..=3,
            blocks_wait: true,
            ..Self::default()
        }
    }

    /// Steps that fail because they break an invariant, which ends their threads, and threads that see that.
    pub fn invariants() -> Self {
        use Construct::*;
        Self {
            name: "invariants",
            always: vec![Assert, ReadModifyWrite, ReadModifyWrite, ReadWrite],
            sometimes: vec![
                Mailbox, Mailbox, Watch, Watch, Atomic, Await, Spawn, Mutex, Semaphore, Branch,
            ],
            how_many: 1..=2,
            threads: 2..=4,
            ops: 1..=2,
            objects: 1,
            invariants: true,
            ..Self::default()
        }
    }
}
