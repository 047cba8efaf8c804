//! Replicated threads that are alike stand for each other, and those that are not alike do not.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-symbolic --test it symmetry` goes on with new programs
//! for that long.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Budget, Report, ViolationKind};
use selvedge_explore::{Algorithm, Limits, Options, Silent};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::{Scheme, check};
use selvedge_testkit::{Random, explore, seeds};

/// What is wrong and where.
fn found(report: &Report) -> BTreeSet<(ViolationKind, Option<(u32, u32)>)> {
    let violations = report.violations.iter().map(|(violation, _)| violation);
    violations
        .map(|violation| match violation.kind {
            ViolationKind::Deadlock => (ViolationKind::Deadlock, None),
            kind => (kind, violation.places.first().map(|place| (place.line, place.column))),
        })
        .collect()
}

/// Two or three replicas, and perhaps another thread. What they do is random; some look at their number.
fn random_program(random: &mut Random) -> String {
    let mut text =
        "shared x = 0; shared y = 0; mutex m; mutex n; semaphore s = 1; rwlock l;\n".to_owned();
    let replicas = 2 + random.below(2);
    let uses_number = random.below(3) == 0;
    text.push_str(&format!("thread t(i in 0..{replicas}) {{ let r = 0;\n"));
    for _ in 0..1 + random.below(if replicas == 2 { 4 } else { 3 }) {
        statement(random, uses_number, 2, &mut text);
    }
    text.push_str("}\n");
    if random.below(2) == 0 {
        text.push_str("thread u { let r = 0;\n");
        for _ in 0..1 + random.below(2) {
            statement(random, false, 1, &mut text);
        }
        text.push_str("}\n");
    }
    let (x, y) = (random.below(4), random.below(4));
    text.push_str(&format!("finally {{ assert x != {x}; assert y < {y} || x == 0; }}\n"));
    text
}

fn statement(random: &mut Random, uses_number: bool, depth: usize, text: &mut String) {
    let variable = ["x", "y"][random.below(2)];
    let number = if uses_number { "i" } else { "1" };
    let block = [("lock m", 0), ("lock n", 0), ("write_lock l", 0), ("read_lock l", 0)];
    match random.below(12) {
        0 | 1 => text.push_str(&format!("r = {variable};\n")),
        2 => text.push_str(&format!("{variable} = {number};\n")),
        3 => text.push_str(&format!("{variable} = r + 1;\n")),
        4 => text.push_str(&format!("r = fetch_add({variable}, 1);\n")),
        5 => text.push_str(&format!("assert r != {};\n", random.below(3))),
        6 if depth > 0 => text.push_str("down(s); x += 1; up(s);\n"),
        7 => text.push_str(&format!("await {variable} <= {};\n", random.below(3))),
        8 | 9 if depth > 0 => {
            text.push_str(&format!("{} {{\n", block[random.below(block.len())].0));
            statement(random, uses_number, depth - 1, text);
            text.push_str("}\n");
        }
        10 if depth > 0 => {
            text.push_str(&format!("if r == {} {{\n", random.below(2)));
            statement(random, uses_number, depth - 1, text);
            text.push_str("}\n");
        }
        _ => text.push_str(&format!("{variable} += {number};\n")),
    }
}

/// Whether both came to an end; `Err` if they found something else.
fn compare(text: &str) -> Result<bool, String> {
    let program: Arc<Program> = match selvedge_lang::compile("random.sel", text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    };
    let limits = Limits { executions: Some(20_000), ..Limits::default() };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let make = || Interpreter::new(program.clone());
    let explored = explore(Algorithm::Optimal, &make, &options, &mut Silent);
    if !explored.inconclusive.is_empty() {
        return Ok(false);
    }
    let budget = Budget::unlimited().with_work(10_000);
    let options = selvedge_symbolic::Options {
        scheme: Scheme::Order,
        keep_going: true,
        ..Default::default()
    };
    let outcome = check(&program, &options, &budget, &|| Duration::ZERO);
    if let Some(mistake) = outcome.mistakes.first() {
        return Err(mistake.clone());
    }
    if !outcome.report.inconclusive.is_empty() {
        return Ok(false);
    }
    let (expected, seen) = (found(&explored), found(&outcome.report));
    if seen != expected {
        return Err(format!("found {seen:?}, not {expected:?}"));
    }
    Ok(true)
}

#[test]
fn random_replicas() {
    let (mut tried, mut decided) = (0, 0);
    for seed in seeds(400) {
        tried += 1;
        let text = random_program(&mut Random::new(seed));
        match compare(&text) {
            Ok(is_decided) => decided += u64::from(is_decided),
            Err(problem) => panic!("{seed}: {problem}\n{text}"),
        }
    }
    assert!(4 * decided > 3 * tried, "only {decided} of {tried} were decided");
}

/// Threads that differ, in what is written first, or that are not all there.
#[test]
fn what_tells_threads_apart() {
    let texts = [
        // The last one wins, and it can be any.
        "shared x = 0; mutex m; thread t(i in 0..3) { lock m { x = i; } } finally { assert x != 0; }",
        "shared x = 0; mutex m; thread t(i in 0..3) { lock m { x = i; } } finally { assert x != 2; }",
        // One of them never locks.
        "shared x = 0; mutex m; thread t(i in 0..2) { let old = fetch_add(x, 1); if old == 0 { lock m { x += 1; } } x += 1; }
            finally { assert x != 5; assert x != 4; }",
        // One of them waits forever, with the lock.
        "shared x = 0; mutex m; thread t(i in 0..3) { lock m { x += 1; await x < 2; } }",
        // The steps before the first lock come in any order.
        "shared x = 0; shared y = 0; mutex m; thread t(i in 0..2) { let v = fetch_add(y, 1); lock m { x = 10 * x + v; } }
            finally { assert x != 1; assert x != 10; }",
        // Somebody else comes in between.
        "shared x = 0; mutex m; thread t(i in 0..2) { lock m { x += 1; } } thread u { lock m { x = 2 * x; } }
            finally { assert x != 2; assert x != 3; assert x != 4; }",
    ];
    for text in texts {
        assert_eq!(compare(text), Ok(true), "{text}");
    }
}

/// Threads that lock one after the other: the order is decided before the search begins.
#[test]
fn many_threads_on_one_lock() {
    let text = "shared x = 0; mutex m; thread t(i in 0..12) { lock m { x = x + 1; } } finally { assert x == 12; }";
    let program = selvedge_lang::compile("t.sel", text, &[]).unwrap().program;
    let budget = Budget::unlimited().with_work(100_000);
    let options = selvedge_symbolic::Options::default();
    let outcome = check(&program, &options, &budget, &|| Duration::ZERO);
    assert_eq!(outcome.report.verdict(), selvedge_core::Verdict::Verified);
}
