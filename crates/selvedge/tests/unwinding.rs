//! Threads that panic: what their destructors do are steps like all others. All results, by several
//! algorithms and by brute force.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Condvar, Mutex, Once, RwLock, TryLockError};
use selvedge::{Algorithm, Builder, Verdict, thread};

/// All results of a program in which threads panic.
#[track_caller]
fn expect<const N: usize>(results: [usize; N], program: impl Fn() -> usize + Copy + 'static) {
    let algorithms = [Algorithm::Optimal, Algorithm::Source, Algorithm::Quasi, Algorithm::Oracle];
    for algorithm in algorithms {
        let all = Rc::new(RefCell::new(BTreeSet::new()));
        let seen = Rc::clone(&all);
        let builder = Builder::new().algorithm(algorithm).panics_are_results(true);
        let outcome = builder.explore(move || {
            let result = program();
            seen.borrow_mut().insert(result);
        });
        assert_eq!(outcome.verdict(), Verdict::Verified, "{algorithm:?}: {}", outcome.text());
        let redundant = outcome.report().counts.redundant;
        assert!(redundant == 0 || algorithm == Algorithm::Source, "{algorithm:?}: {redundant}");
        assert_eq!(*all.borrow(), BTreeSet::from(results), "{algorithm:?}");
    }
}

/// 0: free, 1: taken, 2: poisoned.
fn tried<G>(result: Result<G, TryLockError<G>>) -> usize {
    match result {
        Ok(_) => 0,
        Err(TryLockError::WouldBlock) => 1,
        Err(TryLockError::Poisoned(_)) => 2,
    }
}

#[test]
fn a_mutex_is_poisoned_when_it_is_given_up() {
    expect([0, 1, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17], || {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            other.1.load(SeqCst);
            panic!("while it has the lock");
        });
        let other = Arc::clone(&shared);
        let tries = thread::spawn(move || tried(other.0.try_lock()));
        let mine = tried(shared.0.try_lock());
        let poisoned = shared.0.is_poisoned();
        assert!(panics.join().is_err());
        mine + 3 * tries.join().unwrap() + 9 * usize::from(poisoned)
    });
}

#[test]
fn a_reader_writer_lock_is_poisoned_by_writers() {
    expect([0, 3, 4, 5], || {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            let _guard = other.0.write().unwrap();
            other.1.load(SeqCst);
            panic!("while it writes");
        });
        let first = tried(shared.0.try_read());
        let second = usize::from(shared.0.read().is_err());
        assert!(panics.join().is_err());
        first + 3 * second
    });
    expect([0], || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let panics = thread::spawn(move || {
            let _guard = other.read().unwrap();
            panic!("while it reads");
        });
        drop(lock.write().unwrap());
        assert!(panics.join().is_err());
        usize::from(lock.is_poisoned())
    });
}

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn others_come_between_the_steps_of_a_destructor() {
    expect([110, 111, 150, 151, 210, 212, 250, 252], || {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            other[1].load(SeqCst);
            let _last = OnDrop(|| {
                let seen = other[0].load(SeqCst);
                other[1].store(seen + 1, SeqCst);
                other[0].store(5, SeqCst);
            });
            panic!("out of luck");
        });
        shared[0].store(1, SeqCst);
        let (a, b) = (shared[1].load(SeqCst), shared[0].load(SeqCst));
        assert!(panics.join().is_err());
        a + 10 * b + 100 * shared[1].load(SeqCst)
    });
}

#[test]
fn a_destructor_waits_and_others_go_on() {
    expect([0, 10, 11, 90], || {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            let _last = OnDrop(|| *other.0.lock().unwrap() += 1);
            other.1.load(SeqCst);
            panic!("out of luck");
        });
        let first = {
            let guard = shared.0.lock().unwrap();
            shared.1.store(1, SeqCst);
            *guard
        };
        let second = shared.0.try_lock().map_or(9, |guard| *guard);
        assert!(panics.join().is_err());
        // A thread that takes it in a destructor, or meanwhile, does not poison it.
        assert!(!shared.0.is_poisoned());
        first + 10 * second
    });
}

#[test]
fn a_destructor_wakes_others() {
    // It counts how often it wakes: once spuriously.
    expect([0, 1, 2], || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            let _last = OnDrop(|| {
                *other.0.lock().unwrap() = true;
                other.1.notify_all();
            });
            panic!("out of luck");
        });
        let (mut done, mut waits) = (shared.0.lock().unwrap(), 0);
        while !*done {
            waits += 1;
            done = shared.1.wait(done).unwrap();
        }
        drop(done);
        assert!(panics.join().is_err());
        waits
    });
}

#[test]
fn an_initialisation_that_panics() {
    expect([1, 2], || {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let panics = thread::spawn(move || {
            other.0.call_once(|| {
                other.1.load(SeqCst);
                panic!("out of luck");
            });
        });
        shared.1.store(1, SeqCst);
        let mut ran = 0;
        shared.0.call_once_force(|state| ran = 1 + usize::from(state.is_poisoned()));
        _ = panics.join();
        ran
    });
}

#[test]
fn a_panic_that_is_caught() {
    // Two unwind at the same time, and both go on.
    expect([1, 2, 12, 21], || {
        let x = Arc::new(AtomicUsize::new(0));
        let run = |x: &AtomicUsize, value: usize| {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _last = OnDrop(|| {
                    let old = x.load(SeqCst);
                    _ = x.compare_exchange(old, old * 10 + value, SeqCst, SeqCst);
                });
                panic!("caught");
            }));
            assert!(result.is_err());
        };
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || run(&other, 1));
        run(&x, 2);
        thread.join().unwrap();
        // One may come in between what the other does.
        x.load(SeqCst)
    });
}
