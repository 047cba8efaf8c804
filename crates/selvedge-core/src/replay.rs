//! Replays a schedule and records what happens. Shares nothing with the explorers.

use std::collections::BTreeMap;
use std::fmt;

use crate::execution::Execution;
use crate::ids::{ObjectId, ThreadId};
use crate::op::Access;
use crate::schedule::Schedule;
use crate::system::{Describe, Effect, Ending, Status, Step, System};
use crate::violation::{Fault, Place, Violation};

/// What a step did or would do, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// Short, with the values read and written: `read x → 1`, `lock m`.
    pub text: String,
    /// Its place in the source.
    pub place: Option<Place>,
}

/// One step of a replay.
#[derive(Clone, Debug)]
pub struct ReplayedStep {
    /// Which step.
    pub step: Step,
    /// What it did, in words.
    pub description: Description,
    /// What it did.
    pub effect: Effect,
    /// The values of what it accessed: one for each access of the footprint.
    pub values: Vec<ValueChange>,
    /// The other threads that could have run instead, and what each would have done.
    pub others: Vec<(ThreadId, Description)>,
    /// Under a memory model: the indices of earlier steps whose writes are newer than what it read.
    pub missed: Vec<usize>,
}

/// The value of an object before and after a step, if it is known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ValueChange {
    /// Before it.
    pub before: Option<String>,
    /// After it.
    pub after: Option<String>,
}

/// A thread that did not finish.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// Which.
    pub thread: ThreadId,
    /// What it can do.
    pub status: Status,
    /// What it would do next, or what it waits for.
    pub description: Description,
    /// The objects for which it waits, if it is blocked.
    pub obstacles: Vec<ObjectId>,
}

/// A recorded execution.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The schedule that was followed.
    pub schedule: Schedule,
    /// What happened.
    pub steps: Vec<ReplayedStep>,
    /// Names of the threads, by their numbers.
    pub thread_names: Vec<String>,
    /// Names of the objects that were accessed or waited for.
    pub object_names: BTreeMap<ObjectId, String>,
    /// Threads that did not finish.
    pub unfinished: Vec<Unfinished>,
    /// How it ended, if it is maximal.
    pub ending: Option<Ending>,
    /// What the end showed to be wrong: a deadlock, a `finally` that is false.
    pub end_violation: Option<Violation>,
}

impl Replay {
    /// Returns the execution with its happens-before relation.
    pub fn execution(&self) -> Execution {
        let mut execution = Execution::new();
        for step in &self.steps {
            execution.push(step.step, &step.effect);
        }
        execution
    }

    /// Returns everything that is wrong in this execution, in order.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        let in_steps = self.steps.iter().filter_map(|step| match &step.effect.fault {
            Some(Fault::Violation(violation)) => Some(violation),
            _ => None,
        });
        in_steps.chain(&self.end_violation)
    }
}

/// Why a schedule cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayError {
    /// Index of the step that cannot be taken.
    pub at: usize,
    /// Why.
    pub reason: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} of the schedule cannot be taken: {}", self.at + 1, self.reason)
    }
}

impl std::error::Error for ReplayError {}

/// Follows `schedule` on `system`, which is fresh: it has never run anything.
///
/// # Errors
/// If a step names a thread that cannot run there, or an alternative that it does not have.
pub fn replay<S: Describe>(system: &mut S, schedule: &Schedule) -> Result<Replay, ReplayError> {
    system.restart();
    let mut steps = Vec::with_capacity(schedule.steps.len());
    let mut object_names = BTreeMap::new();
    let mut numbering = Numbering::default();
    for (at, &step) in schedule.steps.iter().enumerate() {
        let step = numbering.step(system, step);
        check_possible(system, step).map_err(|reason| ReplayError { at, reason })?;
        let others = others(system, step.thread);
        let before = values(system, step);
        let mut effect = Effect::default();
        system.step(step, &mut effect);
        let told = system.values_of_last();
        let value = |access: &Access| {
            let is_it = |object: &ObjectId| *object == access.object;
            if let Some((_, change)) = told.iter().find(|(object, _)| is_it(object)) {
                return change.clone();
            }
            let before = before.iter().find(|(object, _)| is_it(object));
            ValueChange {
                before: before.and_then(|(_, value)| value.clone()),
                after: system.value(access.object),
            }
        };
        let values = effect.footprint.accesses().iter().map(value).collect();
        note_names(
            system,
            effect.footprint.accesses().iter().map(|access| access.object),
            &mut object_names,
        );
        steps.push(ReplayedStep {
            step,
            description: system.describe_last(),
            effect,
            values,
            others,
            missed: Vec::new(),
        });
    }
    let unfinished = unfinished(system);
    let obstacles = unfinished.iter().flat_map(|thread| thread.obstacles.iter().copied());
    note_names(system, obstacles, &mut object_names);
    let all = || (0..system.thread_count()).map(ThreadId::new);
    let maximal = all().all(|thread| system.status(thread) != Status::Enabled);
    let thread_names = all().map(|thread| system.thread_name(thread)).collect();
    let (ending, end_violation) = if maximal {
        let (ending, violation) = system.end();
        (Some(ending), violation)
    } else {
        (None, None)
    };
    Ok(Replay {
        schedule: schedule.clone(),
        steps,
        thread_names,
        object_names,
        unfinished,
        ending,
        end_violation,
    })
}

/// Which threads of a system the numbers of a schedule mean.
///
/// A schedule numbers threads in the order in which they are created (see [`Schedule::fresh`]); a system that is asked
/// what threads would do may have numbered some that are not there yet.
#[derive(Default, Debug)]
pub struct Numbering {
    created: Vec<ThreadId>,
}

impl Numbering {
    /// Returns the next step of a schedule, with the number that its thread has in the system. To be called before each
    /// step. A thread that was not created keeps its number.
    pub fn step<S: System + ?Sized>(&mut self, system: &S, step: Step) -> Step {
        if self.created.len() < system.thread_count() {
            for thread in (0..system.thread_count()).map(ThreadId::new) {
                if !self.created.contains(&thread) && system.status(thread) != Status::Absent {
                    self.created.push(thread);
                }
            }
        }
        let thread = self.created.get(step.thread.index()).copied().unwrap_or(step.thread);
        Step { thread, ..step }
    }
}

/// Returns the threads other than `thread` that can run, and what each would do.
fn others<S: Describe>(system: &S, thread: ThreadId) -> Vec<(ThreadId, Description)> {
    (0..system.thread_count())
        .map(ThreadId::new)
        .filter(|&other| other != thread && system.status(other) == Status::Enabled)
        .map(|other| (other, system.describe_pending(other)))
        .collect()
}

/// Returns the values of what a step will access.
fn values<S: Describe>(system: &mut S, step: Step) -> Vec<(ObjectId, Option<String>)> {
    let mut effect = Effect::default();
    system.pending(step, &mut effect);
    let objects = effect.footprint.accesses().iter().map(|access| access.object);
    objects.map(|object| (object, system.value(object))).collect()
}

fn note_names<S: Describe>(
    system: &S,
    objects: impl Iterator<Item = ObjectId>,
    names: &mut BTreeMap<ObjectId, String>,
) {
    for object in objects {
        names.entry(object).or_insert_with(|| system.object_name(object));
    }
}

fn unfinished<S: Describe>(system: &mut S) -> Vec<Unfinished> {
    let mut all = Vec::new();
    for thread in (0..system.thread_count()).map(ThreadId::new) {
        let status = system.status(thread);
        if matches!(status, Status::Absent | Status::Finished) {
            continue;
        }
        let mut obstacles = Vec::new();
        if status == Status::Blocked {
            system.obstacles(thread, &mut obstacles);
        }
        let description = system.describe_pending(thread);
        all.push(Unfinished { thread, status, description, obstacles });
    }
    all
}

fn check_possible<S: Describe>(system: &S, step: Step) -> Result<(), String> {
    let thread = step.thread;
    if thread.index() >= system.thread_count() {
        return Err(format!("there is no thread {} yet", thread.number()));
    }
    let name = system.thread_name(thread);
    match system.status(thread) {
        Status::Enabled if step.choice < system.choices(thread) => Ok(()),
        Status::Enabled => Err(format!(
            "thread {} ({name}) has no alternative {} there; the last one is {}",
            thread.number(),
            step.choice,
            system.choices(thread) - 1
        )),
        Status::Absent => Err(format!("thread {} has not been spawned yet", thread.number())),
        Status::Finished => Err(format!("thread {} ({name}) has finished", thread.number())),
        Status::Failed => Err(format!("thread {} ({name}) has failed", thread.number())),
        Status::Assumed => {
            Err(format!("thread {} ({name}) is blocked by an `assume`", thread.number()))
        }
        Status::Blocked | Status::Parked => Err(format!(
            "thread {} ({name}) cannot run: {}",
            thread.number(),
            system.describe_pending(thread).text
        )),
    }
}
