//! Every violation is replayed before it is reported.
//!
//! Reorders the execution that shows a violation to the fewest context switches (see `shorten.rs`),
//! replays it on a fresh system, and checks that it fails in the same way.

use selvedge_core::{
    Budget, Describe, Effect, Execution, Position, Replay, Schedule, Status, System, ThreadId,
    Violation, ViolationKind, replay,
};

use crate::outcome::data_race::{self, DataRace, Missing};
use crate::outcome::promises::broken_promises;
use crate::outcome::shorten::{Goal, context_switches, shorten};

/// A violation that was seen again.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// What is wrong, with names and places filled in.
    pub violation: Violation,
    /// The execution that shows it. Its schedule is numbered as a fresh system numbers threads.
    pub replay: Replay,
    /// How often control passes from one thread to another in it.
    pub context_switches: usize,
}

/// The replay did not show the violation: an error of the tool, or a nondeterministic program.
#[derive(Clone, Debug)]
pub struct NotConfirmed {
    /// What happened instead.
    pub reason: String,
}

/// Replays `schedule` on a fresh system and checks that it shows `violation`.
///
/// # Errors
/// If it does not.
pub fn confirm<S: Describe>(
    make: &dyn Fn() -> S,
    violation: &Violation,
    schedule: &Schedule,
) -> Result<Confirmed, NotConfirmed> {
    confirm_within(make, violation, schedule, &Budget::unlimited())
}

/// As [`confirm`], with a budget. A violation must be shown, so the schedule is replayed in any case; if the budget
/// is exhausted, it is replayed as it was found, and may have more context switches than necessary.
///
/// # Errors
/// If the replay does not show the violation.
pub fn confirm_within<S: Describe>(
    make: &dyn Fn() -> S,
    violation: &Violation,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<Confirmed, NotConfirmed> {
    // The order of all steps matters to a promise.
    if budget.is_spent() || violation.kind.is_about_promises() {
        return seen_again(make, violation, schedule);
    }
    let short = fewer_context_switches(make, violation, schedule, budget);
    match short.and_then(|short| seen_again(make, violation, &short)) {
        Ok(confirmed) => Ok(confirmed),
        // As it was found, then: a longer proof is still one.
        Err(_) => seen_again(make, violation, schedule),
    }
}

/// Returns a schedule of the same class, or of the part of it that leads to the violation.
fn fewer_context_switches<S: Describe>(
    make: &dyn Fn() -> S,
    violation: &Violation,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<Schedule, NotConfirmed> {
    let mut system = make();
    let execution = run(&mut system, schedule)?;
    let goal = match violation.kind {
        ViolationKind::Deadlock | ViolationKind::Finally => Goal::End,
        _ if violation.thread.is_some() => Goal::Last,
        _ => Goal::End,
    };
    let steps = shorten(&execution, goal, budget);
    // Steps may be left out, and with them threads: the remaining ones must be enabled.
    system.restart();
    let mut effect = Effect::default();
    for &step in &steps {
        check_enabled(&system, step)?;
        system.step(step, &mut effect);
    }
    Ok(Schedule::fresh(&mut system, &steps))
}

fn seen_again<S: Describe>(
    make: &dyn Fn() -> S,
    violation: &Violation,
    schedule: &Schedule,
) -> Result<Confirmed, NotConfirmed> {
    let mut system = make();
    let replay = replay(&mut system, schedule)
        .map_err(|error| NotConfirmed { reason: error.to_string() })?;
    let violation = match violation.kind {
        kind if kind.is_about_promises() => {
            let broken = broken_promises(&mut make(), schedule);
            let broken = broken.map_err(|reason| NotConfirmed { reason })?;
            let found = broken.into_iter().find(|other| violation.same_as(other));
            found.map(|found| Violation { notes: violation.notes.clone(), ..found })
        }
        ViolationKind::DataRace => describe_data_race(&system, &replay),
        ViolationKind::Constraint => {
            wrong_constraints(&mut system).into_iter().find(|other| violation.same_as(other))
        }
        _ => replay.violations().find(|other| violation.same_as(other)).cloned(),
    };
    let violation = violation.ok_or_else(|| NotConfirmed {
        reason: "the same steps did not show the violation again".to_owned(),
    })?;
    let context_switches = context_switches(&replay.schedule.steps);
    Ok(Confirmed { violation, replay, context_switches })
}

/// Returns the independence constraints that hold where a system is, between steps that do not commute there.
fn wrong_constraints<S: System>(system: &mut S) -> Vec<Violation> {
    let mut wrong = Vec::new();
    let enabled: Vec<ThreadId> = (0..system.thread_count())
        .map(ThreadId::new)
        .filter(|&thread| system.status(thread) == Status::Enabled)
        .collect();
    let Some(conditions) = system.conditions() else { return wrong };
    for (index, &second) in enabled.iter().enumerate() {
        for &first in &enabled[..index] {
            for holding in conditions.constraints(first, second) {
                wrong.extend(conditions.refute(&holding, first, second));
            }
        }
    }
    wrong
}

/// Follows a schedule and records its execution.
fn run<S: System>(system: &mut S, schedule: &Schedule) -> Result<Execution, NotConfirmed> {
    system.restart();
    let mut execution = Execution::new();
    let mut effect = Effect::default();
    for &step in &schedule.steps {
        check_enabled(system, step)?;
        system.step(step, &mut effect);
        execution.push(step, &effect);
    }
    Ok(execution)
}

fn check_enabled<S: System>(system: &S, step: selvedge_core::Step) -> Result<(), NotConfirmed> {
    let known = step.thread.index() < system.thread_count();
    if known
        && system.status(step.thread) == Status::Enabled
        && step.choice < system.choices(step.thread)
    {
        return Ok(());
    }
    Err(NotConfirmed { reason: format!("thread {} could not run again", step.thread.number()) })
}

/// Returns the data race that the last step completes, in words.
fn describe_data_race<S: Describe>(system: &S, replay: &Replay) -> Option<Violation> {
    let execution = replay.execution();
    let race = data_race::completed_by_last(&execution)?;
    Some(in_words(system, replay, &execution, race))
}

/// Returns all data races of a replay, in words. `system` is the one that replayed it.
pub fn data_races<S: Describe>(system: &S, replay: &Replay) -> Vec<Violation> {
    let execution = replay.execution();
    let races = data_race::find(&execution);
    races.into_iter().map(|race| in_words(system, replay, &execution, race)).collect()
}

fn in_words<S: Describe>(
    system: &S,
    replay: &Replay,
    execution: &Execution,
    race: DataRace,
) -> Violation {
    let missing =
        data_race::missing(execution, &race).map(|missing| advice(system, replay, &missing));
    let object = system.object_name(race.object);
    let sides = [race.first, race.second].map(|position| &replay.steps[position.index()]);
    let name = |index: usize| replay.thread_names[sides[index].step.thread.index()].clone();
    let mut violation = race.violation;
    violation.message = format!(
        "data race on `{object}`: {} and {} access it, and nothing orders the two",
        name(0),
        name(1)
    );
    violation.places = sides.iter().filter_map(|side| side.description.place.clone()).collect();
    violation.notes = (0..2)
        .map(|index| {
            let description = &sides[index].description;
            let place = description.place.as_ref().map(|place| format!(" at {place}"));
            let place = place.unwrap_or_default();
            format!("({}) {}: {}{place}", index + 1, name(index), description.text)
        })
        .chain(missing)
        .collect();
    violation
}

/// Returns which memory orderings would order the two accesses.
fn advice<S: Describe>(system: &S, replay: &Replay, missing: &Missing) -> String {
    let object = system.object_name(missing.object);
    let at = |position: Position| {
        let place = replay.steps[position.index()].description.place.as_ref();
        place.map(|place| format!(" at {place}")).unwrap_or_default()
    };
    let (written, read) = (at(missing.write), at(missing.read));
    match (missing.not_released, missing.not_acquired) {
        (Some(order), None) => format!(
            "`{object}` was written with {order}{written}, so reading it{read} did not make what came before visible: \
             use Release"
        ),
        (None, Some(order)) => format!(
            "`{object}` was read with {order}{read}, so what came before the write of it{written} did not become \
             visible: use Acquire"
        ),
        _ => format!(
            "`{object}` was written{written} and read{read} with orderings that make nothing else visible: use \
             Release for the write and Acquire for the read"
        ),
    }
}
