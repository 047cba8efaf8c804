//! Comparison with brute force: on random programs, every class once and none left out.

mod besides;
mod program;
mod together;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use selvedge_core::{Bound, Budget, Ending, Execution, Report, TraceKey, ViolationKind};
use selvedge_explore::{Algorithm, Limits, Observer, Options, Progress, explore};
use selvedge_testkit::{seeds, share_of};

use program::{Random, Step, program};

use selvedge_rt::{Caps, Patience, Settings, Spurious};

use crate::rt::{Guards, Program, Rust, Shared};
use crate::sync::Arc;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::{AtomicBool, AtomicUsize};
use crate::thread;
use crate::watch::{Pulse, Times};

/// Keeps the class of every execution, and ends a search that makes no sense any more, as a check does.
struct Keys<'a> {
    shared: &'a Shared,
    keys: BTreeSet<Vec<u8>>,
    executions: u64,
}

impl Observer for Keys<'_> {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        self.executions += 1;
        let key = format!("{:?} {ending:?}", TraceKey::of(execution));
        self.keys.insert(key.into_bytes());
    }

    fn poll(&mut self, _progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.shared.is_unsteady.get().then_some(Bound::Interrupted)
    }
}

struct Found {
    report: Report,
    classes: usize,
    executions: u64,
    outcomes: BTreeSet<Vec<usize>>,
    unsteady: Option<String>,
    unguarded: bool,
}

impl Found {
    /// Returns whether it would be a proof that nothing else happens.
    fn is_proof(&self) -> bool {
        self.report.inconclusive.is_empty() && self.unsteady.is_none() && !self.unguarded
    }
}

fn run(algorithm: Algorithm, program: impl Fn() -> Vec<usize> + Clone + 'static) -> Found {
    let found = run_as(Caps::default(), false, algorithm, program);
    assert_eq!(found.unsteady, None);
    found
}

/// With other caps, and freed memory that cannot be used.
fn run_with(
    caps: Caps,
    algorithm: Algorithm,
    program: impl Fn() -> Vec<usize> + Clone + 'static,
) -> Found {
    run_as(caps, true, algorithm, program)
}

fn run_as(
    caps: Caps,
    guards: bool,
    algorithm: Algorithm,
    program: impl Fn() -> Vec<usize> + Clone + 'static,
) -> Found {
    let outcomes = Rc::new(RefCell::new(BTreeSet::new()));
    let log = Rc::clone(&outcomes);
    let here = std::panic::Location::caller();
    let closure = Rc::new(move || {
        let outcome = program();
        log.borrow_mut().insert(outcome);
    });
    let times = Times { all: None, between: Duration::MAX };
    let pulse = Pulse::new(here, times, &Budget::unlimited());
    let mut world = Rust::new(closure, here, pulse, Default::default());
    world.guards = if guards { Guards::All } else { Guards::Nothing };
    let settings = Settings {
        stack_size: 64 << 10,
        spin_turns: 10,
        ends_loops: true,
        writers_may_be_first: true,
        spurious: Spurious::new(1, false),
        caps,
    };
    let shared = Rc::new(Shared::new(world, settings));
    let limits = Limits { executions: Some(MOST_EXECUTIONS), ..Limits::default() };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let make = || Program::new(Rc::clone(&shared), false);
    // What was learned matters from the first step on.
    let ((classes, executions), report) = loop {
        outcomes.borrow_mut().clear();
        shared.is_unsteady.set(false);
        let mut keys = Keys { shared: &shared, keys: BTreeSet::new(), executions: 0 };
        let report = explore(algorithm, &make, &options, &mut keys);
        if !shared.learned.news.replace(false) {
            break ((keys.keys.len(), keys.executions), report);
        }
    };
    let unsteady = shared.unsteady.borrow().clone();
    let outcomes = std::mem::take(&mut *outcomes.borrow_mut());
    Found { report, classes, executions, outcomes, unsteady, unguarded: shared.unguarded.get() }
}

/// Programs with more interleavings are left out.
const MOST_EXECUTIONS: u64 = 3_000;

/// So many are compared in a campaign; more with `SELVEDGE_FUZZ_SECONDS`.
const PROGRAMS: u64 = 60;

/// Returns whether what turned out agrees with brute force; too large programs are left out.
fn compare(lists: Vec<Vec<Step>>) -> bool {
    let text = format!("{lists:?}");
    let lists = Rc::new(lists);
    let has_spins = lists.iter().flatten().any(|step| step.is_spin());
    let plain = Rc::clone(&lists);
    let closure = move || program(&lists, thread::yield_now);
    let optimal = run(Algorithm::Optimal, closure.clone());
    if optimal.executions > 60 {
        return false;
    }
    let oracle = run(Algorithm::Oracle, closure.clone());
    if oracle.executions == MOST_EXECUTIONS {
        return false;
    }
    assert_eq!(messages(&optimal.report), messages(&oracle.report), "violations of {text}");
    if uses_freed(&oracle.report) {
        // The executions that show it are not the same: brute force has one for each order.
        for &algorithm in OTHERS.iter().filter(|algorithm| algorithm.info().covers.data_races) {
            let found = run(algorithm, closure.clone());
            assert!(uses_freed(&found.report), "violations of {text} by {algorithm:?}");
        }
        return true;
    }
    for found in [&optimal, &run(Algorithm::Parsimonious, closure.clone())] {
        assert_eq!(found.classes, oracle.classes, "classes of {text}");
        assert_eq!(found.executions, found.classes as u64, "a class came twice: {text}");
        assert_eq!(found.report.counts.redundant, 0, "{text}");
        assert_eq!(found.outcomes, oracle.outcomes, "outcomes of {text}");
    }
    for &algorithm in OTHERS {
        let found = run(algorithm, closure.clone());
        assert_eq!(found.outcomes, oracle.outcomes, "outcomes of {text} by {algorithm:?}");
    }
    for algorithm in [Algorithm::Optimal, Algorithm::Sleep, Algorithm::Source] {
        // A wait that is not tried out may end spuriously, so that there may be more outcomes.
        let caps = Caps { guarded: Caps::default().guarded, ..Caps::tiny() };
        let tiny = run_with(caps, algorithm, closure.clone());
        assert!(
            !tiny.is_proof() || tiny.outcomes.is_superset(&oracle.outcomes),
            "outcomes of {text} by {algorithm:?} with tiny caps"
        );
    }
    if has_spins {
        // All loops give up, so that they need no pause: every turn is a step like any other.
        let plain = run(Algorithm::Optimal, move || program(&plain, || ()));
        assert_eq!(plain.outcomes, oracle.outcomes, "outcomes of {text} without a pause");
    }
    true
}

/// Explorers that find the same results in other ways.
const OTHERS: &[Algorithm] = &[
    Algorithm::Sleep,
    Algorithm::Source,
    Algorithm::Parsimonious,
    Algorithm::Quasi,
    Algorithm::DataCentric,
];

/// Rust code does not report its states, and no other search is done instead.
#[test]
fn what_compares_states_is_inconclusive() {
    let found = run(Algorithm::ContextSensitive, Vec::new);
    assert!(!found.is_proof() && found.executions == 0);
}

fn uses_freed(report: &Report) -> bool {
    report.violations.iter().any(|(found, _)| found.kind == ViolationKind::UseAfterFree)
}

fn messages(report: &Report) -> BTreeSet<String> {
    report.violations.iter().map(|(violation, _)| violation.message.clone()).collect()
}

/// Boxes that are freed while others use them, alone and with all else.
#[test]
fn random_programs_that_free() {
    let mut random = Random(11);
    let kinds = [45, 46, 47, 47];
    for _ in seeds(PROGRAMS) {
        let threads = 2 + random.below(2);
        let list = |random: &mut Random| {
            (0..1 + random.below(2)).map(|_| random.step(&kinds)).collect::<Vec<_>>()
        };
        compare((0..threads).map(|_| list(&mut random)).collect());
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "who asks for a campaign wants to know how long it was")]
fn random_programs_agree_with_brute_force() {
    let seconds = std::env::var("SELVEDGE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let seconds: Option<u64> = seconds;
    let seed = std::env::var("SELVEDGE_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let mut random = Random(seed.unwrap_or(7));
    let start = std::time::Instant::now();
    let mut compared = 0;
    while compared < share_of(PROGRAMS)
        || seconds.is_some_and(|limit| start.elapsed().as_secs() < limit)
    {
        let threads = 2 + random.below(2);
        let kinds = random.kinds();
        let lists = (0..threads)
            .map(|_| {
                let length = 1 + random.below(if threads == 2 { 3 } else { 2 });
                (0..length).map(|_| random.step(&kinds)).collect()
            })
            .collect();
        compared += u64::from(compare(lists));
    }
    if seconds.is_some() {
        eprintln!("{compared} programs compared");
    }
}

/// Four to six threads with an operation or two each: a step waits for many others, and races with all of them. Brute
/// force does not end; `sleep` looks at no races, so it shares no code with those that do.
fn compare_wide(lists: Vec<Vec<Step>>) -> bool {
    let text = format!("{lists:?}");
    let lists = Rc::new(lists);
    let closure = move || program(&lists, thread::yield_now);
    let sleep = run(Algorithm::Sleep, closure.clone());
    if sleep.executions == MOST_EXECUTIONS || !sleep.is_proof() {
        return false;
    }
    for algorithm in
        [Algorithm::Optimal, Algorithm::Source, Algorithm::Quasi, Algorithm::DataCentric]
    {
        let found = run(algorithm, closure.clone());
        if uses_freed(&sleep.report) {
            assert!(uses_freed(&found.report), "violations of {text} by {algorithm:?}");
            continue;
        }
        assert_eq!(found.outcomes, sleep.outcomes, "outcomes of {text} by {algorithm:?}");
        if algorithm != Algorithm::DataCentric {
            assert_eq!(found.classes, sleep.classes, "classes of {text} by {algorithm:?}");
        }
        if algorithm == Algorithm::Optimal {
            assert_eq!(found.executions, found.classes as u64, "a class came twice: {text}");
            assert_eq!(found.report.counts.redundant, 0, "{text}");
        }
    }
    true
}

#[test]
fn random_programs_of_many_threads() {
    let mut random = Random(23);
    let (programs, mut compared, mut tried) = (share_of(40), 0, 0);
    while compared < programs {
        let threads = 4 + random.below(3);
        let kinds = random.kinds();
        let mut list = || {
            let length = if random.below(4) == 0 { 2 } else { 1 };
            (0..length).map(|_| random.step(&kinds[..2])).collect()
        };
        compared += u64::from(compare_wide((0..threads).map(|_| list()).collect()));
        tried += 1;
        assert!(tried < 10 * programs, "only {compared} of {tried} programs are small enough");
    }
}

/// Programs that once went wrong.
#[test]
fn earlier_mistakes() {
    // A thread that was not spawned in an execution that had to be taken down ended at once in the next.
    assert!(compare(vec![vec![Step::ParkTimed, Step::Spawn], vec![Step::Load(0)]]));
    assert!(compare(vec![vec![Step::WaitTimed, Step::Spawn], vec![Step::Send, Step::TryLock]]));
    // Two who come to a barrier in different rounds could not change places.
    assert!(compare(vec![vec![Step::Meet, Step::Meet], vec![Step::Meet], vec![Step::Meet]]));
    // Who drops the result of a thread, and when its thread-local values are dropped, was not part of the search.
    assert!(compare(vec![vec![Step::Detach(0)], vec![Step::Load(1)]]));
    assert!(compare(vec![vec![Step::Load(0), Step::Load(0)], vec![Step::Local(0), Step::Add(0)]]));
}

/// Beyond the limits of a trial there is a choice.
#[test]
fn impatience_costs_executions_and_hides_nothing() {
    let program = || {
        let ready = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&ready), thread::current());
        thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        let mut looked = 0;
        while !ready.load(SeqCst) {
            thread::park();
            looked = 1;
        }
        vec![looked]
    };
    let usual = run(Algorithm::Optimal, program);
    for (turns, operations) in [(0, 1_000), (1, 1_000), (32, 0), (32, 1)] {
        let patience = Patience { turns, operations };
        let caps = Caps { patience, ..Caps::default() };
        let impatient = run_with(caps, Algorithm::Optimal, program);
        assert!(impatient.executions > usual.executions, "{patience:?}");
        assert_eq!(impatient.outcomes, usual.outcomes, "{patience:?}");
    }
}

/// Beyond each cap of loops and of guarded blocks there is no proof.
#[test]
fn beyond_a_cap_nothing_is_proved() {
    let changes_something = || {
        let x = Arc::new(AtomicUsize::new(0));
        while x.fetch_add(1, SeqCst) < 9 {
            thread::yield_now();
        }
        vec![x.load(SeqCst)]
    };
    let only_looks = || {
        let x = Arc::new(AtomicUsize::new(0));
        (0..9).for_each(|_| assert_eq!(x.load(SeqCst), 0));
        vec![]
    };
    let frees_two = || {
        drop(std::hint::black_box((Box::new(1), Box::new(2))));
        vec![]
    };
    let (caps, tiny) = (Caps::default(), Caps::tiny());
    let turns = Caps { turns: tiny.turns, ..caps };
    let looks = Caps { looks: tiny.looks, ..caps };
    let guarded = Caps { guarded: tiny.guarded, ..caps };
    let programs: [(&dyn Fn(Caps) -> Found, Caps); 3] = [
        (&|caps| run_with(caps, Algorithm::Optimal, changes_something), turns),
        (&|caps| run_with(caps, Algorithm::Optimal, only_looks), looks),
        (&|caps| run_with(caps, Algorithm::Optimal, frees_two), guarded),
    ];
    for (run, small) in programs {
        assert!(run(caps).is_proof(), "{small:?}");
        assert!(!run(small).is_proof(), "{small:?}");
    }
}

/// These caps only decide how soon a loop is recognised.
#[test]
fn loops_that_are_recognised_late_or_never_hide_nothing() {
    let waits_for_two = || {
        let (x, y) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (x2, y2) = (Arc::clone(&x), Arc::clone(&y));
        let seen = Arc::new(AtomicUsize::new(0));
        let seen2 = Arc::clone(&seen);
        thread::spawn(move || {
            x2.store(true, SeqCst);
            seen2.store(1, SeqCst);
            y2.store(true, SeqCst);
        });
        let mut turns = 0;
        while !(x.load(SeqCst) && y.load(SeqCst)) {
            thread::yield_now();
            turns = 1;
        }
        vec![turns, seen.load(SeqCst)]
    };
    let (caps, tiny) = (Caps::default(), Caps::tiny());
    let usual = run(Algorithm::Optimal, waits_for_two);
    assert_eq!(usual.outcomes, BTreeSet::from([vec![0, 1], vec![1, 1]]));
    for caps in [
        Caps { free_turns: tiny.free_turns, ..caps },
        Caps { places: tiny.places, ..caps },
        Caps { objects: tiny.objects, ..caps },
        Caps { things: tiny.things, ..caps },
        Caps { tried: tiny.tried, ..caps },
        Caps { drained: tiny.drained, ..caps },
    ] {
        let found = run_with(caps, Algorithm::Optimal, waits_for_two);
        assert!(!found.is_proof() || found.outcomes == usual.outcomes, "{caps:?}");
    }
}
