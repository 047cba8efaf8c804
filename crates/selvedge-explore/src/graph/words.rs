//! Why a read saw what it saw, and what would have made it see more.

use selvedge_core::{EventId, GraphDescribe, Order, Place, Violation, ViolationKind};

use super::event::{Act, Source};
use super::execution::Graph;
use super::told::Turn;

/// A data race in words.
pub(super) fn data_race<S: GraphDescribe>(
    system: &S,
    graph: &Graph,
    turns: &[Turn],
    sides: [EventId; 2],
) -> Violation {
    let mut sides = sides.map(|side| turns.iter().position(|turn| is_of(turn, side)));
    sides.sort_unstable();
    let sides: Vec<&Turn> = sides.iter().flatten().map(|&index| &turns[index]).collect();
    let name = |turn: &Turn| system.thread_name(turn.event.thread);
    let object = sides.first().and_then(|turn| graph.event(turn.event).at);
    let object = object.map_or(String::new(), |at| system.location_name(at));
    let names: Vec<String> = sides.iter().map(|turn| name(turn)).collect();
    let mut notes: Vec<String> = sides
        .iter()
        .enumerate()
        .map(|(index, turn)| {
            let place = at_place(turn.description.place.as_ref());
            format!("({}) {}: {}{place}", index + 1, name(turn), turn.description.text)
        })
        .collect();
    if let [first, second] = sides.as_slice() {
        let (first, second) = (first.event, second.event);
        let why = unsynchronised(system, graph, turns, first, second)
            .or_else(|| unsynchronised(system, graph, turns, second, first));
        match why {
            Some(why) => notes.push(why),
            // No ordering is missing between the two: they can overlap because one thread missed a write.
            None => notes.extend(missing(system, graph, turns)),
        }
    }
    Violation {
        kind: ViolationKind::DataRace,
        message: format!(
            "data race on `{object}`: {} access it, and nothing orders the two",
            names.join(" and ")
        ),
        places: sides.iter().filter_map(|turn| turn.description.place.clone()).collect(),
        notes,
        thread: sides.last().map(|turn| turn.event.thread),
    }
}

fn is_of(turn: &Turn, event: EventId) -> bool {
    turn.event == event || turn.writes == Some(event)
}

fn at_place(place: Option<&Place>) -> String {
    place.map(|place| format!(" at {place}")).unwrap_or_default()
}

/// For each read that missed a newer write, what it missed and why it could.
pub(super) fn missing<S: GraphDescribe>(system: &S, graph: &Graph, turns: &[Turn]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for turn in turns {
        let Some(at) = graph.event(turn.event).at.filter(|&at| system.is_variable(at)) else {
            continue;
        };
        let Some(&write) = turn.missed.last() else { continue };
        let read = graph.event(turn.event);
        let seen = system.value_text(at, read.value);
        let newer = system.value_text(at, graph.event(write).value);
        let name = system.location_name(at);
        let reader = system.thread_name(turn.event.thread);
        let writer = system.thread_name(write.thread);
        let place = at_place(turn.description.place.as_ref());
        notes.push(match (seen, newer) {
            (Some(seen), Some(newer)) => format!(
                "{reader} read {name} = {seen}{place} and did not see the newer {name} = {newer} of {writer}"
            ),
            _ => format!("{reader} read {name}{place} and did not see the newer value of {writer}"),
        });
        let why = unsynchronised(system, graph, turns, write, turn.event)
            .or_else(|| buffered(system, graph, turn.event, write));
        notes.extend(why.filter(|why| !notes.contains(why)));
    }
    notes
}

/// A write and a read of it that would order two events if their orderings did.
struct Missing {
    write: EventId,
    read: EventId,
    releases: bool,
    acquires: bool,
}

/// Finds what would make `from` happen before `to`, if orderings alone are the reason why nothing does: a write after
/// `from` and a read of it, or of its release sequence, before `to`.
fn missing_order(graph: &Graph, from: EventId, to: EventId) -> Option<Missing> {
    let up_to = |earlier: EventId, later| earlier == later || graph.happens_before(earlier, later);
    let written = |read: EventId| match graph.event(read).source()? {
        Source::Write(write) => Some(write),
        Source::Initial => None,
    };
    let all_of =
        |thread| (0..graph.events(thread).len() as u32).map(move |nth| EventId { thread, nth });
    let fenced = |thread, does: fn(Order) -> bool, is_between: &dyn Fn(EventId) -> bool| {
        all_of(thread).any(|id| {
            let event = graph.event(id);
            event.act == Act::Fence && does(event.order) && is_between(id)
        })
    };
    let mut reads = graph.threads().flat_map(all_of).filter(|&read| read != to && up_to(read, to));
    reads.find_map(|read| {
        let mut write = written(read)?;
        // Up the release sequence.
        while !up_to(from, write) {
            if !graph.event(write).is_updating_write() {
                return None;
            }
            write = written(EventId { nth: write.nth - 1, ..write })?;
        }
        let (wrote, loaded) = (graph.event(write).order, graph.event(read).order);
        if wrote == Order::NonAtomic || graph.happens_before(write, read) {
            return None;
        }
        let releases = wrote.releases()
            || fenced(write.thread, Order::releases, &|id| id.nth < write.nth && up_to(from, id));
        let acquires = loaded.acquires()
            || fenced(read.thread, Order::acquires, &|id| id.nth > read.nth && up_to(id, to));
        (!releases || !acquires).then_some(Missing { write, read, releases, acquires })
    })
}

/// Says what to change so that `first` happens before `second`.
fn unsynchronised<S: GraphDescribe>(
    system: &S,
    graph: &Graph,
    turns: &[Turn],
    first: EventId,
    second: EventId,
) -> Option<String> {
    let Missing { write, read, releases, acquires } = missing_order(graph, first, second)?;
    let place = |event: EventId| {
        let turn = turns.iter().find(|turn| is_of(turn, event));
        at_place(turn.and_then(|turn| turn.description.place.as_ref()))
    };
    let name = graph.event(read).at.map_or(String::new(), |at| system.location_name(at));
    let (wrote, loaded) = (place(write), place(read));
    Some(match (releases, acquires) {
        (false, true) => format!(
            "`{name}` was written with {}{wrote}, so reading it{loaded} did not make what came before visible: use \
             Release",
            graph.event(write).order
        ),
        (true, false) => format!(
            "`{name}` was read with {}{loaded}, so what came before the write of it{wrote} did not become visible: use \
             Acquire",
            graph.event(read).order
        ),
        _ => format!(
            "`{name}` was written{wrote} and read{loaded} with orderings that make nothing else visible: use Release \
             for the write and Acquire for the read"
        ),
    })
}

/// Two threads that each write and then miss what the other one wrote: store buffering.
fn buffered<S: GraphDescribe>(
    system: &S,
    graph: &Graph,
    read: EventId,
    missed: EventId,
) -> Option<String> {
    let at = graph.event(read).at?;
    let mine = (0..read.nth).rev().map(|nth| EventId { nth, ..read });
    let later = graph.events(missed.thread).len() as u32;
    let theirs = |nth: u32| EventId { thread: missed.thread, nth };
    for store in mine {
        let event = graph.event(store);
        let (Act::Write { place, .. }, Some(other)) = (event.act, event.at) else { continue };
        let misses_mine = |&nth: &u32| {
            let event = graph.event(theirs(nth));
            matches!(event.act, Act::Read { .. })
                && event.at == Some(other)
                && graph.place(event) < place
        };
        if other != at && (missed.nth + 1..later).any(|nth| misses_mine(&nth)) {
            let (name, store) = (system.location_name(at), system.location_name(other));
            return Some(format!(
                "nothing keeps the read of `{name}` after the earlier write of `{store}` in the same thread, and the other \
                 way round in {}: use SeqCst for all four, or a SeqCst fence between the two in both threads",
                system.thread_name(missed.thread)
            ));
        }
    }
    None
}
