//! Names of threads and objects mean the same in every system, whatever it ran before; their numbers do not.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use selvedge_core::{
    Describe, Effect, ObjectId, ObjectKey, Report, Step, System, ThreadKey, thread_named,
};
use selvedge_explore::{
    Algorithm, Divisible, Division, Frontier, Options, Part, Silent, explore_divided, run_unit,
};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::{
    Profile, Random, Subject, compare, corpus, explore, generate, programs, text_of,
};

const LONGEST: usize = 300;

/// A step by names: whose, which alternative, and what it touched, with the names that users see.
type Taken = (ThreadKey, u32, Vec<(ObjectKey, String)>);

/// Takes steps at random, and says which.
fn drive(system: &mut Interpreter, random: &mut Random) -> Vec<Taken> {
    system.restart();
    let mut taken = Vec::new();
    while taken.len() < LONGEST
        && let Some(step) = random.step(system)
    {
        taken.push(take(system, step, &mut BTreeMap::new()));
    }
    taken
}

/// Takes a step. Different objects have different names: `known` are those of this system.
fn take(system: &mut Interpreter, step: Step, known: &mut BTreeMap<ObjectKey, ObjectId>) -> Taken {
    let mut effect = Effect::default();
    system.step(step, &mut effect);
    let mut touched = Vec::new();
    for access in effect.footprint.accesses() {
        let key = system.object_key(access.object);
        assert_eq!(*known.entry(key).or_insert(access.object), access.object);
        touched.push((key, system.object_name(access.object)));
    }
    (system.thread_key(step.thread), step.choice, touched)
}

/// Compares the names along some executions, and returns how many numbers of threads differed.
fn compare_names(program: &str, make: &dyn Fn() -> Interpreter, executions: u32) -> usize {
    let mut random = Random::new(7);
    let (mut one, mut other) = (make(), make());
    let mut known = BTreeMap::new();
    let mut renumbered = 0;
    for _ in 0..executions {
        // The other system has run something else before.
        drive(&mut other, &mut random);
        let expected = drive(&mut one, &mut random);
        other.restart();
        for (nth, step) in expected.iter().enumerate() {
            let (key, choice, _) = step;
            let thread = thread_named(&other, key);
            let thread = thread.unwrap_or_else(|| panic!("{program}: step {nth}: no thread {key}"));
            renumbered += usize::from(thread_named(&one, key) != Some(thread));
            let taken = take(&mut other, Step { thread, choice: *choice }, &mut known);
            assert_eq!(taken, *step, "{program}: step {nth}");
        }
    }
    renumbered
}

#[test]
fn names_mean_the_same_in_two_systems_that_were_driven_differently() {
    for path in programs() {
        let text = text_of(&path);
        let name = path.strip_prefix(corpus()).expect("it is one of them").display().to_string();
        let program = compile(&name, &text, &[]).unwrap_or_else(|_| panic!("{name} compiles"));
        compare_names(&name, &|| Interpreter::new(Arc::clone(&program.program)), 100);
    }
}

#[test]
fn names_of_random_programs() {
    let mut renumbered = 0;
    for seed in 0..400 {
        let sketch = generate(&Profile::everything(), seed);
        let text = sketch.to_string();
        let subject = Subject::new("random", &text, &[]).expect("it compiles");
        let make = || Interpreter::new(Arc::clone(subject.program()));
        renumbered += compare_names(&text, &make, 20);
    }
    assert!(renumbered > 20, "numbers differ: {renumbered}, or the test says nothing");
}

/// Threads that spawn others, which get their numbers in the order in which a system meets them.
const SPAWNS: &str = "\
shared x = 0;
proc write(v: int) { x = v; }
thread a { let t = spawn write(1); join t; }
thread b { let t = spawn write(2); join t; x = 0; }
thread c { if x == 2 { spawn write(4); } }
finally { assert x != 4; }
";

/// Explores with one worker alone, and so that each unit is run in a system of its own, in any order and only for a
/// while. Returns how many units there were.
fn explore_in_parts(
    algorithm: Algorithm,
    text: &str,
    options: &Options,
    random: &mut Random,
) -> u64 {
    let what = Divisible::Exploration(algorithm);
    let subject = Subject::new("random", text, &[]).expect("it compiles");
    let program = Arc::clone(subject.program());
    let make = || Interpreter::new(Arc::clone(&program));
    let alone = explore(algorithm, &make, options, &mut Silent);
    let mut frontier = Frontier::root();
    let mut units = 0;
    loop {
        let to_do = to_do(&frontier);
        let most = options.limits.executions.unwrap_or(u64::MAX);
        // What is beyond the limit does not matter.
        if to_do.is_empty() || frontier.executions() > most.saturating_mul(10) {
            break;
        }
        let nth = *random.pick(&to_do);
        let Part::ToDo(unit) = &frontier.parts[nth] else { unreachable!("it is to be done") };
        let most = 1 + random.below(5) as u64;
        let parts = run_unit(what, &make, options, unit, &mut |ran| ran < most);
        frontier.replace(nth, parts.unwrap_or_else(|why| panic!("{why}: {text}")));
        units += 1;
    }
    let division = Division { jobs: NonZeroUsize::MIN, start: frontier, keeper: None };
    let found = explore_divided(what, &make, options, &mut Silent, division);
    let found = found.unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(seen(&found.report), seen(&alone), "{text}");
    units
}

/// Workers have systems of their own, which give other numbers to spawned threads: what is explored must not depend on them.
#[test]
fn workers_explore_what_one_alone_explores() {
    let mut random = Random::new(3);
    let mut units = 0;
    for keep_going in [true, false] {
        let options = Options { keep_going, ..Options::default() };
        for algorithm in [Algorithm::Parsimonious, Algorithm::Source] {
            units += explore_in_parts(algorithm, SPAWNS, &options, &mut random);
        }
    }
    for seed in 0..600 {
        let algorithm = if seed < 300 { Algorithm::Parsimonious } else { Algorithm::Source };
        let text = generate(&Profile::everything(), seed).to_string();
        let mut options = compare::thorough(if seed % 7 == 0 { 20 } else { 1_000 });
        options.keep_going = seed % 2 == 0;
        units += explore_in_parts(algorithm, &text, &options, &mut random);
    }
    assert!(units > 2_000, "{units} units");
}

/// Which parts are to be done.
fn to_do(frontier: &Frontier) -> Vec<usize> {
    let parts = frontier.parts.iter().enumerate();
    parts.filter(|(_, part)| matches!(part, Part::ToDo(_))).map(|(nth, _)| nth).collect()
}

/// What users see of a report.
fn seen(report: &Report) -> String {
    let Report { counts, steps, longest, threads, violations, inconclusive, .. } = report;
    let violations: Vec<_> =
        violations.iter().map(|(found, by)| (found.kind, &found.message, by.to_string())).collect();
    format!("{counts:?} {steps} {longest} {threads} {violations:?} {inconclusive:?}")
}
