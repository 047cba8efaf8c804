//! `states` with several threads, and with hashes instead of states.
//!
//! The whole report is the same for every number of threads: counts, facts, violations and their paths. With hashes, what is found is the
//! same as long as no two states have the same; nothing is proved; and what is found when many have the same is true.

use std::num::NonZeroUsize;

use selvedge_core::{Report, Verdict};
use selvedge_explore::{
    Algorithm, Caps, Fairness, Jobs, Options, Silent, confirm, explore, explore_states,
};
use selvedge_lang::Interpreter;
use selvedge_testkit::golden::Golden;
use selvedge_testkit::looping::{Looping, promises::Promising};
use selvedge_testkit::{Outcomes, Subject, corpus, least, listed_programs, seeds};

fn compiled(name: &str, text: &str, constants: &[(String, i64)]) -> Subject {
    Subject::new(name, text, constants).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// What is found, with the final states; each worker takes `piece` states at a time.
fn found(subject: &Subject, options: &Options, jobs: usize, piece: usize) -> (Report, Outcomes) {
    let options = Options {
        jobs: Jobs(NonZeroUsize::new(jobs).expect("some")),
        caps: Caps { piece, ..options.caps },
        ..options.clone()
    };
    let mut outcomes = Outcomes::default();
    let make = || Interpreter::new(subject.program().clone());
    let report = explore_states(&make, &options, &mut outcomes);
    (report, outcomes)
}

/// Whether the report is the same with every number of threads as with the explorer that has one.
fn check(name: &str, subject: &Subject, options: &Options) -> Report {
    let mut outcomes = Outcomes::default();
    let make = || Interpreter::new(subject.program().clone());
    let alone = explore(Algorithm::States, &make, options, &mut outcomes);
    for (jobs, piece) in [(1, 1), (2, 1), (3, 2), (8, 1), (8, 3)] {
        let (report, seen) = found(subject, options, jobs, piece);
        assert_eq!(format!("{report:?}"), format!("{alone:?}"), "{name}: {jobs} threads");
        assert_eq!(seen, outcomes, "{name}: {jobs} threads");
    }
    alone
}

#[test]
fn random_loops() {
    let (mut violated, mut reduced) = (0, 0);
    for seed in seeds(300) {
        let program = Looping::new(seed);
        if program.reach(2_000).is_none() {
            continue;
        }
        let text = program.to_string();
        let subject = compiled("loops.sel", &text, &[]);
        let name = format!("seed {seed}\n{text}");
        let mut states = [0; 2];
        for (keep_going, unreduced) in [(false, false), (true, true)] {
            let options = Options { keep_going, unreduced, symmetry: true, ..Options::default() };
            let report = check(&name, &subject, &options);
            violated += usize::from(report.verdict() == Verdict::Violated);
            states[usize::from(unreduced)] = report.states.unwrap_or(0);
        }
        reduced += usize::from(states[0] < states[1]);
    }
    assert!(
        violated >= least(20) && reduced >= least(20),
        "{violated} violated, {reduced} reduced"
    );
}

#[test]
fn random_promises() {
    let mut broken = 0;
    for seed in seeds(150) {
        let program = Promising::new(seed);
        if program.whole().is_none() {
            continue;
        }
        let text = program.to_string();
        let subject = compiled("promises.sel", &text, &[]);
        for fairness in [Fairness::Weak, Fairness::Strong] {
            let options = Options { keep_going: true, fairness, ..Options::default() };
            let report = check(&format!("seed {seed}\n{text}"), &subject, &options);
            broken += usize::from(report.verdict() == Verdict::Violated);
        }
    }
    assert!(broken >= least(20), "{broken}");
}

/// Every program of the corpus, up to a number of states: also what is said when there are more is the same.
#[test]
fn the_corpus() {
    let mut seen = [0; 3];
    for file in listed_programs() {
        let name = file.strip_prefix(corpus()).expect("it is there").display().to_string();
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let golden = Golden::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for setting in golden.settings.iter().filter(|setting| !setting.slow) {
            let caps = Caps { kept_states: 1_000, ..Caps::default() };
            let options = Options { caps, symmetry: true, ..Options::default() };
            let Ok(subject) = Subject::new(&name, &text, &setting.constants) else { continue };
            let report = check(&name, &subject, &options);
            seen[report.verdict() as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count >= least(20)), "{seen:?}");
}

/// Hashes of 64 bits: the same states, and the same violations with the same paths; but nothing is verified.
#[test]
fn hashes_instead_of_states() {
    let mut seen = [0; 2];
    for seed in seeds(300) {
        let program = Looping::new(seed);
        if program.reach(2_000).is_none() {
            continue;
        }
        let text = program.to_string();
        let subject = compiled("loops.sel", &text, &[]);
        let options = Options { keep_going: true, ..Options::default() };
        let (exact, finals) = found(&subject, &options, 1, 128);
        let (compact, seen_finals) =
            found(&subject, &Options { hash_compact: true, ..options }, 2, 3);
        assert_eq!(
            (compact.states, &compact.violations, seen_finals),
            (exact.states, &exact.violations, finals),
            "seed {seed}\n{text}"
        );
        let expected = match exact.verdict() {
            Verdict::Verified => Verdict::Inconclusive,
            other => other,
        };
        assert_eq!(compact.verdict(), expected, "seed {seed}\n{text}");
        let told = compact.inconclusive.iter().any(|doubt| doubt.to_string().contains("chance"));
        assert!(told, "{:?}", compact.inconclusive);
        seen[usize::from(expected == Verdict::Violated)] += 1;
    }
    assert!(seen.iter().all(|&count| count >= least(10)), "{seen:?}");
}

/// Hashes of a few bits: many states are taken for one, and violations are missed; those that are found are real.
#[test]
fn few_bits_miss_states_and_say_so() {
    let (mut missed, mut confirmed) = (0, 0);
    for seed in seeds(1_000) {
        let program = Looping::new(seed);
        let Some(expected) = program.reach(2_000) else { continue };
        let text = program.to_string();
        let subject = compiled("loops.sel", &text, &[]);
        let caps = Caps { hash_bits: 3, ..Caps::default() };
        let options = Options { hash_compact: true, caps, ..Options::default() };
        let (report, _) = found(&subject, &options, 1, 128);
        assert_ne!(report.verdict(), Verdict::Verified, "seed {seed}\n{text}");
        assert!(report.states.is_some_and(|states| states <= 8), "{:?}", report.states);
        let is_wrong = !expected.failures.is_empty() || !expected.deadlocks.is_empty();
        missed += usize::from(is_wrong && report.verdict() == Verdict::Inconclusive);
        let make = || Interpreter::new(subject.program().clone());
        for (violation, schedule) in &report.violations {
            let replayed = confirm(&make, violation, schedule);
            assert!(replayed.is_ok(), "seed {seed}: {replayed:?}\n{text}");
            confirmed += 1;
        }
    }
    assert!(missed > 5 && confirmed > 10, "{missed} missed, {confirmed} confirmed");
}

/// The numbers of threads that are spawned depend on the system: one thread explores, and the result is right.
#[test]
fn spawned_threads_are_explored_by_one() {
    let text = "shared x = 0;\nproc add(by: int) { x = x + by; }\n\
                thread a { spawn add(1); spawn add(2); }\nalways x <= 2;\n";
    let subject = compiled("spawns.sel", text, &[]);
    let make = || Interpreter::new(subject.program().clone());
    let jobs = Jobs(NonZeroUsize::new(4).expect("some"));
    let options = Options { jobs, ..Options::default() };
    let report = explore_states(&make, &options, &mut Silent);
    assert_eq!(report.verdict(), Verdict::Violated);
}
