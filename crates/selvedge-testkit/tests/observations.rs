//! Observation classes: data-centric exploration against brute force.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-testkit --test observations` goes on with
//! new programs for that long, for each test.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use selvedge_core::{Ending, EventId, Execution, ObjectId, ObservationKey, Position, Report};
use selvedge_explore::{Algorithm, Cycles, Observer, Options, explore};
use selvedge_testkit::Random;
use selvedge_testkit::script::{Op, Script, ScriptSystem};

/// The observation classes of an exploration, and how often each was visited.
#[derive(Default)]
struct Classes(BTreeMap<(ObservationKey, Ending), u32>);

impl Observer for Classes {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        *self.0.entry((ObservationKey::of(execution), ending)).or_default() += 1;
    }
}

fn run(algorithm: Algorithm, script: &Script, options: &Options) -> (Classes, Report) {
    let mut classes = Classes::default();
    let make = || ScriptSystem::new(script.clone());
    let report = explore(algorithm, &make, options, &mut classes);
    (classes, report)
}

fn keep_going() -> Options {
    Options { keep_going: true, ..Options::default() }
}

/// Compares with brute force: the same classes, each once, and nothing redundant.
fn check(script: &Script) -> usize {
    let (expected, oracle) = run(Algorithm::Oracle, script, &keep_going());
    let (found, report) = run(Algorithm::DataCentric, script, &keep_going());
    assert!(
        found.0.keys().eq(expected.0.keys()),
        "{} classes instead of {}: {script:?}",
        found.0.len(),
        expected.0.len()
    );
    assert_eq!(report.verdict(), oracle.verdict(), "{script:?}");
    assert_eq!(report.counts.redundant, 0, "{script:?}");
    let most = found.0.values().max();
    assert_eq!(most, Some(&1), "a class was visited {most:?} times: {script:?}");
    found.0.len()
}

fn access(random: &mut Random, variables: usize) -> Op {
    let x = random.below(variables);
    match random.below(8) {
        0..3 => Op::Read(x),
        3..6 => Op::Write(x),
        6 => Op::Add(x),
        _ => Op::CompareExchange(x, random.below(3) as i32, 1 + random.below(3) as i32),
    }
}

fn plain_access(random: &mut Random, variables: usize) -> Op {
    let x = random.below(variables);
    if random.below(2) == 0 { Op::Read(x) } else { Op::Write(x) }
}

/// Whether brute force gets through it.
fn is_small(script: &Script) -> bool {
    let mut interleavings = 1.0;
    let mut steps = 0.0;
    for thread in script {
        for i in 0..thread.len() {
            steps += 1.0;
            interleavings *= steps / (i + 1) as f64;
        }
    }
    interleavings <= 40_000.0
}

fn campaign(seed: u64, programs: usize, make: impl Fn(&mut Random) -> Script) {
    let seconds = std::env::var("SELVEDGE_FUZZ_SECONDS").ok();
    let seconds = seconds.map(|text| text.parse().expect("a number of seconds"));
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random::new(seed);
    let (mut programs_done, mut several) = (0, 0);
    while end.map_or(programs_done < programs, |end| Instant::now() < end) {
        let script = make(&mut random);
        if is_small(&script) {
            programs_done += 1;
            several += usize::from(check(&script) > 1);
        }
    }
    assert!(several * 2 > programs_done, "programs with one class test nothing");
}

fn threads(
    random: &mut Random,
    fewest: usize,
    most_steps: usize,
    mut part: impl FnMut(&mut Random, &mut Vec<Op>),
) -> Script {
    let count = fewest + random.below(5 - fewest);
    let thread = |random: &mut Random| {
        let mut thread = Vec::new();
        for _ in 0..1 + random.below(most_steps) {
            part(random, &mut thread);
        }
        thread
    };
    let mut script = Script::new();
    let mut thread = thread;
    for _ in 0..count {
        script.push(thread(random));
    }
    script
}

#[test]
fn reads_and_writes() {
    campaign(1, 3000, |random| {
        let variables = 1 + random.below(3);
        threads(random, 2, 4, |random, thread| thread.push(plain_access(random, variables)))
    });
}

#[test]
fn branches() {
    campaign(2, 3000, |random| {
        threads(random, 2, 3, |random, thread| {
            if random.below(3) == 0 {
                thread.push(Op::OnlyIf(random.below(2), random.below(3) as i32));
            }
            thread.push(plain_access(random, 2));
        })
    });
}

#[test]
fn read_modify_writes() {
    campaign(3, 3000, |random| {
        let variables = 1 + random.below(2);
        threads(random, 2, 3, |random, thread| {
            if random.below(4) == 0 {
                thread.push(Op::OnlyIf(random.below(variables), random.below(3) as i32));
            }
            thread.push(access(random, variables));
        })
    });
}

#[test]
fn locks() {
    campaign(4, 3000, |random| {
        threads(random, 2, 2, |random, thread| {
            let (m, n) = (random.below(2), random.below(2));
            match random.below(6) {
                0 | 1 => {
                    thread.push(Op::Lock(m));
                    thread.push(access(random, 2));
                    thread.push(Op::Unlock(m));
                }
                2 if m != n => {
                    thread.extend([Op::Lock(m), Op::Lock(n), access(random, 2)]);
                    thread.extend([Op::Unlock(n), Op::Unlock(m)]);
                }
                3 => thread.extend([Op::TryLock(m, 2), access(random, 2), Op::Unlock(m)]),
                _ => thread.push(access(random, 2)),
            }
        })
    });
}

#[test]
fn semaphores_and_choices() {
    campaign(5, 2000, |random| {
        threads(random, 2, 3, |random, thread| match random.below(6) {
            0 => thread.push(Op::Up(0)),
            1 => thread.push(Op::Down(0)),
            2 => thread.push(Op::Choose(2)),
            _ => thread.push(access(random, 2)),
        })
    });
}

/// The order of the writes to the first variable.
fn write_order(execution: &Execution) -> Vec<EventId> {
    let first = ObjectId::new(0);
    let writes = |position: &Position| {
        let mut accesses = execution.accesses(*position).iter();
        accesses.any(|access| access.object == first && access.mode.writes())
    };
    execution.positions().filter(writes).map(|position| execution.event(position).id).collect()
}

/// Collects any kind of classes.
struct Named<K, F>(BTreeMap<K, u32>, F);

impl<K: Ord, F: Fn(&Execution) -> K> Observer for Named<K, F> {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        *self.0.entry((self.1)(execution)).or_default() += 1;
    }
}

fn named<K: Ord>(
    algorithm: Algorithm,
    script: &Script,
    cycles: Cycles,
    name: fn(&Execution) -> K,
) -> (BTreeMap<K, u32>, Report) {
    let options = Options { cycles, ..keep_going() };
    let mut classes = Named(BTreeMap::new(), name);
    let report = explore(algorithm, &|| ScriptSystem::new(script.clone()), &options, &mut classes);
    (classes.0, report)
}

#[test]
fn cycles_that_are_refined() {
    let refine = Cycles::Refine;
    let mut random = Random::new(12);
    let mut compared = 0;
    while compared < 1000 {
        // Everybody uses one variable, so that the order of all its writes is observed.
        let script = threads(&mut random, 3, 2, |random, thread| {
            thread.push(plain_access(random, 1));
        });
        if !is_small(&script) {
            continue;
        }
        compared += 1;
        let name = |execution: &Execution| (ObservationKey::of(execution), write_order(execution));
        let (expected, _) = named(Algorithm::Oracle, &script, refine, name);
        let (found, report) = named(Algorithm::DataCentric, &script, refine, name);
        assert!(found.keys().eq(expected.keys()), "{script:?}");
        assert!(found.values().all(|&times| times == 1), "{script:?}");
        assert_eq!(report.counts.redundant, 0, "{script:?}");
    }
}

#[test]
fn refined_or_not_the_observations_are_the_same() {
    let refine = Cycles::Refine;
    let mut random = Random::new(13);
    let mut compared = 0;
    while compared < 1500 {
        let script = threads(&mut random, 3, 3, |random, thread| thread.push(access(random, 3)));
        if !is_small(&script) {
            continue;
        }
        compared += 1;
        let (expected, _) = named(Algorithm::Oracle, &script, refine, ObservationKey::of);
        let (found, _) = named(Algorithm::DataCentric, &script, refine, ObservationKey::of);
        assert!(found.keys().eq(expected.keys()), "{script:?}");
    }
}

/// What single observations instead of whole pasts would forbid too much of: 4 classes, not 3.
#[test]
fn what_is_forbidden_is_a_whole_past() {
    use Op::{Read, Write};
    let script = vec![vec![Write(0), Read(0), Write(1)], vec![Read(0), Write(0)]];
    assert_eq!(check(&script), 4);
}

#[test]
fn known_counts() {
    use Op::{Read, Write};
    let repeat = |ops: &[Op], times: usize| ops.repeat(times);
    // N rounds of write and read.
    for (rounds, classes) in [(1, 3), (2, 19), (3, 141), (4, 1107)] {
        let thread = repeat(&[Write(0), Read(0)], rounds);
        assert_eq!(count(&vec![thread.clone(), thread]), classes);
    }
    // N writes and then a read.
    for writes in 1..6 {
        let thread = [repeat(&[Write(0)], writes), vec![Read(0)]].concat();
        assert_eq!(count(&vec![thread.clone(), thread]), 2 * writes as u64 + 1);
    }
    // K threads write and then read, or read and then write: labelled forests.
    for ops in [[Write(0), Read(0)], [Read(0), Write(0)]] {
        for k in 2..6_u64 {
            let script = vec![ops.to_vec(); k as usize];
            assert_eq!(count(&script), (k + 1).pow(k as u32 - 1));
        }
    }
}

/// Executions, none of them redundant.
fn count(script: &Script) -> u64 {
    let (_, report) = run(Algorithm::DataCentric, script, &keep_going());
    assert_eq!(report.counts.redundant, 0);
    report.counts.maximal()
}
