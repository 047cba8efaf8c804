//! All small programs through every explorer, against every interleaving. `cargo test` looks at a share of those that are
//! many, a campaign at all.
//!
//! Two threads are not enough to see a wrong backtrack point, and three are not enough to see a
//! redundant execution; hence four threads too.

use std::collections::BTreeMap;

use selvedge_core::{Ending, Execution, ObservationKey, Report, TraceKey};
use selvedge_explore::{Algorithm, Equivalence, Observer, Options};
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{Random, Variant, explore, few_seeds, is_campaign, listed};

/// The classes of an exploration, and how often each was seen.
#[derive(Default)]
struct Classes {
    traces: BTreeMap<(TraceKey, Ending), u32>,
    observations: BTreeMap<(ObservationKey, Ending), u32>,
}

impl Observer for Classes {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        *self.traces.entry((TraceKey::of(execution), ending)).or_default() += 1;
        *self.observations.entry((ObservationKey::of(execution), ending)).or_default() += 1;
    }
}

/// Whether `found` has the classes of `expected`; and how often it has one at most.
fn compare<K: Ord>(expected: &BTreeMap<K, u32>, found: &BTreeMap<K, u32>) -> (bool, u32) {
    (found.keys().eq(expected.keys()), found.values().copied().max().unwrap_or(0))
}

fn run(variant: Variant, script: &Script) -> (Classes, Report) {
    let mut classes = Classes::default();
    let options = variant.options(&Options { keep_going: true, ..Options::default() });
    let make = || ScriptSystem::new(script.clone());
    let report = explore(variant.algorithm, &make, &options, &mut classes);
    (classes, report)
}

/// Compares every reduction with the oracle: the same classes; at most once each, where promised;
/// and, where promised, nothing redundant.
fn check(script: &Script) {
    let (expected, oracle) = run(Variant::of(Algorithm::Oracle), script);
    for variant in Variant::all() {
        let name = variant.name();
        let equivalence = variant.algorithm.info().equivalence;
        // Scripts have no states to compare: explorers that need them say so (`selvedge-explore/tests/front_end.rs`).
        if matches!(equivalence, Equivalence::Interleaving | Equivalence::State) {
            continue;
        }
        let (found, report) = run(variant, script);
        let ((same, most), promised) = match equivalence {
            Equivalence::Observation => (
                compare(&expected.observations, &found.observations),
                !script.iter().flatten().any(|op| splits_observations(*op)),
            ),
            _ => (compare(&expected.traces, &found.traces), true),
        };
        assert!(same, "{name} does not find the oracle's classes: {script:?}");
        assert_eq!(report.verdict(), oracle.verdict(), "{name}: {script:?}");
        assert!(most <= 1 || !promised, "{name} sees a class {most} times: {script:?}");
        if variant.is_optimal() || equivalence == Equivalence::Observation && promised {
            assert_eq!(report.counts.redundant, 0, "{name} is not optimal: {script:?}");
        }
    }
}

/// Where an observation class may be visited more than once: a variable that a step waits for is
/// treated by the order of its accesses, and the readers of a lock keep its writer waiting.
fn splits_observations(op: Op) -> bool {
    matches!(op, Op::Await(..) | Op::ReadLock(_))
}

/// The program with this number among all straight-line programs of reads and writes of two variables.
fn reads_and_writes(mut number: usize, threads: usize, operations: usize) -> Script {
    let mut operation = || {
        let code = number % 4;
        number /= 4;
        if code < 2 { Op::Read(code) } else { Op::Write(code - 2) }
    };
    (0..threads).map(|_| (0..operations).map(|_| operation()).collect()).collect()
}

#[test]
fn every_program_of_three_threads_with_two_operations() {
    for number in 0..4_usize.pow(6) {
        check(&reads_and_writes(number, 3, 2));
    }
}

#[test]
fn every_program_of_two_threads_with_three_operations() {
    for number in 0..4_usize.pow(6) {
        check(&reads_and_writes(number, 2, 3));
    }
}

/// Redundancy needs four threads. All of them, the optimal explorers alone; one in 97 against the oracle.
#[test]
fn every_program_of_four_threads_with_two_operations() {
    for number in listed(4_usize.pow(8)).step_by(if is_campaign() { 1 } else { 5 }) {
        let script = reads_and_writes(number, 4, 2);
        let options = Options { keep_going: true, ..Options::default() };
        let make = || ScriptSystem::new(script.clone());
        let report =
            |algorithm| explore(algorithm, &make, &options, &mut selvedge_explore::Silent).counts;
        let (optimal, source) = (report(Algorithm::Optimal), report(Algorithm::Source));
        assert_eq!(optimal.redundant, 0, "{script:?}");
        assert_eq!(optimal.maximal(), source.maximal(), "{script:?}");
        assert_eq!(report(Algorithm::Quasi), optimal, "{script:?}");
        assert_eq!(report(Algorithm::Parsimonious), optimal, "{script:?}");
        if number % 97 == 0 {
            check(&script);
        }
    }
}

/// Style of a random program: which operations it is made of.
type Mix = &'static [fn(&mut Random, &mut Vec<Op>)];

fn read(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Read(random.below(2)));
}

fn write(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Write(random.below(2)));
}

fn branch(random: &mut Random, thread: &mut Vec<Op>) {
    let x = random.below(2);
    thread.push(Op::OnlyIf(x, random.below(3) as i32));
    let then = [Op::Read(1 - x), Op::Write(1 - x)];
    thread.push(then[random.below(2)]);
}

fn add(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Add(random.below(2)));
}

fn compare_exchange(random: &mut Random, thread: &mut Vec<Op>) {
    let (old, new) = (random.below(2) as i32, 1 + random.below(2) as i32);
    thread.push(Op::CompareExchange(random.below(2), old, new));
}

fn maybe_access(random: &mut Random, thread: &mut Vec<Op>) {
    match random.below(4) {
        0 => read(random, thread),
        1 => write(random, thread),
        _ => {}
    }
}

fn section(random: &mut Random, thread: &mut Vec<Op>) {
    let m = random.below(2);
    thread.push(Op::Lock(m));
    maybe_access(random, thread);
    thread.push(Op::Unlock(m));
}

fn nested_sections(random: &mut Random, thread: &mut Vec<Op>) {
    let m = random.below(2);
    thread.extend([Op::Lock(m), Op::Lock(1 - m), Op::Unlock(1 - m), Op::Unlock(m)]);
}

fn try_section(random: &mut Random, thread: &mut Vec<Op>) {
    let m = random.below(2);
    thread.extend([Op::TryLock(m, 2), Op::Write(random.below(2)), Op::Unlock(m)]);
}

fn read_section(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::ReadLock(0));
    maybe_access(random, thread);
    thread.push(Op::ReadUnlock(0));
}

fn write_section(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::WriteLock(0));
    maybe_access(random, thread);
    thread.push(Op::WriteUnlock(0));
}

fn up(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Up(random.below(2)));
}

fn down(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Down(random.below(2)));
}

fn await_one(random: &mut Random, thread: &mut Vec<Op>) {
    const ONE: [&[usize]; 2] = [&[0], &[1]];
    thread.push(Op::Await(ONE[random.below(2)], random.below(3) as i32));
}

fn await_both(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Await(&[0, 1], random.below(2) as i32));
}

fn choose(_: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Choose(2));
}

const MEMORY: Mix = &[read, write, branch, add, compare_exchange];
const LOCKS: Mix = &[read, write, section, nested_sections, try_section];
const READERS: Mix = &[read, write, read_section, read_section, write_section];
const SEMAPHORES: Mix = &[read, write, up, down];
const AWAITS: Mix = &[read, write, write, await_one, await_both];
const CHOICES: Mix = &[read, write, branch, choose];
const EVERYTHING: Mix = &[
    read,
    write,
    branch,
    add,
    compare_exchange,
    section,
    nested_sections,
    try_section,
    read_section,
    write_section,
    up,
    down,
    await_one,
    await_both,
    choose,
];

/// Longer programs have too many interleavings.
const MOST_OPERATIONS: usize = 9;

fn random_program(random: &mut Random, mix: Mix) -> Script {
    loop {
        let threads = 2 + random.below(3);
        let most = [4, 3, 2][threads - 2];
        let script: Script = (0..threads)
            .map(|_| {
                let mut thread = Vec::new();
                for _ in 0..1 + random.below(most) {
                    mix[random.below(mix.len())](random, &mut thread);
                }
                thread
            })
            .collect();
        if script.iter().map(Vec::len).sum::<usize>() <= MOST_OPERATIONS {
            return script;
        }
    }
}

fn check_random(mix: Mix, seed: u64, programs: u64) {
    let mut random = Random::new(seed);
    for _ in few_seeds(programs) {
        check(&random_program(&mut random, mix));
    }
}

#[test]
fn random_programs_with_branches_and_read_modify_writes() {
    check_random(MEMORY, 1, 6_000);
}

#[test]
fn random_programs_with_locks() {
    check_random(LOCKS, 2, 6_000);
}

#[test]
fn random_programs_with_reader_writer_locks() {
    check_random(READERS, 3, 4_000);
}

#[test]
fn random_programs_with_semaphores() {
    check_random(SEMAPHORES, 4, 15_000);
}

#[test]
fn random_programs_with_awaits() {
    check_random(AWAITS, 5, 25_000);
}

#[test]
fn random_programs_with_choices() {
    check_random(CHOICES, 6, 3_000);
}

#[test]
fn random_programs_with_everything() {
    check_random(EVERYTHING, 7, 6_000);
}

/// Looking at a race once and never again, on the word of a branch that later executions do not
/// agree with, loses one of the 30 traces of this program.
#[test]
fn a_settled_race_is_settled_for_all_executions() {
    check(&vec![
        vec![Op::Add(0), Op::CompareExchange(0, 0, 2)],
        vec![Op::OnlyIf(1, 1), Op::Read(0), Op::Write(0)],
        vec![Op::Add(1), Op::CompareExchange(1, 0, 1)],
        vec![Op::CompareExchange(1, 1, 2)],
    ]);
}

/// If the alternatives of a choice inside a wakeup sequence are explored on their own, one of the 8
/// traces of this program is lost.
#[test]
fn choices_inside_wakeup_sequences() {
    check(&vec![
        vec![Op::Write(0)],
        vec![Op::Choose(2), Op::Write(1), Op::Read(0)],
        vec![Op::Read(1)],
    ]);
}

/// The first dynamic reduction with sleep sets added naively misses one of the 4 traces.
#[test]
fn classic_with_sleep_sets() {
    check(&vec![
        vec![Op::Write(0), Op::Read(0)],
        vec![Op::Read(1), Op::Read(0)],
        vec![Op::Read(1), Op::Read(0)],
    ]);
}

const CONDITIONS: &[&[(usize, i32)]] = &[
    &[(0, 0)],
    &[(1, 0)],
    &[(0, 1)],
    &[(1, 1)],
    &[(0, 0), (1, 0)],
    &[(1, 0), (0, 0)],
    &[(0, 1), (1, 0)],
];

fn when(random: &mut Random, thread: &mut Vec<Op>) {
    let condition = CONDITIONS[random.below(CONDITIONS.len())];
    thread.push(Op::When(condition, random.below(2), random.below(2) as i32));
}

fn copy(random: &mut Random, thread: &mut Vec<Op>) {
    thread.push(Op::Copy(random.below(2), random.below(2)));
}

const BLOCKS: Mix = &[when, when, copy, write];
const MANY: Mix = &[
    read,
    write,
    branch,
    compare_exchange,
    section,
    nested_sections,
    try_section,
    read_section,
    write_section,
    up,
    down,
    await_one,
    await_both,
    choose,
    when,
    copy,
];

/// Compares `parsimonious` with `optimal`: the same traces, each once. Returns how many there are, and how many
/// executions were given up. (Alternatives that conflict with different steps are none of any front end, and `optimal`
/// is not made for them: it takes what one of them commutes with for covered.)
fn agree(script: &Script) -> (usize, u64) {
    let varies = script.iter().flatten().any(|op| matches!(op, Op::Either(..)));
    let reference = if varies { Algorithm::Sleep } else { Algorithm::Optimal };
    let (expected, _) = run(Variant::of(reference), script);
    let (found, report) = run(Variant::of(Algorithm::Parsimonious), script);
    let (same, most) = compare(&expected.traces, &found.traces);
    let counts = (expected.traces.len(), found.traces.len());
    assert!(same && report.inconclusive.is_empty(), "{counts:?} traces: {script:?}");
    assert!(most <= 1, "a trace is seen {most} times: {script:?}");
    (expected.traces.len(), report.counts.redundant)
}

/// Programs that are too large for brute force, of up to five threads.
fn agree_on_random(mix: Mix, seed: u64, programs: u64, most_operations: usize) -> (usize, u64) {
    let mut random = Random::new(seed);
    let (mut traces, mut redundant) = (0, 0);
    for _ in few_seeds(programs) {
        let script: Script = loop {
            let threads = 3 + random.below(3);
            let thread = |random: &mut Random| {
                let mut thread = Vec::new();
                for _ in 0..1 + random.below([3, 3, 2][threads - 3]) {
                    mix[random.below(mix.len())](random, &mut thread);
                }
                thread
            };
            let script: Script = (0..threads).map(|_| thread(&mut random)).collect();
            let operations = script.iter().map(Vec::len).sum::<usize>();
            if (7..=most_operations).contains(&operations) {
                break script;
            }
        };
        let found = agree(&script);
        (traces, redundant) = (traces + found.0, redundant + found.1);
    }
    (traces, redundant)
}

#[test]
fn larger_programs_with_locks() {
    assert_eq!(agree_on_random(LOCKS, 11, 600, 14).1, 0);
}

#[test]
fn larger_programs_with_branches_and_read_modify_writes() {
    assert_eq!(agree_on_random(MEMORY, 12, 300, 11).1, 0);
}

#[test]
fn larger_programs_with_reader_writer_locks() {
    assert_eq!(agree_on_random(READERS, 13, 600, 13).1, 0);
}

#[test]
fn larger_programs_with_semaphores() {
    assert_eq!(agree_on_random(SEMAPHORES, 14, 1_000, 11).1, 0);
}

#[test]
fn larger_programs_with_awaits() {
    assert_eq!(agree_on_random(AWAITS, 15, 2_000, 11).1, 0);
}

/// What a block touches depends on the state, so that a few executions get stuck.
#[test]
fn programs_of_blocks() {
    let (traces, redundant) = agree_on_random(BLOCKS, 16, 1_000, 9);
    assert!(redundant * 50 <= traces as u64, "{redundant} redundant executions, {traces} traces");
}

#[test]
fn larger_programs_with_everything() {
    let (traces, redundant) = agree_on_random(MANY, 17, 2_000, 12);
    assert!(redundant * 50 <= traces as u64, "{redundant} redundant executions, {traces} traces");
}

/// What conflicts with a block may not conflict any more with what it does later. A search that decides by the latter
/// which of several reasons to put it off comes first loses one of the traces of each of these.
#[test]
fn reasons_that_do_not_last() {
    let (x, y) = (0, 1);
    let programs = [
        (
            10,
            vec![
                vec![Op::When(&[(1, 0)], x, 0)],
                vec![Op::When(&[(0, 1)], x, 1)],
                vec![Op::When(&[(0, 0)], y, 0)],
                vec![Op::Copy(x, y)],
            ],
        ),
        (
            68,
            vec![
                vec![Op::When(&[(1, 0)], x, 1)],
                vec![Op::When(&[(1, 1)], x, 0)],
                vec![Op::Store(x, 1)],
                vec![Op::Either(y, x), Op::Either(y, x)],
            ],
        ),
        (
            36,
            vec![
                vec![Op::Copy(x, y)],
                vec![Op::When(&[(0, 0)], y, 1), Op::Copy(y, x)],
                vec![Op::When(&[(1, 1)], x, 0)],
                vec![Op::When(&[(1, 0)], x, 0)],
            ],
        ),
    ];
    for (traces, script) in programs {
        assert_eq!(agree(&script), (traces, 0), "{script:?}");
    }
}

/// A step is put off with all its alternatives, and one that is not the first counts as a departure. The first of these
/// programs has an execution that gets stuck: both alternatives are put off, and one of them is not changed by that.
#[test]
fn alternatives_that_are_put_off() {
    let (x, y) = (0, 1);
    let either = vec![vec![Op::Either(y, x)], vec![Op::Read(y), Op::Write(x)], vec![Op::Read(y)]];
    assert_eq!(agree(&either), (6, 1));
    let after_a_block = vec![vec![Op::Write(y), Op::Either(x, y)], vec![Op::Either(x, y)]];
    assert_eq!(agree(&after_a_block), (8, 0));
}

/// Otherwise one of the 7 traces is met twice.
#[test]
fn a_thread_that_was_put_off_goes_first() {
    let script = vec![
        vec![Op::Lock(0), Op::Read(0), Op::Unlock(0)],
        vec![Op::Write(0)],
        vec![Op::Lock(0), Op::Unlock(0), Op::Read(0)],
    ];
    assert_eq!(agree(&script), (7, 0));
}

/// The oracle itself: interleavings of straight lines are counted by a formula.
#[test]
fn the_oracle_counts_interleavings() {
    for (threads, operations, expected) in
        [(2, 2, 6), (2, 3, 20), (3, 2, 90), (4, 1, 24), (3, 3, 1680)]
    {
        let script = vec![vec![Op::Read(0); operations]; threads];
        let (classes, report) = run(Variant::of(Algorithm::Oracle), &script);
        assert_eq!(report.counts.complete, expected);
        assert_eq!(classes.traces.len(), 1, "reads commute");
    }
}
