//! Spin loops as libraries write them: with hints in functions of their own, several of them, backoff, tries that
//! are counted, and timeouts. All come to an end, with the right verdict.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{outcomes, outcomes_with};
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex, mpsc};
use selvedge::{Algorithm, Builder, Outcome, Verdict, hint, thread};

const SOON: Duration = Duration::from_millis(1);

/// Waits for longer each time, as the one of `crossbeam-utils` does.
#[derive(Default)]
struct Backoff {
    step: Cell<u32>,
}

impl Backoff {
    fn spin(&self) {
        for _ in 0..1 << self.step.get().min(6) {
            hint::spin_loop();
        }
        self.step.set((self.step.get() + 1).min(7));
    }

    fn snooze(&self) {
        match self.step.get() {
            few @ 0..=6 => (0..1 << few).for_each(|_| hint::spin_loop()),
            _ => thread::yield_now(),
        }
        self.step.set((self.step.get() + 1).min(11));
    }

    fn is_completed(&self) -> bool {
        self.step.get() > 10
    }
}

#[inline(never)]
fn pause() {
    hint::spin_loop();
}

#[inline(never)]
fn pause_in_two_ways(turn: u32) {
    match turn % 2 {
        0 => hint::spin_loop(),
        _ => thread::yield_now(),
    }
}

/// A way to wait for a flag, and how many executions there are at most: a few more without optimisation.
type Waiting = (&'static str, u64, fn(&AtomicBool));

const WAITS: [Waiting; 12] = [
    ("a function of its own", 6, |flag| {
        while !flag.load(SeqCst) {
            pause();
        }
    }),
    ("two hints", 6, |flag| {
        while !flag.load(SeqCst) {
            hint::spin_loop();
            thread::yield_now();
        }
    }),
    ("two hints, each after a look", 16, |flag| {
        loop {
            if flag.load(SeqCst) {
                break;
            }
            hint::spin_loop();
            if flag.load(SeqCst) {
                break;
            }
            thread::yield_now();
        }
    }),
    ("two hints by turns", 16, |flag| {
        let mut turn = 0;
        while !flag.load(SeqCst) {
            pause_in_two_ways(turn);
            turn = (turn + 1) % 2;
        }
    }),
    ("backoff that spins", 20, |flag| {
        let backoff = Backoff::default();
        while !flag.load(SeqCst) {
            backoff.spin();
        }
    }),
    ("backoff that snoozes", 40, |flag| {
        let backoff = Backoff::default();
        while !flag.load(SeqCst) {
            backoff.snooze();
        }
    }),
    ("backoff, then a park", 40, |flag| {
        let backoff = Backoff::default();
        while !flag.load(SeqCst) {
            match backoff.is_completed() {
                true => thread::park(),
                false => backoff.snooze(),
            }
        }
    }),
    ("tries, then a park", 40, |flag| {
        let mut tries = 0;
        while !flag.load(SeqCst) {
            match tries {
                0..10 => hint::spin_loop(),
                _ => thread::park(),
            }
            tries += 1;
        }
    }),
    ("tries, then others", 20, |flag| {
        'wait: loop {
            for _ in 0..5 {
                if flag.load(SeqCst) {
                    break 'wait;
                }
                hint::spin_loop();
            }
            thread::yield_now();
        }
    }),
    ("more and more tries", 80, |flag| {
        let mut most = 1;
        'wait: loop {
            for _ in 0..most {
                if flag.load(SeqCst) {
                    break 'wait;
                }
                hint::spin_loop();
            }
            most = (most * 2).min(16);
            thread::yield_now();
        }
    }),
    ("sleep", 20, |flag| {
        let mut time = SOON;
        while !flag.load(SeqCst) {
            thread::sleep(time);
            time = (time * 2).min(32 * SOON);
        }
    }),
    ("park with a timeout", 20, |flag| {
        while !flag.load(SeqCst) {
            thread::park_timeout(SOON);
        }
    }),
];

#[test]
fn a_flag_is_waited_for() {
    for (name, most, wait) in WAITS {
        let outcome = Builder::new().explore(move || {
            let shared = Arc::new((AtomicBool::new(false), thread::current()));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                other.0.store(true, SeqCst);
                other.1.unpark();
            });
            wait(&shared.0);
            thread.join().unwrap();
        });
        assert_eq!(outcome.verdict(), Verdict::Verified, "{name}: {}", outcome.text());
        assert!(outcome.executions() <= most, "{name}: {}", outcome.executions());
    }
}

#[test]
fn a_flag_that_nobody_sets() {
    for (name, _, wait) in WAITS {
        let outcome = Builder::new().explore(move || wait(&AtomicBool::new(false)));
        assert_eq!(outcome.verdict(), Verdict::Violated, "{name}: {}", outcome.text());
        let found = outcome.messages();
        assert_eq!(found, ["deadlock: main is blocked"], "{name}: {}", outcome.text());
    }
}

#[test]
fn what_is_seen_between_two_hints_is_explored() {
    // Other results than with one hint, or without any, would be wrong.
    let program = |pauses: [fn(); 2]| {
        let x: Arc<[AtomicUsize; 2]> = Arc::default();
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || {
            other[0].store(1, SeqCst);
            other[1].store(1, SeqCst);
            other[0].store(2, SeqCst);
        });
        let mut seen = Vec::new();
        for turn in 0..3 {
            seen.push((x[0].load(SeqCst), x[1].load(SeqCst)));
            pauses[turn % 2]();
        }
        thread.join().unwrap();
        seen
    };
    let two = outcomes(move || program([hint::spin_loop, thread::yield_now])).0;
    assert_eq!(two, outcomes(move || program([|| (), || ()])).0);
    let oracle = Builder::new().algorithm(Algorithm::Oracle);
    assert_eq!(two, outcomes_with(&oracle, move || program([|| (), || ()])).0);
    // Which of two hints it came from last shows when it goes on.
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let mut turn = 0;
        while !flag.load(SeqCst) {
            pause_in_two_ways(turn);
            turn = (turn + 1) % 4;
        }
        thread.join().unwrap();
        turn
    });
    assert_eq!(found.0, BTreeSet::from([0, 1, 2, 3]));
}

/// Threads that add one each, with what is before and after it.
fn count<S: Send + Sync + Default + 'static>(threads: usize, run: fn(&S, &AtomicUsize)) -> Outcome {
    Builder::new().explore(move || {
        let shared: Arc<(S, AtomicUsize)> = Arc::default();
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || run(&shared.0, &shared.1))
            })
            .collect();
        run(&shared.0, &shared.1);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.1.load(SeqCst), threads);
    })
}

/// Not in one step, so that it shows if two come in at once.
fn add(count: &AtomicUsize) {
    let before = count.load(SeqCst);
    count.store(before + 1, SeqCst);
}

#[test]
fn locks_that_spin() {
    type Ticket = (AtomicUsize, AtomicUsize);
    let verified = [
        count(3, |(next, serving): &Ticket, sum| {
            let mine = next.fetch_add(1, SeqCst);
            while serving.load(SeqCst) != mine {
                hint::spin_loop();
            }
            add(sum);
            serving.store(mine + 1, SeqCst);
        }),
        count(2, |(next, serving): &Ticket, sum| {
            let mine = next.fetch_add(1, SeqCst);
            let backoff = Backoff::default();
            while serving.load(SeqCst) != mine {
                backoff.snooze();
            }
            add(sum);
            serving.store(mine + 1, SeqCst);
        }),
        count(3, |held: &AtomicBool, sum| {
            while held.swap(true, SeqCst) {
                while held.load(SeqCst) {
                    hint::spin_loop();
                }
            }
            add(sum);
            held.store(false, SeqCst);
        }),
        count(2, |held: &AtomicBool, sum| {
            let backoff = Backoff::default();
            while held.compare_exchange_weak(false, true, SeqCst, SeqCst).is_err() {
                backoff.snooze();
            }
            add(sum);
            held.store(false, SeqCst);
        }),
        count(3, |_: &(), sum| {
            let backoff = Backoff::default();
            loop {
                let before = sum.load(SeqCst);
                if sum.compare_exchange(before, before + 1, SeqCst, SeqCst).is_ok() {
                    break;
                }
                backoff.spin();
            }
        }),
    ];
    for (number, outcome) in verified.iter().enumerate() {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{number}: {}", outcome.text());
    }
    let broken = count(2, |held: &AtomicBool, sum| {
        let backoff = Backoff::default();
        while held.load(SeqCst) {
            backoff.snooze();
        }
        held.store(true, SeqCst);
        add(sum);
        held.store(false, SeqCst);
    });
    assert_eq!(broken.verdict(), Verdict::Violated, "{}", broken.text());
}

/// A reader of what is written between two steps of a number.
fn sequence_lock(checks: bool) -> BTreeSet<(usize, usize)> {
    outcomes(move || {
        let shared: Arc<(AtomicUsize, AtomicUsize, AtomicUsize)> = Arc::default();
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.fetch_add(1, SeqCst);
            other.1.store(1, SeqCst);
            other.2.store(1, SeqCst);
            other.0.fetch_add(1, SeqCst);
        });
        let read = loop {
            let before = shared.0.load(SeqCst);
            if before % 2 == 1 {
                hint::spin_loop();
                continue;
            }
            let read = (shared.1.load(SeqCst), shared.2.load(SeqCst));
            if !checks || shared.0.load(SeqCst) == before {
                break read;
            }
            hint::spin_loop();
        };
        thread.join().unwrap();
        read
    })
    .0
}

#[test]
fn a_sequence_lock() {
    assert_eq!(sequence_lock(true), BTreeSet::from([(0, 0), (1, 1)]));
    assert!(sequence_lock(false).len() > 2);
}

#[test]
fn waits_with_a_timeout_in_a_loop() {
    let wait = |sets: bool, notifies: bool| {
        Builder::new().explore(move || {
            let shared: Arc<(Mutex<bool>, Condvar)> = Arc::default();
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = sets;
                if notifies {
                    other.1.notify_all();
                }
            });
            let mut done = shared.0.lock().unwrap();
            while !*done {
                done = shared.1.wait_timeout(done, SOON).unwrap().0;
            }
            drop(done);
            thread.join().unwrap();
        })
    };
    for notifies in [true, false] {
        let outcome = wait(true, notifies);
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
        assert!(outcome.executions() < 10, "{}", outcome.executions());
        let outcome = wait(false, notifies);
        assert_eq!(outcome.messages(), ["deadlock: main is blocked"], "{}", outcome.text());
    }
}

#[test]
fn waits_that_lock_anew() {
    let outcome = Builder::new().explore(|| {
        let shared: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_all();
        });
        loop {
            let done = shared.0.lock().unwrap();
            let (_done, result) = shared.1.wait_timeout_while(done, SOON, |done| !*done).unwrap();
            if !result.timed_out() {
                break;
            }
        }
        thread.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.executions() < 20, "{}", outcome.executions());
}

#[test]
fn messages_with_a_timeout_in_a_loop() {
    type Ends = (Box<dyn Fn(u32) + Send>, mpsc::Receiver<u32>);
    let channels: [fn() -> Ends; 3] = [
        || {
            let (sender, receiver) = mpsc::channel();
            (Box::new(move |message| sender.send(message).unwrap()), receiver)
        },
        || {
            let (sender, receiver) = mpsc::sync_channel(1);
            (Box::new(move |message| sender.send(message).unwrap()), receiver)
        },
        || {
            let (sender, receiver) = mpsc::sync_channel(0);
            (Box::new(move |message| sender.send(message).unwrap()), receiver)
        },
    ];
    for channel in channels {
        let found = outcomes(move || {
            let (send, receiver) = channel();
            let thread = thread::spawn(move || (1..3).for_each(send));
            let mut all = Vec::new();
            loop {
                match receiver.recv_timeout(SOON) {
                    Ok(message) => all.push(message),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            }
            thread.join().unwrap();
            all
        });
        assert_eq!(found.0, BTreeSet::from([vec![1, 2]]));
    }
    let outcome = Builder::new().explore(|| {
        let (_sender, receiver) = mpsc::channel::<u32>();
        while receiver.recv_timeout(SOON).is_err() {}
    });
    assert_eq!(outcome.messages(), ["deadlock: main is blocked"], "{}", outcome.text());
    // How often its time was up is known to the code.
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let tries = (0..3).find(|_| receiver.recv_timeout(SOON).is_ok());
        thread.join().unwrap();
        tries
    });
    assert_eq!(found.0, BTreeSet::from([Some(0), Some(1), Some(2), None]));
}

/// Several flags, one looked at in each turn: the loop touches something else each time, and waits all the same.
#[test]
fn flags_that_are_looked_at_by_turns() {
    for (flags, set) in
        [(2, Some(0)), (2, Some(1)), (3, Some(0)), (3, Some(2)), (2, None), (3, None)]
    {
        let outcome = Builder::new().explore(move || {
            let all: Arc<Vec<AtomicBool>> =
                Arc::new((0..flags).map(|_| AtomicBool::new(false)).collect());
            let seen = Arc::clone(&all);
            let waiter = thread::spawn(move || {
                let mut at = 0;
                while !seen[at].load(SeqCst) {
                    at = (at + 1) % flags;
                    hint::spin_loop();
                }
                at
            });
            if let Some(set) = set {
                all[set].store(true, SeqCst);
            }
            assert_eq!(Some(waiter.join().unwrap()), set);
        });
        let expected = if set.is_some() { Verdict::Verified } else { Verdict::Violated };
        assert_eq!(outcome.verdict(), expected, "{flags} flags, {set:?}: {}", outcome.text());
    }
}
