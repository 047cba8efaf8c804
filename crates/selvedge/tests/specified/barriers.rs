//! Barriers: who leads, and rounds that follow each other.

use crate::common::model::{compare, compare_with_deadlock, together};
use selvedge::sync::Barrier;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;

type Shared = (AtomicUsize, Barrier);

#[test]
fn who_comes_last_leads() {
    let model = "
        shared atomic x = 0;
        shared atomic arrived = 0;
        proc meet(me: int) {
            x = me;
            let before = fetch_add(arrived, 1);
            if before < 2 { await arrived == 3; }
            let v = x;
            let leads = if before == 2 { 1 } else { 0 };
            if me == 0 { r0 = v * 2 + leads; }
            if me == 1 { r1 = v * 2 + leads; }
            if me == 2 { r2 = v * 2 + leads; }
        }
        thread a { meet(0); }
        thread b { meet(1); }
        thread c { meet(2); }
    ";
    fn meet((x, barrier): &Shared, me: usize) -> usize {
        x.store(me, SeqCst);
        let leads = barrier.wait().is_leader();
        x.load(SeqCst) * 2 + usize::from(leads)
    }
    compare(model, 6, || {
        together(
            (AtomicUsize::new(0), Barrier::new(3)),
            &[|it| meet(it, 0), |it| meet(it, 1), |it| meet(it, 2)],
        )
    });
}

/// Two meet three times. What each writes before a round, the other sees after it.
#[test]
fn rounds() {
    let model = "
        shared atomic x[2] = 0;
        shared atomic arrived = 0;
        proc meet(me: int) {
            let seen = 0;
            for round in 0..3 {
                atomic { x[me] += 1; }
                let before = fetch_add(arrived, 1);
                if before % 2 == 0 { await arrived > before + 1; }
                let v = x[1 - me];
                seen = seen * 2 + v - round - 1;
            }
            if me == 0 { r0 = seen; } else { r1 = seen; }
        }
        thread a { meet(0); }
        thread b { meet(1); }
    ";
    type Shared = ([AtomicUsize; 2], Barrier);
    fn meet((x, barrier): &Shared, me: usize) -> usize {
        (0..3).fold(0, |seen, round| {
            x[me].fetch_add(1, SeqCst);
            barrier.wait();
            seen * 2 + x[1 - me].load(SeqCst) - round - 1
        })
    }
    compare(model, 8, || {
        let shared = ([AtomicUsize::new(0), AtomicUsize::new(0)], Barrier::new(2));
        together(shared, &[|it| meet(it, 0), |it| meet(it, 1)])
    });
}

/// Four come to a barrier for two: any two of them make a round.
#[test]
fn more_threads_than_places() {
    let model = "
        shared atomic arrived = 0;
        proc meet(me: int) {
            let before = fetch_add(arrived, 1);
            if before % 2 == 0 { await arrived > before + 1; }
            let leads = before % 2;
            if me == 0 { r0 = leads; }
            if me == 1 { r1 = leads; }
            if me == 2 { r2 = leads; }
            if me == 3 { r3 = leads; }
        }
        thread a { meet(0); }
        thread b { meet(1); }
        thread c { meet(2); }
        thread d { meet(3); }
    ";
    fn meet(barrier: &Barrier) -> usize {
        usize::from(barrier.wait().is_leader())
    }
    compare(model, 2, || together(Barrier::new(2), &[meet, meet, meet, meet]));
}

/// The rounds of three threads at a barrier for two overlap: one leaves a round while others meet in the next.
#[test]
fn rounds_that_overlap() {
    let model = "
        shared atomic arrived = 0;
        proc meet(times: int, me: int) {
            let seen = 0;
            for i in 0..times {
                let before = fetch_add(arrived, 1);
                if before % 2 == 0 { await arrived > before + 1; }
                seen = seen * 2 + before % 2;
            }
            if me == 0 { r0 = seen; }
            if me == 1 { r1 = seen; }
            if me == 2 { r2 = seen; }
        }
        thread a { meet(2, 0); }
        thread b { meet(1, 1); }
        thread c { meet(1, 2); }
    ";
    fn meet(barrier: &Barrier, times: usize) -> usize {
        (0..times).fold(0, |seen, _| seen * 2 + usize::from(barrier.wait().is_leader()))
    }
    // If the two who come once meet, the third is blocked.
    compare_with_deadlock(model, 4, || {
        together(Barrier::new(2), &[|it| meet(it, 2), |it| meet(it, 1), |it| meet(it, 1)])
    });
}
