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

/// With a second search of so many executions, and so many times as many as the first one had.
fn explore(executions: u64, times: u64, asked: Option<u64>) -> Outcome {
    let mut builder = Builder::new();
    (builder.second.extent.executions, builder.second.extent.times) = (executions, times);
    if let Some(most) = asked {
        builder = builder.max_executions(most);
    }
    builder.explore(store_buffering)
}

#[track_caller]
fn is_explored(outcome: &Outcome, executions: u64) {
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Verified, "{text}");
    let all = format!("no violation in {executions} executions under rc11 either");
    assert!(text.contains(&all) && !text.contains("not explored"), "{text}");
    assert!(outcome.json().contains(&all));
}

#[track_caller]
fn is_cut_off(outcome: &Outcome, at: u64) {
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Verified, "{text}");
    let why = format!("were not explored: rc11: stopped after {at} executions");
    assert!(text.contains(&why) && !text.contains("under rc11 either"), "{text}");
    assert!(outcome.json().contains("were not explored: rc11: "));
}

#[test]
fn a_limit_between_the_two_searches_is_said() {
    let first = Builder::new().sequentially_consistent(true).explore(store_buffering);
    let all = Builder::new().memory(Memory::Rc11).explore(store_buffering);
    let (n, m) = (first.executions(), all.executions());
    // Two loads of 0, 1 or 2 in each thread, in this order: 6 · 6, but not the one in which both begin with a 2.
    assert_eq!((n, m), (19, 35));
    is_explored(&Builder::new().explore(store_buffering), m);
    // So many executions, or so many times as many as the first search had: whichever is more.
    is_explored(&explore(m, 0, None), m);
    is_cut_off(&explore(m - 1, 0, None), m - 1);
    is_cut_off(&explore(1, 1, None), n);
    is_explored(&explore(1, 2, None), m);
    // And no more than the user asks for.
    is_cut_off(&explore(100, 100, Some(n + 1)), n + 1);
    is_explored(&explore(100, 100, Some(m)), m);
}
