//! The instructions of litmus tests.

use selvedge_core::Order;

use super::REGISTERS;
use super::objects::Meeting;

/// A value that a thread computes from its registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Always the same.
    Constant(i64),
    /// A register, plus a number.
    Plus(usize, i64),
    /// The sum of two registers.
    Sum(usize, usize),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Constant(value)
    }
}

/// A register plus a number.
pub fn plus(register: usize, number: i64) -> Value {
    Value::Plus(register, number)
}

/// The sum of two registers.
pub fn sum(first: usize, second: usize) -> Value {
    Value::Sum(first, second)
}

impl Value {
    /// Its value with these registers.
    pub fn of(self, registers: &[i64; REGISTERS]) -> i64 {
        match self {
            Value::Constant(value) => value,
            Value::Plus(register, number) => registers[register] + number,
            Value::Sum(first, second) => registers[first] + registers[second],
        }
    }
}

/// How an update computes what it writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// Adds this to what it reads.
    Add(i64),
    /// Writes this.
    Set(Value),
}

impl Change {
    /// What is written if `old` was read.
    pub fn of(self, old: i64, registers: &[i64; REGISTERS]) -> i64 {
        match self {
            Change::Add(number) => old + number,
            Change::Set(value) => value.of(registers),
        }
    }
}

/// A condition on registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// Both are the same.
    Is(Value, Value),
    /// They differ.
    IsNot(Value, Value),
    /// The first is smaller.
    Less(Value, Value),
}

impl Condition {
    /// Whether it holds with these registers.
    pub fn holds(self, registers: &[i64; REGISTERS]) -> bool {
        match self {
            Condition::Is(a, b) => a.of(registers) == b.of(registers),
            Condition::IsNot(a, b) => a.of(registers) != b.of(registers),
            Condition::Less(a, b) => a.of(registers) < b.of(registers),
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Until {
    /// This value.
    Is(Value),
    /// One of these: bit `n` stands for value `n`.
    OneOf(u64),
    /// This value or a larger one.
    AtLeast(i64),
}

impl Until {
    /// Whether the value ends the wait.
    pub fn holds(self, value: i64, registers: &[i64; REGISTERS]) -> bool {
        match self {
            Until::Is(other) => value == other.of(registers),
            Until::OneOf(set) => (0..64).contains(&value) && set >> value & 1 == 1,
            Until::AtLeast(least) => value >= least,
        }
    }
}

/// An instruction. Registers, variables, mutexes and threads are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    /// Reads a variable into a register.
    Load(usize, usize, Order),
    /// Writes a variable.
    Store(usize, Value, Order),
    /// Reads a variable into a register and writes it, in one step.
    Update(usize, usize, Change, Order),
    /// Compare-exchange.
    Compare {
        /// The register for what it reads.
        into: usize,
        /// The variable.
        at: usize,
        /// What it expects.
        expected: Value,
        /// What it writes.
        new: Value,
        /// The ordering if it does.
        success: Order,
        /// And if not.
        failure: Order,
        /// Whether it may fail for no reason.
        weak: bool,
    },
    /// A fence.
    Fence(Order),
    /// Takes a mutex.
    Lock(usize),
    /// Takes it if it is free; the register is then 0, and else 1.
    TryLock(usize, usize),
    /// Releases it.
    Unlock(usize),
    /// Takes a mutex together with others that share it: a reader, where [`Instruction::Lock`] is a writer.
    Share(usize),
    /// Releases what it shares.
    Unshare(usize),
    /// An operation on a condition variable or a mailbox.
    Meet(Meeting),
    /// Waits for a value of a variable and reads it.
    Await(usize, usize, Until, Order),
    /// The same, and writes the variable in the same step.
    AwaitUpdate(usize, usize, Until, Change, Order),
    /// Starts a thread.
    Spawn(usize),
    /// Waits for the end of a thread.
    Join(usize),
    /// Chooses a number below this one.
    Choose(usize, u32),
    /// Skips so many instructions unless the condition holds.
    SkipUnless(Condition, usize),
    /// What follows counts only if the condition holds.
    Assume(Condition),
    /// The condition must hold.
    Assert(Condition),
}

impl Instruction {
    /// The register that it writes.
    pub fn register(&self) -> Option<usize> {
        match *self {
            Instruction::Load(into, ..)
            | Instruction::Update(into, ..)
            | Instruction::Compare { into, .. }
            | Instruction::TryLock(into, _)
            | Instruction::Await(into, ..)
            | Instruction::AwaitUpdate(into, ..)
            | Instruction::Choose(into, _) => Some(into),
            Instruction::Meet(meeting) => meeting.register(),
            _ => None,
        }
    }

    /// The variable that it accesses.
    pub fn variable(&self) -> Option<usize> {
        match *self {
            Instruction::Load(_, at, _)
            | Instruction::Store(at, ..)
            | Instruction::Update(_, at, ..)
            | Instruction::Compare { at, .. }
            | Instruction::Await(_, at, ..)
            | Instruction::AwaitUpdate(_, at, ..) => Some(at),
            _ => None,
        }
    }

    /// The mutex that it accesses.
    pub fn mutex(&self) -> Option<usize> {
        match *self {
            Instruction::Lock(mutex)
            | Instruction::TryLock(_, mutex)
            | Instruction::Unlock(mutex)
            | Instruction::Share(mutex)
            | Instruction::Unshare(mutex) => Some(mutex),
            _ => None,
        }
    }
}

/// `into = at.load(order)`.
pub fn load(into: usize, at: usize, order: Order) -> Instruction {
    Instruction::Load(into, at, order)
}

/// `at.store(value, order)`.
pub fn store(at: usize, value: impl Into<Value>, order: Order) -> Instruction {
    Instruction::Store(at, value.into(), order)
}

/// `into = at.fetch_add(number, order)`.
pub fn add(into: usize, at: usize, number: i64, order: Order) -> Instruction {
    Instruction::Update(into, at, Change::Add(number), order)
}

/// `into = at.swap(value, order)`.
pub fn swap(into: usize, at: usize, value: impl Into<Value>, order: Order) -> Instruction {
    Instruction::Update(into, at, Change::Set(value.into()), order)
}

/// `into = at.compare_exchange(expected, new, success, failure)`.
pub fn cas(
    into: usize,
    at: usize,
    (expected, new): (impl Into<Value>, impl Into<Value>),
    (success, failure): (Order, Order),
) -> Instruction {
    let (expected, new) = (expected.into(), new.into());
    Instruction::Compare { into, at, expected, new, success, failure, weak: false }
}

/// `into = at.compare_exchange_weak(expected, new, success, failure)`.
pub fn cas_weak(
    into: usize,
    at: usize,
    (expected, new): (impl Into<Value>, impl Into<Value>),
    (success, failure): (Order, Order),
) -> Instruction {
    let (expected, new) = (expected.into(), new.into());
    Instruction::Compare { into, at, expected, new, success, failure, weak: true }
}

/// `fence(order)`.
pub fn fence(order: Order) -> Instruction {
    Instruction::Fence(order)
}

/// Takes a mutex.
pub fn lock(mutex: usize) -> Instruction {
    Instruction::Lock(mutex)
}

/// Takes a mutex if it is free.
pub fn try_lock(into: usize, mutex: usize) -> Instruction {
    Instruction::TryLock(into, mutex)
}

/// Releases a mutex.
pub fn unlock(mutex: usize) -> Instruction {
    Instruction::Unlock(mutex)
}

/// Takes a mutex as a reader.
pub fn share(mutex: usize) -> Instruction {
    Instruction::Share(mutex)
}

/// Releases a mutex that is shared.
pub fn unshare(mutex: usize) -> Instruction {
    Instruction::Unshare(mutex)
}

/// Waits for a value.
pub fn await_is(into: usize, at: usize, value: impl Into<Value>, order: Order) -> Instruction {
    Instruction::Await(into, at, Until::Is(value.into()), order)
}

/// Waits for a value and replaces it.
pub fn await_swap(
    into: usize,
    at: usize,
    (awaited, new): (impl Into<Value>, impl Into<Value>),
    order: Order,
) -> Instruction {
    await_update(into, at, Until::Is(awaited.into()), Change::Set(new.into()), order)
}

/// Waits for a value and changes it.
pub fn await_update(
    into: usize,
    at: usize,
    until: Until,
    change: Change,
    order: Order,
) -> Instruction {
    Instruction::AwaitUpdate(into, at, until, change, order)
}

/// Starts a thread.
pub fn spawn(thread: usize) -> Instruction {
    Instruction::Spawn(thread)
}

/// Waits for the end of a thread.
pub fn join(thread: usize) -> Instruction {
    Instruction::Join(thread)
}

/// Chooses a number.
pub fn choose(into: usize, below: u32) -> Instruction {
    Instruction::Choose(into, below)
}

/// Skips instructions unless a condition holds.
pub fn skip_unless(condition: Condition, count: usize) -> Instruction {
    Instruction::SkipUnless(condition, count)
}

/// What follows counts only if a condition holds.
pub fn assume(condition: Condition) -> Instruction {
    Instruction::Assume(condition)
}

/// A condition must hold.
pub fn assert_that(condition: Condition) -> Instruction {
    Instruction::Assert(condition)
}
