//! Channels with a bound against a specification: the same channel as a queue under a mutex, with two
//! conditions. Small random programs must have the same results with both, by the best explorer, and
//! with the real one also by brute force.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::common::outcomes_with;
use selvedge::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use selvedge::sync::{Condvar, Mutex, MutexGuard};
use selvedge::{Algorithm, Builder, thread};
use selvedge_testkit::seeds;

/// What a thread does with its end of a channel.
#[derive(Clone, Copy, Debug)]
enum Do {
    Wait,
    Try,
    Timed,
}

/// A program: the bound, what the receiver does, and what each sender does.
#[derive(Clone, Debug)]
struct Script {
    bound: usize,
    receiver: Vec<Do>,
    senders: Vec<Vec<Do>>,
}

/// Numbers that tell how an operation ended.
const GONE: usize = 100;
const FULL_OR_EMPTY: usize = 101;
const SENT: usize = 102;

trait Sends: Send + 'static {
    fn put(&self, how: Do, message: usize) -> usize;
}

trait Receives {
    fn take(&self, how: Do) -> usize;
}

/// Runs the receiver in main and each sender in a thread; all that they find out.
fn run(script: &Script, ends: (Vec<Box<dyn Sends>>, Box<dyn Receives>)) -> Vec<Vec<usize>> {
    let (senders, receiver) = ends;
    let threads: Vec<_> = senders
        .into_iter()
        .zip(script.senders.clone())
        .enumerate()
        .map(|(number, (sender, all))| {
            thread::spawn(move || {
                let message = |i| 10 * (number + 1) + i;
                let put = |(i, &how)| sender.put(how, message(i));
                all.iter().enumerate().map(put).collect::<Vec<usize>>()
            })
        })
        .collect();
    let mut found = vec![script.receiver.iter().map(|&how| receiver.take(how)).collect()];
    drop(receiver);
    found.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    found
}

impl Sends for SyncSender<usize> {
    fn put(&self, how: Do, message: usize) -> usize {
        match how {
            Do::Wait | Do::Timed => self.send(message).map_or(GONE, |()| SENT),
            Do::Try => match self.try_send(message) {
                Ok(()) => SENT,
                Err(TrySendError::Full(_)) => FULL_OR_EMPTY,
                Err(TrySendError::Disconnected(_)) => GONE,
            },
        }
    }
}

impl Receives for Receiver<usize> {
    fn take(&self, how: Do) -> usize {
        match how {
            Do::Wait => self.recv().unwrap_or(GONE),
            Do::Try => self.try_recv().unwrap_or_else(|error| match error {
                TryRecvError::Empty => FULL_OR_EMPTY,
                TryRecvError::Disconnected => GONE,
            }),
            Do::Timed => self.recv_timeout(Duration::ZERO).unwrap_or_else(|error| match error {
                RecvTimeoutError::Timeout => FULL_OR_EMPTY,
                RecvTimeoutError::Disconnected => GONE,
            }),
        }
    }
}

fn real(script: &Script) -> (Vec<Box<dyn Sends>>, Box<dyn Receives>) {
    let (sender, receiver) = sync_channel(script.bound);
    let senders = script.senders.iter().map(|_| Box::new(sender.clone()) as Box<dyn Sends>);
    (senders.collect(), Box::new(receiver))
}

/// The specification.
struct Channel {
    bound: usize,
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

struct State {
    queue: VecDeque<usize>,
    sent: usize,
    taken: usize,
    senders: usize,
    receiver: bool,
    waits: bool,
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn pop(&self, state: &mut State) -> Option<usize> {
        let message = state.queue.pop_front()?;
        state.taken += 1;
        self.emptied.notify_all();
        Some(message)
    }
}

struct SpecSender(Arc<Channel>);

impl Sends for SpecSender {
    fn put(&self, how: Do, message: usize) -> usize {
        let Channel { bound, ref filled, ref emptied, .. } = *self.0;
        let mut state = self.0.lock();
        let room = |state: &State| match (how, bound) {
            (Do::Try, 0) => state.waits && state.queue.is_empty(),
            _ => state.queue.len() < bound.max(1),
        };
        if matches!(how, Do::Try) && state.receiver && !room(&state) {
            return FULL_OR_EMPTY;
        }
        while state.receiver && !room(&state) {
            state = emptied.wait(state).unwrap();
        }
        if !state.receiver {
            return GONE;
        }
        let ticket = state.sent;
        state.sent += 1;
        state.queue.push_back(message);
        filled.notify_all();
        while !matches!(how, Do::Try) && bound == 0 && state.receiver && state.taken <= ticket {
            state = emptied.wait(state).unwrap();
        }
        if !matches!(how, Do::Try) && bound == 0 && state.taken <= ticket { GONE } else { SENT }
    }
}

impl Drop for SpecSender {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.filled.notify_all();
    }
}

struct SpecReceiver(Arc<Channel>);

impl Receives for SpecReceiver {
    fn take(&self, how: Do) -> usize {
        let mut state = self.0.lock();
        loop {
            if let Some(message) = self.0.pop(&mut state) {
                return message;
            }
            if state.senders == 0 {
                return GONE;
            }
            match how {
                Do::Try => return FULL_OR_EMPTY,
                Do::Wait => {
                    state.waits = true;
                    state = self.0.filled.wait(state).unwrap();
                }
                Do::Timed => {
                    state.waits = true;
                    let (guard, result) =
                        self.0.filled.wait_timeout(state, Duration::ZERO).unwrap();
                    state = guard;
                    if result.timed_out() {
                        state.waits = false;
                        return self.0.pop(&mut state).unwrap_or(FULL_OR_EMPTY);
                    }
                }
            }
            state.waits = false;
        }
    }
}

impl Drop for SpecReceiver {
    fn drop(&mut self) {
        self.0.lock().receiver = false;
        self.0.emptied.notify_all();
    }
}

fn specified(script: &Script) -> (Vec<Box<dyn Sends>>, Box<dyn Receives>) {
    let senders = script.senders.len();
    let state =
        State { queue: VecDeque::new(), sent: 0, taken: 0, senders, receiver: true, waits: false };
    let (filled, emptied) = (Condvar::new(), Condvar::new());
    let channel =
        Arc::new(Channel { bound: script.bound, state: Mutex::new(state), filled, emptied });
    let sender = |_| Box::new(SpecSender(Arc::clone(&channel))) as Box<dyn Sends>;
    (script.senders.iter().map(sender).collect(), Box::new(SpecReceiver(channel)))
}

type Ends = fn(&Script) -> (Vec<Box<dyn Sends>>, Box<dyn Receives>);

fn results(script: &Script, ends: Ends, algorithm: Algorithm) -> BTreeSet<Vec<Vec<usize>>> {
    let script = script.clone();
    let builder = Builder::new().algorithm(algorithm);
    outcomes_with(&builder, move || run(&script, ends(&script))).0
}

fn compare(script: &Script) {
    let found = results(script, real, Algorithm::Optimal);
    let specified = results(script, specified, Algorithm::Optimal);
    assert_eq!(found, specified, "{script:?}: found on the left, specified on the right");
    let brute = results(script, real, Algorithm::Oracle);
    assert_eq!(found, brute, "{script:?}: all interleavings on the right");
}

#[test]
fn one_of_each() {
    use Do::{Timed, Try, Wait};
    for bound in 0..3 {
        for how in [Wait, Try, Timed] {
            for put in [Wait, Try] {
                compare(&Script {
                    bound,
                    receiver: vec![how, Wait],
                    senders: vec![vec![put, Wait]],
                });
            }
        }
    }
}

#[test]
fn random_programs() {
    let mut seed = 1_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let kinds = [Do::Wait, Do::Try, Do::Timed];
    for _ in seeds(60) {
        let bound = next(3) as usize;
        let mut list = |most: u64| -> Vec<Do> {
            (0..next(most + 1)).map(|_| kinds[next(3) as usize]).collect()
        };
        let receiver = list(2);
        let senders = vec![list(2), list(1)];
        compare(&Script { bound, receiver, senders });
    }
}
