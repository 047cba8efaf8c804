//! The footprint of an atomic section that may wait names all that could keep it waiting.

use std::collections::BTreeSet;

use selvedge_core::{Effect, Mode, ObjectId, Status, Step, System, ThreadId};
use selvedge_lang::{Interpreter, compile, render};

/// The objects that the first step of the first thread would touch, if it waits, all by reading.
fn waits_with(text: &str) -> BTreeSet<ObjectId> {
    let compiled = match compile("test.sel", text, &[]) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{}", render(&errors, "test.sel", text, false)),
    };
    let mut system = Interpreter::new(compiled.program);
    system.restart();
    let thread = ThreadId::new(0);
    assert_eq!(system.status(thread), Status::Blocked, "{text}");
    let mut effect = Effect::default();
    system.pending(Step::of(thread), &mut effect);
    let reads = effect.footprint.accesses().iter().filter(|access| !access.mode.is_cause());
    reads
        .map(|access| {
            assert_eq!(access.mode, Mode::Read, "{text}");
            access.object
        })
        .collect()
}

/// `y` is not looked at as long as `x` is 0, but keeps the step waiting all the same.
#[test]
fn what_is_not_looked_at_yet() {
    let first = "shared x = 0; shared y = 0; shared z = 0;";
    let other = "thread u { x = 1; y = 1; z = 1; }";
    for (condition, objects) in
        [("x == 1", 1), ("x == 1 && y == 1", 2), ("x == 1 && (y == 1 || z == 1)", 3)]
    {
        let text = format!("{first} thread t {{ await {condition}; }} {other}");
        assert_eq!(waits_with(&text).len(), objects, "{condition}");
    }
}

/// The same for a block, in the first procedure of the program and in a later one, with what a function
/// reads for it, element by element.
#[test]
fn what_a_block_and_its_functions_may_read() {
    let rest = "thread u { x = 1; y = 1; a[0] = 1; a[1] = 1; a[2] = 1; }";
    let first = "shared x = 0; shared y = 0; shared a[3] = 0;";
    for (code, objects) in [
        ("atomic { await x == 1; await y == 1; }", 2),
        ("atomic { await x == 1; let v = y; x = v; }", 2),
        ("atomic { await full(0) && full(1); }", 3),
    ] {
        let function = "fn full(i: int) -> bool { return a[i] == 1; }";
        for text in [
            format!("{first} {function} thread t {{ {code} }} {rest}"),
            format!("{first} thread t {{ {code} }} {rest} {function}"),
        ] {
            assert_eq!(waits_with(&text).len(), objects, "{text}");
        }
    }
}
