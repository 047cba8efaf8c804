//! One wrong program per invariant.

use super::verify;
use crate::ir::builder::{Body, Builder, constant};
use crate::ir::{
    Alternative, Atomic, AtomicId, AtomicKind, BinaryOp, Change, Choice, Compute, Condition,
    ConditionArgument, GlobalKind, Guard, GuardArgument, Independence, Label, Lock, LockMode,
    Message, ObjectRef, Op, Operand, Pattern, ProcedureId, Program, Query, SiteId, Slot, Type,
};

/// The first complaint about a program.
fn complaint(program: &Program) -> String {
    verify(program).expect_err("it is wrong").swap_remove(0)
}

/// The first complaint about a thread in a program with a bit of everything.
fn in_thread(write: impl FnOnce(&mut Body<'_>, &Objects)) -> String {
    let mut b = Builder::new();
    let objects = Objects {
        x: b.int("x", 0),
        flag: b.flag("flag", false),
        array: ObjectRef { global: b.array("a", &[3]), index: constant(0) },
        other: ObjectRef { global: b.array("other", &[9]), index: constant(0) },
        mutex: b.mutex("m"),
        list: b.list("q", &[]),
        map: b.map("table", &[]),
    };
    b.thread("t", |t| write(t, &objects));
    complaint(&b.unverified())
}

struct Objects {
    x: ObjectRef,
    flag: ObjectRef,
    array: ObjectRef,
    other: ObjectRef,
    mutex: ObjectRef,
    list: ObjectRef,
    map: ObjectRef,
}

#[track_caller]
fn says(complaint: &str, expected: &str) {
    assert!(complaint.contains(expected), "{complaint}");
}

#[test]
fn tables() {
    let mut program = Builder::new().unverified();
    program.add_global("x".to_owned(), vec![2], GlobalKind::Semaphore { initial: vec![1] });
    says(&complaint(&program), "wrong initial values");
    program.globals[0].kind = GlobalKind::Semaphore { initial: vec![1, -1] };
    says(&complaint(&program), "wrong initial values");
    program.globals[0].kind = GlobalKind::Barrier { parties: vec![1, 0] };
    says(&complaint(&program), "wrong initial values");
    program.globals[0].kind =
        GlobalKind::Variable { ty: Type::Bool, atomic: false, initial: vec![0, 2] };
    says(&complaint(&program), "wrong initial values");
    program.globals[0].kind = GlobalKind::Mutex;
    program.globals[0].base = 1;
    says(&complaint(&program), "start at 1");
    program.globals[0].base = 0;
    program.globals[0].dims = vec![1, 1, 1];
    says(&complaint(&program), "more than two dimensions");
    program.globals.clear();
    program.finally = Some(ProcedureId(0));
    says(&complaint(&program), "finally");
}

#[test]
fn threads() {
    let mut b = Builder::new();
    let p = b.procedure("p", &[Type::Bool], None, |_| {});
    b.start("t", None, p, &[]);
    says(&complaint(&b.unverified()), "wrong number of arguments");
    let mut b = Builder::new();
    let p = b.procedure("p", &[Type::Bool], None, |_| {});
    b.start("t", None, p, &[2]);
    says(&complaint(&b.unverified()), "2 is no bool");
    let mut b = Builder::new();
    let p = b.procedure("p", &[], Some(Type::Int), |p| {
        p.emit(Op::Return { value: Some(constant(1)) });
    });
    b.start("t", None, p, &[]);
    says(&complaint(&b.unverified()), "has a result");
}

#[test]
fn ranges() {
    says(&in_thread(|t, _| t.jump(Label(9))), "a label out of range");
    says(&in_thread(|t, o| t.write(o.x, Slot(7))), "a slot out of range");
    says(
        &in_thread(|t, _| {
            t.emit(Op::Compute { target: Slot(3), value: Compute::Copy(constant(0)) })
        }),
        "a slot out of range",
    );
    says(
        &in_thread(|t, _| {
            let arguments = [].into();
            t.emit(Op::Call { procedure: ProcedureId(8), arguments, target: None });
        }),
        "no such procedure",
    );
    says(
        &in_thread(|t, _| t.emit(Op::AtomicEnd { atomic: AtomicId(0) })),
        "an atomic section of another procedure",
    );
    says(&in_thread(|t, _| t.send(0, &[])), "a message has 1 to 8 values");
    says(
        &in_thread(|t, _| t.emit(Message::Receive { alternatives: [].into(), after: None })),
        "receives nothing",
    );
    says(
        &in_thread(|t, o| {
            let target = t.slot(Type::Int);
            let (first, second) = (constant(0), Some(constant(0)));
            t.emit(Op::Compute {
                target,
                value: Compute::Index { global: o.array.global, first, second },
            });
        }),
        "not as many indices as dimensions",
    );
    says(
        &in_thread(|t, _| {
            let target = t.slot(Type::Thread);
            t.emit(Op::Compute {
                target,
                value: Compute::ThreadIndex { first: 0, count: 2, index: constant(0) },
            });
        }),
        "no such threads",
    );
}

#[test]
fn a_site_for_each_instruction() {
    let mut b = Builder::new();
    b.thread("t", |t| t.emit(Choice::Yield));
    let mut program = b.unverified();
    program.procedures[0].code[0].site = SiteId(99);
    says(&complaint(&program), "no site");
}

#[test]
fn types() {
    says(&in_thread(|t, o| t.write(o.flag, 2)), "2 is no bool");
    says(
        &in_thread(|t, o| t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: o.x })),
        "`x` is of the wrong kind",
    );
    says(&in_thread(|t, o| t.change(o.map, Change::Push(constant(1)))), "wrong kind");
    says(
        &in_thread(|t, o| {
            t.query(o.list, Query::Has(constant(1)));
        }),
        "wrong kind",
    );
    says(
        &in_thread(|t, o| {
            let found = t.read(o.x);
            t.assert(found);
        }),
        "is of type int, not bool",
    );
    says(
        &in_thread(|t, o| {
            let found = t.read(o.flag);
            t.binary(BinaryOp::Add, found, 1);
        }),
        "is of type bool, not int",
    );
    says(
        &in_thread(|t, _| {
            let me = t.slot(Type::Thread);
            t.emit(Op::Compute { target: me, value: Compute::Own });
            t.send(0, &[me.into()]);
        }),
        "is of type thread",
    );
    says(&in_thread(|t, _| t.send(5, &[constant(1)])), "5 is no thread");
    says(
        &in_thread(|t, _| {
            let target = t.slot(Type::Bool);
            t.emit(Choice::Choose { target, low: constant(0), high: constant(3) });
        }),
        "is of type bool, not int",
    );
    says(
        &in_thread(|t, _| t.emit(Op::Return { value: Some(constant(1)) })),
        "does not return what the procedure does",
    );
}

#[test]
fn calls() {
    let with = |arguments: &[Operand], wants_result: bool| {
        let mut b = Builder::new();
        let p = b.procedure("p", &[Type::Bool], None, |_| {});
        b.thread("t", |t| {
            let target = wants_result.then(|| t.slot(Type::Int));
            t.emit(Op::Call { procedure: p, arguments: arguments.into(), target });
        });
        complaint(&b.unverified())
    };
    says(&with(&[], false), "another number of parameters");
    says(&with(&[constant(7)], false), "7 is no bool");
    says(&with(&[constant(1)], true), "has no result");
}

#[test]
fn indices_are_checked() {
    let at = |index: Operand, of: &ObjectRef| ObjectRef { global: of.global, index };
    says(&in_thread(|t, o| t.write(at(constant(3), &o.array), 1)), "is not checked");
    says(
        &in_thread(|t, o| {
            let found = t.read(o.x);
            t.write(at(found.into(), &o.array), 1);
        }),
        "is not checked",
    );
    // Checked against a larger array.
    says(
        &in_thread(|t, o| {
            let place = t.index(o.other.global, 5);
            t.write(at(place.index, &o.array), 1);
        }),
        "is not checked",
    );
    // Overwritten behind the check.
    says(
        &in_thread(|t, o| {
            let place = t.index(o.array.global, 1);
            let Operand::Slot(target) = place.index else { panic!() };
            t.emit(Op::Compute { target, value: Compute::Copy(constant(8)) });
            t.write(place, 1);
        }),
        "is not checked",
    );
}

#[test]
fn assignment_on_every_path() {
    let unassigned = |t: &mut Body<'_>, o: &Objects, show: bool| {
        let value = t.slot(Type::Int);
        let flag = t.read(o.flag);
        let (yes, no) = (t.label(), t.label());
        t.branch(flag, yes, no);
        t.place(yes);
        t.emit(Op::Compute { target: value, value: Compute::Copy(constant(1)) });
        t.place(no);
        if show {
            t.at(1, "v", &[("v", value)]);
            t.assert(1);
            t.at(2, "", &[]);
        } else {
            t.write(o.x, value);
        }
    };
    says(&in_thread(|t, o| unassigned(t, o, false)), "may have no value");
    says(&in_thread(|t, o| unassigned(t, o, true)), "may have no value");
}

#[test]
fn falling_off_the_end() {
    let mut b = Builder::new();
    b.thread("t", |t| t.emit(Choice::Yield));
    let mut program = b.unverified();
    program.procedures[0].code.pop();
    says(&complaint(&program), "falls off the end");
    program.procedures[0].code.clear();
    says(&complaint(&program), "no code");
}

#[test]
fn atomic_sections_are_balanced() {
    says(
        &in_thread(|t, _| {
            t.atomic(|t| t.emit(Op::Return { value: None }));
        }),
        "returns from inside an atomic section",
    );
    says(
        &in_thread(|t, o| {
            let flag = t.read(o.flag);
            let (inside, outside) = (t.label(), t.label());
            t.branch(flag, inside, outside);
            t.place(inside);
            t.atomic(|t| {
                t.place(outside);
                t.emit(Choice::Yield);
            });
        }),
        "different open atomic sections",
    );
    says(
        &in_thread(|t, _| t.emit(Op::Await { condition: constant(1) })),
        "awaits outside of an atomic section",
    );
    let mut b = Builder::new();
    b.thread("t", |t| {
        t.section(Some("t"), AtomicKind::Procedure, |t| t.emit(Choice::Yield));
    });
    let mut program = b.unverified();
    program.atomics[0].kind = AtomicKind::Block;
    says(&complaint(&program), "not of kind `Procedure`");
    let (kind, procedure) = (AtomicKind::Block, ProcedureId(4));
    program.atomics.push(Atomic { name: None, number: None, kind, procedure, continues: None });
    program.atomics[0].kind = AtomicKind::Procedure;
    says(&complaint(&program), "p4 does not exist");
}

#[test]
fn what_may_stand_where() {
    says(
        &in_thread(|t, o| {
            t.atomic(|t| t.emit(Lock::Acquire { mode: LockMode::Mutex, lock: o.mutex }))
        }),
        "not allowed in an atomic section",
    );
    let mut b = Builder::new();
    let m = b.mutex("m");
    let inner = b.procedure("inner", &[], None, |p| {
        p.emit(Lock::Acquire { mode: LockMode::Mutex, lock: m })
    });
    let outer = b.procedure("outer", &[], None, |p| {
        p.call(inner, &[]);
    });
    b.thread("t", |t| {
        t.atomic(|t| {
            t.call(outer, &[]);
        });
    });
    says(&complaint(&b.unverified()), "inner, instruction L0: not allowed in an atomic section");
    let mut b = Builder::new();
    b.finally(|t| t.send(0, &[constant(1)]));
    b.thread("t", |_| {});
    says(&complaint(&b.unverified()), "not allowed in `finally`");
}

#[test]
fn guards() {
    let with = |argument: GuardArgument, body: fn(&mut Body<'_>)| {
        let mut b = Builder::new();
        let guard = b.procedure("guard", &[Type::Int], Some(Type::Bool), body);
        b.thread("t", |t| {
            let to = t.label();
            let guard = Guard { procedure: guard, arguments: [argument].into() };
            let patterns = [Pattern::Ignore].into();
            let alternative = Alternative { patterns, guard: Some(guard), to };
            t.emit(Message::Receive { alternatives: [alternative].into(), after: None });
            t.place(to);
        });
        complaint(&b.unverified())
    };
    let yes = |g: &mut Body<'_>| g.emit(Op::Return { value: Some(constant(1)) });
    says(&with(GuardArgument::Element(1), yes), "a guard that does not exist");
    let waits: fn(&mut Body<'_>) = |g| {
        g.emit(Choice::Yield);
        g.emit(Op::Return { value: Some(constant(1)) });
    };
    says(&with(GuardArgument::Element(0), waits), "not allowed in a guard");
}

#[test]
fn conditions_of_independence() {
    let mut b = Builder::new();
    let condition = b.procedure("condition", &[Type::Int], Some(Type::Bool), |c| {
        c.emit(Op::Return { value: Some(constant(1)) });
    });
    b.thread("t", |t| {
        t.slot(Type::Int);
        t.slot(Type::Bool);
        t.atomic(|t| t.emit(Choice::Yield));
    });
    let mut program = b.unverified();
    let mut with = |argument: ConditionArgument| {
        let condition = Some(Condition { procedure: condition, arguments: vec![argument] });
        let (first, second) = (AtomicId(0), AtomicId(0));
        program.independence = vec![Independence { first, second, condition, site: SiteId(0) }];
        complaint(&program)
    };
    says(&with(ConditionArgument::First(Slot(0))), "first.%0 has no value there");
    says(&with(ConditionArgument::Second(Slot(1))), "second.%1 is no int");
    says(&with(ConditionArgument::Second(Slot(5))), "second.%5 is no int");
}

#[test]
fn the_text_form_names_everything() {
    let mut b = Builder::new();
    let x = b.int("x", 3);
    let a = b.array("a", &[2]);
    b.thread("t", |t| {
        let found = t.read(x);
        t.at(4, "a[x] = 1", &[]);
        let place = t.index(a, found);
        t.write(place, 1);
        t.await_equal(x, 1);
    });
    let expected = "\
shared x: int = [3]  // object 0
shared a[2]: int = [0, 0]  // object 1
thread t = t()

proc t()  // 4 slots
    0  %0 = read x  // 1:1 
    1  %1 = index a %0  // 4:1 a[x] = 1
    2  write a[%1] 1  // 4:1 a[x] = 1
    3  begin atomic0 await _  // 4:1 a[x] = 1
    4  %2 = read x  // 4:1 a[x] = 1
    5  %3 = %2 == 1  // 4:1 a[x] = 1
    6  await %3  // 4:1 a[x] = 1
    7  end atomic0 await _  // 4:1 a[x] = 1
    8  return  // 4:1 a[x] = 1
";
    assert_eq!(b.finish().to_string(), expected);
}
