//! Data races by memory orderings: patterns that people write, with the orderings that suffice and with some that
//! do not. Loads see the last store; so what only an older value would show is not found here.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use selvedge::cell::UnsafeCell;
use selvedge::hint::spin_loop;
use selvedge::sync::atomic::{AtomicUsize, fence};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Algorithm, Builder, Memory, Verdict, ViolationKind, thread};

/// What several threads use: ordinary memory and atomics.
struct Shared {
    data: [UnsafeCell<usize>; 2],
    atomics: [AtomicUsize; 3],
}

// SAFETY: whether accesses to `data` race is what is checked.
unsafe impl Sync for Shared {}

impl Shared {
    fn write(&self, which: usize) {
        // SAFETY: one thread runs at a time.
        self.data[which].with_mut(|data| unsafe { *data += 1 });
    }

    fn read(&self, which: usize) -> usize {
        // SAFETY: one thread runs at a time.
        self.data[which].with(|data| unsafe { *data })
    }
}

type Body = Box<dyn Fn(&Shared) + Send + Sync>;

fn body(f: impl Fn(&Shared) + Send + Sync + 'static) -> Body {
    Box::new(f)
}

/// Explores threads that share memory; returns the first violation, if there is one.
fn violation(threads: impl Fn() -> Vec<Body> + 'static) -> Option<String> {
    violation_with(Builder::new(), threads)
}

#[track_caller]
fn violation_with(builder: Builder, threads: impl Fn() -> Vec<Body> + 'static) -> Option<String> {
    let outcome = builder.quiet(true).explore(move || {
        let shared = Arc::new(Shared {
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
            atomics: std::array::from_fn(|_| AtomicUsize::new(0)),
        });
        let threads: Vec<_> = threads()
            .into_iter()
            .map(|body| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || body(&shared))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    match outcome.verdict() {
        Verdict::Verified => None,
        Verdict::Violated => Some(outcome.text().to_string()),
        Verdict::Inconclusive => panic!("{}", outcome.text()),
    }
}

#[track_caller]
fn holds(threads: impl Fn() -> Vec<Body> + 'static) {
    let found = violation(threads);
    assert!(found.is_none(), "{}", found.unwrap_or_default());
}

/// Returns the report, to look at what it says.
#[track_caller]
fn races(threads: impl Fn() -> Vec<Body> + 'static) -> String {
    let text = violation(threads).expect("there is a data race");
    assert!(text.contains("data race on"), "{text}");
    // Long lines are broken.
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A store after writing, and a load before reading; fences before the one, after it, and after the other.
fn publish(store: Ordering, load: Ordering, fences: [Option<Ordering>; 3]) -> Vec<Body> {
    let [before, after, loaded] = fences;
    vec![
        body(move |s| {
            s.write(0);
            before.into_iter().for_each(fence);
            s.atomics[0].store(1, store);
            after.into_iter().for_each(fence);
        }),
        body(move |s| {
            if s.atomics[0].load(load) == 1 {
                loaded.into_iter().for_each(fence);
                s.read(0);
            }
        }),
    ]
}

#[test]
fn publishing_a_value() {
    holds(|| publish(Release, Acquire, [None; 3]));
    holds(|| publish(SeqCst, SeqCst, [None; 3]));
    holds(|| publish(Relaxed, Relaxed, [Some(Release), None, Some(Acquire)]));
    holds(|| publish(Relaxed, Relaxed, [Some(SeqCst), None, Some(AcqRel)]));
    races(|| publish(Relaxed, Acquire, [None; 3]));
    races(|| publish(Release, Relaxed, [None; 3]));
    races(|| publish(Relaxed, Relaxed, [None, Some(Release), Some(Acquire)]));
    races(|| publish(Relaxed, Relaxed, [Some(Acquire), None, Some(Acquire)]));
    races(|| publish(Relaxed, Relaxed, [Some(Release), None, Some(Release)]));
}

#[test]
fn a_report_names_the_ordering_that_is_missing() {
    let text = races(|| publish(Relaxed, Acquire, [None; 3]));
    assert!(text.contains("was written with Relaxed at"), "{text}");
    assert!(text.contains("did not make what came before visible: use Release"), "{text}");
    let text = races(|| publish(Release, Relaxed, [None; 3]));
    assert!(text.contains("was read with Relaxed at"), "{text}");
    assert!(text.contains("did not become visible: use Acquire"), "{text}");
    let text = races(|| publish(Relaxed, Relaxed, [None; 3]));
    assert!(text.contains("use Release for the write and Acquire for the read"), "{text}");
    // Nothing between the two accesses could have ordered them.
    let text = races(|| vec![body(|s| s.write(0)), body(|s| s.write(0))]);
    assert!(!text.contains("use Release"), "{text}");
}

#[test]
fn release_sequences() {
    let sequence = |last: fn(&AtomicUsize)| {
        move || {
            vec![
                body(move |s| {
                    s.write(0);
                    s.atomics[0].store(1, Release);
                    last(&s.atomics[0]);
                }),
                body(|s| {
                    if s.atomics[0].load(Acquire) == 2 {
                        s.read(0);
                    }
                }),
            ]
        }
    };
    holds(sequence(|x| {
        x.fetch_add(1, Relaxed);
    }));
    // Fine before C++20.
    races(sequence(|x| x.store(2, Relaxed)));
    // One of another thread continues it, too.
    holds(|| {
        vec![
            body(|s| {
                s.write(0);
                s.atomics[0].store(1, Release);
            }),
            body(|s| {
                s.atomics[0].fetch_add(1, Relaxed);
            }),
            body(|s| {
                if s.atomics[0].load(Acquire) == 2 {
                    s.read(0);
                }
            }),
        ]
    });
}

fn spinlock(lock: Ordering, unlock: Ordering) -> Vec<Body> {
    let thread = move |s: &Shared| {
        while s.atomics[0].swap(1, lock) == 1 {
            spin_loop();
        }
        s.write(0);
        s.atomics[0].store(0, unlock);
    };
    vec![body(thread), body(thread)]
}

fn ticket_lock(load: Ordering, store: Ordering) -> Vec<Body> {
    let thread = move |s: &Shared| {
        let ticket = s.atomics[0].fetch_add(1, Relaxed);
        while s.atomics[1].load(load) != ticket {
            spin_loop();
        }
        s.write(0);
        s.atomics[1].store(ticket + 1, store);
    };
    vec![body(thread), body(thread)]
}

#[test]
fn locks() {
    holds(|| spinlock(Acquire, Release));
    races(|| spinlock(Acquire, Relaxed));
    races(|| spinlock(Relaxed, Release));
    holds(|| ticket_lock(Acquire, Release));
    races(|| ticket_lock(Acquire, Relaxed));
    races(|| ticket_lock(Relaxed, Release));
}

#[test]
fn dropping_a_counted_reference() {
    let drops = |sub: Ordering, last: Option<Ordering>| {
        move || {
            let thread = move |s: &Shared| {
                s.read(0);
                if s.atomics[0].fetch_add(1, sub) == 1 {
                    last.into_iter().for_each(fence);
                    s.write(0);
                }
            };
            vec![body(thread), body(thread)]
        }
    };
    holds(drops(Release, Some(Acquire)));
    holds(drops(AcqRel, None));
    races(drops(Release, None));
    races(drops(Relaxed, Some(Acquire)));
}

/// Orderings of stores and loads; of `turn`, if it is swapped; and a fence before the check.
fn peterson(orders: [Ordering; 2], swap: Option<Ordering>, before: Option<Ordering>) -> Vec<Body> {
    let [store, load] = orders;
    let thread = move |me: usize| {
        move |s: &Shared| {
            s.atomics[me].store(1, store);
            match swap {
                None => s.atomics[2].store(1 - me, store),
                Some(order) => {
                    s.atomics[2].swap(1 - me, order);
                }
            }
            before.into_iter().for_each(fence);
            while s.atomics[1 - me].load(load) == 1 && s.atomics[2].load(load) == 1 - me {
                spin_loop();
            }
            s.write(0);
            s.atomics[me].store(0, store);
        }
    };
    vec![body(thread(0)), body(thread(1))]
}

#[test]
fn petersons_lock_is_right_if_loads_see_the_last_store() {
    holds(|| peterson([SeqCst, SeqCst], None, None));
    holds(|| peterson([Release, Acquire], Some(AcqRel), None));
    // These hold, but for loads of older values.
    let weak: [fn() -> Vec<Body>; 3] = [
        || peterson([Release, Acquire], None, None),
        || peterson([Release, Acquire], None, Some(SeqCst)),
        || peterson([Release, Acquire], Some(Relaxed), None),
    ];
    for threads in weak {
        let first = Builder::new().sequentially_consistent(true);
        assert_eq!(violation_with(first, threads), None);
        races(threads);
    }
    races(|| peterson([Relaxed, Acquire], None, None));
}

#[test]
fn double_checked_initialisation() {
    let initialise = |load: Ordering, store: Ordering| {
        move || {
            let mutex = Arc::new(Mutex::new(()));
            let thread = |mutex: Arc<Mutex<()>>| {
                move |s: &Shared| {
                    if s.atomics[0].load(load) == 0 {
                        let _guard = mutex.lock().unwrap();
                        if s.atomics[0].load(Relaxed) == 0 {
                            s.write(0);
                            s.atomics[0].store(1, store);
                        }
                    }
                    s.read(0);
                }
            };
            vec![body(thread(Arc::clone(&mutex))), body(thread(mutex))]
        }
    };
    holds(initialise(Acquire, Release));
    races(initialise(Relaxed, Release));
    races(initialise(Acquire, Relaxed));
}

#[test]
fn once_by_compare_exchange() {
    let once = |failure: Ordering| {
        move || {
            let thread =
                move |s: &Shared| match s.atomics[0].compare_exchange(0, 1, Relaxed, failure) {
                    Ok(_) => {
                        s.write(0);
                        s.atomics[0].store(2, Release);
                    }
                    Err(2) => {
                        s.read(0);
                    }
                    Err(_) => {}
                };
            vec![body(thread), body(thread)]
        }
    };
    holds(once(Acquire));
    races(once(Relaxed));
}

/// A ring with one slot: orderings of `tail`, stored and loaded, and of `head`, stored and loaded.
fn ring(tail: [Ordering; 2], head: [Ordering; 2]) -> Vec<Body> {
    vec![
        body(move |s| {
            s.write(0);
            s.atomics[0].store(1, tail[0]);
            if s.atomics[1].load(head[1]) == 1 {
                s.write(0);
                s.atomics[0].store(2, tail[0]);
            }
        }),
        body(move |s| {
            if s.atomics[0].load(tail[1]) == 1 {
                s.read(0);
                s.atomics[1].store(1, head[0]);
            }
        }),
    ]
}

#[test]
fn queues() {
    holds(|| ring([Release, Acquire], [Release, Acquire]));
    races(|| ring([Relaxed, Acquire], [Release, Acquire]));
    races(|| ring([Release, Relaxed], [Release, Acquire]));
    races(|| ring([Release, Acquire], [Relaxed, Acquire]));
    races(|| ring([Release, Acquire], [Release, Relaxed]));
    // The node of a stack: written, then pushed.
    let stack = |push: Ordering| {
        move || {
            vec![
                body(move |s| {
                    s.write(0);
                    let _ = s.atomics[0].compare_exchange(0, 1, push, Relaxed);
                }),
                body(|s| {
                    if s.atomics[0].swap(0, Acquire) == 1 {
                        s.read(0);
                    }
                }),
            ]
        }
    };
    holds(stack(Release));
    races(stack(Relaxed));
}

#[test]
fn the_last_one_in_reads_all() {
    let last = |add: Ordering| {
        move || {
            let thread = move |me: usize| {
                move |s: &Shared| {
                    s.write(me);
                    if s.atomics[0].fetch_add(1, add) == 1 {
                        s.read(0);
                        s.read(1);
                    }
                }
            };
            vec![body(thread(0)), body(thread(1))]
        }
    };
    holds(last(AcqRel));
    races(last(Relaxed));
    races(last(Release));
    races(last(Acquire));
}

#[test]
fn handing_a_lock_over() {
    let hand_over = |store: Ordering| {
        move || {
            vec![
                body(move |s| {
                    s.write(0);
                    s.atomics[0].store(1, store);
                }),
                body(|s| {
                    while s.atomics[0].load(Acquire) == 0 {
                        spin_loop();
                    }
                    s.write(0);
                }),
            ]
        }
    };
    holds(hand_over(Release));
    races(hand_over(Relaxed));
}

/// A write that follows a read of the same atomic is not ordered after what its thread did before.
#[test]
fn a_load_orders_no_later_store() {
    races(|| {
        vec![
            body(|s| {
                s.write(0);
                s.atomics[0].load(SeqCst);
            }),
            body(|s| {
                s.atomics[0].store(1, SeqCst);
                s.write(0);
            }),
        ]
    });
    races(|| {
        vec![
            body(|s| {
                s.write(0);
                s.atomics[0].store(1, SeqCst);
            }),
            body(|s| {
                s.atomics[0].store(2, SeqCst);
                s.write(0);
            }),
        ]
    });
}

#[test]
fn a_counter_that_is_read_after_joining() {
    holds(|| {
        let add = |s: &Shared| {
            s.atomics[0].fetch_add(1, Relaxed);
        };
        vec![body(add), body(add)]
    });
}

/// `std` promises nothing about what a thread did before `join`, and looks at counts with `Relaxed`.
#[test]
fn looks_at_counts_and_ends_order_nothing() {
    let shared = || {
        let atomics = std::array::from_fn(|_| AtomicUsize::new(0));
        Arc::new(Shared { data: [UnsafeCell::new(0), UnsafeCell::new(0)], atomics })
    };
    let finished = move |joins: bool| {
        Builder::new().quiet(true).explore(move || {
            let mine = shared();
            let other = Arc::clone(&mine);
            let writer = thread::spawn(move || other.write(0));
            if writer.is_finished() && !joins {
                mine.read(0);
            }
            writer.join().unwrap();
            mine.read(0);
        })
    };
    assert_eq!(finished(false).kinds(), [ViolationKind::DataRace]);
    assert!(finished(true).kinds().is_empty());
    let counted = move |is_owner: fn(&mut Arc<Shared>) -> bool| {
        Builder::new().quiet(true).explore(move || {
            let mut mine = shared();
            let other = Arc::clone(&mine);
            let writer = thread::spawn(move || other.write(0));
            if is_owner(&mut mine) {
                mine.write(0);
            }
            writer.join().unwrap();
        })
    };
    assert_eq!(counted(|it| Arc::strong_count(it) == 1).kinds(), [ViolationKind::DataRace]);
    let outcome = counted(|it| Arc::get_mut(it).is_some());
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// As in `std`: the waiter sees what the notifier did before it gave up the mutex, and nothing else.
#[test]
fn a_notification_orders_nothing() {
    let waits = |writes_under_lock: bool, builder: Builder| {
        builder.quiet(true).explore(move || {
            let data = [UnsafeCell::new(0), UnsafeCell::new(0)];
            let shared = Shared { data, atomics: std::array::from_fn(|_| AtomicUsize::new(0)) };
            let mine = Arc::new((Mutex::new(false), Condvar::new(), shared));
            let other = Arc::clone(&mine);
            let waiter = thread::spawn(move || {
                let (mutex, condition, shared) = &*other;
                let guard = mutex.lock().unwrap();
                if !*guard {
                    drop(condition.wait(guard).unwrap());
                    shared.read(0);
                }
            });
            let (mutex, condition, shared) = &*mine;
            let mut guard = Some(mutex.lock().unwrap());
            **guard.as_mut().unwrap() = true;
            if !writes_under_lock {
                guard = None;
            }
            shared.write(0);
            drop(guard);
            condition.notify_one();
            waiter.join().unwrap();
        })
    };
    for algorithm in [Algorithm::Parsimonious, Algorithm::Optimal, Algorithm::Source] {
        let builder = || Builder::new().spurious(0).algorithm(algorithm);
        let unlocked = waits(false, builder());
        assert_eq!(unlocked.kinds(), [ViolationKind::DataRace], "{}", unlocked.text());
        let locked = waits(true, builder());
        assert_eq!(locked.verdict(), Verdict::Verified, "{}", locked.text());
    }
    assert_eq!(
        waits(false, Builder::new().spurious(0).memory(Memory::Rc11)).kinds(),
        [ViolationKind::DataRace]
    );
}
