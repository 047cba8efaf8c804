//! Tests of what the interpreter tells about its state.

use selvedge_core::{Conditions, Effect, ObjectId, Step, System, ThreadId, ViolationKind};

use crate::{Interpreter, compile};

fn system(text: &str) -> Interpreter {
    let compiled = compile("test.sel", text, &[]).unwrap_or_else(|error| panic!("{error:?}"));
    Interpreter::new(compiled.program)
}

fn thread(number: usize) -> ThreadId {
    ThreadId::new(number)
}

fn same(text: &str) -> bool {
    system(text).try_both_orders(Step::of(thread(0)), Step::of(thread(1))).same
}

/// The global objects that a thread may write.
fn may_write(system: &mut Interpreter, number: usize) -> Vec<usize> {
    let objects = system.program().global_objects();
    let may = system.may_access(thread(number));
    (0..objects).filter(|&object| may.may_write(ObjectId::new(object))).collect()
}

#[test]
fn both_orders_are_compared() {
    let two = |a: &str, b: &str| {
        same(&format!(
            "shared x = 1; shared b[2] = 0; list l; map m;
             atomic proc task(v: int) {{ x = v; }}
             thread t0 {{ {a} }} thread t1 {{ {b} }}"
        ))
    };
    assert!(two("atomic { x += 1; }", "atomic { x += 2; }"));
    assert!(!two("atomic { x += 1; }", "atomic { x *= 2; }"));
    assert!(two("x = 3;", "x = 3;"));
    assert!(!two("let v = x; b[0] = v;", "x = 3;"), "it keeps what it read");
    assert!(two("let v = x;", "x = 3;"), "the value read is not used");
    assert!(!two("atomic { push(l, 1); }", "atomic { push(l, 2); }"));
    assert!(two("atomic { push(l, 1); }", "atomic { push(l, 1); }"));
    assert!(two("atomic { m[1] = 1; }", "atomic { m[2] = 2; }"));
    assert!(!two("atomic { m[1] = 1; }", "atomic { m[1] = 2; }"));
    assert!(!two("atomic { assert x == 1; }", "atomic { x = 2; }"), "it fails in one order");
    assert!(two("atomic { assert x == 1; }", "atomic { x = 1; }"));
    assert!(!two("atomic { await x == 2; }", "atomic { x = 2; }"), "it waits");
    assert!(two("atomic { spawn task(x); }", "atomic { x = x; }"));
    assert!(!two("atomic { spawn task(x); }", "atomic { x = 2; }"));
    // The second one spawns: the same task, under another name.
    let meet = "atomic { if x == 1 { x = 0; } else { spawn task(1); } }";
    assert!(two(meet, meet));
    // But not if its handle is kept.
    let keep = "atomic { if x == 1 { x = 0; } else { let h = spawn task(1); send h(1); } }";
    assert!(!two(keep, keep));
}

#[test]
fn a_thread_that_both_make_is_told() {
    let mut system = system(
        "shared x = 1; atomic proc task(v: int) { x = v; }
         atomic proc meet() { if x == 1 { x = 0; } else { spawn task(1); } }
         atomic proc alone() { x = x; spawn task(1); }
         thread t0 { meet(); } thread t1 { meet(); } thread t2 { alone(); }",
    );
    let tried = system.try_both_orders(Step::of(thread(0)), Step::of(thread(1)));
    assert!(tried.same && tried.caused.len() == 1);
    let tried = system.try_both_orders(Step::of(thread(0)), Step::of(thread(2)));
    assert!(tried.caused.is_empty(), "it spawns whatever comes first");
}

#[test]
fn constraints_hold_where_their_condition_does() {
    let mut system = system(
        "shared a[2] = [5, 1]; shared n = 0;
         atomic proc take(i: int, v: int) { if a[i] >= v { a[i] -= v; } }
         independent(take(i, v), take(j, w)) if a[i] >= v + w;
         independent(take(i, v), take(j, w)) if a[i + 1] > 100;
         thread t0 { take(0, 2); } thread t1 { take(0, 3); } thread t2 { take(1, 1); }",
    );
    let reads = |system: &mut Interpreter, a, b| -> Vec<Vec<ObjectId>> {
        let holding = system.constraints(thread(a), thread(b));
        holding.into_iter().map(|holding| holding.reads).collect()
    };
    assert_eq!(reads(&mut system, 0, 1), [[ObjectId::new(0)]], "one holds, one does not");
    // One fails with `a[2]`: it does not hold. The other one holds with the sides exchanged.
    assert_eq!(reads(&mut system, 2, 0), [[ObjectId::new(0)]]);
    system.step(Step::of(thread(0)), &mut Effect::default());
    assert!(reads(&mut system, 1, 2).is_empty(), "a[0] is 3, which is not 3 + 1");
}

#[test]
fn a_constraint_that_is_wrong_is_refuted() {
    let mut system = system(
        "shared x = 0; independent(p, q) if x == 0;
         thread t0 { atomic p { x = 1; } } thread t1 { atomic q { x = 2; } }",
    );
    let holding = system.constraints(thread(0), thread(1)).remove(0);
    let violation = system.refute(&holding, thread(0), thread(1)).expect("it is wrong");
    assert_eq!(violation.kind, ViolationKind::Constraint);
    assert_eq!(violation.notes, ["before: x = 0", "t0, then t1: x = 2", "t1, then t0: x = 1"]);
}

#[test]
fn what_a_thread_may_write_is_known_by_its_arguments() {
    let mut system = system(
        "shared a[4] = 0; shared x = 0; shared y = 0; mutex m;
         atomic proc up(i: int) { if a[i] > 0 { a[i] = 0; } else if i > 0 { spawn up(i / 2); } }
         atomic proc any() { a[x] = 1; }
         proc forever(i: int) { lock m { y = i; } spawn forever(i + 1); }
         fn double(v: int) -> int { return 2 * v; }
         thread t0 { up(3); } thread t1 { any(); } thread t2 { forever(0); }
         thread t3 { let k = double(1); while x < 9 { k = 2; } atomic { a[k] = 1; } }
         thread t4 { let k = 1; if false { x = 1; } y = k; }",
    );
    assert_eq!(may_write(&mut system, 0), [0, 1, 3]);
    assert_eq!(may_write(&mut system, 1), [0, 1, 2, 3]);
    assert_eq!(may_write(&mut system, 2), [5, 6], "y and m, without end");
    assert_eq!(may_write(&mut system, 3), [2]);
    assert_eq!(may_write(&mut system, 4), [5]);
    // Done.
    system.step(Step::of(thread(4)), &mut Effect::default());
    assert!(may_write(&mut system, 4).is_empty());
}

/// A loop whose bound is read is followed for some rounds; then its counter is not known. So what comes after many rounds is
/// found, and what lies behind the thread is not: that would be everything that its code names.
#[test]
fn a_loop_with_a_bound_that_is_read() {
    let mut system = system(
        "shared n = 0; shared a[40] = 0; shared b = 0; shared c = 0;
         thread t { c = 1; for k in 0..n { if k < 40 { a[k] = 1; } if k == 1000 { b = 1; } } }
         thread u { c = 2; for i in 0..5000 { a[i % 40] = 1; } b = 1; }",
    );
    for number in 0..2 {
        assert_eq!(may_write(&mut system, number), (1..43).collect::<Vec<_>>());
        system.step(Step::of(thread(number)), &mut Effect::default());
        assert_eq!(may_write(&mut system, number), (1..42).collect::<Vec<_>>());
    }
}
