//! C under memory models: litmus tests have the graphs that they have elsewhere.

mod print;

use selvedge_core::{Bound, Counts, Schedule, Verdict, Violation};
use selvedge_explore::{
    Finding, GraphObserver, GraphReport, Memory, Options, explore_graphs, follow,
};
use selvedge_native::Loaded;
use selvedge_testkit::litmus::{Flavour, Instruction, Litmus, LitmusProgram, random_litmus};
use selvedge_testkit::Random;

use crate::common::{GCC, Toolchain, compile_text, compile_with, toolchains};

const MODELS: [Memory; 4] = [Memory::Sc, Memory::Tso, Memory::Rc11, Memory::Cxx20];

fn all() -> Options {
    Options { keep_going: true, data_races: true, ..Options::default() }
}

struct Looking<'a>(&'a Loaded);

impl GraphObserver for Looking<'_> {
    fn poll(&mut self, _: &GraphReport) -> Option<Bound> {
        self.0.is_out_of_date().then_some(Bound::Interrupted)
    }
}

/// Explores until nothing new is learned.
fn explore(loaded: &Loaded, memory: Memory, options: &Options) -> GraphReport {
    loop {
        let mut system = loaded.graph_program(false);
        let report = explore_graphs(&mut system, memory, options, &mut Looking(loaded));
        if !loaded.has_learned() {
            assert_eq!(loaded.unsteady(), None);
            return report;
        }
    }
}

/// Returns what is found, each followed again on a fresh system, and the texts of its steps.
fn found(loaded: &Loaded, memory: Memory) -> Vec<(Violation, Vec<String>)> {
    let report = explore(loaded, memory, &all());
    let one = |(finding, witness): &(Finding, selvedge_explore::Witness)| {
        let schedule = Schedule { steps: witness.steps.clone() };
        let mut system = loaded.graph_program(true);
        let followed = follow(&mut system, memory, &schedule, true, &mut |_, _| {});
        let followed = followed.unwrap_or_else(|error| panic!("{finding:?}: {error}"));
        let texts = followed.turns.iter().map(|turn| turn.description.text.clone()).collect();
        let violation = followed.found.first().map(|(_, violation)| violation.clone());
        (violation.unwrap_or_else(|| panic!("{finding:?} does not come again")), texts)
    };
    report.findings.iter().map(one).collect()
}

fn kinds(counts: Counts) -> (u64, u64, u64) {
    (counts.complete, counts.deadlocked, counts.blocked)
}

fn has_race(report: &GraphReport) -> bool {
    report.findings.iter().any(|(finding, _)| matches!(finding, Finding::DataRace(..)))
}

/// The programs in C have as many graphs as the programs themselves, and the same verdicts.
fn same(programs: &[LitmusProgram], toolchain: Toolchain, flags: &[&str]) -> u64 {
    let text = print::in_c(programs);
    let compiled = compile_with(toolchain, &text, flags);
    let mut graphs = 0;
    for (number, program) in programs.iter().enumerate() {
        let loaded = compiled.loaded.again(&[number.to_string()]);
        for memory in MODELS {
            let mut litmus = Litmus::new(program.clone());
            let expected = explore_graphs(&mut litmus, memory, &all(), &mut Nothing);
            let report = explore(&loaded, memory, &all());
            let at = format!("{} {flags:?} {} {number}: {program:?}", toolchain.c, memory.name());
            assert_eq!(report.inconclusive, Vec::new(), "{at}");
            assert_eq!(report.verdict(), expected.verdict(), "{at}");
            assert_eq!(has_race(&report), has_race(&expected), "{at}");
            if !has_race(&expected) {
                assert_eq!(kinds(report.counts), kinds(expected.counts), "{at}");
                graphs += report.counts.complete;
            }
        }
    }
    graphs
}

struct Nothing;

impl GraphObserver for Nothing {}

fn random_programs(count: u64) -> Vec<LitmusProgram> {
    let programs = (0..count).flat_map(|seed| {
        let program = move |&flavour: &Flavour| {
            let mut random = Random::new(seed.wrapping_mul(37).wrapping_add(flavour as u64));
            random_litmus(&mut random, flavour)
        };
        Flavour::ALL.iter().map(program)
    });
    // At the end of `main` a thread that nobody joins may wait for good.
    let is_joined = |program: &LitmusProgram, thread: usize| {
        let mut all = program.threads.iter().flatten();
        !program.is_spawned(thread) || all.any(|&one| one == Instruction::Join(thread))
    };
    let has_text = |program: &LitmusProgram| {
        program.threads.iter().flatten().all(print::has_text)
            && (0..program.threads.len()).all(|thread| is_joined(program, thread))
    };
    programs.filter(has_text).collect()
}

#[test]
fn random_litmus_tests_have_their_graphs() {
    let programs = random_programs(25);
    assert!(programs.len() > 60, "{}", programs.len());
    for toolchain in toolchains() {
        let graphs = same(&programs, toolchain, &["-Wno-unused-label"]);
        assert!(graphs > 2_000, "the programs are not all trivial: {graphs}");
    }
}

fn verdict(text: &str, memory: Memory) -> (Verdict, u64) {
    let compiled = compile_with(GCC, text, &[]);
    let report = explore(&compiled.loaded, memory, &all());
    (report.verdict(), report.counts.maximal())
}
