//! Runs the code of one thread: from its start, with the answers that it got so far, and then one step further.

use selvedge_core::ViolationKind;

use super::program::Program;
use super::state::{Fault, Start, State, Status, ThreadId, Value};
use super::syntax::{Block, Expr, ExprKind, Routine, StmtKind};

/// How many routines can be called and not have returned; the code of a thread counts as one.
const MOST_CALLS: u32 = 1000;

/// Longer local code is not run to its end, as it may have none. The program is then left out of the comparison, which
/// fails if too many are.
const MOST_STATEMENTS: u32 = 20_000;

/// A program with a step that has more alternatives is left out of the comparison, as above: each would be a state.
pub(super) const MOST_ALTERNATIVES: i64 = 1000;

/// What a step did.
pub(super) struct Step {
    /// The state after it.
    pub(super) state: State,
    /// What it showed to be wrong.
    pub(super) fault: Option<Fault>,
    /// How many alternatives it had.
    pub(super) alternatives: usize,
}

/// Why there is no step.
#[derive(Debug)]
pub(super) enum NoStep {
    /// The thread waits on this line.
    Blocked(u32),
    /// It is too much work.
    TooLong,
}

/// Runs the local code of a thread up to its first visible operation. If it fails before that, this is a step of its own.
pub(super) fn settle(
    program: &Program,
    state: &mut State,
    thread: &ThreadId,
) -> Result<(), NoStep> {
    let mut run = Run::new(program, state, thread, None);
    let stop = run.thread().map_err(|stop| match stop {
        Stop::Fault((_, line)) => Stop::Before(line),
        other => other,
    });
    run.finish(stop).map(|_| ())
}

/// Takes a step of `thread`, with this alternative.
///
/// # Errors
/// Why it cannot be taken.
pub(super) fn step(
    program: &Program,
    state: &State,
    thread: &ThreadId,
    alternative: usize,
) -> Result<Step, NoStep> {
    let before = state;
    let mut state = state.clone();
    let mut run = Run::new(program, &mut state, thread, Some(alternative));
    let stop = run.thread();
    let (mut fault, alternatives) = run.finish(stop)?;
    if fault.is_none() {
        fault = broken(program, before, &state)?;
        if fault.is_some() {
            let thread = state.threads.get_mut(thread).expect("the thread exists");
            thread.status = Status::Failed;
            thread.answers.clear();
            thread.mailbox.clear();
        }
    }
    Ok(Step { state, fault, alternatives })
}

/// The first invariant that was true before a step and is false after it.
fn broken(program: &Program, before: &State, after: &State) -> Result<Option<Fault>, NoStep> {
    for invariant in &program.invariants {
        if look(program, before, invariant, ViolationKind::Always)?.is_none()
            && let Some(fault) = look(program, after, invariant, ViolationKind::Always)?
        {
            return Ok(Some(fault));
        }
    }
    Ok(None)
}

/// Runs the `finally` block in a state in which every thread has ended. Returns what is wrong.
///
/// # Errors
/// If it is too much work.
pub(super) fn finally(program: &Program, state: &State) -> Result<Option<Fault>, NoStep> {
    let Some(finally) = &program.finally else { return Ok(None) };
    look(program, state, &finally.body, ViolationKind::Finally)
}

/// Runs code that only looks at the state. Returns what is wrong; an assertion that fails is of this kind.
fn look(
    program: &Program,
    state: &State,
    body: &Block,
    kind: ViolationKind,
) -> Result<Option<Fault>, NoStep> {
    let mut state = state.clone();
    let mut run = Run::new(program, &mut state, &ThreadId::new(), None);
    run.atomic = 1;
    match run.block(body) {
        Ok(_) => Ok(None),
        Err(Stop::Fault((ViolationKind::Assertion, line))) => Ok(Some((kind, line))),
        Err(Stop::Fault(fault)) => Ok(Some(fault)),
        Err(Stop::TooLong) => Err(NoStep::TooLong),
        Err(stop) => panic!("{kind} does not end: {stop:?}"),
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
    /// It runs for too long.
    TooLong,
}

/// How a statement ends; if code is left, by a statement on this line.
pub(super) enum Flow {
    Next,
    Break(u32),
    Continue(u32),
    Return(u32, Value),
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
    /// Whether the step is being taken.
    pub(super) in_step: bool,
    /// How many atomic blocks are around: in one, visible operations are no steps of their own.
    pub(super) atomic: u32,
    /// The local variables of the routine that runs, in the order of their declaration.
    pub(super) locals: Vec<(String, Value)>,
    /// The actor whose routine runs, and its index if it has one.
    pub(super) actor: Option<(String, Option<Value>)>,
    /// Whether a task runs, and not a routine that it calls.
    in_task: bool,
    /// Whether the task begins with an `await` that belongs to its first step.
    waits_first: bool,
    /// What the thread returned.
    result: Value,
    calls: u32,
    statements: u32,
}

impl<'a> Run<'a> {
    fn new(
        program: &'a Program,
        state: &'a mut State,
        me: &ThreadId,
        permit: Option<usize>,
    ) -> Self {
        let answers = state.threads.get(me).map_or(Vec::new(), |thread| thread.answers.clone());
        Self {
            program,
            state,
            me: me.clone(),
            answers,
            used: 0,
            permit,
            alternatives: 1,
            in_step: false,
            atomic: 0,
            locals: Vec::new(),
            actor: None,
            in_task: false,
            waits_first: false,
            result: Value::Unit,
            calls: 0,
            statements: 0,
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
                self.calls = 1;
                self.block(&thread.body)?;
            }
            Start::Routine(name, arguments) => {
                let routine = &self.program.routines[&name];
                self.result = self.call(0, routine, arguments)?;
            }
            Start::Watch(watch) => self.watch(&watch)?,
        }
        Ok(())
    }

    /// Stores where the thread is now. Returns what is wrong, and how many alternatives its step had, or why there is no step.
    fn finish(self, stop: Result<(), Stop>) -> Result<(Option<Fault>, usize), NoStep> {
        let mut fault = None;
        let status = match stop {
            Ok(()) => Status::Ended,
            Err(Stop::Before(line)) => Status::Before(line),
            Err(Stop::Blocked(line)) => return Err(NoStep::Blocked(line)),
            Err(Stop::TooLong) => return Err(NoStep::TooLong),
            Err(Stop::Assumed) => Status::Assumed,
            Err(Stop::Fault(found)) => {
                fault = Some(found);
                Status::Failed
            }
        };
        let thread = self.state.threads.get_mut(&self.me).expect("the thread exists");
        thread.status = status;
        thread.answers = self.answers;
        if status == Status::Ended {
            thread.result = self.result;
        }
        if !matches!(status, Status::Before(_)) {
            // It will never run again.
            thread.answers.clear();
            thread.mailbox.clear();
        }
        Ok((fault, self.alternatives))
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
        let turn = self.permit.take().map(Turn::Now).ok_or(Stop::Before(line))?;
        self.in_step = true;
        Ok(turn)
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
        let actor = routine.name.split_once('.').map(|(actor, _)| {
            let index = self.program.actors[actor].map(|_| arguments[0].clone());
            (actor.to_owned(), index)
        });
        let locals = routine.parameters.iter().cloned().zip(arguments).collect();
        let outer = std::mem::replace(&mut self.locals, locals);
        let outer_actor = std::mem::replace(&mut self.actor, actor);
        let outer_task = std::mem::replace(&mut self.in_task, routine.task);
        self.waits_first = routine.task && self.begins_by_waiting(&routine.body);
        let flow = if routine.atomic {
            self.atomically(line, |run| run.block(&routine.body))?
        } else {
            self.block(&routine.body)?
        };
        self.locals = outer;
        self.actor = outer_actor;
        self.in_task = outer_task;
        self.calls -= 1;
        match flow {
            Flow::Return(_, value) => Ok(value),
            _ => Ok(Value::Unit),
        }
    }

    /// Whether the first statement of a task is an `await` of a condition, or of a future by its name.
    fn begins_by_waiting(&self, body: &Block) -> bool {
        let is_name = |expr: &Expr| match &expr.kind {
            ExprKind::Place(place) => place.indices.is_empty(),
            _ => false,
        };
        match body.first().map(|first| &first.kind) {
            Some(StmtKind::Await(what)) => is_name(what) || !self.is_future(what),
            Some(StmtKind::Let(_, Expr { kind: ExprKind::Await(what), .. })) => is_name(what),
            _ => false,
        }
    }

    /// Whether an `await` waits for the end of a task, and not for a condition.
    pub(super) fn is_future(&self, what: &Expr) -> bool {
        match &what.kind {
            ExprKind::Post(..) => true,
            ExprKind::Place(place) => match self.local(&place.name) {
                Some(Value::Array(elements)) => matches!(elements[0], Value::Thread(_)),
                local => matches!(local, Some(Value::Thread(_))),
            },
            _ => false,
        }
    }

    /// A task comes to an `await`: its step ends before it, and another one begins with it.
    pub(super) fn next_part(&mut self, line: u32) -> Result<(), Stop> {
        if !self.in_task || std::mem::take(&mut self.waits_first) {
            return Ok(());
        }
        self.atomic -= 1;
        let turn = self.turn(line);
        self.atomic += 1;
        if let Turn::Now(_) = turn? {
            self.answer(Value::Unit);
        }
        Ok(())
    }

    /// Counts the statements and iterations that run.
    pub(super) fn tick(&mut self) -> Result<(), Stop> {
        self.statements += 1;
        if self.statements > MOST_STATEMENTS { Err(Stop::TooLong) } else { Ok(()) }
    }

    pub(super) fn block(&mut self, block: &Block) -> Result<Flow, Stop> {
        let outer = self.locals.len();
        for statement in block.iter() {
            self.tick()?;
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
