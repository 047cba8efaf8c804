//! What can be reached from an event along orders that every thread keeps.
//!
//! Reaching an event means reaching all events after it in its thread, or all writes after it; reaching a write
//! means reaching those after it in modification order, and their readers. So what is reached is two numbers
//! per thread, and one per location.

use selvedge_core::{EventId, Location, ThreadId};

use crate::graph::event::{Act, Event};
use crate::graph::execution::Graph;

/// From where on something is reached in program order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Onward {
    /// All events from this index on.
    pub(super) all: u32,
    /// All writes from this index on: not a later one.
    pub(super) writes: u32,
}

/// How a model keeps program order.
pub(super) trait Kept {
    /// Returns what follows from reaching an event, in its thread.
    fn onward(events: &[Event], nth: u32) -> Onward;

    /// Whether reading from a write of the same thread orders anything.
    const INTERNAL_READS: bool;
}

/// Buffers of a search along an order.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Of each thread: what is reached.
    threads: Vec<Onward>,
    /// Of each location: the first place that is reached.
    places: Vec<u32>,
    /// Parts of threads that are reached and not yet followed.
    parts: Vec<(ThreadId, Onward)>,
    /// Locations whose first place has changed and was not yet followed: which place it was.
    changed: Vec<(Location, u32)>,
}

impl Reach {
    /// Returns whether the new event, which is the last of its thread, is reached from itself along kept program order,
    /// reads-from, modification order, from-read, spawn and join. It can be left only towards a later write.
    pub(super) fn returns<K: Kept>(&mut self, graph: &Graph, new: EventId) -> bool {
        let event = graph.event(new);
        let Some(at) = event.at else { return false };
        self.begin(graph);
        self.reach_place(at, graph.place(event) + 1);
        self.comes_to::<K>(graph, new)
    }

    /// Returns whether an event is reached from another one.
    pub(super) fn reaches<K: Kept>(&mut self, graph: &Graph, from: EventId, to: EventId) -> bool {
        self.begin(graph);
        self.reach_event::<K>(graph, from);
        self.comes_to::<K>(graph, to)
    }

    /// Clears the buffers: nothing is reached yet.
    fn begin(&mut self, graph: &Graph) {
        self.threads.clear();
        self.threads.extend(graph.threads.iter().map(|thread| {
            let len = thread.events.len() as u32;
            Onward { all: len, writes: len }
        }));
        self.places.clear();
        self.places.extend(graph.cells.iter().map(|cell| cell.writes.len() as u32 + 1));
        self.parts.clear();
        self.changed.clear();
    }

    /// Follows what is reached. Returns whether that includes an event.
    fn comes_to<K: Kept>(&mut self, graph: &Graph, event: EventId) -> bool {
        loop {
            if let Some((thread, onward)) = self.parts.pop() {
                if self.follow::<K>(graph, thread, onward, event) {
                    return true;
                }
            } else if let Some((at, before)) = self.changed.pop() {
                self.follow_place::<K>(graph, at, before);
            } else {
                return false;
            }
        }
    }

    #[inline]
    fn reach_place(&mut self, at: Location, place: u32) {
        let known = &mut self.places[at.index()];
        if place < *known {
            self.changed.push((at, *known));
            *known = place;
        }
    }

    #[inline]
    fn reach_event<K: Kept>(&mut self, graph: &Graph, event: EventId) {
        let onward = K::onward(graph.events(event.thread), event.nth);
        self.parts.push((event.thread, onward));
    }

    /// Follows the writes from the first place on that is reached, and their readers. Those from place
    /// `before` on were followed before.
    fn follow_place<K: Kept>(&mut self, graph: &Graph, at: Location, before: u32) {
        let cell = &graph.cells[at.index()];
        let first = self.places[at.index()];
        for &write in &cell.writes[first as usize - 1..before as usize - 1] {
            self.reach_event::<K>(graph, write);
        }
        for &read in &cell.reads {
            let event = graph.event(read);
            let place = graph.place(event);
            if (first..before).contains(&place) && !event.is_blocked() {
                let is_internal = cell.writes[place as usize - 1].thread == read.thread;
                if K::INTERNAL_READS || !is_internal {
                    self.reach_event::<K>(graph, read);
                }
            }
        }
    }

    /// Follows a part of a thread. Returns whether it includes an event.
    fn follow<K: Kept>(
        &mut self,
        graph: &Graph,
        home: ThreadId,
        Onward { all, writes }: Onward,
        sought: EventId,
    ) -> bool {
        let events = graph.events(home);
        let known = self.threads[home.index()];
        if all >= known.all && writes >= known.writes {
            return false;
        }
        self.threads[home.index()] =
            Onward { all: all.min(known.all), writes: writes.min(known.writes) };
        for nth in all.min(writes)..known.all {
            let event = &events[nth as usize];
            let is_write = matches!(event.act, Act::Write { .. });
            let is_reached = nth >= all || (is_write && nth >= writes);
            let is_known = is_write && nth >= known.writes;
            if !is_reached || is_known || event.is_blocked() {
                continue;
            }
            if home == sought.thread && nth == sought.nth {
                return true;
            }
            match (event.act, event.at) {
                (Act::Write { place, .. }, Some(at)) => self.reach_place(at, place),
                (Act::Read { from, .. }, Some(at)) => {
                    self.reach_place(at, graph.place_of(from) + 1);
                }
                // All of a thread comes after its spawn, and before its join: also what is in a store buffer.
                (Act::Spawn(child), _) => self.parts.push((child, Onward { all: 0, writes: 0 })),
                _ => {}
            }
        }
        if graph.census.joins > 0 {
            for joiner in graph.threads() {
                let events = graph.events(joiner);
                let join = events.iter().position(|event| event.act == Act::Join(home));
                if let Some(nth) = join {
                    let nth = nth as u32;
                    self.reach_event::<K>(graph, EventId { thread: joiner, nth });
                }
            }
        }
        false
    }
}
