//! `std` leaves open whether a reader-writer lock lets a reader in while a writer waits: what depends on it is found,
//! and nothing else is.

use std::collections::BTreeSet;

use crate::common::{executions, outcomes, outcomes_with};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Mutex, RwLock, mpsc};
use selvedge::{Algorithm, Builder, Outcome, RwLockPolicy, Verdict, ViolationKind, thread};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Oracle,
    Algorithm::Sleep,
    Algorithm::Source,
    Algorithm::Quasi,
    Algorithm::DataCentric,
    Algorithm::Optimal,
];

/// A deadlock if writers may go first, by all explorers, and none if not.
#[track_caller]
fn hangs(program: fn()) -> Outcome {
    hangs_by(&ALGORITHMS, program)
}

#[track_caller]
fn hangs_by(algorithms: &[Algorithm], program: fn()) -> Outcome {
    let mut last = None;
    for &algorithm in algorithms {
        let races = algorithm != Algorithm::DataCentric;
        let builder = Builder::new().algorithm(algorithm).data_races(races);
        let outcome = builder.explore(program);
        assert_eq!(outcome.kinds(), [ViolationKind::Deadlock], "{algorithm:?}: {}", outcome.text());
        let text = outcome.text();
        assert!(text.contains("letting waiting writers in before readers"), "{text}");
        last = Some(outcome);
    }
    let readers = Builder::new().rwlock_policy(RwLockPolicy::Readers).explore(program);
    assert_eq!(readers.verdict(), Verdict::Verified, "{}", readers.text());
    last.expect("there are algorithms")
}

fn reads_twice() {
    let lock = Arc::new(RwLock::new(0));
    let other = Arc::clone(&lock);
    let writer = thread::spawn(move || *other.write().unwrap() = 1);
    let first = lock.read().unwrap();
    let second = lock.read().unwrap();
    assert_eq!(*first, *second);
    drop((first, second));
    writer.join().unwrap();
}

#[test]
fn a_thread_that_reads_twice() {
    let outcome = hangs(reads_twice);
    let text = outcome.text();
    assert!(text.contains("deadlock: main and thread 1 are blocked"), "{text}");
    assert!(text.contains("while thread 1 waits to write it, held by the thread itself"), "{text}");
    // The schedule shows it again.
    let again = Builder::new().replay(&outcome.schedules()[0]).explore(reads_twice);
    assert_eq!(again.kinds(), [ViolationKind::Deadlock], "{}", again.text());
}

/// The one who waits holds nothing: it is waited for.
#[test]
fn a_reader_that_another_reader_joins() {
    hangs(|| {
        let lock = Arc::new(RwLock::new(0));
        let (a, b) = (Arc::clone(&lock), Arc::clone(&lock));
        thread::spawn(move || *a.write().unwrap() = 1);
        let guard = lock.read().unwrap();
        let reader = thread::spawn(move || *b.read().unwrap());
        reader.join().unwrap();
        drop(guard);
    });
}

/// Either of two messages would be enough, so that both readers must wait.
#[test]
fn two_readers_that_must_both_wait() {
    // Brute force comes to the deadlock after a million executions.
    hangs_by(&ALGORITHMS[1..], || {
        let lock = Arc::new(RwLock::new(0));
        let writer = Arc::clone(&lock);
        let guard = lock.read().unwrap();
        let (sender, receiver) = mpsc::channel();
        for _ in 0..2 {
            let (lock, sender) = (Arc::clone(&lock), sender.clone());
            thread::spawn(move || {
                drop(lock.read().unwrap());
                let _ = sender.send(());
            });
        }
        drop(sender);
        thread::spawn(move || *writer.write().unwrap() = 1);
        receiver.recv().unwrap();
        drop(guard);
    });
}

/// A ring through a mutex.
#[test]
fn a_ring_through_another_lock() {
    hangs(|| {
        let shared = Arc::new((RwLock::new(0), Mutex::new(())));
        let (a, b) = (Arc::clone(&shared), Arc::clone(&shared));
        let writer = thread::spawn(move || *a.0.write().unwrap() = 1);
        let other = thread::spawn(move || {
            let _mutex = b.1.lock().unwrap();
            drop(b.0.read().unwrap());
        });
        {
            let _read = shared.0.read().unwrap();
            drop(shared.1.lock().unwrap());
        }
        writer.join().unwrap();
        other.join().unwrap();
    });
}

/// No ring: the order of the locks is the same everywhere, so that nothing is tried and no execution is added.
#[test]
fn locks_in_one_order_cost_nothing() {
    let program = || {
        let shared = Arc::new((RwLock::new(0), Mutex::new(())));
        let threads = [1, 2].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let _read = shared.0.read().unwrap();
                drop(shared.1.lock().unwrap());
            })
        });
        *shared.0.write().unwrap() = 1;
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let readers = Builder::new().rwlock_policy(RwLockPolicy::Readers);
    assert_eq!(executions(program), outcomes_with(&readers, program).1);
}

/// A ring of locks, but no writer could wait while it is closed: no false alarm.
#[test]
fn a_writer_that_comes_before_or_after() {
    let outcome = Builder::new().explore(|| {
        let lock = Arc::new(RwLock::new(0));
        *lock.write().unwrap() = 1;
        let other = Arc::clone(&lock);
        let reader = thread::spawn(move || {
            let (first, second) = (other.read().unwrap(), other.read().unwrap());
            *first + *second
        });
        let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
        assert_eq!(*first + *second + reader.join().unwrap(), 4);
        drop((first, second));
        *lock.write().unwrap() = 2;
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

#[test]
fn try_read_may_fail_while_a_writer_waits() {
    fn program() -> (bool, bool) {
        let shared = Arc::new((RwLock::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let guard = shared.0.read().unwrap();
        let writer = thread::spawn(move || {
            other.1.store(1, SeqCst);
            *other.0.write().unwrap() = 1;
        });
        let began = shared.1.load(SeqCst) == 1;
        let tried = shared.0.try_read().is_ok();
        drop(guard);
        writer.join().unwrap();
        (began, tried)
    }
    // Between the load and the try the writer may begin to wait.
    let all = BTreeSet::from([(false, true), (false, false), (true, true), (true, false)]);
    let (found, _) = outcomes(program);
    assert_eq!(found, all);
    let readers = Builder::new().rwlock_policy(RwLockPolicy::Readers);
    let (found, _) = outcomes_with(&readers, program);
    assert_eq!(found, BTreeSet::from([(false, true), (true, true)]));
}

/// No writer waits before the lock is taken: then `try_read` cannot fail.
#[test]
fn try_read_does_not_fail_without_a_writer_that_waits() {
    let outcome = Builder::new().explore(|| {
        let lock = Arc::new(RwLock::new(0));
        assert!(lock.try_read().is_ok());
        let guard = lock.read().unwrap();
        assert!(lock.try_read().is_ok());
        drop(guard);
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || *other.write().unwrap() = 1);
        writer.join().unwrap();
        assert!(lock.try_read().is_ok());
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// The lock is free again, but the writer that waited has not come yet: `try_read` may fail, and `try_write` succeed.
#[test]
fn try_read_may_fail_when_the_writer_has_not_come_yet() {
    let (found, _) = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let guard = lock.read().unwrap();
        let writer = thread::spawn(move || *other.write().unwrap() = 1);
        drop(guard);
        let read = lock.try_read().is_ok();
        let written = lock.try_write().is_ok();
        writer.join().unwrap();
        (read, written)
    });
    assert!(found.contains(&(false, true)), "{found:?}");
}
