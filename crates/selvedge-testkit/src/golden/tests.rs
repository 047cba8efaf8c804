//! The header format.

use super::*;

const TEXT: &str = "\
// A comment.
//# options: steps=20, data-races
//# verdict: violated deadlock, assertion
//# default: classes=4 deadlocked=1
//#   oracle: 6
//#   source: 4+1 cut=2
//# slow N=3, K=-1: classes=8
//#   oracle: -
//#   quasi k=2: 8+1
thread p { }
";

#[test]
fn a_header_is_understood() {
    let golden = Golden::parse(TEXT).unwrap();
    assert!(golden.options.data_races && golden.options.keep_going);
    assert_eq!(golden.options.limits.steps, 20);
    let [first, second] = &golden.settings[..] else { panic!("two settings") };
    assert!(!first.slow && first.constants.is_empty());
    assert_eq!(
        first.classes,
        ClassCounts { all: 4, deadlocked: 1, blocked: 0, observations: None, states: None }
    );
    let kinds = ["assertion", "deadlock"].map(str::to_owned).into();
    assert_eq!(first.verdict, ExpectedVerdict::Violated(kinds));
    let costs: Vec<_> = first.algorithms.iter().map(|line| (line.variant, line.cost)).collect();
    let cost = |maximal, redundant, cut| Some(Cost { maximal, redundant, cut, states: None });
    let (oracle, source) = (Variant::of(Algorithm::Oracle), Variant::of(Algorithm::Source));
    assert_eq!(costs, [(oracle, cost(6, 0, 0)), (source, cost(4, 1, 2))]);
    assert!(second.slow);
    assert_eq!(second.constants, [("N".to_owned(), 3), ("K".to_owned(), -1)]);
    assert_eq!(second.algorithms[0].cost, None);
    assert_eq!(second.algorithms[1].variant, Variant::partial(2));
}

#[test]
fn rewriting_changes_the_algorithm_lines_of_what_was_run_only() {
    let golden = Golden::parse(TEXT).unwrap();
    let measured = vec![
        (
            Variant::of(Algorithm::Oracle),
            Some(Cost { maximal: 7, redundant: 0, cut: 0, states: None }),
        ),
        (
            Variant::of(Algorithm::Optimal),
            Some(Cost { maximal: 4, redundant: 0, cut: 0, states: None }),
        ),
        (Variant::partial(1), Some(Cost { maximal: 4, redundant: 2, cut: 0, states: None })),
    ];
    let text = golden.rewrite(TEXT, &[Some(measured), None]);
    let expected = TEXT.replace(
        "//#   oracle: 6\n//#   source: 4+1 cut=2\n",
        "//#   oracle:  7\n//#   optimal: 4+0\n//#   quasi k=1: 4+2\n",
    );
    assert_eq!(text, expected);
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_line() {
    for (text, line, part) in [
        ("", 1, "no setting"),
        ("//# default: classes=1", 1, "verdict"),
        ("//# verdict: fine", 1, "no verdict"),
        ("//# verdict: violated", 1, "no verdict"),
        ("//# verdict: verified\n//# default: deadlocked=1", 2, "`classes=…` is missing"),
        ("//# verdict: verified\n//# default: classes=x", 2, "not a number"),
        ("//# verdict: verified\n//# orakle: 3", 2, "`orakle` is neither"),
        ("//# oracle: 3", 1, "no setting above"),
        ("//# options: fast", 1, "`fast` is no option"),
        ("//# verdict: verified\n//# N=1: classes=1\n//# oracle: 1\n//# oracle: 1", 4, "two lines"),
    ] {
        let error = Golden::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
}
