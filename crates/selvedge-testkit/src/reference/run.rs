//! Runs the code of one thread: from its start, with the answers that it got so far, and then one step further.

use selvedge_core::ViolationKind;

use super::program::Program;
use super::state::{Fault, Start, State, Status, ThreadId, Value};
use super::syntax::{Block, Routine};

/// How deep calls can be nested.
const MOST_CALLS: u32 = 1000;

/// What a step did.
pub(super) struct Step {
    /// The state after it.
    pub(super) state: State,
    /// What it showed to be wrong.
    pub(super) faults: Vec<Fault>,
    /// How many alternatives it had.
    pub(super) alternatives: usize,
}

/// Runs the local code of a thread up to its first visible operation. Returns what is wrong.
pub(super) fn settle(program: &Program, state: &mut State, thread: &ThreadId) -> Vec<Fault> {
    let mut run = Run::new(program, state, thread, None);
    let stop = run.thread();
    run.finish(stop).map(|(faults, _)| faults).expect("local code does not wait")
}

/// Takes a step of `thread`, with this alternative.
///
/// # Errors
/// The line on which it waits, if it is blocked.
pub(super) fn step(
    program: &Program,
    state: &State,
    thread: &ThreadId,
    alternative: usize,
) -> Result<Step, u32> {
    let mut state = state.clone();
    let mut run = Run::new(program, &mut state, thread, Some(alternative));
    let stop = run.thread();
    let (faults, alternatives) = run.finish(stop)?;
    Ok(Step { state, faults, alternatives })
}

/// Runs the `finally` block in a state in which every thread has ended. Returns what is wrong.
pub(super) fn finally(program: &Program, state: &State) -> Option<Fault> {
    let finally = program.finally.as_ref()?;
    let mut state = state.clone();
    let mut run = Run::new(program, &mut state, &ThreadId::new(), None);
    run.atomic = 1;
    match run.block(&finally.body) {
        Ok(_) => None,
        Err(Stop::Fault((ViolationKind::Assertion, line))) => Some((ViolationKind::Finally, line)),
        Err(Stop::Fault(fault)) => Some(fault),
        Err(stop) => panic!("`finally` does not end: {stop:?}"),
    }
}

/// Why a thread does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is before a visible operation on this line, and must not take it now.
    Before(u32),
    /// It was to take a step, which an operation on this line disables.
    Blocked(u32),
    Fault(Fault),
    Assumed,
}

/// How a statement ends.
pub(super) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

/// What comes of a visible operation.
pub(super) enum Attempt {
    Done(Value),
    Blocked,
    Wrong(ViolationKind),
}

/// Whether a visible operation was done before, or is to be done now.
pub(super) enum Turn {
    Answered(Value),
    /// With this alternative.
    Now(usize),
}

pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) state: &'a mut State,
    pub(super) me: ThreadId,
    /// What visible operations returned.
    answers: Vec<Value>,
    /// How many of these were used.
    used: usize,
    /// Whether a step can be taken, and with which alternative.
    permit: Option<usize>,
    /// How many alternatives the step has.
    pub(super) alternatives: usize,
    /// How many atomic blocks are around: in one, visible operations are no steps of their own.
    atomic: u32,
    /// The local variables of the routine that runs, in the order of their declaration.
    pub(super) locals: Vec<(String, Value)>,
    calls: u32,
    /// What was wrong with threads that were spawned.
    faults: Vec<Fault>,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, state: &'a mut State, me: &ThreadId, permit: Option<usize>) -> Self {
        let answers = state.threads.get(me).map_or(Vec::new(), |thread| thread.answers.clone());
        Self {
            program,
            state,
            me: me.clone(),
            answers,
            used: 0,
            permit,
            alternatives: 1,
            atomic: 0,
            locals: Vec::new(),
            calls: 0,
            faults: Vec::new(),
        }
    }

    /// Runs the thread from its start until it ends or stops.
    fn thread(&mut self) -> Result<(), Stop> {
        match self.state.threads[&self.me].start.clone() {
            Start::Declared(number) => {
                let thread = &self.program.threads[number];
                if let Some((name, value)) = &thread.index {
                    self.locals.push((name.clone(), Value::Int(*value)));
                }
                self.block(&thread.body)?;
            }
            Start::Routine(name, arguments) => {
                let routine = &self.program.routines[&name];
                self.call(0, routine, arguments)?;
            }
        }
        Ok(())
    }

    /// Stores where the thread is now. Returns what is wrong, and how many alternatives its step had; if it is blocked, the line.
    fn finish(self, stop: Result<(), Stop>) -> Result<(Vec<Fault>, usize), u32> {
        let mut faults = self.faults;
        let status = match stop {
            Ok(()) => Status::Ended,
            Err(Stop::Before(line)) => Status::Before(line),
            Err(Stop::Blocked(line)) => return Err(line),
            Err(Stop::Assumed) => Status::Assumed,
            Err(Stop::Fault(fault)) => {
                faults.push(fault);
                Status::Failed
            }
        };
        let thread = self.state.threads.get_mut(&self.me).expect("the thread exists");
        thread.status = status;
        thread.answers = self.answers;
        if !matches!(status, Status::Before(_)) {
            // It will never run again.
            thread.answers.clear();
            thread.mailbox.clear();
        }
        Ok((faults, self.alternatives))
    }

    /// The thread comes to a visible operation.
    pub(super) fn turn(&mut self, line: u32) -> Result<Turn, Stop> {
        if let Some(answer) = self.answers.get(self.used) {
            self.used += 1;
            return Ok(Turn::Answered(answer.clone()));
        }
        if self.atomic > 0 {
            return Ok(Turn::Now(0));
        }
        self.permit.take().map(Turn::Now).ok_or(Stop::Before(line))
    }

    /// The visible operation that is done now returns this.
    pub(super) fn answer(&mut self, value: Value) -> Value {
        self.answers.push(value.clone());
        self.used += 1;
        value
    }

    /// A visible operation with one alternative.
    pub(super) fn visible(
        &mut self,
        line: u32,
        perform: impl FnOnce(&mut State, &ThreadId) -> Attempt,
    ) -> Result<Value, Stop> {
        if let Turn::Answered(value) = self.turn(line)? {
            return Ok(value);
        }
        match perform(self.state, &self.me) {
            Attempt::Done(value) => Ok(self.answer(value)),
            Attempt::Blocked => Err(Stop::Blocked(line)),
            Attempt::Wrong(kind) => Err(Stop::Fault((kind, line))),
        }
    }

    /// Runs `body` as one step.
    pub(super) fn atomically<T>(
        &mut self,
        line: u32,
        body: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.atomic == 0
            && let Turn::Now(_) = self.turn(line)?
        {
            self.answer(Value::Unit);
        }
        self.atomic += 1;
        let result = body(self);
        self.atomic -= 1;
        result
    }

    /// `await`: evaluates the condition at once.
    pub(super) fn wait_until(
        &mut self,
        line: u32,
        condition: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<(), Stop> {
        if let Turn::Answered(_) = self.turn(line)? {
            return Ok(());
        }
        let before = self.answers.len();
        self.atomic += 1;
        let holds = condition(self)?.bool();
        self.atomic -= 1;
        // What the condition read is not needed again: it holds.
        self.answers.truncate(before);
        self.used = before;
        if !holds {
            return Err(Stop::Blocked(line));
        }
        self.answer(Value::Unit);
        Ok(())
    }

    /// Runs a routine with these arguments.
    pub(super) fn call(
        &mut self,
        line: u32,
        routine: &Routine,
        arguments: Vec<Value>,
    ) -> Result<Value, Stop> {
        if self.calls == MOST_CALLS {
            return Err(Stop::Fault((ViolationKind::Resources, line)));
        }
        self.calls += 1;
        let locals = routine.parameters.iter().cloned().zip(arguments).collect();
        let outer = std::mem::replace(&mut self.locals, locals);
        let flow = if routine.atomic {
            self.atomically(line, |run| run.block(&routine.body))?
        } else {
            self.block(&routine.body)?
        };
        self.locals = outer;
        self.calls -= 1;
        match flow {
            Flow::Return(value) => Ok(value),
            _ => Ok(Value::Unit),
        }
    }

    /// Runs a thread that has just been spawned up to its first visible operation.
    pub(super) fn settle(&mut self, thread: &ThreadId) {
        let faults = settle(self.program, self.state, thread);
        self.faults.extend(faults);
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<Flow, Stop> {
        let outer = self.locals.len();
        for statement in block.iter() {
            match self.statement(statement)? {
                Flow::Next => {}
                flow => {
                    self.locals.truncate(outer);
                    return Ok(flow);
                }
            }
        }
        self.locals.truncate(outer);
        Ok(Flow::Next)
    }
}
