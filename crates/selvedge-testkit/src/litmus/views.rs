//! What tests want to know about the graphs of a program.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use selvedge_core::{Ending, EventId, Fault, GraphSystem, Label, Location};
use selvedge_explore::{
    Act, Finding, Graph, GraphObserver, GraphReport, Memory, Options, Source, explore_graphs,
};

use super::{Litmus, LitmusProgram, Outcome, number};

/// What is wrong with a program, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trouble {
    /// It has a data race.
    Race,
    /// An assertion fails.
    Assert,
    /// A thread is deadlocked.
    Stuck,
    /// Nothing.
    Fine,
}

/// The graphs of a program.
#[derive(Debug)]
pub struct Tally {
    /// What the search says.
    pub report: GraphReport,
    /// The graphs, as hashes of their canonical form.
    pub graphs: HashSet<u128>,
    /// How many graphs were met.
    pub met: usize,
    /// How many of them have the property that was asked for.
    pub marked: usize,
}

impl Tally {
    /// The worst that is wrong.
    pub fn trouble(&self) -> Trouble {
        let trouble = |finding: &Finding| match finding {
            Finding::DataRace(..) => Trouble::Race,
            Finding::Fault(_, Fault::Violation(_)) | Finding::End(_) => Trouble::Assert,
            Finding::Deadlock(_) => Trouble::Stuck,
            Finding::Fault(_, Fault::GaveUp(_)) => Trouble::Fine,
        };
        let findings = self.report.findings.iter().map(|(finding, _)| trouble(finding));
        findings.min().unwrap_or(Trouble::Fine)
    }
}

struct Listener<'a> {
    graphs: HashSet<u128>,
    met: usize,
    marked: usize,
    mark: &'a dyn Fn(&Graph) -> bool,
}

impl GraphObserver for Listener<'_> {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.graphs.insert(fingerprint(graph));
        self.met += 1;
        self.marked += usize::from((self.mark)(graph));
    }
}

/// All graphs of a program. Replays what was found.
///
/// # Panics
/// If a graph is met twice, or something that was found is not there when it is replayed.
pub fn tally(program: &LitmusProgram, memory: Memory, mark: &dyn Fn(&Graph) -> bool) -> Tally {
    let options = Options { keep_going: true, ..Options::default() };
    let mut system = Litmus::new(program.clone());
    let mut listener = Listener { graphs: HashSet::new(), met: 0, marked: 0, mark };
    let report = explore_graphs(&mut system, memory, &options, &mut listener);
    let Listener { graphs, met, marked, .. } = listener;
    assert_eq!(report.inconclusive, [], "{memory:?}: {program:?}");
    assert_eq!(graphs.len(), met, "{memory:?}: a graph was met twice: {program:?}");
    assert_eq!(report.counts.maximal(), met as u64);
    for (finding, witness) in &report.findings {
        assert!(witness.replay(&mut system), "{finding:?} cannot be replayed: {program:?}");
        if let Finding::Fault(thread, _) = finding {
            assert_eq!(system.label(*thread), Label::Failed, "{program:?}");
        }
    }
    Tally { report, graphs, met, marked }
}

/// Where the threads are at the end of a graph, and what memory holds.
pub fn outcome_of(program: &LitmusProgram, graph: &Graph) -> Outcome {
    let mut system = Litmus::new(program.clone());
    for thread in graph.threads() {
        for answer in graph.events(thread).iter().filter_map(|event| event.answer()) {
            system.proceed(thread, answer);
        }
    }
    let mut memory = program.memory();
    for (index, value) in memory.iter_mut().enumerate() {
        if let Some(&last) = graph.writes(Location::new(index)).last() {
            *value = number(graph.event(last).value);
        }
    }
    Outcome { threads: graph.threads().map(|thread| *system.state(thread)).collect(), memory }
}

/// A hash of the canonical form of a graph.
pub fn fingerprint(graph: &Graph) -> u128 {
    let form = canonical(graph);
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, &form).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// A graph as numbers: its events with what they read, the modification orders, and where its threads stand.
pub fn canonical(graph: &Graph) -> Vec<u64> {
    let mut all = Vec::new();
    let name = |event: EventId| [event.thread.index() as u64, u64::from(event.nth)];
    for thread in graph.threads() {
        for event in graph.events(thread).iter().filter(|event| !event.is_blocked()) {
            let kind = match event.act {
                Act::Read { .. } => 1,
                Act::Write { updating: false, .. } => 2,
                Act::Write { updating: true, .. } => 3,
                Act::Fence => 4,
                Act::Spawn(_) => 5,
                Act::Join(_) => 6,
                Act::Choice => 7,
                Act::Access { .. } => 8,
            };
            let at = event.at.map_or(0, |at| at.index() as u64 + 1);
            all.extend([kind, at, event.order as u64, event.value]);
            match event.act {
                Act::Read { from: Source::Initial, .. } => all.push(0),
                Act::Read { from: Source::Write(write), reading } => {
                    all.push(1 + reading as u64);
                    all.extend(name(write));
                }
                Act::Spawn(child) | Act::Join(child) => all.push(child.index() as u64),
                _ => {}
            }
        }
        all.push(u64::MAX);
    }
    for at in graph.locations() {
        if graph.writes(at).is_empty() {
            continue;
        }
        all.push(at.index() as u64);
        all.extend(graph.writes(at).iter().flat_map(|&write| name(write)));
        all.push(u64::MAX);
    }
    all
}
