//! Data races: two conflicting accesses that no synchronisation orders.
//!
//! Synchronisation order is happens-before without the edges that ordinary reads and writes make:
//! program order, locks, semaphores, wake-ups, messages, starts and ends of threads, and atomic
//! operations on the same variable. Two accesses to one variable are a data race if at least one of
//! them writes, at least one is ordinary, and neither is before the other in that order. Both orders
//! depend only on the trace, so that one execution per trace finds all data races.
//!
//! One pass over the execution with vector clocks. For each object it keeps, per mode, a clock of all
//! synchronising accesses, and the last access of each thread: if that one is ordered, so are those
//! before it.

use rustc_hash::FxHashSet;
use selvedge_core::{
    Access, EventId, Execution, Mode, ObjectId, Position, ThreadId, Violation, ViolationKind,
    commute,
};

/// A data race in an execution.
pub(crate) struct DataRace {
    /// What is wrong, not yet worded for the user: `confirm.rs` finds these.
    pub(crate) violation: Violation,
    /// What is accessed.
    pub(crate) object: ObjectId,
    /// The access that comes first.
    pub(crate) first: Position,
    /// The access that completes it.
    pub(crate) second: Position,
}

/// Returns all data races of `execution`, one per pair of threads and object.
pub(crate) fn find(execution: &Execution) -> Vec<DataRace> {
    if !execution.events().iter().any(|event| event.plain) {
        return Vec::new();
    }
    let mut pass = Pass {
        execution,
        objects: Vec::new(),
        last: Vec::new(),
        races: Vec::new(),
        known: FxHashSet::default(),
    };
    for position in execution.positions() {
        pass.take(position);
    }
    pass.races
}

struct Pass<'a> {
    execution: &'a Execution,
    objects: Vec<Object>,
    /// The clock of the last event of each thread.
    last: Vec<Clock>,
    races: Vec<DataRace>,
    /// The object and the two threads of each of them.
    known: FxHashSet<(ObjectId, [ThreadId; 2])>,
}

/// How many events of each thread are before something in synchronisation order.
type Clock = Vec<u32>;

/// What happened to an object so far.
#[derive(Clone, Default)]
struct Object {
    /// Per mode, what is before a synchronising access or is one.
    synchronised: Vec<(Mode, Clock)>,
    /// The last read and write of each thread, ordinary and synchronising ones apart.
    accessed: Vec<(Mode, bool, EventId, Position)>,
}

impl Pass<'_> {
    fn take(&mut self, position: Position) {
        let (event, accesses) = (self.execution.event(position), self.execution.accesses(position));
        let thread = event.thread().index();
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Clock::new());
        }
        let mut clock = std::mem::take(&mut self.last[thread]);
        for access in accesses {
            if self.objects.len() <= access.object.index() {
                self.objects.resize(access.object.index() + 1, Object::default());
            }
            if !is_ordinary(event.plain, *access) {
                for (mode, before) in &self.objects[access.object.index()].synchronised {
                    if !commute(*mode, access.mode) {
                        join(&mut clock, before);
                    }
                }
            }
        }
        clock.resize(clock.len().max(thread + 1), 0);
        clock[thread] = event.id.nth + 1;
        for access in accesses {
            if access.mode.is_memory() {
                self.look_for_races(position, *access, &clock);
            }
            if !is_ordinary(event.plain, *access) {
                let synchronised = &mut self.objects[access.object.index()].synchronised;
                match synchronised.iter_mut().find(|(mode, _)| *mode == access.mode) {
                    Some((_, before)) => join(before, &clock),
                    None => synchronised.push((access.mode, clock.clone())),
                }
            }
        }
        self.last[thread] = clock;
    }

    /// Compares an access with those before it, and keeps it for those after it.
    fn look_for_races(&mut self, second: Position, access: Access, clock: &Clock) {
        let event = self.execution.event(second);
        let accessed = &mut self.objects[access.object.index()].accessed;
        for &(mode, plain, id, first) in accessed.iter() {
            let is_before = clock.get(id.thread.index()).is_some_and(|&count| count > id.nth);
            if commute(mode, access.mode) || !(plain || event.plain) || is_before {
                continue;
            }
            let mut threads = [id.thread, event.thread()];
            threads.sort_unstable();
            if self.known.insert((access.object, threads)) {
                let violation = violation(access.object, threads, event.thread());
                self.races.push(DataRace { violation, object: access.object, first, second });
            }
        }
        let known = accessed.iter_mut().find(|(mode, plain, id, _)| {
            (*mode, *plain, id.thread) == (access.mode, event.plain, event.thread())
        });
        let new = (access.mode, event.plain, event.id, second);
        match known {
            Some(known) => *known = new,
            None => accessed.push(new),
        }
    }
}

/// Returns the race that a step of `second`, one of the two threads, completes.
fn violation(object: ObjectId, threads: [ThreadId; 2], second: ThreadId) -> Violation {
    Violation {
        kind: ViolationKind::DataRace,
        message: format!("{object:?} {threads:?}"),
        places: Vec::new(),
        notes: Vec::new(),
        thread: Some(second),
    }
}

/// Returns whether the access synchronises nothing.
fn is_ordinary(plain: bool, access: Access) -> bool {
    plain && access.mode.is_memory()
}

fn join(clock: &mut Clock, other: &[u32]) {
    clock.resize(clock.len().max(other.len()), 0);
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

#[cfg(test)]
mod tests;
