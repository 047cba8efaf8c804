//! Schedules without the steps that only end a turn of a spin loop.
//!
//! Whether there is such a step depends on what is known about the loop: none if it gives up, and in a search
//! that may turn out elsewhere than in the execution that a schedule is of. A replay in
//! another process does not know it. But such a step changes nothing, so that it can be left out, and put in
//! where a thread stands at one.

use selvedge_core::{Replay, Schedule, Status, Step, System};

use selvedge_rt::SPIN_STEP;

use crate::rt::Program;

/// An execution without such steps.
pub(crate) fn without(replay: Replay) -> Replay {
    let mut kept: Vec<selvedge_core::ReplayedStep> = Vec::with_capacity(replay.steps.len());
    for step in replay.steps {
        if step.description.text != SPIN_STEP {
            kept.push(step);
            continue;
        }
        // What comes after the loop, up to the next step, belongs to the step before.
        let before = kept.iter_mut().rev().find(|other| other.step.thread == step.step.thread);
        if let Some(before) = before {
            let fault = &mut before.effect.fault;
            *fault = fault.take().or(step.effect.fault);
        }
    }
    let schedule = Schedule::from(kept.iter().map(|step| step.step).collect::<Vec<_>>());
    Replay { schedule, steps: kept, ..replay }
}

/// The schedule with such steps, where there are any now.
pub(crate) fn with(system: &mut Program, schedule: &Schedule) -> Schedule {
    system.restart();
    let mut steps = Vec::with_capacity(schedule.steps.len());
    let mut effect = selvedge_core::Effect::default();
    let mut take = |system: &mut Program, step: Step| {
        let is_known = step.thread.index() < system.thread_count();
        if !is_known || system.status(step.thread) != Status::Enabled {
            return false;
        }
        system.step(step, &mut effect);
        steps.push(step);
        true
    };
    for (at, &step) in schedule.steps.iter().enumerate() {
        while system.ends_turn(step.thread) && take(system, Step { choice: 0, ..step }) {}
        if !take(system, step) {
            // Its caller says why.
            steps.extend(&schedule.steps[at..]);
            return steps.into();
        }
    }
    // What is wrong may come after the end of a turn.
    if let Some(&last) = schedule.steps.last()
        && system.ends_turn(last.thread)
        && take(system, Step { choice: 0, ..last })
        && system.status(last.thread) != Status::Failed
    {
        steps.pop();
    }
    steps.into()
}
