//! `eventually`, `leads_to` and marks of progress: `states` against brute force that shares nothing with it, and by hand.

use selvedge_core::{Report, Schedule, Verdict, Violation, ViolationKind};
use selvedge_explore::{Algorithm, Fairness, Options, Silent, broken_promises, confirm};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::looping::promises::{Fair, Promising, Wanted};
use selvedge_testkit::{Subject, seeds};

const ALL: [(Fairness, Fair); 3] = [
    (Fairness::None, Fair::Any),
    (Fairness::Weak, Fair::Weakly),
    (Fairness::Strong, Fair::Strongly),
];

fn compiled(text: &str) -> Subject {
    Subject::new("p.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn explored(subject: &Subject, algorithm: Algorithm, fairness: Fairness) -> Report {
    let options = Options { keep_going: true, fairness, ..Options::default() };
    let report = subject.explore(algorithm, &options, &mut Silent);
    report.unwrap_or_else(|message| panic!("{message}"))
}

/// What `states` finds wrong with the promises, each replayed.
fn broken(subject: &Subject, fairness: Fairness) -> Vec<(Violation, Schedule)> {
    let report = explored(subject, Algorithm::States, fairness);
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    let make = || Interpreter::new(subject.program().clone());
    for (violation, schedule) in &report.violations {
        let confirmed = confirm(&make, violation, schedule);
        let confirmed = confirmed.unwrap_or_else(|error| panic!("{violation:?}: {}", error.reason));
        let again: Schedule = confirmed.replay.schedule.to_string().parse().expect("its text");
        assert_eq!(again, confirmed.replay.schedule);
    }
    let promises = report.violations.into_iter();
    promises.filter(|(violation, _)| violation.kind.is_about_promises()).collect()
}

/// The verdict is that of brute force, and each execution that is shown is one, fair, and does not keep the promise.
#[test]
fn random_programs() {
    // By kind and fairness: kept, broken by an end, broken by a cycle.
    let mut seen = [[[0; 3]; 3]; 3];
    for seed in seeds(10_000) {
        let program = Promising::new(seed);
        let Some(whole) = program.whole() else { continue };
        let text = program.to_string();
        let subject = compiled(&text);
        let kind = match program.wanted {
            Wanted::Eventually(_) => 0,
            Wanted::LeadsTo(..) => 1,
            Wanted::Progress(_) => 2,
        };
        for (index, (fairness, fair)) in ALL.into_iter().enumerate() {
            let expected = program.is_broken(&whole, fair);
            let found = broken(&subject, fairness);
            assert_eq!(!found.is_empty(), expected, "seed {seed}, {fairness:?}\n{text}");
            for (_, schedule) in &found {
                let steps: Vec<usize> =
                    schedule.steps.iter().map(|step| step.thread.index()).collect();
                if let Err(why) = program.check(&steps, schedule.cycle, fair) {
                    panic!("seed {seed}, {fairness:?}: {why}: {schedule}\n{text}");
                }
            }
            let how = match found.first() {
                None => 0,
                Some((_, schedule)) if schedule.cycle.is_none() => 1,
                Some(_) => 2,
            };
            seen[kind][index][how] += 1;
        }
    }
    for (kind, by_fairness) in seen.iter().enumerate() {
        for counts in by_fairness {
            // An execution that ends makes no progress, and need not.
            let is_seen = |how: usize| counts[how] >= 5 || kind == 2 && how == 1;
            assert!((0..3).all(is_seen), "{seen:?}");
        }
        // Fairness matters, and so does which.
        assert!(by_fairness[0][0] < by_fairness[1][0], "{seen:?}");
    }
    let kept =
        |fairness: usize| seen.iter().map(|by_fairness| by_fairness[fairness][0]).sum::<u32>();
    assert!(kept(1) < kept(2), "{seen:?}");
}

fn kinds(text: &str, fairness: Fairness) -> Vec<(ViolationKind, Option<usize>)> {
    let found = broken(&compiled(text), fairness).into_iter();
    found.map(|(violation, schedule)| (violation.kind, schedule.cycle)).collect()
}

/// A thread that can always run is not left out forever, unless that is asked for.
#[test]
fn an_unfair_cycle_is_not_reported() {
    let text = "shared x = 0; shared done = false; thread a { loop { x = 1 - x; } } \
                thread b { done = true; } eventually done;";
    assert_eq!(kinds(text, Fairness::Weak), []);
    assert_eq!(kinds(text, Fairness::Strong), []);
    assert_eq!(kinds(text, Fairness::None), [(ViolationKind::Eventually, Some(0))]);
}

/// A mutex that is free again and again is not always free.
#[test]
fn strong_fairness() {
    let text = "mutex m; shared has = false; thread a { loop { lock m; unlock m; } } \
                thread b { lock m; has = true; unlock m; } eventually has;";
    assert_eq!(kinds(text, Fairness::Weak).len(), 1);
    assert_eq!(kinds(text, Fairness::Strong), []);
    // `b` could run again and again, but need not be able to.
    let avoided = "shared x = 0; shared y = 0; shared done = false;
        thread b { await y == 1; done = true; } eventually done;
        thread a { loop { if choose() { x = 1 - x; } else { y = 1; y = 0; } } }";
    assert_eq!(kinds(avoided, Fairness::Strong).len(), 1);
}

/// A lock that spins lets a thread starve that runs all the time; and it makes progress as a whole.
#[test]
fn a_lock_that_spins() {
    let text = "shared atomic locked = false; shared wants = false; shared has = false;
        thread a { loop { while exchange(locked, true) { } progress; locked = false; } }
        thread b { wants = true; while exchange(locked, true) { } has = true; locked = false; }
        always wants leads_to has;";
    for fairness in [Fairness::Weak, Fairness::Strong] {
        let found = kinds(text, fairness);
        assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [ViolationKind::LeadsTo]);
        assert!(found[0].1.is_some());
    }
}

/// An execution that ends, or cannot go on, does not keep what it has not kept.
#[test]
fn executions_that_end() {
    let ends = "shared x = 0; thread a { x = 1; } eventually x == 2;";
    assert_eq!(kinds(ends, Fairness::Weak), [(ViolationKind::Eventually, None)]);
    let stuck = "shared x = 0; thread a { await x == 1; x = 2; } eventually x == 2;";
    assert_eq!(kinds(stuck, Fairness::Weak), [(ViolationKind::Eventually, None)]);
    let asked_last =
        "shared x = 0; thread a { x = 1; x = 2; x = 1; } always x == 1 leads_to x == 2;";
    assert_eq!(kinds(asked_last, Fairness::Weak), [(ViolationKind::LeadsTo, None)]);
    let at_once =
        "shared x = 0; thread a { x = 1; } always x == 1 leads_to x == 1; eventually x == 0;";
    assert_eq!(kinds(at_once, Fairness::Weak), []);
    let assumed = "shared x = 0; thread a { x = 1; assume x == 3; } eventually x == 2;";
    assert_eq!(kinds(assumed, Fairness::Weak), []);
}

/// Livelock: two polite threads that let each other go first, again and again.
#[test]
fn progress() {
    let text = |mark: &str| {
        format!(
            "shared want[2] = false; thread t(i in 0..2) {{ loop {{ want[i] = true; \
             while want[1 - i] {{ want[i] = false; want[i] = true; }} {mark} want[i] = false; }} }}"
        )
    };
    assert_eq!(kinds(&text("progress;"), Fairness::Weak)[0].0, ViolationKind::Progress);
    assert_eq!(kinds(&text(""), Fairness::Weak), []);
    let fine = "shared x = 0; thread t { loop { x = 1 - x; progress; } }";
    assert_eq!(kinds(fine, Fairness::None), []);
    let inside = "shared x = 0; thread t { loop { atomic { x = 1 - x; progress; } } }";
    assert_eq!(kinds(inside, Fairness::None), []);
    // A mark that no thread can come to is a promise all the same: behind the loop, or under a condition that is false.
    for lost in ["loop { x = 1; } progress;", "loop { x = 1; if D { progress; } }"] {
        let text = format!("const D = false; shared x = 0; thread t {{ {lost} }}");
        assert_eq!(kinds(&text, Fairness::Weak)[0].0, ViolationKind::Progress, "{text}");
    }
}

/// Other explorers do not claim what they did not look at, and say who does.
#[test]
fn others_do_not_decide() {
    let subject = compiled("shared x = 0; thread a { x = 1; } eventually x == 1;");
    for &algorithm in Algorithm::ALL {
        let report = explored(&subject, algorithm, Fairness::Weak);
        match algorithm {
            Algorithm::States => assert_eq!(report.verdict(), Verdict::Verified),
            _ => {
                assert_eq!(report.verdict(), Verdict::Inconclusive, "{algorithm:?}");
                let told = report.inconclusive[0].to_string();
                assert!(told.contains("--algorithm states"), "{told}");
            }
        }
    }
    let options = Options::default();
    let report = subject.explore_auto(&options, &mut Silent).expect("it does not panic");
    assert_eq!(report.verdict(), Verdict::Verified);
    assert_eq!(report.decision.map(|it| it.explorer), Some("states"));
}

/// Steps that do not lead back are no cycle.
#[test]
fn what_is_replayed() {
    let subject = compiled("shared x = 0; thread a { loop { x = 1 - x; } } eventually x == 2;");
    let judged = |schedule: &str| {
        let mut system = Interpreter::new(subject.program().clone());
        broken_promises(&mut system, &schedule.parse().expect("a schedule")).map(|it| it.len())
    };
    assert_eq!(judged("0@2/0@4"), Ok(1));
    assert_eq!(judged("0@4"), Ok(0), "it goes on");
    assert!(judged("0/0").expect_err("two steps are needed").contains("do not lead back"));
}

/// A condition that has no value proves nothing.
#[test]
fn conditions_that_fault() {
    let subject = compiled("shared x = 1; thread a { x = 0; } eventually 1 / x == 7;");
    let report = explored(&subject, Algorithm::States, Fairness::Weak);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    assert!(report.inconclusive[0].to_string().contains("cannot be evaluated"));
}

#[test]
fn diagnostics() {
    let wrong = |text: &str| {
        let errors = compile("t.sel", text, &[]).expect_err("it is refused");
        errors[0].message.clone()
    };
    assert_eq!(
        wrong("shared x = 0; thread t { x = 1; } eventually y == 1;"),
        "unknown variable `y`"
    );
    let message = wrong("list q; thread t { push(q, 1); } eventually pop(q) == 1;");
    assert!(message.contains("not allowed in `eventually` or `leads_to`"), "{message}");
    let message = wrong("shared x = 0; thread t { eventually x == 1; }");
    assert!(message.contains("eventually"), "{message}");
    let message = wrong("shared x = 0; thread t { x = 1; } finally { progress; }");
    assert!(message.contains("`progress` is not allowed in `finally`"), "{message}");
    assert!(wrong("shared x = 0; thread t { x = 1; } always x == 1 leads_to 3;").contains("bool"));
}

/// The words are keywords only where they must be.
#[test]
fn older_programs_keep_their_names() {
    let text = "shared progress = 0; shared eventually = 0; shared leads_to = 0;
        thread t { progress = 1; eventually = progress; leads_to = eventually; assert leads_to == 1; }";
    let report = explored(&compiled(text), Algorithm::Optimal, Fairness::Weak);
    assert_eq!(report.verdict(), Verdict::Verified);
}
