//! An execution as a list that can be replayed.

use selvedge_core::{Answer, EventId, GraphSystem, Label, ThreadId};

use super::event::{Act, Event, Source};
use super::execution::Graph;

/// What a thread stood at, and what it was told: in an order in which every read comes after what it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Who, at what, and what it was told.
    pub turns: Vec<(ThreadId, Label, Answer)>,
    /// The event of each turn in the graph.
    pub events: Vec<EventId>,
}

impl Witness {
    /// The witness of a graph.
    pub(super) fn of(graph: &Graph) -> Self {
        let mut order = Vec::new();
        linear_extension(graph, &mut order);
        let turn = |&id: &EventId| {
            let event = graph.event(id);
            event.answer().map(|answer| (id, (id.thread, event.label, answer)))
        };
        let (events, turns) = order.iter().filter_map(turn).unzip();
        Self { turns, events }
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
