//! Small programs on which other tools miss executions or report ones that cannot be: all outcomes of
//! sequential consistency, no more and no less.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use crate::common::{outcomes, outcomes_with};
use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::{Mutex, RwLock};
use selvedge::{Algorithm, Builder, Equivalence, ViolationKind, thread};

/// All outcomes, by the default algorithm, by every other one that needs no states, and by brute force.
fn all<T: Ord + Debug + Clone + 'static>(f: impl Fn() -> T + Clone + 'static) -> BTreeSet<T> {
    let (found, _) = outcomes(f.clone());
    // Those that compare states need to know them.
    let fitting = |it: &&Algorithm| it.info().equivalence != Equivalence::State;
    for &algorithm in Algorithm::ALL.iter().filter(fitting) {
        let seen = std::rc::Rc::new(std::cell::RefCell::new(BTreeSet::new()));
        let (log, f) = (seen.clone(), f.clone());
        let races = algorithm.info().covers.data_races;
        let builder = Builder::new().algorithm(algorithm).data_races(races);
        let outcome = builder.explore(move || {
            let result = f();
            log.borrow_mut().insert(result);
        });
        assert!(outcome.messages().is_empty(), "{}", outcome.text());
        assert_eq!(*seen.borrow(), found, "{}", algorithm.info().name);
    }
    found
}

fn atomics<const N: usize>() -> Arc<[AtomicUsize; N]> {
    Arc::new([const { AtomicUsize::new(0) }; N])
}

#[test]
fn a_store_and_a_load() {
    let found = all(|| {
        let [x] = &*Box::leak(Box::new([AtomicUsize::new(0)]));
        let other = thread::spawn(|| x.store(1, SeqCst));
        let seen = x.load(SeqCst);
        other.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeSet::from([0, 1]));
}

#[test]
fn a_load_before_the_store_hides_nothing() {
    for (store, load) in [(SeqCst, SeqCst), (Release, Acquire)] {
        let found = all(move || {
            let shared = atomics::<1>();
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared[0].load(load);
                    shared[0].store(1, store);
                })
            };
            let seen = shared[0].load(load);
            other.join().unwrap();
            seen
        });
        assert_eq!(found, BTreeSet::from([0, 1]));
    }
    let both_spawned = all(|| {
        let shared = atomics::<1>();
        let (a, b) = (Arc::clone(&shared), shared);
        let writer = thread::spawn(move || {
            a[0].load(SeqCst);
            a[0].store(1, SeqCst);
        });
        let reader = thread::spawn(move || b[0].load(SeqCst));
        writer.join().unwrap();
        reader.join().unwrap()
    });
    assert_eq!(both_spawned, BTreeSet::from([0, 1]));
}

#[test]
fn polling_a_counter_sees_every_pair() {
    let found = all(|| {
        let shared = atomics::<1>();
        let publisher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    let count = shared[0].load(SeqCst);
                    shared[0].store(count + 1, SeqCst);
                }
            })
        };
        let seen = (shared[0].load(SeqCst), shared[0].load(SeqCst));
        publisher.join().unwrap();
        seen
    });
    let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
    assert_eq!(found, BTreeSet::from(pairs));
}

#[test]
fn an_update_can_be_lost() {
    let found = all(|| {
        let shared = atomics::<1>();
        let add = |shared: &[AtomicUsize; 1]| {
            let count = shared[0].load(SeqCst);
            shared[0].store(count + 1, SeqCst);
        };
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || add(&shared))
        };
        add(&shared);
        other.join().unwrap();
        shared[0].load(SeqCst)
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

#[test]
fn store_buffering_is_sequentially_consistent() {
    let found = all(|| {
        let shared = atomics::<2>();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared[0].store(1, SeqCst);
                shared[1].load(SeqCst)
            })
        };
        shared[1].store(1, SeqCst);
        let mine = shared[0].load(SeqCst);
        (mine, other.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn two_stores_then_a_load() {
    let found = all(|| {
        let shared = atomics::<1>();
        let threads = [1, 2].map(|value| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared[0].store(value, SeqCst))
        });
        _ = threads.map(|thread| thread.join().unwrap());
        shared[0].load(SeqCst)
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

#[test]
fn independent_reads_of_independent_writes_agree() {
    let (found, _) = outcomes(|| {
        let shared = atomics::<2>();
        let spawn = |f: fn(&[AtomicUsize; 2]) -> (usize, usize)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || f(&shared))
        };
        let writers = [
            spawn(|shared| {
                shared[0].store(1, SeqCst);
                (0, 0)
            }),
            spawn(|shared| {
                shared[1].store(1, SeqCst);
                (0, 0)
            }),
        ];
        let readers = [
            spawn(|shared| (shared[0].load(SeqCst), shared[1].load(SeqCst))),
            spawn(|shared| (shared[1].load(SeqCst), shared[0].load(SeqCst))),
        ];
        _ = writers.map(|thread| thread.join().unwrap());
        readers.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found.len(), 15);
    assert!(!found.contains(&[(1, 0), (1, 0)]), "the two readers disagree");
}

#[test]
fn load_buffering() {
    let (found, _) = outcomes_with(&Builder::new(), || {
        let shared = atomics::<2>();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let seen = shared[0].load(Relaxed);
                shared[1].store(1, Relaxed);
                seen
            })
        };
        let seen = shared[1].load(Relaxed);
        shared[0].store(1, Relaxed);
        (seen, other.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([(0, 0), (0, 1), (1, 0)]));
}

#[test]
fn trying_a_lock_can_fail() {
    let found = all(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || *lock.lock().unwrap() = 1)
        };
        let seen = lock.try_lock().ok().map(|value| *value);
        other.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeSet::from([None, Some(0), Some(1)]));
}

#[test]
fn trying_to_read_can_fail() {
    let found = all(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || *lock.write().unwrap() = 1)
        };
        let seen = lock.try_read().ok().map(|value| *value);
        other.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeSet::from([None, Some(0), Some(1)]));
}

/// A ring that publishes `tail` before it writes the slot.
struct WrongRing {
    slots: [UnsafeCell<usize>; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: it is wrong, and the check must say so.
unsafe impl Sync for WrongRing {}

impl WrongRing {
    fn new() -> Self {
        let slots = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Self { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    fn push(&self, value: usize) {
        let tail = self.tail.load(Ordering::Acquire);
        self.tail.store(tail + 1, Ordering::Release);
        // SAFETY: not so.
        self.slots[tail % 2].with_mut(|slot| unsafe { *slot = value });
    }

    fn pop(&self) -> Option<usize> {
        let head = self.head.load(Ordering::Acquire);
        if head == self.tail.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: not so.
        let value = self.slots[head % 2].with(|slot| unsafe { *slot });
        self.head.store(head + 1, Ordering::Release);
        Some(value)
    }
}

#[test]
fn the_seeded_bug_is_found_in_every_variant() {
    type Consume = fn(&WrongRing);
    let variants: [(&str, Consume); 4] = [
        ("once", |ring| _ = ring.pop()),
        ("twice", |ring| (0..2).for_each(|_| _ = ring.pop())),
        ("three times", |ring| (0..3).for_each(|_| _ = ring.pop())),
        ("until something comes", |ring| {
            while ring.pop().is_none() {
                thread::yield_now();
            }
        }),
    ];
    for (name, consume) in variants {
        for main_consumes in [true, false] {
            let outcome = Builder::new().explore(move || {
                let ring = Arc::new(WrongRing::new());
                let other = Arc::clone(&ring);
                let thread = match main_consumes {
                    true => thread::spawn(move || other.push(7)),
                    false => thread::spawn(move || consume(&other)),
                };
                if main_consumes {
                    consume(&ring)
                } else {
                    ring.push(7)
                }
                thread.join().unwrap();
            });
            assert_eq!(outcome.kinds(), [ViolationKind::DataRace], "{name}: {}", outcome.text());
        }
    }
}
