//! A search that is interrupted anywhere goes on in a process that knows nothing, and ends with what one process finds and knows.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::Report;
use selvedge_crew::{Checkpoint, Crew, Journal, Keeper, Pace, Told};
use selvedge_explore::{
    Algorithm, Divisible, Frontier, Ledger, Options, Part, Silent, put_together, run_unit,
};
use selvedge_lang::{Interpreter, compile};

const TEXT: &str =
    "shared x = 0; thread t(i in 0..3) { let v = x; x = v + 1; } finally { assert x != 2; }";
const OTHER: &str =
    "shared x = 0; thread t(i in 0..4) { let v = x; x = v + 1; } finally { assert x != 2; }";
const ALL: Divisible = Divisible::Exploration(Algorithm::Parsimonious);

/// Keeps all that it can, as text.
#[derive(Default)]
struct All(Vec<String>);

impl Keeper for All {
    fn is_due(&mut self) -> bool {
        true
    }

    fn keep(&mut self, frontier: &Frontier, told: &Told) {
        let kept = Checkpoint::new((), frontier, Some(told.clone()), Duration::ZERO).to_text();
        if self.0.last() != Some(&kept) {
            self.0.push(kept);
        }
    }
}

/// What a process knows in the end, and what it found.
struct Found {
    report: Report,
    /// In the order in which it was learned.
    known: Vec<String>,
    restarts: u32,
    kept: Vec<String>,
}

/// A process: some units tell it something, and some of that makes the search begin again. What was learned shows in the
/// results: who does not know it has other ones.
fn process(text: &str, from: Option<&str>, jobs: usize, own: u64) -> Result<Found, String> {
    let program = compile("test.sel", text, &[]).expect("it compiles").program;
    let options = Options { keep_going: true, ..Options::default() };
    let make = || Interpreter::new(Arc::clone(&program));
    let known: RefCell<Vec<String>> = RefCell::default();
    let (told, is_void) = (Cell::new(0), Cell::new(false));
    let run = |unit: &_, go_on: &mut dyn FnMut(u64) -> bool| {
        let mut parts = run_unit(ALL, &make, &options, unit, go_on)?;
        let sum = unit.unit.bytes().map(u64::from).sum::<u64>();
        let is_new = own == 1 && sum % 5 == 0 && !known.borrow().contains(&unit.unit);
        if is_new {
            known.borrow_mut().push(unit.unit.clone());
            told.set(told.get() + 1);
            is_void.set(is_void.get() || sum % 3 == 0);
        }
        if let Part::Done(tally, _) = &mut parts[0] {
            tally.steps += known.borrow().len() as u64;
        }
        Ok(parts)
    };
    let crew = Crew {
        jobs: NonZeroUsize::new(jobs).expect("there is a job"),
        pace: Pace { alone: 0, own, patience: Duration::from_secs(20) },
        run: &run,
        as_copy: &|| (),
        told: &|| told.get(),
        is_void: &|| is_void.get(),
        is_full: &|| false,
        budget: &options.budget,
    };
    let from = from.map(|text| {
        let kept = Checkpoint::<()>::from_text(text).expect("it was written");
        (kept.frontier().expect("its parts are those of a search"), kept.told())
    });
    let mut keeper = All::default();
    let mut journal = Journal::new(&mut keeper, from);
    let mut restarts = 0;
    let frontier = loop {
        let mut ledger = Ledger::new(Frontier::root(), true, None);
        crew.explore(&mut ledger, &mut journal, &mut Silent)?;
        if !is_void.replace(false) {
            break ledger.frontier().clone();
        }
        restarts += 1;
    };
    journal.keep(&frontier);
    let report = put_together(ALL, &make, &options, frontier, None)?.report;
    Ok(Found { report, known: known.take(), restarts, kept: keeper.0 })
}

#[test]
fn a_process_that_knows_nothing_is_told_what_was_known() {
    for jobs in 1..=2 {
        let whole = process(TEXT, None, jobs, 1).expect("it goes on");
        let (known, restarts, kept) = (whole.known.len(), whole.restarts, whole.kept.len());
        assert!(known > 5 && restarts > 2 && kept > 20, "{known}, {restarts}, {kept}");
        let every = if jobs == 1 { 1 } else { 1 + kept / 10 };
        for kept in whole.kept.iter().step_by(every) {
            let again = process(TEXT, Some(kept), jobs, 1).expect("it goes on");
            assert_eq!(again.report.counts, whole.report.counts);
            assert_eq!(again.report.violations, whole.report.violations);
            // Which copy comes to a unit first, and what is known then, differs from run to run.
            if jobs == 1 {
                assert_eq!((again.known, again.restarts), (whole.known.clone(), whole.restarts));
                assert_eq!(again.report.steps, whole.report.steps);
            }
        }
    }
}

#[test]
fn a_process_that_is_told_nothing_runs_many_units_at_a_time() {
    let whole = process(OTHER, None, 1, 500).expect("it goes on");
    let executions = whole.report.counts.total();
    assert!(whole.kept.len() < 15 && executions > 100, "{} {executions}", whole.kept.len());
    let lessons: BTreeSet<usize> =
        whole.kept.iter().map(|kept| kept.matches("\"units\"").count()).collect();
    assert_eq!(lessons.into_iter().collect::<Vec<_>>(), [0, 1], "the first unit alone");
    for kept in &whole.kept {
        let again = process(OTHER, Some(kept), 1, 7).expect("it goes on");
        assert_eq!(again.report.counts, whole.report.counts);
        assert_eq!(again.report.steps, whole.report.steps);
        assert_eq!(again.report.violations, whole.report.violations);
    }
}

#[test]
fn another_program_is_refused() {
    let whole = process(TEXT, None, 1, 1).expect("it goes on");
    // Nothing was run before the first one.
    for kept in &whole.kept[1..] {
        let refused = process(OTHER, Some(kept), 1, 1);
        assert!(refused.is_err_and(|why| why.contains("does not do what it did")));
    }
    // Something else is known after the same lessons.
    let last = whole.kept.last().expect("there are some");
    let known = format!("\"known\": {}", whole.known.len());
    assert!(last.contains(&known), "{last}");
    let refused = process(TEXT, Some(&last.replace(&known, "\"known\": 3")), 1, 1);
    assert!(refused.is_err_and(|why| why.contains("does not do what it did")));
}
