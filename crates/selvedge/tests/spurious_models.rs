//! Endings spuriously, compared with the same program in which nothing ends spuriously, but each operation
//! that may asks a coin first: an atomic that a thread of its own sets at some time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex, MutexGuard};
use selvedge::{Algorithm, Builder, Verdict, ViolationKind, hint, thread};
use selvedge_testkit::share_of;

use Op::*;

/// What a thread does; those that park are for the first thread only, which `Unpark` is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Op {
    /// `a` is what waits are for, `b` something else under the same lock.
    SetA(usize),
    SetB(usize),
    SetAndNotify,
    SetAndNotifyInside,
    Notify,
    NotifyAll,
    ReadB,
    TryLock,
    StoreX(usize),
    StoreY(usize),
    LoadX,
    Unpark,
    // Without looking again.
    WaitOnce,
    WaitTimedOnce,
    ParkOnce,
    ParkTimed,
    CasOnce,
    CasTwice,
    // If `x` is not set, without looking again.
    WaitMaybe,
    // Looking again, but with something that a turn does.
    WaitAndCount,
    WaitAndMark,
    ParkAndCount,
    // Looking again.
    WaitLoop,
    WaitWhile,
    WaitAndPeek,
    ParkLoop,
    ParkAndPeek,
    CasLoop,
    CasLoadLoop,
    CasSpin,
}

const PLAIN: [Op; 12] = [
    SetA(1),
    SetA(0),
    SetB(1),
    SetAndNotify,
    SetAndNotifyInside,
    Notify,
    NotifyAll,
    ReadB,
    TryLock,
    StoreX(1),
    StoreY(1),
    LoadX,
];
const ONCE: [Op; 6] = [WaitOnce, WaitTimedOnce, ParkOnce, ParkTimed, CasOnce, CasTwice];
const LOOPS: [Op; 8] =
    [WaitLoop, WaitWhile, WaitAndPeek, ParkLoop, ParkAndPeek, CasLoop, CasLoadLoop, CasSpin];
const OTHERS: [Op; 4] = [WaitMaybe, WaitAndCount, WaitAndMark, ParkAndCount];

impl Op {
    fn may_end_without_reason(self) -> bool {
        self >= WaitOnce
    }

    fn parks(self) -> bool {
        matches!(self, ParkOnce | ParkTimed | ParkLoop | ParkAndPeek | ParkAndCount)
    }
}

#[derive(Default)]
struct Data {
    a: usize,
    b: usize,
}

struct State {
    data: Mutex<Data>,
    condition: Condvar,
    x: AtomicUsize,
    y: AtomicUsize,
    main: thread::Thread,
    /// For each thread and place: one for each time that it may end spuriously. `None`: the library chooses.
    coins: Option<BTreeMap<(usize, Op), Vec<AtomicBool>>>,
}

/// A thread of the program.
struct Runner<'a> {
    state: &'a State,
    number: usize,
    /// How often an operation ended spuriously.
    ended: BTreeMap<Op, usize>,
    log: Vec<usize>,
}

impl<'a> Runner<'a> {
    /// Whether the operation ends spuriously, as the coin says.
    fn ends(&mut self, op: Op) -> bool {
        let Some(coins) = &self.state.coins else { return false };
        let ended = self.ended.entry(op).or_default();
        let ends = coins[&(self.number, op)].get(*ended).is_some_and(|coin| coin.load(SeqCst));
        *ended += usize::from(ends);
        ends
    }

    fn lock(&self) -> MutexGuard<'a, Data> {
        self.state.data.lock().unwrap()
    }

    #[track_caller]
    fn wait(&mut self, op: Op, guard: MutexGuard<'a, Data>) -> MutexGuard<'a, Data> {
        if self.ends(op) {
            drop(guard);
            return self.lock();
        }
        self.state.condition.wait(guard).unwrap()
    }

    #[track_caller]
    fn park(&mut self, op: Op) {
        if !self.ends(op) {
            thread::park();
        }
    }

    #[track_caller]
    fn cas(&mut self, op: Op, old: usize, new: usize) -> Result<usize, usize> {
        let x = &self.state.x;
        match &self.state.coins {
            None => x.compare_exchange_weak(old, new, SeqCst, SeqCst),
            Some(_) if self.ends(op) => Err(x.load(SeqCst)),
            Some(_) => x.compare_exchange(old, new, SeqCst, SeqCst),
        }
    }

    fn run(&mut self, op: Op) {
        let state = self.state;
        match op {
            SetA(value) => self.lock().a = value,
            SetB(value) => self.lock().b = value,
            SetAndNotify => {
                self.lock().a = 1;
                state.condition.notify_one();
            }
            SetAndNotifyInside => {
                let mut data = self.lock();
                data.a = 1;
                state.condition.notify_one();
            }
            Notify => state.condition.notify_one(),
            NotifyAll => state.condition.notify_all(),
            ReadB => self.log.push(self.lock().b),
            TryLock => self.log.push(usize::from(state.data.try_lock().is_ok())),
            StoreX(value) => state.x.store(value, SeqCst),
            StoreY(value) => state.y.store(value, SeqCst),
            LoadX => self.log.push(state.x.load(SeqCst)),
            Unpark => state.main.unpark(),
            WaitOnce => {
                let mut data = self.lock();
                if data.a == 0 {
                    data = self.wait(op, data);
                }
                self.log.push(data.a);
            }
            WaitTimedOnce => {
                let data = self.lock();
                let (data, timed_out) = match self.ends(op) {
                    true => {
                        drop(data);
                        (self.lock(), false)
                    }
                    false => {
                        let waited = state.condition.wait_timeout(data, Duration::from_secs(1));
                        let (data, result) = waited.unwrap();
                        (data, result.timed_out())
                    }
                };
                self.log.extend([data.a, usize::from(timed_out)]);
            }
            ParkOnce => {
                self.park(op);
                self.log.push(state.x.load(SeqCst));
            }
            ParkTimed => {
                if !self.ends(op) {
                    thread::park_timeout(Duration::from_secs(1));
                }
                self.log.push(state.x.load(SeqCst));
            }
            CasOnce => {
                let result = self.cas(op, 0, 1);
                self.log.push(usize::from(result.is_ok()));
            }
            CasTwice => {
                let done = (0..2).any(|_| self.cas(op, 0, 1).is_ok());
                self.log.push(usize::from(done));
            }
            WaitMaybe => {
                let looks_again = state.x.load(SeqCst) == 1;
                let mut data = self.lock();
                while data.a == 0 {
                    data = self.wait(op, data);
                    if !looks_again {
                        break;
                    }
                }
                self.log.push(data.a);
            }
            WaitAndCount => {
                let (mut data, mut turns) = (self.lock(), 0);
                while data.a == 0 {
                    data = self.wait(op, data);
                    turns += 1;
                }
                self.log.push(turns);
            }
            WaitAndMark => {
                let mut data = self.lock();
                while data.a == 0 {
                    data = self.wait(op, data);
                    data.b += 1;
                }
            }
            ParkAndCount => {
                let mut turns = 0;
                while state.x.load(SeqCst) == 0 {
                    self.park(op);
                    turns += 1;
                }
                self.log.push(turns);
            }
            WaitLoop => {
                let mut data = self.lock();
                while data.a == 0 {
                    data = self.wait(op, data);
                }
                self.log.push(data.b);
            }
            WaitWhile => {
                let mut data = self.lock();
                match &state.coins {
                    None => data = state.condition.wait_while(data, |data| data.a == 0).unwrap(),
                    Some(_) => {
                        while data.a == 0 {
                            data = self.wait(op, data);
                        }
                    }
                }
                self.log.push(data.b);
            }
            WaitAndPeek => {
                let (mut data, mut peeked) = (self.lock(), 0);
                while data.a == 0 {
                    data = self.wait(op, data);
                    peeked |= data.b;
                }
                self.log.push(peeked);
            }
            ParkLoop => {
                while state.x.load(SeqCst) == 0 {
                    self.park(op);
                }
            }
            ParkAndPeek => {
                let mut peeked = 0;
                while state.x.load(SeqCst) == 0 {
                    self.park(op);
                    peeked |= state.y.load(SeqCst);
                }
                self.log.push(peeked);
            }
            CasLoop => {
                let mut old = state.x.load(SeqCst);
                while let Err(found) = self.cas(op, old, old + 1) {
                    old = found;
                }
                self.log.push(old);
            }
            CasLoadLoop => loop {
                let old = state.x.load(SeqCst);
                state.y.store(old, SeqCst);
                if self.cas(op, old, old + 1).is_ok() {
                    break;
                }
            },
            CasSpin => {
                while self.cas(op, 0, 1).is_err() {
                    hint::spin_loop();
                }
                state.x.store(0, SeqCst);
            }
        }
    }
}

/// `coins`: how many for each thread and place; `None` if the library chooses.
fn program(lists: &[Vec<Op>], coins: Option<usize>) -> Vec<usize> {
    let places = lists.iter().enumerate().flat_map(|(number, list)| {
        list.iter().filter(|op| op.may_end_without_reason()).map(move |&op| (number, op))
    });
    let new_coins = |most| (0..most).map(|_| AtomicBool::new(false)).collect();
    let coins = coins.map(|most| places.map(|place| (place, new_coins(most))).collect());
    let state = Arc::new(State {
        data: Mutex::new(Data::default()),
        condition: Condvar::new(),
        x: AtomicUsize::new(0),
        y: AtomicUsize::new(0),
        main: thread::current(),
        coins,
    });
    for (&place, coins) in state.coins.iter().flatten() {
        for nth in 0..coins.len() {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                let coins = state.coins.as_ref().map(|coins| &coins[&place]);
                coins.unwrap()[nth].store(true, SeqCst);
            });
        }
    }
    let run = |state: &State, number: usize, list: &[Op]| {
        let mut runner = Runner { state, number, ended: BTreeMap::new(), log: Vec::new() };
        list.iter().for_each(|&op| runner.run(op));
        runner.log
    };
    let threads: Vec<_> = (1..lists.len())
        .map(|number| {
            let (state, list) = (Arc::clone(&state), lists[number].clone());
            thread::spawn(move || run(&state, number, &list))
        })
        .collect();
    let mut log = run(&state, 0, &lists[0]);
    for thread in threads {
        log.extend(thread.join().unwrap());
    }
    log
}

/// All results, and whether threads may deadlock. `None`: there are too many executions.
type Results = (BTreeSet<Vec<usize>>, bool);

fn results(builder: Builder, lists: &[Vec<Op>], coins: Option<usize>) -> Option<Results> {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let (seen, lists) = (Rc::clone(&all), lists.to_vec());
    let builder = builder.keep_going(true).max_executions(6_000);
    let outcome = builder.explore(move || {
        let log = program(&lists, coins);
        seen.borrow_mut().insert(log);
    });
    let kinds = outcome.kinds();
    assert!(kinds.iter().all(|&kind| kind == ViolationKind::Deadlock), "{}", outcome.text());
    if !outcome.report().inconclusive.is_empty() || outcome.verdict() == Verdict::Inconclusive {
        return None;
    }
    Some((all.take(), !kinds.is_empty()))
}

/// What came out of a comparison.
#[derive(PartialEq, Eq, Debug)]
enum Compared {
    TooLarge,
    /// Also without spurious endings where the code rechecks.
    AllFound,
    /// Only everywhere.
    SomeLeftOut,
}

/// Compares with the model. What is found if loops are left out is right, and contains what is found if nothing
/// ends spuriously; and it is all, if there are no loops that look again.
fn compare(lists: &[Vec<Op>], most: u32) -> Compared {
    let model = Builder::new().spurious(0);
    let Some(expected) = results(model, lists, Some(most as usize)) else {
        return Compared::TooLarge;
    };
    let everywhere = Builder::new().spurious(most).spurious_everywhere(true);
    let Some(found) = results(everywhere.clone(), lists, None) else { return Compared::TooLarge };
    assert_eq!(found, expected, "library and model: {lists:?}, at most {most}");
    for algorithm in [Algorithm::Oracle, Algorithm::Source, Algorithm::Quasi] {
        if let Some(other) = results(everywhere.clone().algorithm(algorithm), lists, None) {
            assert_eq!(other, expected, "{algorithm:?} and model: {lists:?}, at most {most}");
        }
    }
    let never = results(Builder::new().spurious(0), lists, None).unwrap();
    let usual = results(Builder::new().spurious(most), lists, None).unwrap();
    let contains = |more: &Results, less: &Results| more.0.is_superset(&less.0) && more.1 | !less.1;
    assert!(contains(&usual, &never) && contains(&expected, &usual), "{lists:?}, at most {most}");
    if usual == expected {
        return Compared::AllFound;
    }
    let has_loops = lists.iter().flatten().any(|op| LOOPS.contains(op) || *op == WaitMaybe);
    assert!(has_loops, "{lists:?}, at most {most}: {usual:?}, not {expected:?}");
    Compared::SomeLeftOut
}

/// Small programs, and whether all is found although loops that look again are left out.
fn hand_written() -> Vec<(Vec<Vec<Op>>, Compared)> {
    use Compared::{AllFound, SomeLeftOut};
    let all = |lists: &[&[Op]]| (lists.iter().map(|list| list.to_vec()).collect(), AllFound);
    let some = |lists: &[&[Op]]| (lists.iter().map(|list| list.to_vec()).collect(), SomeLeftOut);
    vec![
        // Without looking again.
        all(&[&[WaitOnce], &[SetAndNotify]]),
        all(&[&[WaitOnce], &[SetAndNotifyInside]]),
        all(&[&[WaitOnce, WaitOnce], &[SetAndNotify]]),
        all(&[&[WaitOnce], &[WaitOnce], &[SetAndNotify]]),
        all(&[&[WaitOnce], &[WaitOnce], &[NotifyAll]]),
        all(&[&[WaitOnce, TryLock], &[TryLock, SetAndNotify]]),
        all(&[&[WaitTimedOnce], &[SetAndNotify]]),
        all(&[&[WaitTimedOnce], &[WaitOnce], &[Notify]]),
        all(&[&[ParkOnce], &[StoreX(1), Unpark]]),
        all(&[&[ParkOnce, ParkOnce], &[Unpark]]),
        all(&[&[ParkTimed, ParkOnce], &[StoreX(1), Unpark]]),
        all(&[&[ParkTimed, ParkTimed], &[Unpark, StoreX(1)]]),
        all(&[&[CasOnce], &[CasOnce]]),
        all(&[&[CasOnce, LoadX], &[StoreX(1), StoreX(0)]]),
        all(&[&[CasTwice], &[CasOnce]]),
        // It depends on what was read.
        all(&[&[WaitMaybe], &[StoreX(1), SetAndNotify]]),
        all(&[&[WaitMaybe, ReadB], &[SetAndNotify, StoreX(1)]]),
        // A turn does something.
        all(&[&[WaitAndCount], &[SetAndNotify]]),
        all(&[&[WaitAndCount], &[SetA(1), SetA(0), SetAndNotify]]),
        all(&[&[WaitAndMark], &[ReadB, SetAndNotify]]),
        all(&[&[WaitAndMark], &[SetAndNotifyInside], &[ReadB]]),
        all(&[&[ParkAndCount], &[StoreX(1), Unpark]]),
        all(&[&[ParkAndCount], &[Unpark, StoreX(1), Unpark]]),
        // Looking again.
        all(&[&[WaitLoop], &[SetAndNotify]]),
        all(&[&[WaitLoop], &[SetB(1), SetAndNotifyInside]]),
        all(&[&[WaitWhile], &[SetAndNotify, SetB(1)]]),
        all(&[&[WaitLoop], &[WaitLoop], &[SetA(1), NotifyAll]]),
        all(&[&[ParkLoop], &[StoreX(1), Unpark]]),
        all(&[&[CasLoop], &[CasLoop]]),
        all(&[&[CasLoadLoop], &[StoreX(1)]]),
        all(&[&[CasSpin], &[CasSpin]]),
        all(&[&[CasOnce], &[CasSpin]]),
        all(&[&[WaitLoop, CasOnce], &[StoreX(1), SetAndNotify]]),
        // Looking again while others have not notified yet.
        all(&[&[WaitLoop], &[SetA(1), SetA(0)]]),
        all(&[&[WaitWhile], &[SetA(1), SetB(1), Notify]]),
        some(&[&[WaitAndPeek], &[SetB(1), SetB(0), SetAndNotify]]),
        some(&[&[ParkAndPeek], &[StoreY(1), StoreY(0), StoreX(1), Unpark]]),
        all(&[&[ParkLoop], &[StoreX(1)]]),
        all(&[&[WaitLoop], &[SetA(1)]]),
        all(&[&[WaitLoop], &[TryLock, SetAndNotify]]),
    ]
}

#[test]
fn programs_written_by_hand() {
    let others = hand_written().into_iter().filter_map(|(lists, expected)| {
        let found = compare(&lists, 1);
        (found != expected).then_some((lists, found))
    });
    assert_eq!(others.collect::<Vec<_>>(), []);
}

#[test]
fn twice_at_each_place() {
    for (lists, _) in hand_written().into_iter().filter(|(lists, _)| lists.len() == 2) {
        compare(&lists, 2);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn op(&mut self, number: usize) -> Op {
        loop {
            let op = match self.below(6) {
                0..=2 => PLAIN[self.below(PLAIN.len())],
                3 => ONCE[self.below(ONCE.len())],
                4 => LOOPS[self.below(LOOPS.len())],
                _ => OTHERS[self.below(OTHERS.len())],
            };
            let op = if number > 0 && op == LoadX { Unpark } else { op };
            if number == 0 || !op.parks() {
                return op;
            }
        }
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "who asks for a campaign wants to know how long it was")]
fn random_programs() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("SELVEDGE_FUZZ_SECONDS");
    let mut random = Random(number("SELVEDGE_FUZZ_SEED").unwrap_or(5));
    let (start, mut compared, mut left_out) = (Instant::now(), 0, 0);
    while compared < share_of(40) || seconds.is_some_and(|most| start.elapsed().as_secs() < most) {
        let threads = 2 + random.below(2);
        let list = |random: &mut Random, number| {
            (0..1 + random.below(4 - threads + 1)).map(|_| random.op(number)).collect::<Vec<_>>()
        };
        let lists: Vec<_> = (0..threads).map(|number| list(&mut random, number)).collect();
        if !lists.iter().flatten().any(|op| op.may_end_without_reason()) {
            continue;
        }
        let result = compare(&lists, 1);
        compared += u64::from(result != Compared::TooLarge);
        left_out += u32::from(result == Compared::SomeLeftOut);
    }
    if seconds.is_some() {
        eprintln!("{compared} programs compared, in {left_out} of them loops see more everywhere");
    }
}
