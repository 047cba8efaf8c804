//! What each part of the explorer is for: the smallest program that shows it if the part is left out or wrong.
//! The order of the threads matters, as the lowest runs first.

use selvedge_core::Order;
use selvedge_explore::Memory;
use selvedge_testkit::litmus::{
    Change, Condition, Instruction, LitmusProgram, Tally, Until, add, await_is, await_swap,
    await_update, cas, cas_weak, choose, fence, join, load, lock, plus, skip_unless, spawn, store,
    swap, tally, try_lock, unlock,
};

use Order::{Acquire, Relaxed, SeqCst};

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
const M: usize = 0;
const N: usize = 1;

fn graphs(threads: Vec<Vec<Instruction>>) -> Tally {
    tally(&LitmusProgram::new(threads), Memory::Rc11, &|_| false)
}

fn count(threads: Vec<Vec<Instruction>>) -> u64 {
    let tally = graphs(threads);
    assert_eq!(tally.report.counts.redundant, 0);
    tally.report.counts.maximal()
}

fn await_one_of(at: usize, values: u64) -> Instruction {
    Instruction::Await(0, at, Until::OneOf(values), Relaxed)
}

#[test]
fn only_maximal_extensions_are_taken_out() {
    let threads = vec![
        vec![load(0, Y, Acquire)],
        vec![store(Y, 1, Relaxed)],
        vec![store(Y, 1, Relaxed), load(0, Z, Acquire)],
        vec![store(Z, 2, Relaxed), store(Y, 2, Relaxed)],
    ];
    assert_eq!(count(threads), 48);
}

#[test]
fn what_is_before_the_write_counts_as_known() {
    let threads = vec![
        vec![load(0, X, Relaxed), store(X, 2, Relaxed)],
        vec![store(X, 1, Relaxed), store(X, 2, Relaxed)],
    ];
    assert_eq!(count(threads), 6);
}

/// Sets of events are bits of several words then.
#[test]
fn store_buffering_after_more_than_64_events() {
    for padding in [0, 20, 31, 32, 33, 70] {
        let code = |[mine, other]: [usize; 2], order, fenced: bool| {
            let mut code = vec![load(0, Z, Relaxed); padding];
            code.push(store(mine, 1, order));
            code.extend(fenced.then_some(fence(SeqCst)));
            code.push(load(1, other, order));
            code
        };
        let both =
            |order, fenced| count(vec![code([X, Y], order, fenced), code([Y, X], order, fenced)]);
        assert_eq!(both(Relaxed, false), 4, "{padding}");
        assert_eq!(both(SeqCst, false), 3, "{padding}");
        assert_eq!(both(Relaxed, true), 3, "{padding}");
    }
}

#[test]
fn a_write_that_fits_nowhere_is_still_shown() {
    assert_eq!(count(vec![vec![add(0, Y, 1, Relaxed)], vec![swap(0, Y, 5, Relaxed)]]), 2);
}

#[test]
fn spurious_failures_are_alternatives() {
    let weak = cas_weak(1, X, (1, 1), (Relaxed, Relaxed));
    let threads = vec![vec![add(0, X, 1, Relaxed), weak], vec![add(0, X, 1, Relaxed)]];
    assert_eq!(count(threads), 4);
}

#[test]
fn choices_are_alternatives() {
    let tally = graphs(vec![vec![lock(M), choose(0, 2)], vec![lock(M)]]);
    assert_eq!(tally.met, 3);
    assert_eq!(tally.report.counts.deadlocked, 3);
}

#[test]
fn two_threads_do_not_steal_from_each_other_without_end() {
    let threads = vec![
        vec![lock(M), lock(N), unlock(M)],
        vec![lock(M), store(Y, 1, Relaxed), lock(N), unlock(N)],
        vec![lock(N), lock(M), store(X, 1, Relaxed), unlock(N)],
    ];
    assert_eq!(count(threads), 5);
}

#[test]
fn a_thief_that_stays_explains_its_theft() {
    let threads = vec![
        vec![load(0, X, Acquire), lock(M)],
        vec![lock(M), unlock(M)],
        vec![lock(M), add(0, X, 1, Relaxed)],
    ];
    assert_eq!(count(threads), 6);
}

#[test]
fn a_lock_that_is_never_taken_could_have_come_first() {
    let tally = graphs(vec![vec![lock(N)], vec![lock(N)]]);
    assert_eq!((tally.met, tally.report.counts.deadlocked), (2, 2));
}

#[test]
fn a_write_may_make_a_thread_wait_for_ever() {
    let tally = graphs(vec![vec![await_one_of(X, 0b101)], vec![store(X, 1, Relaxed)]]);
    assert_eq!((tally.met, tally.report.counts.deadlocked), (2, 1));
    let once = vec![store(X, 1, Relaxed), store(X, 2, Relaxed)];
    let tally = graphs(vec![vec![await_is(0, X, 1, Relaxed)], once]);
    assert_eq!((tally.met, tally.report.counts.deadlocked), (2, 1));
}

#[test]
fn a_thread_that_waits_may_have_seen_an_older_write() {
    let threads = vec![
        vec![await_is(0, X, 1, Relaxed)],
        vec![store(X, 2, Relaxed)],
        vec![store(X, 1, Relaxed)],
    ];
    assert_eq!(count(threads), 3);
}

#[test]
fn nothing_waits_at_a_write_that_is_not_the_last() {
    let threads =
        vec![vec![await_one_of(X, 0b101)], vec![store(X, 1, Relaxed)], vec![store(X, 1, Relaxed)]];
    let tally = graphs(threads);
    assert_eq!((tally.met, tally.report.counts.redundant), (4, 0));
}

#[test]
fn the_read_part_of_a_write_that_is_held_back_is_there() {
    // The first thread waits at a write of the third or fourth, and the other of the two is shown to the second.
    let threads = vec![
        vec![await_one_of(X, 0b001)],
        vec![cas(0, X, (2, 1), (Relaxed, Relaxed))],
        vec![store(X, 2, Relaxed)],
        vec![store(X, 2, Relaxed)],
    ];
    let program = LitmusProgram::new(threads);
    assert_eq!(tally(&program, Memory::Sc, &|_| false).met, 12);
}

#[test]
fn awaits_with_updates() {
    // Awaits that never were in the graph would make one of these be met twice.
    let threads = vec![
        vec![store(X, 2, Relaxed), await_one_of(X, 0b101)],
        vec![await_swap(0, X, (2, 3), Relaxed), await_swap(0, X, (1, 0), Relaxed)],
        vec![store(X, 1, Relaxed)],
    ];
    assert_eq!(graphs(threads).met, 6);
    for (threads, executions, redundant) in [(2, 2, 0), (3, 6, 0), (4, 24, 0)] {
        let code = vec![await_swap(0, X, (0, 1), Acquire), store(X, 0, Order::Release)];
        let tally = graphs(vec![code; threads]);
        assert_eq!((tally.met, tally.report.counts.redundant), (executions, redundant));
    }
}

#[test]
fn semaphores() {
    let down = await_update(0, X, Until::AtLeast(1), Change::Add(-1), Acquire);
    let up = add(0, X, 1, Order::Release);
    let program = LitmusProgram::new(vec![vec![down, up], vec![down, up]]).with_initial(&[(X, 1)]);
    for &memory in Memory::ALL {
        let tally = tally(&program, memory, &|_| false);
        assert_eq!((tally.met, tally.report.counts.deadlocked), (2, 0));
    }
    let tally =
        tally(&LitmusProgram::new(vec![vec![down, down], vec![up]]), Memory::Sc, &|_| false);
    assert_eq!((tally.met, tally.report.counts.deadlocked), (1, 1));
}

#[test]
fn try_locks_and_locks() {
    // Taken before, taken after, failed.
    assert_eq!(count(vec![vec![try_lock(0, M)], vec![lock(M), unlock(M)]]), 3);
    assert_eq!(count(vec![vec![lock(M), unlock(M)], vec![try_lock(0, M)]]), 3);
    let taken = Condition::Is(plus(0, 0), 0.into());
    let polite = vec![try_lock(0, M), skip_unless(taken, 1), unlock(M)];
    assert_eq!(count(vec![polite.clone(), polite]), 4);
}

#[test]
fn threads_that_are_spawned_and_joined() {
    let main = vec![store(X, 1, Relaxed), spawn(1), join(1), load(0, X, Relaxed)];
    assert_eq!(count(vec![main, vec![load(0, X, Relaxed), store(X, 2, Relaxed)]]), 1);
    // Joined threads have nothing in their store buffers.
    for &memory in Memory::ALL {
        let main = vec![spawn(1), join(1), load(0, X, Relaxed)];
        let child = vec![store(X, 1, Relaxed), load(0, Y, Relaxed)];
        let program = LitmusProgram::new(vec![main, child]);
        assert_eq!(tally(&program, memory, &|_| false).met, 1, "{memory:?}");
    }
    // What comes before a spawn is before all of the thread in the order of SeqCst accesses.
    let main = vec![store(X, 1, SeqCst), spawn(2)];
    let other = vec![store(Y, 1, SeqCst), load(0, X, SeqCst)];
    let threads = vec![main.clone(), other.clone(), vec![load(0, Y, SeqCst)]];
    assert_eq!(count(threads), 3);
    // The same where not all accesses are SeqCst.
    let mixed = [vec![store(Z, 1, Relaxed)], other].concat();
    let threads = vec![main, mixed.clone(), vec![load(0, Y, SeqCst)]];
    assert_eq!(count(threads), 3);
    // And all of a thread is before what comes after its join.
    let main = vec![spawn(2), join(2), load(0, Y, SeqCst)];
    assert_eq!(count(vec![main, mixed, vec![store(X, 1, SeqCst)]]), 3);
    // A thread that an assumption has stopped has not ended.
    let never = Instruction::Assume(Condition::Is(1.into(), 0.into()));
    let tally = graphs(vec![vec![spawn(1), join(1), store(X, 1, Relaxed)], vec![never]]);
    assert_eq!((tally.met, tally.report.counts.blocked, tally.report.longest), (1, 1, 1));
}
