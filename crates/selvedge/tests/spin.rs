//! Spin loops: one that gives up does, one that waits waits, and nothing is lost by that.

mod common;

use std::collections::BTreeSet;

use common::{outcomes, outcomes_with};
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
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
fn what_is_wrong_behind_a_loop_that_gives_up() {
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
    // As backoff strategies do: some turns of one kind, then turns of another for ever.
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
    let outcome = Builder::new().explore(run);
    assert!(outcome.messages()[0].contains("deadlock"), "{}", outcome.text());
    Builder::new().spin_turns(300).check(run);
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
    check(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || drop(receiver));
        while sender.send(1).is_ok() {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_value_that_comes_and_goes() {
    // Whoever waits for a change may also miss it.
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
    assert!(outcome.messages()[0].contains("main waits for ever"), "{}", outcome.text());
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
    assert!(text.contains("2000 times in a row at crates/selvedge/tests/spin.rs:"), "{text}");
    assert!(text.contains("hint::spin_loop"), "{text}");
    assert_eq!(Builder::new().max_steps(500).explore(run).verdict(), Verdict::Inconclusive);
    Builder::new().max_steps(50_000).check(|| {
        let x = AtomicUsize::new(0);
        (0..5_000).for_each(|_| assert_eq!(x.load(SeqCst), 0));
    });
}
