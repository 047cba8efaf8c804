//! A context bound covers what it says: with at most so many switches, `token` and `mat` find what
//! the brute-force explorer finds under the same bound, no more and no less.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-symbolic --test it context_bounds` goes
//! on with new programs for that long, for each profile.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Bound, Budget, Inconclusive, Schedule, Violation, ViolationKind};
use selvedge_explore::{Algorithm, Limits, Options, Silent};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::{Scheme, check};
use selvedge_testkit::{
    Construct, Profile, Sketch, Subject, corpus, explore, generate, seeds, shrink,
};

const TOKENS: [Scheme; 2] = [Scheme::Token, Scheme::Mat];

/// What is wrong and where. Deadlocks are one violation, whichever threads wait.
type Found = BTreeSet<(ViolationKind, Option<(u32, u32)>)>;

fn found(violations: &[(Violation, Schedule)]) -> Found {
    let violations = violations.iter().map(|(violation, _)| match violation.kind {
        ViolationKind::Deadlock => (ViolationKind::Deadlock, None),
        kind => (kind, violation.places.first().map(|place| (place.line, place.column))),
    });
    violations.collect()
}

fn context_switches(schedule: &Schedule) -> usize {
    schedule.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
}

/// What brute force finds with at most so many switches; `None` if it takes too long.
fn explored(program: &Arc<Program>, most: u32) -> Option<Found> {
    let limits = Limits {
        context_switches: Some(most),
        executions: Some(60_000),
        steps: 200,
        ..Limits::default()
    };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let make = || Interpreter::new(program.clone());
    let report = explore(Algorithm::Oracle, &make, &options, &mut Silent);
    let is_bound = |reason: &Inconclusive| {
        matches!(reason, Inconclusive::Bound(Bound::ContextSwitches { exact: true, .. }))
    };
    report.inconclusive.iter().all(is_bound).then(|| found(&report.violations))
}

/// What an encoding finds; `None` if it takes too long, or if there is more that it does not cover.
fn encoded(program: &Arc<Program>, scheme: Scheme, most: u32) -> Result<Option<Found>, String> {
    // By work, not by time: the same on every machine.
    let budget = Budget::unlimited().with_work(20);
    let options = selvedge_symbolic::Options {
        scheme,
        context_bound: Some(most),
        keep_going: true,
        ..Default::default()
    };
    let outcome = check(program, &options, &budget, &|| Duration::ZERO);
    if let Some(mistake) = outcome.mistakes.first() {
        return Err(mistake.clone());
    }
    let violations = &outcome.report.violations;
    for (violation, schedule) in violations {
        let switches = context_switches(schedule);
        if switches > most as usize {
            return Err(format!("{switches} switches: {schedule}: {}", violation.message));
        }
    }
    let covered = format!("only executions with at most {most} context switches were covered");
    let is_bound = |reason: &Inconclusive| reason.to_string().starts_with(&covered);
    let is_all = outcome.report.inconclusive.iter().all(is_bound);
    let is_told = !outcome.report.inconclusive.is_empty();
    Ok((is_all && is_told).then(|| found(violations)))
}

/// Whether the encoding came to an end; `Err` if it found something else than brute force.
fn compare(program: &Arc<Program>, scheme: Scheme, most: u32) -> Result<bool, String> {
    let Some(expected) = explored(program, most) else { return Ok(false) };
    match encoded(program, scheme, most).map_err(|problem| format!("with {most}: {problem}"))? {
        Some(seen) if seen != expected => {
            Err(format!("with {most}: found {seen:?}, not {expected:?}"))
        }
        seen => Ok(seen.is_some()),
    }
}

fn compare_sketch(sketch: &Sketch, scheme: Scheme) -> Result<u32, String> {
    let Ok(subject) = Subject::new("random.sel", &sketch.to_string(), &[]) else { return Ok(0) };
    let mut decided = 0;
    for most in 0..=6 {
        decided += u32::from(compare(subject.program(), scheme, most)?);
    }
    Ok(decided)
}

fn campaign(profile: &Profile, programs: u64) {
    let (mut tried, mut decided) = (0, 0);
    for seed in seeds(programs) {
        tried += 1;
        let sketch = generate(profile, seed);
        for scheme in TOKENS {
            match compare_sketch(&sketch, scheme) {
                Ok(count) => decided += u64::from(count),
                Err(problem) => {
                    let fails = &mut |sketch: &Sketch| compare_sketch(sketch, scheme).is_err();
                    let small = shrink(sketch, fails);
                    let now = compare_sketch(&small, scheme).err().unwrap_or_default();
                    panic!("{} {seed}: {problem}\nsmaller: {now}\n{small}", scheme.name());
                }
            }
        }
    }
    assert!(decided > 5 * tried, "only {decided} comparisons came to an end");
}

/// Small: brute force runs for each bound.
fn small(mut profile: Profile) -> Profile {
    profile.interleavings = 3_000.0;
    profile
}

#[test]
fn memory() {
    campaign(&small(Profile::memory()), 40);
}

#[test]
fn locks() {
    campaign(&small(Profile::locks()), 40);
}

/// Tasks, and steps that no other thread can observe: they take a turn of their own.
#[test]
fn tasks_and_choices() {
    use Construct::*;
    let mut profile = small(Profile::ordinary());
    profile.always = vec![ReadWrite, Assert];
    profile.sometimes = vec![Spawn, Choose, Yield, Branch, Assume];
    campaign(&profile, 40);
}

#[test]
fn waiting() {
    campaign(&small(Profile::waiting()), 40);
}

/// The writes that conflict come last: the least schedule of a class in the order of the threads has
/// more switches than another one.
#[test]
fn the_family_rounds_needs_three_switches() {
    let text = fs::read_to_string(corpus().join("mat/rounds.sel")).unwrap();
    let constants = [("N".to_owned(), 1), ("BUG".to_owned(), 1)];
    let program = selvedge_lang::compile("rounds.sel", &text, &constants).unwrap().program;
    for scheme in TOKENS {
        for most in 0..=5 {
            let found = encoded(&program, scheme, most).unwrap().expect("it comes to an end");
            assert_eq!(found.is_empty(), most < 3, "{} with {most}", scheme.name());
        }
    }
}

/// A task that fails before its first step fails in a step of its own, and so takes a switch; a thread
/// that only chooses takes its turn, too.
#[test]
fn steps_that_touch_nothing_count() {
    let texts = [
        "proc p() { assert false; } thread t { let _h = spawn p(); }",
        "thread t { let _c = choose(0..2); } thread u { let _c = choose(0..2); } finally { assert false; }",
        "shared x = 0; thread t { x = 1; let c = choose(0..2); assert c == 0; } thread u { x = 2; }",
        "shared x = 0; thread t { assert false; } thread u { x = 1; assert x != 1; }",
    ];
    for text in texts {
        let program = selvedge_lang::compile("t.sel", text, &[]).unwrap().program;
        for scheme in TOKENS {
            for most in 0..=3 {
                let decided = compare(&program, scheme, most);
                assert_eq!(decided, Ok(true), "{} with {most}: {text}", scheme.name());
            }
        }
    }
}
