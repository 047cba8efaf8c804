//! Threads, messages, choices, limits and the words for what goes wrong.

use selvedge_core::{Flexibility, Status, System};

use super::driver::Driver;
use super::programs;
use crate::ir::builder::{Builder, constant};
use crate::ir::{BinaryOp, Choice, Compute, Message, Op, Operand, Slot, Type};

#[test]
fn spawning_and_joining() {
    let mut d = Driver::new(&programs::spawning());
    assert_eq!(
        d.step("main"),
        "spawn node() [Spawn life of main/node#1, Spawn wake-up of main/node#1]"
    );
    assert_eq!(d.flexibility(), Flexibility::Fixed);
    let node = "main/node#1";
    assert_eq!(
        d.pending(node),
        "Fixed [Spawn life of main/node#1/leaf#1, Spawn wake-up of main/node#1/leaf#1, \
         Begin wake-up of main/node#1]"
    );
    d.step(node);
    assert_eq!(d.status(node), Status::Blocked);
    assert_eq!(d.pending(node), "Blocking [Join life of main/node#1/leaf#1]");
    let leaf = "main/node#1/leaf#1";
    // Its first step is also its last one.
    assert_eq!(
        d.step(leaf),
        "x = 7 [Write x, Begin wake-up of main/node#1/leaf#1, End life of main/node#1/leaf#1]"
    );
    assert_eq!(d.status(leaf), Status::Finished);
    assert_eq!(d.step(node), "join main/node#1/leaf#1 [Join life of main/node#1/leaf#1]");
    // Whether this read is the last step depends on what it finds.
    assert_eq!(d.pending(node), "Conditional [Read x]");
    d.step("other");
    d.step("main");
    // A thread without a visible step has finished when it is spawned.
    assert_eq!(
        d.step("main"),
        "spawn idle(3) [Spawn life of main/idle#2, Spawn wake-up of main/idle#2]"
    );
    assert_eq!(d.status("main/idle#2"), Status::Finished);
    d.step(node);
    assert_eq!(d.step(node), "x = 1 [Write x, End life of main/node#1]");
    d.step("main");
    let text = d.step("main");
    assert_eq!(
        text,
        "atomic: spawn leaf(4), x 1 → 9 \
         [Spawn life of main/leaf#3, Spawn wake-up of main/leaf#3, Write x]"
    );
    // The invisible code of the new thread faults: in a step of its own.
    d.step("main");
    assert_eq!(d.status("main"), Status::Finished);
    assert_eq!(d.status("main/broken#4"), Status::Enabled);
    assert_eq!(
        d.step("main/broken#4"),
        "starts [Begin wake-up of main/broken#4, End life of main/broken#4]"
    );
    assert!(d.fault().starts_with("arithmetic: division by zero"), "{}", d.fault());
}

#[test]
fn names_of_spawned_threads_are_stable() {
    let mut d = Driver::new(&programs::spawning());
    d.step("main");
    let node = d.thread("main/node#1");
    d.step("main/node#1");
    let leaf = d.thread("main/node#1/leaf#1");
    d.system.restart();
    assert_eq!(d.system.status(node), Status::Absent);
    assert_eq!(d.system.thread_count(), 4);
    // Another order of spawning, and another second child.
    d.step("other");
    d.step("main");
    d.step("main");
    d.step("main");
    assert_eq!(d.thread("main/node#1"), node);
    assert_eq!(d.system.status(leaf), Status::Absent);
    assert_eq!(d.system.thread_count(), 5);
}

#[test]
fn messages_have_stable_objects() {
    let mut d = Driver::new(&programs::messages());
    d.pending("client");
    let promised = d.effect.footprint.clone();
    d.step("client");
    assert_eq!(d.effect.footprint, promised);
    d.step("client");
    let second = d.effect.footprint.clone();
    d.system.restart();
    d.step("other");
    d.step("other");
    d.step("client");
    assert_eq!(d.effect.footprint, promised);
    d.step("client");
    assert_eq!(d.effect.footprint, second);
}

#[test]
fn messages() {
    let mut d = Driver::new(&programs::messages());
    assert_eq!(d.status("server"), Status::Blocked);
    assert_eq!(d.pending("server"), "Blocking [Timeout mailbox of server]");
    let text = d.step("client");
    let expected = "send server(1, 2) \
                    [Send mailbox of server, Post message 1 of client, Alive life of server]";
    assert_eq!(text, expected);
    assert_eq!(d.flexibility(), Flexibility::Conditional);
    d.step("client");
    // 12 / 2 is larger than 3: the older message fits its guard.
    assert_eq!(d.step("server"), "receive (1, 2) [Take message 1 of client]");
    assert_eq!(d.flexibility(), Flexibility::Blocking);
    assert_eq!(d.pending("other"), "Conditional [Timeout mailbox of other]");
    assert_eq!(d.step("other"), "receive: after [Timeout mailbox of other]");
    d.step("friend");
    let text = d.step("other");
    let expected = "send other(3) \
                    [Send mailbox of other, Post message 1 of other, Alive life of other]";
    assert_eq!(text, expected);
    let text = d.step("server");
    assert_eq!(text, "receive (5) [Take message 2 of client, End life of server]");
    assert_eq!(d.pending("client"), "Conditional [Alive life of server, End life of client]");
    d.step("client");
    assert_eq!(d.fault(), "misuse: send to a finished thread, server");
}

#[test]
fn a_guard_can_fault() {
    let mut d = Driver::new(&programs::messages());
    d.step("other");
    d.step("other");
    d.step("other");
    assert_eq!(d.status("server"), Status::Enabled);
    d.step("server");
    assert!(d.fault().starts_with("arithmetic: division by zero"), "{}", d.fault());
}

#[test]
fn waiting_for_a_message_for_ever() {
    let mut d = Driver::new(&programs::messages());
    d.step("client");
    d.step("server");
    while d.status("client") == Status::Enabled {
        d.step("client");
    }
    // Enough: `server` has taken one, and the second `receive` finds `(5)`.
    assert_eq!(d.status("server"), Status::Enabled);
    let mut b = Builder::new();
    b.thread("t", |t| {
        let to = t.label();
        let alternative = crate::ir::Alternative {
            patterns: [crate::ir::Pattern::Ignore].into(),
            guard: None,
            to,
        };
        t.emit(Message::Receive { alternatives: [alternative].into(), after: None });
        t.place(to);
    });
    let violation = Driver::new(&b.finish()).end().1.expect("a deadlock");
    assert_eq!(violation.notes, ["t waits for a message"]);
}

#[test]
fn choices() {
    let mut b = Builder::new();
    b.thread("t", |t| {
        t.choose(-1, 2);
        let either = t.slot(Type::Bool);
        t.emit(Choice::Choose { target: either, low: constant(0), high: constant(2) });
        t.emit(Choice::Yield);
        t.choose(3, 3);
    });
    b.thread("many", |t| {
        t.choose(i32::MIN, i32::MAX);
    });
    let mut d = Driver::new(&b.finish());
    let t = d.thread("t");
    assert_eq!(d.system.choices(t), 3);
    assert_eq!(d.step_choice("t", 2), "choose(-1..2) → 1 []");
    assert_eq!(d.effect.choices, 3);
    assert_eq!(d.step_choice("t", 1), "choose() → true []");
    assert_eq!(d.step("t"), "yield []");
    assert_eq!(d.system.choices(t), 1);
    d.step("t");
    assert_eq!(d.fault(), "bounds: `choose(3..3)` has nothing to choose from");
    d.step("many");
    assert!(d.fault().starts_with("resources: `choose("), "{}", d.fault());
}

#[test]
fn faults_before_the_first_visible_operation() {
    let mut b = Builder::new();
    b.thread("t", |t| {
        t.at(7, "false", &[]);
        t.assert(0);
        t.emit(Choice::Yield);
    });
    b.thread("idle", |_| {});
    let mut d = Driver::new(&b.finish());
    assert_eq!(d.status("idle"), Status::Finished);
    assert_eq!(d.status("t"), Status::Enabled);
    assert_eq!(d.pending("t"), "Fixed []");
    assert_eq!(d.step("t"), "starts []");
    assert_eq!(d.fault(), "assertion: assertion `false` is false");
    assert_eq!(d.status("t"), Status::Failed);
}

#[test]
fn limits() {
    let mut b = Builder::new();
    let deep = b.declare("deep", &[], None);
    b.define(deep, |p| {
        p.call(deep, &[]);
    });
    let leaf = b.procedure("leaf", &[], None, |t| t.emit(Choice::Yield));
    b.thread("recursive", |t| {
        t.emit(Choice::Yield);
        t.call(deep, &[]);
    });
    b.thread("endless", |t| {
        t.emit(Choice::Yield);
        let here = t.here();
        t.jump(here);
    });
    b.thread("endless at once", |t| {
        let here = t.here();
        t.jump(here);
    });
    b.thread("spawner", |t| {
        t.repeat(5_000, |t, _| {
            t.spawn(leaf, &[]);
        });
    });
    let mut d = Driver::new(&b.finish());
    d.step("recursive");
    assert_eq!(d.fault(), "resources: calls are nested more than 1,000 deep");
    for name in ["endless", "endless at once"] {
        d.step(name);
        let expected = format!(
            "gave up: thread {name} ran 1,000,000 instructions without a visible step; \
             a loop that never ends?"
        );
        assert_eq!(d.fault(), expected);
        assert_eq!(d.status(name), Status::Failed);
    }
    let spawner = d.thread("spawner");
    while d.system.status(spawner) == Status::Enabled {
        d.system.step(selvedge_core::Step::of(spawner), &mut d.effect);
    }
    assert_eq!(d.fault(), "resources: too many threads: an execution can have 4,096");
    assert_eq!(d.system.thread_count(), 4_096);
    d.system.restart();
    assert_eq!(d.status("recursive"), Status::Enabled);
}

#[test]
fn a_smaller_budget() {
    let mut b = Builder::new();
    b.thread("t", |t| {
        t.emit(Choice::Yield);
        t.repeat(100, |_, _| {});
    });
    let program = b.finish();
    let mut d = Driver::new(&program);
    d.step("t");
    assert_eq!(d.fault(), "none");
    d.system = crate::interpret::Interpreter::new(program).with_instruction_budget(50);
    d.step("t");
    assert!(d.fault().contains("ran 50 instructions"), "{}", d.fault());
}

#[test]
fn messages_of_arithmetic_and_bounds() {
    let mut b = Builder::new();
    let a = b.array("a", &[3]);
    let grid = b.array("grid", &[2, 1]);
    let one = b.procedure("one", &[Type::Int], None, |t| {
        t.emit(Choice::Yield);
        t.at(1, "a * k", &[("k", Slot(0))]);
        t.binary(BinaryOp::Multiply, i32::MAX, Slot(0));
    });
    b.start("product", None, one, &[2]);
    let two = b.procedure("two", &[Type::Int], None, |t| {
        t.emit(Choice::Yield);
        t.index(a, Slot(0));
    });
    b.start("index", None, two, &[5]);
    let three = b.procedure("three", &[Type::Int, Type::Int], None, |t| {
        t.emit(Choice::Yield);
        let target = t.slot(Type::Int);
        let second = Some(Operand::Slot(Slot(1)));
        t.emit(Op::Compute {
            target,
            value: Compute::Index { global: grid, first: Slot(0).into(), second },
        });
    });
    b.start("row", None, three, &[-1, 0]);
    b.start("column", None, three, &[1, 1]);
    let four = b.procedure("four", &[Type::Int], None, |t| {
        t.emit(Choice::Yield);
        let target = t.slot(Type::Thread);
        t.emit(Op::Compute {
            target,
            value: Compute::ThreadIndex { first: 0, count: 1, index: Slot(0).into() },
        });
    });
    b.start("handle", None, four, &[3]);
    let mut d = Driver::new(&b.finish());
    for (name, message) in [
        ("product", "arithmetic: `a * k` overflows 32 bits (k = 2)"),
        ("index", "bounds: index 5 is outside `a`, which has 3 elements"),
        ("row", "bounds: index -1 is outside `grid`, which has 2 rows"),
        ("column", "bounds: index 1 is outside `grid`, which has 1 column"),
        ("handle", "bounds: index 3 is outside `product`, which has 1 thread"),
    ] {
        d.step(name);
        assert_eq!(d.fault(), message);
    }
}

#[test]
fn calls_reuse_the_stack() {
    let mut b = Builder::new();
    let leaf = b.procedure("leaf", &[Type::Int], None, |t| t.emit(Choice::Yield));
    b.thread("t", |t| {
        t.repeat(100, |t, i| {
            t.call(leaf, &[i.into()]);
        });
    });
    let mut d = Driver::new(&b.finish());
    let size = |d: &Driver| d.system.machine.borrow().stacks[0].len();
    let before = size(&d);
    while d.status("t") == Status::Enabled {
        d.step("t");
    }
    assert_eq!(size(&d), before);
}
