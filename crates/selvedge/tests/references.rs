//! Counts of references: part of the search when they matter, and only then.

use std::cell::UnsafeCell;
use std::collections::BTreeSet;

use crate::common::{outcomes, outcomes_with};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, Mutex, Weak};
use selvedge::{Algorithm, Builder, Verdict, ViolationKind, thread};
use selvedge_testkit::seeds;

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
    assert_eq!(executions, 1, "counts that no thread looks at order nothing");
}

/// A thread that looks at the counts also sees weak references come and go.
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

/// The owner of an atomic may access it without synchronising. That it owns it is a promise of unsafe
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

/// What a thread does with its references.
#[derive(Clone, Copy, Debug)]
enum Do {
    Clone,
    Drop,
    Downgrade,
    DropWeak,
    Upgrade,
    Strong,
    Weak,
    GetMut,
}

/// Runs the operations on references of its own; returns what it saw.
fn run(all: &[Do], mut strong: Vec<Arc<u32>>, mut weak: Vec<Weak<u32>>) -> Vec<usize> {
    let mut seen = Vec::new();
    for &next in all {
        match next {
            Do::Clone => strong.extend(strong.first().cloned()),
            Do::Drop => drop(strong.pop()),
            Do::Downgrade => weak.extend(strong.first().map(Arc::downgrade)),
            Do::DropWeak => drop(weak.pop()),
            Do::Upgrade => {
                let upgraded = weak.first().and_then(Weak::upgrade);
                seen.push(usize::from(upgraded.is_some()));
                strong.extend(upgraded);
            }
            Do::Strong => seen.extend(strong.first().map(Arc::strong_count)),
            Do::Weak => seen.extend(weak.first().map(Weak::weak_count)),
            Do::GetMut => {
                seen.extend(
                    strong.first_mut().map(|mine| usize::from(Arc::get_mut(mine).is_some())),
                );
            }
        }
    }
    seen
}

/// Counts are found in the same states by the best explorer and by brute force.
#[test]
fn random_programs() {
    use Do::{Clone, Downgrade, Drop, DropWeak, GetMut, Strong, Upgrade};
    let kinds = [Clone, Drop, Downgrade, DropWeak, Upgrade, Strong, Do::Weak, GetMut];
    let mut seed = 7_u64;
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in seeds(150) {
        let mut list = || -> Vec<Do> { (0..3).map(|_| kinds[next(8) as usize]).collect() };
        let scripts = [list(), list()];
        let code = {
            let scripts = scripts.clone();
            move || {
                let mine = Arc::new(7);
                let weak = Arc::downgrade(&mine);
                let (theirs, their_weak) = (Arc::clone(&mine), weak.clone());
                let script = scripts[1].clone();
                let thread = thread::spawn(move || run(&script, vec![theirs], vec![their_weak]));
                let seen = run(&scripts[0], vec![mine], vec![weak]);
                (seen, thread.join().unwrap())
            }
        };
        let found = outcomes(code.clone()).0;
        let oracle = Builder::new().algorithm(Algorithm::Oracle);
        assert_eq!(
            found,
            outcomes_with(&oracle, code).0,
            "{scripts:?}: all interleavings on the right"
        );
    }
}

/// What happens while an execution is taken down that ended in a deadlock is no part of any: counts that only matter
/// then do not cost executions.
#[test]
fn taking_down_what_is_left_teaches_nothing() {
    struct Noisy(Arc<AtomicUsize>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let outcome = Builder::new().spurious(0).keep_going(true).explore(|| {
        let noisy = Arc::new(Noisy(Arc::new(AtomicUsize::new(0))));
        let threads = [(); 2].map(|()| {
            let noisy = Arc::clone(&noisy);
            thread::spawn(move || {
                let _second = Arc::clone(&noisy);
                thread::park();
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(outcome.kinds(), [ViolationKind::Deadlock]);
    assert_eq!(outcome.executions(), 1, "{}", outcome.text());
}

/// That its counts matter shows when the `Arc` is dropped, which an execution with a violation may not come to.
#[test]
fn a_schedule_from_before_the_drop_that_makes_counts_matter() {
    struct Looks(AtomicUsize);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.load(SeqCst);
        }
    }
    let program = || {
        let mine = Arc::new(Looks(AtomicUsize::new(0)));
        let other = Arc::clone(&mine);
        let thread = thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.0.store(2, SeqCst);
        });
        assert_ne!(mine.0.load(SeqCst), 1);
        thread.join().unwrap();
    };
    let found = Builder::new().explore(program);
    let text = found.text();
    let schedule = text.split(".replay(\"").nth(1).and_then(|rest| rest.split('"').next());
    let again = Builder::new().replay(schedule.unwrap()).explore(program);
    assert_eq!(again.messages(), found.messages());
}
