//! An execution as a list that can be replayed.

use selvedge_core::{Answer, EventId, GraphSystem, Label, Step, ThreadId};

use super::event::{Act, Event, Reading, Source};
use super::execution::Graph;

/// What a thread stood at, and what it was told: in an order in which every read comes after what it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Who, at what, and what it was told.
    pub turns: Vec<(ThreadId, Label, Answer)>,
    /// The event of each turn in the graph.
    pub events: Vec<EventId>,
    /// The same turns as steps that [`follow_graph`](super::follow_graph) takes again.
    pub steps: Vec<Step>,
}

impl Witness {
    /// The witness of a graph.
    pub(super) fn of(graph: &Graph) -> Self {
        let order = readable_extension(graph);
        let turn = |&id: &EventId| {
            let event = graph.event(id);
            event.answer().map(|answer| (id, (id.thread, event.label, answer)))
        };
        let (events, turns) = order.iter().filter_map(turn).unzip();
        Self { turns, events, steps: steps(graph, &order) }
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

/// The turns of these events as steps, with threads numbered in the order in which they are spawned. The alternative of a
/// step says how many writes of its location, of those in turns before it, are newer: for a read, in the order of turns,
/// than what it reads; for a write, in modification order, than it. So in an execution without weak memory it is 0. Of
/// a read it is doubled, and odd if it fails without reason.
fn steps(graph: &Graph, order: &[EventId]) -> Vec<Step> {
    let mut written: Vec<Vec<EventId>> = vec![Vec::new(); graph.cells.len()];
    let is_root = |thread: &ThreadId| graph.threads[thread.index()].spawned.is_none();
    let mut numbers: Vec<ThreadId> = graph.threads().filter(is_root).collect();
    let mut steps = Vec::new();
    for &id in order {
        let event = graph.event(id);
        let choice = match (event.act, event.at) {
            (Act::Read { from, reading }, Some(at)) => {
                let written = &written[at.index()];
                let newer = match from {
                    Source::Initial => written.len(),
                    Source::Write(write) => {
                        written.iter().rev().take_while(|&&other| other != write).count()
                    }
                };
                newer as u32 * 2 + u32::from(reading == Reading::Spurious)
            }
            (Act::Write { place, .. }, Some(at)) => {
                let is_newer = |&&other: &&EventId| graph.place_of(Source::Write(other)) > place;
                let newer = written[at.index()].iter().filter(is_newer).count() as u32;
                written[at.index()].push(id);
                newer
            }
            // A choice is made among fewer than 2³² values.
            (Act::Choice, _) => event.value as u32,
            (Act::Spawn(child), _) => {
                numbers.push(child);
                0
            }
            _ => 0,
        };
        if event.answer().is_some()
            && let Some(number) = numbers.iter().position(|&thread| thread == id.thread)
        {
            steps.push(Step { thread: ThreadId::new(number), choice });
        }
    }
    steps
}

/// The events that are not blocked, each after those before it in program order, reads-from, spawn and join; and where that
/// is possible, after those before it in modification order and from-read: then every read sees the last write before
/// it. An execution that sequential consistency allows is listed as one.
fn readable_extension(graph: &Graph) -> Vec<EventId> {
    let mut order = Vec::with_capacity(graph.len());
    let mut done = vec![0u32; graph.threads.len()];
    let next_of = |done: &[u32], thread: ThreadId| {
        let event = graph.events(thread).get(done[thread.index()] as usize)?;
        (!event.is_blocked() && is_ready(graph, thread, event, done)).then_some(event)
    };
    // As long as one thread as it can go.
    let mut last = None;
    loop {
        let mut threads = last.into_iter().chain(graph.threads());
        let is_fresh = |thread: &ThreadId| {
            next_of(&done, *thread).is_some_and(|event| is_fresh(graph, *thread, event, &done))
        };
        let is_there = |thread: &ThreadId| next_of(&done, *thread).is_some();
        let next = threads.find(is_fresh).or_else(|| graph.threads().find(is_there));
        let Some(thread) = next else { return order };
        let nth = &mut done[thread.index()];
        let updates = graph.event(EventId { thread, nth: *nth }).is_updating_read();
        for _ in 0..=usize::from(updates && *nth as usize + 1 < graph.events(thread).len()) {
            order.push(EventId { thread, nth: *nth });
            *nth += 1;
        }
        last = Some(thread);
    }
}

/// Whether all that comes before what this event writes, in modification order and from-read, is done.
fn is_fresh(graph: &Graph, thread: ThreadId, event: &Event, done: &[u32]) -> bool {
    let is_done = |id: EventId| id.nth < done[id.thread.index()];
    let place = match event.act {
        Act::Write { place, .. } => place,
        Act::Read { from, reading: Reading::Updating } => graph.place_of(from) + 1,
        _ => return true,
    };
    let Some(cell) = event.at.map(|at| &graph.cells[at.index()]) else { return true };
    let writes = cell.writes.iter().take(place as usize - 1);
    let mut reads = cell.reads.iter().filter(|&&read| {
        read.thread != thread
            && !graph.event(read).is_blocked()
            && graph.place(graph.event(read)) < place
    });
    writes.copied().all(is_done) && reads.all(|&read| is_done(read))
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
