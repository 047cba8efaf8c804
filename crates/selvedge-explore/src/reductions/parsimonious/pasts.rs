//! What can happen before a step that acts differently without another.
//!
//! `f` is to run before `e`, after the prefix up to `e` and some events `W` that do not depend on
//! `e`: exactly those that happen before `f` as it acts there. For a step that always touches one object `W` is
//! given. Otherwise there may be several, each of a class of its own, and this finds them: it begins with the
//! least one and adds events that `f` depends on, or, if it waits, that remove an obstacle. No other addition
//! makes a difference to `f`, so every `W` is met, and each once.

use selvedge_core::{
    Access, Effect, Execution, Footprint, Mode, ObjectId, Position, Status, Step, System, ThreadId,
    commute, dependent,
};
use smallvec::SmallVec;

use super::children::Later;
use crate::search::order::Order;
use crate::search::run::Run;

/// What a thread can do after some steps.
pub(super) enum Trial {
    /// The alternatives of its pending step.
    Enabled(SmallVec<[Footprint; 1]>),
    /// It waits until one of these objects changes.
    Blocked(Vec<ObjectId>),
    /// It has no pending step, or the steps could not be taken.
    Nothing,
}

/// Takes the first `len` steps of the execution and then `events`, and looks at `thread`.
pub(super) fn try_out<S: System>(
    run: &mut Run<'_, S>,
    len: usize,
    events: &[Position],
    thread: ThreadId,
) -> Trial {
    run.sync_to(len);
    let mut effect = Effect::default();
    for &position in events {
        run.stray();
        let step = run.execution.event(position).step();
        if !run.is_enabled(step.thread) {
            return Trial::Nothing;
        }
        run.system.step(step, &mut effect);
    }
    if thread.index() >= run.system.thread_count() {
        return Trial::Nothing;
    }
    match run.system.status(thread) {
        Status::Enabled => {
            let alternatives = (0..run.system.choices(thread)).map(|choice| {
                run.system.pending(Step { thread, choice }, &mut effect);
                effect.footprint.clone()
            });
            Trial::Enabled(alternatives.collect())
        }
        Status::Blocked => {
            let mut obstacles = Vec::new();
            run.system.obstacles(thread, &mut obstacles);
            Trial::Blocked(obstacles)
        }
        _ => Trial::Nothing,
    }
}

/// What is looked for: a step of `later`'s thread before the event at `e`.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) e: Position,
    pub(super) later: Later,
    /// Whether that step also runs after `e` and its past, and is `later`.
    pub(super) contains: bool,
}

/// A question that is answered in part: the sets of events that are still to be tried, and to be
/// enlarged.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    pub(super) question: Question,
    todo: Vec<(Vec<Position>, Vec<Position>)>,
}

impl Rest {
    /// `base` must happen before the step: closed under happens-before, in order. `allowed` may: independent of
    /// `e`, in order.
    pub(super) fn new(question: Question, base: Vec<Position>, allowed: Vec<Position>) -> Self {
        Self { question, todo: vec![(base, allowed)] }
    }

    /// Continues with a question that was answered in part.
    pub(super) fn with(question: Question, todo: Vec<(Vec<Position>, Vec<Position>)>) -> Self {
        Self { question, todo }
    }

    /// Returns the sets that are still to be tried, each with what it may be enlarged by.
    pub(super) fn todo(&self) -> impl Iterator<Item = (&[Position], &[Position])> {
        self.todo.iter().map(|(past, more)| (past.as_slice(), more.as_slice()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.todo.is_empty()
    }

    /// Returns the next set of events after which the step can run, with its alternatives there. The set contains the
    /// base, and some of what is allowed; it need not happen before the step.
    pub(super) fn next<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        order: &Order,
    ) -> Option<(Vec<Position>, SmallVec<[Footprint; 1]>)> {
        let (e, thread) = (self.question.e, self.question.later.thread);
        while !run.is_stopped() {
            let (past, allowed) = self.todo.pop()?;
            let trial = try_out(run, e.index(), &past, thread);
            let execution = &run.execution;
            let candidates: Vec<Position> = match &trial {
                Trial::Enabled(alternatives) => {
                    let matters = |accesses: &[Access]| {
                        alternatives.iter().any(|mine| dependent(mine.accesses(), accesses))
                    };
                    let touches = |&x: &Position| matters(execution.accesses(x));
                    allowed.iter().copied().filter(touches).collect()
                }
                Trial::Blocked(obstacles) => {
                    let holder = match obstacles.as_slice() {
                        &[object] => reader(execution, order, e, &past, object),
                        _ => None,
                    };
                    removing(execution, holder, &allowed, obstacles)
                }
                Trial::Nothing => continue,
            };
            self.enlarge(execution, &past, &allowed, &candidates);
            if let Trial::Enabled(alternatives) = trial {
                return Some((past, alternatives));
            }
        }
        None
    }

    /// Adds, for each candidate, the set that contains it and none of the candidates before it.
    fn enlarge(
        &mut self,
        execution: &Execution,
        past: &[Position],
        allowed: &[Position],
        candidates: &[Position],
    ) {
        for (nth, &next) in candidates.iter().enumerate() {
            let without = &candidates[..nth];
            let is_gone = |x: Position| without.iter().any(|&y| execution.happens_before(y, x));
            if is_gone(next) {
                continue;
            }
            let is_needed = |x: Position| execution.happens_before(x, next);
            let mut larger = past.to_vec();
            larger.extend(allowed.iter().copied().filter(|&x| is_needed(x)));
            larger.sort_unstable();
            // All that it needs must be there.
            let lacks = (self.question.e.index() + 1..next.index())
                .map(Position::new)
                .any(|x| is_needed(x) && larger.binary_search(&x).is_err());
            if lacks {
                continue;
            }
            let left = allowed.iter().copied().filter(|&x| !is_needed(x) && !is_gone(x)).collect();
            self.todo.push((larger, left));
        }
    }
}

/// The events that may remove an obstacle. If readers hold a lock all of them must give it up, so that one
/// is as good to begin with as another: `holder`.
fn removing(
    execution: &Execution,
    holder: Option<ThreadId>,
    allowed: &[Position],
    obstacles: &[ObjectId],
) -> Vec<Position> {
    if let Some(reader) = holder {
        let gives_up = |&&x: &&Position| {
            let mut accesses = execution.accesses(x).iter();
            execution.event(x).thread() == reader
                && accesses.any(|a| obstacles.contains(&a.object) && a.mode == Mode::ShareRelease)
        };
        return allowed.iter().find(gives_up).copied().into_iter().collect();
    }
    let changes = |&x: &Position| {
        let mut accesses = execution.accesses(x).iter();
        accesses.any(|a| obstacles.contains(&a.object) && !commute(a.mode, Mode::Read))
    };
    allowed.iter().copied().filter(changes).collect()
}

/// Returns the least thread that holds the lock for reading after the prefix up to `e` and `past`.
fn reader(
    execution: &Execution,
    order: &Order,
    e: Position,
    past: &[Position],
    object: ObjectId,
) -> Option<ThreadId> {
    let mut holds: Vec<i32> = vec![0; order.len()];
    for position in (0..e.index()).map(Position::new).chain(past.iter().copied()) {
        for access in execution.accesses(position).iter().filter(|a| a.object == object) {
            let change = match access.mode {
                Mode::ShareAcquire => 1,
                Mode::ShareRelease => -1,
                _ => continue,
            };
            holds[order.place(execution.event(position).thread())] += change;
        }
    }
    holds.iter().position(|&times| times > 0).map(|place| order.at(place))
}
