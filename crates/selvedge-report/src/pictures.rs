//! An execution as a picture for documents: a drawing with lanes, a graph, a sequence diagram.
//!
//! Everything from a program is text in all of them, whatever characters it has.

mod dot;
mod mermaid;
mod plot;
mod routes;
mod svg;
mod transactions;

pub use dot::dot;
pub use mermaid::mermaid;
pub use plot::{Curve, Panel, Plot, Unit, plot};
pub use svg::svg;
pub use transactions::{PairOfThreads, transactions};

use selvedge_core::{Status, ThreadId, ViolationKind};

use crate::view::{EdgeView, StepView, TraceView, WaitingView};

/// A thread that takes part in an execution.
struct Lane<'a> {
    thread: ThreadId,
    name: &'a str,
}

/// Returns the threads that took a step or wait, in the order of their numbers.
fn lanes(trace: &TraceView) -> Vec<Lane<'_>> {
    let steps = trace.steps.iter().map(|step| (step.thread, &step.name));
    let waiting = stuck(trace).map(|waiting| (waiting.thread, &waiting.name));
    let mut lanes: Vec<Lane<'_>> =
        steps.chain(waiting).map(|(thread, name)| Lane { thread, name }).collect();
    lanes.sort_by_key(|lane| lane.thread);
    lanes.dedup_by_key(|lane| lane.thread);
    lanes
}

/// Returns whether something is wrong in the step with this number.
fn is_wrong(trace: &TraceView, number: usize, step: &StepView) -> bool {
    let races = trace.violations.iter().filter_map(|violation| violation.race);
    step.stopped.is_some() || races.flatten().any(|of_race| of_race == number)
}

/// Returns the edges to the step with this number, one from each earlier step, with their reasons: `reads what it wrote (x)`. The two
/// accesses of a data race came in their order by chance: that is none.
fn edges(trace: &TraceView, number: usize) -> Vec<(usize, String)> {
    let races: Vec<[usize; 2]> = trace.violations.iter().filter_map(|found| found.race).collect();
    let mut all: Vec<(usize, String)> = Vec::new();
    for EdgeView { step: earlier, object, why } in &trace.steps[number - 1].after {
        if races.contains(&[*earlier, number]) {
            continue;
        }
        let is_either = [*earlier, number].iter().any(|&of| trace.steps[of - 1].name == *object);
        let reason = if is_either { (*why).to_owned() } else { format!("{why} ({object})") };
        match all.last_mut() {
            Some((last, reasons)) if last == earlier => {
                reasons.push_str(", ");
                reasons.push_str(&reason);
            }
            _ => all.push((*earlier, reason)),
        }
    }
    all
}

/// Returns the threads that wait at the end. Those that could go on, or that failed in a step, do not.
fn stuck(trace: &TraceView) -> impl Iterator<Item = &WaitingView> {
    trace.waiting.iter().filter(|waiting| {
        matches!(waiting.status, Status::Blocked | Status::Parked | Status::Assumed)
    })
}

/// Returns whether it is wrong that threads wait at the end. Where something else went wrong first, they just do.
fn is_deadlock(trace: &TraceView) -> bool {
    trace.violations.iter().any(|found| found.kind == ViolationKind::Deadlock)
}

/// Returns the number of a step, with a mark if it is one of those that repeat forever.
fn marked(trace: &TraceView, number: usize) -> String {
    match trace.schedule.cycle {
        Some(before) if number > before => format!("↻ {number}"),
        _ => number.to_string(),
    }
}

/// Returns the numbers of the first and the last of the steps that repeat forever.
fn cycle(trace: &TraceView) -> Option<(usize, usize)> {
    trace.schedule.cycle.map(|before| (before + 1, trace.steps.len()))
}

/// Returns what a step did, and why its thread stopped there if it did.
fn text_of(step: &StepView, did: &str) -> String {
    match &step.stopped {
        Some(why) => format!("{did} ✗ {why}"),
        None => did.to_owned(),
    }
}

/// Returns what a thread waits for.
fn waits_for(waiting: &WaitingView) -> String {
    match &waiting.object {
        Some(object) => format!("waits for {object}"),
        None => waiting.text.clone(),
    }
}

/// Returns the first line of what is wrong, or that nothing is.
fn headline(trace: &TraceView) -> &str {
    let message = trace.violations.first().map_or("no violation", |found| &found.message);
    message.lines().next().unwrap_or_default()
}
