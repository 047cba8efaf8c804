//! Comparison with a specification: the same program as a model in the language `.sel`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use selvedge::{Algorithm, Builder, ViolationKind, thread};
use selvedge_explore::{Observer, Options};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::explore;

/// What can come out of a program.
#[derive(PartialEq, Eq, Debug)]
pub struct Results {
    pub values: BTreeSet<Vec<usize>>,
    /// Whether its threads can deadlock.
    pub deadlock: bool,
}

/// Code that returns its results; behind a pointer, so that the comparison is compiled once.
type Code = Rc<dyn Fn() -> Vec<usize>>;

struct Unobserved;

impl Observer for Unobserved {}

/// A model with shared variables `r0`, `r1` … for its results, and an end that tells their values: each
/// combination of values below `below` is a violation of its own.
fn with_results(model: &str, count: usize, below: usize) -> String {
    fn tell(text: &mut String, known: &[usize], count: usize, below: usize) {
        if known.len() == count {
            let values: Vec<_> = known.iter().map(usize::to_string).collect();
            text.push_str(&format!("assert false, \"{}\";", values.join(" ")));
            return;
        }
        for value in 0..below {
            text.push_str(&format!("if r{} == {value} {{ ", known.len()));
            tell(text, &[known, &[value]].concat(), count, below);
            text.push_str(" }\n");
        }
    }
    let mut text: String = (0..count).map(|i| format!("shared r{i} = 0;\n")).collect();
    text.push_str(model);
    text.push_str("\nfinally {\n");
    for i in 0..count {
        text.push_str(&format!("assert r{i} < {below}, \"r{i} is too large\";\n"));
    }
    tell(&mut text, &[], count, below);
    text.push('}');
    text
}

/// All results of a model with values below `below`, by brute force.
fn results_of_model(model: &str, count: usize, below: usize) -> Results {
    let text = with_results(model, count, below);
    let program = match compile("model.sel", &text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    };
    let make = || Interpreter::new(Arc::clone(&program));
    let options = Options { keep_going: true, ..Options::default() };
    let report = explore(Algorithm::Oracle, &make, &options, &mut Unobserved);
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    let mut results = Results { values: BTreeSet::new(), deadlock: false };
    for (violation, _) in &report.violations {
        if violation.kind == ViolationKind::Deadlock {
            results.deadlock = true;
            continue;
        }
        let values = violation.message.rsplit(": ").next().unwrap_or_default();
        let values: Result<Vec<usize>, _> = values.split(' ').map(str::parse).collect();
        results.values.insert(values.unwrap_or_else(|_| panic!("{}", violation.message)));
    }
    results
}

/// All results of the code, in which spawned threads may panic.
fn results_of_code(algorithm: Algorithm, code: &Code) -> Results {
    let code = Rc::clone(code);
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&all);
    // In the language nothing ends spuriously.
    let builder = Builder::new().algorithm(algorithm).spurious(0).sequentially_consistent(true);
    let builder = builder.keep_going(true).panics_are_results(true);
    let outcome = builder.explore(move || {
        let result = code();
        seen.borrow_mut().insert(result);
    });
    let kinds = outcome.kinds();
    let deadlock = kinds.contains(&ViolationKind::Deadlock);
    assert!(kinds.iter().all(|&kind| kind == ViolationKind::Deadlock), "{}", outcome.text());
    assert!(outcome.report().inconclusive.is_empty(), "{}", outcome.text());
    if algorithm == Algorithm::Optimal {
        assert_eq!(outcome.report().counts.redundant, 0, "optimal wastes nothing");
    }
    let values = std::mem::take(&mut *all.borrow_mut());
    Results { values, deadlock }
}

/// Compares the results of the code with those of its model, which are below `below`, and those by the best
/// explorer with those by others and by brute force.
#[track_caller]
pub fn compare(model: &str, below: usize, code: impl Fn() -> Vec<usize> + 'static) {
    let found = compare_all(model, below, &(Rc::new(code) as Code));
    assert!(!found.deadlock, "a deadlock");
}

/// As [`compare`], for programs that can end in a deadlock.
#[track_caller]
pub fn compare_with_deadlock(model: &str, below: usize, code: impl Fn() -> Vec<usize> + 'static) {
    let found = compare_all(model, below, &(Rc::new(code) as Code));
    assert!(found.deadlock, "no deadlock");
}

#[track_caller]
fn compare_all(model: &str, below: usize, code: &Code) -> Results {
    let found = results_of_code(Algorithm::Optimal, code);
    let count = found.values.first().map_or(0, Vec::len);
    assert!(found.values.len() > 1, "the order should show: {found:?}");
    assert_eq!(
        found,
        results_of_model(model, count, below),
        "code on the left, model on the right"
    );
    for algorithm in [Algorithm::Source, Algorithm::Quasi, Algorithm::Oracle] {
        let others = results_of_code(algorithm, code);
        assert_eq!(found, others, "{} on the right", algorithm.info().name);
    }
    found
}

/// Runs the closures, the first one in main, and returns their results.
pub fn together<S: Send + Sync + 'static>(state: S, threads: &[fn(&S) -> usize]) -> Vec<usize> {
    let state = Arc::new(state);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|&run| {
            let state = Arc::clone(&state);
            thread::spawn(move || run(&state))
        })
        .collect();
    let mut results = vec![threads[0](&state)];
    results.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    results
}

/// What `f` gives, or `panicked` if it panics.
pub fn attempt(panicked: usize, f: impl FnOnce() -> usize) -> usize {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(panicked)
}
