//! The synchronisation that is missing between the accesses of a data race.
//!
//! A write of the first thread that the second one reads from, after the one access and before the other, would
//! order the two if it were a release and the read an acquire. If there is such a pair, the race is a
//! matter of memory orderings, and these are what to change.

use selvedge_core::{Execution, Mode, ObjectId, Order, Position};

use super::DataRace;

/// A write and a read from it that would order the accesses of a race.
pub(crate) struct Missing {
    /// The atomic variable.
    pub(crate) object: ObjectId,
    /// The write, or the head of the chain of read-modify-writes that was read.
    pub(crate) write: Position,
    /// The read.
    pub(crate) read: Position,
    /// The ordering of the write, if it releases nothing.
    pub(crate) not_released: Option<Order>,
    /// The ordering of the read, if it acquires nothing.
    pub(crate) not_acquired: Option<Order>,
}

/// Returns what would order the two accesses, if memory orderings alone are the reason why nothing does.
pub(crate) fn missing(execution: &Execution, race: &DataRace) -> Option<Missing> {
    let [first, second] =
        [race.first, race.second].map(|position| execution.event(position).thread());
    let between = |thread, from: Position, to: Position| {
        execution.positions().filter(move |&position| {
            from < position && position < to && execution.event(position).thread() == thread
        })
    };
    between(second, race.first, race.second).find_map(|read| {
        let (access, order) = atomic(execution, read, Mode::reads)?;
        let mut write = read_from(execution, read, access)?;
        // Up the release sequence, to a write of the first thread.
        while execution.event(write).thread() != first {
            atomic(execution, write, |mode| mode == Mode::Update)?;
            write = read_from(execution, write, access)?;
        }
        if write < race.first {
            return None;
        }
        let (_, written) = atomic(execution, write, Mode::writes)?;
        let has_fence = |thread, from, to, does: fn(Order) -> bool| {
            between(thread, from, to).any(|position| {
                execution.accesses(position).is_empty()
                    && execution.event(position).order.is_some_and(does)
            })
        };
        let releases = written.releases() || has_fence(first, race.first, write, Order::releases);
        let acquires = order.acquires() || has_fence(second, read, race.second, Order::acquires);
        (!releases || !acquires).then(|| Missing {
            object: access,
            write,
            read,
            not_released: (!releases).then_some(written),
            not_acquired: (!acquires).then_some(order),
        })
    })
}

/// Returns the variable that an atomic operation accesses in such a mode, with its ordering.
fn atomic(
    execution: &Execution,
    position: Position,
    is_wanted: impl Fn(Mode) -> bool,
) -> Option<(ObjectId, Order)> {
    let order = execution.event(position).order.filter(|&order| order != Order::NonAtomic)?;
    let access = execution.accesses(position).iter().find(|access| is_wanted(access.mode))?;
    Some((access.object, order))
}

/// Returns the last write to a variable before a read of it.
fn read_from(execution: &Execution, read: Position, object: ObjectId) -> Option<Position> {
    let mut earlier =
        execution.positions().take_while(|&position| position < read).collect::<Vec<_>>();
    earlier.reverse();
    earlier.into_iter().find(|&position| {
        let mut accesses = execution.accesses(position).iter();
        accesses.any(|access| access.object == object && access.mode.writes())
    })
}
