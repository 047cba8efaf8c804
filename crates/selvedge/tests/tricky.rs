//! Programs whose outcomes follow from what `std` documents: each has exactly these, by every explorer.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, RwLock, Weak, mpsc};
use selvedge::{Algorithm, Builder, ViolationKind, thread};

/// Outcomes of executions that end, and kinds of violations.
fn outcomes(
    builder: &Builder,
    f: impl Fn() -> usize + Clone + 'static,
) -> (BTreeSet<usize>, BTreeSet<String>) {
    let mut all = Vec::new();
    for algorithm in [
        Algorithm::Oracle,
        Algorithm::Sleep,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::Quasi,
    ] {
        let found = Rc::new(RefCell::new(BTreeSet::new()));
        let (log, f) = (Rc::clone(&found), f.clone());
        let builder = builder.clone().algorithm(algorithm).keep_going(true);
        let outcome = builder.explore(move || {
            let result = f();
            log.borrow_mut().insert(result);
        });
        assert!(outcome.report().inconclusive.is_empty(), "{algorithm:?}: {}", outcome.text());
        let kinds = outcome.kinds().iter().map(ViolationKind::to_string).collect();
        all.push((algorithm, (found.take(), kinds)));
    }
    let (_, first) = all.remove(0);
    for (algorithm, other) in all {
        assert_eq!(other, first, "{algorithm:?}");
    }
    first
}

#[track_caller]
fn has(f: impl Fn() -> usize + Clone + 'static, expected: &[usize], kinds: &[&str]) {
    let builder = Builder::new().spurious(0);
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(outcomes(&builder, f), (expected.iter().copied().collect(), kinds));
}

/// Two wait, one notification comes, and both have a time limit: none, one or both are woken by it or by time.
#[test]
fn waiters_with_timeouts_and_one_notification() {
    let program = || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let waiters = [(); 2].map(|()| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let guard = pair.0.lock().unwrap();
                let (_guard, result) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
                usize::from(!result.timed_out())
            })
        });
        pair.1.notify_one();
        waiters.into_iter().map(|waiter| waiter.join().unwrap()).sum()
    };
    // A notification without a waiter is lost; one wakes at most one waiter.
    has(program, &[0, 1], &[]);
}

#[test]
fn notify_all_wakes_those_who_wait_at_that_time() {
    let program = || {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let waiters = [(); 2].map(|()| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let guard = pair.0.lock().unwrap();
                let (_guard, result) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
                usize::from(!result.timed_out())
            })
        });
        pair.1.notify_all();
        waiters.into_iter().map(|waiter| waiter.join().unwrap()).sum()
    };
    has(program, &[0, 1, 2], &[]);
}

/// If readers go first there is no deadlock, and both reads of the outer section see the same value.
#[test]
fn nested_reads_see_one_value() {
    let program = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || *other.write().unwrap() = 1);
        let outer = lock.read().unwrap();
        let inner = lock.read().unwrap();
        let seen = *outer * 2 + *inner;
        drop((outer, inner));
        writer.join().unwrap();
        seen
    };
    let builder = Builder::new().rwlock_policy(selvedge::RwLockPolicy::Readers);
    assert_eq!(outcomes(&builder, program), (BTreeSet::from([0, 3]), BTreeSet::new()));
    // And else the writer may come between the two, and all wait.
    has(program, &[0, 3], &["deadlock"]);
}

/// Three threads come twice to a barrier for two: two of them may leave the third alone.
#[test]
fn a_barrier_that_is_used_again() {
    let program = || {
        let barrier = Arc::new(Barrier::new(2));
        let threads = [(); 3].map(|()| {
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                usize::from(barrier.wait().is_leader()) + usize::from(barrier.wait().is_leader())
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    };
    has(program, &[3], &["deadlock"]);
}

/// What was sent before the sender is gone is received; then there is an error.
#[test]
fn channels_that_close() {
    let program = || {
        let (sender, receiver) = mpsc::channel();
        let second = sender.clone();
        thread::spawn(move || sender.send(1).unwrap());
        thread::spawn(move || second.send(2).unwrap());
        let mut all = 0;
        while let Ok(value) = receiver.recv() {
            all = all * 3 + value;
        }
        all
    };
    has(program, &[5, 7], &[]);
    let gone = || {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || receiver.recv().unwrap_or(9));
        let sent = usize::from(sender.send(1).is_ok());
        drop(sender);
        thread.join().unwrap() * 2 + sent
    };
    has(gone, &[3], &[]);
    let not_received = || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let thread = thread::spawn(move || drop(receiver));
        let sent = usize::from(sender.send(1).is_ok());
        thread.join().unwrap();
        sent
    };
    has(not_received, &[0], &[]);
}

/// Of three compare-exchanges from 0 exactly one succeeds, and the others see its value.
#[test]
fn compare_exchanges_that_fail() {
    let program = || {
        let x = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2, 3].map(|value| {
            let x = Arc::clone(&x);
            thread::spawn(move || {
                x.compare_exchange(0, value, SeqCst, SeqCst).unwrap_or_else(|it| it)
            })
        });
        threads.into_iter().fold(0, |all, thread| all * 4 + thread.join().unwrap())
    };
    has(program, &[0b000101, 0b100010, 0b111100], &[]);
}

/// The destructor of a thread-local value runs at the end of its thread, after its result is left.
#[test]
fn thread_locals_are_dropped_at_the_end() {
    struct Adds(RefCell<Option<Arc<AtomicUsize>>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            if let Some(count) = self.0.take() {
                count.fetch_add(1, SeqCst);
            }
        }
    }
    selvedge::thread_local! {
        static LOCAL: Adds = const { Adds(RefCell::new(None)) };
    }
    let program = || {
        let count = Arc::new(AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let count = Arc::clone(&count);
            thread::spawn(move || {
                let seen = count.load(SeqCst);
                LOCAL.with(|local| *local.0.borrow_mut() = Some(count));
                seen
            })
        });
        let seen: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // Both have ended, with their destructors.
        seen * 3 + count.load(SeqCst)
    };
    has(program, &[2, 5], &[]);
}

/// Who locks after a panic of the holder finds the lock poisoned.
#[test]
fn panics_while_locks_are_held() {
    let program = || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let mut guard = other.lock().unwrap();
            *guard = 1;
            panic!("on purpose");
        });
        let (poisoned, value) = match lock.lock() {
            Ok(guard) => (0, *guard),
            Err(poison) => (2, *poison.into_inner()),
        };
        assert!(thread.join().is_err());
        poisoned + value
    };
    let builder = Builder::new().spurious(0).panics_are_results(true);
    assert_eq!(outcomes(&builder, program), (BTreeSet::from([0, 3]), BTreeSet::new()));
}

/// A scope ends when all its threads have, joined or not, and what they borrow is there until then.
#[test]
fn scoped_threads() {
    let program = || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| x.fetch_add(1, SeqCst));
            let inner = scope.spawn(|| {
                scope.spawn(|| y.store(x.load(SeqCst) + 1, SeqCst));
            });
            inner.join().unwrap();
        });
        x.into_inner() * 3 + y.into_inner()
    };
    has(program, &[4, 5], &[]);
}

/// A cycle of strong references leaks; with a weak one it does not, and it can be upgraded while one is left.
#[test]
fn cycles_of_arcs() {
    struct Node {
        next: Mutex<Option<Arc<Node>>>,
        back: Mutex<Weak<Node>>,
    }
    let node = || Arc::new(Node { next: Mutex::new(None), back: Mutex::new(Weak::new()) });
    let leaks = move || {
        let (a, b) = (node(), node());
        *a.next.lock().unwrap() = Some(Arc::clone(&b));
        *b.next.lock().unwrap() = Some(Arc::clone(&a));
        0
    };
    has(leaks, &[0], &["leak"]);
    let upgrades = move || {
        let (a, b) = (node(), node());
        *a.next.lock().unwrap() = Some(Arc::clone(&b));
        *b.back.lock().unwrap() = Arc::downgrade(&a);
        let thread = thread::spawn(move || {
            let back = b.back.lock().unwrap().upgrade();
            usize::from(back.is_some())
        });
        drop(a);
        thread.join().unwrap()
    };
    has(upgrades, &[0, 1], &[]);
}

/// A token is kept, but only one: two `unpark`s before two `park`s may leave the second waiting.
#[test]
fn park_tokens() {
    let once = || {
        let main = thread::current();
        let thread = thread::spawn(move || main.unpark());
        thread::park();
        thread.join().unwrap();
        0
    };
    has(once, &[0], &[]);
    let twice = || {
        let main = thread::current();
        let thread = thread::spawn(move || {
            main.unpark();
            main.unpark();
        });
        thread::park();
        thread::park();
        thread.join().unwrap();
        0
    };
    has(twice, &[0], &["deadlock"]);
    // A time limit makes up for a token that is not there.
    let timed = || {
        let main = thread::current();
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        thread::park_timeout(Duration::from_secs(1));
        let seen = usize::from(flag.load(SeqCst));
        thread.join().unwrap();
        seen
    };
    has(timed, &[0, 1], &[]);
}
