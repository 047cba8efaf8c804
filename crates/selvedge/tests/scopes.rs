//! Scoped threads: the end of a scope comes after the end of all its threads.

use std::collections::BTreeSet;

use crate::common::outcomes_with;
use selvedge::cell::Cell;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::{Algorithm, Builder, check, thread};

#[test]
fn scoped_threads_borrow() {
    check(|| {
        let mut values = [1, 2];
        let total = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (first, second) = values.split_at_mut(1);
            let handle = scope.spawn(|| {
                first[0] += 10;
                total.fetch_add(first[0], SeqCst)
            });
            scope.spawn(|| total.fetch_add(second[0], SeqCst));
            assert!(matches!(handle.join(), Ok(0 | 2)));
        });
        assert_eq!((values, total.load(SeqCst)), ([11, 2], 13));
    });
}

/// The end of a scope comes after the end of its threads, whichever ran first.
#[test]
fn a_scope_waits_for_its_threads() {
    struct Shared(Cell<u32>);
    // SAFETY: only one thread at a time uses it, and the check must see that.
    unsafe impl Sync for Shared {}
    let run = || {
        let (shared, x) = (Shared(Cell::new(0)), AtomicUsize::new(0));
        thread::scope(|scope| {
            let shared = &shared;
            let first = scope.spawn(move || shared.0.set(1));
            scope.spawn(move || {
                first.join().unwrap();
                shared.0.set(2);
            });
            x.load(SeqCst);
        });
        shared.0.get()
    };
    for builder in [Builder::new(), Builder::new().algorithm(Algorithm::Oracle)] {
        assert_eq!(outcomes_with(&builder, run).0, BTreeSet::from([2]));
    }
}

#[test]
fn a_scope_tells_of_a_panic_that_nobody_joined() {
    Builder::new().panics_are_results(true).check(|| {
        let joined = thread::scope(|scope| scope.spawn(|| panic!("on purpose")).join().is_err());
        assert!(joined);
        let unknown = std::panic::catch_unwind(|| {
            thread::scope(|scope| _ = scope.spawn(|| panic!("on purpose")));
        });
        assert_eq!(unknown.unwrap_err().downcast_ref(), Some(&"a scoped thread panicked"));
    });
}

/// Threads of a scope spawn others, in any order: the scope waits for all, in an order of its own.
#[test]
fn threads_of_a_scope_spawn_others() {
    let run = || {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            for i in 0..2 {
                let x = &x;
                scope.spawn(move || scope.spawn(move || x.fetch_add(1 << i, SeqCst)));
            }
        });
        x.load(SeqCst)
    };
    let (found, classes) = outcomes_with(&Builder::new(), run);
    assert_eq!((found, classes), (BTreeSet::from([3]), 2));
    let oracle = Builder::new().algorithm(Algorithm::Oracle);
    assert_eq!(outcomes_with(&oracle, run).0, BTreeSet::from([3]));
}
