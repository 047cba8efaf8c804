//! The creation of an object is a write of it: a thread that finds its address in an atomic, and is not ordered after its creation, is
//! in a data race with it.

use std::ptr::null_mut;

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, fence};
use selvedge::sync::{Arc, Condvar, Mutex, RwLock};
use selvedge::{Builder, Outcome, Verdict, ViolationKind, thread};

/// One thread creates something and publishes its address, the other uses what it finds.
fn publish<T: 'static>(
    orders: [Ordering; 2],
    create: impl FnOnce() -> T,
    uses: impl FnOnce(&T) + Send + 'static,
) {
    let at: Arc<AtomicPtr<T>> = Arc::new(AtomicPtr::new(null_mut()));
    let reader = Arc::clone(&at);
    let reader = thread::spawn(move || {
        let it = reader.load(orders[1]);
        if !it.is_null() {
            // SAFETY: it is freed when this thread is over.
            uses(unsafe { &*it });
        }
    });
    at.store(Box::into_raw(Box::new(create())), orders[0]);
    reader.join().unwrap();
    // SAFETY: it was published above, and no other thread is left.
    drop(unsafe { Box::from_raw(at.load(Relaxed)) });
}

#[track_caller]
fn races(what: &str, code: impl Fn() + Send + Sync + 'static) -> Outcome {
    let outcome = Builder::new().quiet(true).explore(code);
    assert_eq!(outcome.kinds(), [ViolationKind::DataRace], "{}", outcome.text());
    let created = format!("(1) main: create {what}@creation.rs");
    assert!(outcome.text().contains(&created), "{}", outcome.text());
    outcome
}

#[track_caller]
fn right(executions: u64, code: impl Fn() + Send + Sync + 'static) {
    let outcome = Builder::new().quiet(true).explore(code);
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    let text = format!("no violation in {executions} executions under rc11 either");
    assert!(outcome.text().contains(&text), "{}", outcome.text());
}

/// Release and Acquire are both needed, and the report says which one is missing.
#[test]
fn of_an_atomic() {
    let code = |orders| {
        move || publish(orders, || AtomicU32::new(7), |it| assert_eq!(it.load(Relaxed), 7))
    };
    right(2, code([Release, Acquire]));
    for (orders, missing) in
        [([Relaxed, Acquire], "use Release"), ([Release, Relaxed], "use Acquire")]
    {
        let outcome = races("AtomicU32", code(orders));
        assert!(outcome.text().contains(missing), "{}", outcome.text());
    }
    races("AtomicU32", code([Relaxed, Relaxed]));
}

/// Whatever is created.
#[test]
fn of_other_objects() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: a race is found before it matters.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    let relaxed = [Relaxed, Relaxed];
    races("Mutex", move || publish(relaxed, || Mutex::new(0), |it| *it.lock().unwrap() += 1));
    races("Mutex", move || publish(relaxed, || Mutex::new(0), |it| drop(it.try_lock())));
    races("RwLock", move || publish(relaxed, || RwLock::new(0), |it| drop(it.read())));
    races("Condvar", move || publish(relaxed, || Condvar::new(), |it| it.notify_one()));
    races("UnsafeCell", move || {
        // SAFETY: as above.
        publish(
            relaxed,
            || Shared(UnsafeCell::new(0)),
            |it| it.0.with(|it| assert_eq!(unsafe { *it }, 0)),
        );
    });
    right(2, || publish([Release, Acquire], || Mutex::new(0), |it| *it.lock().unwrap() += 1));
}

/// A mutex that its creator has used orders what comes after, unless it was moved since.
#[test]
fn of_a_mutex_that_was_used() {
    let code = |moves: bool| {
        move || {
            let at: Arc<AtomicPtr<Mutex<u32>>> = Arc::new(AtomicPtr::new(null_mut()));
            let reader = Arc::clone(&at);
            let reader = thread::spawn(move || {
                let it = reader.load(Relaxed);
                if !it.is_null() {
                    // SAFETY: it is never freed.
                    assert_eq!(unsafe { *(*it).lock().unwrap() }, 1);
                }
            });
            let mut it = Box::new(Mutex::new(0));
            *it.lock().unwrap() += 1;
            if moves {
                it = Box::new(*it);
            }
            at.store(Box::into_raw(it), Relaxed);
            reader.join().unwrap();
        }
    };
    right(2, code(false));
    races("Mutex", code(true));
}

/// The creator uses the object before it is published, there or where it was before: its creation is not yet visible all the same.
#[test]
fn of_an_atomic_that_was_used() {
    races("AtomicU32", || {
        let create = || {
            let it = AtomicU32::new(7);
            it.store(8, Release);
            it
        };
        publish([Relaxed, Relaxed], create, |it| assert!(it.load(Acquire) >= 7));
    });
    races("AtomicU32", || {
        let at: Arc<AtomicPtr<AtomicU32>> = Arc::new(AtomicPtr::new(null_mut()));
        let reader = Arc::clone(&at);
        let reader = thread::spawn(move || {
            let it = reader.load(Relaxed);
            if !it.is_null() {
                // SAFETY: it is never freed.
                assert!(unsafe { (*it).load(Acquire) } >= 7);
            }
        });
        let it = Box::new(AtomicU32::new(7));
        it.store(8, Release);
        at.store(Box::into_raw(it), Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn before_a_fence() {
    let code = |orders: [Ordering; 2]| {
        move || {
            let create = || {
                let it = Box::new(AtomicU32::new(7));
                fence(orders[0]);
                it
            };
            let at: Arc<AtomicPtr<AtomicU32>> = Arc::new(AtomicPtr::new(null_mut()));
            let reader = Arc::clone(&at);
            let reader = thread::spawn(move || {
                let it = reader.load(Relaxed);
                fence(orders[1]);
                if !it.is_null() {
                    // SAFETY: it is never freed.
                    assert_eq!(unsafe { (*it).load(Relaxed) }, 7);
                }
            });
            at.store(Box::into_raw(create()), Relaxed);
            reader.join().unwrap();
        }
    };
    right(2, code([Release, Acquire]));
    races("AtomicU32", code([Acquire, Acquire]));
    races("AtomicU32", code([Release, Release]));
}

/// The address is passed on by a thread that did not allocate the block.
#[test]
fn passed_on_by_another() {
    let code = |last: Ordering| {
        move || {
            let [first, second]: [Arc<AtomicPtr<AtomicU32>>; 2] =
                [0, 1].map(|_| Arc::new(AtomicPtr::new(null_mut())));
            let (from, to) = (Arc::clone(&first), Arc::clone(&second));
            let between = thread::spawn(move || to.store(from.load(Acquire), last));
            let reader = thread::spawn(move || {
                let it = second.load(Acquire);
                if !it.is_null() {
                    // SAFETY: it is never freed.
                    assert_eq!(unsafe { (*it).load(Relaxed) }, 7);
                }
            });
            first.store(Box::into_raw(Box::new(AtomicU32::new(7))), Release);
            between.join().unwrap();
            reader.join().unwrap();
        }
    };
    right(4, code(Release));
    races("AtomicU32", code(Relaxed));
}

/// A mark in its lowest bits does not hide an address; nor that the object is not the first in its block.
#[test]
fn with_a_mark_and_at_a_distance() {
    let code = |order: Ordering| {
        move || {
            let at = Arc::new(AtomicUsize::new(0));
            let reader = Arc::clone(&at);
            let reader = thread::spawn(move || {
                let it = reader.load(Acquire);
                if it != 0 {
                    // SAFETY: it is never freed.
                    let all = unsafe { &*((it & !1) as *const [AtomicU32; 20]) };
                    assert_eq!(all[13].load(Relaxed), 13);
                }
            });
            let all: [AtomicU32; 20] = std::array::from_fn(|nth| AtomicU32::new(nth as u32));
            at.store(Box::into_raw(Box::new(all)) as usize | 1, order);
            reader.join().unwrap();
        }
    };
    right(2, code(Release));
    races("AtomicU32", code(Relaxed));
}

/// Blocks that are created in different places of different executions.
#[test]
fn of_blocks_of_some_executions() {
    let code = |order: Ordering| {
        move || {
            let at: Arc<AtomicPtr<AtomicU32>> = Arc::new(AtomicPtr::new(null_mut()));
            let count = Arc::new(AtomicU32::new(0));
            let (others, counts) = (Arc::clone(&at), Arc::clone(&count));
            let other = thread::spawn(move || {
                counts.fetch_add(1, AcqRel);
                let it = others.load(Acquire);
                if !it.is_null() {
                    // SAFETY: it is never freed.
                    unsafe { (*it).fetch_add(1, Relaxed) };
                }
            });
            // How many blocks there are before it depends on the other thread.
            let before = count.fetch_add(1, AcqRel);
            let _others: Vec<Box<u32>> = (0..before).map(Box::new).collect();
            at.store(Box::into_raw(Box::new(AtomicU32::new(7))), order);
            other.join().unwrap();
        }
    };
    right(4, code(Release));
    races("AtomicU32", code(Relaxed));
}
