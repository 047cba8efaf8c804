//! Tiny programs as plain data: a second implementation of [`System`], as simple as can be.
//!
//! It has no undo and so exercises the default [`System::rewind`]; and it makes it easy to write down
//! *all* programs of a given size.

use selvedge_core::{
    Ahead, Effect, Ending, Flexibility, Footprint, Foresight, Judging, Mode, ObjectId, Order,
    Status, Step, System, ThreadId, Violation, ViolationKind, without,
};

use crate::Random;

/// One operation. Variables, mutexes, reader-writer locks and semaphores are numbered separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Reads a variable.
    Read(usize),
    /// Writes the thread's number plus one to a variable.
    Write(usize),
    /// Writes a value.
    Store(usize, i32),
    /// Adds one atomically.
    Add(usize),
    /// Replaces the first value by the second if the variable has it.
    CompareExchange(usize, i32, i32),
    /// Continues with the next operation only if the variable has the value, and else skips it.
    OnlyIf(usize, i32),
    /// Waits until all these variables have the value.
    Await(&'static [usize], i32),
    /// Takes a mutex.
    Lock(usize),
    /// Releases it.
    Unlock(usize),
    /// Takes it if it is free; skips this many operations if not.
    TryLock(usize, usize),
    /// Takes a reader-writer lock for reading.
    ReadLock(usize),
    /// Releases it.
    ReadUnlock(usize),
    /// Takes a reader-writer lock for writing.
    WriteLock(usize),
    /// Releases it.
    WriteUnlock(usize),
    /// Raises a semaphore.
    Up(usize),
    /// Lowers it, or waits.
    Down(usize),
    /// Chooses one of so many alternatives and adds it to a number that no other thread sees.
    Choose(u32),
    /// Atomically: looks at these variables one by one, as long as they have these values, and if all have them
    /// writes a value to a variable.
    When(&'static [(usize, i32)], usize, i32),
    /// Atomically: writes the value of the first variable plus one to the second.
    Copy(usize, usize),
    /// Chooses one of two variables and writes one to it.
    Either(usize, usize),
}

/// The operations of each thread.
pub type Script = Vec<Vec<Op>>;

/// What threads of random scripts are made of.
const PIECES: &[&[Op]] = &[
    &[Op::Read(0)],
    &[Op::Write(0)],
    &[Op::Read(1)],
    &[Op::Write(1)],
    &[Op::Add(0)],
    &[Op::CompareExchange(0, 0, 1)],
    &[Op::OnlyIf(1, 0), Op::Write(0)],
    &[Op::Lock(0), Op::Write(1), Op::Unlock(0)],
    &[Op::TryLock(0, 1), Op::Unlock(0)],
    &[Op::ReadLock(0), Op::ReadUnlock(0)],
    &[Op::WriteLock(0), Op::WriteUnlock(0)],
    &[Op::Up(0)],
    &[Op::Down(0)],
    &[Op::Await(&[0, 1], 0)],
    &[Op::Choose(2)],
    &[Op::Either(0, 1)],
    &[Op::When(&[(1, 0)], 0, 1)],
    &[Op::Copy(0, 1)],
];

/// Returns a script of two to four threads, each with up to `most` pieces of one or a few operations.
pub fn random_script(random: &mut Random, most: usize) -> Script {
    let piece = |random: &mut Random| PIECES[random.below(PIECES.len())].to_vec();
    let thread =
        |random: &mut Random| (0..1 + random.below(most)).flat_map(|_| piece(random)).collect();
    (0..2 + random.below(3)).map(|_| thread(random)).collect()
}

/// How many objects of each kind there are room for.
const KIND: usize = 8;

/// A script that is run.
#[derive(Clone)]
pub struct ScriptSystem {
    script: Script,
    next: Vec<usize>,
    variables: [i32; KIND],
    mutexes: [Option<ThreadId>; KIND],
    readers: [u32; KIND],
    writers: [bool; KIND],
    semaphores: [u32; KIND],
}

impl ScriptSystem {
    /// All variables and semaphores 0, all locks free.
    pub fn new(script: Script) -> Self {
        Self {
            next: vec![0; script.len()],
            script,
            variables: [0; KIND],
            mutexes: [None; KIND],
            readers: [0; KIND],
            writers: [false; KIND],
            semaphores: [0; KIND],
        }
    }

    fn op(&self, thread: ThreadId) -> Option<Op> {
        self.script[thread.index()].get(self.next[thread.index()]).copied()
    }

    fn is_enabled(&self, op: Op) -> bool {
        match op {
            Op::Await(variables, value) => variables.iter().all(|&x| self.variables[x] == value),
            Op::Lock(m) => self.mutexes[m].is_none(),
            Op::ReadLock(l) => !self.writers[l],
            Op::WriteLock(l) => !self.writers[l] && self.readers[l] == 0,
            Op::Down(s) => self.semaphores[s] > 0,
            _ => true,
        }
    }

    /// Writes down what `op` does in this state.
    fn effect_of(&self, op: Op, choice: u32, effect: &mut Effect) {
        effect.clear();
        let object = |kind: usize, index: usize| ObjectId::new(kind * KIND + index);
        let mut one = |kind: usize, index: usize, mode: Mode| {
            effect.footprint.add(object(kind, index), mode);
        };
        let flexibility = match op {
            Op::Read(x) | Op::OnlyIf(x, _) => {
                one(0, x, Mode::Read);
                Flexibility::Fixed
            }
            Op::Write(x) | Op::Store(x, _) => {
                one(0, x, Mode::Write);
                Flexibility::Fixed
            }
            Op::Add(x) => {
                one(0, x, Mode::Update);
                Flexibility::Fixed
            }
            Op::CompareExchange(x, old, _) => {
                let mode = if self.variables[x] == old { Mode::Update } else { Mode::Read };
                one(0, x, mode);
                Flexibility::Conditional
            }
            Op::Await(variables, _) => {
                for &x in variables {
                    one(0, x, Mode::Read);
                }
                Flexibility::Blocking
            }
            Op::Lock(m) => {
                one(1, m, Mode::Acquire);
                Flexibility::Lock
            }
            Op::Unlock(m) => {
                one(1, m, Mode::Release);
                Flexibility::Fixed
            }
            Op::TryLock(m, _) => {
                let free = self.mutexes[m].is_none();
                one(1, m, if free { Mode::Acquire } else { Mode::Probe });
                Flexibility::Conditional
            }
            Op::ReadLock(l) => {
                one(2, l, Mode::ShareAcquire);
                Flexibility::Blocking
            }
            Op::ReadUnlock(l) => {
                one(2, l, Mode::ShareRelease);
                Flexibility::Fixed
            }
            Op::WriteLock(l) => {
                one(2, l, Mode::Acquire);
                Flexibility::Blocking
            }
            Op::WriteUnlock(l) => {
                one(2, l, Mode::Release);
                Flexibility::Fixed
            }
            Op::Up(s) => {
                one(3, s, Mode::Up);
                Flexibility::Fixed
            }
            Op::Down(s) => {
                one(3, s, Mode::Down);
                Flexibility::Blocking
            }
            Op::Choose(_) => Flexibility::Fixed,
            Op::When(conditions, x, _) => {
                for &(y, value) in conditions {
                    one(0, y, Mode::Read);
                    if self.variables[y] != value {
                        break;
                    }
                }
                if self.holds(conditions) {
                    one(0, x, Mode::Write);
                }
                Flexibility::Conditional
            }
            Op::Copy(x, y) => {
                one(0, x, Mode::Read);
                one(0, y, Mode::Write);
                Flexibility::Fixed
            }
            Op::Either(x, y) => {
                one(0, if choice == 0 { x } else { y }, Mode::Write);
                Flexibility::Fixed
            }
        };
        effect.flexibility = flexibility;
        let is_plain = matches!(op, Op::Read(_) | Op::OnlyIf(..) | Op::Write(_) | Op::Store(..));
        effect.order = is_plain.then_some(Order::NonAtomic);
        effect.choices = choices(op);
    }

    fn holds(&self, conditions: &[(usize, i32)]) -> bool {
        conditions.iter().all(|&(x, value)| self.variables[x] == value)
    }
}

fn choices(op: Op) -> u32 {
    match op {
        Op::Choose(n) => n,
        Op::Either(..) => 2,
        _ => 1,
    }
}

impl System for ScriptSystem {
    without! { thread_key object_key rewind obstacles freed values conditions states promises }

    fn restart(&mut self) {
        *self = Self::new(std::mem::take(&mut self.script));
    }

    fn thread_count(&self) -> usize {
        self.script.len()
    }

    fn status(&self, thread: ThreadId) -> Status {
        match self.op(thread) {
            None => Status::Finished,
            Some(op) if self.is_enabled(op) => Status::Enabled,
            Some(_) => Status::Blocked,
        }
    }

    fn choices(&self, thread: ThreadId) -> u32 {
        self.op(thread).map_or(1, choices)
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        let op = self.op(step.thread).expect("asked for the next step of a finished thread");
        self.effect_of(op, step.choice, effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        let thread = step.thread;
        let op = self.op(thread).expect("stepped a finished thread");
        assert!(self.is_enabled(op), "stepped a blocked thread");
        self.effect_of(op, step.choice, effect);
        let mut skip = 0;
        match op {
            Op::Read(_) | Op::Await(..) | Op::Choose(_) => {}
            Op::Write(x) => self.variables[x] = thread.index() as i32 + 1,
            Op::Store(x, value) => self.variables[x] = value,
            Op::Add(x) => self.variables[x] += 1,
            Op::CompareExchange(x, old, new) => {
                if self.variables[x] == old {
                    self.variables[x] = new;
                }
            }
            Op::OnlyIf(x, value) => skip = usize::from(self.variables[x] != value),
            Op::Lock(m) => self.mutexes[m] = Some(thread),
            Op::Unlock(m) => self.mutexes[m] = None,
            Op::TryLock(m, otherwise) => match self.mutexes[m] {
                None => self.mutexes[m] = Some(thread),
                Some(_) => skip = otherwise,
            },
            Op::ReadLock(l) => self.readers[l] += 1,
            Op::ReadUnlock(l) => self.readers[l] -= 1,
            Op::WriteLock(l) => self.writers[l] = true,
            Op::WriteUnlock(l) => self.writers[l] = false,
            Op::Up(s) => self.semaphores[s] += 1,
            Op::Down(s) => self.semaphores[s] -= 1,
            Op::When(conditions, x, value) => {
                if self.holds(conditions) {
                    self.variables[x] = value;
                }
            }
            Op::Copy(x, y) => self.variables[y] = self.variables[x] + 1,
            Op::Either(x, y) => self.variables[if step.choice == 0 { x } else { y }] = 1,
        }
        self.next[thread.index()] += 1 + skip;
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let blocked =
            (0..self.script.len()).filter(|&thread| self.op(ThreadId::new(thread)).is_some());
        match blocked.count() {
            0 => (Ending::Complete, None),
            count => {
                let violation = Violation {
                    kind: ViolationKind::Deadlock,
                    message: format!("{count} threads are blocked"),
                    places: Vec::new(),
                    notes: Vec::new(),
                    thread: None,
                };
                (Ending::Deadlocked, Some(violation))
            }
        }
    }

    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(self)
    }

    fn judging(&mut self) -> Option<&mut dyn Judging> {
        Some(self)
    }

    fn foresight(&mut self) -> Option<&mut dyn Foresight> {
        Some(self)
    }
}

impl Ahead for ScriptSystem {
    /// As far as it may, so that explorers are tried with it.
    fn step_on(&mut self, step: Step, most: usize, effects: &mut Vec<Effect>) -> usize {
        effects.resize_with(effects.len().max(most), Effect::default);
        self.step(step, &mut effects[0]);
        let is_enabled = |system: &Self, index| system.status(index) == Status::Enabled;
        let mut taken = 1;
        while taken < most
            && is_enabled(self, step.thread)
            && self.choices(step.thread) == 1
            && !(0..step.thread.index()).any(|lower| is_enabled(self, ThreadId::new(lower)))
        {
            self.step(Step::of(step.thread), &mut effects[taken]);
            taken += 1;
        }
        taken
    }
}

impl Judging for ScriptSystem {
    /// The end looks at no variable.
    fn judged(&mut self, _: &mut Footprint) {}
}

impl Foresight for ScriptSystem {
    fn may_write(&mut self, thread: ThreadId, variable: ObjectId) -> bool {
        self.script[thread.index()][self.next[thread.index()]..].iter().any(|op| match *op {
            Op::Write(x) | Op::Store(x, _) | Op::Add(x) | Op::CompareExchange(x, ..) => {
                x == variable.index()
            }
            Op::When(_, x, _) | Op::Copy(_, x) => x == variable.index(),
            Op::Either(x, y) => x == variable.index() || y == variable.index(),
            _ => false,
        })
    }
}
