//! Data races: two conflicting accesses that no synchronisation orders.
//!
//! Happens-before, here, is program order, locks, semaphores, wake-ups, messages, starts and ends of threads, and
//! what atomic operations and fences synchronise by their memory orderings, as in C++20:
//!
//! ```text
//! rs  = [W ⊒ Relaxed] ; (rf ; rmw)*
//! sw  = [⊒ Release] ; ([F] ; po)? ; rs ; rf ; [R ⊒ Relaxed] ; (po ; [F])? ; [⊒ Acquire]
//! ```
//!
//! An operation without an ordering is ordered with all that depend on it ([`Effect::order`]). Two accesses to one
//! variable are a data race if at least one of them writes, at least one is not atomic, and neither happens before
//! the other. Which write a read reads from depends only on the trace, so that one execution per trace finds all
//! data races of the executions that interleave.
//!
//! One pass over the execution with vector clocks. Each thread has, besides its clock, the one of its last
//! release fence, and what its relaxed reads would have acquired, for an acquire fence to come. Each object has, per mode,
//! a clock of all accesses without an ordering; the clock that a read of it acquires; and the last access of each
//! thread: if that one is ordered, so are those before it.
//!
//! [`Effect::order`]: selvedge_core::Effect::order

mod missing;

use rustc_hash::FxHashSet;
use selvedge_core::{
    Access, EventId, Execution, Mode, ObjectId, Order, Position, ThreadId, Violation,
    ViolationKind, commute,
};

pub(crate) use missing::{Missing, missing};

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
    if !execution.events().iter().any(|event| event.order == Some(Order::NonAtomic)) {
        return Vec::new();
    }
    let mut pass = Pass::new(execution);
    for position in execution.positions() {
        pass.take(position);
    }
    pass.races
}

/// Returns a data race that the last step of `execution` completes, whether or not its threads have raced for that
/// object before.
pub(crate) fn completed_by_last(execution: &Execution) -> Option<DataRace> {
    let mut pass = Pass::new(execution);
    for position in execution.positions() {
        if position.index() + 1 == execution.len() {
            pass.known.clear();
        }
        pass.take(position);
    }
    pass.races.into_iter().find(|race| race.second.index() + 1 == execution.len())
}

struct Pass<'a> {
    execution: &'a Execution,
    objects: Vec<Object>,
    threads: Vec<Thread>,
    races: Vec<DataRace>,
    /// The object and the two threads of each of them.
    known: FxHashSet<(ObjectId, [ThreadId; 2])>,
}

/// How many events of each thread are before something in synchronisation order.
type Clock = Vec<u32>;

/// What happens before the next event of a thread.
#[derive(Clone, Default)]
struct Thread {
    /// The clock of its last event.
    clock: Clock,
    /// The clock of its last release fence: what its relaxed writes carry.
    released: Clock,
    /// What its reads without Acquire have read from: an acquire fence acquires it.
    acquirable: Clock,
}

/// What happened to an object so far.
#[derive(Clone, Default)]
struct Object {
    /// Per mode, what is before an access without an ordering or is one.
    ordered: Vec<(Mode, Clock)>,
    /// What a read that acquires gets from the last write: its release sequence.
    carried: Clock,
    /// The last read and write of each thread, those that can race and others apart.
    accessed: Vec<(Mode, bool, EventId, Position)>,
}

impl<'a> Pass<'a> {
    fn new(execution: &'a Execution) -> Self {
        Self {
            execution,
            objects: Vec::new(),
            threads: Vec::new(),
            races: Vec::new(),
            known: FxHashSet::default(),
        }
    }

    fn take(&mut self, position: Position) {
        let (event, accesses) = (self.execution.event(position), self.execution.accesses(position));
        let index = event.thread().index();
        if self.threads.len() <= index {
            self.threads.resize(index + 1, Thread::default());
        }
        let mut thread = std::mem::take(&mut self.threads[index]);
        // It looks at something that is no memory, such as the end of a thread, and says itself that this orders nothing.
        let only_looks = event.order == Some(Order::Relaxed)
            && !accesses.iter().any(|access| access.mode.is_memory());
        for access in accesses {
            if self.objects.len() <= access.object.index() {
                self.objects.resize(access.object.index() + 1, Object::default());
            }
            let object = &self.objects[access.object.index()];
            if !only_looks && is_ordered_with_dependent(event.order, *access) {
                for (mode, before) in &object.ordered {
                    if !commute(*mode, access.mode) {
                        join(&mut thread.clock, before);
                    }
                }
            }
            if access.mode.reads()
                && let Some(order) = atomic(event.order)
            {
                let acquires = order.acquires();
                join(
                    if acquires { &mut thread.clock } else { &mut thread.acquirable },
                    &object.carried,
                );
            }
        }
        let fence = event.order.filter(|_| accesses.is_empty());
        if fence.is_some_and(Order::acquires) {
            join(&mut thread.clock, &thread.acquirable);
        }
        let clock = &mut thread.clock;
        clock.resize(clock.len().max(index + 1), 0);
        clock[index] = event.id.nth + 1;
        if fence.is_some_and(Order::releases) {
            thread.released.clone_from(&thread.clock);
        }
        for access in accesses {
            if access.mode.is_memory() {
                self.look_for_races(position, *access, &thread.clock);
            }
            let object = &mut self.objects[access.object.index()];
            if !only_looks && is_ordered_with_dependent(event.order, *access) {
                match object.ordered.iter_mut().find(|(mode, _)| *mode == access.mode) {
                    Some((_, before)) => join(before, &thread.clock),
                    None => object.ordered.push((access.mode, thread.clock.clone())),
                }
            }
            if access.mode.writes() {
                let order = atomic(event.order);
                // Only a read-modify-write continues the release sequence of the write that it reads.
                if access.mode == Mode::Write || order.is_none() {
                    object.carried.clear();
                }
                if let Some(order) = order {
                    let carries = if order.releases() { &thread.clock } else { &thread.released };
                    join(&mut object.carried, carries);
                }
            }
        }
        self.threads[index] = thread;
    }

    /// Compares an access with those before it, and keeps it for those after it.
    fn look_for_races(&mut self, second: Position, access: Access, clock: &Clock) {
        let event = self.execution.event(second);
        let is_plain = event.order == Some(Order::NonAtomic);
        let accessed = &mut self.objects[access.object.index()].accessed;
        for &(mode, plain, id, first) in accessed.iter() {
            let is_before = clock.get(id.thread.index()).is_some_and(|&count| count > id.nth);
            if commute(mode, access.mode) || !(plain || is_plain) || is_before {
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
            (*mode, *plain, id.thread) == (access.mode, is_plain, event.thread())
        });
        let new = (access.mode, is_plain, event.id, second);
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

/// Returns whether an access is ordered with all that depend on it: one without a memory ordering.
fn is_ordered_with_dependent(order: Option<Order>, access: Access) -> bool {
    // A check and a ghost are no part of the program: they order executions, and synchronise nothing.
    !access.mode.is_of_properties() && (order.is_none() || !access.mode.is_memory())
}

/// Returns the ordering of reads and writes, if they are atomic. One that is ordered with all that depend on it
/// synchronises at least as much as the strongest.
fn atomic(order: Option<Order>) -> Option<Order> {
    match order {
        Some(Order::NonAtomic) => None,
        order => Some(order.unwrap_or(Order::SeqCst)),
    }
}

fn join(clock: &mut Clock, other: &[u32]) {
    clock.resize(clock.len().max(other.len()), 0);
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

#[cfg(test)]
mod tests;
