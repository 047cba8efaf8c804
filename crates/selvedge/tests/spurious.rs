//! What `std` lets end without reason, does: code that does not look again is found, and code that does costs
//! no execution.

mod common;

use std::time::Duration;

use common::{executions, outcomes_with};
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Algorithm, Builder, Outcome, Verdict, thread};

/// Violated, by all explorers, and only because something ends without reason.
#[track_caller]
fn fails(program: fn()) -> Outcome {
    let algorithms = [Algorithm::Oracle, Algorithm::Source, Algorithm::Quasi, Algorithm::Optimal];
    let outcomes = algorithms.map(|algorithm| {
        let outcome = Builder::new().algorithm(algorithm).explore(program);
        assert_eq!(outcome.verdict(), Verdict::Violated, "{algorithm:?}: {}", outcome.text());
        outcome
    });
    let [.., last] = outcomes;
    assert!(last.text().contains("without reason"), "{}", last.text());
    let again = Builder::new().replay(&last.schedules()[0]).explore(program);
    assert_eq!(again.messages(), last.messages());
    let never = Builder::new().spurious(0).explore(program);
    assert_eq!(never.verdict(), Verdict::Verified, "{}", never.text());
    last
}

/// Holds, in as many executions as if nothing ended without reason.
#[track_caller]
fn costs_nothing(program: fn()) {
    let never = outcomes_with(&Builder::new().spurious(0), program).1;
    assert_eq!(executions(program), never);
}

type Flag = (Mutex<bool>, Condvar);

fn flag() -> (Arc<Flag>, Arc<Flag>) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    (Arc::clone(&pair), pair)
}

fn set(pair: &(Mutex<bool>, Condvar)) {
    *pair.0.lock().unwrap() = true;
    pair.1.notify_one();
}

#[test]
fn a_wait_without_a_loop() {
    fails(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut ready = pair.0.lock().unwrap();
        if !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        assert!(*ready, "woken, but not ready");
    });
}

#[test]
fn a_wait_with_a_timeout_that_did_not_time_out() {
    fails(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut ready = pair.0.lock().unwrap();
        if !*ready {
            let (guard, result) = pair.1.wait_timeout(ready, Duration::from_secs(1)).unwrap();
            assert!(*guard || result.timed_out(), "woken, but not ready");
            ready = guard;
        }
        drop(ready);
    });
}

/// It gives up after a few turns.
#[test]
fn a_wait_in_a_loop_that_counts() {
    fn program() {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut ready = pair.0.lock().unwrap();
        for _ in 0..2 {
            if !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
        }
        assert!(*ready, "woken, but not ready");
    }
    // Each turn is at the same place: once is not enough, and the report says so.
    let once = Builder::new().explore(program);
    assert!(once.json().contains("at most 1 for each thread and place"), "{}", once.json());
    let twice = Builder::new().spurious(2).explore(program);
    assert_eq!(twice.verdict(), Verdict::Violated, "{}", twice.text());
}

#[test]
fn waits_in_loops() {
    costs_nothing(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
    });
    costs_nothing(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        loop {
            let ready = pair.0.lock().unwrap();
            if *ready {
                break;
            }
            drop(pair.1.wait(ready).unwrap());
        }
    });
    costs_nothing(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap());
    });
}

/// The same line of code, called from a loop and from elsewhere.
#[test]
fn a_wait_in_a_function() {
    fn wait(pair: &(Mutex<bool>, Condvar)) {
        let ready = pair.0.lock().unwrap();
        if !*ready {
            drop(pair.1.wait(ready).unwrap());
        }
    }
    fails(|| {
        let (pair, other) = flag();
        let more = Arc::clone(&other);
        let first = thread::spawn(move || {
            while !*other.0.lock().unwrap() {
                wait(&other);
            }
        });
        thread::spawn(move || {
            *more.0.lock().unwrap() = true;
            more.1.notify_all();
        });
        wait(&pair);
        assert!(*pair.0.lock().unwrap(), "woken, but not ready");
        first.join().unwrap();
    });
}

#[test]
fn parking_without_looking_again() {
    fails(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&ready), thread::current());
        thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        thread::park();
        assert!(ready.load(SeqCst), "unparked, but not ready");
    });
}

#[test]
fn parking_in_a_loop() {
    costs_nothing(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&ready), thread::current());
        thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        while !ready.load(SeqCst) {
            thread::park();
        }
    });
}

#[test]
fn a_weak_compare_exchange_where_a_strong_one_is_needed() {
    fails(|| {
        let taken = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&taken);
        let take =
            |taken: &AtomicBool| taken.compare_exchange_weak(false, true, SeqCst, SeqCst).is_ok();
        let thread = thread::spawn(move || take(&other));
        let mine = take(&taken);
        assert!(mine ^ thread.join().unwrap(), "one of the two has it");
    });
}

#[test]
fn weak_compare_exchanges_in_loops() {
    fn add(x: &AtomicUsize) {
        let mut old = x.load(SeqCst);
        while let Err(found) = x.compare_exchange_weak(old, old + 1, SeqCst, SeqCst) {
            old = found;
        }
    }
    costs_nothing(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || add(&other));
        add(&x);
        thread.join().unwrap();
        assert_eq!(x.load(SeqCst), 2);
    });
    // As a push to a stack: what it writes in each turn is what is there.
    costs_nothing(|| {
        let (head, next) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let other = Arc::clone(&head);
        thread::spawn(move || other.store(5, SeqCst));
        loop {
            let old = head.load(SeqCst);
            next.store(old, SeqCst);
            if head.compare_exchange_weak(old, 7, SeqCst, SeqCst).is_ok() {
                break;
            }
        }
    });
}
