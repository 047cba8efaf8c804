//! Canonical names of classes of executions, computed from the definitions.
//!
//! Every explorer is tested against it, so it is simple and slow on purpose and shares nothing
//! with [`Execution`]'s clocks.

use crate::dependence::dependent;
use crate::execution::Execution;
use crate::ids::{ObjectId, Position};
use crate::op::{Access, Mode};

/// The name of a Mazurkiewicz trace: equal exactly if two executions have the same events (thread,
/// number, alternative, accesses) and the same happens-before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceKey(Vec<u32>);

impl TraceKey {
    /// Returns the class of `execution`. Takes time cubic in its length at worst.
    pub fn of(execution: &Execution) -> Self {
        let before = happens_before(execution);
        let order = by_thread(execution);
        let mut key = Vec::new();
        for &position in &order {
            name_event(execution, position, &mut key, |_| Vec::new());
            // How many events of each thread come before it: ids are dense, so counts name sets.
            let mut counts: Vec<(u32, u32)> = Vec::new();
            for &other in order.iter().filter(|other| before[position.index()][other.index()]) {
                let thread = execution.event(other).thread().number();
                match counts.last_mut() {
                    Some((last, count)) if *last == thread => *count += 1,
                    _ => counts.push((thread, 1)),
                }
            }
            key.push(counts.len() as u32);
            key.extend(counts.iter().flat_map(|&(thread, count)| [thread, count]));
        }
        Self(key)
    }
}

/// The name of an observation class: equal exactly if two executions have the same events (thread,
/// number, alternative, accesses), every read of a variable observes the same write, and accesses
/// to anything else (locks, semaphores, mailboxes) that do not commute come in the same order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObservationKey(Vec<u32>);

impl ObservationKey {
    /// Returns the class of `execution`. Takes time quadratic in its length at worst.
    pub fn of(execution: &Execution) -> Self {
        Self::with(execution, |_| true)
    }

    /// Returns the class of `execution` if the order in which locks are taken does not count.
    pub fn without_locks(execution: &Execution) -> Self {
        Self::with(execution, |access| !matches!(access.mode, Mode::Acquire | Mode::Release))
    }

    /// Returns the class of `execution` if the order counts of those accesses that are to no variable and
    /// that `is_ordered` holds for.
    fn with(execution: &Execution, is_ordered: impl Fn(Access) -> bool) -> Self {
        let mut key = Vec::new();
        for position in by_thread(execution) {
            name_event(execution, position, &mut key, |access| {
                match is_variable(execution, access.object) {
                    true if access.mode.reads() => source(execution, position, access),
                    false if is_ordered(access) => earlier(execution, position, access),
                    _ => Vec::new(),
                }
            });
        }
        Self(key)
    }
}

/// Returns the events in an order that is the same for all interleavings: thread by thread.
fn by_thread(execution: &Execution) -> Vec<Position> {
    let mut order: Vec<Position> = execution.positions().collect();
    order.sort_by_key(|&position| execution.event(position).id);
    order
}

/// Adds what an event did to a key, and for each access what `more` says of it.
fn name_event(
    execution: &Execution,
    position: Position,
    key: &mut Vec<u32>,
    more: impl Fn(Access) -> Vec<u32>,
) {
    let event = execution.event(position);
    key.extend([event.thread().number(), event.id.nth, event.choice]);
    let mut accesses = execution.accesses(position).to_vec();
    accesses.sort_unstable();
    key.push(accesses.len() as u32);
    for access in accesses {
        key.extend([access.object.number(), access.mode as u32]);
        key.extend(more(access));
    }
}

/// Returns whether the object is only read and written.
fn is_variable(execution: &Execution, object: ObjectId) -> bool {
    let mut accesses = execution.positions().flat_map(|position| execution.accesses(position));
    accesses.all(|access| access.object != object || access.mode.is_memory())
}

/// Returns the event that wrote what the read at `position` sees; nothing: the initial value.
fn source(execution: &Execution, position: Position, read: Access) -> Vec<u32> {
    let writes = |other: &Position| {
        let mut accesses = execution.accesses(*other).iter();
        accesses.any(|access| access.object == read.object && access.mode.writes())
    };
    let source = execution.positions().take(position.index()).rev().find(writes);
    source.map_or(vec![0], |source| {
        let id = execution.event(source).id;
        vec![1, id.thread.number(), id.nth]
    })
}

/// Returns how many accesses of each thread come before the one at `position` and do not commute with it.
fn earlier(execution: &Execution, position: Position, access: Access) -> Vec<u32> {
    let conflicting =
        |other: &Position| execution.accesses(*other).iter().any(|other| other.dependent(access));
    let mut threads: Vec<u32> = execution
        .positions()
        .take(position.index())
        .filter(conflicting)
        .map(|other| execution.event(other).thread().number())
        .collect();
    threads.sort_unstable();
    let mut key = vec![threads.len() as u32];
    key.extend(threads);
    key
}

/// `happens_before(e)[b][a]`: the event at `a` happens before the one at `b`. From the definition.
pub(crate) fn happens_before(execution: &Execution) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; execution.len()]; execution.len()];
    for b in execution.positions() {
        for a in execution.positions().take(b.index()).rev() {
            let direct = execution.event(a).thread() == execution.event(b).thread()
                || dependent(execution.accesses(a), execution.accesses(b));
            if direct && !before[b.index()][a.index()] {
                let (lower, upper) = before.split_at_mut(b.index());
                for (mine, theirs) in upper[0].iter_mut().zip(&lower[a.index()]) {
                    *mine |= theirs;
                }
                upper[0][a.index()] = true;
            }
        }
    }
    before
}
