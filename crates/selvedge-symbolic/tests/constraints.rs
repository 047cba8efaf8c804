//! Synthesised independence constraints: exact sets for the examples of the paper and for each construct.

use selvedge_core::{Budget, Spent};
use selvedge_lang::ir::Program;
use selvedge_lang::{Additions, compile, compile_with};
use selvedge_symbolic::constraints::{Found, GiveUp, Synthesis, pairs, synthesise};
use selvedge_symbolic::{Caps, Values};

/// The results for all pairs of a program, for every state. What is found must be accepted by the front end.
fn all(text: &str) -> Vec<Synthesis> {
    all_for(text, |_| Values::unknown())
}

/// The results for the states that executions reach.
fn reachable(text: &str) -> Vec<Synthesis> {
    all_for(text, |program| Values::of(program, &Caps::default()))
}

fn all_for(text: &str, values: impl Fn(&Program) -> Values) -> Vec<Synthesis> {
    let compiled = match compile("test.sel", text, &[]) {
        Ok(compiled) => compiled,
        Err(errors) => panic!("{}", selvedge_lang::render(&errors, "test.sel", text, false)),
    };
    let (program, values) = (&compiled.program, values(&compiled.program));
    let (caps, budget) = (Caps::default(), Budget::unlimited());
    let results: Vec<Synthesis> = pairs(program)
        .into_iter()
        .map(|pair| synthesise(program, pair, &values, &caps, &budget))
        .collect();
    let declarations: String = results.iter().map(Synthesis::declarations).collect();
    let additions = Additions { name: "found", text: &declarations };
    if let Err(rejected) = compile_with("test.sel", text, &[], Some(additions)) {
        let shown = selvedge_lang::render(&rejected.additions, "found", &declarations, false);
        panic!("{shown}\n{:?}", rejected.program);
    }
    results
}

fn result<'r>(results: &'r [Synthesis], first: &str, second: &str) -> &'r Synthesis {
    let names = |head: &str, name: &str| head.split('(').next() == Some(name);
    let fits = |one: &&Synthesis| names(&one.heads[0], first) && names(&one.heads[1], second);
    results.iter().find(fits).unwrap_or_else(|| panic!("no pair {first}, {second}"))
}

/// The conditions of a pair, each with its guard behind a `|`.
fn conditions(results: &[Synthesis], first: &str, second: &str) -> Vec<String> {
    let found = result(results, first, second).found.as_ref();
    let found = found.unwrap_or_else(|reason| panic!("{first}, {second}: {reason:?}"));
    let show = |condition: &[String]| match condition {
        [] => "true".to_owned(),
        parts => parts.join(" && "),
    };
    let constraints = found.constraints.iter();
    constraints
        .map(|constraint| match constraint.guard.as_slice() {
            [] => show(&constraint.condition),
            guard => format!("{} | {}", show(&constraint.condition), guard.join(" && ")),
        })
        .collect()
}

fn is_complete(results: &[Synthesis], first: &str, second: &str) -> bool {
    matches!(result(results, first, second).found, Ok(Found { complete: true, .. }))
}

const FIGURE_1: &str = "
    shared z = -2;
    shared x = -2;
    thread first  { atomic p { x = x + 1; } }
    thread second { atomic q { if z >= 0 { z = x; } } }
    thread third  { atomic r { x = x + 1; z = z + 1; } }
";

#[test]
fn figure_1_of_the_paper() {
    let results = all(FIGURE_1);
    assert_eq!(conditions(&results, "p", "q"), ["z <= -1"]);
    assert_eq!(conditions(&results, "p", "r"), ["true | x <= 2147483645"]);
    assert_eq!(conditions(&results, "q", "r"), ["z >= 0 | z <= 2147483646", "z <= -2", "x == z"]);
    for (first, second) in [("p", "q"), ("p", "r"), ("q", "r")] {
        assert!(is_complete(&results, first, second), "{first}, {second}");
    }
}

#[test]
fn declarations_are_text_of_the_language() {
    let results = all(FIGURE_1);
    let text = result(&results, "q", "r").declarations();
    let expected = "\
independent(q, r) if z >= 0 && z <= 2147483646;
independent(q, r) if z <= -2;
independent(q, r) if x == z;
";
    assert_eq!(text, expected);
    assert_eq!(result(&results, "q", "q").declarations(), "independent(q, q);\n");
}

/// Section 4.2 of the paper.
#[test]
fn tasks_are_compared_as_multisets() {
    let results = all("
        shared nr = 1;
        shared r = 0;
        atomic proc fib(v: int) {
            if v <= 1 { spawn res(v); } else { spawn fib(v - 1); spawn fib(v - 2); }
        }
        atomic proc res(v: int) {
            if nr > 0 { nr = 0; r = v; } else { spawn res(r + v); r = 0; nr = 1; }
        }
        thread main { fib(3); }
    ");
    assert_eq!(conditions(&results, "fib", "fib"), ["true"]);
    assert_eq!(conditions(&results, "fib", "res"), ["true"]);
    assert_eq!(
        conditions(&results, "res", "res"),
        ["v == v2 | v + v2 <= 2147483647", "nr > 0 | v + v2 <= 2147483647"]
    );
    assert!(is_complete(&results, "res", "res"));
}

#[test]
fn arrays_with_indices_that_are_not_known() {
    let results = all("
        shared nr[8] = 1;
        shared r[8] = 0;
        shared grid[3][4] = 0;
        atomic proc res(n: int, v: int) {
            if nr[n] > 0 { nr[n] = 0; r[n] = v; } else { spawn res(n / 2, r[n] + v); r[n] = 0; nr[n] = 1; }
        }
        atomic proc set(i: int, j: int, v: int) { grid[i][j] = v; }
        atomic proc add(i: int, v: int) { grid[i][0] = min(grid[i][0], 9) + 1; }
        thread main { res(1, 1); set(0, 0, 1); add(1, 2); }
    ");
    assert_eq!(
        conditions(&results, "res", "res"),
        ["n != n2", "v == v2 | v + v2 <= 2147483647", "nr[n] > 0 | v + v2 <= 2147483647"]
    );
    assert_eq!(conditions(&results, "set", "set"), ["i != i2", "j != j2", "v == v2"]);
    assert_eq!(conditions(&results, "add", "add"), ["true"]);
    assert!(is_complete(&results, "set", "set"));
}

#[test]
fn what_is_added_comes_before_what_is_subtracted() {
    let results = all("
        shared a[4] = 0;
        shared got = 0;
        atomic proc put(i: int, j: int, v: int) { a[-i + j] = v; }
        atomic proc see(k: int) { got = a[k]; }
        thread main { put(0, 1, 2); see(1); }
    ");
    assert_eq!(conditions(&results, "put", "see"), ["i + k != j", "a[j - i] == v", "a[k] == v"]);
}

/// A condition that reads an element is false where there is none: it needs no guard against that.
#[test]
fn an_index_below_zero_needs_no_guard() {
    let results = reachable(
        "
        shared a[4] = 0;
        shared on = true;
        atomic proc put(i: int, v: int) { if on { a[i] = v; } }
        atomic proc stop() { on = false; }
        thread main { put(choose(-2..9), 2); stop(); }
    ",
    );
    assert_eq!(conditions(&results, "put", "stop"), ["!on", "a[i] == v"]);
}

/// What a procedure does is followed with its arguments.
#[test]
fn procedures_with_arguments() {
    let results = all("
        shared a[4] = 0;
        proc set(k: int, v: int) { a[k] = v; }
        atomic proc one(i: int) { set(i, 1); }
        atomic proc two(j: int) { set(j, 2); }
        thread main { one(0); two(1); }
    ");
    assert_eq!(conditions(&results, "one", "one"), ["true"]);
    assert_eq!(conditions(&results, "one", "two"), ["i != j"]);
}

#[test]
fn products_and_sums_in_any_order() {
    let results = all("
        shared x = 1;
        shared y = 1;
        atomic proc triple() { x = min(max(x, -1000), 1000) * 3; }
        atomic proc five_times() { y = 5 * (min(x, 9) + 2) - 3 * min(x, 9); }
        atomic proc swap() { let t = x; x = y; y = t; }
        atomic proc shift(v: int) { x = x - v; y = v - y; }
        thread main { triple(); five_times(); swap(); shift(1); }
    ");
    assert_eq!(conditions(&results, "triple", "triple"), ["true"]);
    assert_eq!(conditions(&results, "five_times", "five_times"), ["true"]);
    assert_eq!(conditions(&results, "swap", "swap"), ["true"]);
    assert!(conditions(&results, "shift", "shift").iter().any(|c| c.starts_with("v == v2")));
}

/// What a block leaves in local variables that are used later belongs to the state.
#[test]
fn local_variables_that_are_used_later() {
    let results = all("
        shared x = 0;
        shared out = 0;
        thread a { let v = 0; atomic look { v = x; } out = v; }
        thread b { let v = 0; atomic forget { v = x; } }
        thread c(i in 0..2) { let k = i; atomic set { x = k; } }
    ");
    assert_eq!(conditions(&results, "look", "set"), ["x == set.k"]);
    assert_eq!(conditions(&results, "forget", "set"), ["true"]);
    assert_eq!(conditions(&results, "set", "set"), ["first.k == second.k"]);
}

#[test]
fn failures_count() {
    let results = all("
        shared x = 0;
        shared y = 1;
        shared n = 0;
        atomic proc check() { assert x >= 0; }
        atomic proc set(v: int) { x = v; }
        atomic proc divide() { n = 10 / y; }
        atomic proc lower() { y = max(y, 1) - 1; }
        atomic proc own(v: int) { assert v > 0; x = 3; }
        thread main { check(); set(1); divide(); lower(); own(1); }
    ");
    // The message shows `x`.
    assert_eq!(conditions(&results, "check", "set"), ["x == v", "x >= 0 && v >= 0"]);
    assert_eq!(
        conditions(&results, "divide", "lower"),
        ["y == 0", "y > 0 && 10 / (y - 1) == 10 / y"]
    );
    // It fails whatever the other does, and has done nothing before.
    assert_eq!(conditions(&results, "set", "own"), ["v == 3"]);
}

#[test]
fn lists_and_maps() {
    let results = all("
        list q = [1];
        map m = {1: 10};
        shared got = 0;
        atomic proc put(v: int) { push(q, v); }
        atomic proc take() { got = pop_front(q); }
        atomic proc size() { got = len(q); }
        atomic proc insert(k: int, v: int) { m[k] = v; }
        atomic proc lookup(k: int) { got = get(m, k, 0); }
        atomic proc drop_key(k: int) { remove(m, k); }
        atomic proc count() { got = len(m); }
        thread main { put(1); take(); size(); insert(1, 2); lookup(1); drop_key(1); count(); }
    ");
    assert_eq!(conditions(&results, "put", "put"), ["v == v2"]);
    assert_eq!(conditions(&results, "put", "take"), ["len(q) > 0"]);
    assert_eq!(conditions(&results, "put", "size"), [""; 0]);
    assert_eq!(conditions(&results, "insert", "insert"), ["k != k2", "v == v2"]);
    assert_eq!(conditions(&results, "insert", "drop_key"), ["k != k2"]);
    assert_eq!(conditions(&results, "drop_key", "drop_key"), ["true"]);
    assert_eq!(
        conditions(&results, "insert", "lookup"),
        ["k != k2", "m[k] == v", "!has(m, k2) && v == 0"]
    );
    assert_eq!(conditions(&results, "insert", "count"), ["has(m, k)"]);
}

/// An item that was replaced may be any of the old ones, so what the list contains now is not known.
#[test]
fn a_list_contains_something_after_an_item_was_replaced() {
    let results = all("
        list q = [1, 2];
        shared found = false;
        atomic proc replace(k: int, v: int) { q[k] = v; found = contains(q, 1); }
        atomic proc append(v: int) { push(q, v); found = contains(q, 1); }
        thread main { replace(0, 3); append(4); }
    ");
    let reason = result(&results, "replace", "append").found.as_ref().err();
    assert!(
        matches!(reason, Some(GiveUp::TooLarge(why)) if why.contains("contains something")),
        "{reason:?}"
    );
    assert!(result(&results, "append", "append").found.is_ok());
}

/// A loop is a function of what it reads: equal arguments give equal results.
#[test]
fn loops_are_not_looked_into() {
    let results = all("
        const N = 100;
        shared a[N] = 0;
        shared sum = 0;
        shared flag = false;
        atomic proc add_all(n: int) { for i in 0..n { sum = sum + a[i]; } }
        atomic proc negate(n: int) { for i in 0..n { flag = !flag; } }
        atomic proc set(v: int) { sum = v; }
        atomic proc both() { for i in 0..3 { a[i] = i; } }
        thread main { add_all(2); negate(1); set(1); both(); }
    ");
    assert_eq!(conditions(&results, "both", "both"), ["true"]);
    assert_eq!(conditions(&results, "set", "set"), ["v == v2"]);
    assert_eq!(conditions(&results, "negate", "negate"), ["n == n2"]);
    // It may overflow, and then it matters which comes second.
    assert_eq!(conditions(&results, "add_all", "add_all"), [""; 0]);
    assert!(!is_complete(&results, "add_all", "add_all"));
}

#[test]
fn blocks_that_wait_commute_only_where_both_can_run() {
    let results = all("
        shared x = 0;
        shared y = 0;
        thread a { atomic get { await x > 0; x -= 1; } }
        thread b { atomic put { x += 1; } }
        thread c { atomic other { await y > 0; y = 0; } }
    ");
    assert_eq!(conditions(&results, "get", "get"), ["x >= 2"]);
    assert_eq!(conditions(&results, "get", "put"), ["x > 0 | x <= 2147483646"]);
    assert_eq!(conditions(&results, "get", "other"), ["true"]);
}

#[test]
fn what_has_no_encoding_is_said() {
    let results = all("
        shared x = 0;
        thread receiver { receive (let v) { x = v; } }
        thread sender { atomic tell { send receiver(1); x = 2; } }
        thread other { atomic set { x = 3; } }
    ");
    let expected =
        GiveUp::Unsupported { block: "tell".to_owned(), what: "sends a message", line: 4 };
    assert_eq!(result(&results, "tell", "set").found, Err(expected));
}

#[test]
fn what_no_execution_overflows_needs_no_guard() {
    let text = |start: &str| {
        format!("shared x = {start}; thread t(i in 0..200) {{ atomic add {{ x = x + 1; }} }}")
    };
    assert_eq!(conditions(&all(&text("0")), "add", "add"), ["true | x <= 2147483645"]);
    assert_eq!(conditions(&reachable(&text("0")), "add", "add"), ["true"]);
    // Up to where two more still fit, and beyond.
    assert_eq!(conditions(&reachable(&text("2147483445")), "add", "add"), ["true"]);
    let guarded = ["true | x <= 2147483645"];
    assert_eq!(conditions(&reachable(&text("2147483446")), "add", "add"), guarded);
}

/// Definition 7: two runs of a loop that read the same do the same.
#[test]
fn a_loop_that_cannot_fail_commutes_with_itself() {
    let text = "
        shared n = 3; shared s = 0;
        atomic proc f(k: int) { let i = 0; while i < n { s = s + k; i = i + 1; } }
        atomic proc h() { n = n + 1; }
        thread a(i in 0..3) { f(i); }
        thread b { h(); }
    ";
    assert_eq!(conditions(&reachable(text), "f", "f"), ["k == k2"]);
    // Any number of rounds: which of the two fails depends on the order.
    let without_end = text.replace("h(); }\n    ", "while n > 0 { h(); } }");
    let results = reachable(&without_end);
    let found = result(&results, "f", "f").found.as_ref();
    assert!(!found.is_ok_and(|found| !found.constraints.is_empty()), "{found:?}");
}

#[test]
fn arguments_of_tasks_have_ranges_too() {
    let text = "
        const N = 10;
        shared sum = 0;
        atomic proc launch(i: int) { if i < N { spawn add(i * i); spawn launch(i + 1); } }
        atomic proc add(v: int) { sum = sum + v; }
        thread main { spawn launch(0); }
    ";
    assert_eq!(conditions(&reachable(text), "add", "add"), ["true"]);
}

#[test]
fn blocks_without_a_name_have_constraints() {
    let text = "
        shared x = 0;
        thread t(i in 0..3) { let v = i; atomic { x = x + v; } atomic { if v > x { x = v; } } }
    ";
    let results = reachable(text);
    assert_eq!(conditions(&results, "atomic 1", "atomic 1"), ["true"]);
    let heads: Vec<_> = results.iter().map(|result| result.heads.join(", ")).collect();
    assert_eq!(heads, ["atomic 1, atomic 1", "atomic 1, atomic 2", "atomic 2, atomic 2"]);
    assert!(!conditions(&results, "atomic 1", "atomic 2").is_empty());
}

#[test]
fn a_pair_that_takes_too_long_has_no_constraint() {
    let compiled = compile("test.sel", FIGURE_1, &[]).unwrap_or_else(|_| panic!("it compiles"));
    let pair = pairs(&compiled.program)[4];
    let budget = Budget::unlimited().with_work(3);
    let values = Values::unknown();
    let found = synthesise(&compiled.program, pair, &values, &Caps::default(), &budget).found;
    assert_eq!(found, Err(GiveUp::Stopped(Spent::Work)));
}

#[test]
fn raising_a_semaphore_commutes_with_raising_it() {
    let results = all("
        semaphore s = 0;
        semaphore each[3] = [0, 0, 1];
        shared x = 0;
        atomic proc give(i: int) { up(s); up(each[i]); }
        atomic proc add() { x = min(x, 5) + 1; up(s); }
        thread main { give(1); add(); }
    ");
    for pair in [("give", "give"), ("give", "add"), ("add", "add")] {
        assert_eq!(conditions(&results, pair.0, pair.1), ["true"]);
    }
}

/// Of an empty list no item can be read: a guard that does is no guard.
#[test]
fn a_guard_makes_nothing_impossible_but_overflows() {
    let results = all("
        shared x = 2;
        shared y = 1;
        shared f = true;
        list q = [];
        map m;
        atomic proc first(v: int) {
            remove(m, x);
            push(q, y);
            if x + get(m, v, 1) >= y { q[0] = v; } else { f = !f; x = q[0]; clear(m); }
        }
        atomic proc second() {
            if !f { y = x % 3; y = len(q) + x; }
            push(q, len(q));
        }
        thread main { first(0); second(); }
    ");
    let conditions = conditions(&results, "first", "second");
    let guarded = |condition: &String| {
        condition.contains("!has(m, v)") && condition.ends_with(" | x <= 2147483646")
    };
    assert!(conditions.iter().any(guarded), "{conditions:#?}");
}

/// Parameters get names that nothing else has: not a variable, a procedure, a thread, a block, nor each other.
#[test]
fn parameters_get_names_that_nothing_else_has() {
    let program = |other: &str| {
        format!(
            "shared x = 0; {other}
             atomic proc set(v: int) {{ x = v; }}
             thread t {{ set(1); }} thread u {{ set(2); }}"
        )
    };
    for (other, heads) in [
        ("", ["set(v)", "set(v2)"]),
        ("shared v2 = 0;", ["set(v)", "set(v3)"]),
        ("fn v2() -> int { return 1; }", ["set(v)", "set(v3)"]),
        ("thread v2 { skip; }", ["set(v)", "set(v3)"]),
        ("thread w { atomic v2 { x = 1; } }", ["set(v)", "set(v3)"]),
    ] {
        let results = all(&program(other));
        assert_eq!(result(&results, "set", "set").heads, heads, "{other}");
    }
}

/// The sign of a parameter can decide, though no block compares it with 0.
#[test]
fn signs_of_parameters() {
    let results = all("
        shared b = 10;
        atomic proc withdraw(v: int) { if b >= v { b = b - v; } }
        atomic proc raise(v: int) { b = max(b, v); }
        thread main { withdraw(1); raise(1); }
    ");
    let expected = [
        "v == 0",
        "v > v2 && v2 <= -1",
        "b >= v2 && b >= v + v2",
        "b < v && v > v2",
        "b >= v2 && v <= -1",
    ];
    assert_eq!(conditions(&results, "withdraw", "raise"), expected);
    assert!(is_complete(&results, "withdraw", "raise"));
}
