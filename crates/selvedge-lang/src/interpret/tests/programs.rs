//! Small programs that together use every instruction.

use std::sync::Arc;

use crate::ir::builder::{Body, Builder, constant};
use crate::ir::{
    Alternative, AtomicKind, Barrier, BinaryOp, Change, Choice, Compute, Cond, GlobalKind, Guard,
    GuardArgument, Lock, LockMode, Message, ObjectRef, Op, Operand, Pattern, Program, Query,
    Semaphore, Slot, Thread, Type, UnaryOp, Variable,
};

pub(super) fn all() -> Vec<(&'static str, Arc<Program>)> {
    let mut all = vec![
        ("counters", counters()),
        ("arrays and calls", arrays_and_calls()),
        ("read-modify-write", read_modify_write()),
        ("philosophers", philosophers()),
        ("lock misuse", lock_misuse()),
        ("readers and writers", readers_and_writers()),
        ("conditions", conditions()),
        ("semaphores", semaphores()),
        ("barrier", barrier(2, 2)),
        ("crowded barrier", barrier(4, 2)),
        ("atomic sections", atomic_sections()),
        ("containers", containers()),
        ("spawning", spawning()),
        ("messages", messages()),
        ("faults", faults()),
        ("choices", choices()),
        ("nested", nested()),
    ];
    all.extend(super::texts::all());
    all
}

fn increment(body: &mut Body<'_>, x: ObjectRef) {
    let old = body.read(x);
    let new = body.binary(BinaryOp::Add, old, 1);
    body.write(x, new);
}

pub(super) fn counters() -> Arc<Program> {
    let mut b = Builder::new();
    let x = b.int("x", 0);
    b.thread("a", |t| t.repeat(2, |t, _| increment(t, x)));
    b.thread("b", |t| increment(t, x));
    b.finally(|t| {
        let end = t.read(x);
        let right = t.binary(BinaryOp::Equal, end, 3);
        t.at(9, "x == 3", &[("x", end)]);
        t.assert(right);
    });
    b.finish()
}

fn arrays_and_calls() -> Arc<Program> {
    let mut b = Builder::new();
    let a = b.array("a", &[3]);
    let grid = b.array("grid", &[2, 2]);
    let factorial = b.declare("factorial", &[Type::Int], Some(Type::Int));
    b.define(factorial, |f| {
        let (base, more) = (f.label(), f.label());
        let small = f.binary(BinaryOp::LessEqual, Slot(0), 1);
        f.branch(small, base, more);
        f.place(base);
        f.emit(Op::Return { value: Some(constant(1)) });
        f.place(more);
        let less = f.binary(BinaryOp::Subtract, Slot(0), 1);
        let rest = f.call(factorial, &[less.into()]).unwrap();
        let all = f.binary(BinaryOp::Multiply, Slot(0), rest);
        f.emit(Op::Return { value: Some(all.into()) });
    });
    // Has a visible step inside.
    let sum = b.procedure("sum", &[Type::Int], Some(Type::Int), |f| {
        let place = f.index(a, Slot(0));
        let found = f.read(place);
        let all = f.binary(BinaryOp::Add, found, Slot(0));
        f.emit(Op::Return { value: Some(all.into()) });
    });
    let worker = b.procedure("worker", &[Type::Int], None, |t| {
        let place = t.index(a, Slot(0));
        let f = t.call(factorial, &[constant(5)]).unwrap();
        t.write(place, f);
        let s = t.call(sum, &[Slot(0).into()]).unwrap();
        let flat = t.slot(Type::Int);
        let first = Some(constant(1));
        t.emit(Op::Compute {
            target: flat,
            value: Compute::Index { global: grid, first: Slot(0).into(), second: first },
        });
        t.write(ObjectRef { global: grid, index: flat.into() }, s);
        t.call(sum, &[constant(2)]);
    });
    b.start("worker", Some(0), worker, &[0]);
    b.start("worker", Some(1), worker, &[1]);
    // Row 2 does not exist.
    b.start("worker", Some(2), worker, &[2]);
    b.finish()
}

fn read_modify_write() -> Arc<Program> {
    let mut b = Builder::new();
    let x = b.int("x", i32::MAX - 1);
    let free = b.flag("free", true);
    for name in ["a", "b"] {
        b.thread(name, |t| {
            let won = t.slot(Type::Bool);
            let (expected, new) = (constant(1), constant(0));
            t.emit(Variable::CompareExchange {
                target: won,
                variable: free,
                expected,
                new,
                order: None,
            });
            let (yes, no) = (t.label(), t.label());
            t.branch(won, yes, no);
            t.place(yes);
            let old = t.slot(Type::Int);
            t.emit(Variable::FetchAdd {
                target: old,
                variable: x,
                delta: constant(1),
                order: None,
            });
            let was = t.slot(Type::Bool);
            t.emit(Variable::Exchange {
                target: was,
                variable: free,
                new: constant(1),
                order: None,
            });
            t.place(no);
            let old = t.slot(Type::Int);
            t.emit(Variable::FetchAdd {
                target: old,
                variable: x,
                delta: constant(1),
                order: None,
            });
        });
    }
    b.finish()
}

pub(super) fn philosophers() -> Arc<Program> {
    let mut b = Builder::new();
    let fork = b.mutexes("fork", 2);
    let philosopher = b.procedure("philosopher", &[Type::Int], None, |t| {
        let left = t.index(fork, Slot(0));
        let next = t.binary(BinaryOp::Add, Slot(0), 1);
        let next = t.binary(BinaryOp::Remainder, next, 2);
        let right = t.index(fork, next);
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: left });
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: right });
        t.emit(Lock::Release { mode: LockMode::Mutex, lock: right });
        t.emit(Lock::Release { mode: LockMode::Mutex, lock: left });
    });
    b.start("philosopher", Some(0), philosopher, &[0]);
    b.start("philosopher", Some(1), philosopher, &[1]);
    b.finish()
}

fn lock_misuse() -> Arc<Program> {
    let mut b = Builder::new();
    let m = b.mutex("m");
    let rw = b.object("rw", GlobalKind::RwLock);
    b.thread("twice", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
    });
    b.thread("thief", |t| t.emit(Lock::Release { mode: LockMode::Mutex, lock: m }));
    b.thread("trier", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Lock::Try { mode: LockMode::Mutex, target: got, lock: m });
        t.emit(Lock::Try { mode: LockMode::Read, target: got, lock: rw });
        t.emit(Lock::Try { mode: LockMode::Write, target: got, lock: rw });
        t.emit(Lock::Acquire { mode: LockMode::Write, lock: rw });
    });
    b.thread("writer", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Write, lock: rw });
        t.emit(Lock::Release { mode: LockMode::Read, lock: rw });
    });
    b.finish()
}

fn readers_and_writers() -> Arc<Program> {
    let mut b = Builder::new();
    let rw = b.object("rw", GlobalKind::RwLock);
    let x = b.int("x", 0);
    for name in ["r1", "r2"] {
        b.thread(name, |t| {
            t.emit(Lock::Acquire { mode: LockMode::Read, lock: rw });
            t.read(x);
            t.emit(Lock::Release { mode: LockMode::Read, lock: rw });
        });
    }
    b.thread("w", |t| {
        t.emit(Lock::Acquire { mode: LockMode::Write, lock: rw });
        increment(t, x);
        t.emit(Lock::Release { mode: LockMode::Write, lock: rw });
    });
    b.thread("try", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Lock::Try { mode: LockMode::Write, target: got, lock: rw });
        let (yes, no) = (t.label(), t.label());
        t.branch(got, yes, no);
        t.place(yes);
        t.emit(Lock::Release { mode: LockMode::Write, lock: rw });
        t.place(no);
        t.emit(Lock::Try { mode: LockMode::Read, target: got, lock: rw });
    });
    b.finish()
}

pub(super) fn conditions() -> Arc<Program> {
    let mut b = Builder::new();
    let m = b.mutex("m");
    let c = b.object("c", GlobalKind::Cond);
    for name in ["w1", "w2", "w3"] {
        b.thread(name, |t| {
            t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
            t.emit(Cond::Wait { cond: c, mutex: m });
            t.emit(Lock::Release { mode: LockMode::Mutex, lock: m });
        });
    }
    b.thread("s", |t| {
        t.emit(Cond::Signal { cond: c });
        t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m });
        t.emit(Cond::Signal { cond: c });
        t.emit(Lock::Release { mode: LockMode::Mutex, lock: m });
        t.emit(Cond::Broadcast { cond: c });
        t.emit(Cond::Wait { cond: c, mutex: m });
    });
    b.finish()
}

fn semaphores() -> Arc<Program> {
    let mut b = Builder::new();
    let items = b.semaphore("items", 0);
    let full = b.semaphore("full", i32::MAX);
    b.thread("producer", |t| t.repeat(2, |t, _| t.emit(Semaphore::Up { semaphore: items })));
    b.thread("consumer", |t| t.emit(Semaphore::Down { semaphore: items }));
    b.thread("trier", |t| {
        let got = t.slot(Type::Bool);
        t.emit(Semaphore::TryDown { target: got, semaphore: items });
        t.emit(Semaphore::Down { semaphore: items });
    });
    b.thread("over", |t| t.emit(Semaphore::Up { semaphore: full }));
    b.finish()
}

pub(super) fn barrier(users: usize, parties: u32) -> Arc<Program> {
    let mut b = Builder::new();
    let gate = b.barrier("gate", parties);
    let x = b.int("x", 0);
    for name in ["a", "b", "c", "d"].iter().take(users) {
        b.thread(name, |t| {
            t.emit(Barrier::Arrive { barrier: gate });
            increment(t, x);
            t.emit(Barrier::Arrive { barrier: gate });
        });
    }
    b.finish()
}

pub(super) fn atomic_sections() -> Arc<Program> {
    let mut b = Builder::new();
    let (x, y) = (b.int("x", 3), b.int("y", 1));
    let s = b.semaphore("s", 0);
    let deposit = b.declare("deposit", &[Type::Int], None);
    b.define(deposit, |p| {
        p.section(Some("deposit"), AtomicKind::Procedure, |p| {
            let old = p.read(x);
            let new = p.binary(BinaryOp::Add, old, Slot(0));
            p.write(x, new);
            p.read(y);
            p.emit(Semaphore::Up { semaphore: s });
        });
    });
    b.thread("a", |t| {
        t.call(deposit, &[constant(2)]);
        t.await_equal(y, 0);
        t.write(y, 7);
    });
    b.thread("b", |t| {
        t.atomic(|t| {
            t.write(y, 0);
            t.call(deposit, &[constant(1)]);
            t.emit(Choice::Yield);
        });
        t.atomic(|t| {
            let found = t.read(x);
            let (yes, no) = (t.label(), t.label());
            let large = t.binary(BinaryOp::Greater, found, 5);
            t.branch(large, yes, no);
            t.place(yes);
            t.await_equal(y, 7);
            t.place(no);
            t.write(x, 0);
        });
    });
    b.thread("c", |t| {
        t.atomic(|t| {
            let found = t.read(y);
            t.at(5, "y == 1", &[("y", found)]);
            let right = t.binary(BinaryOp::Equal, found, 1);
            t.emit(Op::Assume { condition: right.into() });
            let sum = t.slot(Type::Int);
            t.emit(Op::Compute {
                target: sum,
                value: Compute::Unary(UnaryOp::Negate, found.into()),
            });
        });
    });
    b.finish()
}

fn containers() -> Arc<Program> {
    let mut b = Builder::new();
    let q = b.list("q", &[1, 2]);
    let table = b.map("table", &[(1, 2)]);
    b.thread("lister", |t| {
        t.change(q, Change::Push(constant(5)));
        let last = t.slot(Type::Int);
        t.change(q, Change::Pop(Some(last)));
        t.change(q, Change::PopFront(Some(last)));
        t.change(q, Change::Set(constant(0), constant(9)));
        t.query(q, Query::Element(constant(0)));
        t.query(q, Query::Length);
        t.query(q, Query::Contains(constant(9)));
        t.change(q, Change::Clear);
        t.change(q, Change::PopFront(None));
    });
    b.thread("emptier", |t| t.repeat(3, |t, _| t.change(q, Change::Pop(None))));
    b.thread("mapper", |t| {
        t.change(table, Change::Insert(constant(3), constant(4)));
        t.change(table, Change::Insert(constant(1), constant(7)));
        t.query(table, Query::Length);
        t.query(table, Query::Has(constant(3)));
        t.query(table, Query::GetOr(constant(8), constant(-1)));
        t.query(table, Query::Get(constant(1)));
        t.change(table, Change::Remove(constant(1)));
        t.query(table, Query::Get(constant(1)));
    });
    b.thread("clearer", |t| {
        t.change(table, Change::Remove(constant(5)));
        t.change(table, Change::Clear);
    });
    b.finish()
}

pub(super) fn spawning() -> Arc<Program> {
    let mut b = Builder::new();
    let x = b.int("x", 0);
    let leaf = b.procedure("leaf", &[Type::Int], None, |t| t.write(x, Slot(0)));
    let idle = b.procedure("idle", &[Type::Int], None, |t| {
        t.binary(BinaryOp::Add, Slot(0), 1);
    });
    // Faults if it starts with 1, and would not if it started with what is left of it.
    let broken = b.procedure("broken", &[Type::Int], None, |t| {
        let (op, right) = (BinaryOp::Subtract, constant(1));
        t.emit(Op::Compute { target: Slot(0), value: Compute::Binary(op, Slot(0).into(), right) });
        t.binary(BinaryOp::Divide, 1, Slot(0));
    });
    let node = b.procedure("node", &[], None, |t| {
        let child = t.spawn(leaf, &[constant(7)]);
        t.emit(Thread::Join { thread: child.into() });
        let found = t.read(x);
        let zero = t.binary(BinaryOp::Equal, found, 0);
        let (stop, more) = (t.label(), t.label());
        t.branch(zero, stop, more);
        t.place(more);
        t.write(x, 1);
        t.place(stop);
    });
    b.thread("main", |t| {
        let first = t.spawn(node, &[]);
        let found = t.read(x);
        let zero = t.binary(BinaryOp::Equal, found, 0);
        let (left, right, end) = (t.label(), t.label(), t.label());
        t.branch(zero, left, right);
        t.place(left);
        t.spawn(leaf, &[constant(2)]);
        t.jump(end);
        t.place(right);
        t.spawn(idle, &[constant(3)]);
        t.place(end);
        t.emit(Thread::Join { thread: first.into() });
        t.atomic(|t| {
            t.spawn(leaf, &[constant(4)]);
            t.write(x, 9);
        });
        t.spawn(broken, &[constant(1)]);
    });
    b.thread("other", |t| t.write(x, 5));
    b.finish()
}

pub(super) fn messages() -> Arc<Program> {
    let mut b = Builder::new();
    let large = b.procedure("large", &[Type::Int, Type::Int], Some(Type::Bool), |g| {
        let quotient = g.binary(BinaryOp::Divide, 12, Slot(0));
        let yes = g.binary(BinaryOp::Greater, quotient, Slot(1));
        g.emit(Op::Return { value: Some(yes.into()) });
    });
    let server = b.procedure("server", &[], None, |t| {
        let limit = t.slot(Type::Int);
        t.emit(Op::Compute { target: limit, value: Compute::Copy(constant(3)) });
        t.repeat(2, |t, _| {
            let v = t.slot(Type::Int);
            let (one, two, done) = (t.label(), t.label(), t.label());
            let guard = Guard {
                procedure: large,
                arguments: [GuardArgument::Element(1), GuardArgument::Local(limit.into())].into(),
            };
            t.emit(Message::Receive {
                alternatives: [
                    Alternative {
                        patterns: [Pattern::Equal(constant(1)), Pattern::Bind(v)].into(),
                        guard: Some(guard),
                        to: one,
                    },
                    Alternative { patterns: [Pattern::Ignore].into(), guard: None, to: two },
                ]
                .into(),
                after: None,
            });
            t.place(one);
            t.emit(Op::Compute { target: limit, value: Compute::Copy(v.into()) });
            t.jump(done);
            t.place(two);
            t.place(done);
        });
    });
    b.start("server", None, server, &[]);
    b.thread("client", |t| {
        t.send(0, &[constant(1), constant(2)]);
        t.send(0, &[constant(5)]);
        t.send(0, &[constant(1), constant(9)]);
    });
    b.thread("other", |t| {
        let (got, late) = (t.label(), t.label());
        let alternative =
            Alternative { patterns: [Pattern::Equal(constant(4))].into(), guard: None, to: got };
        t.emit(Message::Receive { alternatives: [alternative].into(), after: Some(late) });
        t.place(got);
        t.send(0, &[constant(8)]);
        t.place(late);
        let me = t.slot(Type::Thread);
        t.emit(Op::Compute { target: me, value: Compute::Own });
        t.send(me, &[constant(3)]);
        t.send(0, &[constant(1), constant(0)]);
    });
    b.thread("friend", |t| {
        let to = t.slot(Type::Thread);
        t.emit(Op::Compute {
            target: to,
            value: Compute::ThreadIndex { first: 2, count: 1, index: constant(0) },
        });
        t.send(to, &[constant(4)]);
    });
    b.finish()
}

fn faults() -> Arc<Program> {
    let mut b = Builder::new();
    let x = b.int("x", 0);
    let a = b.array("a", &[3]);
    let deep = b.declare("deep", &[], None);
    b.define(deep, |p| {
        p.call(deep, &[]);
    });
    b.thread("asserter", |t| {
        let found = t.read(x);
        let right = t.binary(BinaryOp::Equal, found, 1);
        t.at(3, "x == 1", &[("x", found)]);
        t.emit(Op::Assert { condition: right.into(), message: Some("no update".into()) });
    });
    b.thread("writer", |t| t.write(x, 1));
    b.thread("outside", |t| {
        let found = t.read(x);
        let far = t.binary(BinaryOp::Add, found, 2);
        let place = t.index(a, far);
        t.write(place, 1);
    });
    b.thread("at once", |t| t.assert(0));
    b.thread("recursive", |t| {
        t.call(deep, &[]);
    });
    b.thread("idle", |_| {});
    b.thread("assumes", |t| t.emit(Op::Assume { condition: constant(0) }));
    b.thread("in section", |t| {
        t.atomic(|t| {
            let found = t.read(x);
            t.write(x, 2);
            t.at(4, "1 / x", &[("x", found)]);
            t.binary(BinaryOp::Divide, 1, found);
        });
    });
    b.finish()
}

fn choices() -> Arc<Program> {
    let mut b = Builder::new();
    let x = b.int("x", 0);
    b.thread("a", |t| {
        let chosen = t.choose(-1, 2);
        t.write(x, chosen);
        let either = t.slot(Type::Bool);
        t.emit(Choice::Choose { target: either, low: constant(0), high: constant(2) });
        t.emit(Choice::Yield);
    });
    b.thread("b", |t| {
        let high: Slot = t.read(x);
        let v = t.slot(Type::Int);
        t.emit(Choice::Choose { target: v, low: constant(0), high: Operand::Slot(high) });
    });
    b.finish()
}

/// Scoped waiting through calls: a visible step two frames down, and an atomic call in an await.
fn nested() -> Arc<Program> {
    let mut b = Builder::new();
    let (x, done) = (b.int("x", 0), b.flag("done", false));
    let inner = b.procedure("inner", &[Type::Int], Some(Type::Int), |p| {
        p.write(x, Slot(0));
        let found = p.read(x);
        p.emit(Op::Return { value: Some(found.into()) });
    });
    let outer = b.procedure("outer", &[Type::Int], Some(Type::Int), |p| {
        let one = p.call(inner, &[Slot(0).into()]).unwrap();
        let two = p.call(inner, &[constant(4)]).unwrap();
        let sum = p.binary(BinaryOp::Add, one, two);
        p.emit(Op::Return { value: Some(sum.into()) });
    });
    b.thread("a", |t| {
        let sum = t.call(outer, &[constant(1)]).unwrap();
        t.atomic(|t| {
            let again = t.call(outer, &[sum.into()]).unwrap();
            t.write(x, again);
        });
        t.write(done, 1);
    });
    b.thread("b", |t| {
        t.await_equal(done, 1);
        t.call(outer, &[constant(9)]);
    });
    b.finish()
}
