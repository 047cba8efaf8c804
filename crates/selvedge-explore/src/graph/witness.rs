//! An execution as a list that can be replayed.

use selvedge_core::{Answer, EventId, GraphSystem, Label, Step, ThreadId};

use super::event::{Act, Event, Reading, Source};
use super::execution::Graph;

/// The labels and answers of an execution, in an order in which every read comes after the write that it reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Thread, label and answer of each turn.
    pub turns: Vec<(ThreadId, Label, Answer)>,
    /// The event of each turn in the graph.
    pub events: Vec<EventId>,
    /// The same turns as steps that [`follow_graph`](super::follow_graph) takes again, with threads numbered in the order in
    /// which they are spawned.
    pub steps: Vec<Step>,
    /// The same execution in the order in which the search ran it, if threads use memory of their own and that is another list:
    /// what they find there may depend on steps that are not before theirs in any other way.
    pub ran: Option<Vec<Step>>,
}

impl Witness {
    /// Returns the witness of a graph, in an order in which as few reads as possible miss an earlier write.
    /// `is_root`: whether a thread exists in the initial state.
    pub(super) fn of(graph: &Graph, is_root: &dyn Fn(ThreadId) -> bool) -> Self {
        Self::in_order(graph, is_root, &readable_order(graph, &whole(graph), &[]))
    }

    /// Returns the witness of a graph in which something went wrong that may depend on memory of the program's own. `ran`: its
    /// events in the order in which the search ran them.
    pub(super) fn of_run(
        graph: &Graph,
        is_root: &dyn Fn(ThreadId) -> bool,
        ran: &[EventId],
    ) -> Self {
        let witness = Self::of(graph, is_root);
        let ran = steps(graph, is_root, ran);
        Self { ran: Some(ran).filter(|ran| *ran != witness.steps), ..witness }
    }

    /// Returns the executions that may show what was found, the most readable one first.
    pub fn runs(&self) -> impl Iterator<Item = &[Step]> {
        std::iter::once(self.steps.as_slice()).chain(self.ran.as_deref())
    }

    /// Returns the witness of a data race: what the two accesses depend on, and then they. What happens besides may depend on which of them
    /// came first in memory of the program's own.
    pub(super) fn of_race(
        graph: &Graph,
        is_root: &dyn Fn(ThreadId) -> bool,
        race: [EventId; 2],
    ) -> Self {
        Self::in_order(graph, is_root, &readable_order(graph, &prefix(graph, race), &race))
    }

    /// Returns the witness of these events of a graph, in this order.
    pub(super) fn in_order(
        graph: &Graph,
        is_root: &dyn Fn(ThreadId) -> bool,
        order: &[EventId],
    ) -> Self {
        let turn = |&id: &EventId| {
            let event = graph.event(id);
            event.answer().map(|answer| (id, (id.thread, event.label, answer)))
        };
        let (events, turns) = order.iter().filter_map(turn).unzip();
        Self { turns, events, steps: steps(graph, is_root, order), ran: None }
    }

    /// Returns the steps with threads as the system numbers them, which is the same in all executions.
    pub(super) fn own_steps(&self) -> Vec<Step> {
        let own = |(event, step): (&EventId, &Step)| Step { thread: event.thread, ..*step };
        self.events.iter().zip(&self.steps).map(own).collect()
    }

    /// Runs a system from its initial state to the end of the execution. Returns whether the system had the same labels.
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

/// Returns the turns of these events as steps. The alternative of a step counts writes to its location in earlier turns: for a read,
/// those that are newer in modification order than what it reads; for a write, those that are newer than it. So in an
/// execution that sequential consistency allows it is 0. Of a weak compare-exchange it is doubled, and odd if it fails
/// spuriously; of a choice it is what was chosen.
fn steps(graph: &Graph, is_root: &dyn Fn(ThreadId) -> bool, order: &[EventId]) -> Vec<Step> {
    let mut written: Vec<Vec<EventId>> = vec![Vec::new(); graph.cells.len()];
    // A thread that other executions spawn and this one does not is neither a root nor among those that come.
    let mut numbers: Vec<ThreadId> = graph.threads().filter(|&thread| is_root(thread)).collect();
    let mut steps = Vec::new();
    for &id in order {
        let event = graph.event(id);
        let newer = |place: u32| {
            let is_newer = |write: &&EventId| graph.place_of(Source::Write(**write)) > place;
            let written = event.at.map_or(&[][..], |at| &written[at.index()]);
            written.iter().filter(is_newer).count() as u32
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
        match (event.act, event.at) {
            (Act::Write { .. }, Some(at)) => written[at.index()].push(id),
            (Act::Spawn(child), _) => numbers.push(child),
            _ => {}
        }
        if event.answer().is_some()
            && let Some(number) = numbers.iter().position(|&thread| thread == id.thread)
        {
            steps.push(Step { thread: ThreadId::new(number), choice });
        }
    }
    steps
}

/// Lists the events that are not blocked, each after those before it in program order, reads-from, spawn and join, and one
/// thread for as long as possible.
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

/// Returns how many events of each thread there are.
fn whole(graph: &Graph) -> Vec<u32> {
    graph.threads().map(|thread| graph.events(thread).len() as u32).collect()
}

/// Returns how many events of each thread two of them need to happen: what comes before them in program order, reads-from, spawn and join.
fn prefix(graph: &Graph, race: [EventId; 2]) -> Vec<u32> {
    let mut needed = vec![0u32; graph.threads.len()];
    let mut open = race.to_vec();
    while let Some(id) = open.pop() {
        // The write part belongs to the read.
        let is_pair = graph.event(id).is_updating_read()
            && graph.events(id.thread).len() > id.nth as usize + 1;
        let end = id.nth + 1 + u32::from(is_pair);
        let begin = needed[id.thread.index()];
        needed[id.thread.index()] = begin.max(end);
        if begin == 0 {
            open.extend(graph.threads[id.thread.index()].spawned);
        }
        for nth in begin..end {
            let event = &graph.events(id.thread)[nth as usize];
            match event.act {
                Act::Read { from, .. } => {
                    if let Source::Write(write) = from {
                        open.push(write);
                    }
                    if let Label::Lock(at) = event.label {
                        open.extend(
                            graph.sharers(at, from).filter_map(|share| graph.end_of_share(share)),
                        );
                    }
                }
                Act::Join(child) => {
                    let last = graph.events(child).len().checked_sub(1);
                    open.extend(last.map(|nth| EventId { thread: child, nth: nth as u32 }));
                    open.extend(graph.threads[child.index()].spawned);
                }
                _ => {}
            }
        }
    }
    needed
}

/// Returns the first so many events of each thread that are not blocked, in an order that contains program order, reads-from,
/// spawn and join; and as far as that is possible, each read before the writes that it misses, and writes in modification order.
/// If the execution is sequentially consistent, no read misses anything. `late`: what comes as late as it can instead.
fn readable_order(graph: &Graph, needed: &[u32], late: &[EventId]) -> Vec<EventId> {
    let mut order = Vec::new();
    let mut done = vec![0u32; graph.threads.len()];
    let mut last = None;
    loop {
        let pending = |thread: ThreadId| {
            let nth = done[thread.index()];
            let event = graph.events(thread).get(nth as usize)?;
            (nth < needed[thread.index()]
                && !event.is_blocked()
                && is_ready(graph, thread, event, &done))
            .then_some(EventId { thread, nth })
        };
        // The same thread first: people follow one thread at a time.
        let candidates = last.into_iter().chain(graph.threads()).filter_map(pending);
        let Some(next) =
            candidates.min_by_key(|&id| (late.contains(&id), misses(graph, id, &done)))
        else {
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

/// The cost of taking an event next: 0 if no read misses a write because of it.
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
            Act::Read { from, .. } => {
                let is_given_up = |share: EventId| graph.end_of_share(share).is_some_and(is_done);
                let is_free = match event.label {
                    Label::Lock(at) => graph.sharers(at, from).all(is_given_up),
                    _ => true,
                };
                is_free && !matches!(from, Source::Write(write) if !is_done(write))
            }
            Act::Join(child) => done[child.index()] as usize == graph.events(child).len(),
            _ => true,
        }
}
