//! How far the second search of a test goes, in which loads may see older values.

use crate::outcome::Outcome;
use crate::sync::Arc;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::Relaxed;
use crate::{Builder, Memory, Verdict, thread};

/// Store buffering, twice, without an assertion: loads of older values add executions, and nothing is wrong in them.
fn store_buffering() {
    let cells = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let other = Arc::clone(&cells);
    let code = |cells: &[AtomicUsize; 2], mine: usize| {
        for turn in 1..3 {
            cells[mine].store(turn, Relaxed);
            cells[1 - mine].load(Relaxed);
        }
    };
    let thread = thread::spawn(move || code(&other, 0));
    code(&cells, 1);
    thread.join().unwrap();
}

/// With a second search of so many executions, and so many times as many as the first one had, after a first one that is `bounded`.
fn explore(executions: u64, times: u64, bounded: bool, asked: Option<u64>) -> Outcome {
    let mut builder = Builder::new();
    (builder.second.extent.executions, builder.second.extent.times) = (executions, times);
    if bounded {
        builder = builder.preemptions(1);
    }
    if let Some(most) = asked {
        builder = builder.max_executions(most);
    }
    builder.explore(store_buffering)
}

#[track_caller]
fn is_explored(outcome: &Outcome, executions: u64) {
    let text = outcome.text();
    let all = format!("no violation in {executions} executions under rc11 either");
    assert!(text.contains(&all) && !text.contains("not all"), "{text}");
    assert!(outcome.json().contains(&all));
}

#[track_caller]
fn is_cut_off(outcome: &Outcome, at: u64) {
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{text}");
    let so_many = format!("{at} executions under rc11, not all, and no violation in them");
    assert!(text.contains(&so_many) && !text.contains("under rc11 either"), "{text}");
    assert!(text.contains(&format!("inconclusive: stopped after {at} executions")), "{text}");
    assert!(outcome.json().contains(&so_many));
}

#[test]
fn a_limit_between_the_two_searches_makes_it_inconclusive() {
    let first = Builder::new().sequentially_consistent(true).explore(store_buffering);
    let all = Builder::new().memory(Memory::Rc11).explore(store_buffering);
    let (n, m) = (first.executions(), all.executions());
    // Two loads of 0, 1 or 2 in each thread, in this order: 6 · 6, but not the one in which both begin with a 2.
    assert_eq!((n, m), (19, 35));
    let whole = Builder::new().explore(store_buffering);
    assert_eq!(whole.verdict(), Verdict::Verified, "{}", whole.text());
    is_explored(&whole, m);
    // Where a proof is possible, the second search has no limit but the user's.
    is_explored(&explore(1, 0, false, None), m);
    is_cut_off(&explore(100, 100, false, Some(n + 1)), n + 1);
    is_explored(&explore(100, 100, false, Some(m)), m);
    // After a first one with few preemptions: so many executions, or so many times as many, whichever is more.
    let few = Builder::new().sequentially_consistent(true).preemptions(1).explore(store_buffering);
    let k = few.executions();
    assert!(1 < k && k < n);
    is_explored(&explore(m, 0, true, None), m);
    is_cut_off(&explore(m - 1, 0, true, None), m - 1);
    is_cut_off(&explore(1, 1, true, None), k);
    is_explored(&explore(1, m / k + 1, true, None), m);
    is_cut_off(&explore(100, 100, true, Some(n + 1)), n + 1);
}
