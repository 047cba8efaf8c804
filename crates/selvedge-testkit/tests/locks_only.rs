//! `quasi` with locks only: on programs whose accesses are all ordered it finds what brute force finds; on
//! others it says that it proves nothing. `SELVEDGE_FUZZ_SECONDS` and `SELVEDGE_FUZZ_SEED` as in
//! `random_programs.rs`.

use std::collections::BTreeSet;

use selvedge_core::{Effect, Ending, Execution, Report, System as _, TraceKey, Verdict};
use selvedge_explore::{Algorithm, Independence, Observer, Options, Silent};
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{Random, Variant, explore, seeds};

/// The classes with respect to all accesses, whatever the explorer saw of them.
struct Whole<'a> {
    script: &'a Script,
    classes: BTreeSet<(TraceKey, Ending)>,
}

impl Observer for Whole<'_> {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        let mut system = ScriptSystem::new(self.script.clone());
        system.restart();
        let (mut whole, mut effect) = (Execution::new(), Effect::default());
        for &step in execution.steps() {
            system.step(step, &mut effect);
            whole.push(step, &effect);
        }
        self.classes.insert((TraceKey::of(&whole), ending));
    }
}

fn options(variant: Variant) -> Options {
    let mut options = variant.options(&Options { keep_going: true, ..Options::default() });
    options.quasi.independence = Independence::LocksOnly;
    options
}

fn run(variant: Variant, script: &Script) -> (BTreeSet<(TraceKey, Ending)>, Report) {
    let mut whole = Whole { script, classes: BTreeSet::new() };
    let make = || ScriptSystem::new(script.clone());
    let report = explore(variant.algorithm, &make, &options(variant), &mut whole);
    (whole.classes, report)
}

/// Variable i is only accessed under mutex i.
fn section(random: &mut Random, thread: &mut Vec<Op>) {
    let x = random.below(2);
    thread.push(Op::Lock(x));
    accesses(random, thread, x);
    if random.below(4) == 0 && x == 0 {
        thread.push(Op::Lock(1));
        accesses(random, thread, 1);
        thread.push(Op::Unlock(1));
    }
    thread.push(Op::Unlock(x));
}

fn accesses(random: &mut Random, thread: &mut Vec<Op>, x: usize) {
    match random.below(4) {
        0 => thread.push(Op::Read(x)),
        1 => thread.push(Op::Write(x)),
        2 => thread.extend([Op::OnlyIf(x, random.below(3) as i32), Op::Write(x)]),
        _ => {}
    }
}

fn other(random: &mut Random, thread: &mut Vec<Op>) {
    match random.below(4) {
        0 => thread.push(Op::Up(0)),
        1 => thread.push(Op::Down(0)),
        2 => thread.push(Op::Add(2)),
        _ => thread.push(Op::CompareExchange(2, random.below(2) as i32, 2)),
    }
}

fn random_program(random: &mut Random) -> Script {
    loop {
        let threads = 2 + random.below(2);
        let script: Script = (0..threads)
            .map(|_| {
                let mut thread = Vec::new();
                for _ in 0..1 + random.below(2) {
                    match random.below(3) {
                        0 => other(random, &mut thread),
                        _ => section(random, &mut thread),
                    }
                }
                thread
            })
            .collect();
        if script.iter().map(Vec::len).sum::<usize>() <= 12 {
            return script;
        }
    }
}

#[test]
fn programs_whose_accesses_are_all_under_locks() {
    for seed in seeds(1500) {
        let script = random_program(&mut Random::new(seed));
        let (expected, oracle) = run(Variant::of(Algorithm::Oracle), &script);
        for variant in Variant::all().iter().filter(|other| other.algorithm == Algorithm::Quasi) {
            let name = variant.name();
            let (found, report) = run(*variant, &script);
            assert_eq!(found, expected, "{name}: {script:?}");
            assert_eq!(report.verdict(), oracle.verdict(), "{name}: {script:?}");
            assert!(report.disregarded_races().next().is_none(), "{name}: {script:?}");
            assert_eq!(report.counts.maximal(), expected.len() as u64, "{name}: {script:?}");
            if variant.is_optimal() {
                assert_eq!(report.counts.redundant, 0, "{name}: {script:?}");
            }
        }
    }
}

/// Reads and writes without locks do not interfere: one execution. But nothing is proved.
#[test]
fn a_data_race_makes_it_inconclusive() {
    let script: Script = vec![vec![Op::Write(0)], vec![Op::Read(0), Op::Write(0)]];
    let (found, report) = run(Variant::of(Algorithm::Quasi), &script);
    assert_eq!((found.len(), report.counts.total()), (1, 1));
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    assert_eq!(report.disregarded_races().count(), 1);
    assert!(report.violations.is_empty());

    let options = Options { data_races: true, ..options(Variant::of(Algorithm::Quasi)) };
    let make = || ScriptSystem::new(script.clone());
    let report = explore(Algorithm::Quasi, &make, &options, &mut Silent);
    assert_eq!(report.verdict(), Verdict::Violated);
    assert_eq!((report.violations.len(), report.disregarded_races().count()), (1, 0));
}

/// Whatever the program does, it is either right or says that it proves nothing.
#[test]
fn no_program_is_verified_wrongly() {
    let (mut all, mut racy) = (0, 0);
    for seed in seeds(3000) {
        let mut random = Random::new(seed);
        let mut script = random_program(&mut random);
        // One thread forgets a lock.
        let thread = random.below(script.len());
        let is_lock = |op: &Op| matches!(op, Op::Lock(_) | Op::Unlock(_));
        script[thread].retain(|op| !is_lock(op));
        let (expected, oracle) = run(Variant::of(Algorithm::Oracle), &script);
        let (found, report) = run(Variant::of(Algorithm::Quasi), &script);
        if report.disregarded_races().next().is_none() {
            assert_eq!(found, expected, "{script:?}");
            assert_eq!(report.verdict(), oracle.verdict(), "{script:?}");
        } else {
            assert_ne!(report.verdict(), Verdict::Verified, "{script:?}");
            racy += 1;
        }
        all += 1;
    }
    assert!(racy * 10 > all, "only {racy} of {all} programs have a data race");
}
