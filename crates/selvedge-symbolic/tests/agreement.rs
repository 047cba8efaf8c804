//! The same verdicts as the explorers, on all programs of `programs/`.

use std::fs;
use std::time::Duration;

use selvedge_core::{Bound, Inconclusive, Verdict};
use selvedge_symbolic::{Engine, Options, Scheme, check};
use selvedge_testkit::{corpus, programs};

#[test]
fn order_agrees_with_the_explorers() {
    for engine in Engine::ALL.into_iter().filter(|engine| engine.is_built_in()) {
        agrees(Scheme::Order, engine);
    }
}

#[test]
fn token_agrees_with_the_explorers() {
    agrees(Scheme::Token, Engine::default());
}

#[test]
fn mat_agrees_with_the_explorers() {
    agrees(Scheme::Mat, Engine::default());
}

/// What the symbolic checks do not look at or cannot encode.
const UNSUPPORTED: [&str; 4] = ["send ", "receive", "list ", "map "];

fn agrees(scheme: Scheme, engine: Engine) {
    let mut problems = Vec::new();
    let mut late = Vec::new();
    for file in programs() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(corpus()).unwrap().display().to_string();
        let compiled = selvedge_lang::compile(&name, &text, &[]).unwrap();
        // By work, not by time: the same on every machine.
        let mut left = if scheme == Scheme::Order { 100_000 } else { 50 };
        let mut stop = || {
            left -= 1;
            (left == 0).then_some(Bound::Time)
        };
        let options = Options { scheme, engine, keep_going: true, ..Options::default() };
        let outcome = check(&compiled.program, &options, &mut stop, &|| Duration::ZERO);
        let report = &outcome.report;
        let mut kinds: Vec<&str> =
            report.violations.iter().map(|(violation, _)| violation.kind.name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let found = match report.verdict() {
            Verdict::Violated => format!("violated {}", kinds.join(", ")),
            verdict => verdict.to_string(),
        };
        let expected = text.lines().find_map(|line| line.strip_prefix("//# verdict: "));
        let expected = match expected.expect("a program says its verdict") {
            // Data races are not looked for.
            "violated data-race" => "verified",
            expected => expected,
        };
        let unsupported = UNSUPPORTED.iter().any(|word| text.contains(word));
        let is_late = report.inconclusive.contains(&Inconclusive::Bound(Bound::Time));
        if !outcome.mistakes.is_empty() {
            problems.push(format!("{name}: {:?}", outcome.mistakes));
        } else if is_late {
            late.push(name);
        } else if found != expected && !(unsupported && found == "inconclusive") {
            let reasons: Vec<String> =
                report.inconclusive.iter().map(|reason| reason.to_string()).collect();
            problems.push(format!("{name}: {found}, not {expected} {reasons:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // A token makes every interleaving a model of its own: that takes long.
    let most_late = match scheme {
        Scheme::Order => 0,
        Scheme::Mat => 10,
        Scheme::Token => 20,
    };
    assert!(late.len() <= most_late, "too late: {late:?}");
}
