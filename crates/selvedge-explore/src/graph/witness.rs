//! An execution as a list that can be replayed.

use selvedge_core::{Answer, EventId, GraphSystem, Label, ThreadId};

use super::event::{Act, Event, Reading, Source};
use super::execution::Graph;

/// What a thread stood at, and what it was told: in an order in which every read comes after what it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Who, at what, and what it was told.
    pub turns: Vec<(ThreadId, Label, Answer)>,
    /// The event of each turn in the graph.
    pub events: Vec<EventId>,
    /// What was chosen at each turn, as a schedule says it: of a read, how many of the writes to its location that came
    /// earlier in this list are newer than the one it reads; of a write, how many of them come after it in modification
    /// order; of a choice, its value. A compare-exchange that is weak counts twice, and one more if it fails spuriously.
    pub choices: Vec<u32>,
}

impl Witness {
    /// The witness of a graph, in an order in which as few reads as possible miss an earlier write.
    pub(super) fn of(graph: &Graph) -> Self {
        let order = readable_order(graph);
        let mut placed: Vec<Vec<EventId>> = vec![Vec::new(); graph.cells.len()];
        let mut witness = Self { turns: Vec::new(), events: Vec::new(), choices: Vec::new() };
        for id in order {
            let event = graph.event(id);
            let newer = |place: u32| {
                let later = |write: &&EventId| graph.place_of(Source::Write(**write)) > place;
                let at = event.at.map_or(0, |at| at.index());
                placed.get(at).map_or(0, |placed| placed.iter().filter(later).count() as u32)
            };
            let choice = match event.act {
                Act::Read { from, reading } => match event.label {
                    Label::Compare { weak: true, .. } => {
                        2 * newer(graph.place_of(from)) + u32::from(reading == Reading::Spurious)
                    }
                    _ => newer(graph.place_of(from)),
                },
                Act::Write { place, .. } => newer(place),
                // A choice is made among fewer than 2³² values.
                Act::Choice => event.value as u32,
                _ => 0,
            };
            if let (Act::Write { .. }, Some(at)) = (event.act, event.at) {
                placed[at.index()].push(id);
            }
            if let Some(answer) = event.answer() {
                witness.turns.push((id.thread, event.label, answer));
                witness.events.push(id);
                witness.choices.push(choice);
            }
        }
        witness
    }

    /// Leads a system, from its initial state, to where it ends. Returns whether the system went along.
    pub fn replay<S: GraphSystem>(&self, system: &mut S) -> bool {
        system.restart();
        self.turns.iter().all(|&(thread, label, answer)| {
            let goes_along =
                thread.index() < system.thread_count() && system.label(thread) == label;
            if goes_along {
                system.proceed(thread, answer);
            }
            goes_along
        })
    }
}

/// Writes down the events that are not blocked, each after those before it in program order, reads-from, spawn
/// and join: as long as one thread as it can go.
pub(super) fn linear_extension(graph: &Graph, order: &mut Vec<EventId>) {
    order.clear();
    let mut done = vec![0u32; graph.threads.len()];
    loop {
        let before = order.len();
        for thread in graph.threads() {
            let events = graph.events(thread);
            while let Some(event) = events.get(done[thread.index()] as usize)
                && !event.is_blocked()
                && is_ready(graph, thread, event, &done)
            {
                order.push(EventId { thread, nth: done[thread.index()] });
                done[thread.index()] += 1;
            }
        }
        if order.len() == before {
            return;
        }
    }
}

/// The events that are not blocked, in an order that contains program order, reads-from, spawn and join; and as far as
/// that is possible, each read before the writes that it misses, and writes in modification order. If the execution is
/// sequentially consistent, no read misses anything.
fn readable_order(graph: &Graph) -> Vec<EventId> {
    let mut order = Vec::new();
    let mut done = vec![0u32; graph.threads.len()];
    let mut last = None;
    loop {
        let pending = |thread: ThreadId| {
            let nth = done[thread.index()];
            let event = graph.events(thread).get(nth as usize)?;
            (!event.is_blocked() && is_ready(graph, thread, event, &done))
                .then_some(EventId { thread, nth })
        };
        // The same thread first: a reader follows one thread at a time.
        let candidates = last.into_iter().chain(graph.threads()).filter_map(pending);
        let Some(next) = candidates.min_by_key(|&id| misses(graph, id, &done)) else {
            return order;
        };
        last = Some(next.thread);
        order.push(next);
        done[next.thread.index()] += 1;
        // The write part belongs to the read.
        if graph.event(next).is_updating_read()
            && graph.events(next.thread).len() > done[next.thread.index()] as usize
        {
            order.push(EventId { nth: next.nth + 1, ..next });
            done[next.thread.index()] += 1;
        }
    }
}

/// How bad it is to do an event now: 0 if nothing is missed by it.
fn misses(graph: &Graph, id: EventId, done: &[u32]) -> u32 {
    let write = match graph.event(id).is_updating_read() {
        true => EventId { nth: id.nth + 1, ..id },
        false => id,
    };
    let Some(event) = graph.events(write.thread).get(write.nth as usize) else { return 0 };
    let (Act::Write { place, .. }, Some(at)) = (event.act, event.at) else { return 0 };
    let cell = &graph.cells[at.index()];
    let is_done = |it: EventId| it.nth < done[it.thread.index()];
    let earlier = cell.writes[..place as usize - 1].iter().any(|&it| !is_done(it));
    let reads = cell.reads.iter().any(|&read| {
        let other = graph.event(read);
        read != id && !is_done(read) && !other.is_blocked() && graph.place(other) < place
    });
    match (earlier, reads) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    }
}

fn is_ready(graph: &Graph, thread: ThreadId, event: &Event, done: &[u32]) -> bool {
    let is_done = |id: EventId| id.nth < done[id.thread.index()];
    let is_begun =
        done[thread.index()] > 0 || graph.threads[thread.index()].spawned.is_none_or(is_done);
    is_begun
        && match event.act {
            Act::Read { from: Source::Write(write), .. } => is_done(write),
            Act::Join(child) => done[child.index()] as usize == graph.events(child).len(),
            _ => true,
        }
}
