//! Programs of atomic blocks, explored with synthesised constraints: the final states, failing steps and
//! deadlocks are those that a search of the state graph finds, and no constraint is refuted.
//!
//! Constraints for every state do not depend on the values at the start, nor on who runs which block: they are looked for
//! once for a set of blocks, of which many programs are made. Constraints for the values that a program can have are
//! those of one program; some have their own. `SELVEDGE_FUZZ_SECONDS=100` makes each test a
//! campaign of that length, `SELVEDGE_FUZZ_SEED` lets it begin elsewhere.

use std::sync::Arc;

use crate::random_tasks::{Kind, Tasks};
use selvedge_core::Budget;
use selvedge_explore::{Algorithm, Limits, Options};
use selvedge_lang::ir::Program;
use selvedge_lang::{Additions, Interpreter, compile, compile_with, render};
use selvedge_symbolic::constraints::{Synthesis, pairs, synthesise};
use selvedge_symbolic::{Caps, Values};
use selvedge_testkit::{Outcomes, Random, explore, is_campaign, search_states, seeds};

/// Larger programs are left out.
const MOST_STATES: usize = 1_000;
/// So much work a pair of blocks is worth.
const MOST_WORK: u64 = 1_000;
/// Programs with more executions are left out.
const MOST_EXECUTIONS: u64 = 2_000;
/// How many programs are made of one set of blocks, and how many in a campaign.
const PROGRAMS: [usize; 2] = [25, 100];

/// What came out of many programs.
#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    compared: usize,
    /// Programs with constraints of their own, and how many of them have others than the set has.
    own: usize,
    other: usize,
    constraints: usize,
    /// Executions without constraints, and with them.
    without: u64,
    with: u64,
}

#[test]
fn arithmetic() {
    campaign("arithmetic", Kind::Arithmetic, 6);
}

#[test]
fn arrays() {
    campaign("arrays", Kind::Arrays, 6);
}

#[test]
fn spawned_tasks() {
    campaign("spawned_tasks", Kind::Spawning, 6);
}

#[test]
fn assertions() {
    campaign("assertions", Kind::Asserting, 6);
}

#[test]
fn awaits() {
    campaign("awaits", Kind::Waiting, 6);
}

#[test]
fn lists_and_maps() {
    campaign("lists_and_maps", Kind::Containers, 6);
}

#[test]
fn blocks_with_local_variables() {
    campaign("blocks_with_local_variables", Kind::Blocks, 9);
}

#[test]
fn many_threads_that_count() {
    campaign("many_threads_that_count", Kind::Counting, 12);
}

#[allow(clippy::print_stderr, reason = "a campaign tells what it did")]
fn campaign(name: &str, kind: Kind, sets: u64) {
    let mut tally = Tally::default();
    for seed in seeds(sets) {
        try_set(kind, seed, PROGRAMS[usize::from(is_campaign())], &mut tally);
    }
    if is_campaign() {
        eprintln!("{name}: {tally:?}");
    }
    // The test would be worth little if most were left out, or if constraints saved nothing.
    assert!(10 * tally.compared > 6 * tally.programs, "{tally:?}");
    assert!(!is_campaign() || tally.with < tally.without, "{tally:?}");
}

/// Looks for the constraints of a set of blocks and explores programs made of them.
fn try_set(kind: Kind, seed: u64, programs: usize, tally: &mut Tally) {
    let mut random = Random::new(seed);
    let tasks = Tasks::new(kind, &mut random);
    let program = compiled(&tasks.program(&mut random), "");
    // Every third set as if the search for constraints had been cut short.
    let caps = if seed % 3 == 2 { Caps::tiny() } else { Caps::default() };
    let is_wide = kind == Kind::Counting;
    let declarations = match is_wide {
        true => String::new(),
        false => declarations(&program, &Values::unknown(), &caps),
    };
    tally.constraints += declarations.lines().count();
    for number in 0..programs / if is_wide { 10 } else { 1 } {
        let text = tasks.program(&mut random);
        tally.programs += 1;
        if is_wide || number % 10 == 0 {
            let program = compiled(&text, "");
            let own = self::declarations(&program, &Values::of(&program, &caps), &caps);
            tally.own += 1;
            tally.other += usize::from(own != declarations);
            tally.compared += usize::from(compare(&text, &own, seed, tally));
        } else {
            tally.compared += usize::from(compare(&text, &declarations, seed, tally));
        }
    }
}

/// All constraints that are found for these values.
fn declarations(program: &Program, values: &Values, caps: &Caps) -> String {
    // By work, not by time: the same on every machine.
    let all = Budget::unlimited().with_work(10 * MOST_WORK);
    let found = pairs(program)
        .into_iter()
        .map(|pair| synthesise(program, pair, values, caps, &all.with_work(MOST_WORK)));
    found.map(|found: Synthesis| found.declarations()).collect()
}

/// The program with constraints, as if they came from a file.
fn compiled(text: &str, declarations: &str) -> Arc<Program> {
    let additions = Additions { name: "found", text: declarations };
    match compile_with("random.sel", text, &[], Some(additions)) {
        Ok(compiled) => compiled.program,
        Err(rejected) => {
            let found = render(&rejected.additions, "found", declarations, false);
            panic!("{}{found}\n{text}", render(&rejected.program, "random.sel", text, false))
        }
    }
}

/// Explores a program with its constraints; `false` if it is too large.
fn compare(text: &str, declarations: &str, seed: u64, tally: &mut Tally) -> bool {
    // Every second program has them in its own text.
    let program = match tally.programs.is_multiple_of(2) {
        true => compiled(text, declarations),
        false => match compile("random.sel", &format!("{text}{declarations}"), &[]) {
            Ok(compiled) => compiled.program,
            Err(errors) => panic!("{}", render(&errors, "random.sel", text, false)),
        },
    };
    let make = || Interpreter::new(program.clone());
    let Some(expected) = search_states(&mut make(), MOST_STATES) else { return false };
    let limits = Limits { executions: Some(MOST_EXECUTIONS), ..Limits::default() };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let bare = compiled(text, "");
    let bare = || Interpreter::new(bare.clone());
    let mut found = Outcomes::default();
    let report = explore(Algorithm::Constrained, &bare, &options, &mut found);
    if !report.inconclusive.is_empty() {
        return false;
    }
    tally.without += report.counts.total();
    for check_constraints in [false, true] {
        let options = Options { check_constraints, keep_going: true, ..Options::default() };
        let mut found = Outcomes::default();
        let report = explore(Algorithm::Constrained, &make, &options, &mut found);
        let found = found.with(&report);
        let context = || format!("seed {seed}, checked: {check_constraints}\n{text}{declarations}");
        assert_eq!(found.violations, expected.violations, "{}", context());
        for state in &expected.states {
            assert!(found.states.contains(state), "{state:?} is missed: {}", context());
        }
        assert_eq!(found.states.len(), expected.states.len(), "{}", context());
        if !check_constraints {
            tally.with += report.counts.total();
        }
    }
    true
}
