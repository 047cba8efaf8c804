//! `states` on random programs: the final states, deadlocks and failing steps are those of other searches, with persistent
//! sets and without; and on programs that loop without end, also the number of states.
//!
//! `SELVEDGE_FUZZ_SECONDS=100 cargo test --release -p selvedge-testkit --test it states` continues with new
//! programs for that long, for each kind of program; with `SELVEDGE_FUZZ_SEED=1000000` it begins with others.

use selvedge_core::{
    Bound, Conditions, Effect, FactValue, States, Status, Step, System, ThreadId, Verdict,
    ViolationKind,
};
use selvedge_explore::{Algorithm, Caps, Observer, Options, Progress, Silent, confirm};
use selvedge_lang::Interpreter;
use selvedge_testkit::looping::{Looping, Reached};
use selvedge_testkit::script::{self, ScriptSystem};
use selvedge_testkit::{
    Outcomes, Profile, Random, Subject, explore, generate, is_campaign, seeds, shrink,
};

/// Larger programs are left out.
const MOST_STATES: usize = 5_000;

/// What `states` found: how many states, and how the program can end.
fn found(subject: &Subject, unreduced: bool) -> (u64, Outcomes) {
    let options = Options { keep_going: true, unreduced, ..Options::default() };
    let mut outcomes = Outcomes::default();
    let report = subject.explore(Algorithm::States, &options, &mut outcomes);
    let report = report.unwrap_or_else(|message| panic!("{message}"));
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    let make = || Interpreter::new(subject.program().clone());
    for (violation, schedule) in &report.violations {
        let confirmed = confirm(&make, violation, schedule);
        assert!(confirmed.is_ok(), "{violation:?} {schedule}: {confirmed:?}");
    }
    (report.states.expect("it counts states"), outcomes.with(&report))
}

fn compiled(text: &str) -> Subject {
    Subject::new("random.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Whether both ways of searching find the same as a plain search; how many states each has.
fn check(text: &str) -> Result<Option<[u64; 2]>, String> {
    let subject = compiled(text);
    let Some(expected) = subject.search_states(MOST_STATES) else { return Ok(None) };
    let mut states = [0; 2];
    for unreduced in [false, true] {
        let (count, outcomes) = found(&subject, unreduced);
        states[usize::from(unreduced)] = count;
        if outcomes != expected {
            return Err(format!(
                "unreduced: {unreduced}\n found {} final states and {:?}\n expected {} and {:?}",
                outcomes.states.len(),
                outcomes.violations,
                expected.states.len(),
                expected.violations
            ));
        }
    }
    Ok(Some(states))
}

#[test]
#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn every_profile() {
    for profile in Profile::all() {
        let (mut compared, mut tried, mut states) = (0, 0, [0; 2]);
        for seed in seeds(150) {
            let sketch = generate(&profile, seed);
            tried += 1;
            match check(&sketch.to_string()) {
                Ok(Some(counts)) => {
                    compared += 1;
                    (0..2).for_each(|mode| states[mode] += counts[mode]);
                }
                Ok(None) => {}
                Err(_) => {
                    let small = shrink(sketch, &mut |sketch| check(&sketch.to_string()).is_err());
                    let error = check(&small.to_string()).expect_err("it still fails");
                    panic!("profile {}, seed {seed}: {error}\n{small}", profile.name);
                }
            }
        }
        if is_campaign() {
            eprintln!("{}: {compared} of {tried} programs, states {states:?}", profile.name);
        }
        assert!(compared * 2 >= tried, "{}: only {compared} of {tried}", profile.name);
        assert!(states[0] < states[1], "{}: nothing is reduced, {states:?}", profile.name);
    }
}

/// Threads that loop: the number of states is exactly that of a semantics that shares nothing with the tool.
#[test]
#[expect(clippy::print_stderr, reason = "a campaign tells what it did")]
fn loops() {
    let (mut compared, mut states, mut most) = (0, [0; 2], 0);
    let mut kinds = [0; 3];
    for seed in seeds(2_000) {
        let program = Looping::new(seed);
        let text = program.to_string();
        let Some(expected) = program.reach(MOST_STATES) else { continue };
        let subject = compiled(&text);
        compared += 1;
        most = most.max(expected.states);
        kinds[0] += usize::from(expected.finals == 0);
        kinds[1] += usize::from(!expected.failures.is_empty());
        kinds[2] += usize::from(!expected.deadlocks.is_empty());
        for unreduced in [false, true] {
            let (count, outcomes) = found(&subject, unreduced);
            let mut reached = Reached { states: expected.states, ..Reached::default() };
            reached.finals = outcomes.states.len();
            for (kind, places) in outcomes.violations {
                let lines: Vec<u32> = places.iter().map(|place| place.line).collect();
                match kind {
                    ViolationKind::Assertion => drop(reached.failures.insert(lines[0])),
                    ViolationKind::Deadlock => drop(reached.deadlocks.insert(lines)),
                    other => panic!("seed {seed}: {other}\n{text}"),
                }
            }
            assert_eq!(reached, expected, "seed {seed}, unreduced: {unreduced}\n{text}");
            let bound = if unreduced { expected.states as u64..=u64::MAX } else { 1..=u64::MAX };
            assert!(
                bound.contains(&count) && count <= expected.states as u64,
                "seed {seed}, unreduced: {unreduced}: {count} of {} states\n{text}",
                expected.states
            );
            states[usize::from(unreduced)] += count;
        }
    }
    if is_campaign() {
        eprintln!("{compared} programs, up to {most} states, {states:?} in all; {kinds:?}");
    }
    assert!(kinds.iter().all(|&kind| kind * 20 >= compared), "{kinds:?} of {compared}");
    assert!(states[0] < states[1], "nothing is reduced, {states:?}");
}

/// A send depends on whether its receiver has ended, which no access of the receiver shows.
#[test]
fn a_receiver_that_may_end() {
    let text = "shared x = 0; thread a { send b(1); } thread b { x = 1; }";
    assert!(check(text).expect("both searches find the same").is_some());
    let (_, outcomes) = found(&compiled(text), false);
    assert_eq!(outcomes.violations.first().map(|it| it.0), Some(ViolationKind::Misuse));
}

/// A thread that waits for another to end may do anything afterwards, and what lets it go on is no access of that other.
#[test]
fn a_join_that_waits() {
    let text = "shared x = 0; shared y = 0; thread t { x = 1; }
        thread j { let h = spawn u(); join h; x = 2; } proc u() { y = 1; }";
    assert!(check(text).expect("both searches find the same").is_some());
    let (_, outcomes) = found(&compiled(text), false);
    assert_eq!(outcomes.states.len(), 2, "x is 1 or 2 at the end");
}

/// Which threads have changed is marked in 64 bits: with more threads a state is written anew.
#[test]
fn more_threads_than_are_marked() {
    let chain = |last: u32| {
        compiled(&format!(
            "shared x = 0; thread t(i in 0..70) {{ await x == i; x = i + 1; }} finally {{ assert x == {last}; }}"
        ))
    };
    for unreduced in [false, true] {
        let (states, outcomes) = found(&chain(70), unreduced);
        assert_eq!((states, outcomes.violations.len()), (141, 0));
        assert_eq!(found(&chain(69), unreduced).1.violations.len(), 1);
    }
}

/// A saved state is as good as the steps that led to it: what follows is the same, and so is its name.
#[test]
fn states_are_restored() {
    for profile in Profile::all() {
        for seed in seeds(40) {
            let text = generate(&profile, seed).to_string();
            let program = compiled(&text).program().clone();
            walk(&mut Interpreter::new(program), &mut Random::new(seed), &text);
        }
    }
}

/// Walks at random; at every step the state is saved, left, and restored.
fn walk(system: &mut Interpreter, random: &mut Random, text: &str) {
    let (mut saved, mut again, mut effect) = (Vec::new(), Vec::new(), Effect::default());
    for _ in 0..60 {
        let steps = enabled(system);
        let key = system.state();
        saved.clear();
        system.save(&mut saved);
        if steps.is_empty() {
            return;
        }
        system.step(*random.pick(&steps), &mut effect);
        system.restore(&saved);
        assert_eq!((enabled(system), system.state()), (steps.clone(), key.clone()), "{text}");
        again.clear();
        system.save(&mut again);
        assert_eq!(again, saved, "{text}");
        system.step(*random.pick(&steps), &mut effect);
        system.rewind(&[]);
        assert_eq!(system.state(), key, "{text}");
        system.step(*random.pick(&steps), &mut effect);
    }
    // The steps before the last restore are forgotten, and the initial state is not.
    let mut fresh = Interpreter::new(system.program().clone());
    system.restart();
    assert_eq!((enabled(system), system.state()), (enabled(&fresh), fresh.state()), "{text}");
}

fn enabled(system: &Interpreter) -> Vec<Step> {
    (0..system.thread_count())
        .map(ThreadId::new)
        .filter(|&thread| system.status(thread) == Status::Enabled)
        .flat_map(|thread| (0..system.choices(thread)).map(move |choice| Step { thread, choice }))
        .collect()
}

/// A system without the ability is not verified.
#[test]
fn without_states_nothing_is_proved() {
    let make = || ScriptSystem::new(vec![vec![script::Op::Write(0)]]);
    let report = explore(Algorithm::States, &make, &Options::default(), &mut Silent);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    assert!(report.inconclusive[0].to_string().contains("cannot save its state"));
}

/// Ends a search that has some thousand states.
struct Impatient;

impl Observer for Impatient {
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        (progress().states > Some(20_000)).then_some(Bound::Memory)
    }
}

/// Limits are kept, and the answer says which variable grows.
#[test]
fn too_many_states() {
    let text = "shared x = 0; shared y = 0; thread a { loop { x = x + 1; } } thread b { loop { y = 1 - y; } }";
    let report = compiled(text).explore(Algorithm::States, &Options::default(), &mut Impatient);
    let report = report.unwrap_or_else(|message| panic!("{message}"));
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let grows = report.facts.iter().find(|fact| fact.name == "most values").expect("it says so");
    assert!(matches!(&grows.value, FactValue::Text(text) if text.starts_with("x")), "{grows:?}");
}

/// Data races are about executions.
#[test]
fn data_races_are_not_claimed() {
    let text = "shared x = 0; thread a { x = 1; } thread b { x = 2; }";
    let options = Options { data_races: true, ..Options::default() };
    let report = compiled(text).explore(Algorithm::States, &options, &mut Silent);
    assert_eq!(report.expect("it does not panic").verdict(), Verdict::Inconclusive);
}

/// More states than are kept: the explorer gives up, and says so.
#[test]
fn more_states_than_are_kept() {
    let subject = compiled("shared x = 0; thread t { for i in 0..9 { x = i; } }");
    let explored = |kept_states| {
        let caps = Caps { kept_states, ..Caps::default() };
        let options = Options { caps, ..Options::default() };
        subject.explore(Algorithm::States, &options, &mut Silent).expect("it is not too large")
    };
    let report = explored(u32::MAX);
    assert_eq!(report.verdict(), Verdict::Verified);
    let states = u32::try_from(report.states.expect("it counts states")).expect("it is small");
    assert_eq!(explored(states).verdict(), Verdict::Verified);
    let report = explored(states - 1);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let reason = format!("there are more than {} states", states - 1);
    let told: Vec<String> = report.inconclusive.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|text| text.contains(&reason)), "{told:?}");
}
