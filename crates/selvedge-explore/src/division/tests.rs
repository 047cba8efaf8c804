//! The report of a search that is divided is that of one worker alone, whatever the number of workers, and wherever it
//! was ended and begun again.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use selvedge_core::{
    Budget, Effect, Ending, Report, Spent, Step, System, ThreadId, Violation, ViolationKind,
    forward_system,
};
use selvedge_testkit::Random;
use selvedge_testkit::script::{Op, Script, ScriptSystem, random_script};

use super::{Divisible, Division, Frontier, Keeper, Ledger, explore_divided, run_unit};
use crate::options::{Observer, Options, Silent};
use crate::reductions::optimal_dpor::source;
use crate::reductions::{parsimonious, sleep};
use crate::registry::{Algorithm, Setting};
use crate::search::sampling::{Sampling, sample};

/// The explorers whose work can be divided.
const DIVISIBLE: [Algorithm; 3] = [Algorithm::Parsimonious, Algorithm::Sleep, Algorithm::Source];

const PARSIMONIOUS: Divisible = Divisible::Exploration(Algorithm::Parsimonious);

/// A script whose executions violate something if the sum of their threads' last steps says so: some do, some do not.
struct Judged {
    inner: ScriptSystem,
    trail: u64,
    bad: u64,
    fuse: Option<Arc<Fuse>>,
}

/// Exhausts a budget after so many steps of all workers.
struct Fuse {
    steps: AtomicU64,
    budget: Budget,
}

impl Judged {
    fn new(script: &Script, bad: u64) -> Self {
        Self { inner: ScriptSystem::new(script.clone()), trail: 0, bad, fuse: None }
    }
}

impl System for Judged {
    forward_system! { self => self.inner;
        thread_count thread_key object_key status choices pending obstacles freed
        ahead values judging foresight conditions states promises
    }

    fn restart(&mut self) {
        self.trail = 0;
        self.inner.restart();
    }

    fn rewind(&mut self, kept: &[Step]) {
        selvedge_core::rewind_by_replay(self, kept);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        // What is judged must be the same for all executions of a trace: only the length is.
        self.trail += 1;
        if let Some(fuse) = &self.fuse
            && fuse.steps.fetch_add(1, Relaxed) == 400
        {
            fuse.budget.end(Spent::Interrupted);
        }
        self.inner.step(step, effect);
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let (ending, _) = self.inner.end();
        let is_bad = self.bad > 0 && self.trail.is_multiple_of(self.bad);
        let violation = is_bad.then(|| Violation {
            kind: ViolationKind::Finally,
            message: format!("{} steps, {ending:?}", self.trail),
            places: Vec::new(),
            notes: Vec::new(),
            thread: None::<ThreadId>,
        });
        (ending, violation)
    }
}

/// All of a report that users see.
fn seen(report: &Report) -> String {
    let Report { counts, steps, longest, threads, violations, inconclusive, .. } = report;
    format!("{counts:?} {steps} {longest} {threads} {violations:?} {inconclusive:?}")
}

fn jobs(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("at least one")
}

/// Explores with one of them, without compiling all others for this system.
fn explore(
    algorithm: Algorithm,
    make: &dyn Fn() -> Judged,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    match algorithm {
        Algorithm::Sleep => sleep::explore(make, options, observer),
        Algorithm::Source => source::explore(make, options, observer),
        _ => parsimonious::explore(make, options, observer),
    }
}

fn divided(
    algorithm: Algorithm,
    script: &Script,
    bad: u64,
    options: &Options,
    observer: &mut dyn Observer,
    division: Division<'_>,
) -> super::Divided {
    let make = || Judged::new(script, bad);
    explore_divided(Divisible::Exploration(algorithm), &make, options, observer, division)
        .expect("its work can be divided")
}

#[test]
fn the_number_of_workers_does_not_show() {
    let mut random = Random::new(11);
    let mut violated = 0;
    for nth in 0..400 {
        let algorithm = match nth {
            0..200 => Algorithm::Parsimonious,
            200..300 => Algorithm::Sleep,
            _ => Algorithm::Source,
        };
        let (script, bad) = (random_script(&mut random, 4), nth % 4 * 3);
        let mut options = Options { keep_going: nth % 3 == 0, ..Options::default() };
        if nth % 5 == 0 {
            options.limits.executions = Some(1 + random.below(30) as u64);
        }
        if nth % 11 == 0 {
            options.limits.steps = 4;
        }
        if nth % 7 == 0 && algorithm != Algorithm::Parsimonious {
            options.limits.preemptions = Some(1);
        }
        let make = || Judged::new(&script, bad);
        let expected = explore(algorithm, &make, &options, &mut Silent);
        violated += usize::from(!expected.violations.is_empty());
        for number in [1, 2, 3, 7] {
            let start = Frontier::root();
            let division = Division { jobs: jobs(number), start, keeper: None };
            let found = divided(algorithm, &script, bad, &options, &mut Silent, division);
            assert_eq!(seen(&found.report), seen(&expected), "{algorithm:?}, {number}: {script:?}");
        }
    }
    assert!(violated > 25, "some are violated: {violated}");
}

/// Then there is one execution, and nothing to go back to.
#[test]
fn a_program_that_does_nothing_is_explored_once() {
    for algorithm in DIVISIBLE {
        for script in [vec![], vec![vec![Op::Await(&[0], 1)]]] {
            let options = Options { keep_going: true, ..Options::default() };
            let division = Division { jobs: jobs(2), start: Frontier::root(), keeper: None };
            let found = divided(algorithm, &script, 0, &options, &mut Silent, division);
            assert_eq!(found.report.counts.total(), 1, "{algorithm:?}");
        }
    }
}

/// Keeps every frontier that it can.
#[derive(Default)]
struct All(Vec<Frontier>);

impl Keeper for All {
    fn is_due(&mut self) -> bool {
        self.0.len() < 200
    }

    fn keep(&mut self, frontier: &Frontier) {
        self.0.push(frontier.clone());
    }
}

/// Four threads with enough to do for several looks.
fn long_script(algorithm: Algorithm) -> Script {
    let mut body: Vec<Op> =
        vec![Op::Lock(0), Op::Write(1), Op::Unlock(0), Op::Read(0), Op::Write(0)];
    // Sleep sets alone leave many redundant executions.
    body.truncate(if algorithm == Algorithm::Sleep { 4 } else { 5 });
    vec![body.clone(), body.clone(), vec![Op::Read(1), Op::Add(0)], vec![Op::Either(0, 1)]]
}

/// Returns how many steps a complete execution has.
fn steps(script: &Script) -> u64 {
    script.iter().map(|thread| thread.len() as u64).sum()
}

#[test]
fn a_search_goes_on_where_it_was_interrupted() {
    for (algorithm, bad) in DIVISIBLE.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let script = long_script(algorithm);
        let bad = if bad { steps(&script) } else { 0 };
        let options = Options { keep_going: true, ..Options::default() };
        let make = || Judged::new(&script, bad);
        let expected = explore(algorithm, &make, &options, &mut Silent);
        let (mut start, mut times) = (Frontier::root(), 0);
        let last = loop {
            let options = Options { keep_going: true, ..Options::default() };
            let fuse = Fuse { steps: AtomicU64::new(0), budget: options.budget.clone() };
            let fuse = Arc::new(fuse);
            let make = || Judged { fuse: Some(Arc::clone(&fuse)), ..Judged::new(&script, bad) };
            let division = Division { jobs: jobs(1 + times % 3), start, keeper: None };
            let what = Divisible::Exploration(algorithm);
            let found = explore_divided(what, &make, &options, &mut Silent, division).unwrap();
            if options.budget.spent().is_none() {
                break found.report;
            }
            (start, times) = (found.left, times + 1);
            assert!(times < 100_000, "it comes to an end");
        };
        assert_eq!(seen(&last), seen(&expected), "after {times} interruptions");
        assert!(times > 10, "it was interrupted {times} times");
    }
}

#[test]
fn every_frontier_that_is_kept_leads_to_the_same_report() {
    let kinds = [(false, true), (true, true), (true, false)];
    let all = DIVISIBLE.into_iter().flat_map(|it| kinds.map(|(bad, keep)| (it, bad, keep)));
    for (algorithm, bad, keep_going) in all {
        let script = long_script(algorithm);
        let bad = if bad { steps(&script) } else { 0 };
        let options = Options { keep_going, ..Options::default() };
        let make = || Judged::new(&script, bad);
        let expected = explore(algorithm, &make, &options, &mut Silent);
        let mut kept = All::default();
        let division = Division { jobs: jobs(3), start: Frontier::root(), keeper: Some(&mut kept) };
        let found = divided(algorithm, &script, bad, &options, &mut Silent, division);
        assert_eq!(seen(&found.report), seen(&expected));
        for start in kept.0 {
            let division = Division { jobs: jobs(2), start, keeper: None };
            let found = divided(algorithm, &script, bad, &options, &mut Silent, division);
            assert_eq!(seen(&found.report), seen(&expected));
        }
    }
}

#[test]
fn a_unit_of_another_program_is_refused() {
    use super::{Part, Pending};
    let of_parsimonious = ["9", "0@50", "0/1", "x", "0?0,9,1", "0.1h7"];
    let of_sleep = ["9!", "0", "0/1!", "x!", "0-1-2-3-9!", "0!-0:7", "0.0.0.0.0.0.0!"];
    let of_source = ["9", "0/1", "x", "0-9", "0:7", "0.0.0.0.0.0.0", "0+1", "0..1", "0.+1", "-0"];
    let [first, second, third] = DIVISIBLE;
    let all = of_parsimonious.map(|unit| (first, unit)).into_iter();
    let all = all.chain(of_sleep.map(|unit| (second, unit)));
    for (algorithm, unit) in all.chain(of_source.map(|unit| (third, unit))) {
        let script = long_script(algorithm);
        let part = Part::ToDo(Pending { unit: unit.to_owned(), ..Pending::root() });
        let division =
            Division { jobs: jobs(2), start: Frontier { parts: vec![part] }, keeper: None };
        let make = || Judged::new(&script, 0);
        let options = Options::default();
        let what = Divisible::Exploration(algorithm);
        let found = explore_divided(what, &make, &options, &mut Silent, division);
        assert!(found.is_err(), "{algorithm:?}: {unit}");
    }
}

#[test]
fn what_is_sequential_says_so() {
    let make = || Judged::new(&long_script(Algorithm::Parsimonious), 0);
    let options = Options::default();
    for &algorithm in Algorithm::ALL {
        let division = Division { jobs: jobs(2), start: Frontier::root(), keeper: None };
        let found = explore_divided(
            Divisible::Exploration(algorithm),
            &make,
            &options,
            &mut Silent,
            division,
        );
        let is_divisible = algorithm.info().takes(Setting::Division);
        assert_eq!(found.is_ok(), is_divisible, "{algorithm:?}");
    }
}

#[test]
fn a_sample_is_the_same_for_every_number_of_workers() {
    let mut random = Random::new(5);
    for nth in 0..60 {
        let (script, bad) = (random_script(&mut random, 4), nth % 4 * 3);
        let mut options = Options { keep_going: nth % 3 == 0, ..Options::default() };
        if nth % 5 == 0 {
            options.limits.executions = Some(1 + random.below(60) as u64);
        }
        let make = || Judged::new(&script, bad);
        let expected = sample(Sampling::Uniform, 100, nth, &make, &options, &mut Silent);
        for number in [1, 2, 3, 8] {
            let start = Frontier::of_sample(100, nth);
            let division = Division { jobs: jobs(number), start, keeper: None };
            let found =
                explore_divided(Divisible::Sample, &make, &options, &mut Silent, division).unwrap();
            assert_eq!(seen(&found.report), seen(&expected), "{number}: {script:?}");
        }
    }
}

/// Runs units of a ledger as workers elsewhere do: in any order, some twice and cut in different places, some results lost, some
/// late; now and then all that was issued is forgotten.
fn explore_elsewhere(
    algorithm: Algorithm,
    script: &Script,
    bad: u64,
    options: &Options,
    random: &mut Random,
) -> Report {
    let what = Divisible::Exploration(algorithm);
    let make = || Judged::new(script, bad);
    let limit = options.limits.executions;
    let mut ledger = Ledger::new(Frontier::root(), options.keep_going, limit);
    let mut at_work: Vec<super::Pending> = Vec::new();
    let mut late = Vec::new();
    while !ledger.is_over() {
        if ledger.left() > 0 {
            at_work.extend(ledger.issue(1 + random.below(3), random.below(200)));
        }
        if random.below(40) == 0 {
            at_work.drain(..).for_each(|unit| ledger.take_back(&unit.unit));
        }
        if !at_work.is_empty() {
            let unit = at_work.swap_remove(random.below(at_work.len()));
            let mut run = || {
                let most = 1 + random.below(4) as u64;
                run_unit(what, &make, options, &unit, &mut |ran| ran < most).unwrap()
            };
            let (parts, others) = (run(), run());
            match random.below(6) {
                0 => ledger.take_back(&unit.unit),
                1 => {
                    ledger.take_back(&unit.unit);
                    late.push((unit.unit, parts));
                }
                _ => {
                    // A late result may have come before.
                    ledger.accept(&unit.unit, parts);
                    assert!(!ledger.accept(&unit.unit, others), "a second result does not count");
                }
            }
        }
        if !late.is_empty() && random.below(3) == 0 {
            let (unit, parts) = late.swap_remove(random.below(late.len()));
            ledger.accept(&unit, parts);
        }
        if random.below(20) == 0 {
            let kept = ledger.frontier().clone();
            ledger.restore(kept);
            at_work.clear();
        }
    }
    let division = Division { jobs: jobs(1), start: ledger.frontier().clone(), keeper: None };
    divided(algorithm, script, bad, options, &mut Silent, division).report
}

#[test]
fn what_happens_to_units_elsewhere_does_not_show() {
    let mut random = Random::new(23);
    for nth in 0..450 {
        let algorithm = DIVISIBLE[nth as usize % DIVISIBLE.len()];
        let (script, bad) = (random_script(&mut random, 4), nth % 4 * 3);
        let mut options = Options { keep_going: nth % 3 == 0, ..Options::default() };
        if nth % 5 == 0 {
            options.limits.executions = Some(1 + random.below(30) as u64);
        }
        if nth % 7 == 0 && algorithm != Algorithm::Parsimonious {
            options.limits.preemptions = Some(1);
        }
        let make = || Judged::new(&script, bad);
        let expected = explore(algorithm, &make, &options, &mut Silent);
        let found = explore_elsewhere(algorithm, &script, bad, &options, &mut random);
        assert_eq!(seen(&found), seen(&expected), "{algorithm:?}: {script:?}");
    }
}

#[test]
fn a_unit_that_cannot_be_run_leaves_a_doubt() {
    let script = long_script(Algorithm::Parsimonious);
    let options = Options::default();
    let mut ledger = Ledger::new(Frontier::root(), false, None);
    let unit = ledger.issue(1, 0).remove(0);
    let make = || Judged::new(&script, 0);
    let parts = run_unit(PARSIMONIOUS, &make, &options, &unit, &mut |ran| ran < 1).unwrap();
    ledger.accept(&unit.unit, parts);
    while !ledger.is_over() {
        for unit in ledger.issue(2, usize::MAX) {
            ledger.give_up(&unit.unit, "three workers died");
        }
    }
    let division = Division { jobs: jobs(1), start: ledger.frontier().clone(), keeper: None };
    let report =
        divided(Algorithm::Parsimonious, &script, 0, &options, &mut Silent, division).report;
    assert_eq!(report.counts.total(), 1);
    let doubts = format!("{:?}", report.inconclusive);
    assert!(doubts.contains("was not run: three workers died"), "{doubts}");
}
