//! `optimal` with observers: the classes by definition, against brute force.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-testkit --test it observers` continues with new programs for that
//! long, for each test.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::{Ending, Execution, ObservationKey, ObserversKey, Report, TraceKey};
use selvedge_explore::{Algorithm, Observer, Observers, Options};
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{
    Findings, Profile, Random, Subject, compare, explore, few_seeds, generate, is_campaign, listed,
};

/// The classes of an exploration, and how often each was visited.
#[derive(Default)]
struct Classes {
    observed: BTreeMap<(ObserversKey, Ending), u32>,
    traces: BTreeMap<TraceKey, u32>,
    reads_from: BTreeMap<(ObservationKey, Ending), u32>,
}

impl Observer for Classes {
    fn begins(&mut self) {
        *self = Self::default();
    }

    fn execution(&mut self, execution: &Execution, ending: Ending) {
        *self.observed.entry((ObserversKey::of(execution), ending)).or_default() += 1;
        *self.traces.entry(TraceKey::of(execution)).or_default() += 1;
        let key = ObservationKey::without_sends(execution);
        *self.reads_from.entry((key, ending)).or_default() += 1;
    }
}

fn with_observers() -> Options {
    Options { keep_going: true, observers: Observers::Decide, ..Options::default() }
}

fn run(algorithm: Algorithm, script: &Script) -> (Classes, Report) {
    let mut classes = Classes::default();
    let make = || ScriptSystem::new(script.clone());
    let report = explore(algorithm, &make, &with_observers(), &mut classes);
    (classes, report)
}

/// Compares with brute force: the same classes, each once. Returns how many there are, and how many executions were redundant.
fn check(script: &Script) -> (usize, u64) {
    let (expected, oracle) = run(Algorithm::Oracle, script);
    let (found, report) = run(Algorithm::Optimal, script);
    assert!(
        found.observed.keys().eq(expected.observed.keys()),
        "{} classes instead of {}: {script:?}",
        found.observed.len(),
        expected.observed.len()
    );
    assert_eq!(report.verdict(), oracle.verdict(), "{script:?}");
    let most = found.observed.values().max();
    assert_eq!(most, Some(&1), "a class was visited {most:?} times: {script:?}");
    assert!(found.observed.len() <= expected.traces.len(), "{script:?}");
    (found.observed.len(), report.counts.redundant)
}

/// Whether brute force gets through it.
fn is_small(script: &Script) -> bool {
    let (mut interleavings, mut steps) = (1.0, 0.0);
    for thread in script {
        for i in 0..thread.len() {
            steps += 1.0;
            interleavings *= steps / (i + 1) as f64;
        }
    }
    interleavings <= 20_000.0
}

fn threads(
    random: &mut Random,
    most_steps: usize,
    mut part: impl FnMut(&mut Random, &mut Vec<Op>),
) -> Script {
    let count = 2 + random.below(4);
    let mut thread = |random: &mut Random| {
        let mut thread = Vec::new();
        for _ in 0..1 + random.below(most_steps) {
            part(random, &mut thread);
        }
        thread
    };
    (0..count).map(|_| thread(random)).collect()
}

#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn campaign(
    programs: u64,
    make: impl Fn(&mut Random) -> Script,
    check: impl Fn(&Script) -> (usize, u64),
) {
    let (mut compared, mut several, mut classes, mut redundant) = (0, 0, 0, 0);
    for seed in few_seeds(programs) {
        let script = make(&mut Random::new(seed));
        if !is_small(&script) {
            continue;
        }
        let (count, more) = check(&script);
        compared += 1;
        several += u64::from(count > 1);
        classes += count as u64;
        redundant += more;
    }
    if is_campaign() {
        eprintln!("{compared} programs, {classes} classes, {redundant} redundant executions");
    }
    assert!(several * 2 > compared, "programs with one class test nothing");
}

fn access(random: &mut Random, variables: usize) -> Op {
    let x = random.below(variables);
    match random.below(9) {
        0..4 => Op::Read(x),
        4..8 => Op::Write(x),
        _ => Op::Add(x),
    }
}

#[test]
fn reads_and_writes() {
    campaign(
        1800,
        |random| {
            let variables = 1 + random.below(3);
            threads(random, 3, |random, thread| {
                let x = random.below(variables);
                thread.push(if random.below(2) == 0 { Op::Read(x) } else { Op::Write(x) });
            })
        },
        check,
    );
}

#[test]
fn branches_and_read_modify_writes() {
    campaign(
        1800,
        |random| {
            let variables = 1 + random.below(2);
            threads(random, 3, |random, thread| {
                if random.below(4) == 0 {
                    thread.push(Op::OnlyIf(random.below(variables), random.below(4) as i32));
                }
                thread.push(access(random, variables));
            })
        },
        check,
    );
}

#[test]
fn locks_semaphores_and_choices() {
    campaign(
        1800,
        |random| {
            threads(random, 2, |random, thread| match random.below(8) {
                0..3 => {
                    let m = random.below(2);
                    thread.extend([Op::Lock(m), access(random, 2), Op::Unlock(m)]);
                }
                3 => thread.push(Op::Up(0)),
                4 => thread.push(Op::Down(0)),
                5 => thread.push(Op::Choose(2)),
                _ => thread.push(access(random, 2)),
            })
        },
        check,
    );
}

/// Every construct: what reads find, and how executions end, is that of brute force; and never more classes than traces.
#[test]
fn everything() {
    campaign(
        1800,
        |random| {
            threads(random, 3, |random, thread| match random.below(9) {
                8 => {
                    let (old, new) = (random.below(3) as i32, 1 + random.below(3) as i32);
                    thread.push(Op::CompareExchange(random.below(3), old, new));
                }
                0 => thread.push(Op::Await(&[0], random.below(3) as i32)),
                1 => thread.push(Op::Await(&[0, 1], random.below(2) as i32)),
                2 => thread.push(Op::When(&[(0, 1), (1, 0)], 1, 1)),
                3 => thread.push(Op::Copy(random.below(2), random.below(2))),
                4 => thread.push(Op::Store(0, 0)),
                5 => thread.push(Op::Write(2)),
                _ => thread.push(access(random, 3)),
            })
        },
        |script| {
            let (expected, oracle) = run(Algorithm::Oracle, script);
            let (found, report) = run(Algorithm::Optimal, script);
            assert!(found.reads_from.keys().eq(expected.reads_from.keys()), "{script:?}");
            assert_eq!(report.verdict(), oracle.verdict(), "{script:?}");
            let executions = report.counts.maximal();
            assert!(executions <= expected.traces.len() as u64, "{executions}: {script:?}");
            (expected.reads_from.len(), report.counts.redundant)
        },
    );
}

/// All programs of 3×2 and 4×2 reads and writes of two variables.
#[test]
fn small_programs() {
    for threads in [3, 4] {
        for number in listed(4_usize.pow(threads * 2)).step_by(if threads == 4 { 45 } else { 3 }) {
            let mut number = number;
            let mut operation = || {
                let code = number % 4;
                number /= 4;
                if code < 2 { Op::Read(code) } else { Op::Write(code - 2) }
            };
            check(&(0..threads).map(|_| vec![operation(), operation()]).collect());
        }
    }
}

/// N writers alone: 1. N writers that a reader waits for: N. A reader beside them: 1 for each set of writes before it, and for
/// each of these that is last.
#[test]
fn known_counts() {
    let writers = |count: usize| vec![vec![Op::Write(0)]; count];
    for count in 1..6 {
        assert_eq!(check(&writers(count)).0, 1);
        let mut waiting: Script = vec![vec![Op::Write(0), Op::Up(0)]; count];
        waiting.push([vec![Op::Down(0); count], vec![Op::Read(0)]].concat());
        if count < 4 {
            check(&waiting);
        }
        let mut beside = writers(count);
        beside.push(vec![Op::Read(0)]);
        // The sum over k of k times N over k, and one for the initial value.
        assert_eq!(check(&beside).0, count * (1 << (count - 1)) + 1);
    }
}

/// Random programs over every construct: the same violations, ends and finds as brute force; each violation is reproduced.
#[test]
fn random_programs() {
    let mut compared = 0;
    for seed in few_seeds(180) {
        for profile in Profile::all() {
            let text = generate(&profile, seed).to_string();
            let subject = Subject::new("random.sel", &text, &[]).expect("it compiles");
            let most = compare::thorough(1000);
            let mut expected = Classes::default();
            let oracle = subject.explore(Algorithm::Oracle, &most, &mut expected).expect(&text);
            if !oracle.inconclusive.is_empty() {
                continue;
            }
            let options = Options { observers: Observers::Decide, ..compare::thorough(200_000) };
            let mut found = Classes::default();
            let report = subject.explore(Algorithm::Optimal, &options, &mut found).expect(&text);
            assert!(report.inconclusive.is_empty(), "{:?}: {text}", report.inconclusive);
            assert!(found.reads_from.keys().eq(expected.reads_from.keys()), "{text}");
            let told = |report: &Report| -> BTreeSet<String> {
                report.violations.iter().map(|(violation, _)| format!("{violation:?}")).collect()
            };
            assert_eq!(told(&report), told(&oracle), "{text}");
            let executions = report.counts.maximal();
            assert!(executions <= expected.traces.len() as u64, "{executions}: {text}");
            let findings = Findings { classes: selvedge_testkit::Classes::default(), report };
            compare::replays(&subject, &findings).expect(&text);
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} programs were compared");
}
