//! What tests share: how to get all results of a program, and programs.
#![allow(unreachable_pub, reason = "benchmarks include a part of it")]

pub mod model;
pub mod programs;
pub mod raw;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::rc::Rc;

pub use programs::*;
pub use selvedge as library;
use selvedge::{Builder, Outcome, Verdict};

/// Checks `f`, which must hold, and returns all its results with the number of executions.
pub fn outcomes<T: Ord + Debug + 'static>(f: impl Fn() -> T + 'static) -> (BTreeSet<T>, u64) {
    outcomes_with(&Builder::new(), f)
}

pub fn outcomes_with<T: Ord + Debug + 'static>(
    builder: &Builder,
    f: impl Fn() -> T + 'static,
) -> (BTreeSet<T>, u64) {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&all);
    let outcome = builder.explore(move || {
        let result = f();
        seen.borrow_mut().insert(result);
    });
    let found = std::mem::take(&mut *all.borrow_mut());
    (found, executions_of(&outcome))
}

/// How many executions a check of a program that holds had.
fn executions_of(outcome: &Outcome) -> u64 {
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert_eq!(outcome.report().counts.redundant, 0, "optimal wastes nothing");
    outcome.executions()
}

/// How many executions `f`, which must hold, has.
pub fn executions(f: impl Fn() + 'static) -> u64 {
    outcomes(f).1
}
