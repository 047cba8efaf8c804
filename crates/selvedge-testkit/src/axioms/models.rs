//! Programs with condition variables and mailboxes: the explorer runs them as models of the language.

use std::sync::Arc;

use selvedge_core::{Ending, EventId, Fault, GraphDescribe as _, Location, Order, ViolationKind};
use selvedge_explore::{
    Act, Finding, Graph, GraphObserver, Memory, Options, Reading, Source, explore_graphs,
};
use selvedge_lang::{GraphInterpreter, compile};

use crate::litmus::{LitmusProgram, model_of};

use super::facts::{Entry, Facts, Form, Name, Race, Reads, Scribe};

/// Whether the language can say it.
pub(super) fn has_model(program: &LitmusProgram) -> bool {
    let has_steps = program.threads.iter().all(|code| !code.is_empty());
    has_steps && model_of(program).is_some()
}

/// What a model tells: which thread fails, and not at which instruction; and which threads race. Their accesses have other numbers where
/// a signal wakes another number of threads.
pub(super) fn as_models_tell(facts: &mut Facts) {
    let threads = |all: &Vec<Race>| all.iter().map(|&((a, _), (b, _))| between(a, b)).collect();
    facts.races = facts.races.iter().map(threads).collect();
    facts.failures = facts.failures.iter().map(|&(thread, _)| (thread, 0)).collect();
}

/// A race of two threads.
fn between(a: usize, b: usize) -> Race {
    ((a.min(b), 0), (a.max(b), 0))
}

/// What the explorer says about the program as a model.
///
/// # Errors
/// If it has no model, a graph is met twice, or the search does not finish.
pub(super) fn explored_model(program: &LitmusProgram, memory: Memory) -> Result<Facts, String> {
    let text = model_of(program).ok_or("it has no model")?;
    let compiled = compile("litmus", &text, &[]).map_err(|error| format!("{error:?}\n{text}"))?;
    let mut explored = GraphInterpreter::new(Arc::clone(&compiled.program))
        .map_err(|refusals| format!("{refusals:?}"))?;
    let options = Options { keep_going: true, data_races: true, ..Options::default() };
    let mut listener = Listener::default();
    let report = explore_graphs(&mut explored, memory, &options, &mut listener);
    if !report.inconclusive.is_empty() {
        return Err(format!("inconclusive: {:?}", report.inconclusive));
    }
    // Locations are numbered when they are met: what they are is known behind the search.
    let places = Places::new(program, &explored);
    let graphs = listener.0.iter().map(|(graph, ending)| places.form(graph, *ending));
    let mut facts = Facts { graphs: graphs.collect(), ..Facts::default() };
    if report.counts.maximal() != facts.graphs.len() as u64 {
        return Err(format!("{} graphs, but {:?}", facts.graphs.len(), report.counts));
    }
    facts.graphs.sort();
    if let Some(twice) = facts.graphs.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("a graph was met twice: {:?}", twice[0]));
    }
    for (finding, witness) in &report.findings {
        if !witness.replay(&mut explored) {
            return Err(format!("{finding:?} cannot be replayed"));
        }
        match finding {
            Finding::Fault(thread, Fault::Violation(_)) => {
                facts.failures.insert((thread.index(), 0));
            }
            // The model names the threads that wait.
            Finding::Judged(violation) if violation.kind == ViolationKind::Deadlock => {
                let waits = |note: &String| {
                    let (name, _) = note.strip_prefix('t')?.split_once(" waits")?;
                    name.parse::<usize>().ok()
                };
                facts.deadlocks.insert(violation.notes.iter().filter_map(waits).collect());
            }
            Finding::DataRace(a, b) => {
                facts.races.insert(vec![between(a.thread.index(), b.thread.index())]);
            }
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(facts)
}

/// More locations than any program of this size has.
const LOCATIONS: usize = 64;

/// An event of a graph.
struct Event {
    at: Option<Location>,
    act: Act,
    order: Order,
    value: u64,
    is_blocked: bool,
}

/// What a graph was: places can be named only behind the search.
struct Seen {
    threads: Vec<Vec<Event>>,
    writes: Vec<Vec<EventId>>,
}

#[derive(Default)]
struct Listener(Vec<(Seen, Ending)>);

impl GraphObserver for Listener {
    fn execution(&mut self, graph: &Graph, ending: Ending) {
        let threads = graph.threads().map(|thread| {
            let events = graph.events(thread).iter().map(|event| Event {
                at: event.at,
                act: event.act,
                order: event.order,
                value: event.value,
                is_blocked: event.is_blocked(),
            });
            events.collect()
        });
        let writes = (0..LOCATIONS).map(|at| graph.writes(Location::new(at)).to_vec());
        self.0.push((Seen { threads: threads.collect(), writes: writes.collect() }, ending));
    }
}

/// What a location of the model is in the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This location, and whether its values are numbers.
    Location(usize, bool),
    /// Whether this thread was woken.
    Token(usize),
}

struct Places {
    /// By location of the model.
    all: Vec<Option<Place>>,
    /// How many locations the program has.
    count: usize,
    conditions: std::ops::Range<usize>,
}

impl Places {
    fn new(program: &LitmusProgram, system: &GraphInterpreter) -> Self {
        let count = program.memory().len();
        let first = program.variables() + program.mutexes();
        let conditions = first..first + program.conditions();
        let number = |text: &str| text.parse::<usize>().ok();
        let place = |name: &str| {
            let part = |prefix: &str| name.strip_prefix(prefix).and_then(number);
            let numbers = part("v").or(part("m").map(|mutex| program.variables() + mutex));
            let objects = part("the waiters of c")
                .map(|condition| first + condition)
                .or(part("the mailbox of t").map(|thread| program.mailbox(thread)));
            numbers
                .map(|at| Place::Location(at, true))
                .or(objects.map(|at| Place::Location(at, false)))
                .or(part("the wake-up of t").map(Place::Token))
        };
        let all =
            (0..LOCATIONS).map(|at| place(&system.location_name(Location::new(at)))).collect();
        Self { all, count, conditions }
    }

    fn of(&self, event: &Event) -> Option<Place> {
        event.at.and_then(|at| self.all[at.index()])
    }

    /// Whether an event is one of the program: not a part of how waiters are woken.
    fn is_told(&self, events: &[Event], nth: usize) -> bool {
        let is_signal = |event: &Event| matches!(self.of(event), Some(Place::Location(at, _)) if self.conditions.contains(&at));
        let event = &events[nth];
        match event.act {
            _ if event.is_blocked => false,
            Act::Choice => !events.get(nth + 1).is_some_and(is_signal),
            // A signal that chooses holds the list meanwhile: two writes that are one.
            Act::Write { updating: false, .. } if is_signal(event) => false,
            _ => !matches!(self.of(event), Some(Place::Token(_))),
        }
    }

    fn name_in(&self, graph: &Seen, event: EventId) -> Option<Name> {
        let events = graph.threads.get(event.thread.index())?;
        let nth = event.nth as usize;
        (nth < events.len()).then(|| {
            let before = (0..nth).filter(|&nth| self.is_told(events, nth)).count();
            (event.thread.index(), before - usize::from(!self.is_told(events, nth)))
        })
    }

    fn value(&self, events: &[Event], nth: usize) -> i64 {
        let event = &events[nth];
        match self.of(event) {
            Some(Place::Location(_, true)) | None => i64::from(event.value as u32 as i32),
            Some(Place::Location(at, false)) if self.conditions.contains(&at) => {
                // Who is woken is told by the tokens that are written next.
                let is_part = |&nth: &usize| !self.is_told(events, nth);
                let behind = (nth + 1..events.len()).take_while(is_part);
                let is_write = matches!(event.act, Act::Write { .. });
                behind.filter(|_| is_write).fold(0, |all, nth| {
                    let woken = match self.of(&events[nth]) {
                        Some(Place::Token(thread)) => 1 << thread,
                        _ => 0,
                    };
                    all | woken
                })
            }
            Some(_) => 0,
        }
    }

    fn form(&self, graph: &Seen, ending: Ending) -> Form {
        let mut scribe = Scribe::new(ending);
        let name = |event| self.name_in(graph, event).expect("it is in the graph");
        for events in &graph.threads {
            for nth in (0..events.len()).filter(|&nth| self.is_told(events, nth)) {
                let event = &events[nth];
                let entry = match event.act {
                    Act::Read { from, reading } => {
                        let from = match from {
                            Source::Initial => None,
                            Source::Write(write) => Some(name(write)),
                        };
                        let reads = match reading {
                            Reading::Alone => Reads::Alone,
                            Reading::Spurious => Reads::Spuriously,
                            Reading::Updating => Reads::ForUpdate,
                            Reading::Blocked => continue,
                        };
                        Entry::Read(reads, from)
                    }
                    Act::Write { updating, .. } => Entry::Write { updates: updating },
                    Act::Fence => Entry::Fence,
                    Act::Spawn(child) => Entry::Spawn(child.index()),
                    Act::Join(child) => Entry::Join(child.index()),
                    Act::Choice => Entry::Choice,
                    Act::Access { .. } => unreachable!("models have no such access"),
                };
                let is_fence = matches!(event.act, Act::Fence);
                let at = match self.of(event) {
                    Some(Place::Location(at, _)) => Some(at + 1),
                    _ => is_fence.then_some(0),
                };
                let place = at.map(|at| (at, event.order as usize));
                scribe.event(entry, place, self.value(events, nth));
            }
            scribe.end();
        }
        for at in 0..self.count {
            let is_it = |place: &Option<Place>| matches!(place, Some(Place::Location(other, _)) if *other == at);
            if let Some(location) = self.all.iter().position(is_it) {
                let mut names: Vec<Name> =
                    graph.writes[location].iter().map(|&write| name(write)).collect();
                names.dedup();
                names.into_iter().for_each(|name| scribe.write(name));
            }
            scribe.end();
        }
        scribe.finish()
    }
}
