//! An object is known by where it lies. Those that come to the same place one after the other are two, and one
//! has the same name in every execution, whatever earlier ones left in memory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::common::outcomes;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Barrier, Mutex};
use selvedge::{Builder, Verdict, thread};

/// A lock that was used before it is moved to where it stays.
#[inline(never)]
fn used_lock() -> Mutex<usize> {
    let lock = Mutex::new(0);
    *lock.lock().unwrap() += 1;
    lock
}

/// Two threads, each with a lock of its own, write and read what is not guarded.
fn beside_each_other(locks: Vec<Mutex<usize>>) -> (usize, usize) {
    let shared = Arc::new((locks, [AtomicUsize::new(0), AtomicUsize::new(0)]));
    let run = |shared: &(Vec<Mutex<usize>>, [AtomicUsize; 2]), me: usize| {
        let _guard = shared.0[me].lock().unwrap();
        shared.1[me].store(1, SeqCst);
        shared.1[1 - me].load(SeqCst)
    };
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || run(&other, 1));
    (run(&shared, 0), thread.join().unwrap())
}

#[test]
fn locks_that_were_at_the_same_place_are_two() {
    let all = BTreeSet::from([(0, 1), (1, 0), (1, 1)]);
    let apart = outcomes(|| beside_each_other(vec![Mutex::new(0), Mutex::new(0)]));
    assert_eq!(apart.0, all);
    assert_eq!(outcomes(|| beside_each_other(vec![used_lock(), used_lock()])), apart);
    let replaced = || {
        let mut slot = Box::new(used_lock());
        drop(slot.lock().unwrap());
        let old = std::mem::replace(&mut *slot, Mutex::new(0));
        drop(slot.lock().unwrap());
        beside_each_other(vec![old, *slot])
    };
    assert_eq!(outcomes(replaced), apart);
}

#[test]
fn what_was_at_the_same_place_does_not_depend_on_each_other() {
    // Each thread has its own, so that there is one class.
    let found = outcomes(|| {
        let threads = [(); 2].map(|()| {
            let x = AtomicUsize::new(0);
            x.store(1, SeqCst);
            thread::spawn(move || x.fetch_add(1, SeqCst))
        });
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found, (BTreeSet::from([[1, 1]]), 1));
}

#[test]
fn reports_tell_them_apart() {
    let outcome = Builder::new().explore(|| {
        let locks = Arc::new([used_lock(), used_lock()]);
        let other = Arc::clone(&locks);
        thread::spawn(move || {
            let _second = other[1].lock().unwrap();
            let _first = other[0].lock().unwrap();
        });
        let _first = locks[0].lock().unwrap();
        let _second = locks[1].lock().unwrap();
    });
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Violated, "{text}");
    let line = "main waits for Mutex@identity.rs:17#2, held by thread 1";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_barrier_has_one_name_in_all_rounds() {
    let outcome = Builder::new().explore(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        let thread = thread::spawn(move || _ = other.wait());
        barrier.wait();
        thread.join().unwrap();
        barrier.wait();
    });
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Violated, "{text}");
    assert!(!text.contains('#'), "{text}");
}

/// Three threads, each of which writes its own variable and reads the others.
fn neighbours<T: Send + Sync + 'static>(
    new: impl Fn() -> T,
    at: fn(&T) -> &AtomicUsize,
) -> Vec<usize> {
    let all: Vec<_> = (0..3).map(|_| Arc::new(new())).collect();
    let threads = [0, 1, 2].map(|me| {
        let all = all.clone();
        thread::spawn(move || {
            at(&all[me]).store(me + 1, SeqCst);
            at(&all[(me + 1) % 3]).load(SeqCst) * 10 + at(&all[(me + 2) % 3]).load(SeqCst)
        })
    });
    threads.map(|thread| thread.join().unwrap()).to_vec()
}

/// Checks `program`, and keeps some memory of each of its executions.
fn keeping(kept: usize, program: impl Fn() -> Vec<usize> + 'static) -> (usize, u64) {
    let all = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&all);
    let outcome = Builder::new().explore(move || {
        let result = program();
        seen.borrow_mut().push((result, vec![7_u8; kept]));
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert_eq!(outcome.report().counts.redundant, 0);
    let results = all.borrow().iter().map(|(result, _)| result.clone()).collect::<BTreeSet<_>>();
    assert!(all.borrow().iter().all(|(_, kept)| kept.iter().all(|&byte| byte == 7)));
    (results.len(), outcome.executions())
}

#[test]
fn names_do_not_depend_on_what_earlier_executions_left() {
    let plain = || neighbours(|| AtomicUsize::new(0), |x| x);
    let expected = keeping(0, plain);
    for kept in [1, 100, 1_900, 7_000, 70_000] {
        assert_eq!(keeping(kept, plain), expected, "{kept}");
        // Blocks of odd sizes before them, so that a span ends at any place.
        let after_others = move || {
            let _others: Vec<Box<[u8]>> =
                (0..40).map(|size| vec![1; 700 + 3 * size].into_boxed_slice()).collect();
            plain()
        };
        assert_eq!(keeping(kept, after_others), expected, "{kept}");
    }
}

#[test]
fn names_do_not_depend_on_alignment() {
    #[repr(align(128))]
    struct Line(AtomicUsize);
    #[repr(align(4096))]
    struct Page(AtomicUsize);
    let expected = keeping(0, || neighbours(|| AtomicUsize::new(0), |x| x));
    for kept in [0, 1, 100, 5_000] {
        let lines = || neighbours(|| Line(AtomicUsize::new(0)), |line| &line.0);
        assert_eq!(keeping(kept, lines), expected, "{kept}");
        let pages = || neighbours(|| Page(AtomicUsize::new(0)), |page| &page.0);
        assert_eq!(keeping(kept, pages), expected, "{kept}");
    }
}

#[test]
fn many_objects_take_no_long_time() {
    let outcome = Builder::new().max_steps(1_000_000).explore(|| {
        let all: Vec<AtomicUsize> = (0..50_000).map(|_| AtomicUsize::new(0)).collect();
        all.iter().for_each(|one| one.store(1, SeqCst));
    });
    assert_eq!(outcome.verdict(), Verdict::Verified);
    assert!(outcome.time().as_secs() < 5, "{:?}", outcome.time());
}
