//! A program as a small tree: easy to make at random, to shrink, and to print as `.sel` text.
//!
//! Every thread and task has one local, the register `r`: what is read goes there, and what is
//! written, compared or used as an index comes from there. That is enough for every kind of
//! data dependence, and no operation can lose its meaning when another one is taken away.

/// A whole program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sketch {
    /// Threads `p0`, `p1`, … that run from the start.
    pub threads: Vec<ThreadSketch>,
    /// Bodies of the procedures `task0`, `task1`, … that can be spawned. They spawn only such with a higher number.
    pub tasks: Vec<Vec<Op>>,
    /// How many threads the barrier waits for.
    pub parties: u32,
    /// What the `finally` block asserts.
    pub finally: Option<Test>,
    /// What always holds; or its opposite, if it does not hold at the beginning.
    pub always: Option<Test>,
    /// So many variables and mutexes that nothing uses are declared before the others.
    pub unused: usize,
    /// How many elements the array `a` has; 0 for two.
    pub elements: usize,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadSketch {
    /// May it block permanently?
    pub daemon: bool,
    /// What it does.
    pub body: Vec<Op>,
}

/// A shared variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// `x0`, `x1`, …
    Scalar(u8),
    /// `a[…]`, an array, mostly of two elements.
    Element(Index),
    /// `g[0][…]` or `g[1][…]`, two rows of two elements.
    Grid(u8, Index),
}

/// An index of an array of two elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// Always the same.
    Fixed(u8),
    /// `abs(r) % 2`, if there are two elements.
    Computed,
    /// `r`, whatever it is: may be outside.
    Unchecked,
}

/// A value to write, to send, to store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Always the same.
    Fixed(i32),
    /// `r`
    Register,
    /// `r + 1`
    Next,
    /// `r * r`
    Square,
    /// `-r`
    Negated,
    /// `7 / r`
    Quotient,
    /// An operation on the bits of `r`.
    Bits(Bits),
    /// `k[…]`, an element of a local array.
    Kept(Index),
    /// The value of a variable: a read, and a step of its own.
    Of(Place),
}

/// An operation on bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bits {
    /// `r & 3`
    And,
    /// `r | 2`
    Or,
    /// `r ^ 3`
    Xor,
    /// `~r`
    Complement,
    /// `1 << r`, which may be out of range.
    Bit,
    /// `r << 30`
    Left,
    /// `r >> 1`
    Right,
}

impl Bits {
    /// All of them.
    pub const ALL: [Bits; 7] =
        [Bits::And, Bits::Or, Bits::Xor, Bits::Complement, Bits::Bit, Bits::Left, Bits::Right];
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// The register compared with a number.
    Register(Comparison, i32),
    /// A variable compared with a number: a read.
    Variable(Place, Comparison, i32),
    /// The sum of two variables compared with a number: two reads.
    Sum(Place, Place, Comparison, i32),
    /// `len(q)` compared with a number.
    Length(Comparison, i32),
    /// `get(table, key, 0)` compared with a number.
    Entry(i32, Comparison, i32),
    /// `&&`: the second is looked at only if the first is true.
    Both(Box<Test>, Box<Test>),
    /// `||`: the second is looked at only if the first is false.
    Either(Box<Test>, Box<Test>),
}

impl Test {
    /// Whether it is true at the beginning, when variables are 0; `print.rs` has what lists and maps contain.
    pub fn holds_at_first(&self) -> bool {
        let compare = |found: i32, comparison: Comparison, value: i32| match comparison {
            Comparison::Equal => found == value,
            Comparison::NotEqual => found != value,
            Comparison::AtMost => found <= value,
        };
        match *self {
            Test::Register(comparison, value)
            | Test::Variable(_, comparison, value)
            | Test::Sum(_, _, comparison, value) => compare(0, comparison, value),
            Test::Length(comparison, value) => compare(1, comparison, value),
            Test::Entry(key, comparison, value) => {
                compare(if key == 1 { 2 } else { 0 }, comparison, value)
            }
            Test::Both(ref a, ref b) => a.holds_at_first() && b.holds_at_first(),
            Test::Either(ref a, ref b) => a.holds_at_first() || b.holds_at_first(),
        }
    }
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
}

/// A mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutex {
    /// `m0`, `m1`, …
    Single(u8),
    /// `fork[abs(r) % 2]`
    Computed,
}

/// A channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// `ch0`, of one value.
    Small,
    /// `ch1`, of two.
    Large,
    /// `lossy`, of one value.
    Lossy,
    /// `mixed`, of two, in any order.
    Reordering,
}

impl Channel {
    /// All of them.
    pub const ALL: [Channel; 4] =
        [Channel::Small, Channel::Large, Channel::Lossy, Channel::Reordering];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Channel::Small => "ch0",
            Channel::Large => "ch1",
            Channel::Lossy => "lossy",
            Channel::Reordering => "mixed",
        }
    }
}

/// What is done with ghosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GhostOp {
    /// `gh = r;`
    Keep,
    /// `gh = (gh & 7) * 2 + (r & 1);`: what matters is the order.
    Append,
    /// `gc += 1;`
    CountUp,
    /// `gc -= 1;`
    CountDown,
    /// `ga[r & 1] = gc;`
    Copy,
    /// `assert gh != value;`
    AssertKept(i32),
    /// `assert gc <= value;`
    AssertCount(i32),
    /// `assert gc == value || x0 != ga[1];`
    AssertMixed(i32),
}

/// A reader-writer lock for one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

/// Which values a receive takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// All.
    None,
    /// `v > 0`
    Positive,
    /// `6 / v > 2`, which faults on 0.
    Divides,
}

/// An alternative of a receive: `(tag, let v)`, or `(_, let v)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative {
    /// Which messages; `None` for all.
    pub tag: Option<u8>,
    /// Only with these values.
    pub guard: Guard,
    /// What is done with the value in the register.
    pub body: Vec<Op>,
}

/// An operation. Those with a body run it as the text suggests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// `r = x;`
    Read(Place),
    /// `r = r + x;`
    AddTo(Place),
    /// `x = value;`
    Write(Place, Value),
    /// `x += 1;`: two steps.
    Increment(Place),
    /// `r = fetch_add(x, d);`
    FetchAdd(Place, i32),
    /// `r = exchange(x, value);`
    Exchange(Place, Value),
    /// `if compare_exchange(x, old, new) { … }`
    CompareExchange(Place, i32, i32, Vec<Op>),
    /// `if !exchange(flag, true) { … }`, on a variable of type bool that is atomic.
    TestAndSet(Vec<Op>),

    /// `if test { … } else { … }`
    If(Test, Vec<Op>, Vec<Op>),
    /// `for i in 0..times { if test { break; } … }`
    Repeat(u8, Option<Test>, Vec<Op>),
    /// `if test { return; }`
    ReturnIf(Test),
    /// `return;`
    Return,
    /// An operation that tries something, and what is done if it fails: `if try_lock(m) { … } else { … }`.
    Else(Box<Op>, Vec<Op>),
    /// `r = look(r);`, a function that reads `x0` if its argument is positive.
    CallFunction,
    /// `poke(value);`, a procedure that writes `x0`, or `bump(value);`, which adds in one step.
    CallProcedure {
        /// The one that is atomic?
        atomic: bool,
        /// What it is called with.
        value: Value,
    },

    /// `lock m { … }`
    Locked(Mutex, Vec<Op>),
    /// `lock m;`, never given back.
    LockForGood(Mutex),
    /// `unlock m;`, which may not be held.
    Unlock(Mutex),
    /// `if try_lock(m) { … unlock m; }`
    TryLocked(Mutex, Vec<Op>),
    /// `read_lock rw { … }`, `write_lock rw { … }`
    Shared(Share, Vec<Op>),
    /// `if try_read_lock(rw) { … read_unlock rw; }` and likewise for writing.
    TryShared(Share, Vec<Op>),
    /// `lock m0 { if test { wait(c, m0); } … }`
    Wait(Option<Test>, Vec<Op>),
    /// `wait(c, m0);`, although `m0` may not be held.
    WaitOnly,
    /// `signal(c);`
    Signal,
    /// `broadcast(c);`
    Broadcast,
    /// `up(s);`
    Up,
    /// `up(top);`, a semaphore whose count is one below the largest number.
    UpToTop,
    /// `down(s);`
    Down,
    /// `if try_down(s) { … }`
    TryDown(Vec<Op>),
    /// `arrive(b);`
    Arrive,

    /// `send p0(tag, value);`
    Send(u8, u8, Value),
    /// `receive { … }`, with an `after` branch if there is one.
    Receive(Vec<Alternative>, Option<Vec<Op>>),
    /// `let t = spawn task0(value); …`
    Spawn {
        /// Which task.
        task: u8,
        /// What it starts with in its register.
        value: Value,
        /// Is it sent the message `(1, 1)`?
        mail: bool,
        /// What is done while it runs.
        body: Vec<Op>,
        /// Is it joined then?
        join: bool,
    },

    /// `spawn chain(depth);`: a task that spawns the next, and the last one writes `x0`.
    SpawnChain(u8),

    /// `join p0;`
    JoinThread(u8),

    /// `monitor p0(tag, value);`
    Monitor(u8, u8, Value),

    /// `atomic { … }`
    Atomic(Vec<Op>),
    /// `atomic { for i in 0..2 { await a[i] <= value; } }`: one place that reads two elements.
    AwaitEach(i32),
    /// `await peek(0) <= value && peek(1) <= value;`: the same by a function.
    AwaitCalls(i32),
    /// `await test;`
    Await(Test),
    /// `await scan test;`
    Scan(Test),
    /// `assume test;`
    Assume(Test),
    /// `assert test;`
    Assert(Test),
    /// `send ch0(value);`
    SendTo(Channel, Value),
    /// `r = receive(ch0);`
    ReceiveFrom(Channel),

    /// `k[…] = r;`, or `k[…] += r;`: an element of a local array of two.
    Keep {
        /// Which.
        index: Index,
        /// Is it added?
        adds: bool,
    },
    /// An update of a ghost, or an assertion over some.
    Ghost(GhostOp),

    /// `r = choose(0..n);`
    Choose(u16),
    /// `yield;`
    Yield,

    /// `push(q, value);`
    Push(Value),
    /// `if len(q) > 0 { r = pop_front(q); }`, or without looking first.
    PopFront {
        /// Is the length looked at first?
        checked: bool,
    },
    /// `if contains(q, value) { … }`
    Contains(i32, Vec<Op>),
    /// `table[key] = value;`
    Insert(i32, Value),
    /// `remove(table, key);`
    Remove(i32),
    /// `r = get(table, key, 0);`
    Get(i32),
    /// `r = table[key];`, which may be missing.
    Lookup(i32),
    /// `if has(table, key) { … }`
    Has(i32, Vec<Op>),

    /// The same on the second object of its kind: `rw1` in place of `rw`, and so on.
    Second(Box<Op>),
}

/// The bodies inside an operation: `$again` is the method that it is the body of.
macro_rules! bodies {
    ($op:expr, $again:ident, $iter:ident) => {
        match $op {
            Op::If(_, then, otherwise) => vec![then, otherwise],
            Op::CompareExchange(_, _, _, body)
            | Op::TestAndSet(body)
            | Op::Repeat(_, _, body)
            | Op::Locked(_, body)
            | Op::TryLocked(_, body)
            | Op::Shared(_, body)
            | Op::TryShared(_, body)
            | Op::Wait(_, body)
            | Op::TryDown(body)
            | Op::Spawn { body, .. }
            | Op::Atomic(body)
            | Op::Contains(_, body)
            | Op::Has(_, body) => vec![body],
            Op::Second(op) => op.$again(),
            Op::Else(op, otherwise) => {
                let mut bodies = op.$again();
                bodies.push(otherwise);
                bodies
            }
            Op::Receive(alternatives, after) => {
                alternatives.$iter().map(|Alternative { body, .. }| body).chain(after).collect()
            }
            _ => Vec::new(),
        }
    };
}

impl Op {
    /// Whether programs have a second object of the kind that it is on.
    pub fn has_second(&self) -> bool {
        matches!(
            self,
            Op::Shared(..)
                | Op::TryShared(..)
                | Op::Wait(..)
                | Op::WaitOnly
                | Op::Signal
                | Op::Broadcast
                | Op::Up
                | Op::Down
                | Op::TryDown(_)
                | Op::Arrive
                | Op::Push(_)
                | Op::PopFront { .. }
                | Op::Contains(..)
                | Op::Insert(..)
                | Op::Remove(_)
                | Op::Get(_)
                | Op::Lookup(_)
                | Op::Has(..)
        )
    }

    /// Whether it tries something and is printed as an `if`, so that there can be an `else`.
    pub fn tries(&self) -> bool {
        match self {
            Op::CompareExchange(..)
            | Op::TestAndSet(_)
            | Op::TryLocked(..)
            | Op::TryShared(..)
            | Op::TryDown(_)
            | Op::Contains(..)
            | Op::Has(..) => true,
            Op::Second(op) => op.tries(),
            _ => false,
        }
    }

    /// The same on the second object of its kind.
    pub fn second(self) -> Self {
        Op::Second(Box::new(self))
    }

    /// Returns the bodies inside it.
    pub fn bodies(&self) -> Vec<&Vec<Op>> {
        bodies!(self, bodies, iter)
    }

    /// Returns the bodies inside it, in the same order, to change them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Op>> {
        bodies!(self, bodies_mut, iter_mut)
    }
}

/// Calls `visit` for every operation of `ops`, also the inner ones.
pub fn for_each_op(ops: &[Op], visit: &mut dyn FnMut(&Op)) {
    for op in ops {
        visit(op);
        for body in op.bodies() {
            for_each_op(body, visit);
        }
    }
}

/// Calls `change` for every operation of `ops`, also the inner ones.
pub fn for_each_op_mut(ops: &mut [Op], change: &mut dyn FnMut(&mut Op)) {
    for op in ops {
        change(op);
        for body in op.bodies_mut() {
            for_each_op_mut(body, change);
        }
    }
}

impl Sketch {
    /// The bodies of all threads and tasks.
    pub fn bodies(&self) -> impl Iterator<Item = &Vec<Op>> {
        self.threads.iter().map(|thread| &thread.body).chain(&self.tasks)
    }

    /// Adds threads that do nothing, before all others.
    pub fn add_idle(&mut self, count: usize) {
        self.threads.splice(0..0, std::iter::repeat_n(ThreadSketch::default(), count));
        for body in self.bodies_mut() {
            for_each_op_mut(body, &mut |op| {
                if let Op::Send(to, ..) | Op::JoinThread(to) | Op::Monitor(to, ..) = op {
                    *to += count as u8;
                }
            });
        }
    }

    /// The bodies of all threads and tasks, to change them.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut Vec<Op>> {
        self.threads.iter_mut().map(|thread| &mut thread.body).chain(&mut self.tasks)
    }
}
