//! The synchronisation that is missing in an execution under a memory model, in one sentence.

use selvedge_core::{EventId, Order, Violation, ViolationKind};
use selvedge_explore::{Act, Graph, Reading, Source};

use super::teller::Teller;
use crate::rt::GraphProgram;

/// A write and a read of it that would order two events if their orderings did.
struct Missing {
    write: EventId,
    read: EventId,
    /// The ordering of the write, if it releases nothing.
    not_released: Option<Order>,
    /// The ordering of the read, if it acquires nothing.
    not_acquired: Option<Order>,
}

/// Whether one event is the other, or happens before it.
fn up_to(graph: &Graph, earlier: EventId, later: EventId) -> bool {
    earlier == later || graph.happens_before(earlier, later)
}

/// What would make `from` happen before `to`, if orderings alone are the reason why nothing does: somebody writes after
/// `from`, somebody reads that before `to`, and the one does not happen before the other.
fn missing(graph: &Graph, from: EventId, to: EventId) -> Option<Missing> {
    let all = graph.threads().flat_map(|thread| {
        (0..graph.events(thread).len() as u32).map(move |nth| EventId { thread, nth })
    });
    all.filter(|&read| graph.event(read).order != Order::NonAtomic && up_to(graph, read, to))
        .find_map(|read| {
            let mut write = written(graph, read)?;
            // Up the release sequence.
            while !up_to(graph, from, write) {
                let before = write.nth.checked_sub(1).map(|nth| EventId { nth, ..write })?;
                let is_part = matches!(graph.event(write).act, Act::Write { updating: true, .. });
                write = is_part.then(|| written(graph, before)).flatten()?;
            }
            if graph.happens_before(write, read) || graph.event(write).order == Order::NonAtomic {
                return None;
            }
            let fence = |thread, does: fn(Order) -> bool, is_between: &dyn Fn(EventId) -> bool| {
                let ids = 0..graph.events(thread).len() as u32;
                ids.map(|nth| EventId { thread, nth }).any(|id| {
                    let event = graph.event(id);
                    event.act == Act::Fence && does(event.order) && is_between(id)
                })
            };
            let (of_write, of_read) = (graph.event(write).order, graph.event(read).order);
            let releases = of_write.releases()
                || fence(write.thread, Order::releases, &|id| {
                    id.nth < write.nth && up_to(graph, from, id)
                });
            let acquires = of_read.acquires()
                || fence(read.thread, Order::acquires, &|id| {
                    id.nth > read.nth && up_to(graph, id, to)
                });
            (!releases || !acquires).then(|| Missing {
                write,
                read,
                not_released: (!releases).then_some(of_write),
                not_acquired: (!acquires).then_some(of_read),
            })
        })
}

/// The write in the graph that a read reads from.
fn written(graph: &Graph, read: EventId) -> Option<EventId> {
    match graph.event(read).source()? {
        Source::Write(write) => Some(write),
        Source::Initial => None,
    }
}

/// The name of what an event accesses.
fn name(system: &GraphProgram, graph: &Graph, event: EventId) -> String {
    let at = graph.event(event).at;
    at.map_or(String::new(), |at| system.object_name(system.object(at)))
}

/// Where an event is, as the end of a sentence.
fn at(teller: &Teller, event: EventId) -> String {
    let place = teller.turn(event).and_then(|turn| turn.place.as_ref());
    place.map_or(String::new(), |place| format!(" at {}:{}", place.file, place.line))
}

fn verb(graph: &Graph, event: EventId) -> &'static str {
    match graph.event(event).act {
        Act::Write { updating: true, .. } | Act::Read { reading: Reading::Updating, .. } => {
            "updated"
        }
        Act::Write { .. } => "stored",
        _ => "loaded",
    }
}

/// What to change so that `what` becomes visible.
fn sentence(
    system: &GraphProgram,
    graph: &Graph,
    teller: &Teller,
    missing: &Missing,
    what: &str,
) -> String {
    let object = name(system, graph, missing.write);
    let (stored, loaded) = (verb(graph, missing.write), verb(graph, missing.read));
    let (write, read) = (at(teller, missing.write), at(teller, missing.read));
    match (missing.not_released, missing.not_acquired) {
        (Some(order), None) => format!(
            "`{object}` was {stored} with {order}{write}, so reading it{read} did not make `{what}` visible; use Release"
        ),
        (None, Some(order)) => format!(
            "`{object}` was {loaded} with {order}{read}, so that did not make `{what}` visible, which came before the write \
             of it{write}; use Acquire"
        ),
        _ => format!(
            "`{object}` was {stored}{write} and {loaded}{read} with orderings that do not make `{what}` visible; use Release \
             for the write and Acquire for the read"
        ),
    }
}

/// A data race, in words.
pub(super) fn data_race(
    system: &GraphProgram,
    graph: &Graph,
    teller: &Teller,
    (first, second): (EventId, EventId),
) -> Violation {
    let object = name(system, graph, first);
    let names = [first, second].map(|event| system.thread_name(event.thread));
    let found = missing(graph, first, second).or_else(|| missing(graph, second, first));
    let places = [first, second].map(|event| teller.turn(event).and_then(|it| it.place.clone()));
    Violation {
        kind: ViolationKind::DataRace,
        message: format!(
            "data race on `{object}`: {} and {} access it, and nothing orders the two",
            names[0], names[1]
        ),
        places: places.into_iter().flatten().collect(),
        notes: found
            .map(|missing| sentence(system, graph, teller, &missing, &object))
            .into_iter()
            .collect(),
        thread: Some(second.thread),
    }
}

/// Why reads did not see the newest values: one sentence for each that differs.
pub(super) fn stale_reads(system: &GraphProgram, graph: &Graph, teller: &Teller) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for (read, newer) in &teller.stale {
        let what = name(system, graph, *read);
        let found = newer.iter().find_map(|&write| missing(graph, write, *read));
        let note = match found {
            Some(missing) => sentence(system, graph, teller, &missing, &what),
            None => {
                let (reader, write) = (system.thread_name(read.thread), newer.last().copied());
                let writer = write.map_or(String::new(), |write| system.thread_name(write.thread));
                format!(
                    "{reader} read an older value of `{what}`{}: nothing orders the write of {writer} before it; if both threads \
                     write one variable and then read another, only SeqCst accesses, or `fence(SeqCst)` in between, let one \
                     of them see the other",
                    at(teller, *read)
                )
            }
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
