//! Replays a schedule and records what happens. Shares nothing with the explorers.

use std::fmt;

use crate::execution::Execution;
use crate::ids::ThreadId;
use crate::schedule::Schedule;
use crate::system::{Describe, Effect, Ending, Status, Step};
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
    /// Threads that did not finish, and what each would do next or waits for.
    pub unfinished: Vec<(ThreadId, Status, Description)>,
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
    for (at, &step) in schedule.steps.iter().enumerate() {
        check_possible(system, step).map_err(|reason| ReplayError { at, reason })?;
        let mut effect = Effect::default();
        system.step(step, &mut effect);
        steps.push(ReplayedStep { step, description: system.describe_last(), effect });
    }
    let all = || (0..system.thread_count()).map(ThreadId::new);
    let maximal = all().all(|thread| system.status(thread) != Status::Enabled);
    let unfinished = all()
        .filter(|&thread| !matches!(system.status(thread), Status::Absent | Status::Finished))
        .map(|thread| (thread, system.status(thread), system.describe_pending(thread)))
        .collect();
    let thread_names = all().map(|thread| system.thread_name(thread)).collect();
    let (ending, end_violation) = if maximal {
        let (ending, violation) = system.end();
        (Some(ending), violation)
    } else {
        (None, None)
    };
    Ok(Replay {
        schedule: Schedule { steps: steps.iter().map(|step| step.step).collect() },
        steps,
        thread_names,
        unfinished,
        ending,
        end_violation,
    })
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
