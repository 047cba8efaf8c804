//! What a bound covers, and that the report says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use selvedge_core::{Bound, Ending, Execution, Inconclusive, Report, Step, TraceKey, Verdict};
use selvedge_explore::{
    Algorithm, Equivalence, Limits, Observer, Options, Sampling, Silent, sample,
};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::script::{Op, Script, ScriptSystem};
use selvedge_testkit::{Random, explore};

/// The schedules and classes of all executions.
#[derive(Default)]
struct Seen {
    schedules: BTreeSet<Vec<Step>>,
    classes: BTreeSet<TraceKey>,
}

impl Observer for Seen {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.schedules.insert(execution.steps().to_vec());
        self.classes.insert(TraceKey::of(execution));
    }
}

fn run(algorithm: Algorithm, script: &Script, limits: Limits) -> (Seen, Report) {
    let mut seen = Seen::default();
    let options = Options { keep_going: true, limits, ..Options::default() };
    let report = explore(algorithm, &|| ScriptSystem::new(script.clone()), &options, &mut seen);
    (seen, report)
}

fn at_most(preemptions: u32) -> Limits {
    Limits { preemptions: Some(preemptions), ..Limits::default() }
}

/// Switches away from a thread that could go on, in a program without locks: it could go on unless it
/// was at its end.
fn preemptions(script: &Script, schedule: &[Step]) -> u32 {
    let mut left: Vec<usize> = script.iter().map(Vec::len).collect();
    let mut count = 0;
    for pair in schedule.windows(2) {
        left[pair[0].thread.index()] -= 1;
        count += u32::from(pair[0].thread != pair[1].thread && left[pair[0].thread.index()] > 0);
    }
    count
}

#[test]
fn the_oracle_covers_exactly_the_executions_within_a_bound_on_preemptions() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let script: Script = (0..2 + random.below(2))
            .map(|_| {
                let op = |random: &mut Random| match random.below(2) {
                    0 => Op::Read(random.below(2)),
                    _ => Op::Write(random.below(2)),
                };
                (0..1 + random.below(3)).map(|_| op(&mut random)).collect()
            })
            .collect();
        let (all, _) = run(Algorithm::Oracle, &script, Limits::default());
        for most in 0..3 {
            let (seen, report) = run(Algorithm::Oracle, &script, at_most(most));
            let expected: BTreeSet<Vec<Step>> = all
                .schedules
                .iter()
                .filter(|schedule| preemptions(&script, schedule) <= most)
                .cloned()
                .collect();
            assert_eq!(seen.schedules, expected, "{script:?} with {most}");
            // Whether anything was cut is said, and that nothing else was.
            let cut = Inconclusive::Bound(Bound::Preemptions { most, exact: true });
            let complete = expected.len() == all.schedules.len();
            assert_eq!(report.inconclusive.contains(&cut), !complete, "{script:?} with {most}");
        }
    }
}

/// Any switches from one thread to another.
fn context_switches(schedule: &[Step]) -> u32 {
    schedule.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count() as u32
}

#[test]
fn a_bound_on_context_switches_is_kept_and_told() {
    let mut random = Random::new(3);
    for _ in 0..150 {
        let script: Script = (0..2 + random.below(2))
            .map(|_| {
                let op = |random: &mut Random| {
                    [Op::Read(0), Op::Write(0), Op::Write(1), Op::Add(1)][random.below(4)]
                };
                (0..1 + random.below(3)).map(|_| op(&mut random)).collect()
            })
            .collect();
        let (all, _) = run(Algorithm::Oracle, &script, Limits::default());
        for most in 1..5 {
            let limits = Limits { context_switches: Some(most), ..Limits::default() };
            let within = |schedule: &&Vec<Step>| context_switches(schedule) <= most;
            let (seen, report) = run(Algorithm::Oracle, &script, limits.clone());
            let expected: BTreeSet<_> = all.schedules.iter().filter(within).cloned().collect();
            assert_eq!(seen.schedules, expected, "{script:?} with {most}");
            let cut = Inconclusive::Bound(Bound::ContextSwitches { most, exact: true });
            let complete = expected.len() == all.schedules.len();
            assert_eq!(report.inconclusive.contains(&cut), !complete, "{script:?} with {most}");
            for &algorithm in Algorithm::ALL {
                let (seen, report) = run(algorithm, &script, limits.clone());
                assert!(seen.schedules.iter().all(|schedule| within(&schedule)), "{algorithm:?}");
                if seen.classes != all.classes {
                    assert_eq!(report.verdict(), Verdict::Inconclusive, "{algorithm:?} {script:?}");
                }
            }
        }
    }
}

#[test]
fn a_reduction_within_a_bound_stays_within_it_and_claims_nothing() {
    let mut random = Random::new(2);
    for _ in 0..200 {
        let script: Script = (0..3)
            .map(|_| (0..2).map(|_| [Op::Read(0), Op::Write(0)][random.below(2)]).collect())
            .collect();
        let (all, _) = run(Algorithm::Oracle, &script, Limits::default());
        for &algorithm in Algorithm::ALL {
            for most in 0..2 {
                let (seen, report) = run(algorithm, &script, at_most(most));
                let within = |schedule: &Vec<Step>| preemptions(&script, schedule) <= most;
                assert!(seen.schedules.iter().all(within), "{algorithm:?} {script:?}");
                if seen.classes != all.classes {
                    assert_eq!(report.verdict(), Verdict::Inconclusive, "{algorithm:?} {script:?}");
                }
            }
        }
    }
}

/// Explores a program with every explorer: a script, or for those that compare states, which a script cannot tell, a text.
fn with_all(script: &Script, text: &str, mut check: impl FnMut(Algorithm, Explored<'_>)) {
    let compiled = compile("test.sel", text, &[]).expect("the program is right");
    for &algorithm in Algorithm::ALL {
        check(algorithm, &|options: &Options, observer: &mut dyn Observer| {
            if algorithm.info().equivalence == Equivalence::State {
                let make = || Interpreter::new(Arc::clone(&compiled.program));
                return explore(algorithm, &make, options, observer);
            }
            explore(algorithm, &|| ScriptSystem::new(script.clone()), options, observer)
        });
    }
}

/// An exploration that only needs its options and its observer.
type Explored<'a> = &'a dyn Fn(&Options, &mut dyn Observer) -> Report;

#[test]
fn limits_give_inconclusive() {
    let script: Script = vec![vec![Op::Write(0), Op::Read(0), Op::Write(0)]; 2];
    let text = "shared x = 0; thread t(i in 0..2) { x = i; let v = x; x = v + 2; }";
    with_all(&script, text, |algorithm, explored| {
        let run = |limits| {
            let options = Options { keep_going: true, limits, ..Options::default() };
            explored(&options, &mut Silent)
        };
        let report = run(Limits { executions: Some(2), ..Limits::default() });
        assert_eq!(report.counts.total(), 2, "{algorithm:?}");
        assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Executions(2))]);

        let report = run(Limits { steps: 4, ..Limits::default() });
        if algorithm == Algorithm::States {
            assert_eq!(report.verdict(), Verdict::Verified, "states have no length");
            return;
        }
        assert!(report.counts.cut > 0 && report.counts.complete == 0, "{algorithm:?}");
        assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Steps(4))]);

        // An execution that is as long as the limit is not cut.
        let report = run(Limits { steps: 6, ..Limits::default() });
        assert_eq!(report.verdict(), Verdict::Verified, "{algorithm:?}");
    });
}

/// Stops at once.
struct Impatient;

impl Observer for Impatient {
    fn poll(&mut self, progress: &dyn Fn() -> selvedge_explore::Progress) -> Option<Bound> {
        let fraction = progress().fraction;
        assert!((0.0..=1.0).contains(&fraction), "{fraction}");
        Some(Bound::Interrupted)
    }
}

#[test]
fn an_observer_ends_the_search_and_keeps_what_was_found() {
    let script: Script = vec![vec![Op::Lock(0), Op::Lock(1)], vec![Op::Lock(1), Op::Lock(0)]];
    let text = "mutex m; mutex n; thread a { lock m; lock n; } thread b { lock n; lock m; }";
    with_all(&script, text, |algorithm, explored| {
        let report = explored(&Options::default(), &mut Impatient);
        assert_eq!(report.counts.total(), 1, "{algorithm:?}");
        assert!(report.inconclusive.contains(&Inconclusive::Bound(Bound::Interrupted)));
    });
}

#[test]
fn the_share_that_is_done_grows_to_the_whole() {
    #[derive(Default)]
    struct Growing(Vec<f64>);
    impl Observer for Growing {
        fn poll(&mut self, progress: &dyn Fn() -> selvedge_explore::Progress) -> Option<Bound> {
            let now = progress().fraction;
            assert!((0.0..=1.0).contains(&now), "{now}");
            self.0.push(now);
            None
        }
    }
    let script: Script = vec![vec![Op::Write(0), Op::Read(0)]; 3];
    let text = "shared x = 0; shared y = 0; thread t(i in 0..3) { x = i; y = y + x; }";
    with_all(&script, text, |algorithm, explored| {
        let mut growing = Growing::default();
        let _ = explored(&Options::default(), &mut growing).verdict();
        let shares = growing.0;
        // These two do not count by what is open along the current execution.
        let by_branches = !matches!(algorithm, Algorithm::Parsimonious | Algorithm::States);
        assert!(!by_branches || shares[0] == 0.0, "{algorithm:?} begins at {}", shares[0]);
        assert!(shares[shares.len() - 1] > 0.5, "{algorithm:?} ends at {shares:?}");
    });
}

#[test]
fn samples_are_repeatable_find_bugs_and_prove_nothing() {
    let harmless: Script = vec![vec![Op::Write(0), Op::Read(0)]; 3];
    let deadlock: Script = vec![
        vec![Op::Lock(0), Op::Lock(1), Op::Unlock(1), Op::Unlock(0)],
        vec![Op::Lock(1), Op::Lock(0), Op::Unlock(0), Op::Unlock(1)],
    ];
    for sampling in [Sampling::Uniform, Sampling::Pct { depth: 2 }] {
        let run = |script: &Script, seed: u64, observer: &mut dyn Observer| {
            let make = || ScriptSystem::new(script.clone());
            sample(sampling, 100, seed, &make, &Options::default(), observer)
        };
        let (mut first, mut second) = (Seen::default(), Seen::default());
        let report = run(&harmless, 7, &mut first);
        let _ = run(&harmless, 7, &mut second).verdict();
        assert_eq!(first.schedules, second.schedules, "{sampling:?}");
        assert!(first.schedules.len() > 5, "{sampling:?}: {}", first.schedules.len());
        assert_eq!(report.verdict(), Verdict::Inconclusive);
        assert_eq!(report.counts.complete, 100);
        assert_eq!(run(&deadlock, 7, &mut Silent).verdict(), Verdict::Violated, "{sampling:?}");
    }
}
