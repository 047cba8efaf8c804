//! What `std` lets end spuriously, does: code that does not look again is found, and code that does costs
//! no execution.

use std::time::Duration;

use crate::common::{executions, outcomes_with};
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Algorithm, Builder, Outcome, Verdict, ViolationKind, thread};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Oracle,
    Algorithm::Sleep,
    Algorithm::Source,
    Algorithm::Parsimonious,
    Algorithm::Quasi,
    Algorithm::Optimal,
];

/// Violated, by all explorers, and only because something ends spuriously.
#[track_caller]
fn fails(program: fn()) -> Outcome {
    let outcomes = ALGORITHMS.map(|algorithm| {
        let outcome = Builder::new().algorithm(algorithm).explore(program);
        assert_eq!(outcome.verdict(), Verdict::Violated, "{algorithm:?}: {}", outcome.text());
        outcome
    });
    let [.., last] = outcomes;
    assert!(last.text().contains("spuriously"), "{}", last.text());
    let again = Builder::new().replay(&last.schedules()[0]).explore(program);
    assert_eq!(again.messages(), last.messages());
    let never = Builder::new().spurious(0).explore(program);
    assert_eq!(never.verdict(), Verdict::Verified, "{}", never.text());
    last
}

/// Holds, in as many executions as if nothing ended spuriously.
#[track_caller]
fn costs_nothing(program: fn()) {
    let never = outcomes_with(&Builder::new().spurious(0), program).1;
    assert_eq!(executions(program), never, "on the right if nothing ends spuriously");
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
    assert!(once.json().contains("at most once for each thread and place"), "{}", once.json());
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

/// What a thread read before decides whether it looks again: at the same place, after as many operations.
#[test]
fn what_was_read_decides_whether_it_looks_again() {
    fails(|| {
        let (pair, other) = flag();
        let careless = Arc::new(AtomicBool::new(false));
        let sets = Arc::clone(&careless);
        thread::spawn(move || {
            sets.store(true, SeqCst);
            set(&other);
        });
        let looks_again = !careless.load(SeqCst);
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
            if !looks_again {
                break;
            }
        }
        assert!(*ready, "woken, but not ready");
    });
}

#[test]
fn turns_that_do_something() {
    // It counts under the lock.
    fails(|| {
        let pair = Arc::new((Mutex::new((false, 0)), Condvar::new()));
        let other = Arc::clone(&pair);
        thread::spawn(move || {
            other.0.lock().unwrap().0 = true;
            other.1.notify_one();
        });
        let mut data = pair.0.lock().unwrap();
        while !data.0 {
            data = pair.1.wait(data).unwrap();
            data.1 += 1;
        }
        assert!(data.1 <= 1, "woken twice");
    });
    // It leaves a mark under the lock, once.
    fails(|| {
        let pair = Arc::new((Mutex::new((false, false)), Condvar::new()));
        let other = Arc::clone(&pair);
        thread::spawn(move || {
            let mut data = other.0.lock().unwrap();
            assert!(!data.1, "woken before it was notified");
            data.0 = true;
            other.1.notify_one();
        });
        let mut data = pair.0.lock().unwrap();
        while !data.0 {
            data = pair.1.wait(data).unwrap();
            data.1 = true;
        }
    });
    // It counts for itself.
    fails(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let (mut ready, mut turns) = (pair.0.lock().unwrap(), 0);
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
            turns += 1;
        }
        assert!(turns <= 1, "woken twice");
    });
    // The condition itself counts.
    fails(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut calls = 0;
        let condition = |ready: &mut bool| {
            calls += 1;
            !*ready
        };
        drop(pair.1.wait_while(pair.0.lock().unwrap(), condition).unwrap());
        assert!(calls <= 2, "woken twice");
    });
}

/// More turns than are followed: that it counts is seen nevertheless.
#[test]
fn a_wait_in_a_loop_that_counts_far() {
    let outcome = Builder::new().explore(|| {
        let (pair, other) = flag();
        thread::spawn(move || set(&other));
        let mut ready = pair.0.lock().unwrap();
        for _ in 0..1_000 {
            if !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
        }
        assert!(*ready, "woken, but not ready");
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(
        outcome.text().contains("at most once for each thread and place"),
        "{}",
        outcome.text()
    );
}

/// A spin loop elsewhere changes nothing.
#[test]
fn a_weak_compare_exchange_beside_a_spin_loop() {
    fails(|| {
        let (taken, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let other = Arc::clone(&done);
        thread::spawn(move || other.store(true, SeqCst));
        while !done.load(SeqCst) {
            selvedge::hint::spin_loop();
        }
        assert!(taken.compare_exchange_weak(false, true, SeqCst, SeqCst).is_ok(), "not mine");
    });
    // It spins only if it fails.
    costs_nothing(|| {
        let lock = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&lock);
        let take = |lock: &AtomicBool| {
            while lock.compare_exchange_weak(false, true, SeqCst, SeqCst).is_err() {
                selvedge::hint::spin_loop();
            }
            lock.store(false, SeqCst);
        };
        let thread = thread::spawn(move || take(&other));
        take(&lock);
        thread.join().unwrap();
    });
}

/// `park` with a timeout may return spuriously and leave the token, as `park`.
#[test]
fn parking_with_a_timeout_leaves_the_token() {
    let run = |builder: &Builder| {
        outcomes_with(builder, || {
            thread::current().unpark();
            thread::park_timeout(Duration::from_secs(1));
            // It only looks whether the token is there: without it the time is up in one of two executions.
            let ready = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&ready);
            thread::spawn(move || other.store(true, SeqCst));
            thread::park_timeout(Duration::from_secs(1));
            ready.load(SeqCst)
        })
        .1
    };
    assert!(run(&Builder::new()) > run(&Builder::new().spurious(0)));
}

/// A loop that looks again, and wakes before it is notified, may see what others are about to undo: that is left out,
/// and the report says so.
#[test]
fn loops_that_look_again_are_left_out_unless_asked_for() {
    fn program() {
        let ready = Arc::new(AtomicBool::new(false));
        let halfway = Arc::new(AtomicBool::new(false));
        let (sets, passes, main) = (Arc::clone(&ready), Arc::clone(&halfway), thread::current());
        thread::spawn(move || {
            passes.store(true, SeqCst);
            passes.store(false, SeqCst);
            sets.store(true, SeqCst);
            main.unpark();
        });
        while !ready.load(SeqCst) {
            thread::park();
            assert!(!halfway.load(SeqCst), "only halfway");
        }
    }
    let usual = Builder::new().explore(program);
    assert_eq!(usual.verdict(), Verdict::Verified, "{}", usual.text());
    assert!(usual.text().contains("where the code rechecks"), "{}", usual.text());
    assert!(usual.json().contains("where the code rechecks"), "{}", usual.json());
    let everywhere = Builder::new().spurious_everywhere(true).explore(program);
    assert_eq!(everywhere.verdict(), Verdict::Violated, "{}", everywhere.text());
}

/// What it looks at after it woke is what others set meanwhile: whether it looks again then depends on when it wakes.
#[test]
fn what_others_did_before_decides_whether_it_looks_again() {
    type Shared = (Flag, AtomicBool);
    fn waits((pair, careless): &Shared) {
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
            if careless.load(SeqCst) {
                break;
            }
        }
        assert!(*ready, "woken, but not ready");
    }
    fn notifies((pair, careless): &Shared) {
        careless.store(true, SeqCst);
        set(pair);
    }
    fn spawns(first: fn(&Shared), second: fn(&Shared)) {
        let shared = Arc::new(((Mutex::new(false), Condvar::new()), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        thread::spawn(move || first(&other));
        second(&shared);
    }
    let programs: [fn(); 2] = [|| spawns(notifies, waits), || spawns(waits, notifies)];
    for program in programs {
        let found = ALGORITHMS.map(|algorithm| {
            let builder = Builder::new().algorithm(algorithm);
            let everywhere = builder.clone().spurious_everywhere(true).explore(program);
            let text = everywhere.text();
            assert_eq!(everywhere.verdict(), Verdict::Violated, "{algorithm:?}: {text}");
            builder.explore(program).kinds()
        });
        // Otherwise it depends on the order of executions: one in which it has not yet been seen to look again may show it.
        let is_right =
            |kinds: &Vec<ViolationKind>| kinds.iter().all(|it| *it == ViolationKind::Panic);
        assert!(found.iter().all(is_right), "{found:?}");
    }
}
