//! Programs from text, run through every interleaving: what can happen is known by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use selvedge_core::{
    Describe, Effect, Ending, Fault, Schedule, Status, Step, System, ThreadId, replay,
};
use selvedge_lang::interpret::Interpreter;

fn system(text: &str) -> Interpreter {
    match selvedge_lang::compile("test.sel", text, &[]) {
        Ok(compiled) => Interpreter::new(Arc::clone(&compiled.program)),
        Err(errors) => panic!("{errors:?}"),
    }
}

/// What can happen: how executions end, with what is wrong in them.
#[derive(Default)]
struct Outcomes {
    executions: usize,
    endings: BTreeSet<Ending>,
    messages: BTreeSet<String>,
}

/// Every interleaving, by stepping and rewinding.
fn outcomes(text: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    explore(&mut system(text), &mut Vec::new(), &mut BTreeSet::new(), &mut outcomes);
    outcomes
}

fn explore(
    system: &mut Interpreter,
    steps: &mut Vec<Step>,
    wrong: &mut BTreeSet<String>,
    outcomes: &mut Outcomes,
) {
    let enabled: Vec<_> = (0..system.thread_count())
        .map(ThreadId::new)
        .filter(|&thread| system.status(thread) == Status::Enabled)
        .collect();
    if enabled.is_empty() {
        let (ending, violation) = system.end();
        outcomes.executions += 1;
        outcomes.endings.insert(ending);
        outcomes.messages.extend(violation.map(|violation| violation.message));
        outcomes.messages.extend(wrong.iter().cloned());
    }
    for thread in enabled {
        for choice in 0..system.choices(thread) {
            let step = Step { thread, choice };
            let mut effect = Effect::default();
            system.step(step, &mut effect);
            steps.push(step);
            let message = effect.fault.map(|fault| match fault {
                Fault::Violation(violation) => violation.message,
                Fault::GaveUp(reason) => reason,
            });
            let new = message.filter(|message| wrong.insert(message.clone()));
            explore(system, steps, wrong, outcomes);
            if let Some(message) = new {
                wrong.remove(&message);
            }
            steps.pop();
            system.rewind(steps);
        }
    }
}

#[track_caller]
fn can_happen(text: &str, executions: usize, endings: &[Ending], messages: &[&str]) {
    let found = outcomes(text);
    assert_eq!(found.messages.iter().map(String::as_str).collect::<Vec<_>>(), messages);
    assert_eq!(found.endings.into_iter().collect::<Vec<_>>(), endings);
    assert_eq!(found.executions, executions);
}

use Ending::{Blocked, Complete, Deadlocked};

#[test]
fn a_lost_update() {
    let text = "shared x = 0; thread t(i in 0..2) { x += 1; } finally { assert x == 2; }";
    // Two reads and two writes: 4! / (2! 2!).
    can_happen(text, 6, &[Complete], &["assertion `x == 2` is false (x = 1)"]);
}

#[test]
fn atomic_updates_are_not_lost() {
    let text =
        "shared x = 0; thread t(i in 0..3) { atomic { x += 1; } } finally { assert x == 3; }";
    can_happen(text, 6, &[Complete], &[]);
    let text = "shared x = 0; thread t(i in 0..3) { let old = fetch_add(x, 1); }
                finally { assert x == 3; }";
    can_happen(text, 6, &[Complete], &[]);
}

#[test]
fn store_buffering_is_sequentially_consistent() {
    let text = "shared x = 0; shared y = 0; shared a = 0; shared b = 0;
        thread p { x = 1; a = y; } thread q { y = 1; b = x; }
        finally { assert a == 1 || b == 1; }";
    can_happen(text, 20, &[Complete], &[]);
}

#[test]
fn a_mutex_protects() {
    let text = "shared x = 0; mutex m; thread t(i in 0..2) { lock m { x += 1; } }
                finally { assert x == 2; }";
    can_happen(text, 2, &[Complete], &[]);
}

#[test]
fn two_philosophers() {
    let text = "mutex fork[2];
        thread philosopher(i in 0..2) {
            lock fork[i]; lock fork[(i + 1) % 2];
            unlock fork[(i + 1) % 2]; unlock fork[i];
        }";
    let found = outcomes(text);
    assert_eq!(found.endings.into_iter().collect::<Vec<_>>(), [Complete, Deadlocked]);
    let expected = ["deadlock: 2 threads are blocked"];
    assert_eq!(found.messages.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn peterson_excludes() {
    let text = "shared atomic flag[2] = false; shared atomic turn = 0; shared inside = 0;
        thread t(i in 0..2) {
            flag[i] = true;
            turn = 1 - i;
            await !flag[1 - i] || turn == i;
            inside += 1;
            assert inside == 1;
            inside -= 1;
            flag[i] = false;
        }";
    let found = outcomes(text);
    assert!(found.messages.is_empty(), "{:?}", found.messages);
    assert_eq!(found.endings.into_iter().collect::<Vec<_>>(), [Complete]);
    // Giving up the turn too late lets both in.
    let broken = text
        .replace("flag[i] = true;\n", "\n")
        .replace("turn = 1 - i;\n", "turn = 1 - i; flag[i] = true;\n");
    let found = outcomes(&broken);
    assert!(found.messages.iter().any(|message| message.contains("inside == 1")));
}

#[test]
fn assume_cuts_off() {
    let text = "shared x = 0; thread a { x = 1; } thread b { assume x == 1; assert x == 1; }";
    // `b` reads before `a` writes and goes no further, or behind it and reads twice.
    can_happen(text, 2, &[Complete, Blocked], &[]);
}

#[test]
fn waiting_with_and_without_a_loop() {
    let program = |wait: &str| {
        format!(
            "shared ready = false; mutex m; cond c;
             thread consumer {{ lock m {{ {wait} assert ready; }} }}
             thread producer {{ lock m {{ ready = true; signal(c); }} }}"
        )
    };
    let found = outcomes(&program("while !ready { wait(c, m); }"));
    assert!(found.messages.is_empty(), "{:?}", found.messages);
    // The signal may come before the wait.
    let found = outcomes(&program("wait(c, m);"));
    assert_eq!(found.messages.into_iter().collect::<Vec<_>>(), ["deadlock: consumer is blocked"]);
}

#[test]
fn a_signal_wakes_any_one() {
    let text = "shared last = 0; mutex m; cond c; shared atomic waiting = 0;
        thread w(i in 1..4) { lock m { let n = fetch_add(waiting, 1); wait(c, m); last = i; } }
        thread s { await waiting == 3; lock m; signal(c); unlock m; await last != 0;
                   lock m; assert last != 2; unlock m; lock m; broadcast(c); unlock m; }";
    let mut system = system(text);
    let thread = |name: &str| {
        let all = (0..5).map(ThreadId::new);
        all.take(system.thread_count()).find(|&t| system.thread_name(t) == name).unwrap()
    };
    let (waiters, signaller) = ([thread("w[1]"), thread("w[2]"), thread("w[3]")], thread("s"));
    let mut effect = Effect::default();
    for waiter in waiters {
        while system.status(waiter) == Status::Enabled {
            system.step(Step::of(waiter), &mut effect);
        }
        assert_eq!(system.status(waiter), Status::Parked);
    }
    system.step(Step::of(signaller), &mut effect);
    system.step(Step::of(signaller), &mut effect);
    assert_eq!(system.choices(signaller), 3);
    system.step(Step { thread: signaller, choice: 1 }, &mut effect);
    assert_eq!(system.describe_last().text, "signal(c): wakes w[2]");
    assert_eq!(
        system.describe_pending(waiters[1]).text.split(':').next(),
        Some("lock m again after wait(c, m)")
    );
    assert_eq!(system.status(waiters[0]), Status::Parked);
}

#[test]
fn semaphores_and_barriers() {
    let text = "semaphore free = 1; shared x = 0;
        thread t(i in 0..2) { down(free); x += 1; up(free); } finally { assert x == 2; }";
    let found = outcomes(text);
    assert!(found.messages.is_empty() && found.endings == BTreeSet::from([Complete]));
    let text = "barrier b(2); shared a[2] = 0;
        thread t(i in 0..2) { a[i] = 1; arrive(b); assert a[1 - i] == 1; }";
    let found = outcomes(text);
    assert!(found.messages.is_empty() && found.endings == BTreeSet::from([Complete]));
    let text = "barrier b(2); thread t(i in 0..3) { arrive(b); }";
    let found = outcomes(text);
    assert_eq!(found.endings, BTreeSet::from([Deadlocked]));
}

#[test]
fn spawn_and_join() {
    let text = "shared x = 0;
        proc work(k: int) { x += k; }
        thread main {
            let a = spawn work(1); join a;
            let b = spawn work(2); join b;
            assert x == 3;
        }";
    can_happen(text, 1, &[Complete], &[]);
    let text = text.replace("join a;", "").replace("join b;", "join b; join a;");
    let found = outcomes(&text);
    let expected = ["assertion `x == 3` is false (x = 1)", "assertion `x == 3` is false (x = 2)"];
    assert_eq!(found.messages.into_iter().collect::<Vec<_>>(), expected);
}

/// It did not finish: the failure is the cause, and the message does not hide it.
#[test]
fn a_send_to_a_thread_that_has_failed() {
    let text = "shared x = 0;
        thread server { assert x == 1; receive (_) { skip; } }
        thread a { send server(1); }";
    let found = outcomes(text);
    assert_eq!(
        found.messages.into_iter().collect::<Vec<_>>(),
        ["assertion `x == 1` is false (x = 0)", "send to a thread that has failed, server"]
    );
}

#[test]
fn messages_arrive_in_the_order_of_sending() {
    let text = "shared first = 0;
        thread server { receive { (1, let v) => { first = v; } (2) => { first = 9; } } }
        thread a { send server(1, 5); }
        thread b { send server(1, 6); }
        finally { assert first == 5; }";
    let found = outcomes(text);
    assert_eq!(
        found.messages.into_iter().collect::<Vec<_>>(),
        ["assertion `first == 5` is false (first = 6)", "send to a finished thread, server"]
    );
}

#[test]
fn selective_receive_and_timeout() {
    let text = "shared got = 0;
        daemon thread server {
            receive (2) { got = 1; }
            receive { (let k) if k > 5 => { got = k; } after => { got = -1; } }
            loop { receive (_) { skip; } }
        }
        thread a { send server(7); send server(2); }
        finally { assert got == 7; }";
    // The older message waits for its turn; the rest is taken in the end.
    let found = outcomes(text);
    assert!(found.messages.is_empty(), "{:?}", found.messages);
    let text = text
        .replace("send server(7);", "")
        .replace("send server(2);", "send server(2); send server(7);");
    let found = outcomes(&text);
    assert_eq!(
        found.messages.into_iter().collect::<Vec<_>>(),
        ["assertion `got == 7` is false (got = -1)"]
    );
}

#[test]
fn lists_and_maps() {
    let text = "list q; map table = {1: 2};
        thread producer { push(q, 3); table[5] = 6; }
        thread consumer {
            await len(q) > 0;
            assert pop_front(q) == 3;
            let v = get(table, 5, 0);
            assert v == 0 || v == 6;
            remove(table, 1);
            assert !has(table, 1);
        }
        finally { assert len(q) == 0 && table[5] == 6 && len(table) == 1; }";
    let found = outcomes(text);
    assert!(found.messages.is_empty(), "{:?}", found.messages);
    let text = "list q; thread t(i in 0..2) { push(q, i); let v = pop(q); let w = pop(q); }";
    let found = outcomes(text);
    assert!(found.messages.contains("pop of `q`, which is empty"));
}

#[test]
fn choices_are_all_taken() {
    let text = "shared x = 0; thread t { let v = choose(0..4); let b = choose(); if b { x = v; } }
                finally { assert x != 3; }";
    can_happen(text, 8, &[Complete], &["assertion `x != 3` is false (x = 3)"]);
}

#[test]
fn everything_that_is_wrong_is_said() {
    for (text, message) in [
        (
            "thread t { let a = 2147483647; let b = a + 1; }",
            "`a + 1` overflows 32 bits (a = 2147483647)",
        ),
        ("thread t { let a = 0; let b = 1 / a; }", "division by zero in `1 / a` (a = 0)"),
        (
            "shared a[3] = 0; thread t { let i = 5; a[i] = 1; }",
            "index 5 is outside `a`, which has 3 elements",
        ),
        (
            "shared x = 1; thread t { assert x == 2, \"lost update\"; }",
            "assertion `x == 2` is false: lost update (x = 1)",
        ),
        (
            "mutex m; thread t { lock m; lock m; }",
            "`m` is locked again by thread t, which holds it",
        ),
        (
            "mutex m; thread t { unlock m; }",
            "unlock of `m`, which thread t does not hold (it is free)",
        ),
        ("map table; thread t { let v = table[4]; }", "`table` has no key 4"),
        ("proc p() { p(); } thread t { p(); }", "calls are nested more than 1,000 deep"),
        (
            "thread t { loop { skip; } }",
            "thread t ran 1,000,000 instructions without a visible step; a loop that never ends?",
        ),
    ] {
        can_happen(text, 1, &[Complete], &[message]);
    }
}

#[test]
fn a_replay_reads_like_the_program() {
    let text = "shared x = 0; mutex m;\nproc work(k: int) {\n  lock m { x = x + k; }\n}\n\
                thread main {\n  let t = spawn work(2);\n  join t;\n  assert x == 3;\n}";
    let mut system = system(text);
    let schedule: Schedule = "0.1@4.0@2".parse().unwrap();
    let replay = replay(&mut system, &schedule).unwrap();
    let lines: Vec<_> = replay
        .steps
        .iter()
        .map(|step| {
            let place = step.description.place.as_ref().unwrap();
            format!("{} {} {}", place, step.step.thread.number(), step.description.text)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "test.sel:6:11 0 spawn work(2)",
            "test.sel:3:3 1 lock m",
            "test.sel:3:16 1 read x → 0",
            "test.sel:3:12 1 x = 2",
            "test.sel:3:23 1 unlock m",
            "test.sel:7:3 0 join main/work#1",
            "test.sel:8:10 0 read x → 2",
        ]
    );
    assert_eq!(replay.thread_names, ["main", "main/work#1"]);
    let violation = replay.violations().next().expect("it is violated");
    assert_eq!(violation.message, "assertion `x == 3` is false (x = 2)");
    assert_eq!(violation.places[0].to_string(), "test.sel:8:10");
    assert_eq!(violation.thread, Some(ThreadId::new(0)));
}
