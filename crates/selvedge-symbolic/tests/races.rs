//! Data races: the symbolic checks say that there are some where the explorers do, and find none that they do not find.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-symbolic --test it races` goes on with new programs for
//! that long, for each profile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Budget, Report, Verdict, ViolationKind, replay};
use selvedge_explore::{Algorithm, Limits, Options, Silent, confirm, data_races};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::{Scheme, check};
use selvedge_testkit::{Profile, Sketch, Subject, explore, generate, seeds, shrink};

/// What races in the executions that a report shows: objects with both threads. Each is replayed as for a user.
fn races(program: &Arc<Program>, report: &Report) -> Result<BTreeSet<String>, String> {
    let mut races = BTreeSet::new();
    let make = || Interpreter::new(program.clone());
    for (violation, schedule) in &report.violations {
        if violation.kind != ViolationKind::DataRace {
            continue;
        }
        let confirmed = confirm(&make, violation, schedule);
        confirmed.map_err(|error| format!("{}: {schedule}", error.reason))?;
        let mut system = make();
        let replay = replay(&mut system, schedule).map_err(|error| error.to_string())?;
        for race in data_races(&system, &replay) {
            let (object, threads) = race.message.split_once(": ").expect("an object and threads");
            let threads = threads.split_once(" access").expect("they access it").0;
            let threads: BTreeSet<&str> = threads.split(" and ").collect();
            races.insert(format!("{object}: {threads:?}"));
        }
    }
    Ok(races)
}

/// The rest of what is wrong.
fn others(report: &Report) -> BTreeSet<(ViolationKind, Option<(u32, u32)>)> {
    let violations = report.violations.iter().map(|(violation, _)| violation);
    let violations = violations.filter(|violation| violation.kind != ViolationKind::DataRace);
    violations
        .map(|violation| match violation.kind {
            ViolationKind::Deadlock => (ViolationKind::Deadlock, None),
            kind => (kind, violation.places.first().map(|place| (place.line, place.column))),
        })
        .collect()
}

/// Whether the symbolic check came to a verdict; `Err` if it is another than that of the explorer.
fn compare(program: &Arc<Program>, scheme: Scheme) -> Result<bool, String> {
    let limits = Limits { executions: Some(20_000), ..Limits::default() };
    let options = Options { keep_going: true, data_races: true, limits, ..Options::default() };
    let make = || Interpreter::new(program.clone());
    let explored = explore(Algorithm::Optimal, &make, &options, &mut Silent);
    if !explored.inconclusive.is_empty() {
        return Ok(false);
    }
    // By work, not by time: the same on every machine.
    let budget = Budget::unlimited().with_work(if scheme == Scheme::Order { 10_000 } else { 60 });
    let options = selvedge_symbolic::Options {
        scheme,
        data_races: true,
        keep_going: true,
        ..Default::default()
    };
    let outcome = check(program, &options, &budget, &|| Duration::ZERO);
    if let Some(mistake) = outcome.mistakes.first() {
        return Err(mistake.clone());
    }
    let (expected, seen) = (races(program, &explored)?, races(program, &outcome.report)?);
    if !seen.is_subset(&expected) {
        return Err(format!("found {seen:?}, not {expected:?}"));
    }
    let is_decided = outcome.report.inconclusive.is_empty();
    if is_decided && seen.is_empty() != expected.is_empty() {
        return Err(format!("found no data race, not {expected:?}"));
    }
    let (expected, seen) = (others(&explored), others(&outcome.report));
    if !seen.is_subset(&expected) || is_decided && seen != expected {
        return Err(format!("found {seen:?}, not {expected:?}"));
    }
    Ok(is_decided)
}

fn compare_sketch(sketch: &Sketch, scheme: Scheme) -> Result<bool, String> {
    let Ok(subject) = Subject::new("random.sel", &sketch.to_string(), &[]) else {
        return Ok(false);
    };
    compare(subject.program(), scheme)
}

fn campaign(profile: &Profile, programs: u64) {
    let (mut tried, mut decided) = (0, 0);
    for seed in seeds(programs) {
        tried += 1;
        let sketch = generate(profile, seed);
        for scheme in Scheme::ALL {
            match compare_sketch(&sketch, scheme) {
                Ok(is_decided) => decided += u64::from(is_decided),
                Err(problem) => {
                    let fails = &mut |sketch: &Sketch| compare_sketch(sketch, scheme).is_err();
                    let small = shrink(sketch, fails);
                    let now = compare_sketch(&small, scheme).err().unwrap_or_default();
                    panic!("{} {seed}: {problem}\nsmaller: {now}\n{small}", scheme.name());
                }
            }
        }
    }
    assert!(2 * decided > tried, "only {decided} of {tried} checks were decided");
}

#[test]
fn memory() {
    campaign(&Profile::memory(), 60);
}

#[test]
fn locks() {
    campaign(&Profile::locks(), 60);
}

#[test]
fn ordinary() {
    campaign(&Profile::ordinary(), 60);
}

#[test]
fn waiting() {
    campaign(&Profile::waiting(), 60);
}

#[test]
fn everything() {
    campaign(&Profile::everything(), 60);
}

#[test]
fn choices() {
    campaign(&Profile::choices(), 30);
}

#[test]
fn spawning() {
    campaign(&Profile::spawning(), 30);
}

#[test]
fn conditions() {
    campaign(&Profile::conditions(), 30);
}

fn compiled(text: &str) -> Arc<Program> {
    selvedge_lang::compile("t.sel", text, &[]).unwrap().program
}

fn verdict(text: &str, scheme: Scheme) -> (Verdict, bool) {
    let options = selvedge_symbolic::Options { scheme, data_races: true, ..Default::default() };
    let budget = Budget::unlimited();
    let outcome = check(&compiled(text), &options, &budget, &|| Duration::ZERO);
    assert!(outcome.mistakes.is_empty(), "{:?}", outcome.mistakes);
    let is_race = |kind| kind == ViolationKind::DataRace;
    let violations = &outcome.report.violations;
    (outcome.report.verdict(), violations.iter().any(|(violation, _)| is_race(violation.kind)))
}

/// What orders two accesses, and what does not.
#[test]
fn what_orders_accesses() {
    let racing = [
        "shared x = 0; thread t { x = 1; } thread u { x = 2; }",
        "shared x = 0; thread t { x = 1; } thread u { let _v = x; }",
        "shared x = 0; thread t { x = 1; } thread u { let _v = fetch_add(x, 1); }",
        "shared x = 0; thread t { let _v = x; } thread u { let _v = fetch_add(x, 1); }",
        "shared x = 0; thread t { x = 1; } thread u { atomic { x = 2; } }",
        "shared x = 0; thread t { let _v = x; } thread u { let _v = compare_exchange(x, 0, 1); }",
        // Only the second lock is the same.
        "shared x = 0; mutex a; mutex b; thread t { lock a { x = 1; } } thread u { lock b { x = 2; } }",
        // It is not evaluated, and may decide whether the step waits.
        "shared x = 0; shared atomic f = 0; thread t { await f + f != 1 || x == 0; } thread u { x = 2; }",
        // In one of the elements.
        "shared x[2] = 0; thread t { let i = choose(0..2); x[i] = 1; } thread u { x[1] = 2; }",
        // Behind a branch that one interleaving takes.
        "shared x = 0; shared atomic f = 0; thread t { f = 1; x = 1; } thread u { if f == 1 { x = 2; } }",
        // The accesses are the last steps, and the first of a created thread.
        "shared x = 0; proc p() { x = 1; } thread t { let _h = spawn p(); x = 2; }",
    ];
    let ordered = [
        "shared x = 0; thread t { let _v = x; } thread u { let _v = x; }",
        "shared x = 0; thread t { let _v = fetch_add(x, 1); } thread u { let _v = fetch_add(x, 1); }",
        "shared x = 0; thread t { let _v = x; } thread u { let _v = compare_exchange(x, 1, 2); }",
        "shared x = 0; mutex a; thread t { lock a { x = 1; } } thread u { lock a { x = 2; } }",
        "shared x[2] = 0; thread t { x[0] = 1; } thread u { x[1] = 2; }",
        "shared x = 0; shared atomic f = 0; thread t { x = 1; f = 1; } thread u { if f == 1 { x = 2; } }",
        "shared x = 0; shared atomic f = 0; thread t { x = 1; f = 1; } thread u { await f == 1; x = 2; }",
        "shared x = 0; proc p() { x = 1; } thread t { let h = spawn p(); join h; x = 2; }",
        "shared atomic x = 0; thread t { x = 1; } thread u { x = 2; }",
        "shared x = 0; thread t { atomic { x = 1; } } thread u { atomic { x = 2; } }",
    ];
    for scheme in Scheme::ALL {
        for text in racing {
            assert_eq!(
                verdict(text, scheme),
                (Verdict::Violated, true),
                "{}: {text}",
                scheme.name()
            );
            assert_eq!(compare(&compiled(text), scheme), Ok(true), "{}: {text}", scheme.name());
        }
        for text in ordered {
            let (verdict, is_race) = verdict(text, scheme);
            assert!(!is_race && verdict != Verdict::Violated, "{}: {text}", scheme.name());
            // A compare-exchange that fails leaves it open.
            let is_open = text.contains("compare_exchange");
            assert_eq!(verdict == Verdict::Inconclusive, is_open, "{}: {text}", scheme.name());
        }
    }
}

/// A flag that orders nothing: the accesses race, and are never next to each other.
#[test]
fn weak_orders_are_not_decided() {
    let text = "shared x = 0; shared atomic f = 0;
        thread t { x = 1; store(f, 1, relaxed); }
        thread u { let v = load(f, relaxed); if v == 1 { x = 2; } }";
    for scheme in Scheme::ALL {
        assert_eq!(verdict(text, scheme), (Verdict::Inconclusive, false), "{}", scheme.name());
    }
}
