//! Comparison with brute force: on random programs, every class once and none left out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{Ending, Execution, Report, TraceKey};
use selvedge_explore::{Algorithm, Limits, Observer, Options, explore};

use super::runtime::{Learned, Shared};
use super::system::Program;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::{Condvar, Mutex, OnceLock, RwLock, mpsc};
use crate::thread;

/// Keeps the class of every execution.
#[derive(Default)]
struct Keys {
    keys: BTreeSet<Vec<u8>>,
    executions: u64,
}

impl Observer for Keys {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        self.executions += 1;
        let key = format!("{:?} {ending:?}", TraceKey::of(execution));
        self.keys.insert(key.into_bytes());
    }
}

struct Found {
    report: Report,
    classes: usize,
    executions: u64,
    outcomes: BTreeSet<Vec<usize>>,
}

fn run(algorithm: Algorithm, program: impl Fn() -> Vec<usize> + Clone + 'static) -> Found {
    let outcomes = Rc::new(RefCell::new(BTreeSet::new()));
    let log = Rc::clone(&outcomes);
    let shared = Rc::new(Shared {
        program: Rc::new(move || {
            let outcome = program();
            log.borrow_mut().insert(outcome);
        }),
        checked_at: std::panic::Location::caller(),
        stack_size: 64 << 10,
        panics_are_results: false,
        spin_turns: 10,
        ends_loops: true,
        learned: Learned::default(),
        weak: Cell::new(false),
        assumed: Cell::new(None),
        unsteady: RefCell::new(None),
        statics: RefCell::new(None),
        firsts: Default::default(),
        is_queued: std::sync::Arc::default(),
        backtrace: RefCell::new(None),
        is_unsteady: Cell::new(false),
    });
    let limits = Limits { executions: Some(MOST_EXECUTIONS), ..Limits::default() };
    let options = Options { keep_going: true, limits, ..Options::default() };
    let make = || Program::new(Rc::clone(&shared), false);
    // What was learned matters from the first step on.
    let (keys, report) = loop {
        outcomes.borrow_mut().clear();
        shared.is_unsteady.set(false);
        let mut keys = Keys::default();
        let report = explore(algorithm, &make, &options, &mut keys);
        if !shared.learned.news.replace(false) {
            break (keys, report);
        }
    };
    assert_eq!(*shared.unsteady.borrow(), None);
    let outcomes = std::mem::take(&mut *outcomes.borrow_mut());
    Found { report, classes: keys.keys.len(), executions: keys.executions, outcomes }
}

/// Programs with more interleavings are left out.
const MOST_EXECUTIONS: u64 = 3_000;

/// So many are compared; more with `SELVEDGE_FUZZ_SECONDS`.
const PROGRAMS: u32 = 100;

/// One operation of a random program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize, usize),
    Add(usize),
    Exchange(usize, usize),
    Lock,
    TryLock,
    Nested,
    Read,
    Write,
    TryRead,
    TryWrite,
    Send,
    TryReceive,
    ReceiveTimed,
    NotifyOne,
    NotifyAll,
    WaitTimed,
    Unpark,
    ParkTimed,
    Spawn,
    SpinUntil(usize),
    SpinLock,
    SpinTryLock,
    Once(usize),
    SendBounded,
    TrySendBounded,
    TryReceiveBounded,
}

struct State {
    cells: [AtomicUsize; 2],
    lock: Mutex<usize>,
    shared: RwLock<usize>,
    condition: Condvar,
    sender: mpsc::Sender<usize>,
    receiver: RefCell<Option<mpsc::Receiver<usize>>>,
    main: thread::Thread,
    once: OnceLock<usize>,
    bounded: mpsc::SyncSender<usize>,
    bounded_receiver: mpsc::Receiver<usize>,
}

// SAFETY: threads of checked code run by turns; the receiver is used by the first thread alone.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

fn perform(state: &State, step: Step, me: usize, pause: fn()) -> usize {
    match step {
        Step::Load(i) => state.cells[i].load(SeqCst),
        Step::Store(i, value) => {
            state.cells[i].store(value, SeqCst);
            0
        }
        Step::Add(i) => state.cells[i].fetch_add(1, SeqCst),
        Step::Exchange(i, value) => {
            state.cells[i].compare_exchange(value, me + 2, SeqCst, SeqCst).unwrap_or(9)
        }
        Step::Lock => {
            let mut guard = state.lock.lock().unwrap();
            *guard += 1;
            *guard
        }
        Step::TryLock => state.lock.try_lock().map_or(9, |guard| *guard),
        Step::Nested => *state.lock.lock().unwrap() + *state.shared.read().unwrap(),
        Step::Read => *state.shared.read().unwrap(),
        Step::Write => {
            *state.shared.write().unwrap() += 1;
            0
        }
        Step::TryRead => state.shared.try_read().map_or(9, |guard| *guard),
        Step::TryWrite => state.shared.try_write().map_or(9, |mut guard| {
            *guard += 1;
            *guard
        }),
        Step::Send => state.sender.send(me).map_or(9, |()| 0),
        Step::TryReceive | Step::ReceiveTimed if me != 0 => 0,
        Step::TryReceive => receiver(state, |receiver| receiver.try_recv().unwrap_or(9)),
        Step::ReceiveTimed => {
            receiver(state, |receiver| receiver.recv_timeout(Duration::ZERO).unwrap_or(9))
        }
        Step::NotifyOne => {
            state.condition.notify_one();
            0
        }
        Step::NotifyAll => {
            state.condition.notify_all();
            0
        }
        Step::WaitTimed => {
            let guard = state.lock.lock().unwrap();
            let (guard, result) = state.condition.wait_timeout(guard, Duration::ZERO).unwrap();
            *guard * 2 + usize::from(result.timed_out())
        }
        Step::Unpark => {
            state.main.unpark();
            0
        }
        Step::ParkTimed if me != 0 => 0,
        Step::ParkTimed => {
            thread::park_timeout(Duration::ZERO);
            0
        }
        Step::Spawn => {
            let child = thread::spawn(|| ());
            usize::from(child.is_finished())
        }
        Step::SpinUntil(i) => spin(|| state.cells[i].load(SeqCst) == 0, pause),
        Step::SpinLock => spin(|| *state.lock.lock().unwrap() == 0, pause),
        Step::SpinTryLock => {
            spin(|| state.lock.try_lock().map_or(true, |guard| *guard == 0), pause)
        }
        Step::Once(i) => *state.once.get_or_init(|| state.cells[i].load(SeqCst) + me),
        // Main receives, so it does not wait for room.
        Step::SendBounded if me == 0 => 0,
        Step::SendBounded => state.bounded.send(me).map_or(9, |()| 0),
        Step::TrySendBounded => state.bounded.try_send(me).map_or(9, |()| 0),
        Step::TryReceiveBounded if me != 0 => 0,
        Step::TryReceiveBounded => state.bounded_receiver.try_recv().unwrap_or(9),
    }
}

/// Waits, but not for long.
fn spin(goes_on: impl Fn() -> bool, pause: fn()) -> usize {
    let mut turns = 0;
    while turns < 3 && goes_on() {
        pause();
        turns += 1;
    }
    turns
}

fn receiver<T>(state: &State, f: impl FnOnce(&mpsc::Receiver<usize>) -> T) -> T {
    let receiver = state.receiver.borrow_mut().take().expect("one thread uses it");
    let result = f(&receiver);
    *state.receiver.borrow_mut() = Some(receiver);
    result
}

/// Main runs the first list, and a thread each of the others. `pause`: what spin loops do in a turn.
fn program(lists: &[Vec<Step>], pause: fn()) -> Vec<usize> {
    let (sender, receiver) = mpsc::channel();
    let (bounded, bounded_receiver) = mpsc::sync_channel(1);
    let state = Arc::new(State {
        cells: [AtomicUsize::new(0), AtomicUsize::new(0)],
        lock: Mutex::new(0),
        shared: RwLock::new(0),
        condition: Condvar::new(),
        sender,
        receiver: RefCell::new(Some(receiver)),
        main: thread::current(),
        once: OnceLock::new(),
        bounded,
        bounded_receiver,
    });
    let run = move |state: &State, list: &[Step], me| {
        list.iter().map(|&step| perform(state, step, me, pause)).collect::<Vec<_>>()
    };
    let threads: Vec<_> = lists[1..]
        .iter()
        .enumerate()
        .map(|(i, list)| {
            let (state, list) = (Arc::clone(&state), list.clone());
            thread::spawn(move || run(&state, &list, i + 1))
        })
        .collect();
    let mut outcome = run(&state, &lists[0], 0);
    for thread in threads {
        outcome.extend(thread.join().unwrap());
    }
    outcome
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn step(&mut self) -> Step {
        let i = self.below(2) as usize;
        match self.below(32) {
            0..=1 => Step::Load(i),
            2..=3 => Step::Store(i, 1),
            4 => Step::Add(i),
            5 => Step::Exchange(i, 0),
            24..=25 => Step::Exchange(i, self.below(2) as usize),
            26..=27 => Step::Once(i),
            28 => Step::SendBounded,
            29 => Step::TrySendBounded,
            30 => Step::TryReceiveBounded,
            6 => Step::Lock,
            7 => Step::TryLock,
            8 => Step::Nested,
            9 => Step::Read,
            10 => Step::Write,
            11 => Step::TryRead,
            12 => Step::TryWrite,
            13..=14 => Step::Send,
            15 => Step::TryReceive,
            16 => Step::ReceiveTimed,
            17 => Step::NotifyOne,
            18 => Step::NotifyAll,
            19..=20 => Step::WaitTimed,
            21 => Step::Unpark,
            22 => Step::ParkTimed,
            _ => match self.below(5) {
                0 => Step::Spawn,
                1 => Step::SpinLock,
                2 => Step::SpinTryLock,
                _ => Step::SpinUntil(i),
            },
        }
    }
}

/// Whether what turned out agrees with brute force; too large programs are left out.
fn compare(lists: Vec<Vec<Step>>) -> bool {
    let text = format!("{lists:?}");
    let lists = Rc::new(lists);
    let is_spin =
        |step: &Step| matches!(step, Step::SpinUntil(_) | Step::SpinLock | Step::SpinTryLock);
    let has_spins = lists.iter().flatten().any(is_spin);
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
    assert_eq!(optimal.classes, oracle.classes, "classes of {text}");
    assert_eq!(optimal.executions, optimal.classes as u64, "a class came twice: {text}");
    assert_eq!(optimal.report.counts.redundant, 0, "{text}");
    assert_eq!(optimal.outcomes, oracle.outcomes, "outcomes of {text}");
    let kinds = |report: &Report| {
        let kinds = report.violations.iter().map(|(violation, _)| violation.message.clone());
        kinds.collect::<BTreeSet<_>>()
    };
    assert_eq!(kinds(&optimal.report), kinds(&oracle.report), "violations of {text}");
    let source = run(Algorithm::Source, closure);
    assert_eq!(source.outcomes, oracle.outcomes, "outcomes of {text} by source");
    if has_spins {
        // All loops give up, so that they need no pause: every turn is a step like any other.
        let plain = run(Algorithm::Optimal, move || program(&plain, || ()));
        assert_eq!(plain.outcomes, oracle.outcomes, "outcomes of {text} without a pause");
    }
    true
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
    while compared < PROGRAMS || seconds.is_some_and(|limit| start.elapsed().as_secs() < limit) {
        let threads = 2 + random.below(2);
        let lists = (0..threads)
            .map(|_| {
                let length = 1 + random.below(if threads == 2 { 3 } else { 2 });
                (0..length).map(|_| random.step()).collect()
            })
            .collect();
        compared += u32::from(compare(lists));
    }
    if seconds.is_some() {
        eprintln!("{compared} programs compared");
    }
}

/// Programs that once went wrong.
#[test]
fn earlier_mistakes() {
    // A thread that was not spawned in an execution that had to be taken down ended at once in the next.
    assert!(compare(vec![vec![Step::ParkTimed, Step::Spawn], vec![Step::Load(0)]]));
    assert!(compare(vec![vec![Step::WaitTimed, Step::Spawn], vec![Step::Send, Step::TryLock]]));
}
