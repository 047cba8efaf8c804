//! Idioms of lock-free code as people write them in Rust, right and with wrong orderings: what is wrong with each variant under
//! SC, TSO and RC11. The same variants as litmus tests, with their numbers of executions, are in
//! `selvedge-testkit/tests/weak_patterns.rs`. Data races are judged by the orderings under every model.

use selvedge::cell::UnsafeCell;
use selvedge::hint::spin_loop;
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicUsize, fence};
use selvedge::sync::{Arc, Mutex};
use selvedge::{Builder, Memory, Verdict, ViolationKind, thread};

/// What is wrong with a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    Fine,
    Race,
    Assert,
    Stuck,
}
use Trouble::{Assert, Fine, Race, Stuck};

/// What several threads use: ordinary memory and atomics.
struct Shared {
    data: [UnsafeCell<usize>; 2],
    atomics: [AtomicUsize; 3],
    mutex: Mutex<()>,
}

// SAFETY: whether accesses to `data` race is what is checked.
unsafe impl Sync for Shared {}

impl Shared {
    fn write(&self, which: usize, value: usize) {
        // SAFETY: one thread runs at a time.
        self.data[which].with_mut(|data| unsafe { *data = value });
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

/// The fence, if there is one.
fn maybe(order: Option<Ordering>) {
    order.into_iter().for_each(fence);
}

/// What is wrong with threads that share memory, under a model. The atomics begin with `initial`.
fn trouble(memory: Memory, initial: [usize; 3], threads: &std::sync::Arc<Vec<Body>>) -> Trouble {
    let threads = std::sync::Arc::clone(threads);
    let outcome = Builder::new().memory(memory).spurious(0).explore(move || {
        let shared = Arc::new(Shared {
            data: [UnsafeCell::new(0), UnsafeCell::new(0)],
            atomics: initial.map(AtomicUsize::new),
            mutex: Mutex::new(()),
        });
        let handles: Vec<_> = (0..threads.len())
            .map(|number| {
                let (shared, threads) = (Arc::clone(&shared), std::sync::Arc::clone(&threads));
                thread::spawn(move || threads[number](&shared))
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    match (outcome.verdict(), outcome.kinds().first()) {
        (Verdict::Verified, _) => Fine,
        (Verdict::Violated, Some(ViolationKind::DataRace)) => Race,
        (Verdict::Violated, Some(ViolationKind::Panic)) => Assert,
        (Verdict::Violated, Some(ViolationKind::Deadlock)) => Stuck,
        _ => panic!("{}", outcome.text()),
    }
}

/// Expected: what is wrong under SC, TSO and RC11.
#[track_caller]
fn check_from(initial: [usize; 3], threads: Vec<Body>, expected: [Trouble; 3]) {
    let threads = std::sync::Arc::new(threads);
    let found =
        [Memory::Sc, Memory::Tso, Memory::Rc11].map(|memory| trouble(memory, initial, &threads));
    assert_eq!(found, expected);
}

#[track_caller]
fn check(threads: Vec<Body>, expected: [Trouble; 3]) {
    check_from([0; 3], threads, expected);
}

#[test]
fn publish_a_value() {
    let threads = |[before, after, loaded]: [Option<Ordering>; 3], store, load| {
        vec![
            body(move |s| {
                s.write(0, 1);
                maybe(before);
                s.atomics[0].store(1, store);
                maybe(after);
            }),
            body(move |s| {
                if s.atomics[0].load(load) == 1 {
                    maybe(loaded);
                    assert_eq!(s.read(0), 1);
                }
            }),
        ]
    };
    check(threads([None; 3], Release, Acquire), [Fine; 3]);
    check(threads([None; 3], Relaxed, Acquire), [Race; 3]);
    check(threads([None; 3], Release, Relaxed), [Race; 3]);
    check(threads([Some(Release), None, Some(Acquire)], Relaxed, Relaxed), [Fine; 3]);
    check(threads([None, Some(Release), Some(Acquire)], Relaxed, Relaxed), [Race; 3]);
}

#[test]
fn release_sequence() {
    let threads = |second: fn(&AtomicUsize)| {
        vec![
            body(move |s| {
                s.write(0, 1);
                s.atomics[0].store(1, Release);
                second(&s.atomics[0]);
            }),
            body(|s| {
                if s.atomics[0].load(Acquire) == 2 {
                    s.read(0);
                }
            }),
        ]
    };
    check(threads(|it| _ = it.fetch_add(1, Relaxed)), [Fine; 3]);
    check(threads(|it| it.store(2, Relaxed)), [Race; 3]);
}

#[test]
fn spinlock() {
    for (taking, giving, expected) in
        [(Acquire, Release, Fine), (Acquire, Relaxed, Race), (Relaxed, Release, Race)]
    {
        let thread = || {
            body(move |s| {
                while s.atomics[0].swap(1, taking) == 1 {
                    spin_loop();
                }
                s.write(0, s.read(0) + 1);
                s.atomics[0].store(0, giving);
            })
        };
        check(vec![thread(), thread()], [expected; 3]);
    }
}

#[test]
fn ticket_lock() {
    for (giving, expected) in [(Release, Fine), (Relaxed, Race)] {
        let thread = || {
            body(move |s| {
                let ticket = s.atomics[0].fetch_add(1, Relaxed);
                while s.atomics[1].load(Acquire) != ticket {
                    spin_loop();
                }
                s.write(0, s.read(0) + 1);
                s.atomics[1].store(ticket + 1, giving);
            })
        };
        check(vec![thread(), thread()], [expected; 3]);
    }
}

#[test]
fn reference_count() {
    for (order, fenced, expected) in [
        (Release, Some(Acquire), Fine),
        (Release, None, Race),
        (Relaxed, Some(Acquire), Race),
        (AcqRel, None, Fine),
    ] {
        let thread = || {
            body(move |s| {
                s.read(0);
                if s.atomics[0].fetch_sub(1, order) == 1 {
                    maybe(fenced);
                    s.write(0, 0);
                }
            })
        };
        check_from([2, 0, 0], vec![thread(), thread()], [expected; 3]);
    }
}

#[test]
fn seqlock() {
    for (writing, reading, first, rc11) in [
        (Some(Release), Some(Acquire), Acquire, Fine),
        (None, Some(Acquire), Acquire, Assert),
        (Some(Release), None, Acquire, Assert),
        (Some(Release), Some(Acquire), Relaxed, Assert),
    ] {
        let writer = body(move |s| {
            let [sequence, a, b] = &s.atomics;
            sequence.store(1, Relaxed);
            maybe(writing);
            a.store(1, Relaxed);
            b.store(1, Relaxed);
            sequence.store(2, Release);
        });
        let reader = body(move |s| {
            let [sequence, a, b] = &s.atomics;
            let before = sequence.load(first);
            if before != 1 {
                let values = (a.load(Relaxed), b.load(Relaxed));
                maybe(reading);
                if sequence.load(Relaxed) == before {
                    assert_eq!(values.0, values.1);
                }
            }
        });
        check(vec![writer, reader], [Fine, Fine, rc11]);
    }
}

#[test]
fn petersons_lock() {
    type Fences = [Option<Ordering>; 2];
    let threads = |w: Ordering, r: Ordering, [early, late]: Fences, swapped: Option<Ordering>| {
        let thread = |me: usize, you: usize| {
            body(move |s| {
                let turn = &s.atomics[2];
                s.atomics[me].store(1, w);
                maybe(early);
                match swapped {
                    Some(order) => _ = turn.swap(you, order),
                    None => turn.store(you, w),
                }
                maybe(late);
                // Who has to wait gives up: that is enough for two threads.
                if s.atomics[you].load(r) == 1 && turn.load(r) == you {
                    return;
                }
                s.write(0, me);
                s.atomics[me].store(0, Release);
            })
        };
        vec![thread(0, 1), thread(1, 0)]
    };
    let (none, sc) = ([None; 2], Some(SeqCst));
    check(threads(SeqCst, SeqCst, none, None), [Fine; 3]);
    check(threads(Release, Acquire, none, None), [Fine, Race, Race]);
    check(threads(Release, Acquire, [None, sc], None), [Fine, Fine, Race]);
    check(threads(Release, Acquire, [sc, sc], None), [Fine; 3]);
    check(threads(Relaxed, Acquire, none, Some(AcqRel)), [Fine; 3]);
    check(threads(Relaxed, Acquire, none, Some(Relaxed)), [Fine, Fine, Race]);
    check(threads(Release, Acquire, [None, Some(AcqRel)], None), [Fine, Race, Race]);
}

#[test]
fn dekker_entry() {
    for (w, fenced, expected) in
        [(Relaxed, Some(SeqCst), [Fine; 3]), (Release, None, [Fine, Race, Race])]
    {
        let thread = |me: usize, you: usize| {
            body(move |s| {
                s.atomics[me].store(1, w);
                maybe(fenced);
                if s.atomics[you].load(Acquire) == 0 {
                    s.write(0, 1);
                }
            })
        };
        check(vec![thread(0, 1), thread(1, 0)], expected);
    }
}

#[test]
fn double_checked_initialisation() {
    for (fast, publish, expected) in
        [(Acquire, Release, Fine), (Relaxed, Release, Race), (Acquire, Relaxed, Race)]
    {
        let thread = || {
            body(move |s| {
                let done = &s.atomics[0];
                if done.load(fast) == 0 {
                    let _guard = s.mutex.lock().unwrap();
                    if done.load(Relaxed) == 0 {
                        s.write(0, 1);
                        done.store(1, publish);
                    }
                }
                assert_eq!(s.read(0), 1);
            })
        };
        check(vec![thread(), thread()], [expected; 3]);
    }
}

#[test]
fn once_by_compare_exchange() {
    for (failure, expected) in [(Acquire, Fine), (Relaxed, Race)] {
        let thread = || {
            body(move |s| match s.atomics[0].compare_exchange(0, 1, Acquire, failure) {
                Ok(_) => {
                    s.write(0, 1);
                    s.atomics[0].store(2, Release);
                }
                Err(2) => assert_eq!(s.read(0), 1),
                Err(_) => {}
            })
        };
        check(vec![thread(), thread()], [expected; 3]);
    }
}

#[test]
fn ring_of_one_producer_and_one_consumer() {
    for (write_tail, write_head, read_head, expected) in [
        (Release, Release, Acquire, Fine),
        (Relaxed, Release, Acquire, Race),
        (Release, Relaxed, Acquire, Race),
        (Release, Release, Relaxed, Race),
    ] {
        let producer = body(move |s| {
            let [tail, head, _] = &s.atomics;
            s.write(0, 1);
            tail.store(1, write_tail);
            if head.load(read_head) == 1 {
                s.write(0, 2);
                tail.store(2, write_tail);
            }
        });
        let consumer = body(move |s| {
            let [tail, head, _] = &s.atomics;
            if tail.load(Acquire) != 0 {
                s.read(0);
                head.store(1, write_head);
            }
        });
        check(vec![producer, consumer], [expected; 3]);
    }
}

#[test]
fn treiber_stack() {
    for (push, expected) in [(Release, Fine), (Relaxed, Race)] {
        let pusher = body(move |s| {
            s.write(0, 7);
            s.atomics[0].compare_exchange(0, 1, push, Relaxed).unwrap();
        });
        let popper = body(|s| {
            let top = &s.atomics[0];
            if top.load(Acquire) == 1 && top.compare_exchange(1, 0, Acquire, Relaxed).is_ok() {
                assert_eq!(s.read(0), 7);
            }
        });
        check(vec![pusher, popper], [expected; 3]);
    }
}

#[test]
fn chase_lev_deque() {
    let sc = Some(SeqCst);
    for (take, steal, expected) in
        [(sc, sc, [Fine; 3]), (None, sc, [Fine, Race, Race]), (sc, None, [Fine, Fine, Race])]
    {
        let owner = body(move |s| {
            let [bottom, top, _] = &s.atomics;
            bottom.store(1, Relaxed);
            maybe(take);
            if top.load(Relaxed) < 1 {
                s.read(0);
                s.write(0, 9);
            }
        });
        let thief = || {
            body(move |s| {
                let [bottom, top, _] = &s.atomics;
                let first = top.load(Acquire);
                maybe(steal);
                if first < bottom.load(Acquire) {
                    if first == 1 {
                        s.read(0);
                    }
                    let _ = top.compare_exchange(first, first + 1, SeqCst, Relaxed);
                }
            })
        };
        check_from([2, 0, 0], vec![owner, thief(), thief()], expected);
    }
}

#[test]
fn hazard_pointer() {
    let (sc, ar) = (Some(SeqCst), Some(AcqRel));
    for (reading, writing, expected) in [
        (sc, sc, [Fine; 3]),
        (None, sc, [Fine, Race, Race]),
        (sc, None, [Fine, Race, Race]),
        (ar, ar, [Fine, Race, Race]),
    ] {
        let reader = body(move |s| {
            let [active, pointer, _] = &s.atomics;
            active.store(1, Relaxed);
            maybe(reading);
            if pointer.load(Acquire) == 0 {
                s.read(0);
            }
            active.store(0, Release);
        });
        let writer = body(move |s| {
            let [active, pointer, _] = &s.atomics;
            pointer.store(1, Release);
            maybe(writing);
            if active.load(Acquire) == 0 {
                s.write(0, 9);
            }
        });
        check(vec![reader, writer], expected);
    }
}

#[test]
fn the_last_one_in_reads_all() {
    for (order, expected) in [(AcqRel, Fine), (Relaxed, Race), (Release, Race)] {
        let thread = |me: usize, you: usize| {
            body(move |s| {
                s.write(me, 1);
                if s.atomics[0].fetch_add(1, order) == 1 {
                    assert_eq!(s.read(you), 1);
                }
            })
        };
        check(vec![thread(0, 1), thread(1, 0)], [expected; 3]);
    }
}

#[test]
fn lost_wake_up() {
    for (fenced, expected) in [
        (Some(SeqCst), [Fine; 3]),
        (None, [Fine, Stuck, Stuck]),
        (Some(AcqRel), [Fine, Stuck, Stuck]),
    ] {
        let sleeper = body(move |s| {
            let [sleeping, work, token] = &s.atomics;
            sleeping.store(1, Relaxed);
            maybe(fenced);
            if work.load(Relaxed) == 0 {
                while token.swap(0, Acquire) == 0 {
                    spin_loop();
                }
            }
        });
        let waker = body(move |s| {
            let [sleeping, work, token] = &s.atomics;
            work.store(1, Relaxed);
            maybe(fenced);
            if sleeping.load(Relaxed) == 1 {
                token.swap(1, Release);
            }
        });
        check(vec![sleeper, waker], expected);
    }
}

#[test]
fn hand_over() {
    for (order, expected) in [(Release, Fine), (Relaxed, Race)] {
        let owner = body(move |s| {
            s.write(0, 1);
            s.atomics[0].store(0, order);
        });
        let next = body(|s| {
            while s.atomics[0].load(Acquire) == 1 {
                spin_loop();
            }
            assert_eq!(s.read(0), 1);
        });
        check_from([1, 0, 0], vec![owner, next], [expected; 3]);
    }
}

#[test]
fn two_observers() {
    for (order, rc11) in [(SeqCst, Fine), (Acquire, Assert)] {
        let observer = |x: usize, y: usize| {
            body(move |s| {
                let seen = (s.atomics[x].load(order), s.atomics[y].load(order));
                if seen == (1, 0) {
                    assert_eq!(s.atomics[2].fetch_add(1, Relaxed), 0, "the observers disagree");
                }
            })
        };
        let writer = |at: usize| body(move |s| s.atomics[at].store(1, SeqCst));
        let threads = vec![writer(0), writer(1), observer(0, 1), observer(1, 0)];
        check(threads, [Fine, Fine, rc11]);
    }
}

#[test]
fn counter_read_after_join() {
    let counts = |update: fn(&AtomicUsize)| {
        move || {
            let hits = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| update(&hits));
                scope.spawn(|| update(&hits));
            });
            assert_eq!(hits.load(Relaxed), 2);
        }
    };
    for memory in [Memory::Sc, Memory::Tso, Memory::Rc11] {
        let builder = Builder::new().memory(memory);
        let in_one_step = counts(|hits| _ = hits.fetch_add(1, Relaxed));
        assert_eq!(builder.explore(in_one_step).verdict(), Verdict::Verified);
        let in_two_steps = counts(|hits| hits.store(hits.load(Relaxed) + 1, Relaxed));
        assert_eq!(builder.explore(in_two_steps).verdict(), Verdict::Violated);
    }
}
