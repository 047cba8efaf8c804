//! Spin loops that look at locks, or wake others: they go on when what they look at has changed, and only
//! then.

use std::collections::BTreeSet;

use crate::common::outcomes;
use selvedge::sync::atomic::AtomicBool;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Condvar, Mutex, RwLock};
use selvedge::{Builder, Verdict, hint, thread};

/// Runs `wait` beside a thread that does `act`.
fn beside<S: Sync + Send + 'static>(
    state: impl Fn() -> S + 'static,
    act: fn(&S),
    wait: fn(&S),
) -> selvedge::Outcome {
    Builder::new().explore(move || {
        let state = Arc::new(state());
        let other = Arc::clone(&state);
        let thread = thread::spawn(move || act(&other));
        wait(&state);
        thread.join().unwrap();
    })
}

#[test]
fn what_a_lock_guards_wakes_who_looked_at_it() {
    use std::cell::{Cell, RefCell};
    let verified = [
        // Changed through a shared reference, in the lock itself and elsewhere.
        beside(
            || Mutex::new(Cell::new(0)),
            |lock| lock.lock().unwrap().set(1),
            |lock| {
                while lock.lock().unwrap().get() == 0 {
                    hint::spin_loop();
                }
            },
        ),
        beside(
            || Mutex::new(Box::new(RefCell::new(0))),
            |lock| *lock.lock().unwrap().borrow_mut() = 1,
            |lock| {
                while lock.try_lock().is_err() || *lock.lock().unwrap().borrow() == 0 {
                    hint::spin_loop();
                }
            },
        ),
        // Not changed at all, but given up.
        beside(
            || Mutex::new(0),
            |lock| drop(lock.lock().unwrap()),
            |lock| {
                while lock.try_lock().is_err() {
                    hint::spin_loop();
                }
            },
        ),
        beside(
            || RwLock::new(0),
            |lock| drop(lock.read().unwrap()),
            |lock| {
                while lock.try_write().is_err() {
                    hint::spin_loop();
                }
            },
        ),
        beside(
            || RwLock::new(0),
            |lock| *lock.write().unwrap() = 1,
            |lock| {
                while lock.try_read().map_or(0, |value| *value) == 0 {
                    hint::spin_loop();
                }
            },
        ),
    ];
    for (number, outcome) in verified.iter().enumerate() {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{number}: {}", outcome.text());
    }
    // Who gives it up and has changed nothing is not what it waits for.
    let outcome = beside(
        || Mutex::new(0),
        |lock| drop(lock.lock().unwrap()),
        |lock| {
            while *lock.lock().unwrap() == 0 {
                hint::spin_loop();
            }
        },
    );
    assert!(outcome.messages()[0].contains("main is blocked"), "{}", outcome.text());
}

#[test]
fn two_who_look_do_not_wake_each_other() {
    // Before main comes each looks at most twice, and afterwards once.
    type Look = fn(&Mutex<Vec<u32>>) -> bool;
    let looks: [Look; 3] = [
        |queue| queue.lock().unwrap().is_empty(),
        |queue| queue.lock().unwrap().pop().is_none(),
        |queue| queue.try_lock().map_or(true, |mut queue| queue.pop().is_none()),
    ];
    // Who only tries also sees that another holds the lock. The counts are those of every optimisation level.
    for (look, executions) in looks.into_iter().zip([78, 78, 2_648]) {
        // If they did, there would be no end.
        let outcome = Builder::new().max_executions(10_000).explore(move || {
            let queue = Arc::new(Mutex::new(Vec::new()));
            let threads = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    while look(&queue) {
                        thread::yield_now();
                    }
                })
            });
            queue.lock().unwrap().extend([1, 2]);
            _ = threads.map(|thread| thread.join().unwrap());
        });
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
        assert_eq!(outcome.executions(), executions);
    }
}

#[test]
fn a_loop_that_wakes_others_again_and_again() {
    let unparks = beside(
        || (AtomicBool::new(false), thread::current()),
        |(done, main)| {
            while !done.load(SeqCst) {
                main.unpark();
                thread::yield_now();
            }
        },
        |(done, _)| {
            (0..3).for_each(|_| thread::park());
            done.store(true, SeqCst);
        },
    );
    assert_eq!(unparks.verdict(), Verdict::Verified, "{}", unparks.text());
    let notifies = beside(
        || (AtomicBool::new(false), Mutex::new(()), Condvar::new()),
        |(done, _, condition)| {
            while !done.load(SeqCst) {
                condition.notify_all();
                thread::yield_now();
            }
        },
        |(done, lock, condition)| {
            for _ in 0..2 {
                let guard = lock.lock().unwrap();
                drop(condition.wait(guard).unwrap());
            }
            done.store(true, SeqCst);
        },
    );
    assert_eq!(notifies.verdict(), Verdict::Verified, "{}", notifies.text());
}

#[test]
fn what_two_threads_write_is_told_apart() {
    // Both know the same when they write; whether the loop gives up depends on who did. The first loop that
    // is tried out waits: the other must not be taken to do so.
    let found = outcomes(|| {
        let patient = Arc::new(Mutex::new(None));
        let threads = [true, false].map(|is_patient| {
            let patient = Arc::clone(&patient);
            thread::spawn(move || _ = patient.lock().unwrap().get_or_insert(is_patient))
        });
        let patient = loop {
            let seen = *patient.lock().unwrap();
            match seen {
                Some(patient) => break patient,
                None => thread::yield_now(),
            }
        };
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let sets = thread::spawn(move || other.store(true, SeqCst));
        let mut turns = 0;
        let mut set = flag.load(SeqCst);
        while !set && turns < 4 {
            turns += u32::from(!patient);
            hint::spin_loop();
            set = flag.load(SeqCst);
        }
        sets.join().unwrap();
        _ = threads.map(|thread| thread.join().unwrap());
        (patient, set)
    });
    assert_eq!(found.0, BTreeSet::from([(false, false), (false, true), (true, true)]));
}
