//! A litmus test as a [`System`]: its interleavings, whatever the orderings say.

use selvedge_core::{
    Effect, Ending, Fault, Flexibility, Mode, ObjectId, Status, Step, System, ThreadId, Violation,
    ViolationKind, without,
};

use super::{Instruction, LitmusProgram, Next, State};

/// How far a thread is, beside its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Absent,
    /// It was spawned and has not begun.
    Spawned,
    Running,
    /// Its end was noted for those that join it.
    Over,
}

/// A litmus test that is interleaved.
#[derive(Clone, Debug)]
pub struct Interleaved {
    program: LitmusProgram,
    variables: usize,
    memory: Vec<i64>,
    threads: Vec<State>,
    phases: Vec<Phase>,
}

/// What a thread does next.
#[derive(Clone, Copy)]
enum Pending {
    Begin,
    Run(Instruction),
    End,
}

impl Interleaved {
    /// The program, from its beginning.
    pub fn new(program: LitmusProgram) -> Self {
        let mut system = Self {
            variables: program.variables(),
            memory: Vec::new(),
            threads: Vec::new(),
            phases: Vec::new(),
            program,
        };
        system.restart();
        system
    }

    fn next(&self, thread: ThreadId) -> Next {
        self.threads[thread.index()].does(&self.program.threads[thread.index()])
    }

    fn is_joined(&self, thread: ThreadId) -> bool {
        let join = Instruction::Join(thread.index());
        self.program.threads.iter().flatten().any(|&instruction| instruction == join)
    }

    fn pending_of(&self, thread: ThreadId) -> Option<Pending> {
        match (self.phases[thread.index()], self.next(thread)) {
            (Phase::Absent | Phase::Over, _) => None,
            (Phase::Spawned, _) => Some(Pending::Begin),
            (Phase::Running, Next::Does(instruction)) => Some(Pending::Run(instruction)),
            (Phase::Running, Next::Ends) if self.is_joined(thread) => Some(Pending::End),
            (Phase::Running, _) => None,
        }
    }

    fn location(&self, instruction: Instruction) -> Option<usize> {
        let mutex = instruction.mutex().map(|mutex| self.variables + mutex);
        instruction.variable().or(mutex)
    }

    fn is_enabled(&self, thread: ThreadId, pending: Pending) -> bool {
        let Pending::Run(instruction) = pending else { return true };
        let registers = &self.threads[thread.index()].registers;
        let value = self.location(instruction).map_or(0, |at| self.memory[at]);
        match instruction {
            Instruction::Await(_, _, until, _) | Instruction::AwaitUpdate(_, _, until, ..) => {
                until.holds(value, registers)
            }
            Instruction::Lock(_) => value == 0,
            Instruction::Share(_) => value <= 0,
            Instruction::Join(child) => self.phases[child] == Phase::Over,
            _ => true,
        }
    }

    fn choices_of(&self, thread: ThreadId, pending: Pending) -> u32 {
        match pending {
            Pending::Run(Instruction::Choose(_, below)) => below,
            Pending::Run(Instruction::Compare { at, expected, weak: true, .. }) => {
                let registers = &self.threads[thread.index()].registers;
                1 + u32::from(self.memory[at] == expected.of(registers))
            }
            _ => 1,
        }
    }

    fn effect_of(&self, step: Step, pending: Pending, effect: &mut Effect) {
        effect.clear();
        effect.choices = self.choices_of(step.thread, pending);
        let objects = self.memory.len();
        let thread_object = |thread: usize| ObjectId::new(objects + 2 * thread);
        let wake_up = |thread: usize| ObjectId::new(objects + 2 * thread + 1);
        let home = step.thread.index();
        let instruction = match pending {
            Pending::Begin => return effect.footprint.add(wake_up(home), Mode::Begin),
            Pending::End => return effect.footprint.add(thread_object(home), Mode::End),
            Pending::Run(instruction) => instruction,
        };
        let value = self.location(instruction).map_or(0, |at| self.memory[at]);
        let registers = &self.threads[home].registers;
        let (mode, flexibility) = match instruction {
            Instruction::Load(..) => (Mode::Read, Flexibility::Fixed),
            Instruction::Store(..) => (Mode::Write, Flexibility::Fixed),
            Instruction::Update(..) => (Mode::Update, Flexibility::Fixed),
            Instruction::Compare { expected, .. } => {
                let succeeds = value == expected.of(registers) && step.choice == 0;
                let mode = if succeeds { Mode::Update } else { Mode::Read };
                (mode, Flexibility::Conditional)
            }
            Instruction::Await(..) => (Mode::Read, Flexibility::Blocking),
            Instruction::AwaitUpdate(..) => (Mode::Update, Flexibility::Blocking),
            Instruction::Lock(_) => (Mode::Acquire, Flexibility::Lock),
            Instruction::Unlock(_) => (Mode::Release, Flexibility::Fixed),
            Instruction::Share(_) => (Mode::ShareAcquire, Flexibility::Lock),
            Instruction::Unshare(_) => (Mode::ShareRelease, Flexibility::Fixed),
            Instruction::TryLock(..) => {
                let mode = if value == 0 { Mode::Acquire } else { Mode::Probe };
                (mode, Flexibility::Conditional)
            }
            Instruction::Spawn(child) => {
                effect.footprint.add(thread_object(child), Mode::Spawn);
                effect.footprint.add(wake_up(child), Mode::Spawn);
                return;
            }
            Instruction::Join(child) => {
                effect.footprint.add(thread_object(child), Mode::Join);
                effect.flexibility = Flexibility::Blocking;
                return;
            }
            _ => return,
        };
        let at = self.location(instruction).expect("it accesses something");
        effect.footprint.add(ObjectId::new(at), mode);
        effect.flexibility = flexibility;
    }

    fn run(&mut self, step: Step, instruction: Instruction) {
        let home = step.thread.index();
        let registers = self.threads[home].registers;
        let at = self.location(instruction);
        let old = at.map_or(0, |at| self.memory[at]);
        let new = match instruction {
            Instruction::Store(_, value, _) => Some(value.of(&registers)),
            Instruction::Update(_, _, change, _) | Instruction::AwaitUpdate(_, _, _, change, _) => {
                Some(change.of(old, &registers))
            }
            Instruction::Compare { expected, new, .. } => {
                (old == expected.of(&registers) && step.choice == 0).then(|| new.of(&registers))
            }
            Instruction::Lock(_) => Some(1),
            Instruction::TryLock(..) => (old == 0).then_some(1),
            Instruction::Unlock(_) => Some(0),
            // A negative value counts those that share it.
            Instruction::Share(_) => Some(old - 1),
            Instruction::Unshare(_) => Some(old + 1),
            _ => None,
        };
        if let (Some(at), Some(new)) = (at, new) {
            self.memory[at] = new;
        }
        if let Instruction::Spawn(child) = instruction {
            self.phases[child] = Phase::Spawned;
        }
        if let Some(register) = instruction.register() {
            let is_choice = matches!(instruction, Instruction::Choose(..));
            self.threads[home].registers[register] =
                if is_choice { step.choice.into() } else { old };
        }
        self.threads[home].next += 1;
        self.threads[home].settle(&self.program.threads[home]);
    }

    fn violation(kind: ViolationKind, message: &str, thread: Option<ThreadId>) -> Violation {
        let message = message.to_owned();
        Violation { kind, message, places: Vec::new(), notes: Vec::new(), thread }
    }
}

impl System for Interleaved {
    without! { thread_key object_key rewind obstacles freed ahead values judging foresight conditions states promises }

    fn restart(&mut self) {
        self.memory = self.program.memory();
        self.threads = vec![State::default(); self.program.threads.len()];
        for (state, code) in self.threads.iter_mut().zip(&self.program.threads) {
            state.settle(code);
        }
        let phase = |thread| {
            if self.program.is_spawned(thread) { Phase::Absent } else { Phase::Running }
        };
        self.phases = (0..self.threads.len()).map(phase).collect();
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn status(&self, thread: ThreadId) -> Status {
        match self.pending_of(thread) {
            Some(pending) if self.is_enabled(thread, pending) => Status::Enabled,
            Some(_) => Status::Blocked,
            None => match (self.phases[thread.index()], self.next(thread)) {
                (Phase::Absent, _) => Status::Absent,
                (_, Next::Assumed) => Status::Assumed,
                (_, Next::Failed) => Status::Failed,
                _ => Status::Finished,
            },
        }
    }

    fn choices(&self, thread: ThreadId) -> u32 {
        let pending =
            self.pending_of(thread).expect("asked for the choices of a thread at its end");
        self.choices_of(thread, pending)
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        let pending =
            self.pending_of(step.thread).expect("asked for a step of a thread at its end");
        self.effect_of(step, pending, effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        let pending = self.pending_of(step.thread).expect("stepped a thread at its end");
        assert!(self.is_enabled(step.thread, pending), "stepped a blocked thread");
        self.effect_of(step, pending, effect);
        let home = step.thread.index();
        match pending {
            Pending::Begin => self.phases[home] = Phase::Running,
            Pending::End => self.phases[home] = Phase::Over,
            Pending::Run(instruction) => self.run(step, instruction),
        }
        if self.phases[home] == Phase::Running && self.next(step.thread) == Next::Failed {
            let message = format!("assertion {} is false", self.threads[home].next);
            let violation = Self::violation(ViolationKind::Assertion, &message, Some(step.thread));
            effect.fault = Some(Fault::Violation(violation));
        }
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let is = |status| {
            (0..self.threads.len()).any(|thread| self.status(ThreadId::new(thread)) == status)
        };
        if is(Status::Failed) {
            (Ending::Complete, None)
        } else if is(Status::Assumed) {
            (Ending::Blocked, None)
        } else if is(Status::Blocked) {
            let violation = Self::violation(ViolationKind::Deadlock, "threads wait", None);
            (Ending::Deadlocked, Some(violation))
        } else {
            (Ending::Complete, None)
        }
    }
}
