//! Random programs: each thread has a list of operations on what all share.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::atomic::{AtomicPtr, AtomicUsize};
use crate::sync::{self, Barrier, Condvar, Mutex, MutexGuard, Once, OnceLock, RwLock, mpsc};
use crate::thread;

/// One operation of a random program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Load(usize),
    Store(usize, usize),
    Add(usize),
    Exchange(usize, usize),
    Lock,
    TryLock,
    Nested,
    /// Panics while it has the lock.
    PanicLock,
    IsPoisoned,
    ClearPoison,
    Read,
    Write,
    TryRead,
    TryWrite,
    Send,
    DropSender,
    Receive,
    TryReceive,
    ReceiveTimed,
    DropReceiver,
    SendBounded,
    TrySendBounded,
    TryReceiveBounded,
    NotifyOne,
    NotifyAll,
    Wait,
    WaitTimed,
    Meet,
    Unpark,
    Park,
    ParkTimed,
    /// A thread that ends at once.
    Spawn,
    /// A thread whose result writes when it is dropped, and whose handle is.
    Detach(usize),
    /// A thread-local value that writes when it is dropped.
    Local(usize),
    SpinUntil(usize),
    SpinLock,
    SpinTryLock,
    SpinUntilGone,
    Fill(usize),
    CallOnce(usize),
    PanicOnce,
    WaitOnce,
    Upgrade,
    CountReferences,
    DropReference,
    /// A new box takes the place of another, which is freed, or nothing does.
    Replace,
    Take,
    /// Uses the box that is there.
    UseBox,
}

impl Step {
    /// Returns whether it is a loop that gives up.
    pub(super) fn is_spin(self) -> bool {
        use Step::{SpinLock, SpinTryLock, SpinUntil, SpinUntilGone};
        matches!(self, SpinUntil(_) | SpinLock | SpinTryLock | SpinUntilGone)
    }

    const COUNT: usize = 48;

    /// The operations, with `i` for a cell and `value` for what it has.
    fn all(i: usize, value: usize) -> [Step; Self::COUNT] {
        use Step::*;
        [
            Load(i),
            Store(i, 1),
            Add(i),
            Exchange(i, value),
            Lock,
            TryLock,
            Nested,
            PanicLock,
            IsPoisoned,
            ClearPoison,
            Read,
            Write,
            TryRead,
            TryWrite,
            Send,
            DropSender,
            Receive,
            TryReceive,
            ReceiveTimed,
            DropReceiver,
            SendBounded,
            TrySendBounded,
            TryReceiveBounded,
            NotifyOne,
            NotifyAll,
            Wait,
            WaitTimed,
            Meet,
            Unpark,
            Park,
            ParkTimed,
            Spawn,
            Detach(i),
            Local(i),
            SpinUntil(i),
            SpinLock,
            SpinTryLock,
            SpinUntilGone,
            Fill(i),
            CallOnce(i),
            PanicOnce,
            WaitOnce,
            Upgrade,
            CountReferences,
            DropReference,
            Replace,
            Take,
            UseBox,
        ]
    }
}

/// What all threads share. Parts of one thread alone lie at its number.
struct State {
    cells: Arc<[AtomicUsize; 2]>,
    lock: Mutex<usize>,
    shared: RwLock<usize>,
    condition: Condvar,
    meeting: Barrier,
    senders: Own<mpsc::Sender<usize>>,
    receiver: Own<mpsc::Receiver<usize>>,
    bounded: mpsc::SyncSender<usize>,
    bounded_receiver: Own<mpsc::Receiver<usize>>,
    main: thread::Thread,
    filled: OnceLock<usize>,
    once: Once,
    references: Own<sync::Arc<u8>>,
    weak: sync::Weak<u8>,
    boxed: AtomicPtr<AtomicUsize>,
}

// SAFETY: threads of checked code run one at a time; parts of one thread are used by it alone.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

/// Something that each thread has one of, or the first thread alone.
struct Own<T>(Vec<RefCell<Option<T>>>);

impl<T> Own<T> {
    fn new(all: impl IntoIterator<Item = T>) -> Self {
        Self(all.into_iter().map(|one| RefCell::new(Some(one))).collect())
    }

    /// What `f` finds out with it, if it is still there. It is away meanwhile, so that nothing is borrowed
    /// while others run.
    fn with(&self, me: usize, f: impl FnOnce(&T) -> usize) -> usize {
        let Some(one) = self.take(me) else { return 7 };
        let result = f(&one);
        *self.0[me].borrow_mut() = Some(one);
        result
    }

    fn take(&self, me: usize) -> Option<T> {
        self.0.get(me)?.borrow_mut().take()
    }
}

/// Adds to a cell when it is dropped.
struct OnDrop(Arc<[AtomicUsize; 2]>, usize);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0[self.1].fetch_add(3, SeqCst);
    }
}

crate::thread_local! {
    static LAST: Cell<Option<OnDrop>> = const { Cell::new(None) };
}

fn lock(state: &State) -> (MutexGuard<'_, usize>, usize) {
    state.lock.lock().map_or_else(|error| (error.into_inner(), 10), |guard| (guard, 0))
}

/// Runs `f`, which panics.
fn panics(f: impl FnOnce()) -> usize {
    usize::from(catch_unwind(AssertUnwindSafe(f)).is_err())
}

/// Performs a step of the thread with number `me`; returns what it found out.
fn perform(state: &State, step: Step, me: usize, pause: fn()) -> usize {
    match step {
        Step::Load(i) => state.cells[i].load(SeqCst),
        Step::Store(i, value) => done(|| state.cells[i].store(value, SeqCst)),
        Step::Add(i) => state.cells[i].fetch_add(1, SeqCst),
        Step::Exchange(i, value) => {
            state.cells[i].compare_exchange(value, me + 2, SeqCst, SeqCst).unwrap_or(9)
        }
        Step::Lock | Step::TryLock | Step::Nested | Step::PanicLock => with_lock(state, step),
        Step::IsPoisoned => usize::from(state.lock.is_poisoned()),
        Step::ClearPoison => done(|| state.lock.clear_poison()),
        Step::Read => *state.shared.read().unwrap(),
        Step::Write => done(|| *state.shared.write().unwrap() += 1),
        Step::TryRead => state.shared.try_read().map_or(9, |guard| *guard),
        Step::TryWrite => state.shared.try_write().map_or(9, |mut guard| {
            *guard += 1;
            *guard
        }),
        Step::NotifyOne => done(|| state.condition.notify_one()),
        Step::NotifyAll => done(|| state.condition.notify_all()),
        Step::Wait => match state.condition.wait(lock(state).0) {
            Ok(guard) => *guard,
            Err(poisoned) => **poisoned.get_ref() + 10,
        },
        Step::WaitTimed => match state.condition.wait_timeout(lock(state).0, Duration::ZERO) {
            Ok((guard, result)) => *guard * 2 + usize::from(result.timed_out()),
            Err(poisoned) => 20 + usize::from(poisoned.get_ref().1.timed_out()),
        },
        Step::Meet => usize::from(state.meeting.wait().is_leader()),
        Step::Upgrade => usize::from(state.weak.upgrade().is_some()),
        Step::CountReferences => state.references.with(me, sync::Arc::strong_count),
        Step::DropReference => done(|| drop(state.references.take(me))),
        Step::Fill(i) => *state.filled.get_or_init(|| state.cells[i].load(SeqCst) + me),
        Step::CallOnce(i) => {
            let mut ran = 0;
            state.once.call_once_force(|once| {
                ran = 1 + usize::from(once.is_poisoned()) + 2 * state.cells[i].load(SeqCst);
            });
            ran
        }
        Step::PanicOnce => panics(|| state.once.call_once(|| panic!("on purpose"))),
        Step::WaitOnce => panics(|| state.once.wait()),
        Step::SpinUntil(_) | Step::SpinLock | Step::SpinTryLock | Step::SpinUntilGone => {
            spin(state, step, pause)
        }
        Step::Replace | Step::Take | Step::UseBox => boxes(state, step),
        Step::Unpark | Step::Park | Step::ParkTimed => parking(state, step, me),
        Step::Spawn | Step::Detach(_) | Step::Local(_) => threads(state, step),
        _ => channels(state, step, me),
    }
}

/// Frees boxes that others may still use.
fn boxes(state: &State, step: Step) -> usize {
    let new = match step {
        Step::UseBox => {
            let found = state.boxed.load(SeqCst);
            // SAFETY: none. If it was freed, this is noticed.
            return unsafe { found.as_ref() }.map_or(9, |found| found.fetch_add(1, SeqCst));
        }
        Step::Replace => Box::into_raw(Box::new(AtomicUsize::new(1))),
        _ => std::ptr::null_mut(),
    };
    done(|| free(state.boxed.swap(new, SeqCst)))
}

fn free(found: *mut AtomicUsize) {
    if !found.is_null() {
        // SAFETY: it was taken out of where it was, so that it is freed once.
        drop(unsafe { Box::from_raw(found) });
    }
}

/// Does something that finds out nothing.
fn done(f: impl FnOnce()) -> usize {
    f();
    0
}

fn with_lock(state: &State, step: Step) -> usize {
    match step {
        Step::TryLock => state.lock.try_lock().map_or(9, |guard| *guard),
        Step::Nested => *lock(state).0 + *state.shared.read().unwrap(),
        Step::PanicLock => panics(|| {
            let _guard = lock(state);
            panic!("on purpose");
        }),
        _ => {
            let (mut guard, poisoned) = lock(state);
            *guard += 1;
            *guard + poisoned
        }
    }
}

fn channels(state: &State, step: Step, me: usize) -> usize {
    match step {
        Step::Send => state.senders.with(me, |sender| sender.send(me).map_or(9, |()| 0)),
        Step::DropSender => done(|| drop(state.senders.take(me))),
        Step::Receive => state.receiver.with(me, |receiver| receiver.recv().unwrap_or(9)),
        Step::TryReceive => state.receiver.with(me, |receiver| match receiver.try_recv() {
            Ok(message) => message,
            Err(error) => 8 + usize::from(error == mpsc::TryRecvError::Disconnected),
        }),
        Step::ReceiveTimed => {
            state.receiver.with(me, |receiver| match receiver.recv_timeout(Duration::ZERO) {
                Ok(message) => message,
                Err(error) => 8 + usize::from(error == mpsc::RecvTimeoutError::Disconnected),
            })
        }
        Step::DropReceiver => done(|| drop(state.receiver.take(me))),
        // Main receives, so it does not wait for room.
        Step::SendBounded if me == 0 => 0,
        Step::SendBounded => state.bounded.send(me).map_or(9, |()| 0),
        Step::TrySendBounded => state.bounded.try_send(me).map_or(9, |()| 0),
        _ => state.bounded_receiver.with(me, |receiver| receiver.try_recv().unwrap_or(9)),
    }
}

fn parking(state: &State, step: Step, me: usize) -> usize {
    match (step, me) {
        (Step::Unpark, _) => done(|| state.main.unpark()),
        (Step::Park, 0) => done(|| thread::park()),
        (Step::ParkTimed, 0) => done(|| thread::park_timeout(Duration::ZERO)),
        _ => 0,
    }
}

fn threads(state: &State, step: Step) -> usize {
    let value = |i| OnDrop(Arc::clone(&state.cells), i);
    match step {
        Step::Detach(i) => {
            let value = value(i);
            let child = thread::spawn(|| value);
            let seen = state.cells[i].load(SeqCst);
            drop(child);
            seen
        }
        Step::Local(i) => done(|| LAST.set(Some(value(i)))),
        _ => {
            let child = thread::spawn(|| ());
            usize::from(child.is_finished())
        }
    }
}

/// Waits, but not for long.
fn spin(state: &State, step: Step, pause: fn()) -> usize {
    let goes_on = || match step {
        Step::SpinUntil(i) => state.cells[i].load(SeqCst) == 0,
        Step::SpinLock => *lock(state).0 == 0,
        Step::SpinTryLock => state.lock.try_lock().map_or(true, |guard| *guard == 0),
        _ => state.weak.upgrade().is_some(),
    };
    let mut turns = 0;
    while turns < 3 && goes_on() {
        pause();
        turns += 1;
    }
    turns
}

/// Main runs the first list, and a thread each of the others. `pause`: what spin loops do in a turn.
pub(super) fn program(lists: &[Vec<Step>], pause: fn()) -> Vec<usize> {
    let (sender, receiver) = mpsc::channel();
    let (bounded, bounded_receiver) = mpsc::sync_channel(1);
    let reference = sync::Arc::new(0);
    let weak = sync::Arc::downgrade(&reference);
    let state = Arc::new(State {
        cells: Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]),
        lock: Mutex::new(0),
        shared: RwLock::new(0),
        condition: Condvar::new(),
        meeting: Barrier::new(2),
        senders: Own::new(std::iter::repeat_n(sender, lists.len())),
        receiver: Own::new([receiver]),
        bounded,
        bounded_receiver: Own::new([bounded_receiver]),
        main: thread::current(),
        filled: OnceLock::new(),
        once: Once::new(),
        references: Own::new(std::iter::repeat_n(reference, lists.len())),
        weak,
        boxed: AtomicPtr::new(Box::into_raw(Box::new(AtomicUsize::new(1)))),
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
    free(state.boxed.load(SeqCst));
    outcome
}

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// All operations of a program are taken from a few kinds, so that they meet.
    pub(super) fn kinds(&mut self) -> Vec<usize> {
        (0..4).map(|_| self.below(Step::COUNT as u64) as usize).collect()
    }

    /// An access to a cell, or one of these kinds.
    pub(super) fn step(&mut self, kinds: &[usize]) -> Step {
        let (i, value) = (self.below(2) as usize, self.below(2) as usize);
        let kind = match self.below(4) {
            0 => self.below(4) as usize,
            _ => kinds[self.below(kinds.len() as u64) as usize],
        };
        Step::all(i, value)[kind]
    }
}
