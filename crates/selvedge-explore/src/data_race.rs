//! Data races: two conflicting accesses that no synchronisation orders.
//!
//! Synchronisation order is happens-before without the edges that ordinary reads and writes make:
//! program order, locks, semaphores, wake-ups, messages, starts and ends of threads, and atomic
//! operations on the same variable. Two accesses to one variable are a data race if at least one of
//! them writes, at least one is ordinary, and neither is before the other in that order. Both orders
//! depend only on the trace, so that one execution per trace finds all data races.

use selvedge_core::{Execution, Mode, ObjectId, Position, Violation, ViolationKind, commute};

/// A data race in an execution.
pub(crate) struct DataRace {
    /// What is wrong, not yet in words for the user: `confirm.rs` finds these.
    pub(crate) violation: Violation,
    /// What is accessed.
    pub(crate) object: ObjectId,
    /// The access that comes first.
    pub(crate) first: Position,
    /// The access that completes it.
    pub(crate) second: Position,
}

/// All data races of `execution`, one per pair of threads and object.
pub(crate) fn find(execution: &Execution) -> Vec<DataRace> {
    let order = synchronisation_order(execution);
    let mut races: Vec<DataRace> = Vec::new();
    for second in execution.positions() {
        for access in execution.accesses(second) {
            for (first, other) in execution.history(access.object, second) {
                if !is_memory(access.mode)
                    || !is_memory(other.mode)
                    || commute(access.mode, other.mode)
                    || !(execution.event(first).plain || execution.event(second).plain)
                    || order.before(first, second)
                {
                    continue;
                }
                let violation = violation(execution, access.object, first, second);
                if !races.iter().any(|race| race.violation.same_as(&violation)) {
                    races.push(DataRace { violation, object: access.object, first, second });
                }
            }
        }
    }
    races
}

fn violation(
    execution: &Execution,
    object: ObjectId,
    first: Position,
    second: Position,
) -> Violation {
    let mut threads = [execution.event(first).thread(), execution.event(second).thread()];
    threads.sort_unstable();
    Violation {
        kind: ViolationKind::DataRace,
        message: format!("{object:?} {threads:?}"),
        places: Vec::new(),
        notes: Vec::new(),
        thread: Some(execution.event(second).thread()),
    }
}

fn is_memory(mode: Mode) -> bool {
    matches!(mode, Mode::Read | Mode::Write)
}

/// A clock per event.
pub(crate) struct Order {
    ids: Vec<selvedge_core::EventId>,
    clocks: Vec<Vec<u32>>,
}

impl Order {
    pub(crate) fn before(&self, first: Position, second: Position) -> bool {
        let id = self.ids[first.index()];
        self.clocks[second.index()].get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }
}

pub(crate) fn synchronisation_order(execution: &Execution) -> Order {
    let mut order = Order { ids: Vec::new(), clocks: Vec::new() };
    for position in execution.positions() {
        let id = execution.event(position).id;
        let mut clock = Vec::new();
        if let Some(previous) = execution.previous_of_thread(position) {
            join(&mut clock, &order.clocks[previous.index()]);
        }
        for access in execution.accesses(position) {
            if execution.event(position).plain && is_memory(access.mode) {
                continue;
            }
            for (other, other_access) in execution.history(access.object, position) {
                let plain = execution.event(other).plain && is_memory(other_access.mode);
                if plain || commute(access.mode, other_access.mode) {
                    continue;
                }
                join(&mut clock, &order.clocks[other.index()]);
                if !commute(other_access.mode, other_access.mode) {
                    break; // it is after everything before it
                }
            }
        }
        let slot = id.thread.index();
        clock.resize(clock.len().max(slot + 1), 0);
        clock[slot] = id.nth + 1;
        order.ids.push(id);
        order.clocks.push(clock);
    }
    order
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    clock.resize(clock.len().max(other.len()), 0);
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
