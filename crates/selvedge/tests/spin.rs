//! Spin loops: one that gives up does, one that waits waits, and nothing is lost by that.

use std::collections::BTreeSet;

use crate::common::{outcomes, outcomes_with};
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Mutex, mpsc};
use selvedge::{Algorithm, Builder, Verdict, check, hint, thread};

/// The same results as without a pause in the loop, where every turn is a step like any other, and as
/// all interleavings give.
fn same_without_pause<T: Ord + std::fmt::Debug + 'static>(
    program: impl Fn(fn()) -> T + Copy + 'static,
) -> BTreeSet<T> {
    let found = outcomes(move || program(hint::spin_loop)).0;
    assert_eq!(found, outcomes(move || program(|| ())).0, "without a pause");
    let oracle = Builder::new().algorithm(Algorithm::Oracle);
    assert_eq!(found, outcomes_with(&oracle, move || program(|| ())).0, "all interleavings");
    assert_eq!(found, outcomes_with(&oracle, move || program(hint::spin_loop)).0, "with a pause");
    found
}

#[test]
fn a_loop_that_gives_up() {
    let found = same_without_pause(|pause| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let turns = (0..4).find(|_| {
            let done = flag.load(SeqCst);
            pause();
            done
        });
        thread.join().unwrap();
        turns
    });
    let all = [Some(0), Some(1), Some(2), Some(3), None];
    assert_eq!(found, BTreeSet::from(all));
}

#[test]
fn what_is_wrong_after_a_loop_that_gives_up() {
    let outcome = Builder::new().explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let mut tries = 0;
        while !flag.load(SeqCst) {
            tries += 1;
            assert!(tries < 50, "gave up");
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Violated);
    assert!(outcome.messages()[0].contains("gave up"), "{}", outcome.text());
}

#[test]
fn a_lock_that_is_tried_three_times() {
    same_without_pause(|pause| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        let seen = (0..3).find_map(|turn| {
            let seen = lock.try_lock().ok().map(|guard| (turn, *guard));
            pause();
            seen.filter(|&(_, value)| value > 0)
        });
        thread.join().unwrap();
        seen
    });
}

#[test]
fn how_long_it_tries_is_read_from_others() {
    // The same values in the loop, and two bounds: whether it gives up is asked for each state.
    let found = same_without_pause(|pause| {
        let shared = Arc::new((Mutex::new(3), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = 2;
            other.1.store(true, SeqCst);
        });
        let most = *shared.0.lock().unwrap();
        let turns = (0..most).find(|_| {
            let done = shared.1.load(SeqCst);
            pause();
            done
        });
        thread.join().unwrap();
        (most, turns)
    });
    assert_eq!(found.len(), 7, "{found:?}");
}

#[test]
fn two_loops_that_give_up_on_each_other() {
    same_without_pause(|pause| {
        let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let run = move |flags: &[AtomicUsize; 2], me: usize| {
            let turns = (0..2).find(|_| {
                let done = flags[1 - me].load(SeqCst) > 0;
                pause();
                done
            });
            flags[me].store(1, SeqCst);
            turns
        };
        let other = Arc::clone(&flags);
        let thread = thread::spawn(move || run(&other, 1));
        (run(&flags, 0), thread.join().unwrap())
    });
}

#[test]
fn a_loop_that_waits_at_last() {
    // As backoff strategies do: some turns of one kind, then turns of another without end.
    let (found, executions) = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let mut turns = 0;
        while !flag.load(SeqCst) {
            match turns {
                0..3 => hint::spin_loop(),
                _ => thread::yield_now(),
            }
            turns = (turns + 1).min(5);
        }
        thread.join().unwrap();
        turns
    });
    assert_eq!(found, BTreeSet::from([0, 1, 2, 3, 4, 5]));
    assert!(executions < 20, "{executions}");
}

#[test]
fn a_long_way_to_giving_up() {
    let run = || {
        let flag = AtomicBool::new(false);
        let turns = (0..200).find(|_| {
            let done = flag.load(SeqCst);
            hint::spin_loop();
            done
        });
        assert_eq!(turns, None);
    };
    // It is unknown, so that it is no deadlock either.
    let outcome = Builder::new().explore(run);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
    let text = outcome.text();
    assert!(text.contains("the spin loop at crates/selvedge/tests/spin.rs:"), "{text}");
    assert!(text.contains("`Builder::spin_turns(1000)` follows it further"), "{text}");
    assert!(outcome.json().contains("came to a new state in each of 100 turns"));
    let failed = std::panic::catch_unwind(|| check(run)).unwrap_err();
    assert!(failed.downcast_ref::<String>().unwrap().contains("follows it further"));
    Builder::new().spin_turns(300).check(run);
    assert_eq!(Builder::new().spin_turns(300).explore(run).verdict(), Verdict::Verified);
}

/// A flag that another thread sets, and how to wait for it.
fn wait_with(wait: fn(&AtomicBool)) -> impl Fn() {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        wait(&flag);
        thread.join().unwrap();
    }
}

#[test]
fn a_loop_that_counts_without_end() {
    // It may give up at any number, or never: so it is not shown that nothing is wrong after it.
    let counts = wait_with(|flag| {
        let mut turns = 0_u64;
        while !flag.load(SeqCst) {
            turns += 1;
            assert!(turns < 1_000_000, "gave up");
            hint::spin_loop();
        }
    });
    let counts = std::rc::Rc::new(counts);
    let run = |builder: Builder| {
        let counts = std::rc::Rc::clone(&counts);
        builder.explore(move || counts())
    };
    assert_eq!(run(Builder::new()).verdict(), Verdict::Inconclusive);
    // Who says that no loop gives up has no failing test, but no proof either.
    let outcome = run(Builder::new().spin_turns(0));
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    assert!(outcome.text().contains("as `Builder::spin_turns(0)` asks"), "{}", outcome.text());
    let counts = std::rc::Rc::clone(&counts);
    Builder::new().spin_turns(0).check(move || counts());
    // What is wrong elsewhere is wrong.
    let outcome = Builder::new().explore(|| {
        wait_with(|flag| {
            let mut turns = 0_u64;
            while !flag.load(SeqCst) {
                turns += std::hint::black_box(1);
                hint::spin_loop();
            }
            panic!("after {} turns", turns.min(1));
        })();
    });
    assert_eq!(outcome.verdict(), Verdict::Violated);
}

#[test]
fn loops_that_wait_are_known_to() {
    let waits: [fn(&AtomicBool); 8] = [
        |flag| {
            while !flag.load(SeqCst) {
                hint::spin_loop()
            }
        },
        |flag| {
            while !flag.load(SeqCst) {
                thread::yield_now()
            }
        },
        |flag| {
            while flag.compare_exchange(true, false, SeqCst, SeqCst).is_err() {
                hint::spin_loop()
            }
        },
        // It allocates in each turn, and frees it.
        |flag| {
            while !flag.load(SeqCst) {
                assert_eq!(format!("{:?}", vec![1, 2]), "[1, 2]");
                thread::yield_now();
            }
        },
        // It counts up to something.
        |flag| {
            let mut pauses = 1;
            while !flag.load(SeqCst) {
                (0..pauses).for_each(|_| hint::spin_loop());
                pauses = (pauses * 2).min(64);
            }
        },
        // It goes round in three states.
        |flag| {
            let mut phase = 0;
            while !flag.load(SeqCst) {
                phase = (phase + 1) % 3;
                assert!(std::hint::black_box(phase) < 3);
                hint::spin_loop();
            }
        },
        // What it keeps in mind lies in the heap.
        |flag| {
            let mut last = Vec::new();
            while !flag.load(SeqCst) {
                last.clear();
                last.push(7);
                hint::spin_loop();
            }
        },
        // Another loop in it.
        |flag| {
            let lock = AtomicBool::new(false);
            loop {
                while lock.swap(true, SeqCst) {
                    hint::spin_loop();
                }
                let done = flag.load(SeqCst);
                lock.store(false, SeqCst);
                if done {
                    break;
                }
                thread::yield_now();
            }
        },
    ];
    for (number, wait) in waits.into_iter().enumerate() {
        let outcome = Builder::new().explore(wait_with(wait));
        assert_eq!(outcome.verdict(), Verdict::Verified, "{number}: {}", outcome.text());
        assert!(outcome.executions() < 20, "{number}: {}", outcome.executions());
    }
}

#[test]
fn loops_that_count_elsewhere_are_not() {
    selvedge::thread_local! {
        static TURNS: std::cell::Cell<u32> = std::cell::Cell::new(0);
    }
    let waits: [fn(&AtomicBool); 4] = [
        |flag| {
            let turns = Box::new(std::cell::Cell::new(0));
            while !flag.load(SeqCst) && turns.get() < 150 {
                turns.set(turns.get() + 1);
                hint::spin_loop();
            }
        },
        |flag| {
            while !flag.load(SeqCst) && TURNS.get() < 150 {
                TURNS.set(TURNS.get() + 1);
                hint::spin_loop();
            }
        },
        |flag| {
            let mut turns = Vec::new();
            while !flag.load(SeqCst) && turns.len() < 150 {
                turns.push(0);
                hint::spin_loop();
            }
        },
        // In an atomic of `std`, which this crate does not see, on the stack of another thread.
        |flag| {
            let turns = std::sync::atomic::AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !flag.load(SeqCst) && turns.fetch_add(1, SeqCst) < 150 {
                        hint::spin_loop();
                    }
                });
            });
        },
    ];
    for (number, wait) in waits.into_iter().enumerate() {
        let outcome = Builder::new().explore(wait_with(wait));
        assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{number}: {}", outcome.text());
        let outcome = Builder::new().spin_turns(200).explore(wait_with(wait));
        assert_eq!(outcome.verdict(), Verdict::Verified, "{number}: {}", outcome.text());
        assert!(outcome.executions() > 150, "{number}: {}", outcome.executions());
    }
}

#[test]
fn every_state_of_a_loop_is_explored() {
    // Which of three states it is in when the flag is set shows afterwards.
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let mut phase = 0;
        while !flag.load(SeqCst) {
            phase = (phase + 1) % 3;
            hint::spin_loop();
        }
        thread.join().unwrap();
        phase
    });
    assert_eq!(found.0, BTreeSet::from([0, 1, 2]));
    // It looks at two things by turns: it waits for both.
    for set in 0..2 {
        let found = outcomes(move || {
            let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let other = Arc::clone(&flags);
            let thread = thread::spawn(move || other[set].store(true, SeqCst));
            let mut i = 0;
            while !flags[i].load(SeqCst) {
                i = 1 - i;
                thread::yield_now();
            }
            thread.join().unwrap();
            i
        });
        assert_eq!(found.0, BTreeSet::from([set]));
    }
}

#[test]
fn channels_that_close_end_a_loop() {
    check(|| {
        let (sender, receiver) = mpsc::channel::<i32>();
        let thread = thread::spawn(move || drop(sender));
        while receiver.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_loop_that_changes_something_is_no_wait() {
    // Others may wait for what it does in its next turn.
    let found = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let turns = thread::spawn(move || {
            (0..6)
                .take_while(|_| {
                    let is_open = sender.send(1).is_ok();
                    thread::yield_now();
                    is_open
                })
                .count()
        });
        (0..3).for_each(|_| _ = receiver.recv().unwrap());
        drop(receiver);
        turns.join().unwrap()
    });
    assert_eq!(found.0, BTreeSet::from([3, 4, 5, 6]));
    // Without an end of its own there is no end to the executions.
    let outcome = Builder::new().explore(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || drop(receiver));
        while sender.send(1).is_ok() {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    let text = outcome.text();
    assert!(text.contains("main made 1000 turns of spin loops, now at crates/selvedge"), "{text}");
}

#[test]
fn a_value_that_comes_and_goes() {
    // A thread that waits for a change may also miss it.
    let outcome = Builder::new().explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        thread::spawn(move || {
            other.store(1, SeqCst);
            other.store(0, SeqCst);
        });
        while x.load(SeqCst) == 0 {
            hint::spin_loop();
        }
    });
    assert_eq!(outcome.verdict(), Verdict::Violated);
    assert!(outcome.messages()[0].contains("main is blocked"), "{}", outcome.text());
}

#[test]
fn a_loop_that_does_not_say_that_it_waits() {
    let run = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {}
        thread.join().unwrap();
    };
    let outcome = Builder::new().explore(run);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    let text = outcome.text();
    assert!(text.contains("150 times in a row at crates/selvedge/tests/spin.rs:"), "{text}");
    assert!(text.contains("hint::spin_loop"), "{text}");
    assert_eq!(outcome.executions(), 1, "it is told at once: {text}");
    assert_eq!(Builder::new().max_steps(500).explore(run).verdict(), Verdict::Inconclusive);
    Builder::new().max_steps(50_000).check(|| {
        let x = AtomicUsize::new(0);
        (0..5_000).for_each(|_| assert_eq!(x.load(SeqCst), 0));
    });
}

/// Loops that wait without a hint, in other words.
#[test]
fn other_loops_that_do_not_say_that_they_wait() {
    fn is_told(run: impl Fn() + 'static) {
        let outcome = Builder::new().explore(run);
        let text = outcome.text();
        assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{text}");
        assert!(text.contains("150 times in a row"), "{text}");
        // One for each turn that it is followed, at most.
        assert!(outcome.executions() < 160, "{text}");
    }
    is_told(|| {
        let lock = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            while other.swap(true, SeqCst) {}
            other.store(false, SeqCst);
        });
        while lock.swap(true, SeqCst) {}
        lock.store(false, SeqCst);
        thread.join().unwrap();
    });
    is_told(|| {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let threads = [0, 1].map(|number| {
            let flags = Arc::clone(&flags);
            thread::spawn(move || flags[number].store(true, SeqCst))
        });
        while !(flags[0].load(SeqCst) && flags[1].load(SeqCst)) {}
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    is_told(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        while lock.try_lock().is_err() {}
        while !thread.is_finished() {}
    });
    // Each of many is looked at once.
    Builder::new().check(|| {
        let flags: [AtomicBool; 400] = std::array::from_fn(|_| AtomicBool::new(false));
        assert!(!flags.iter().any(|flag| flag.load(SeqCst)));
    });
}

/// What an execution leaves moves what the next one allocates; a loop that reads addresses is in
/// the same state all the same.
#[test]
fn a_loop_that_reads_addresses() {
    let results = outcomes(|| {
        let (pointer, done) = (Arc::new(AtomicPtr::default()), Arc::new(AtomicBool::new(false)));
        let writer = {
            let (pointer, done) = (Arc::clone(&pointer), Arc::clone(&done));
            thread::spawn(move || {
                pointer.store(Box::leak(Box::new(7u32)), SeqCst);
                done.store(true, SeqCst);
            })
        };
        let mut was_null = false;
        loop {
            was_null |= pointer.load(SeqCst).is_null();
            if done.load(SeqCst) {
                break;
            }
            thread::yield_now();
        }
        writer.join().unwrap();
        was_null
    });
    assert_eq!(results.0, BTreeSet::from([false, true]));
}

/// The same for a number that is another one in each run, although the steps are the same.
#[test]
fn a_loop_that_never_sees_the_same() {
    let outcome = Builder::new().explore(|| {
        let (hidden, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let writer = {
            let (hidden, done) = (Arc::clone(&hidden), Arc::clone(&done));
            thread::spawn(move || {
                hidden
                    .store((&raw mut *Box::leak(Box::new(7u32)) as usize).rotate_left(20), SeqCst);
                done.store(true, SeqCst);
            })
        };
        while hidden.load(SeqCst) == 0 || !done.load(SeqCst) {
            thread::yield_now();
        }
        writer.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    let text = outcome.text();
    assert!(text.contains("the closure is nondeterministic"), "{text}");
    assert!(text.contains("at crates/selvedge/tests/spin.rs:"), "{text}");
}

/// The state of a loop may repeat before the thread has touched what it looks at from then on.
#[test]
fn a_loop_that_looks_at_something_else_in_the_end() {
    for last in 0..14 {
        let outcome = Builder::new().explore(move || {
            let [x, y, z] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
            let other = Arc::clone(&z);
            let thread = thread::spawn(move || other.store(true, SeqCst));
            let mut turn = 0;
            loop {
                let looks_at = match turn {
                    _ if turn == last => &z,
                    _ if turn % 2 == 0 => &x,
                    _ => &y,
                };
                if looks_at.load(SeqCst) {
                    break;
                }
                turn = last.min(turn + 1);
                thread::yield_now();
            }
            thread.join().unwrap();
        });
        assert_eq!(outcome.verdict(), Verdict::Verified, "{last}: {}", outcome.text());
    }
}
