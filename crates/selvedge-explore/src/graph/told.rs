//! An execution that is replayed for a report: what each turn did, and the violation that it ends with.

use selvedge_core::{
    Description, Ending, EventId, Fault, GraphDescribe, Inconclusive, Label, Location, ReplayError,
    Schedule, Step, ThreadId, Violation,
};

use super::event::{Act, Source};
use super::execution::Graph;
use super::follow::{Follower, follow_graph};
use super::models::Memory;
use super::report::Finding;
use super::{race, words};

/// An execution that was replayed.
#[derive(Debug)]
pub struct Followed {
    /// Its graph.
    pub graph: Graph,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
    /// How it ended, if no thread is enabled.
    pub ending: Option<Ending>,
    /// The violation, described.
    pub found: Vec<(Finding, Violation)>,
    /// The schedule.
    pub schedule: Schedule,
    /// Why the tool gave up, if it did.
    pub gave_up: Option<Inconclusive>,
}

/// A turn of an execution.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The event; of a read-modify-write its read.
    pub event: EventId,
    /// The write part, if it has one.
    pub writes: Option<EventId>,
    /// What the schedule says about it.
    pub choice: u32,
    /// What it did.
    pub description: Description,
    /// The newer writes of its location that it did not see although they stand before it.
    pub missed: Vec<EventId>,
    /// Whether it is where its thread failed, and why.
    pub stopped: Option<String>,
}

/// Replays a schedule, whose threads are numbered in the order in which they are spawned. `before` is called with each thread
/// that is about to take its turn.
///
/// # Errors
/// If a step is not possible, or the memory model does not allow it.
pub fn follow<S: GraphDescribe>(
    system: &mut S,
    memory: Memory,
    schedule: &Schedule,
    wants_races: bool,
    before: &mut dyn FnMut(&mut S, ThreadId),
) -> Result<Followed, ReplayError> {
    let mut teller = Teller { turns: Vec::new(), steps: &schedule.steps, before };
    let graph = follow_graph(system, memory, &schedule.steps, &mut teller)?;
    Ok(judged(system, graph, teller.turns, schedule, wants_races))
}

impl Followed {
    /// For each read that missed a newer write, what it missed and why it could.
    pub fn missing<S: GraphDescribe>(&self, system: &S) -> Vec<String> {
        words::missing(system, &self.graph, &self.turns)
    }
}

/// Records the turns.
struct Teller<'a, S> {
    turns: Vec<Turn>,
    steps: &'a [Step],
    before: &'a mut dyn FnMut(&mut S, ThreadId),
}

impl<S: GraphDescribe> Follower<S> for Teller<'_, S> {
    fn before(&mut self, system: &mut S, thread: ThreadId) {
        (self.before)(system, thread);
    }

    fn after(&mut self, system: &mut S, graph: &Graph, event: EventId) {
        let next = EventId { nth: event.nth + 1, ..event };
        let writes = match graph.event(event).act {
            Act::Write { .. } => Some(event),
            _ if graph.event(event).is_updating_read() => Some(next),
            _ => None,
        };
        let stopped = fault(system, event.thread).map(|fault| match fault {
            Fault::Violation(violation) => violation.message,
            Fault::GaveUp(reason) => reason,
        });
        self.turns.push(Turn {
            event,
            writes,
            choice: self.steps[self.turns.len()].choice,
            description: system.describe_last(),
            missed: missed(graph, event),
            stopped,
        });
    }
}

/// Returns the writes that are newer than what an event reads; all in the graph but its own write part came before it.
fn missed(graph: &Graph, id: EventId) -> Vec<EventId> {
    let event = graph.event(id);
    let (Act::Read { from, .. }, Some(at)) = (event.act, event.at) else { return Vec::new() };
    let newer = graph.place_of(from) as usize + 1..graph.places(at);
    let write = |place| match graph.write_at(at, place) {
        Source::Write(write) if write.thread != id.thread => Some(write),
        _ => None,
    };
    newer.filter_map(write).collect()
}

fn fault<S: GraphDescribe>(system: &S, thread: ThreadId) -> Option<Fault> {
    (system.label(thread) == Label::Failed).then(|| system.fault(thread)).flatten()
}

fn is_there<S: GraphDescribe>(system: &S, graph: &Graph, thread: ThreadId) -> bool {
    system.is_root(thread) || graph.threads[thread.index()].spawned.is_some()
}

fn can_go_on<S: GraphDescribe>(system: &S, graph: &Graph, thread: ThreadId) -> bool {
    let last = |at: Location| match at.index() < graph.cells.len() {
        true => graph.value(at, graph.last_write(at)),
        false => system.initial(at),
    };
    match system.label(thread) {
        Label::Ended | Label::Exited | Label::Assumed | Label::Failed => false,
        Label::Lock(at) => {
            let is_met = at.index() < graph.cells.len();
            last(at) == 0 && !(is_met && graph.is_shared(at, graph.last_write(at)))
        }
        Label::Share(at) => last(at) == 0,
        Label::Await { at, .. } => system.satisfies(thread, last(at)),
        Label::Join(child) => is_there(system, graph, child) && system.label(child) == Label::Ended,
        _ => true,
    }
}

/// Describes the violation that an execution ends with.
fn judged<S: GraphDescribe>(
    system: &mut S,
    graph: Graph,
    turns: Vec<Turn>,
    schedule: &Schedule,
    wants_races: bool,
) -> Followed {
    let mut found = Vec::new();
    let mut gave_up = None;
    let threads: Vec<ThreadId> =
        graph.threads().filter(|&thread| is_there(system, &graph, thread)).collect();
    for &thread in &threads {
        match fault(system, thread) {
            Some(Fault::Violation(violation)) => {
                let fault = Fault::Violation(violation.clone());
                found.push((Finding::Fault(thread, fault), violation));
            }
            Some(Fault::GaveUp(reason)) => gave_up = Some(Inconclusive::GaveUp(reason)),
            None => {}
        }
    }
    if wants_races {
        for (first, second) in race::find(&graph, &|at| system.memory_of(at)) {
            let violation = words::data_race(system, &graph, &turns, [first, second]);
            found.push((Finding::DataRace(first, second), violation));
        }
    }
    let is_maximal = !threads.iter().any(|&thread| can_go_on(system, &graph, thread));
    let mut ending = None;
    if is_maximal {
        let judged = system.judge(&|at| {
            (at.index() < graph.cells.len()).then(|| graph.value(at, graph.last_write(at)))
        });
        ending = judged.as_ref().map(|(ending, _)| *ending);
        if let Some((_, Some(violation))) = judged {
            found.push((Finding::Judged(violation.clone()), violation));
        }
    }
    for (finding, violation) in &mut found {
        if !matches!(finding, Finding::DataRace(..)) {
            violation.notes.extend(words::missing(system, &graph, &turns));
        }
    }
    Followed { graph, turns, ending, found, schedule: schedule.clone(), gave_up }
}
