//! The same verdicts as the explorers, on the programs of `programs/`, with every encoding: on all of them in a campaign, on one in
//! seven in `cargo test`.
//!
//! The header of a program says what the explorers find (`selvedge-testkit/tests/golden.rs` sees to
//! that). Where an encoding would take too long, constants are smaller, and an explorer runs here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Bound, Budget, Inconclusive, Report, Verdict};
use selvedge_explore::{Algorithm, Silent};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::solver::LOOK;
use selvedge_symbolic::{Engine, Options, Scheme, check};
use selvedge_testkit::{corpus, explore, is_campaign, listed, programs, text_of};

#[test]
fn order_agrees_with_the_explorers() {
    for engine in Engine::ALL.into_iter().filter(|engine| engine.is_built_in()) {
        agrees(Scheme::Order, engine, |_, name| !is_of_the_textbook(name));
    }
}

/// As part of a campaign: that takes a while.
#[test]
fn order_agrees_with_the_explorers_on_the_textbook() {
    if is_campaign() {
        agrees(Scheme::Order, Engine::default(), |_, name| is_of_the_textbook(name));
    }
}

/// Most of these are too large for the encodings with a token.
fn is_of_the_textbook(name: &str) -> bool {
    name.starts_with("textbook/")
}

/// In two halves, which run side by side: nothing here takes longer.
#[test]
fn token_agrees_with_the_explorers() {
    agrees(Scheme::Token, Engine::default(), |number, name| {
        number % 2 == 0 && !is_of_the_textbook(name)
    });
}

#[test]
fn token_agrees_with_the_explorers_on_the_others() {
    agrees(Scheme::Token, Engine::default(), |number, name| {
        number % 2 == 1 && !is_of_the_textbook(name)
    });
}

#[test]
fn mat_agrees_with_the_explorers() {
    agrees(Scheme::Mat, Engine::default(), |_, name| !is_of_the_textbook(name));
}

/// Programs that come to something that has no encoding, and why.
const WITHOUT_ENCODING: [(&str, &str); 63] = [
    ("actors/await.sel", "futures"),
    ("actors/fib-futures.sel", "futures"),
    ("bugs/check-then-act.sel", "lists and maps"),
    ("bugs/message-order.sel", "messages"),
    ("features/always.sel", "`always`"),
    ("features/channels.sel", "channels"),
    ("features/lists-and-maps.sel", "lists and maps"),
    ("message-passing/monitor.sel", "messages"),
    ("message-passing/ping-pong.sel", "messages"),
    ("message-passing/ring-election.sel", "messages"),
    ("message-passing/selective-receive.sel", "messages"),
    ("message-passing/senders.sel", "messages"),
    ("message-passing/server.sel", "messages"),
    ("message-passing/supervisor.sel", "messages"),
    ("message-passing/timeout.sel", "messages"),
    ("regressions/alternative-that-ends-later.sel", "messages"),
    ("regressions/assume-or-end.sel", "messages"),
    ("regressions/atomic-on-a-list.sel", "lists and maps"),
    ("regressions/block-after-an-end.sel", "messages"),
    ("regressions/choice-that-ends.sel", "messages"),
    ("regressions/compare-exchange-ends.sel", "messages"),
    ("regressions/ends-or-not.sel", "messages"),
    ("regressions/fault-before-await.sel", "messages"),
    ("regressions/invariant-ends-a-thread.sel", "`always`"),
    ("regressions/last-sends.sel", "messages"),
    ("regressions/last-step-seen.sel", "messages"),
    ("regressions/lock-that-ends.sel", "messages"),
    ("regressions/send-before-await.sel", "messages"),
    ("regressions/send-in-atomic.sel", "messages"),
    ("regressions/send-to-a-task.sel", "messages"),
    ("regressions/pop-that-may-fail.sel", "no symbolic encoding"),
    ("regressions/sequence-without-its-rest.sel", "messages"),
    ("regressions/sends-and-compare-exchange.sel", "messages"),
    ("regressions/task-without-steps.sel", "messages"),
    ("regressions/try-lock-ends.sel", "messages"),
    ("states/retransmission.sel", "channels"),
    ("textbook/distributed/alternating-bit.sel", "messages"),
    ("textbook/distributed/causal-broadcast.sel", "messages"),
    ("textbook/distributed/chandy-lamport.sel", "messages"),
    ("textbook/distributed/lamport-mutex.sel", "messages"),
    ("textbook/distributed/leader-election.sel", "messages"),
    ("textbook/distributed/paxos.sel", "messages"),
    ("textbook/distributed/raft-election.sel", "messages"),
    ("textbook/distributed/ricart-agrawala.sel", "messages"),
    ("textbook/distributed/sliding-window.sel", "messages"),
    ("textbook/distributed/termination-detection.sel", "messages"),
    ("textbook/distributed/token-ring.sel", "messages"),
    ("textbook/distributed/two-phase-commit.sel", "messages"),
    ("textbook/semaphores/producer-consumer.sel", "lists and maps"),
    ("textbook/semaphores/fifo-barbershop.sel", "lists and maps"),
    ("textbook/semaphores/hilzers-barbershop.sel", "lists and maps"),
    ("textbook/semaphores/multiplex.sel", "`always`"),
    ("textbook/semaphores/sushi-bar.sel", "`always`"),
    ("textbook/semaphores/santa-claus.sel", "`always`"),
    ("textbook/semaphores/child-care.sel", "`always`"),
    ("features/ghosts.sel", "ghost variables"),
    ("features/imports.sel", "ghost variables"),
    ("regressions/ghost-before-await.sel", "ghost variables"),
    ("textbook/distributed/reliable-broadcast.sel", "messages"),
    ("textbook/multiprocessor/ticket-lock.sel", "ghost variables"),
    ("textbook/semaphores/finite-buffer-counts.sel", "`always`"),
    ("textbook/semaphores/lightswitch.sel", "`always`"),
    ("textbook/semaphores/preloaded-barrier.sel", "ghost variables"),
];

type Constants = &'static [(&'static str, i64)];

/// Seven readers of one lock, for caps of the explorers: no formula of that size is solved here. Smaller programs of the
/// same kind are `many-readers.sel` and `after-these-readers.sel`. Then programs for a search of states, whose loops have no bound or
/// whose executions are too many.
const TOO_LARGE: [&str; 10] = [
    "regressions/readers-around-a-write.sel",
    "regressions/readers-one-writes-too.sel",
    "states/barrier-in-rounds.sel",
    "states/philosophers.sel",
    "states/test-and-test-and-set.sel",
    "textbook/multiprocessor/bakery.sel",
    "textbook/multiprocessor/filter-lock.sel",
    "textbook/multiprocessor/peterson.sel",
    "textbook/multiprocessor/ttas-lock.sel",
    "textbook/semaphores/water.sel",
];

/// These are made smaller for every encoding.
const SMALLER_FOR_ALL: [(&str, Constants); 2] = [
    ("actors/quicksort.sel", &[("N", 2)]),
    ("regressions/after-these-readers.sel", &[("N", 3), ("M", 6)]),
];
/// With a token every interleaving is a model of its own: these programs are made smaller.
const SMALLER_FOR_TOKEN: [(&str, Constants); 9] = [
    ("actors/database.sel", &[("N", 1)]),
    ("actors/fib.sel", &[("N", 2), ("NODES", 4)]),
    ("actors/registration.sel", &[("N", 1)]),
    ("constrained/fib.sel", &[("N", 3), ("NODES", 4)]),
    ("constrained/pi.sel", &[("N", 3)]),
    ("lock-free/treiber-stack.sel", &[("NODES", 1)]),
    ("quasi-optimal/dispatcher.sel", &[("S", 1), ("R", 1)]),
    ("quasi-optimal/mpc.sel", &[("TIMES", 1)]),
    ("quasi-optimal/poke.sel", &[("T", 1)]),
];
/// These for `mat` too: they have many variables, each of which the token carries.
const SMALLER_FOR_BOTH: [(&str, Constants); 6] = [
    ("actors/mergesort.sel", &[("N", 3)]),
    ("constrained/mergesort.sel", &[("N", 3)]),
    ("constrained/quicksort.sel", &[("N", 3)]),
    ("mutual-exclusion/filter-scan.sel", &[("N", 2)]),
    ("optimal-dpor/filesystem.sel", &[("N", 3), ("INODES", 1), ("BLOCKS", 1)]),
    ("optimal-dpor/indexer.sel", &[("N", 2), ("SIZE", 4), ("MESSAGES", 2)]),
];

fn smaller(scheme: Scheme, name: &str) -> Constants {
    let tables: &[&[(&str, Constants)]] = match scheme {
        Scheme::Order => &[&SMALLER_FOR_ALL],
        Scheme::Mat => &[&SMALLER_FOR_ALL, &SMALLER_FOR_BOTH],
        Scheme::Token => &[&SMALLER_FOR_ALL, &SMALLER_FOR_BOTH, &SMALLER_FOR_TOKEN],
    };
    let mut entries = tables.iter().copied().flatten();
    entries.find(|(program, _)| *program == name).map_or(&[], |&(_, constants)| constants)
}

/// Compares on the programs with these numbers and names.
fn agrees(scheme: Scheme, engine: Engine, is_chosen: fn(usize, &str) -> bool) {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let programs = programs();
    let looked_at: BTreeSet<usize> = listed(programs.len()).collect();
    for (number, file) in programs.into_iter().enumerate() {
        let text = text_of(&file);
        let name = file.strip_prefix(corpus()).unwrap().display().to_string();
        let constants = smaller(scheme, &name);
        let is_looked_at = looked_at.contains(&number) && is_chosen(number, &name);
        if !is_looked_at || TOO_LARGE.contains(&name.as_str()) {
            seen.insert(name);
            continue;
        }
        if let Err(problem) = compare(&name, &text, constants, scheme, engine) {
            problems.push(format!("{name} {constants:?}: {problem}"));
        }
        seen.insert(name);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let smaller = SMALLER_FOR_TOKEN.iter().chain(&SMALLER_FOR_BOTH).chain(&SMALLER_FOR_ALL);
    let names = smaller.map(|&(name, _)| name).chain(TOO_LARGE);
    for name in names.chain(WITHOUT_ENCODING.map(|(name, _)| name)) {
        assert!(seen.contains(name), "{name} is in a table, but not in `programs/`");
    }
}

fn compare(
    name: &str,
    text: &str,
    constants: Constants,
    scheme: Scheme,
    engine: Engine,
) -> Result<(), String> {
    let given: Vec<(String, i64)> =
        constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let compiled = selvedge_lang::compile(name, text, &given).unwrap();
    let expected = match constants {
        [] => header(text),
        _ => explored(&compiled.program)?,
    };
    // By work, not by time: the same on every machine.
    let budget = Budget::unlimited().with_work(100_000 * LOOK);
    let options = Options { scheme, engine, keep_going: true, ..Options::default() };
    let outcome = check(&compiled.program, &options, &budget, &|| Duration::ZERO);
    if !outcome.mistakes.is_empty() {
        return Err(format!("{:?}", outcome.mistakes));
    }
    let report = &outcome.report;
    if report.inconclusive.contains(&Inconclusive::Bound(Bound::Work)) {
        return Err("it takes too long; make it smaller, in a table of this test".to_owned());
    }
    let reasons: Vec<String> = report.inconclusive.iter().map(ToString::to_string).collect();
    if let Some((_, why)) = WITHOUT_ENCODING.iter().find(|(program, _)| *program == name) {
        let is_why = report.verdict() == Verdict::Inconclusive
            && reasons.iter().all(|reason| reason.contains(why));
        return if is_why { Ok(()) } else { Err(format!("not for {why}: {reasons:?}")) };
    }
    let found = summary(report);
    if found != expected {
        return Err(format!("{found}, not {expected} {reasons:?}"));
    }
    Ok(())
}

/// What the header of a program says about it with its own constants.
fn header(text: &str) -> String {
    let verdict = text.lines().find_map(|line| line.strip_prefix("//# verdict: "));
    match verdict.expect("a program says its verdict") {
        // Data races are not looked for.
        "violated data-race" => "verified".to_owned(),
        verdict => verdict.to_owned(),
    }
}

fn explored(program: &Arc<Program>) -> Result<String, String> {
    let options = selvedge_explore::Options { keep_going: true, ..Default::default() };
    let make = || Interpreter::new(program.clone());
    let report = explore(Algorithm::Optimal, &make, &options, &mut Silent);
    match report.inconclusive.is_empty() {
        true => Ok(summary(&report)),
        false => Err(format!("the explorer gives up: {:?}", report.inconclusive)),
    }
}

/// The verdict, and all kinds of violations.
fn summary(report: &Report) -> String {
    let violations = report.violations.iter().map(|(violation, _)| violation.kind.name());
    let kinds: BTreeSet<&str> = violations.collect();
    match report.verdict() {
        Verdict::Violated => {
            format!("violated {}", kinds.into_iter().collect::<Vec<_>>().join(", "))
        }
        verdict => verdict.to_string(),
    }
}
