//! Random programs: the symbolic checks find what brute force finds, place by place.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-symbolic --test it random_programs` goes
//! on with new programs for that long, for each profile.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use selvedge_core::{Budget, Verdict, Violation, ViolationKind};
use selvedge_explore::{Algorithm, Limits, Options, Silent};
use selvedge_lang::Interpreter;
use selvedge_symbolic::{Caps, Engine, Scheme, check};
use selvedge_testkit::{Profile, Sketch, Subject, explore, generate, seeds, shrink};

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
fn extremes() {
    campaign(&Profile::extremes(), 60);
}

#[test]
fn bits() {
    campaign(&Profile::bits(), 60);
}

#[test]
fn scans() {
    campaign(&Profile::scans(), 40);
}

#[test]
fn choices() {
    campaign(&Profile::choices(), 30);
}

#[test]
fn spawning() {
    campaign(&Profile::spawning(), 30);
}

/// A violation of one thread, while another stands at an `assume` that is false.
#[test]
fn assumptions() {
    campaign(&Profile::assumptions(), 60);
}

#[test]
fn conditions() {
    campaign(&Profile::conditions(), 30);
}

#[test]
fn several() {
    campaign(&Profile::several(), 30);
}

/// What lies beyond the caps is inconclusive, or does not change the result.
#[test]
fn tiny_caps() {
    let profiles = [
        Profile::memory(),
        Profile::locks(),
        Profile::ordinary(),
        Profile::waiting(),
        Profile::everything(),
        Profile::choices(),
        Profile::spawning(),
    ];
    let counts = profiles.iter().map(|profile| campaign_with(profile, 30, Caps::tiny()));
    let (tried, decided) = counts.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    // Of the checks with three encodings some are small enough, most are not.
    let some = tried / 10..3 * tried / 2;
    assert!(some.contains(&decided), "{decided} of {} were decided", 3 * tried);
}

fn campaign(profile: &Profile, programs: u64) {
    let (tried, decided) = campaign_with(profile, programs, Caps::default());
    assert!(2 * decided > tried, "only {decided} of {tried} checks were decided");
}

/// Compares programs of a profile; returns how many there were, and how often the symbolic check came to a verdict.
fn campaign_with(profile: &Profile, programs: u64, caps: Caps) -> (u64, u64) {
    let (mut tried, mut decided) = (0, 0);
    for seed in seeds(programs) {
        tried += 1;
        let sketch = generate(profile, seed);
        for (scheme, engine) in all_kinds() {
            match compare(&sketch, scheme, engine, caps) {
                Ok(is_decided) => decided += u64::from(is_decided),
                Err(problem) => {
                    let fails =
                        &mut |sketch: &Sketch| compare(sketch, scheme, engine, caps).is_err();
                    let small = shrink(sketch, fails);
                    let now = compare(&small, scheme, engine, caps).err().unwrap_or_default();
                    let (scheme, engine) = (scheme.name(), engine.name());
                    panic!("{scheme} {engine} {seed}: {problem}\nsmaller: {now}\n{small}");
                }
            }
        }
    }
    (tried, decided)
}

/// All encodings with the default solver, and one with every other solver that this build has.
fn all_kinds() -> impl Iterator<Item = (Scheme, Engine)> {
    let usual = Scheme::ALL.map(|scheme| (scheme, Engine::default()));
    let others = Engine::ALL.into_iter().filter(|&engine| engine != Engine::default());
    let others = others.filter(|engine| engine.is_built_in());
    usual.into_iter().chain(others.map(|engine| (Scheme::Order, engine)))
}

/// What is wrong and where. Deadlocks are one violation, whichever threads wait.
type Found = BTreeSet<(ViolationKind, Option<(u32, u32)>)>;

fn found<'a>(violations: impl Iterator<Item = &'a Violation>) -> Found {
    violations
        .map(|violation| match violation.kind {
            ViolationKind::Deadlock => (ViolationKind::Deadlock, None),
            kind => (kind, violation.places.first().map(|place| (place.line, place.column))),
        })
        .collect()
}

/// Whether the symbolic check came to a verdict; `Err` if it is another than that of the explorer.
fn compare(sketch: &Sketch, scheme: Scheme, engine: Engine, caps: Caps) -> Result<bool, String> {
    let text = sketch.to_string();
    let Ok(subject) = Subject::new("random.sel", &text, &[]) else { return Ok(false) };
    let program = subject.program();
    let limits = Limits { executions: Some(20_000), ..Limits::default() };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let make = || Interpreter::new(program.clone());
    let explored = explore(Algorithm::Optimal, &make, &options, &mut Silent);
    if !explored.inconclusive.is_empty() {
        return Ok(false);
    }
    // By work, not by time: the same on every machine.
    let budget = Budget::unlimited().with_work(if scheme == Scheme::Order { 10_000 } else { 20 });
    let options =
        selvedge_symbolic::Options { scheme, engine, keep_going: true, caps, ..Default::default() };
    // A panic is a finding like any other, with the program that shows it.
    let outcome =
        catch_unwind(AssertUnwindSafe(|| check(program, &options, &budget, &|| Duration::ZERO)));
    let outcome = outcome.map_err(|_| "the check panicked".to_owned())?;
    if let Some(mistake) = outcome.mistakes.first() {
        return Err(mistake.clone());
    }
    let expected = found(explored.violations.iter().map(|(violation, _)| violation));
    let seen = found(outcome.report.violations.iter().map(|(violation, _)| violation));
    if !seen.is_subset(&expected) {
        return Err(format!("found {seen:?}, not {expected:?}"));
    }
    let is_decided = outcome.report.inconclusive.is_empty();
    if is_decided && seen != expected {
        return Err(format!("found only {seen:?}, not {expected:?}"));
    }
    if is_decided && expected.is_empty() && outcome.report.verdict() != Verdict::Verified {
        return Err("not verified".to_owned());
    }
    Ok(is_decided)
}
