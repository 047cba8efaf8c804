//! `always`: an invariant is checked after every step, by every explorer.

use selvedge_core::{Verdict, ViolationKind};
use selvedge_explore::{Algorithm, Options, confirm};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::Subject;

fn subject(text: &str) -> Subject {
    Subject::new("t.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// What every explorer finds, all violations together: their kinds, messages and lines.
fn violations(text: &str) -> Vec<(ViolationKind, String, u32)> {
    let subject = subject(text);
    let make = || Interpreter::new(subject.program().clone());
    let mut all = Vec::new();
    for &algorithm in Algorithm::ALL {
        let options = Options { keep_going: true, ..Options::default() };
        let report = subject.classes(algorithm, &options).expect("it does not panic").report;
        assert!(report.inconclusive.is_empty(), "{algorithm:?}: {:?}", report.inconclusive);
        for (violation, schedule) in &report.violations {
            confirm(&make, violation, schedule).expect("it is seen again");
        }
        let told = report.violations.iter().map(|(violation, _)| {
            (violation.kind, violation.message.clone(), violation.places[0].line)
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        if all.is_empty() {
            all.clone_from(&told);
        }
        assert_eq!(told, all, "{algorithm:?} and the oracle");
    }
    all
}

/// The writes are to different variables, and both orders lead to the same state: only the state in between is wrong.
#[test]
fn a_state_between_two_steps() {
    let text = "shared x = 0;\nshared y = 0;\nalways x >= y;\n\
                thread a { x = 1; }\nthread b { y = 1; }\n";
    let expected = "invariant `x >= y` is false (x = 0, y = 1)".to_owned();
    assert_eq!(violations(text), [(ViolationKind::Always, expected, 3)]);
}

#[test]
fn blocks_that_commute() {
    let text = "shared x = 0;\nshared y = 0;\nalways x >= y, \"x first\";\n\
                atomic proc p() { x = x + 1; }\natomic proc q() { y = y + 1; }\n\
                independent(p, q);\nthread a { p(); }\nthread b { q(); }\n";
    let expected = "invariant `x >= y` is false: x first (x = 0, y = 1)".to_owned();
    assert_eq!(violations(text), [(ViolationKind::Always, expected, 3)]);
}

/// A step that leaves it false is not at fault; one that breaks it again is.
#[test]
fn it_is_told_when_it_becomes_false() {
    let text = "shared x = 0;\nshared z = 0;\nalways x != 1;\n\
                thread a { x = 1; }\nthread b { await x == 1; z = 1; atomic { x = x; } assert z == 2; }\n";
    let kinds: Vec<_> = violations(text).into_iter().map(|it| (it.0, it.2)).collect();
    assert_eq!(kinds, [(ViolationKind::Assertion, 5), (ViolationKind::Always, 3)]);
}

/// Inside a block it may be false.
#[test]
fn blocks_are_one_step() {
    let text = "shared x = 1;\nshared y = 1;\nalways x + y == 2;\n\
                thread t(i in 0..2) { atomic { x -= 1; y += 1; } }\n";
    assert_eq!(violations(text), []);
}

/// Elements that it does not read, lists and functions.
#[test]
fn elements_lists_and_functions() {
    let text = "shared a[3] = 0;\nlist q;\nfn sum() -> int { return a[0] + a[1]; }\n\
                always sum() + len(q) < 3;\n\
                thread t { a[2] = 7; a[0] = 1; push(q, 5); }\nthread u { a[1] = 1; }\n";
    let kinds: Vec<_> = violations(text).into_iter().map(|it| (it.0, it.2)).collect();
    assert_eq!(kinds, [(ViolationKind::Always, 4)]);
}

/// Checks are no accesses of the program: they are in no data race, and order nothing for others.
#[test]
fn checks_and_data_races() {
    let races = |text: &str| {
        let options = Options { keep_going: true, data_races: true, ..Options::default() };
        let report = subject(text).classes(Algorithm::Optimal, &options);
        let report = report.expect("it does not panic").report;
        let kinds: Vec<_> = report.violations.iter().map(|(violation, _)| violation.kind).collect();
        (report.verdict(), kinds)
    };
    let apart =
        "shared x = 0; shared y = 0; always x + y < 5; thread a { x = 1; } thread b { y = 1; }";
    assert_eq!(races(apart), (Verdict::Verified, vec![]));
    let hidden = "shared atomic x = 0; shared y = 0; shared z = 0; always x + y < 5;
        thread a { z = 1; store(x, 1, relaxed); }
        thread b { if load(x, relaxed) == 1 { y = 1; z = 2; } }";
    assert_eq!(races(hidden), (Verdict::Violated, vec![ViolationKind::DataRace]));
}

#[test]
fn it_holds_at_the_beginning() {
    let errors = compile("t.sel", "shared x = 0;\nalways x == 1;\nthread t { x = 1; }\n", &[]);
    let errors = errors.expect_err("it is refused");
    assert_eq!(errors[0].message, "invariant `x == 1` is false (x = 0) in the initial state");
}
