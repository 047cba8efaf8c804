//! Litmus tests: tiny programs with memory orderings, as plain data.
//!
//! The same program runs on execution graphs ([`Litmus`] is a [`GraphSystem`]), as interleavings
//! ([`Interleaved`] is a [`System`](selvedge_core::System)), and on a machine with store buffers ([`outcomes`]).

mod classics;
mod code;
mod interleaved;
mod machine;
mod model;
mod objects;
mod origin;
mod published;
mod random;
mod shapes;
mod views;

use selvedge_core::{
    Answer, Bits, Fault, GraphSystem, Label, Location, ThreadId, Violation, ViolationKind,
};

pub use code::{
    Change, Condition, Instruction, Until, Value, add, assert_that, assume, await_is, await_swap,
    await_update, cas, cas_weak, choose, fence, join, load, lock, plus, share, skip_unless, spawn,
    store, sum, swap, try_lock, unlock, unshare,
};
pub use interleaved::Interleaved;
pub use machine::{Buffers, Outcome, outcomes};
pub use model::model_of;
pub use objects::{Done, Meeting, outcomes_of, state, wait};
pub use origin::Origin;
pub use published::published;
pub use random::{Flavour, random_litmus};
pub use shapes::{Shape, random_shape};
pub use views::{Tally, Trouble, canonical, fingerprint, outcome_of, tally};

/// How many registers a thread has.
pub const REGISTERS: usize = 8;

/// A program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LitmusProgram {
    /// The code of each thread. A thread that another one spawns is not there before.
    pub threads: Vec<Vec<Instruction>>,
    /// Values that are not 0 before anything is written.
    pub initial: Vec<(usize, i64)>,
}

impl LitmusProgram {
    /// Threads that start with all variables 0.
    pub fn new(threads: Vec<Vec<Instruction>>) -> Self {
        Self { threads, initial: Vec::new() }
    }

    /// The same with other values at the beginning.
    pub fn with_initial(mut self, initial: &[(usize, i64)]) -> Self {
        self.initial = initial.to_vec();
        self
    }

    /// How many variables there are; mutexes have the locations after them.
    pub fn variables(&self) -> usize {
        let used = self.threads.iter().flatten().filter_map(Instruction::variable);
        used.max().map_or(0, |last| last + 1)
    }

    /// How many mutexes there are.
    pub fn mutexes(&self) -> usize {
        let used = self.threads.iter().flatten().filter_map(Instruction::mutex);
        used.max().map_or(0, |last| last + 1)
    }

    /// Whether a mutex is shared by readers.
    pub fn is_shared(&self, mutex: usize) -> bool {
        self.threads.iter().flatten().any(|&instruction| instruction == Instruction::Share(mutex))
    }

    /// Whether a thread has to be spawned.
    pub fn is_spawned(&self, thread: usize) -> bool {
        self.threads.iter().flatten().any(|&instruction| instruction == Instruction::Spawn(thread))
    }

    /// The values of all variables, mutexes, condition variables and mailboxes at the beginning.
    pub fn memory(&self) -> Vec<i64> {
        let mut memory = vec![0; self.variables() + self.mutexes() + self.conditions()];
        if self.has_mailboxes() {
            memory.resize(memory.len() + self.threads.len(), state::EMPTY);
        }
        let used = self.variables();
        for &(variable, value) in self.initial.iter().filter(|(variable, _)| *variable < used) {
            memory[variable] = value;
        }
        memory
    }
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct State {
    /// Its next instruction that others can notice.
    pub next: usize,
    /// Its registers.
    pub registers: [i64; REGISTERS],
    /// Whether its last operation was an error.
    pub failed: bool,
}

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// This.
    Does(Instruction),
    /// Nothing: it has ended.
    Ends,
    /// Nothing: an assumption is false.
    Assumed,
    /// Nothing: an assertion is false.
    Failed,
}

impl State {
    /// Runs invisible operations.
    pub fn settle(&mut self, code: &[Instruction]) {
        loop {
            match code.get(self.next) {
                Some(Instruction::SkipUnless(condition, count)) => {
                    self.next += if condition.holds(&self.registers) { 1 } else { 1 + count };
                }
                Some(Instruction::Assume(condition) | Instruction::Assert(condition))
                    if condition.holds(&self.registers) =>
                {
                    self.next += 1;
                }
                _ => return,
            }
        }
    }

    /// What it does next, once it has settled.
    pub fn does(&self, code: &[Instruction]) -> Next {
        match code.get(self.next) {
            _ if self.failed => Next::Failed,
            None => Next::Ends,
            Some(Instruction::Assume(_)) => Next::Assumed,
            Some(Instruction::Assert(_)) => Next::Failed,
            Some(&instruction) => Next::Does(instruction),
        }
    }
}

/// A program on execution graphs.
#[derive(Clone, Debug)]
pub struct Litmus {
    program: LitmusProgram,
    memory: Vec<i64>,
    variables: usize,
    spawned: Vec<bool>,
    /// Where each thread was after each answer.
    states: Vec<Vec<State>>,
    /// Whether threads can be taken back one by one.
    rewinds: bool,
}

impl Litmus {
    /// The program, from its beginning.
    pub fn new(program: LitmusProgram) -> Self {
        let spawned = (0..program.threads.len()).map(|thread| program.is_spawned(thread)).collect();
        let mut litmus = Self {
            memory: program.memory(),
            variables: program.variables(),
            spawned,
            states: Vec::new(),
            program,
            rewinds: true,
        };
        litmus.restart();
        litmus
    }

    /// The same as a system that can only start again.
    pub fn without_rewinding(mut self) -> Self {
        self.rewinds = false;
        self
    }

    fn state(&self, thread: ThreadId) -> &State {
        self.states[thread.index()].last().expect("a thread is somewhere")
    }

    fn mutex(&self, mutex: usize) -> Location {
        Location::new(self.variables + mutex)
    }

    fn does(&self, thread: ThreadId) -> Next {
        self.state(thread).does(&self.program.threads[thread.index()])
    }
}

/// A number as bits.
fn bits(value: i64) -> Bits {
    value.cast_unsigned()
}

/// Bits as a number.
fn number(bits: Bits) -> i64 {
    bits.cast_signed()
}

impl GraphSystem for Litmus {
    fn restart(&mut self) {
        self.states.clear();
        for code in &self.program.threads {
            let mut state = State::default();
            state.settle(code);
            self.states.push(vec![state]);
        }
    }

    fn thread_count(&self) -> usize {
        self.program.threads.len()
    }

    fn is_root(&self, thread: ThreadId) -> bool {
        !self.spawned[thread.index()]
    }

    fn label(&self, thread: ThreadId) -> Label {
        let state = self.state(thread);
        let registers = &state.registers;
        match self.does(thread) {
            Next::Ends => Label::Ended,
            Next::Assumed => Label::Assumed,
            Next::Failed => Label::Failed,
            Next::Does(instruction) => match instruction {
                Instruction::Load(_, at, order) => Label::Load { at: Location::new(at), order },
                Instruction::Store(at, value, order) => {
                    let value = bits(value.of(registers));
                    Label::Store { at: Location::new(at), order, value }
                }
                Instruction::Update(_, at, _, order) => {
                    Label::Update { at: Location::new(at), order }
                }
                Instruction::Compare { at, expected, new, success, failure, weak, .. } => {
                    Label::Compare {
                        at: Location::new(at),
                        expected: bits(expected.of(registers)),
                        new: bits(new.of(registers)),
                        success,
                        failure,
                        weak,
                    }
                }
                Instruction::Await(_, at, _, order) => {
                    Label::Await { at: Location::new(at), order, update: false }
                }
                Instruction::AwaitUpdate(_, at, _, _, order) => {
                    Label::Await { at: Location::new(at), order, update: true }
                }
                Instruction::Fence(order) => Label::Fence(order),
                Instruction::Lock(mutex) => Label::Lock(self.mutex(mutex)),
                Instruction::TryLock(_, mutex) => Label::TryLock(self.mutex(mutex)),
                Instruction::Unlock(mutex) => Label::Unlock(self.mutex(mutex)),
                Instruction::Share(mutex) => Label::Share(self.mutex(mutex)),
                Instruction::Unshare(mutex) => Label::Unshare(self.mutex(mutex)),
                Instruction::Spawn(thread) => Label::Spawn(ThreadId::new(thread)),
                Instruction::Join(thread) => Label::Join(ThreadId::new(thread)),
                Instruction::Choose(_, below) => Label::Choose(below),
                Instruction::SkipUnless(..) | Instruction::Assume(_) | Instruction::Assert(_) => {
                    unreachable!("the thread has settled")
                }
                Instruction::Meet(_) => unreachable!("it runs as a model"),
            },
        }
    }

    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool {
        let until = match self.does(thread) {
            Next::Does(
                Instruction::Await(_, _, until, _) | Instruction::AwaitUpdate(_, _, until, _, _),
            ) => until,
            other => panic!("{thread:?} awaits nothing: {other:?}"),
        };
        until.holds(number(value), &self.state(thread).registers)
    }

    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits> {
        let mut state = *self.state(thread);
        let Next::Does(instruction) = self.does(thread) else { panic!("{thread:?} cannot go on") };
        let value = match answer {
            Answer::Value(bits) | Answer::Failed(bits) => number(bits),
            Answer::Chosen(value) => value.into(),
            Answer::Done => 0,
        };
        let wrote = match instruction {
            Instruction::Update(_, _, change, _) | Instruction::AwaitUpdate(_, _, _, change, _) => {
                Some(bits(change.of(value, &state.registers)))
            }
            _ => None,
        };
        if let Some(register) = instruction.register() {
            state.registers[register] = value;
        }
        state.next += 1;
        state.settle(&self.program.threads[thread.index()]);
        self.states[thread.index()].push(state);
        wrote
    }

    fn rewind(&mut self, thread: ThreadId, answers: usize) -> bool {
        if self.rewinds {
            self.states[thread.index()].truncate(answers + 1);
        }
        self.rewinds
    }

    fn initial(&self, at: Location) -> Bits {
        bits(self.memory.get(at.index()).copied().unwrap_or(0))
    }

    fn fault(&self, thread: ThreadId) -> Option<Fault> {
        (self.does(thread) == Next::Failed).then(|| {
            let message = format!("assertion {} is false", self.state(thread).next);
            let (places, notes) = (Vec::new(), Vec::new());
            let kind = ViolationKind::Assertion;
            Fault::Violation(Violation { kind, message, places, notes, thread: Some(thread) })
        })
    }

    selvedge_core::without! { memory judge }
}
