//! Random litmus tests: each graph once, and what other machines say about the same program.

use std::collections::{BTreeSet, HashSet};

use selvedge_core::Ending;
use selvedge_explore::{
    Algorithm, Graph, GraphObserver, Memory, Options, Silent, Unit, explore_graphs, explore_unit,
};
use selvedge_testkit::litmus::{
    Buffers, Flavour, Instruction, Interleaved, Litmus, LitmusProgram, Outcome, Tally, fingerprint,
    outcome_of, outcomes, random_litmus, tally,
};
use selvedge_testkit::{Random, explore, least, seeds};

/// Programs with more states than this on the machine with store buffers are left out there.
const MOST_STATES: usize = 50_000;

fn programs(count: u64) -> impl Iterator<Item = (Flavour, LitmusProgram)> {
    seeds(count).flat_map(|seed| {
        let program = move |&flavour: &Flavour| {
            let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(flavour as u64));
            (flavour, random_litmus(&mut random, flavour))
        };
        Flavour::ALL.iter().map(program)
    })
}

fn all(program: &LitmusProgram, memory: Memory) -> Tally {
    tally(program, memory, &|_| false)
}

/// A stronger model has no graph that a weaker one has not. `tally` checks that none is met twice.
#[test]
fn models_are_ordered() {
    let (mut graphs, mut redundant) = (0, 0);
    for (_, program) in programs(300) {
        let [sc, tso, cxx20, rc11] = [Memory::Sc, Memory::Tso, Memory::Cxx20, Memory::Rc11]
            .map(|memory| all(&program, memory));
        assert!(sc.graphs.is_subset(&tso.graphs), "SC, TSO: {program:?}");
        assert!(tso.graphs.is_subset(&rc11.graphs), "TSO, RC11: {program:?}");
        assert!(sc.graphs.is_subset(&cxx20.graphs), "SC, C++20: {program:?}");
        assert!(cxx20.graphs.is_subset(&rc11.graphs), "C++20, RC11: {program:?}");
        assert!(sc.met > 0, "{program:?}");
        graphs += rc11.met as u64;
        redundant += rc11.report.counts.redundant;
    }
    assert!(redundant * 20 < graphs, "{redundant} redundant graphs of {graphs}");
}

/// Under SC the graphs are the traces of `optimal`, deadlocks and failed assumptions included.
#[test]
fn sc_graphs_are_mazurkiewicz_traces() {
    let options = Options { keep_going: true, ..Options::default() };
    let mut deadlocks = 0;
    for (_, program) in programs(400) {
        // What a weak compare-exchange can do depends on the state; `Interleaved` has that as choices.
        let is_weak = |one: &Instruction| matches!(one, Instruction::Compare { weak: true, .. });
        if program.threads.iter().flatten().any(is_weak) {
            continue;
        }
        let make = || Interleaved::new(program.clone());
        let traces = explore(Algorithm::Optimal, &make, &options, &mut Silent).counts;
        let graphs = all(&program, Memory::Sc).report.counts;
        assert_eq!(
            (graphs.complete, graphs.deadlocked, graphs.blocked),
            (traces.complete, traces.deadlocked, traces.blocked),
            "{program:?}"
        );
        deadlocks += graphs.deadlocked;
    }
    assert!(deadlocks > 100, "deadlocks were met: {deadlocks}");
}

struct Outcomes<'a> {
    program: &'a LitmusProgram,
    found: BTreeSet<Outcome>,
}

impl GraphObserver for Outcomes<'_> {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.found.insert(outcome_of(self.program, graph));
    }
}

/// SC and TSO have the outcomes of machines without and with store buffers.
#[test]
fn outcomes_are_those_of_machines() {
    let options = Options { keep_going: true, ..Options::default() };
    let mut compared = 0;
    for (_, program) in programs(420) {
        for (memory, buffers) in [(Memory::Sc, Buffers::None), (Memory::Tso, Buffers::Fifo)] {
            let Some(expected) = outcomes(&program, buffers, MOST_STATES) else { continue };
            let mut observer = Outcomes { program: &program, found: BTreeSet::new() };
            let mut system = Litmus::new(program.clone());
            explore_graphs(&mut system, memory, &options, &mut observer);
            assert_eq!(observer.found, expected, "{memory:?}: {program:?}");
            compared += 1;
        }
    }
    assert!(compared >= least(1000), "{compared} programs were compared");
}

/// Takes all work that there is.
struct Greedy {
    graphs: Vec<u128>,
    units: Vec<Unit>,
}

impl GraphObserver for Greedy {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.graphs.push(fingerprint(graph));
    }

    fn is_hungry(&mut self) -> bool {
        true
    }

    fn take(&mut self, unit: Unit) {
        self.units.push(unit);
    }
}

/// A search that is done in parts, each with a system of its own, meets the same graphs, each once.
#[test]
fn parts_of_a_search_are_disjoint_and_the_whole() {
    let options = Options { keep_going: true, ..Options::default() };
    for (_, program) in programs(60) {
        let mut greedy = Greedy { graphs: Vec::new(), units: Vec::new() };
        let memory = Memory::Rc11;
        let system = || Litmus::new(program.clone());
        let mut redundant =
            explore_graphs(&mut system(), memory, &options, &mut greedy).counts.redundant;
        while let Some(unit) = greedy.units.pop() {
            let report = explore_unit(&mut system(), memory, &options, &mut greedy, unit);
            redundant += report.counts.redundant;
        }
        let whole = all(&program, memory);
        assert_eq!(redundant, whole.report.counts.redundant, "{program:?}");
        assert_eq!(greedy.graphs.len(), whole.met, "{program:?}");
        assert_eq!(greedy.graphs.into_iter().collect::<HashSet<_>>(), whole.graphs, "{program:?}");
    }
}

struct Prints(BTreeSet<u128>);

impl GraphObserver for Prints {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.0.insert(fingerprint(graph));
    }
}

/// A system that can only start again, and is then told all answers anew, has the same graphs.
#[test]
fn systems_that_cannot_rewind() {
    let options = Options { keep_going: true, ..Options::default() };
    for (_, program) in programs(60) {
        let mut prints = Prints(BTreeSet::new());
        let mut system = Litmus::new(program.clone()).without_rewinding();
        let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut prints);
        assert_eq!(report.inconclusive, [], "{program:?}");
        let expected: BTreeSet<u128> = all(&program, Memory::Rc11).graphs.into_iter().collect();
        assert_eq!(prints.0, expected, "{program:?}");
    }
}
