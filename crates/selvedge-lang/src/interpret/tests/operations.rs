//! Each visible operation: what it says, what it touches, when it can run, how it fails.

use selvedge_core::{Ending, Flexibility, Order, Status, System};

use super::driver::Driver;
use super::programs;
use crate::ir::builder::{Builder, constant};
use crate::ir::{Cond, GlobalKind, Lock, LockMode, Semaphore, Type, Variable};

#[test]
fn reads_and_writes() {
    let mut d = Driver::new(&programs::counters());
    assert_eq!(d.pending("a"), "Fixed [Read x]");
    assert_eq!(d.step("a"), "read x → 0 [Read x]");
    assert_eq!(d.effect.order, Some(Order::NonAtomic));
    assert_eq!(d.step("b"), "read x → 0 [Read x]");
    assert_eq!(d.pending("a"), "Fixed [Write x]");
    assert_eq!(d.step("a"), "x = 1 [Write x]");
    assert_eq!(d.step("b"), "x = 1 [Write x]");
    assert_eq!(d.status("b"), Status::Finished);
    assert_eq!(d.step("a"), "read x → 1 [Read x]");
    assert_eq!(d.step("a"), "x = 2 [Write x]");
    let (ending, violation) = d.end();
    let violation = violation.expect("an update is lost");
    assert_eq!(ending, Ending::Complete);
    assert_eq!(violation.kind.name(), "finally");
    assert_eq!(violation.message, "assertion `x == 3` is false (x = 2)");
    assert_eq!(violation.places[0].to_string(), "test.sel:9:1");
    d.system.rewind(&[]);
    assert_eq!(d.step("a"), "read x → 0 [Read x]");
}

#[test]
fn read_modify_writes() {
    let mut b = Builder::new();
    let (x, f) = (b.int("x", i32::MAX), b.flag("f", false));
    b.thread("t", |t| {
        let won = t.slot(Type::Bool);
        let (expected, new) = (constant(0), constant(1));
        t.emit(Variable::CompareExchange { target: won, variable: f, expected, new, order: None });
        t.emit(Variable::CompareExchange { target: won, variable: f, expected, new, order: None });
        t.emit(Variable::Exchange { target: won, variable: f, new: constant(0), order: None });
        let old = t.slot(Type::Int);
        t.emit(Variable::FetchAdd { target: old, variable: x, delta: constant(-1), order: None });
        t.emit(Variable::FetchAdd { target: old, variable: x, delta: constant(2), order: None });
    });
    let mut d = Driver::new(&b.finish());
    assert_eq!(d.pending("t"), "Conditional [Update f]");
    assert_eq!(d.step("t"), "compare_exchange(f, false, true) → true [Update f]");
    // An ordering that is not said is the strongest one.
    assert_eq!(d.effect.order, Some(Order::SeqCst));
    assert_eq!(d.step("t"), "compare_exchange(f, false, true) → false [Read f]");
    assert_eq!(d.flexibility(), Flexibility::Conditional);
    assert_eq!(d.step("t"), "exchange(f, false) → true [Update f]");
    assert_eq!(d.flexibility(), Flexibility::Fixed);
    assert_eq!(d.step("t"), "fetch_add(x, -1) → 2147483647 [Update x]");
    assert_eq!(d.step("t"), "fetch_add(x, 2) [Update x]");
    assert_eq!(d.fault(), "arithmetic: `fetch_add(x, 2)` overflows 32 bits (x = 2147483646)");
    assert_eq!(d.status("t"), Status::Failed);
    assert_eq!(d.end().0, Ending::Complete);
}

#[test]
fn mutexes() {
    let mut d = Driver::new(&programs::philosophers());
    assert_eq!(d.pending("philosopher[0]"), "Lock [Acquire fork[0]]");
    assert_eq!(d.step("philosopher[0]"), "lock fork[0] [Acquire fork[0]]");
    assert_eq!(d.step("philosopher[1]"), "lock fork[1] [Acquire fork[1]]");
    assert_eq!(d.status("philosopher[0]"), Status::Blocked);
    assert_eq!(d.pending("philosopher[0]"), "Lock [Acquire fork[1]]");
    let (ending, violation) = d.end();
    let violation = violation.expect("a deadlock");
    assert_eq!(ending, Ending::Deadlocked);
    assert_eq!(violation.message, "deadlock: 2 threads are blocked");
    assert_eq!(
        violation.notes,
        [
            "philosopher[0] waits for fork[1], held by philosopher[1]",
            "philosopher[1] waits for fork[0], held by philosopher[0]",
            "cycle: philosopher[0] → fork[1] → philosopher[1] → fork[0] → philosopher[0]",
        ]
    );
    assert_eq!(violation.places.len(), 2);
}

#[test]
fn misuse_of_mutexes() {
    let mut b = Builder::new();
    let m = b.mutex("m");
    b.thread("twice", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
    });
    b.thread("thief", |t| t.emit(Lock::Release { mode: LockMode::Mutex, lock: m }));
    b.thread("waiter", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Lock::Try { mode: LockMode::Mutex, target: got, lock: m });
        t.emit(Lock::Release { mode: LockMode::Mutex, lock: m });
    });
    let program = b.finish();
    let mut d = Driver::new(&program);
    d.step("twice");
    assert_eq!(d.pending("twice"), "Fixed [Probe m]");
    assert_eq!(d.step("waiter"), "try_lock(m) → false [Probe m]");
    assert_eq!(d.flexibility(), Flexibility::Conditional);
    assert_eq!(d.step("thief"), "unlock m [Probe m]");
    let expected = "misuse: unlock of `m`, which thread thief does not hold (held by twice)";
    assert_eq!(d.fault(), expected);
    assert_eq!(d.step("twice"), "lock m [Probe m]");
    assert_eq!(d.fault(), "misuse: `m` is locked again by thread twice, which holds it");
    let mut d = Driver::new(&program);
    assert_eq!(d.step("waiter"), "try_lock(m) → true [Acquire m]");
    assert_eq!(d.step("waiter"), "unlock m [Release m]");
    d.step("thief");
    assert_eq!(d.fault(), "misuse: unlock of `m`, which thread thief does not hold (it is free)");
}

#[test]
fn reader_writer_locks() {
    let mut b = Builder::new();
    let rw = b.object("rw", GlobalKind::RwLock);
    for name in ["r1", "r2"] {
        b.thread(name, |t| {
            t.emit(Lock::Acquire { mode: LockMode::Read, lock: rw });
            t.emit(Lock::Release { mode: LockMode::Read, lock: rw });
            t.emit(Lock::Release { mode: LockMode::Read, lock: rw });
        });
    }
    b.thread("w", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Write, lock: rw });
        t.emit(Lock::Acquire { mode: LockMode::Read, lock: rw });
    });
    b.thread("try", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Lock::Try { mode: LockMode::Write, target: got, lock: rw });
        t.emit(Lock::Try { mode: LockMode::Read, target: got, lock: rw });
    });
    let mut d = Driver::new(&b.finish());
    assert_eq!(d.pending("w"), "Blocking [Acquire rw]");
    assert_eq!(d.step("r1"), "read_lock rw [ShareAcquire rw]");
    assert_eq!(d.flexibility(), Flexibility::Blocking);
    assert_eq!(d.step("r2"), "read_lock rw [ShareAcquire rw]");
    assert_eq!(d.status("w"), Status::Blocked);
    assert_eq!(d.step("try"), "try_write_lock(rw) → false [Probe rw]");
    assert_eq!(d.step("r1"), "read_unlock rw [ShareRelease rw]");
    assert_eq!(d.step("r1"), "read_unlock rw [Probe rw]");
    assert_eq!(
        d.fault(),
        "misuse: read_unlock of `rw`, which thread r1 does not hold (held by r2)"
    );
    assert_eq!(d.status("w"), Status::Blocked);
    d.step("r2");
    assert_eq!(d.step("w"), "write_lock rw [Acquire rw]");
    assert_eq!(d.step("try"), "try_read_lock(rw) → false [Probe rw]");
    assert_eq!(d.pending("w"), "Fixed [Probe rw]");
    d.step("w");
    assert_eq!(d.fault(), "misuse: `rw` is locked again by thread w, which holds it");
}

#[test]
fn condition_variables() {
    let mut d = Driver::new(&programs::conditions());
    assert_eq!(d.step("s"), "signal(c): no waiter [Signal c]");
    assert_eq!(d.flexibility(), Flexibility::Conditional);
    for waiter in ["w2", "w1", "w3"] {
        d.step(waiter);
        assert_eq!(d.pending(waiter), "Fixed [Wait c, Release m]");
        assert_eq!(d.step(waiter), "wait(c, m) [Wait c, Release m]");
        assert_eq!(d.status(waiter), Status::Parked);
    }
    d.step("s");
    let s = d.thread("s");
    assert_eq!(d.system.choices(s), 3);
    assert_eq!(d.pending("s"), "Conditional [Signal c, Wake wake-up of w1]");
    let text = d.step_choice("s", 1);
    assert_eq!(text, "signal(c): wakes w2 [Signal c, Wake wake-up of w2]");
    assert_eq!(d.effect.choices, 3);
    assert_eq!(d.status("w2"), Status::Blocked);
    assert_eq!(d.pending("w2"), "Lock [Acquire m, Woken wake-up of w2]");
    d.step("s");
    assert_eq!(d.status("w2"), Status::Enabled);
    let text = d.step("s");
    let expected = "broadcast(c): wakes w1, w3 [Signal c, Wake wake-up of w1, Wake wake-up of w3]";
    assert_eq!(text, expected);
    let text = d.step("w2");
    assert_eq!(text, "lock m again after wait(c, m) [Acquire m, Woken wake-up of w2]");
    assert_eq!(d.status("w1"), Status::Blocked);
    assert_eq!(d.step("s"), "wait(c, m) [Probe m]");
    let expected = "misuse: wait with `m`, which thread s does not hold (held by w2)";
    assert_eq!(d.fault(), expected);
}

#[test]
fn waiting_for_a_signal_for_ever() {
    let mut b = Builder::new();
    let m = b.mutex("m");
    let c = b.object("c", GlobalKind::Cond);
    b.thread("w", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
        t.emit(Cond::Wait { cond: c, mutex: m });
    });
    let mut d = Driver::new(&b.finish());
    d.step("w");
    d.step("w");
    let violation = d.end().1.expect("a deadlock");
    assert_eq!(violation.message, "deadlock: w is blocked");
    assert_eq!(violation.notes, ["w waits for a signal on c"]);
}

#[test]
fn semaphores() {
    let mut b = Builder::new();
    let s = b.semaphore("s", 0);
    let full = b.semaphore("full", i32::MAX);
    b.thread("up", |t| t.emit(Semaphore::Up { semaphore: s }));
    b.thread("down", |t| t.emit(Semaphore::Down { semaphore: s }));
    b.thread("try", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Semaphore::TryDown { target: got, semaphore: s });
    });
    b.thread("over", |t| t.emit(Semaphore::Up { semaphore: full }));
    let mut d = Driver::new(&b.finish());
    assert_eq!(d.status("down"), Status::Blocked);
    assert_eq!(d.pending("down"), "Blocking [Down s]");
    assert_eq!(d.step("try"), "try_down(s) → false [Probe s]");
    assert_eq!(d.step("up"), "up(s) [Up s]");
    assert_eq!(d.flexibility(), Flexibility::Fixed);
    assert_eq!(d.step("down"), "down(s) [Down s]");
    assert_eq!(d.flexibility(), Flexibility::Blocking);
    // Who raises it last fails: here the order matters.
    assert_eq!(d.step("over"), "up(full) [Update full]");
    assert_eq!(d.fault(), "arithmetic: the count of `full` overflows 32 bits");
}

#[test]
fn barriers() {
    let mut d = Driver::new(&programs::barrier(2, 2));
    assert_eq!(d.pending("a"), "Fixed [Arrive gate]");
    assert_eq!(d.step("a"), "arrive(gate): 1 of 2 [Arrive gate]");
    assert_eq!(d.status("a"), Status::Blocked);
    assert_eq!(d.pending("a"), "Blocking [Pass gate]");
    d.step("b");
    let even = d.effect.footprint.accesses()[0].object;
    assert_eq!(d.step("a"), "pass barrier gate [Pass gate]");
    assert_eq!(d.effect.footprint.accesses()[0].object, even);
    d.step("a");
    d.step("a");
    d.step("a");
    let odd = d.effect.footprint.accesses()[0].object;
    assert_eq!(odd.index(), even.index() + 1);
    // The other one can still pass the first generation.
    assert_eq!(d.step("b"), "pass barrier gate [Pass gate]");
    assert_eq!(d.status("a"), Status::Blocked);
}

#[test]
fn a_barrier_with_too_few_threads() {
    let mut d = Driver::new(&programs::barrier(1, 2));
    d.step("a");
    let violation = d.end().1.expect("a deadlock");
    assert_eq!(violation.notes, ["a waits at barrier gate: 1 of 2 arrived"]);
}

#[test]
fn at_a_crowded_barrier_the_order_matters() {
    let mut d = Driver::new(&programs::barrier(4, 2));
    assert_eq!(d.pending("b"), "Fixed [Update gate, Update gate]");
    assert_eq!(d.step("a"), "arrive(gate): 1 of 2 [Update gate, Update gate]");
    d.step("c");
    // Another generation has begun.
    assert_eq!(d.step("b"), "arrive(gate): 1 of 2 [Update gate, Update gate]");
    assert_eq!(d.status("a"), Status::Enabled);
    assert_eq!(d.status("b"), Status::Blocked);
}

#[test]
fn atomic_sections() {
    let mut d = Driver::new(&programs::atomic_sections());
    assert_eq!(d.pending("a"), "Conditional [Update x, Read y, Up s]");
    let text = d.step("a");
    let expected = "atomic deposit: read x → 3, x 3 → 5, read y → 1, up(s) \
                    [Update x, Read y, Up s]";
    assert_eq!(text, expected);
    assert_eq!(d.effect.order, None);
    assert_eq!(d.status("a"), Status::Blocked, "awaits y == 0");
    assert_eq!(d.pending("a"), "Blocking [Read y]");
    let text = d.step("b");
    let expected = "atomic: y 1 → 0, read x → 5, x 5 → 6, read y → 0, up(s), yield \
                    [Write y, Update x, Up s]";
    assert_eq!(text, expected);
    assert_eq!(d.status("a"), Status::Enabled);
    // `x` is large, so the section reaches its await.
    assert_eq!(d.status("b"), Status::Blocked);
    assert_eq!(d.pending("b"), "Blocking [Read x, Read y]");
    d.step("a");
    d.step("a");
    assert_eq!(d.status("b"), Status::Enabled);
    assert_eq!(d.pending("b"), "Blocking [Update x, Read y]");
    assert_eq!(d.step("c"), "atomic: read y → 7 [Read y]");
    assert_eq!(d.status("c"), Status::Assumed);
    d.step("b");
    assert_eq!(d.end().0, Ending::Blocked);
}

#[test]
fn awaiting_for_ever() {
    let mut b = Builder::new();
    let x = b.int("x", 0);
    let wait = |t: &mut crate::ir::builder::Body<'_>| {
        t.at(2, "x == 1", &[]);
        t.await_equal(x, 1);
    };
    b.thread("t", wait);
    b.daemon("d", wait);
    let mut d = Driver::new(&b.finish());
    assert_eq!(d.status("d"), Status::Blocked);
    let (ending, violation) = d.end();
    assert_eq!(ending, Ending::Deadlocked);
    let violation = violation.expect("a deadlock");
    assert_eq!(violation.message, "deadlock: t is blocked");
    assert_eq!(violation.notes, ["t waits until `x == 1`"]);
}

#[test]
fn daemons_may_wait() {
    let mut b = Builder::new();
    let s = b.semaphore("s", 0);
    b.daemon("d", |t| t.emit(Semaphore::Down { semaphore: s }));
    let (ending, violation) = Driver::new(&b.finish()).end();
    assert!(ending == Ending::Complete && violation.is_none());
}
