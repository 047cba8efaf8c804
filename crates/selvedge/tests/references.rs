//! Counts of references: part of the search when they matter, and only then.

mod common;

use std::cell::UnsafeCell;
use std::collections::BTreeSet;

use common::outcomes;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Mutex, Weak};
use selvedge::{Builder, Verdict, ViolationKind, thread};

#[test]
fn references_are_counted_when_it_matters() {
    let (found, _) = outcomes(|| {
        let mine = Arc::new(7);
        let other = Arc::clone(&mine);
        let thread = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&mine);
        thread.join().unwrap();
        count
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
    let (found, _) = outcomes(|| {
        let mine = Arc::new(7);
        let weak: Weak<i32> = Arc::downgrade(&mine);
        let thread = thread::spawn(move || drop(mine));
        let seen = weak.upgrade().map(|value| *value);
        thread.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeSet::from([None, Some(7)]));
    let (_, executions) = outcomes(|| {
        let shared = Arc::new(Mutex::new(0));
        let threads = [1, 2, 3].map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || drop(shared))
        });
        _ = threads.map(|thread| thread.join().unwrap());
    });
    assert_eq!(executions, 1, "counts that nobody looks at order nothing");
}

/// Whoever looks at the counts also sees weak references come and go.
#[test]
fn weak_references_are_counted_when_it_matters() {
    let (found, _) = outcomes(|| {
        let mut mine = Arc::new(7);
        let weak = Arc::downgrade(&mine);
        let thread = thread::spawn(move || drop(weak));
        let alone = Arc::get_mut(&mut mine).is_some();
        thread.join().unwrap();
        alone
    });
    assert_eq!(found, BTreeSet::from([false, true]));
    let (found, _) = outcomes(|| {
        let mine = Arc::new(7);
        let weak = Arc::downgrade(&mine);
        let thread = thread::spawn(move || weak.clone());
        let count = Arc::weak_count(&mine);
        drop(thread.join().unwrap());
        count
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

/// A count that goes by two types is one count.
#[test]
fn a_reference_that_is_seen_as_something_else() {
    use std::any::Any;
    let (found, _) = outcomes(|| {
        let any: Arc<dyn Any + Send + Sync> = Arc::from(Box::new(7) as Box<dyn Any + Send + Sync>);
        let number = Arc::clone(&any).downcast::<i32>().unwrap();
        let thread = thread::spawn(move || drop(number));
        let count = Arc::strong_count(&any);
        thread.join().unwrap();
        count
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

/// Who drops the last reference runs a destructor that does something visible.
#[test]
fn a_visible_destructor_is_tried_in_every_thread() {
    struct Last(std::sync::Arc<AtomicUsize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let me = if thread::current().name() == Some("main") { 1 } else { 2 };
            self.0.store(me, SeqCst);
        }
    }
    let (found, _) = outcomes(|| {
        let who = std::sync::Arc::new(AtomicUsize::new(0));
        let mine = Arc::new(Last(std::sync::Arc::clone(&who)));
        let other = Arc::clone(&mine);
        let thread = thread::spawn(move || drop(other));
        drop(mine);
        thread.join().unwrap();
        who.load(SeqCst)
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

/// Whoever owns an atomic may access it without synchronising. That it owns it is a promise of unsafe
/// code here, which does not keep it.
#[test]
fn owning_an_atomic_is_checked() {
    struct Shared(UnsafeCell<AtomicUsize>);
    // SAFETY: it is wrong, and the check must say so.
    unsafe impl Sync for Shared {}
    let run = |join: bool| {
        let shared = Arc::new(Shared(UnsafeCell::new(AtomicUsize::new(0))));
        let other = Arc::clone(&shared);
        // SAFETY: as above.
        let thread = thread::spawn(move || unsafe { (*other.0.get()).load(SeqCst) });
        if join {
            thread.join().unwrap();
        }
        // SAFETY: as above.
        unsafe { (*shared.0.get()).with_mut(|value| *value += 1) };
    };
    assert_eq!(Builder::new().explore(move || run(true)).verdict(), Verdict::Verified);
    let outcome = Builder::new().explore(move || run(false));
    assert_eq!(outcome.kinds(), [ViolationKind::DataRace], "{}", outcome.text());
}

/// A spin loop on a count waits until it changes.
#[test]
fn spin_loops_end_when_a_count_changes() {
    let (_, executions) = outcomes(|| {
        let mut mine = Arc::new(7);
        let (other, weak) = (Arc::clone(&mine), Arc::downgrade(&mine));
        let thread = thread::spawn(move || drop((other, weak)));
        while Arc::strong_count(&mine) > 1 {
            thread::yield_now();
        }
        while Arc::get_mut(&mut mine).is_none() {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    assert!(executions < 20, "{executions}");
    let (_, executions) = outcomes(|| {
        let mine = Arc::new(7);
        let weak = Arc::downgrade(&mine);
        let thread = thread::spawn(move || drop(mine));
        while weak.upgrade().is_some() {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    assert!(executions < 20, "{executions}");
}
