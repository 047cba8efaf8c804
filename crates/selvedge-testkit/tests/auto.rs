//! `auto`: whichever search decides, the answer is that of a plain search; and never less than that of traces alone.

use std::num::NonZeroUsize;

use selvedge_core::{
    Bound, Budget, Ended, Fact, FactValue, Inconclusive, Report, Spent, Step, Verdict,
    ViolationKind,
};
use selvedge_explore::{
    Algorithm, Caps, Divisible, Division, Frontier, Keeper, Limits, Observer, Options, Progress,
    Silent, confirm, explore_divided,
};
use selvedge_lang::Interpreter;
use selvedge_testkit::looping::Looping;
use selvedge_testkit::{
    Outcomes, Profile, Subject, few_seeds, generate, is_campaign, least, listed_programs, programs,
    seeds, shrink,
};

/// Larger programs are left out.
const MOST_STATES: usize = 5_000;

fn compiled(text: &str) -> Subject {
    Subject::new("random.sel", text, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn with_turn(turn: u64) -> Options {
    Options { keep_going: true, caps: Caps { turn, ..Caps::default() }, ..Options::default() }
}

fn explored(subject: &Subject, options: &Options, observer: &mut dyn Observer) -> Report {
    let report = subject.explore_auto(options, observer).unwrap_or_else(|why| panic!("{why}"));
    let make = || Interpreter::new(subject.program().clone());
    for (violation, schedule) in &report.violations {
        confirm(&make, violation, schedule).expect("it is seen again");
    }
    report
}

fn decided_by(report: &Report) -> &'static str {
    report.decision.as_ref().expect("it says who decided").explorer
}

/// Whether a search with such turns finds the same as a plain one, and who decided.
fn check(text: &str, turn: u64) -> Result<Option<&'static str>, String> {
    let subject = compiled(text);
    let Some(expected) = subject.search_states(MOST_STATES) else { return Ok(None) };
    let mut outcomes = Outcomes::default();
    let report = explored(&subject, &with_turn(turn), &mut outcomes);
    if !report.inconclusive.is_empty() {
        return Err(format!("inconclusive: {:?}", report.inconclusive));
    }
    match outcomes.with(&report) == expected {
        true => Ok(Some(decided_by(&report))),
        false => Err(format!("not what a plain search finds: {:?}", expected.violations)),
    }
}

#[test]
fn every_profile_and_turns_of_all_lengths() {
    let mut deciders = [0; 2];
    for profile in Profile::all() {
        for seed in seeds(45) {
            for turn in [1, 40, Caps::default().turn] {
                let sketch = generate(&profile, seed);
                match check(&sketch.to_string(), turn) {
                    Ok(decider) => deciders[usize::from(decider == Some("states"))] += 1,
                    Err(_) => {
                        let fails = &mut |sketch: &_| check(&format!("{sketch}"), turn).is_err();
                        let small = shrink(sketch, fails);
                        let error = check(&small.to_string(), turn).expect_err("it still fails");
                        panic!("{}, seed {seed}, turn {turn}: {error}\n{small}", profile.name);
                    }
                }
            }
        }
    }
    assert!(deciders.iter().all(|&count| count > 40), "{deciders:?}");
}

/// Threads that loop without end: traces cannot decide, unless there is something wrong.
#[test]
fn loops_are_decided() {
    let (mut by_states, mut violated) = (0, 0);
    for seed in seeds(250) {
        let program = Looping::new(seed);
        let Some(expected) = program.reach(MOST_STATES) else { continue };
        let is_wrong = !expected.failures.is_empty() || !expected.deadlocks.is_empty();
        let options = Options { keep_going: false, ..with_turn(Caps::default().turn) };
        let report = explored(&compiled(&program.to_string()), &options, &mut Silent);
        let verdict = if is_wrong { Verdict::Violated } else { Verdict::Verified };
        assert_eq!(report.verdict(), verdict, "seed {seed}\n{program}");
        by_states += usize::from(decided_by(&report) == "states");
        violated += usize::from(is_wrong);
    }
    assert!(
        by_states >= least(20) && violated >= least(10),
        "{by_states} by states, {violated} violated"
    );
}

/// Ends a search that takes too long here.
struct Impatient;

impl Observer for Impatient {
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        (progress().steps > 40_000).then_some(Bound::Work)
    }
}

/// What `optimal` decides, `auto` decides in the same way.
#[test]
fn no_verdict_is_weaker() {
    let (mut compared, mut more) = (0, 0);
    for path in listed_programs() {
        let text = selvedge_testkit::text_of(&path);
        let Ok(subject) = Subject::new("program.sel", &text, &[]) else { continue };
        let options = Options { keep_going: false, ..with_turn(2_000) };
        let traces = subject.explore(Algorithm::Optimal, &options, &mut Impatient);
        let traces = traces.expect("it does not panic").verdict();
        let auto = explored(&subject, &options, &mut Impatient).verdict();
        match traces {
            Verdict::Inconclusive => more += usize::from(auto != Verdict::Inconclusive),
            decided => assert_eq!(auto, decided, "{}", path.display()),
        }
        compared += usize::from(traces != Verdict::Inconclusive);
    }
    assert!(
        compared >= least(50) && more >= 3 * usize::from(is_campaign()),
        "{compared} compared, {more} decided besides"
    );
}

/// If states need too much memory, the answer is that of traces.
#[test]
fn states_that_do_not_fit() {
    let text = "shared x[6] = 0; thread t(i in 0..6) { x[i] = 1; x[i] = 2; x[i] = 3; }
        finally { assert x[0] == 3; }";
    let mut options = with_turn(1);
    options.caps.state_bytes = 1;
    let report = explored(&compiled(text), &options, &mut Silent);
    assert_eq!((report.verdict(), decided_by(&report)), (Verdict::Verified, "parsimonious"));
    let endless = "shared x = 0; thread t { loop { x = 1 - x; } }";
    let report = explored(&compiled(endless), &options, &mut Silent);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let told: Vec<String> = report.inconclusive.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("--algorithm states"), "{told:?}");
    let report = explored(&compiled(endless), &with_turn(1), &mut Silent);
    assert_eq!((report.verdict(), decided_by(&report)), (Verdict::Verified, "states"));
}

/// If an execution was cut as well, neither search can prove anything: it ends, and says how many states there were, and what grows.
#[test]
fn neither_ends() {
    let text =
        "shared n = 0; shared flag = false; thread t(i in 0..2) { loop { n += 1; flag = !flag; } }";
    let mut options = with_turn(1 << 12);
    options.caps.state_bytes = 1 << 16;
    let report = explored(&compiled(text), &options, &mut Silent);
    let [Inconclusive::GaveUp(why), Inconclusive::Bound(Bound::Steps(_))] =
        &report.inconclusive[..]
    else {
        panic!("{:?}", report.inconclusive)
    };
    assert!(why.starts_with("the states do not fit either: "), "{why}");
    let grows = |fact: &Fact| match &fact.value {
        FactValue::Text(text) => fact.name == "most values" && text.starts_with("n: "),
        FactValue::Count(_) => false,
    };
    assert!(report.facts.iter().any(grows), "{:?}", report.facts);
    check_workers(text, &options).expect("the same with several workers");
    // What was found before there was no more room is not lost.
    let wrong = "shared n = 0; thread t { loop { n += 1; } } thread u { assert n != 2; }";
    let report = explored(&compiled(wrong), &options, &mut Silent);
    assert_eq!(report.verdict(), Verdict::Violated, "{report:?}");
}

/// Where each execution is a few steps longer than the one before, most work is to restore states: that counts too.
#[test]
fn executions_that_become_longer() {
    for name in ["states/retransmission.sel", "limits/spinning.sel"] {
        let path = programs().into_iter().find(|path| path.ends_with(name));
        let text = selvedge_testkit::text_of(&path.expect("it is there"));
        let options = Options { keep_going: false, ..with_turn(Caps::default().turn) };
        let report = explored(&compiled(&text), &options, &mut Silent);
        assert_eq!((report.verdict(), decided_by(&report)), (Verdict::Verified, "states"));
        let before = report.decision.and_then(|decision| decision.before);
        assert!(before.is_some_and(|(_, executions)| executions < 5_000), "{name}: {before:?}");
    }
}

/// Where states say nothing, it is `parsimonious`, and with a bound on switches `optimal`.
#[test]
fn where_there_is_no_choice() {
    let subject = compiled("shared x = 0; thread t(i in 0..2) { loop { x = i; } }");
    let (traces, bounded) = (Algorithm::Parsimonious, Algorithm::Optimal);
    let limits = [
        (traces, Limits { executions: Some(3), ..Limits::default() }),
        (traces, Limits { steps: 20, executions: Some(50), ..Limits::default() }),
        (bounded, Limits { preemptions: Some(1), steps: 20, ..Limits::default() }),
        (bounded, Limits { context_switches: Some(2), steps: 20, ..Limits::default() }),
    ];
    for (expected, limits) in limits {
        let options = Options { limits, ..with_turn(1) };
        let auto = explored(&subject, &options, &mut Silent);
        let alone = subject.explore(expected, &options, &mut Silent);
        let alone = alone.expect("it does not panic");
        assert_eq!(decided_by(&auto), expected.info().name);
        assert_eq!((auto.counts, &auto.inconclusive), (alone.counts, &alone.inconclusive));
        assert_eq!(auto.verdict(), Verdict::Inconclusive);
    }
    let races = Options { data_races: true, ..with_turn(1) };
    let report =
        explored(&compiled("shared x = 0; thread t(i in 0..2) { x = i; }"), &races, &mut Silent);
    assert_eq!(report.violations[0].0.kind, ViolationKind::DataRace);
}

/// What an observer was told since the search that counts began.
#[derive(Default)]
struct Told {
    executions: Vec<Ended>,
    polls: usize,
    /// The search ends after so many polls.
    patience: usize,
}

impl Observer for Told {
    fn begins(&mut self) {
        self.executions.clear();
    }

    fn ended(&mut self, _: &[Step], how: Ended) {
        self.executions.push(how);
    }

    fn wants_steps(&self) -> bool {
        true
    }

    fn poll(&mut self, _: &dyn Fn() -> Progress) -> Option<Bound> {
        self.polls += 1;
        (self.polls > self.patience).then_some(Bound::Interrupted)
    }
}

/// An observer is told of the search that decides and of no other; and can end both.
#[test]
fn observers() {
    let subject = compiled("shared x = 0; thread t(i in 0..4) { x = i; x = 4; }");
    for (turn, decider) in [(1, "states"), (Caps::default().turn, "parsimonious")] {
        let mut told = Told { patience: usize::MAX, ..Told::default() };
        let report = explored(&subject, &with_turn(turn), &mut told);
        assert_eq!(decided_by(&report), decider);
        assert_eq!(told.executions.len() as u64, report.counts.total(), "{decider}");
    }
    let report = explored(&subject, &with_turn(1), &mut Told::default());
    assert_eq!(report.inconclusive, [Inconclusive::Bound(Bound::Interrupted)]);
}

/// All of a report that users see.
fn seen(report: &Report) -> String {
    let Report { counts, states, steps, longest, threads, violations, inconclusive, facts, .. } =
        report;
    let decision = &report.decision;
    format!(
        "{decision:?}\n{counts:?} {states:?} {steps} {longest} {threads}\n{violations:?}\n{inconclusive:?} {facts:?}"
    )
}

/// Keeps the first frontier that it is shown, and ends the search: as a process that is killed after it wrote a checkpoint.
struct Once {
    kept: Option<Frontier>,
    budget: Budget,
}

impl Keeper for Once {
    fn is_due(&mut self) -> bool {
        self.kept.is_none()
    }

    fn keep(&mut self, frontier: &Frontier) {
        self.kept = Some(frontier.clone());
        self.budget.end(Spent::Interrupted);
    }
}

/// The report of several workers, who begin somewhere.
fn in_parts(subject: &Subject, options: &Options, jobs: usize, start: Frontier) -> Report {
    let program = subject.program().clone();
    let make = || Interpreter::new(program.clone());
    let jobs = NonZeroUsize::new(jobs).expect("at least one");
    let division = Division { jobs, start, keeper: None };
    let divided = explore_divided(Divisible::Auto, &make, options, &mut Silent, division);
    divided.expect("it can be divided").report
}

/// Where a search of two workers was when it was interrupted.
fn interrupted(subject: &Subject, options: &Options) -> Frontier {
    let program = subject.program().clone();
    let make = || Interpreter::new(program.clone());
    let options = Options { budget: Budget::default(), ..options.clone() };
    let mut keeper = Once { kept: None, budget: options.budget.clone() };
    let jobs = NonZeroUsize::new(2).expect("at least one");
    let division = Division { jobs, start: Frontier::root(), keeper: Some(&mut keeper) };
    let divided = explore_divided(Divisible::Auto, &make, &options, &mut Silent, division);
    let left = divided.expect("it can be divided").left;
    keeper.kept.unwrap_or(left)
}

/// Whether one worker and several, also those who go on where others were interrupted, have the same report. Who decided.
fn check_workers(text: &str, options: &Options) -> Result<&'static str, String> {
    let subject = compiled(text);
    let alone = explored(&subject, options, &mut Silent);
    let middle = interrupted(&subject, options);
    let starts = [(1, Frontier::root()), (2, Frontier::root()), (3, Frontier::root()), (2, middle)];
    for (jobs, start) in starts {
        let several = seen(&in_parts(&subject, options, jobs, start));
        if several != seen(&alone) {
            return Err(format!("{jobs} workers:\n{several}\nalone:\n{}", seen(&alone)));
        }
    }
    Ok(decided_by(&alone))
}

/// Turns end at the same places for every number of workers.
#[test]
fn the_number_of_workers_does_not_show() {
    let mut deciders = [0; 2];
    for (number, profile) in Profile::all().into_iter().enumerate() {
        for seed in few_seeds(12) {
            // All of them in a campaign, in `cargo test` one after the other.
            let turns = [(1, true), (60, false), (700, true)];
            let turns = if is_campaign() { &turns[..] } else { &turns[number % 3..][..1] };
            for &(turn, keep_going) in turns {
                let options = Options { keep_going, ..with_turn(turn) };
                let sketch = generate(&profile, seed);
                match check_workers(&sketch.to_string(), &options) {
                    Ok(decider) => deciders[usize::from(decider == "states")] += 1,
                    Err(_) => {
                        let fails = &mut |sketch: &_| {
                            check_workers(&format!("{sketch}"), &options).is_err()
                        };
                        let small = shrink(sketch, fails).to_string();
                        let error = check_workers(&small, &options);
                        panic!("{}, seed {seed}, turn {turn}: {error:?}\n{small}", profile.name);
                    }
                }
            }
        }
    }
    assert!(deciders.iter().all(|&count| count >= least(20)), "{deciders:?}");
}

/// The same of threads that loop without end.
#[test]
fn the_number_of_workers_does_not_show_in_loops() {
    let mut by_states = 0;
    for seed in few_seeds(60) {
        let program = Looping::new(seed);
        if program.reach(MOST_STATES).is_none() {
            continue;
        }
        for (turn, keep_going) in [(1, true), (500, false)] {
            let options = Options { keep_going, ..with_turn(turn) };
            let decider = check_workers(&program.to_string(), &options);
            let decider = decider.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program}"));
            by_states += usize::from(decider == "states");
        }
    }
    assert!(by_states >= least(10), "{by_states}");
}
