//! `states` up to the names of threads: which threads are renamed, and on random programs that nothing is lost: the same
//! failures, and up to renaming the same final states as when all threads are told apart.
//!
//! `SELVEDGE_FUZZ_SECONDS=100 cargo test --release -p selvedge-testkit --test it symmetry` continues with new programs
//! for that long; with `SELVEDGE_FUZZ_SEED=1000000` it begins with others.

use std::collections::BTreeSet;

use selvedge_core::{
    Conditions, Ending, FactValue, Report, StateKey, States, Verdict, ViolationKind,
};
use selvedge_explore::{Algorithm, Observer, Options, confirm};
use selvedge_lang::Interpreter;
use selvedge_testkit::{Random, Subject, is_campaign, least, seeds};

/// What all random programs declare: first `x`, then the elements of `a`, then `owner`, each one cell of a state's name.
const DECLARED: &str = "shared x = 0; shared a[3] = 0; shared owner = -1; mutex m; mutex each[3];
    semaphore s = 1; cond c; list l; rwlock r;\n";

fn compiled(text: &str) -> Subject {
    Subject::new("symmetry.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The threads that are renamed.
fn renamed(text: &str) -> Vec<String> {
    Interpreter::new(compiled(text).program().clone()).up_to_renaming()
}

#[test]
fn threads_that_can_be_renamed() {
    for code in [
        "x = 1;",
        "x = x + 1; if x == 2 { a[i] = 1; }",
        "owner = i; assert owner == i;",
        "if owner == -1 { owner = i; }",
        "if compare_exchange(owner, -1, i) { a[i] = 1; }",
        "let k = owner; if k != -1 { a[k] = a[i]; }",
        "lock m { x += 1; } lock each[i] { a[i] += x; }",
        "lock m; wait(c, m); unlock m; signal(c);",
        "push(l, i); let k = pop_front(l); a[k] = 1;",
        "push(l, i); if contains(l, i) { x = len(l); }",
        "set(i);",
        "down(s); read_lock_and_leave();",
    ] {
        let text = format!(
            "{DECLARED} proc set(k: int) {{ a[k] = 1; }}
             proc read_lock_and_leave() {{ read_lock r; read_unlock r; }}
             thread t(i in 0..3) {{ {code} }} thread u {{ x = 3; }}"
        );
        assert_eq!(renamed(&text), ["t"], "{code}");
    }
    assert_eq!(
        renamed("shared x = 0; thread t(i in 0..2) { x = 1; } thread u(i in 3..5) { x = 2; }"),
        ["t", "u"]
    );
    // A value in the beginning does not tell threads apart: which steps there are does not depend on it.
    assert_eq!(renamed("shared turn = 0; thread t(i in 0..2) { turn = i; }"), ["t"]);
}

#[test]
fn threads_that_can_be_told_apart() {
    for code in [
        "x = i;  if x > 0 { a[i] = 1; }",
        "if i == 0 { x = 1; }",
        "a[(i + 1) % 3] = 1;",
        "a[i] = 1; for k in 0..3 { if a[k] == 0 { owner = i; } }",
        "a[0] = 1; a[i] = 2;",
        "owner = 1; if owner == i { x = 1; }",
        "x = i; x += 1;",
        "push(l, i); x = 1 + pop_front(l);",
        "if compare_exchange(owner, -1, i) { x = 1 + owner; }",
        "fetch_add(y, i);",
        "let k = choose(0..3); a[k] = 1; a[i] = 2;",
        "both[i] = both[k2()];",
        "grid[i][i] = 1;",
        "a[i] = 1; small[i] = 1;",
        "send t[i](1);",
    ] {
        let text = format!(
            "{DECLARED} shared atomic y = 0; shared both[3] = 0; shared grid[3][3] = 0; shared small[2] = 0;
             fn k2() -> int {{ return 2; }} thread t(i in 0..3) {{ {code} }}"
        );
        assert_eq!(renamed(&text), Vec::<String>::new(), "{code}");
    }
    for text in [
        "shared a[2] = 0; thread t(i in 0..2) { a[i] = 1; } finally { assert a[0] == 1; }",
        "shared a[2] = 0; always a[0] <= 1; thread t(i in 0..2) { a[i] = 1; }",
        "shared a[2] = 0; thread t(i in 0..2) { a[i] = 1; } thread u { a[1] = 3; }",
        "shared a[2] = 0; thread t(i in 0..2) { a[i] = 1; } thread u(k in 0..2) { a[k] = 3; }",
        "shared x = 0; thread t { x = 1; } thread u { x = 1; }",
    ] {
        assert_eq!(renamed(text), Vec::<String>::new(), "{text}");
    }
}

/// The final states, each under the smallest of its names, with how executions end there.
#[derive(Default)]
struct Finals(BTreeSet<(Vec<i32>, Ending)>);

impl Observer for Finals {
    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.0.insert((smallest_name(&conditions.state()), ending));
    }
}

/// Returns the variables and the list of a state, under the names of threads with which they are the smallest.
fn smallest_name(key: &StateKey) -> Vec<i32> {
    // The cells come first: x, a, owner, m, each, s, c, l, r; then the list, with one more than its length.
    let cells = &key.0[..1 + 3 + 1 + 1 + 3 + 1 + 1 + 1 + 1];
    let rest = &key.0[cells.len()..];
    let list = &rest[1..rest[0] as usize];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let named = orders.map(|order: [usize; 3]| {
        let name = |number: i32| match usize::try_from(number) {
            Ok(place) if place < 3 => order[place] as i32,
            _ => number,
        };
        let mut a = [0; 3];
        (0..3).for_each(|place| a[order[place]] = cells[1 + place]);
        let mut state = vec![cells[0], a[0], a[1], a[2], name(cells[4])];
        state.extend(list.iter().map(|&number| name(number)));
        state
    });
    named.into_iter().min().expect("there are six")
}

/// Some statements, each of which the threads may run in any order.
fn random_program(random: &mut Random) -> String {
    let statements = [
        "x = x + 1;",
        "a[i] = x;",
        "a[i] = a[i] + 1;",
        "owner = i;",
        "if owner == -1 { owner = i; }",
        "if compare_exchange(owner, -1, i) { a[i] = 1; }",
        "if owner == i { x = 2; } else { a[i] = 5; }",
        "let k = owner; if k != -1 { a[k] = 7; }",
        "lock m { x = x + 1; }",
        "lock m { owner = i; }",
        "lock each[i] { x = 3; }",
        "let h = owner; if h != -1 { lock each[h]; owner = i; unlock each[h]; }",
        "lock m; if x == 0 { x = 1; wait(c, m); a[i] = 9; } unlock m;",
        "signal(c);",
        "broadcast(c);",
        "down(s); a[i] = 4;",
        "up(s);",
        "push(l, i);",
        "lock m { if len(l) > 0 { let q = pop_front(l); a[q] = a[i] + 1; } }",
        "assert owner == i || owner == -1;",
        "assert a[i] < 7;",
        "assert x < 2;",
        "assert owner != i;",
        "assert a[i] == 0;",
        "lock m; lock each[i]; unlock each[i]; unlock m;",
        "lock each[i]; lock m; x = x + 1; unlock m; unlock each[i];",
        "atomic { if x < 2 { x = x + 1; owner = i; } }",
        "await owner != i;",
        "read_lock r; a[i] = x; read_unlock r;",
        "write_lock r; x = x + 1; write_unlock r;",
    ];
    let mut text = DECLARED.to_owned();
    text.push_str("thread t(i in 0..3) {\n");
    for place in 0..2 + random.below(3) {
        // Names of locals are their own.
        let statement = random.pick(&statements).replace("let k", &format!("let k{place}"));
        let statement =
            statement.replace("k != -1 { a[k]", &format!("k{place} != -1 {{ a[k{place}]"));
        let statement = statement.replace(
            "let h = owner; if h != -1",
            &format!("let h{place} = owner; if h{place} != -1"),
        );
        let statement = statement.replace("each[h]", &format!("each[h{place}]"));
        text.push_str(&format!("    {statement}\n"));
    }
    text.push_str("}\n");
    if random.below(3) == 0 {
        text.push_str("thread u { x = 6; signal(c); }\n");
    }
    text
}

/// What `states` finds, with all of its violations replayed.
fn found(subject: &Subject, text: &str, symmetry: bool, unreduced: bool) -> (Report, Finals) {
    let options = Options { keep_going: true, symmetry, unreduced, ..Options::default() };
    let mut finals = Finals::default();
    let report = subject.explore(Algorithm::States, &options, &mut finals);
    let report = report.unwrap_or_else(|message| panic!("{message}"));
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    let make = || Interpreter::new(subject.program().clone());
    for (violation, schedule) in &report.violations {
        let confirmed = confirm(&make, violation, schedule);
        assert!(confirmed.is_ok(), "{violation:?} {schedule}: {confirmed:?}\n{text}");
    }
    (report, finals)
}

/// Kinds and lines of what can go wrong; where threads stand in a deadlock, in any order.
fn failures(report: &Report) -> BTreeSet<(ViolationKind, Vec<u32>)> {
    let failure = |violation: &selvedge_core::Violation| {
        let mut lines: Vec<u32> = violation.places.iter().map(|place| place.line).collect();
        lines.sort_unstable();
        (violation.kind, lines)
    };
    report.violations.iter().map(|(violation, _)| failure(violation)).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn random_programs() {
    let (mut states, mut violated, mut deadlocked) = ([0; 2], 0, 0);
    for seed in seeds(250) {
        let text = random_program(&mut Random::new(seed));
        let subject = compiled(&text);
        assert_eq!(renamed(&text), ["t"], "seed {seed}\n{text}");
        let (apart, expected) = found(&subject, &text, false, true);
        let (report, finals) = found(&subject, &text, true, false);
        assert_eq!(finals.0, expected.0, "seed {seed}\n{text}");
        assert_eq!(failures(&report), failures(&apart), "seed {seed}\n{text}");
        assert_eq!(report.verdict(), apart.verdict(), "seed {seed}\n{text}");
        let told = report.facts.iter().any(|fact| {
            fact.name == "symmetry"
                && matches!(&fact.value, FactValue::Text(text) if text.ends_with(": t"))
        });
        assert!(told, "{:?}", report.facts);
        states[0] += report.states.unwrap_or(0);
        states[1] += apart.states.unwrap_or(0);
        violated += usize::from(apart.verdict() == Verdict::Violated);
        deadlocked += usize::from(apart.counts.deadlocked > 0);
    }
    if is_campaign() {
        eprintln!("states {states:?}, {violated} violated, {deadlocked} with a deadlock");
    }
    assert!(states[0] * 3 < states[1], "little is renamed: {states:?}");
    assert!(violated >= least(5) && deadlocked >= least(2), "{violated} {deadlocked}");
}

/// Without a thread's number anywhere else, each state is kept under one name: that of `n` threads which count to `k` alone is a multiset.
#[test]
fn states_are_counted_up_to_renaming() {
    for threads in 2..=5_u64 {
        let text = format!(
            "shared x = 0; shared a[{threads}] = 0; thread t(i in 0..{threads}) {{ x = 1; a[i] = x; x = 1; }}"
        );
        let subject = compiled(&text);
        let options = Options { symmetry: true, ..Options::default() };
        let report = subject.explore(Algorithm::States, &options, &mut selvedge_explore::Silent);
        let states = report.expect("it is not too large").states.expect("it counts them");
        // At most: each thread is at one of its 5 places, as a multiset, and x is 0 only in the beginning.
        let places = (1..=threads).fold(1, |product, k| product * (4 + k) / k);
        assert!(states <= places + 1, "{threads} threads: {states} of {places}");
    }
}
