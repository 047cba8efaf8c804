//! Why a read saw what it saw, and what would have made it see more.

use selvedge_core::{EventId, GraphDescribe, Order, Place, Violation, ViolationKind};

use super::event::{Act, Source};
use super::execution::Graph;
use super::replay::Turn;

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
        notes.extend(unsynchronised(system, graph, turns, first.event, second.event));
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
        notes.push(format!(
            "{reader} read {name} = {seen}{place} and did not see the newer {name} = {newer} of {writer}"
        ));
        let why = unsynchronised(system, graph, turns, write, turn.event)
            .or_else(|| buffered(system, graph, turn.event, write));
        notes.extend(why.filter(|why| !notes.contains(why)));
    }
    notes
}

/// A write after `first` in its thread that is read before `second` in its thread, with orderings that do not
/// synchronise: what to change.
fn unsynchronised<S: GraphDescribe>(
    system: &S,
    graph: &Graph,
    turns: &[Turn],
    first: EventId,
    second: EventId,
) -> Option<String> {
    let place = |event: EventId| {
        let turn = turns.iter().find(|turn| is_of(turn, event));
        at_place(turn.and_then(|turn| turn.description.place.as_ref()))
    };
    let fenced = |thread, range: std::ops::Range<u32>, does: fn(Order) -> bool| {
        let events = graph.events(thread);
        range.clone().any(|nth| {
            events.get(nth as usize).is_some_and(|it| it.act == Act::Fence && does(it.order))
        })
    };
    for nth in 0..second.nth {
        let read = EventId { nth, ..second };
        let event = graph.event(read);
        let (Act::Read { from: Source::Write(mut write), .. }, Some(at)) = (event.act, event.at)
        else {
            continue;
        };
        // Up the release sequence, to a write of the first thread.
        while write.thread != first.thread && graph.event(write).is_updating_write() {
            let before = EventId { nth: write.nth - 1, ..write };
            match graph.event(before).source() {
                Some(Source::Write(earlier)) => write = earlier,
                _ => break,
            }
        }
        if write.thread != first.thread || write.nth <= first.nth {
            continue;
        }
        let written = graph.event(write).order;
        let releases =
            written.releases() || fenced(first.thread, first.nth + 1..write.nth, Order::releases);
        let acquires =
            event.order.acquires() || fenced(second.thread, nth + 1..second.nth, Order::acquires);
        if releases && acquires {
            continue;
        }
        let name = system.location_name(at);
        let (wrote, loaded) = (place(write), place(read));
        return Some(match (releases, acquires) {
            (false, true) => format!(
                "`{name}` was written with {written}{wrote}, so reading it{loaded} did not make what came before \
                 visible: use Release"
            ),
            (true, false) => format!(
                "`{name}` was read with {}{loaded}, so what came before the write of it{wrote} did not become visible: \
                 use Acquire",
                event.order
            ),
            _ => format!(
                "`{name}` was written{wrote} and read{loaded} with orderings that make nothing else visible: use \
                 Release for the write and Acquire for the read"
            ),
        });
    }
    None
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
                "nothing keeps the read of `{name}` behind the earlier write of `{store}` in the same thread, and the other \
                 way round in {}: use SeqCst for all four, or a SeqCst fence between the two in both threads",
                system.thread_name(missed.thread)
            ));
        }
    }
    None
}
