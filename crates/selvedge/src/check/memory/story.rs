//! One execution under a memory model, told step by step: what each thread read, and which newer values it did not see.

use std::collections::BTreeMap;
use std::rc::Rc;

use selvedge_core::{
    Access, Effect, Ending, Fault, GraphDescribe as _, GraphSystem as _, Label, ObjectId, Replay,
    ReplayError, ReplayedStep, Schedule, Status, ThreadId, Unfinished, ValueChange, Violation,
};
use selvedge_explore::{Act, Followed, Memory, Turn, follow};

use crate::rt::{GraphProgram, Shared};

/// What a step found in objects, and what it left there.
type Changes = Vec<(ObjectId, ValueChange)>;

/// An execution that was run again.
pub(super) struct Story {
    pub(super) replay: Replay,
    /// All that is wrong in it.
    pub(super) violations: Vec<Violation>,
}

impl Story {
    /// Runs the execution with this schedule. What is wrong in it is found without the search.
    pub(super) fn follow(
        shared: &Rc<Shared>,
        memory: Memory,
        schedule: &Schedule,
        data_races: bool,
    ) -> Result<Self, ReplayError> {
        let mut system = GraphProgram::new(Rc::clone(shared), true);
        let (mut effects, mut told): (Vec<Effect>, Vec<Changes>) = (Vec::new(), Vec::new());
        let mut note_effect = |system: &mut GraphProgram, thread| {
            if !effects.is_empty() {
                told.push(system.values_of_last());
            }
            let mut effect = Effect::default();
            system.effect(thread, &mut effect);
            effects.push(effect);
        };
        let followed = follow(&mut system, memory, schedule, data_races, &mut note_effect)?;
        told.push(system.values_of_last());
        let threads = threads(&followed);
        let number = |thread: ThreadId| {
            let position = threads.iter().position(|&known| known == thread);
            ThreadId::new(position.unwrap_or_default())
        };
        let mut violations: Vec<Violation> =
            followed.found.iter().map(|(_, violation)| violation.clone()).collect();
        let unfinished = unfinished(&mut system, &threads);
        let mut ending = Ending::Complete;
        if violations.is_empty() && !unfinished.is_empty() {
            ending = Ending::Deadlocked;
            violations.extend(system.deadlock().map(|mut deadlock| {
                deadlock.notes.extend(followed.missing(&system));
                deadlock
            }));
        }
        for violation in &mut violations {
            violation.thread = violation.thread.map(number);
        }
        let steps = steps(&system, &followed, effects.into_iter().zip(told));
        let object_names = object_names(&system, &followed, &steps, &unfinished);
        let replay = Replay {
            schedule: schedule.clone(),
            steps,
            thread_names: threads.iter().map(|&thread| system.thread_name(thread)).collect(),
            object_names,
            unfinished,
            ending: Some(ending),
            end_violation: None,
        };
        Ok(Self { replay, violations })
    }
}

/// The threads in the order in which they were spawned.
fn threads(followed: &Followed) -> Vec<ThreadId> {
    let spawned =
        followed.turns.iter().filter_map(|turn| match followed.graph.event(turn.event).act {
            Act::Spawn(child) => Some(child),
            _ => None,
        });
    std::iter::once(ThreadId::new(0)).chain(spawned).collect()
}

fn steps(
    system: &GraphProgram,
    followed: &Followed,
    effects: impl Iterator<Item = (Effect, Changes)>,
) -> Vec<ReplayedStep> {
    let steps = followed.schedule.steps.iter().zip(&followed.turns).zip(effects);
    steps
        .map(|((&step, turn), (mut effect, changes))| {
            let description = turn.description.clone();
            if turn.stopped.is_some() {
                effect.fault = fault(system, turn.event.thread);
            }
            let (missed, numbered) = (&turn.missed, followed.turns.iter().enumerate());
            let change = |access: &Access| {
                let known = changes.iter().find(|(object, _)| *object == access.object);
                known.map(|(_, change)| change.clone()).unwrap_or_default()
            };
            let values = effect.footprint.accesses().iter().map(change).collect();
            let is_it = |turn: &Turn| turn.writes.is_some_and(|write| missed.contains(&write));
            let missed = numbered.filter(|(_, turn)| is_it(turn)).map(|(index, _)| index).collect();
            ReplayedStep { step, description, effect, values, others: Vec::new(), missed }
        })
        .collect()
}

fn fault(system: &GraphProgram, thread: ThreadId) -> Option<Fault> {
    (system.label(thread) == Label::Failed).then(|| system.fault(thread)).flatten()
}

fn unfinished(system: &mut GraphProgram, threads: &[ThreadId]) -> Vec<Unfinished> {
    let mut unfinished = Vec::new();
    for (number, &thread) in threads.iter().enumerate() {
        if !matches!(system.label(thread), Label::Ended | Label::Failed) {
            unfinished.push(Unfinished {
                thread: ThreadId::new(number),
                status: Status::Blocked,
                description: system.describe_pending(thread),
                obstacles: match system.label(thread) {
                    Label::Lock(at) | Label::Share(at) | Label::Await { at, .. } => {
                        vec![system.object(at)]
                    }
                    _ => Vec::new(),
                },
            });
        }
    }
    unfinished
}

fn object_names(
    system: &GraphProgram,
    followed: &Followed,
    steps: &[ReplayedStep],
    unfinished: &[Unfinished],
) -> BTreeMap<ObjectId, String> {
    let accesses = steps.iter().flat_map(|step| step.effect.footprint.accesses());
    let touched = accesses.map(|access| access.object);
    let at = |turn: &Turn| followed.graph.event(turn.event).at;
    let located = followed.turns.iter().filter_map(at).map(|at| system.object(at));
    let waited = unfinished.iter().flat_map(|thread| thread.obstacles.iter().copied());
    touched
        .chain(located)
        .chain(waited)
        .map(|object| (object, system.object_name(object)))
        .collect()
}
