//! Values at their limits: what overflows, what just does not, and what their ranges may not hide.

use std::collections::BTreeSet;
use std::time::Duration;

use selvedge_core::{Budget, Verdict, ViolationKind};
use selvedge_explore::{Algorithm, Options, Silent};
use selvedge_lang::Interpreter;
use selvedge_symbolic::{Engine, Scheme, check};
use selvedge_testkit::explore;

/// Kind and line of what is wrong.
type Found = BTreeSet<(ViolationKind, u32)>;

/// What is wrong in a program: the explorers and all encodings must agree.
fn violations(text: &str) -> usize {
    let program = match selvedge_lang::compile("values.sel", text, &[]) {
        Ok(compiled) => compiled.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    };
    let found = |violations: &[(selvedge_core::Violation, selvedge_core::Schedule)]| -> Found {
        let line = |violation: &selvedge_core::Violation| {
            (violation.kind, violation.places.first().map_or(0, |place| place.line))
        };
        violations.iter().map(|(violation, _)| line(violation)).collect()
    };
    let make = || Interpreter::new(program.clone());
    let options = Options { keep_going: true, ..Options::default() };
    let explored = explore(Algorithm::Optimal, &make, &options, &mut Silent);
    assert!(explored.inconclusive.is_empty(), "{text}");
    let expected = found(&explored.violations);
    for engine in Engine::ALL.into_iter().filter(|engine| engine.is_built_in()) {
        for scheme in Scheme::ALL {
            let options = selvedge_symbolic::Options {
                scheme,
                engine,
                keep_going: true,
                ..Default::default()
            };
            let outcome = check(&program, &options, &Budget::unlimited(), &|| Duration::ZERO);
            assert!(outcome.mistakes.is_empty(), "{:?}\n{text}", outcome.mistakes);
            assert!(outcome.report.inconclusive.is_empty(), "{text}");
            let seen = found(&outcome.report.violations);
            assert_eq!(seen, expected, "{} {}\n{text}", scheme.name(), engine.name());
        }
    }
    expected.len()
}

#[test]
fn operators_overflow_where_the_language_says() {
    let limits = [
        ("x + 1", 2_147_483_646, 0),
        ("x + 1", 2_147_483_647, 1),
        ("x - 2", -2_147_483_646, 0),
        ("x - 2", -2_147_483_647, 1),
        ("x * 3", 715_827_882, 0),
        ("x * 3", 715_827_883, 1),
        ("x * x", 46_340, 0),
        ("x * x", -46_341, 1),
        ("-x", -2_147_483_647, 0),
        ("abs(x - 1)", -2_147_483_647, 1),
        ("7 / x", 0, 1),
        ("7 % x", 7, 0),
        ("(x - 1) / (0 - 1)", -2_147_483_647, 1),
    ];
    for (expression, value, expected) in limits {
        // The value comes from another thread, so that nothing is known of it beforehand.
        let text = format!(
            "shared x = 1; shared y = 0;\n\
             thread a {{ x = {value}; }}\n\
             thread b {{ await x == {value}; y = {expression}; }}\n"
        );
        assert_eq!(violations(&text), expected, "{expression} with {value}");
    }
}

#[test]
fn counters_overflow_after_many_steps() {
    let text = |start: i32| {
        format!(
            "shared x = {start};\n\
             thread a {{ for i in 0..2 {{ let _v = fetch_add(x, 1); }} }}\n\
             thread b {{ for i in 0..2 {{ let v = x; x = v + 1; }} }}\n"
        )
    };
    assert_eq!(violations(&text(i32::MAX - 4)), 0);
    assert_eq!(violations(&text(i32::MAX - 3)), 2, "in both threads");
}

#[test]
fn a_write_that_may_not_be_made_leaves_the_old_value() {
    let text = "shared x = 0; shared y = 0;\n\
                proc work() {\n\
                    x = x + 1; x = x + 1;\n\
                    if choose(0..2) == 1 { y = 7; }\n\
                }\n\
                thread main {\n\
                    let t = spawn work();\n\
                    x = x + 1;\n\
                    join t;\n\
                    assert x <= 3;\n\
                    assert x >= 1;\n\
                    assert x != 2;\n\
                    assert y != 0;\n\
                    assert y != 7;\n\
                }\n";
    assert_eq!(violations(text), 3);
}

#[test]
fn a_thread_may_end_with_a_choice() {
    let text = "shared x = 0;\n\
                proc empty() { let _v = choose(0..3); }\n\
                proc late() { x = 1; let _v = choose(0..3); }\n\
                thread main {\n\
                    let a = spawn empty();\n\
                    let b = spawn late();\n\
                    join a;\n\
                    join b;\n\
                    assert x == 0;\n\
                }\n";
    assert_eq!(violations(text), 1);
}

#[test]
fn a_block_that_waits_may_create_a_thread() {
    let text = "shared x = 0; barrier b(2);\n\
                thread waits { arrive(b); }\n\
                thread creates { atomic { await x == 0; spawn reads(); } }\n\
                proc reads() { let _v = x; }\n";
    assert_eq!(violations(text), 1, "a deadlock");
}

#[test]
fn choices_that_fail() {
    for (range, expected) in [("v..3", 1), ("v..4", 0), ("0 - v * 500000..v", 1), ("1..v", 0)] {
        let text = format!(
            "shared x = 3;\n\
             thread a {{ let v = x; let c = choose({range}); x = c; }}\n"
        );
        assert_eq!(violations(&text), expected, "{range}");
    }
}

#[test]
fn values_go_back_and_forth() {
    let text = "shared x = 0; shared top = 0;\n\
                thread a { for i in 0..3 { x = x * 2 + 1; } }\n\
                thread b { for i in 0..2 { x = -x; if x > top { top = x; } } }\n\
                finally {\n\
                    assert x != 7;\n\
                    assert x != -7;\n\
                    assert x > -20 && x < 20;\n\
                    assert top < 7;\n\
                }\n";
    assert!(violations(text) >= 2);
}

/// A write that is not made for sure does not order the writes after it.
#[test]
fn a_sure_write_after_one_that_may_not_be_made() {
    let text = "\
shared x = 0;
thread a {
    if choose(0..2) == 1 { x = 1; }
    x = 2;
}
thread b {
    let v = x;
    let w = x;
    assert !(v == 2 && w == 0);
    assert !(v == 2 && w == 1);
}
";
    assert_eq!(violations(text), 0);
}

/// How often a routine calls itself is found out like the turns of a loop; calls of others do not count.
#[test]
fn recursion_goes_as_deep_as_it_must() {
    let sum = "fn sum(n: int) -> int { if n == 0 { return 0; } return n + sum(n - 1); }";
    for (depth, wrong) in [(0, 0), (1, 0), (4, 0), (5, 1), (6, 0)] {
        let text = format!(
            "shared x = 0; {sum}
             thread t {{ x = {depth}; }}
             thread u {{ let v = x; let s = sum(v); assert s != 15; }}"
        );
        assert_eq!(violations(&text), wrong, "{text}");
    }
    let both = "fn even(n: int) -> bool { if n == 0 { return true; } return odd(n - 1); }
        fn odd(n: int) -> bool { if n == 0 { return false; } return even(n - 1); }
        shared x = 3; thread t { x = 4; } thread u { let v = x; assert odd(v); }";
    assert_eq!(violations(both), 1);
}

/// What lies beyond the cap on instructions is not covered, and that is said.
#[test]
fn a_thread_that_is_too_long_for_a_formula() {
    let long = "v = 1; ".repeat(100_000);
    let text =
        format!("shared x = 0; thread t {{ let v = 0; {long} x = v; }} thread u {{ x = 2; }}");
    let program = selvedge_lang::compile("long.sel", &text, &[]).expect("it is a program").program;
    let options = selvedge_symbolic::Options::default();
    let outcome = check(&program, &options, &Budget::unlimited(), &|| Duration::ZERO);
    assert_eq!(outcome.report.verdict(), Verdict::Inconclusive);
    let why = format!("{:?}", outcome.report.inconclusive);
    assert!(why.contains("a thread with more than 100000 unrolled instructions"), "{why}");
}

/// Which lock it is is not known before it runs.
#[test]
fn a_lock_of_an_array_that_is_taken_again() {
    let text = "mutex m[2]; shared x = 0;
        thread t { x = choose(0..2); }
        thread u { let i = x; lock m[0]; lock m[i]; unlock m[i]; if i != 0 { unlock m[0]; } }";
    assert_eq!(violations(text), 1);
}

#[test]
fn indices_at_their_limits() {
    for (index, wrong) in [(-1, 1), (0, 0), (1, 0), (2, 1)] {
        let text = format!(
            "shared a[2] = 0; shared b[2][2] = 0; shared x = 0;
             thread t {{ x = {index}; }}
             thread u {{ let i = x; a[i] = 1; }}
             thread w {{ let i = x; b[1][i] = 1; }}"
        );
        assert_eq!(violations(&text), 2 * wrong, "{text}");
    }
}
