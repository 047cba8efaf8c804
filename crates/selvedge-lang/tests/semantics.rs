//! What programs mean, from text to executions: every interleaving of small programs is run, and
//! the number of executions and everything that goes wrong in them is compared.

use std::collections::BTreeSet;

use selvedge_core::{Effect, Ending, Fault, Status, Step, System, ThreadId};
use selvedge_lang::{Interpreter, compile, render};

/// All executions of a program.
#[derive(Default)]
struct Outcome {
    executions: usize,
    deadlocked: usize,
    messages: BTreeSet<String>,
}

fn outcome(text: &str) -> Outcome {
    let compiled = match compile("test.sel", text, &[]) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{}", render(&errors, "test.sel", text, false)),
    };
    let mut system = Interpreter::new(compiled.program);
    system.restart();
    let mut outcome = Outcome::default();
    explore(&mut system, &mut Vec::new(), &mut outcome);
    outcome
}

fn explore(system: &mut Interpreter, path: &mut Vec<Step>, outcome: &mut Outcome) {
    assert!(outcome.executions < 200_000, "too many executions for a test");
    let threads = (0..system.thread_count()).map(ThreadId::new);
    let enabled: Vec<ThreadId> =
        threads.filter(|&thread| system.status(thread) == Status::Enabled).collect();
    if enabled.is_empty() {
        let (ending, violation) = system.end();
        outcome.executions += 1;
        outcome.deadlocked += usize::from(ending == Ending::Deadlocked);
        outcome.messages.extend(violation.map(|violation| violation.message));
        return;
    }
    for thread in enabled {
        for choice in 0..system.choices(thread) {
            let step = Step { thread, choice };
            let mut effect = Effect::default();
            system.step(step, &mut effect);
            match effect.fault.take() {
                Some(Fault::Violation(violation)) => {
                    outcome.messages.insert(violation.message);
                }
                Some(Fault::GaveUp(reason)) => panic!("{reason}"),
                None => {}
            }
            path.push(step);
            explore(system, path, outcome);
            path.pop();
            system.rewind(path);
        }
    }
}

/// The number of executions, and all messages.
#[track_caller]
fn check(text: &str, executions: usize, messages: &[&str]) {
    let outcome = outcome(text);
    let found: Vec<&str> = outcome.messages.iter().map(String::as_str).collect();
    assert_eq!(found, messages, "{text}");
    assert_eq!(outcome.executions, executions, "{text}");
}

/// All messages, however many executions there are.
#[track_caller]
fn check_messages(text: &str, messages: &[&str]) {
    let outcome = outcome(text);
    let found: Vec<&str> = outcome.messages.iter().map(String::as_str).collect();
    assert_eq!(found, messages, "{text}");
}

#[test]
fn each_access_is_a_step() {
    // Two steps each: 4! / (2! 2!).
    let lost = "assertion `x == 2` is false (x = 1)";
    check("shared x = 0; thread t(i in 0..2) { x += 1; } finally { assert x == 2; }", 6, &[lost]);
    check("shared x = 0; thread t(i in 0..2) { let v = x; x = v + 1; }", 6, &[]);
    // Three steps and one.
    check("shared x = 0; shared y = 0; thread t { x = x + y; } thread u { y = 1; }", 4, &[]);
    check(
        "shared x = 0; thread t(i in 0..2) { atomic { x += 1; } } finally { assert x == 2; }",
        2,
        &[],
    );
    check(
        "shared x = 0; thread t(i in 0..2) { let _v = fetch_add(x, 1); } finally { assert x == 2; }",
        2,
        &[],
    );
    // The index is read before the value, and the value before the write.
    check("shared i = 0; shared a[2] = 0; thread t { a[i] = i; } thread u { i = 1; }", 4, &[]);
}

#[test]
fn only_what_is_needed_is_read() {
    // `a` is false: `b` is not read, and the thread has one step only.
    check(
        "shared a = false; shared b = false; thread t { let v = a && b; assert !v; } thread u { b = true; }",
        2,
        &[],
    );
    check(
        "shared a = true; shared b = false; thread t { let v = a && b; assert v || !v; } thread u { b = true; }",
        3,
        &[],
    );
    check(
        "shared a = true; shared b = false; thread t { if a || b { skip; } } thread u { yield; }",
        2,
        &[],
    );
    check(
        "shared a = false; shared x = 0; thread t { let v = if a { x } else { 1 }; assert v == 1; } thread u { yield; }",
        2,
        &[],
    );
}

#[test]
fn scoped_locks_are_released_on_every_way_out() {
    let after = "thread u { lock m; lock n; unlock m; unlock n; }";
    for body in [
        "lock m { lock n { return; } }",
        "loop { lock m { lock n { break; } } }",
        "for i in 0..2 { lock m { if i == 0 { continue; } lock n { skip; } } }",
        "lock m { atomic { return; } }",
        "let v = f(); assert v == 1;",
        "while true { lock m { lock n { if true { break; } } } }",
    ] {
        let text = format!(
            "mutex m; mutex n; fn f() -> int {{ lock m {{ lock n {{ return 1; }} }} }} thread t {{ {body} }} {after}"
        );
        let found = outcome(&text);
        assert_eq!(found.messages.len() + found.deadlocked, 0, "{text}: {:?}", found.messages);
        assert!(found.executions >= 2, "{text}");
    }
    // The index is computed once, at the lock.
    check(
        "mutex m[2]; thread t { let i = 0; lock m[i] { i = 1; } lock m[0] { skip; } lock m[i] { skip; } }",
        1,
        &[],
    );
}

#[test]
fn assertions_show_what_was_read() {
    let run = |condition: &str, messages: &[&str]| {
        let text = format!(
            "const N = 7; shared x = 1; shared a[2] = [4, 5]; shared b = true; thread t {{ let v = 3; assert {condition}; assert v > 0; }}"
        );
        check(&text, 1, messages);
    };
    run("x == 2", &["assertion `x == 2` is false (x = 1)"]);
    run("x == 2, \"lost update\"", &["assertion `x == 2` is false: lost update (x = 1)"]);
    run("v == N", &["assertion `v == N` is false (v = 3)"]);
    run(
        "x == 1 && a[v - 3] == v",
        &["assertion `x == 1 && a[v - 3] == v` is false (x = 1, v = 3, a[v - 3] = 4)"],
    );
    // `a[0]` is not read on this way.
    run("x == 2 && a[0] == 1", &["assertion `x == 2 && a[0] == 1` is false (x = 1)"]);
    run("x == 2 || a[0] == 1", &["assertion `x == 2 || a[0] == 1` is false (x = 1, a[0] = 4)"]);
    run("!(x == 1 || a[0] == 4)", &["assertion `!(x == 1 || a[0] == 4)` is false (x = 1)"]);
    run("!(b && x == 1)", &["assertion `!(b && x == 1)` is false (b = true, x = 1)"]);
    run(
        "(x == 2 || v == 1) || !b",
        &["assertion `(x == 2 || v == 1) || !b` is false (x = 1, v = 3, b = true)"],
    );
    run(
        "(x == 1 && v == 1) || a[1] == 1",
        &["assertion `(x == 1 && v == 1) || a[1] == 1` is false (x = 1, v = 3, a[1] = 5)"],
    );
    run(
        "(if b { x } else { a[0] }) == 2",
        &["assertion `(if b { x } else { a[0] }) == 2` is false"],
    );
    run("x == 1", &[]);
    // Twice the same in one look is shown once.
    check(
        "shared x = 3; thread t { skip; } finally { assert x == 1 || x == 2; }",
        1,
        &["assertion `x == 1 || x == 2` is false (x = 3)"],
    );
}

#[test]
fn arithmetic_is_checked() {
    let max = "const MAX = 2147483647;";
    let run = |body: &str| {
        let text = format!(
            "{max} shared x = MAX; shared a[3] = 0; thread t {{ let v = MAX; let z = 0; {body} v = z; z = v; }}"
        );
        let outcome = outcome(&text);
        outcome.messages.into_iter().collect::<Vec<_>>().join("; ")
    };
    assert_eq!(run("v = v * v;"), "`v * v` overflows 32 bits (v = 2147483647)");
    assert!(run("x += 1;").starts_with("`x += 1` overflows 32 bits (x = 2147483647"));
    assert!(run("v = v + 1;").starts_with("`v + 1` overflows 32 bits (v = 2147483647"));
    assert!(run("v = 1 / z;").starts_with("division by zero"));
    assert!(run("v = 1 % (z * 2);").starts_with("division by zero"));
    assert!(run("v = MAX + 1;").contains("overflows 32 bits"));
    assert!(run("a[5] = 1;").contains("index 5 is outside `a`, which has 3 elements"));
    assert!(run("z = a[v];").contains("index 2147483647 is outside `a`, which has 3 elements"));
    assert_eq!(run("v = -7 / 2; assert v == -3; v = -7 % 2; assert v == -1;"), "");
    assert_eq!(run("v = min(3, -4) + max(3, 4) + abs(-5); assert v == 5;"), "");
    assert_eq!(
        run("v = 10 - 3 - 2; assert v == 5; v = 2 + 3 * 4 - 20 / 3 % 4; assert v == 12;"),
        ""
    );
}

#[test]
fn loops_and_calls() {
    check(
        "fn fib(n: int) -> int { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }
         thread t { let sum = 0; let n = 3;
           for i in 0..n { n = 10; sum += i; }
           for i in 5..2 { sum = 100; }
           for i in -2..0 { for j in i..0 { if j == -1 { continue; } sum += j; } }
           let k = 0;
           while true { k += 1; if k == 3 { continue; } if k == 6 { break; } sum += k; }
           loop { k -= 1; if k == 0 { break; } }
           assert sum == 3 - 2 + 12, \"sum\"; assert fib(10) == 55; yield; }",
        1,
        &[],
    );
    // What is behind an endless loop or a return is not run.
    check(
        "shared x = 0; thread t { if x == 0 { return; } else { return; } x = 1; } finally { assert x == 0; }",
        1,
        &[],
    );
    check(
        "const ON = false; shared x = 0; thread t { if ON { x = 1; } else { x = 2; } } finally { assert x == 2; }",
        1,
        &[],
    );
}

#[test]
fn atomic_and_await() {
    check(
        "shared x = 0; shared y = 0;
         atomic proc both(v: int) { x += v; if x > 1 { return; } y += v; }
         thread t { both(1); } thread u { spawn both(1); }
         finally { assert x == 2 && y == 1; }",
        // both, spawn, and the spawned one behind the spawn.
        3,
        &[],
    );
    check(
        "shared x = 0; thread t { await x == 1; x = 2; } thread u { x = 1; } finally { assert x == 2; }",
        1,
        &[],
    );
    check(
        "shared x = 0; thread t { atomic { x = 5; await x == 6; } } thread u { assert x == 0; }",
        1,
        &["deadlock: t is blocked"],
    );
    let leaving = "shared x = 0; thread t { for i in 0..3 { atomic { x += 1; if i == 1 { break; } } } x += 10; } finally { assert x == 12; }";
    check(leaving, 1, &[]);
}

#[test]
fn messages() {
    check_messages(
        "const GET = 9; shared got = 0;
         thread a(i in 1..3) { send s(i, i * 10); send s(GET, true); }
         thread s { let want = 2;
           receive { (GET, let v) if v > 1 => { got = -1; } (1, _) if want == 3 => { got = -2; } ((want), let v) if v >= want => { got = v; } }
           receive (1, let w) { got += w; }
           receive (GET, 1) { skip; } receive (_, _) { skip; }
           receive { (_) => { got = -3; } (_, _) => { got = -4; } after => { got += 1; } } }
         finally { assert got == 31; }",
        &[],
    );
    check(
        "thread t { send self(1); receive { (let v, _) => { assert v == 0; } (let v) => { assert v == 1; } } }",
        1,
        &[],
    );
    // `a[i]` is the thread with index `i`, wherever the range starts.
    check_messages(
        "shared x = 0; thread a(i in 5..7) { receive (let v) { assert v == i; atomic { x += v; } } }
         thread t { let k = 5; send a[k](5); send a[k + 1](6); await x == 11; }",
        &[],
    );
    let outside = outcome("thread a(i in 5..7) { skip; } thread t { let k = 4; send a[k](1); }");
    assert_eq!(outside.messages.len(), 1);
}

#[test]
fn choices_and_assumptions() {
    check(
        "shared x = 0; thread t { let v = choose(0..4); assume v % 2 == 0; x = v; } finally { assert x != 2; }",
        4,
        &["assertion `x != 2` is false (x = 2)"],
    );
    check("thread t { if choose() { assert false; } }", 2, &["assertion `false` is false"]);
    let empty = outcome("thread t { let n = 0; let _v = choose(0..n); }");
    assert_eq!(empty.messages.len(), 1, "{:?}", empty.messages);
}

#[test]
fn locks_and_friends() {
    let philosophers = "const N = 2; mutex fork[N]; thread p(i in 0..N) { lock fork[i] { lock fork[(i + 1) % N] { skip; } } }";
    assert!(outcome(philosophers).deadlocked > 0);
    let misuse = outcome("mutex m; thread t { unlock m; }");
    assert_eq!(misuse.messages.len(), 1, "{:?}", misuse.messages);
    let lost_signal =
        outcome("mutex m; cond c; thread t { lock m { wait(c, m); } } thread u { signal(c); }");
    assert!(lost_signal.deadlocked > 0 && lost_signal.deadlocked < lost_signal.executions);
    let fixed = outcome(
        "mutex m; cond c; shared go = false; thread t { lock m { while !go { wait(c, m); } } } thread u { lock m { go = true; } signal(c); }",
    );
    assert_eq!(fixed.deadlocked + fixed.messages.len(), 0);
    let barrier = outcome(
        "barrier b(2); shared x = 0; thread t(i in 0..2) { atomic { x += 1; } arrive(b); assert x == 2; }",
    );
    assert_eq!(barrier.messages.len(), 0);
    let exclusive = outcome(
        "rwlock rw; shared x = 0; thread w { write_lock rw { x = 1; x = 2; } } thread r { read_lock rw { assert x != 1; } }",
    );
    assert_eq!(exclusive.messages.len() + exclusive.deadlocked, 0);
}
