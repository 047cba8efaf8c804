//! Observation classes: data-centric exploration against brute force.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-testkit --test it observations` continues with
//! new programs for that long, for each test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::{
    Bound, Ending, EventId, Execution, ObjectId, ObservationKey, Position, Report, Verdict,
    Violation, ViolationKind,
};
use selvedge_explore::{Algorithm, Cycles, Locks, Observer, Options, Progress, Silent};
use selvedge_lang::Interpreter;
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{Random, corpus, explore, few_seeds, least, listed_programs, text_of};

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

fn campaign(seed: u64, programs: u64, make: impl Fn(&mut Random) -> Script) {
    campaign_with(seed, programs, make, check);
}

/// `check` returns the number of classes.
fn campaign_with(
    seed: u64,
    programs: u64,
    make: impl Fn(&mut Random) -> Script,
    check: impl Fn(&Script) -> usize,
) {
    let mut random = Random::new(seed);
    let mut scripts = std::iter::repeat_with(|| make(&mut random)).filter(is_small);
    let (mut compared, mut several) = (0, 0);
    for (_, script) in few_seeds(programs).zip(&mut scripts) {
        compared += 1;
        several += usize::from(check(&script) > 1);
    }
    assert!(several * 2 > compared, "programs with one class test nothing");
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
    campaign(5, 700, |random| {
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
    let make = |random: &mut Random| {
        threads(random, 3, 3, |random, thread| thread.push(access(random, 3)))
    };
    campaign_with(13, 500, make, |script| {
        let (expected, _) = named(Algorithm::Oracle, script, refine, ObservationKey::of);
        let (found, _) = named(Algorithm::DataCentric, script, refine, ObservationKey::of);
        assert!(found.keys().eq(expected.keys()), "{script:?}");
        found.len()
    });
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

/// The classes if locks are not observed, of executions that come to an end.
#[derive(Default)]
struct Unlocked(BTreeMap<ObservationKey, u32>);

impl Observer for Unlocked {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        if ending == Ending::Complete {
            *self.0.entry(ObservationKey::without_locks(execution)).or_default() += 1;
        }
    }
}

/// Compares with brute force, locks unobserved: the same classes, each once. If a deadlock is met, locks are
/// observed after all, and a class may be met again.
fn check_unobserved(script: &Script) -> usize {
    let options = Options { locks: Locks::Unobserved, ..keep_going() };
    let make = || ScriptSystem::new(script.clone());
    let (mut expected, mut found) = (Unlocked::default(), Unlocked::default());
    let oracle = explore(Algorithm::Oracle, &make, &options, &mut expected);
    let report = explore(Algorithm::DataCentric, &make, &options, &mut found);
    assert!(report.inconclusive.is_empty(), "{:?}: {script:?}", report.inconclusive);
    assert!(found.0.keys().eq(expected.0.keys()), "{script:?}");
    if oracle.counts.deadlocked == 0 {
        let most = found.0.values().max();
        assert!(most <= Some(&1), "a class was visited {most:?} times: {script:?}");
    }
    found.0.len()
}

#[test]
fn locks_that_are_not_observed() {
    campaign_with(21, 3000, |random| threads(random, 2, 2, section), check_unobserved);
}

#[test]
fn nested_locks_that_are_not_observed() {
    let make = |random: &mut Random| {
        threads(random, 2, 1, |random, thread| {
            let (m, n) = (random.below(2), random.below(3));
            thread.extend([access(random, 2), Op::Lock(m)]);
            if random.below(2) == 0 {
                thread.push(access(random, 2));
            }
            match n == m {
                true => thread.push(Op::Choose(2)),
                false => thread.extend([Op::Lock(n), access(random, 2), Op::Unlock(n)]),
            }
            thread.extend([access(random, 2), Op::Unlock(m)]);
        })
    };
    campaign_with(22, 1000, make, check_unobserved);
}

/// An access, or a critical section of some accesses, perhaps one only if something holds.
fn section(random: &mut Random, thread: &mut Vec<Op>) {
    let accesses = |random: &mut Random, thread: &mut Vec<Op>| {
        if random.below(6) == 0 {
            thread.push(Op::OnlyIf(random.below(2), random.below(3) as i32));
        }
        thread.push(access(random, 2));
    };
    if random.below(3) == 0 {
        return accesses(random, thread);
    }
    let m = random.below(2);
    thread.push(Op::Lock(m));
    for _ in 0..1 + random.below(2) {
        accesses(random, thread);
    }
    thread.push(Op::Unlock(m));
}

#[test]
fn an_open_section_that_must_be_run_to_its_end() {
    // The second read of x can observe the first write only after the section around it, which goes
    // on with a read of its own.
    let first = vec![Op::Lock(0), Op::Write(0), Op::Read(1), Op::Unlock(0), Op::Write(0)];
    let second = [Op::Lock(0), Op::Read(0), Op::Unlock(0)].repeat(2);
    assert_eq!(check_unobserved(&vec![first, second]), 6);
}

#[test]
fn what_a_deadlock_hides_is_found() {
    // If the two threads meet in a deadlock, neither comes to its read, nor to its write.
    let first = vec![Op::Lock(0), Op::Lock(1), Op::Read(0), Op::Unlock(1), Op::Unlock(0)];
    let second =
        vec![Op::Lock(1), Op::Lock(0), Op::Read(1), Op::Write(0), Op::Unlock(0), Op::Unlock(1)];
    let third = vec![Op::Write(1)];
    assert_eq!(check_unobserved(&vec![first, second, third]), 4);
}

#[test]
fn what_is_observed_on_the_way_to_a_deadlock_is_found_elsewhere_too() {
    // The read can observe the write with both locks held, a deadlock, or after the other thread's end.
    let first = vec![Op::Lock(1), Op::Read(1), Op::Lock(0), Op::Unlock(0), Op::Unlock(1)];
    let second = vec![Op::Lock(0), Op::Write(1), Op::Lock(1), Op::Unlock(1), Op::Unlock(0)];
    assert_eq!(check_unobserved(&vec![first, second]), 2);
}

#[test]
fn locks_in_every_order_that_are_not_observed() {
    let make = |random: &mut Random| {
        threads(random, 2, 1, |random, thread| {
            let (m, n) = if random.below(2) == 0 { (0, 1) } else { (1, 0) };
            thread.push(Op::Lock(m));
            if random.below(2) == 0 {
                thread.push(access(random, 2));
            }
            thread.extend([Op::Lock(n), access(random, 2), Op::Unlock(n)]);
            if random.below(2) == 0 {
                thread.push(access(random, 2));
            }
            thread.push(Op::Unlock(m));
        })
    };
    campaign_with(23, 500, make, check_unobserved);
}

#[test]
fn sections_that_only_write_are_one_class() {
    let section = vec![Op::Lock(0), Op::Write(0), Op::Unlock(0)];
    assert_eq!(check_unobserved(&vec![section.clone(); 3]), 1);
    let script = vec![section; 7];
    let options = Options { locks: Locks::Unobserved, ..keep_going() };
    let report = run(Algorithm::DataCentric, &script, &options).1;
    assert_eq!((report.counts.complete, report.counts.redundant), (1, 0));
}

/// Ends an exploration that takes long.
struct Hurry(Instant);

impl Hurry {
    fn new() -> Self {
        Self(Instant::now() + Duration::from_millis(500))
    }
}

impl Observer for Hurry {
    fn poll(&mut self, _: &dyn Fn() -> Progress) -> Option<Bound> {
        (Instant::now() > self.0).then_some(Bound::Time)
    }
}

#[test]
fn programs_with_locks_that_are_not_observed() {
    let mut compared = 0;
    // Those for a search of states have executions without an end.
    let has_ends = |file: &PathBuf| !file.starts_with(corpus().join("states"));
    for file in listed_programs().into_iter().filter(has_ends) {
        let text = text_of(&file);
        let name = file.display().to_string();
        let compiled = selvedge_lang::compile(&name, &text, &[]).expect("a program compiles");
        let violations = |locks| {
            let make = || Interpreter::new(Arc::clone(&compiled.program));
            let options = Options { locks, ..keep_going() };
            let report = explore(Algorithm::DataCentric, &make, &options, &mut Hurry::new());
            let shown = |violation: &Violation| (violation.kind, violation.message.clone());
            let mut all: Vec<(ViolationKind, String)> =
                report.violations.iter().map(|(violation, _)| shown(violation)).collect();
            all.sort_unstable();
            (all, report.inconclusive.is_empty())
        };
        let (expected, complete) = violations(Locks::Observed);
        let (found, treated) = violations(Locks::Unobserved);
        let deadlock = |(kind, _): &(ViolationKind, String)| *kind == ViolationKind::Deadlock;
        if complete && treated && !expected.iter().any(deadlock) {
            compared += 1;
            assert_eq!(found, expected, "{name}");
        }
    }
    assert!(compared >= least(40), "only {compared} programs were compared");
}

/// Two threads write the same variables, each in an order of its own. What `finally` finds is a class of
/// its own if it differs, whether a variable before it or after it differs too.
#[test]
fn every_end_that_is_looked_at_is_found_once() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let pairs = orders.into_iter().flat_map(|first| orders.map(|second| (first, second)));
    for ((first, second), is_locked) in pairs.flat_map(|pair| [(pair, false), (pair, true)]) {
        let thread = |name: &str, value: i32, order: [usize; 3]| {
            let writes = order.map(|variable| match is_locked {
                false => format!("{} = {value};", ["x", "y", "z"][variable]),
                true => format!("lock m {{ {} = {value}; }}", ["x", "y", "z"][variable]),
            });
            format!("thread {name} {{ {} }}", writes.join(" "))
        };
        let threads = format!("{} {}", thread("t", 1, first), thread("u", 2, second));
        let check = |algorithm: Algorithm, locks: Locks, wrong: &str| {
            let text = format!(
                "mutex m; shared x = 0; shared y = 0; shared z = 0; {threads}
                 finally {{ let a = x; let b = y; let c = z; assert {wrong}; }}"
            );
            let compiled = selvedge_lang::compile("ends.sel", &text, &[]);
            let program = compiled.expect("it is a program").program;
            let make = || Interpreter::new(Arc::clone(&program));
            let options = Options { locks, ..keep_going() };
            explore(algorithm, &make, &options, &mut Silent)
        };
        let values = [1, 2];
        let ends = values.into_iter().flat_map(|a| values.map(|b| (a, b)));
        let ends = ends.flat_map(|(a, b)| values.map(|c| (a, b, c)));
        let mut possible = 0;
        for (a, b, c) in ends {
            let wrong = format!("!(a == {a} && b == {b} && c == {c})");
            let expected = check(Algorithm::Oracle, Locks::Observed, &wrong).verdict();
            possible += u64::from(expected == Verdict::Violated);
            for locks in [Locks::Observed, Locks::Unobserved] {
                let found = check(Algorithm::DataCentric, locks, &wrong).verdict();
                assert_eq!(found, expected, "{locks:?}: {wrong} after {threads}");
            }
        }
        let counts = check(Algorithm::DataCentric, Locks::Unobserved, "a + b + c > 0").counts;
        assert_eq!((counts.complete, counts.redundant), (possible, 0), "{threads}");
        if !is_locked {
            let counts = check(Algorithm::DataCentric, Locks::Observed, "a + b + c > 0").counts;
            assert_eq!((counts.complete, counts.redundant), (possible, 0), "{threads}");
        }
    }
}
