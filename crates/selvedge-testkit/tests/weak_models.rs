//! Models under memory models: as execution graphs and as interleavings, and against litmus tests.

use std::collections::BTreeSet;
use std::sync::Arc;

use selvedge_core::{Fault, Report, Schedule};
use selvedge_explore::{
    Algorithm, Finding, GraphReport, Limits, Memory, Options, Silent, explore, explore_graphs,
    follow,
};
use selvedge_lang::ir::{GlobalKind, Lock, LockMode, Op, Program};
use selvedge_lang::{GraphInterpreter, Interpreter, compile};
use selvedge_testkit::litmus::{
    Flavour, Shape, Trouble, model_of, random_litmus, random_shape, tally,
};
use selvedge_testkit::{Profile, Random, corpus, generate, least, programs, seeds, text_of};

/// Larger programs are left out.
const MOST: u64 = 2_000;

fn options(steps: usize) -> Options {
    let limits = Limits { executions: Some(MOST), steps, ..Limits::default() };
    Options { keep_going: true, limits, ..Options::default() }
}

/// Who holds a lock that is misused, only interleavings know.
fn message(text: &str) -> String {
    match text.split_once("does not hold") {
        Some((before, _)) => format!("{before}does not hold"),
        None => text.to_owned(),
    }
}

fn violations_of(report: &Report) -> BTreeSet<String> {
    report.violations.iter().map(|(violation, _)| message(&violation.message)).collect()
}

fn findings_of(report: &GraphReport) -> BTreeSet<String> {
    let text = |finding: &Finding| match finding {
        Finding::Fault(_, Fault::Violation(violation)) | Finding::Judged(violation) => {
            message(&violation.message)
        }
        other => format!("{other:?}"),
    };
    report.findings.iter().map(|(finding, _)| text(finding)).collect()
}

/// Whether all that the program shares is such that its graphs are its traces. The others are made of updates, whose order
/// counts, where traces let steps commute; and a misuse of a lock is no event.
fn has_only_variables_and_locks(program: &Program) -> bool {
    let code = || program.procedures.iter().flat_map(|procedure| &procedure.code);
    let is_tried =
        |op: &Op| matches!(op, Op::Lock(Lock::Try { mode: LockMode::Read | LockMode::Write, .. }));
    let is_simple = |kind: &GlobalKind| match kind {
        GlobalKind::RwLock => !code().any(|instruction| is_tried(&instruction.op)),
        GlobalKind::Semaphore { .. } | GlobalKind::Cond | GlobalKind::Barrier { .. } => false,
        _ => true,
    };
    program.globals.iter().all(|global| is_simple(&global.kind))
        && !code().any(|instruction| matches!(instruction.op, Op::Message(_)))
}

/// What came of a comparison.
#[derive(Default, Debug)]
struct Compared {
    counts: u64,
    violations: u64,
    deadlocks: u64,
}

/// Compares the graphs of a program under sequential consistency with its traces.
fn compare(name: &str, program: &Arc<Program>, steps: usize, compared: &mut Compared) {
    let Ok(mut system) = GraphInterpreter::new(Arc::clone(program)) else { return };
    let make = || Interpreter::new(Arc::clone(program));
    let traces = explore(Algorithm::Optimal, &make, &options(steps), &mut Silent);
    let graphs = explore_graphs(&mut system, Memory::Sc, &options(steps), &mut Silent);
    if !traces.inconclusive.is_empty() || !graphs.inconclusive.is_empty() {
        return;
    }
    assert_eq!(violations_of(&traces), findings_of(&graphs), "{name}");
    compared.violations += 1;
    compared.deadlocks += graphs.counts.deadlocked;
    let is_misused = findings_of(&graphs)
        .iter()
        .any(|it| it.contains("does not hold") || it.contains("locked again"));
    if has_only_variables_and_locks(program) && !is_misused {
        let (traces, graphs) = (traces.counts, graphs.counts);
        assert_eq!(
            (graphs.complete, graphs.deadlocked, graphs.blocked),
            (traces.complete, traces.deadlocked, traces.blocked),
            "{name}"
        );
        compared.counts += 1;
    }
    // What was found is there when it is followed on a system that has not run before.
    for (finding, witness) in &graphs.findings {
        let mut fresh = GraphInterpreter::new(Arc::clone(program)).expect("it was not refused");
        let schedule = Schedule::from(witness.steps.clone());
        let followed = follow(&mut fresh, Memory::Sc, &schedule, false, &mut |_, _| {});
        let followed = followed.unwrap_or_else(|error| panic!("{name}: {finding:?}: {error:?}"));
        let found: BTreeSet<String> =
            followed.found.iter().map(|(_, violation)| message(&violation.message)).collect();
        let wanted = GraphReport {
            findings: vec![(finding.clone(), witness.clone())],
            ..GraphReport::default()
        };
        assert!(found.is_superset(&findings_of(&wanted)), "{name}: {finding:?}, {found:?}");
    }
}

/// Under sequential consistency, the graphs of the programs of the corpus are their traces.
#[test]
fn the_corpus_as_graphs() {
    let mut compared = Compared::default();
    for path in programs() {
        let name = path.strip_prefix(corpus()).expect("it is in the corpus").display().to_string();
        let text = text_of(&path);
        let compiled = compile(&name, &text, &[]).expect("it compiles");
        compare(&name, &compiled.program, 300, &mut compared);
    }
    assert!(compared.counts >= 60 && compared.violations >= 90, "{compared:?}");
}

/// The same for random programs.
#[test]
fn random_programs_as_graphs() {
    let (mut tried, mut compared) = (0, Compared::default());
    for profile in Profile::all() {
        for seed in seeds(25) {
            tried += 1;
            let text = generate(&profile, seed).to_string();
            let name = format!("{} {seed}", profile.name);
            let Ok(compiled) = compile(&name, &text, &[]) else { panic!("{name}:\n{text}") };
            compare(&format!("{name}:\n{text}"), &compiled.program, 1_000, &mut compared);
        }
    }
    assert!(4 * compared.counts > tried && compared.deadlocks > 0, "{tried}: {compared:?}");
}

/// Litmus tests have the same graphs, written in the language.
#[test]
fn litmus_tests_in_the_language() {
    let mut compared = 0;
    for seed in seeds(250) {
        let programs = Flavour::ALL.iter().map(|&flavour| {
            let mut random = Random::new(seed.wrapping_mul(31).wrapping_add(flavour as u64));
            random_litmus(&mut random, flavour)
        });
        let with_readers = random_shape(&mut Random::new(seed), Shape::Readers);
        for litmus in programs.chain([with_readers]) {
            let Some(text) = model_of(&litmus) else { continue };
            let compiled = match compile("litmus", &text, &[]) {
                Ok(compiled) => compiled,
                Err(errors) => panic!("{errors:?}\n{text}"),
            };
            for &memory in Memory::ALL {
                let mut system =
                    GraphInterpreter::new(Arc::clone(&compiled.program)).expect("no atomic blocks");
                let options = Options { keep_going: true, data_races: true, ..Options::default() };
                let found = explore_graphs(&mut system, memory, &options, &mut Silent);
                // To lock a mutex again, or to give up one that is not held, is a mistake here.
                if findings_of(&found)
                    .iter()
                    .any(|it| it.contains("does not hold") || it.contains("locked again"))
                {
                    continue;
                }
                let expected = tally(&litmus, memory, &|_| false);
                assert_eq!(found.counts, expected.report.counts, "{memory:?}\n{text}");
                let races = |report: &GraphReport| {
                    report
                        .findings
                        .iter()
                        .any(|(finding, _)| matches!(finding, Finding::DataRace(..)))
                };
                assert_eq!(
                    races(&found),
                    expected.trouble() == Trouble::Race,
                    "{memory:?}\n{text}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared >= least(400), "{compared} programs were compared");
}
