//! Data races of a graph: two accesses of one location by different threads, not both reads, at least one of them
//! non-atomic, and neither happens before the other. Happens-before is that of RC11 under every memory model:
//! orderings count for data races even where the machine does not need them.

use selvedge_core::{EventId, Location, Order};

use super::event::Act;
use super::execution::Graph;

/// Returns the first data race of each pair of threads and location, in the order of their events.
pub(super) fn find(
    graph: &Graph,
    memory: &dyn Fn(Location) -> Location,
) -> Vec<(EventId, EventId)> {
    let mut races: Vec<(EventId, EventId)> = Vec::new();
    if graph.census.non_atomic == 0 {
        return races;
    }
    let accesses: Vec<EventId> = graph
        .threads()
        .flat_map(|thread| {
            (0..graph.events(thread).len() as u32).map(move |nth| EventId { thread, nth })
        })
        .filter(|&id| graph.event(id).at.is_some() && !graph.event(id).is_blocked())
        .collect();
    for (index, &first) in accesses.iter().enumerate() {
        for &second in &accesses[index + 1..] {
            let is_known = |known: &(EventId, EventId)| {
                (known.0.thread, known.1.thread) == (first.thread, second.thread)
                    && graph.event(known.0).at.map(memory) == graph.event(first).at.map(memory)
            };
            if is_race(graph, memory, first, second) && !races.iter().any(is_known) {
                races.push((first, second));
            }
        }
    }
    races
}

/// Returns whether an event that was just added is part of a data race.
pub(super) fn has_race(graph: &Graph, memory: &dyn Fn(Location) -> Location, new: EventId) -> bool {
    if graph.census.non_atomic == 0 || graph.event(new).at.is_none() {
        return false;
    }
    let mut others = graph.threads().filter(|&thread| thread != new.thread).flat_map(|thread| {
        (0..graph.events(thread).len() as u32).map(move |nth| EventId { thread, nth })
    });
    others.any(|other| !graph.event(other).is_blocked() && is_race(graph, memory, other, new))
}

fn is_race(
    graph: &Graph,
    memory: &dyn Fn(Location) -> Location,
    first: EventId,
    second: EventId,
) -> bool {
    let (a, b) = (graph.event(first), graph.event(second));
    let writes = |act| matches!(act, Act::Write { .. } | Act::Access { write: true });
    first.thread != second.thread
        && a.at.map(memory) == b.at.map(memory)
        && (a.order == Order::NonAtomic || b.order == Order::NonAtomic)
        && (writes(a.act) || writes(b.act))
        && !graph.happens_before(first, second)
        && !graph.happens_before(second, first)
}
