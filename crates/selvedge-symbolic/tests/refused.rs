//! What has no encoding: it is named where it is reached, and what others do is still checked.

use std::time::Duration;

use selvedge_core::{Budget, Verdict};
use selvedge_symbolic::{Options, Scheme, check};

fn outcome(text: &str, scheme: Scheme, data_races: bool) -> (Verdict, Vec<String>) {
    let program = selvedge_lang::compile("t.sel", text, &[]).unwrap().program;
    let options = Options { scheme, data_races, ..Options::default() };
    let outcome = check(&program, &options, &Budget::unlimited(), &|| Duration::ZERO);
    assert!(outcome.mistakes.is_empty(), "{}: {:?}\n{text}", scheme.name(), outcome.mistakes);
    let reasons = outcome.report.inconclusive.iter().map(ToString::to_string);
    (outcome.report.verdict(), reasons.collect())
}

/// A block that cannot be encoded to its end is not run: what it wrote before is no state of any execution.
#[test]
fn half_a_block_is_no_step() {
    let texts = [
        ("lists and maps", "shared x = 0; list q = [1];
            thread t { atomic { x = 7; await len(q) == 2; } } thread u { let v = x; assert v != 7; }"),
        ("lists and maps", "shared x = 0; list q = [1];
            thread t { atomic { x = 7; push(q, 2); x = 0; } } thread u { let v = x; assert v != 7; }"),
        ("messages", "shared x = 0;
            thread t { atomic { x = 7; send u(1); x = 0; } } thread u { let v = x; assert v != 7; }"),
        ("an index", "shared x = 0; shared a[300] = 0; shared i = 3;
            thread t { atomic { x = 7; a[i] = 1; x = 0; } } thread u { let v = x; assert v != 7; }"),
    ];
    for (what, text) in texts {
        for scheme in Scheme::ALL {
            let (verdict, reasons) = outcome(text, scheme, false);
            assert_eq!(verdict, Verdict::Inconclusive, "{}\n{text}", scheme.name());
            assert!(reasons.iter().any(|reason| reason.contains(what)), "{reasons:?}\n{text}");
            // The accesses race, and that is found.
            let (verdict, _) = outcome(text, scheme, true);
            assert_ne!(verdict, Verdict::Verified, "{}\n{text}", scheme.name());
        }
    }
}

/// The violation of another thread is found, whether or not the block comes before it.
#[test]
fn others_go_on() {
    let texts = [
        "list q; thread t { atomic { push(q, 2); } } thread u { assert false; }",
        "shared x = 0; list q; thread t { x = 1; atomic { push(q, 2); } } thread u { await x == 1; assert false; }",
        "shared x = 0; list q; thread t { x = 1; push(q, 2); } thread u { await x == 1; assert false; }",
    ];
    for text in texts {
        for scheme in Scheme::ALL {
            let (verdict, _) = outcome(text, scheme, false);
            assert_eq!(verdict, Verdict::Violated, "{}\n{text}", scheme.name());
        }
    }
}
