//! The rule about spin loops, stated in the documentation of the crate, with counts that follow from it.
//!
//! A thread stands still at the end of the second of two turns in a row that touch the same objects, unless something
//! that it read has changed by then. So of a loop that waits for one change, a class of executions has no turn before
//! the change, one, or two.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::SeqCst;

use crate::common::{outcomes, outcomes_with};
use selvedge::sync::Arc;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::{Algorithm, Builder, Outcome, Verdict, hint, thread};

/// Turns before the change: none, one, two.
const TURNS: u64 = 3;

/// Two threads run `side`, each with its number, on something that they share.
fn two<S: Default + Send + Sync + 'static>(side: fn(&S, usize)) -> impl Fn() + Clone + 'static {
    move || {
        let shared = Arc::new(S::default());
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || side(&other, 1));
        side(&shared, 0);
        thread.join().unwrap();
    }
}

/// Explores a program that holds, and returns how many classes of executions it has. All explorers agree on that.
fn classes(program: impl Fn() + Clone + 'static) -> u64 {
    let count = |algorithm| {
        let outcome = Builder::new().algorithm(algorithm).explore(program.clone());
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
        outcome.report().counts.maximal()
    };
    let optimal = count(Algorithm::Optimal);
    for other in [Algorithm::Source, Algorithm::Parsimonious, Algorithm::Sleep] {
        assert_eq!(count(other), optimal, "{other:?}");
    }
    assert!(count(Algorithm::Oracle) >= optimal);
    optimal
}

fn enter_and_leave(inside: &AtomicUsize) {
    assert_eq!(inside.fetch_add(1, SeqCst), 0, "both are inside");
    inside.fetch_sub(1, SeqCst);
}

#[test]
fn a_test_and_set_lock() {
    // Who comes second fails as often as a loop turns.
    let lock = two(|held: &AtomicBool, _| {
        while held.swap(true, SeqCst) {
            hint::spin_loop();
        }
        held.store(false, SeqCst);
    });
    assert_eq!(classes(lock), 2 * TURNS);
    let excludes = two(|(held, inside): &(AtomicBool, AtomicUsize), _| {
        while held.swap(true, SeqCst) {
            hint::spin_loop();
        }
        enter_and_leave(inside);
        held.store(false, SeqCst);
    });
    assert_eq!(classes(excludes), 2 * TURNS);
}

#[test]
fn a_test_and_test_and_set_lock() {
    fn lock(held: &AtomicBool) {
        loop {
            while held.load(SeqCst) {
                hint::spin_loop();
            }
            if !held.swap(true, SeqCst) {
                break;
            }
        }
    }
    // Who comes second looks before the other takes the lock, while it holds it, or after that. In the first case it
    // may fail to take it, and then looks as in the others.
    let looks = TURNS;
    let fails_first = looks;
    let takes_at_once = 1;
    let program = two(|held: &AtomicBool, _| {
        lock(held);
        held.store(false, SeqCst);
    });
    assert_eq!(classes(program), 2 * (looks + fails_first + takes_at_once));
}

#[test]
fn a_ticket_lock() {
    let program = two(|(next, serving, inside): &(AtomicUsize, AtomicUsize, AtomicUsize), _| {
        let mine = next.fetch_add(1, SeqCst);
        while serving.load(SeqCst) != mine {
            hint::spin_loop();
        }
        enter_and_leave(inside);
        serving.store(mine + 1, SeqCst);
    });
    // The first turn also takes the ticket, and so is not the same as the second.
    assert_eq!(classes(program), 2 * (1 + TURNS));
}

#[test]
fn a_reader_of_a_sequence_lock() {
    let program = || {
        let shared: Arc<[AtomicUsize; 3]> = Arc::default();
        let other = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            other[0].store(1, SeqCst);
            other[1].store(1, SeqCst);
            other[2].store(1, SeqCst);
            other[0].store(2, SeqCst);
        });
        let read = loop {
            let before = shared[0].load(SeqCst);
            if before.is_multiple_of(2) {
                let read = (shared[1].load(SeqCst), shared[2].load(SeqCst));
                if shared[0].load(SeqCst) == before {
                    break read;
                }
            }
            hint::spin_loop();
        };
        writer.join().unwrap();
        read
    };
    let (found, _) = outcomes(program);
    assert_eq!(found, BTreeSet::from([(0, 0), (1, 1)]));
    let oracle = Builder::new().algorithm(Algorithm::Oracle);
    assert_eq!(found, outcomes_with(&oracle, program).0);
    classes(move || _ = program());
}

/// Waits for a flag that another thread sets.
fn flag(wait: fn(&AtomicBool)) -> impl Fn() + Clone + 'static {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        wait(&flag);
        thread.join().unwrap();
    }
}

#[test]
fn a_hint_and_a_yield_are_the_same() {
    let spins = flag(|flag| {
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
    let yields = flag(|flag| {
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    assert_eq!(classes(spins), TURNS);
    assert_eq!(classes(yields), TURNS);
}

#[test]
fn two_variables() {
    // One object that it read has changed: that is enough for one more turn, which need not be the last.
    let program = || {
        let shared: Arc<[AtomicUsize; 2]> = Arc::default();
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other[0].store(1, SeqCst);
            other[1].store(1, SeqCst);
        });
        while shared[0].load(SeqCst) + shared[1].load(SeqCst) < 2 {
            hint::spin_loop();
        }
        thread.join().unwrap();
    };
    classes(program);
    // Only one of them changes, and it is not enough.
    let program = || {
        let shared: Arc<[AtomicUsize; 2]> = Arc::default();
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other[0].store(1, SeqCst));
        while shared[0].load(SeqCst) + shared[1].load(SeqCst) < 2 {
            hint::spin_loop();
        }
        thread.join().unwrap();
    };
    let outcome = Builder::new().explore(program);
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    assert_eq!(outcome.messages(), ["deadlock: main is blocked"]);
}

/// Looks for a flag at most `turns` times.
fn counts_to(turns: u64) -> impl Fn() + Clone + 'static {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        for _ in 0..turns {
            if flag.load(SeqCst) {
                break;
            }
            hint::spin_loop();
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_loop_that_counts() {
    // The flag is set before one of the turns, or after all of them. No turn is left out.
    for turns in [1, 2, 3, 10] {
        assert_eq!(classes(counts_to(turns)), turns + 1);
    }
    // Further than it is followed: the verdict names the bound.
    let followed = |turns| Builder::new().spin_turns(turns).explore(counts_to(20));
    let is_bounded = |outcome: &Outcome| {
        let text = outcome.text();
        text.contains("in each of 10 turns") && text.contains("`Builder::spin_turns(100)`")
    };
    let outcome = followed(10);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
    assert!(is_bounded(&outcome), "{}", outcome.text());
    assert_eq!(followed(30).verdict(), Verdict::Verified);
}

#[test]
fn a_violation_after_a_loop_that_counts() {
    let outcome = Builder::new().explore(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let seen = (0..5).any(|_| {
            hint::spin_loop();
            flag.load(SeqCst)
        });
        assert!(seen, "it gave up");
        thread.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
}

#[test]
fn a_spin_that_never_ends() {
    let outcome = Builder::new().explore(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    assert_eq!(outcome.messages(), ["deadlock: main is blocked"]);
    // Two that wait for each other.
    let outcome = Builder::new().explore(two(|flags: &[AtomicBool; 2], me| {
        while !flags[1 - me].load(SeqCst) {
            thread::yield_now();
        }
        flags[me].store(true, SeqCst);
    }));
    assert_eq!(outcome.messages(), ["deadlock: main and thread 1 are blocked"]);
    assert!(outcome.text().contains("spins, and waits for a change of"), "{}", outcome.text());
}
