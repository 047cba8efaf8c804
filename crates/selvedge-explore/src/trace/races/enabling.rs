//! The largest parts of an execution after which a step that waits can run.
//!
//! A system names the *obstacles* of a blocked step: objects such that it waits as long as none of
//! them changes. So a part after which the step can run lacks, for one of the obstacles, an event that may
//! have disabled it. Leaving out an event means leaving out what happens after it; hence for an object
//! whose last such event excludes all others there is one choice, and readers that hold a lock must go
//! all together. Where one object alone is the obstacle nothing is left to choose, and the part is
//! found with as many tries as there are events to leave out. Where a step waits for one *or* another
//! object, each is tried: that is as hard as finding out whether a condition can become true, so the budget is
//! asked before each try.

use std::collections::BTreeSet;

use selvedge_core::{Execution, Mode, ObjectId, Position, Status, System, commute, never_disables};

use super::waiting::Waiting;
use super::what_if;
use crate::search::run::Run;
use crate::trace::sequence::Move;

/// Events to run after `pre(E,e)`, and the alternatives that the step then has.
pub(super) struct Part {
    pub(super) events: Vec<Position>,
    pub(super) alternatives: Vec<Move>,
}

/// Returns the largest parts of `events`, which are in the order of the execution and do not happen after
/// `e`, that are closed under happens-before and after which the step can run. `None` if the events
/// cannot be run without `e`. If the exploration must end, some may be missing; its report then says so.
pub(super) fn largest_parts<S: System>(
    run: &mut Run<'_, S>,
    waiting: &Waiting,
    e: Position,
    events: Vec<Position>,
) -> Option<Vec<Part>> {
    let mut found: Vec<Part> = Vec::new();
    // Parts to try, the largest first: what is tried now was made from larger ones only, all tried before.
    let mut todo = BTreeSet::from([(events.len(), events)]);
    let mut obstacles = Vec::new();
    while let Some((_, events)) = todo.pop_last() {
        if run.is_stopped() {
            break;
        }
        if found.iter().any(|larger| is_contained(&events, &larger.events)) {
            continue;
        }
        let alternatives = what_if(run, e, &events, waiting.thread)?;
        if !alternatives.is_empty() {
            found.push(Part { events, alternatives });
            continue;
        }
        if run.system.status(waiting.thread) != Status::Blocked {
            continue;
        }
        obstacles.clear();
        run.system.obstacles(waiting.thread, &mut obstacles);
        for &object in &obstacles {
            for gone in to_leave_out(&run.execution, waiting, e, &events, object) {
                let mut rest = events.clone();
                let is_after =
                    |x: Position| gone.iter().any(|&g| run.execution.happens_before(g, x));
                rest.retain(|&position| !is_after(position));
                todo.insert((rest.len(), rest));
            }
        }
    }
    Some(found)
}

fn is_contained(part: &[Position], larger: &[Position]) -> bool {
    part.iter().all(|position| larger.binary_search(position).is_ok())
}

/// Returns the ways to change `object` by leaving out events, such that any part that leaves it in another state
/// which may let the step run lacks all events of one of them.
fn to_leave_out(
    execution: &Execution,
    waiting: &Waiting,
    e: Position,
    events: &[Position],
    object: ObjectId,
) -> Vec<Vec<Position>> {
    let mode_of = |position: Position| {
        let mut accesses = execution.accesses(position).iter();
        accesses.find(|access| access.object == object).map(|access| access.mode)
    };
    let may_go = |position: &Position| !waiting.knows(execution, *position);
    let mut disabling = events
        .iter()
        .rev()
        .filter_map(|&position| Some((position, mode_of(position)?)))
        .filter(|&(_, mode)| !never_disables(mode) && !commute(mode, Mode::Read))
        .peekable();
    let Some(&(last, last_mode)) = disabling.peek() else { return Vec::new() };
    if !commute(last_mode, last_mode) {
        return if may_go(&last) { vec![vec![last]] } else { Vec::new() };
    }
    if last_mode == Mode::ShareAcquire {
        let holders = holders(execution, e, events, object);
        if !holders.is_empty() {
            let removable = |gone: &Position| events.binary_search(gone).is_ok() && may_go(gone);
            return if holders.iter().all(removable) { vec![holders] } else { Vec::new() };
        }
    }
    disabling
        .take_while(|&(_, mode)| commute(mode, last_mode))
        .map(|(position, _)| position)
        .filter(may_go)
        .map(|position| vec![position])
        .collect()
}

/// For each thread that holds the lock for reading after `pre(E,e)` and `events`: the event since which it
/// does. A thread may take it several times.
fn holders(
    execution: &Execution,
    e: Position,
    events: &[Position],
    object: ObjectId,
) -> Vec<Position> {
    let end = events.last().map_or(e, |&last| Position::new(last.index() + 1));
    let mut history: Vec<_> = execution
        .history(object, end)
        .filter(|(position, _)| *position < e || events.binary_search(position).is_ok())
        .collect();
    history.reverse();
    let mut holds: Vec<(u32, Option<Position>)> = Vec::new();
    for (position, access) in history {
        let thread = execution.event(position).thread().index();
        if holds.len() <= thread {
            holds.resize(thread + 1, (0, None));
        }
        let (count, since) = &mut holds[thread];
        match access.mode {
            Mode::ShareAcquire => {
                *count += 1;
                since.get_or_insert(position);
            }
            Mode::ShareRelease => {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    *since = None;
                }
            }
            _ => {}
        }
    }
    holds.into_iter().filter_map(|(_, since)| since).collect()
}
