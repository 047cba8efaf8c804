//! A search by copies of the process finds what one by the process alone finds, whatever happens to the copies.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::num::NonZeroUsize;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Budget, Report};
use selvedge_crew::{Crew, Journal, Pace};
use selvedge_explore::{
    Algorithm, Divisible, Frontier, Ledger, Limits, Options, Part, Silent, put_together, run_unit,
};
use selvedge_lang::{Interpreter, compile};

const PROGRAMS: [(&str, &str); 4] = [
    ("many", "shared x = 0; thread t(i in 0..3) { x = i; x = x + 1; }"),
    (
        "lost update",
        "shared x = 0; thread t(i in 0..3) { let v = x; x = v + 1; } finally { assert x == 3; }",
    ),
    (
        "deadlock",
        "mutex m; mutex n; shared x = 0; thread a { x = 1; lock m; lock n; unlock n; unlock m; }
         thread b { x = 2; lock n; lock m; unlock m; unlock n; } thread c { x = 3; }",
    ),
    ("one", "shared x = 0; thread t { x = 1; }"),
];

const BOTH: [Algorithm; 2] = [Algorithm::Parsimonious, Algorithm::Source];

/// What a test does to copies.
#[derive(Clone, Copy, Default)]
struct Mischief {
    /// Every so many units, a copy dies.
    deaths: Option<u64>,
    /// Every so many units, a copy does not come to an end.
    hangs: Option<u64>,
    /// A process is told when it finds a violation.
    tells: bool,
}

/// The report, how often the process was told something, and how many copies there were.
fn explored(
    algorithm: Algorithm,
    text: &str,
    options: &Options,
    jobs: usize,
    mischief: Mischief,
) -> (Report, u64, usize) {
    let what = Divisible::Exploration(algorithm);
    let program = compile("test.sel", text, &[]).expect("it compiles").program;
    let make = || Interpreter::new(Arc::clone(&program));
    let (here, units, told) = (process::id(), Cell::new(0_u64), Cell::new(0));
    let happens = |every: Option<u64>| every.is_some_and(|every| units.get() % every == 0);
    let run = |unit: &_, go_on: &mut dyn FnMut(u64) -> bool| {
        let parts = run_unit(what, &make, options, unit, &mut |ran| {
            units.set(units.get() + 1);
            if process::id() != here && happens(mischief.deaths) {
                process::abort();
            }
            while process::id() != here && happens(mischief.hangs) {
                std::thread::sleep(Duration::from_millis(10));
            }
            go_on(ran)
        })?;
        let is_violated =
            |part: &Part| matches!(part, Part::Done(tally, _) if !tally.violations.is_empty());
        if mischief.tells && parts.iter().any(is_violated) {
            told.set(told.get() + 1);
        }
        Ok(parts)
    };
    let (mut started, copies) = std::io::pipe().expect("there are pipes");
    let crew = Crew {
        jobs: NonZeroUsize::new(jobs).expect("there is a job"),
        pace: Pace { alone: 0, own: 1, patience: Duration::from_millis(200) },
        run: &run,
        as_copy: &|| _ = (&copies).write_all(b"."),
        told: &|| told.get(),
        is_void: &|| false,
        is_full: &|| false,
        budget: &options.budget,
    };
    let mut ledger = Ledger::new(Frontier::root(), options.keep_going, options.limits.executions);
    let ended = crew.explore(&mut ledger, &mut Journal::default(), &mut Silent);
    let ended = ended.expect("the units are those of the program");
    let divided = put_together(what, &make, options, ledger.frontier().clone(), ended);
    drop(copies);
    let mut all = Vec::new();
    started.read_to_end(&mut all).expect("the pipe can be read");
    (divided.expect("the parts fit together").report, told.get(), all.len())
}

fn alone(algorithm: Algorithm, text: &str, options: &Options) -> Report {
    let program = compile("test.sel", text, &[]).expect("it compiles").program;
    let make = || Interpreter::new(Arc::clone(&program));
    selvedge_testkit::explore(algorithm, &make, options, &mut Silent)
}

#[track_caller]
fn same(name: &str, found: &Report, expected: &Report) {
    assert_eq!(found.counts, expected.counts, "{name}");
    assert_eq!(found.steps, expected.steps, "{name}");
    assert_eq!(found.longest, expected.longest, "{name}");
    assert_eq!(found.violations, expected.violations, "{name}");
    assert_eq!(found.inconclusive, expected.inconclusive, "{name}");
}

fn all(mischief: Mischief) {
    let programs = PROGRAMS.into_iter().flat_map(|it| BOTH.map(|algorithm| (it, algorithm)));
    for ((name, text), algorithm) in programs {
        for keep_going in [false, true] {
            for executions in [None, Some(7)] {
                let limits = Limits { executions, ..Limits::default() };
                let options = Options { keep_going, limits, ..Options::default() };
                let expected = alone(algorithm, text, &options);
                for jobs in 1..=3 {
                    let found = explored(algorithm, text, &options, jobs, mischief).0;
                    same(&format!("{name}, {algorithm:?}, {jobs}"), &found, &expected);
                }
            }
        }
    }
}

#[test]
fn copies_find_what_the_process_finds() {
    all(Mischief::default());
    for jobs in 1..=3 {
        let expected = if jobs == 1 { 0 } else { jobs };
        let (_, _, copies) = explored(
            Algorithm::Parsimonious,
            PROGRAMS[0].1,
            &Options::default(),
            jobs,
            Mischief::default(),
        );
        assert_eq!(copies, expected, "the test tests copies");
    }
}

#[test]
fn copies_that_die_are_replaced() {
    all(Mischief { deaths: Some(3), ..Mischief::default() });
}

#[test]
fn copies_that_do_not_answer_are_replaced() {
    let options = Options { keep_going: true, ..Options::default() };
    let (name, text) = PROGRAMS[2];
    let mischief = Mischief { hangs: Some(9), ..Mischief::default() };
    same(
        name,
        &explored(Algorithm::Parsimonious, text, &options, 2, mischief).0,
        &alone(Algorithm::Parsimonious, text, &options),
    );
}

/// What a copy is told, the process is told.
#[test]
fn the_process_is_told_what_its_copies_are_told() {
    let mischief = Mischief { tells: true, ..Mischief::default() };
    all(mischief);
    let options = Options { keep_going: true, ..Options::default() };
    for (name, text) in &PROGRAMS[1..3] {
        assert!(explored(Algorithm::Parsimonious, text, &options, 2, mischief).1 > 0, "{name}");
    }
}

#[test]
fn a_budget_that_is_spent_ends_it() {
    let budget = Budget::unlimited();
    budget.end(selvedge_core::Spent::Interrupted);
    let options = Options { budget, ..Options::default() };
    let (report, ..) =
        explored(Algorithm::Parsimonious, PROGRAMS[0].1, &options, 2, Mischief::default());
    assert_eq!(report.counts.total(), 0);
    assert_eq!(report.verdict(), selvedge_core::Verdict::Inconclusive);
}
