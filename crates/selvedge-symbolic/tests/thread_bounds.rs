//! Bounds on the context switches to single threads cover what they say: `token` and `mat` find what all
//! interleavings within the bounds show, no more and no less.
//!
//! The interleavings are enumerated here, without an explorer. What is wrong in an execution is shown by its steps up to
//! the first that fails there, and these are counted.
//!
//! `SELVEDGE_FUZZ_SECONDS=600 cargo test --release -p selvedge-symbolic --test it thread_bounds` goes on with new
//! programs for that long, for each profile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::{
    Budget, Describe as _, Effect, Fault, Status, Step, System as _, ThreadId, Violation,
    ViolationKind,
};
use selvedge_lang::Interpreter;
use selvedge_lang::ir::Program;
use selvedge_symbolic::{Options, Scheme, ThreadBound, check};
use selvedge_testkit::{Construct, Profile, Random, Sketch, Subject, generate, seeds, shrink};

const TOKENS: [Scheme; 2] = [Scheme::Token, Scheme::Mat];

/// What is wrong and where. Deadlocks are one violation, whichever threads wait.
type Wrong = (ViolationKind, Option<(u32, u32)>);
type Found = BTreeSet<Wrong>;

fn wrong(violation: &Violation) -> Wrong {
    match violation.kind {
        ViolationKind::Deadlock => (ViolationKind::Deadlock, None),
        kind => (kind, violation.places.first().map(|place| (place.line, place.column))),
    }
}

/// How many context switches to each thread an execution has, of those that exist.
fn switches(system: &Interpreter, steps: &[Step]) -> BTreeMap<String, u32> {
    let ids = (0..system.thread_count()).map(ThreadId::new);
    let ids = ids.filter(|&id| system.status(id) != Status::Absent);
    let mut counts: BTreeMap<String, u32> = ids.map(|id| (system.thread_name(id), 0)).collect();
    for pair in steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread) {
        *counts.entry(system.thread_name(pair[1].thread)).or_default() += 1;
    }
    counts
}

/// Whether the numbers are within the bounds.
fn are_within(counts: &BTreeMap<String, u32>, bounds: &[ThreadBound]) -> bool {
    bounds.iter().all(|bound| {
        counts
            .iter()
            .filter(|(name, _)| bound.applies_to(name))
            .all(|(_, &count)| count >= bound.least && bound.most.is_none_or(|most| count <= most))
    })
}

/// All interleavings of a program, one step at a time.
struct All<'a> {
    system: Interpreter,
    bounds: &'a [Vec<ThreadBound>],
    /// Per entry of `bounds`.
    found: Vec<Found>,
    steps: Vec<Step>,
    /// How many steps may still be taken in all.
    left: u32,
}

impl All<'_> {
    fn note(&mut self, wrong: &Wrong) {
        let counts = switches(&self.system, &self.steps);
        for (found, bounds) in self.found.iter_mut().zip(self.bounds) {
            if are_within(&counts, bounds) {
                found.insert(*wrong);
            }
        }
    }

    /// Goes on from here; `None` if there is too much. `shown`: what the steps so far have shown.
    fn explore(&mut self, shown: &Found) -> Option<()> {
        let mut is_maximal = true;
        for thread in (0..self.system.thread_count()).map(ThreadId::new) {
            if self.system.status(thread) != Status::Enabled {
                continue;
            }
            is_maximal = false;
            for choice in 0..self.system.choices(thread) {
                self.left = self.left.checked_sub(1)?;
                let mut effect = Effect::default();
                let step = Step { thread, choice };
                self.system.step(step, &mut effect);
                self.steps.push(step);
                let mut shown = shown.clone();
                if let Some(Fault::Violation(violation)) = effect.fault
                    && shown.insert(wrong(&violation))
                {
                    self.note(&wrong(&violation));
                }
                self.explore(&shown)?;
                self.steps.pop();
                let steps = self.steps.clone();
                self.system.rewind(&steps);
            }
        }
        if is_maximal && let Some(violation) = self.system.end().1 {
            self.note(&wrong(&violation));
        }
        Some(())
    }
}

/// What all interleavings show, per entry of `bounds`; `None` if there are too many.
fn enumerated(program: &Arc<Program>, bounds: &[Vec<ThreadBound>]) -> Option<Vec<Found>> {
    let found = vec![Found::new(); bounds.len()];
    let system = Interpreter::new(program.clone());
    let mut all = All { system, bounds, found, steps: Vec::new(), left: 60_000 };
    all.explore(&Found::new()).map(|()| all.found)
}

/// What an encoding finds; `None` if it takes too long, or if there is more that it does not cover.
fn encoded(
    program: &Arc<Program>,
    scheme: Scheme,
    bounds: &[ThreadBound],
) -> Result<Option<Found>, String> {
    // By work, not by time: the same on every machine.
    let budget = Budget::unlimited().with_work(40);
    let thread_bounds = bounds.to_vec();
    let options = Options { scheme, thread_bounds, keep_going: true, ..Options::default() };
    let outcome = check(program, &options, &budget, &|| Duration::ZERO);
    if let Some(mistake) = outcome.mistakes.first() {
        return Err(mistake.clone());
    }
    let mut found = Found::new();
    for (violation, schedule) in &outcome.report.violations {
        let mut system = Interpreter::new(program.clone());
        for &step in &schedule.steps {
            system.step(step, &mut Effect::default());
        }
        let counts = switches(&system, &schedule.steps);
        if !are_within(&counts, bounds) {
            return Err(format!("{counts:?}: {schedule}: {}", violation.message));
        }
        found.insert(wrong(violation));
    }
    let reasons: Vec<String> =
        outcome.report.inconclusive.iter().map(ToString::to_string).collect();
    let is_all = reasons.iter().all(|reason| reason.starts_with("only executions with"));
    Ok((is_all && !reasons.is_empty()).then_some(found))
}

/// How many comparisons came to an end; `Err` if an encoding found something else than there is.
fn compare(
    program: &Arc<Program>,
    scheme: Scheme,
    bounds: &[Vec<ThreadBound>],
) -> Result<u64, String> {
    let Some(expected) = enumerated(program, bounds) else { return Ok(0) };
    let mut decided = 0;
    for (bounds, expected) in bounds.iter().zip(expected) {
        let told: Vec<String> = bounds.iter().map(ToString::to_string).collect();
        let told = told.join(" ");
        match encoded(program, scheme, bounds).map_err(|problem| format!("{told}: {problem}"))? {
            Some(seen) if seen != expected => {
                return Err(format!("{told}: found {seen:?}, not {expected:?}"));
            }
            seen => decided += u64::from(seen.is_some()),
        }
    }
    Ok(decided)
}

/// Random bounds on threads of the program and on those that they create.
fn some_bounds(program: &Program, seed: u64) -> Vec<Vec<ThreadBound>> {
    let mut random = Random::new(seed);
    let mut names: Vec<String> = program.threads.iter().map(|thread| thread.full_name()).collect();
    names.push(ThreadBound::EVERY.to_owned());
    names.extend(program.procedures.iter().map(|procedure| procedure.name.clone()));
    let mut bound = || {
        let thread = names[random.below(names.len())].clone();
        let least = random.below(4).saturating_sub(1) as u32;
        let most = (random.below(4) > 0).then(|| least + random.below(3) as u32);
        ThreadBound { thread, least, most }
    };
    let mut all: Vec<Vec<ThreadBound>> = Vec::new();
    for count in [1, 1, 2, 2, 3] {
        all.push((0..count).map(|_| bound()).collect());
    }
    // Upper bounds alone: there `mat` keeps few schedules of a class.
    let upper = all.iter().map(|bounds| {
        let bounds = bounds.iter().cloned();
        bounds
            .map(|bound| ThreadBound { least: 0, most: bound.most.or(Some(1)), ..bound })
            .collect()
    });
    let upper: Vec<Vec<ThreadBound>> = upper.collect();
    all.extend(upper);
    all
}

fn compare_sketch(sketch: &Sketch, scheme: Scheme, seed: u64) -> Result<u64, String> {
    let Ok(subject) = Subject::new("random.sel", &sketch.to_string(), &[]) else { return Ok(0) };
    let program = subject.program();
    compare(program, scheme, &some_bounds(program, seed))
}

fn campaign(mut profile: Profile, programs: u64) {
    profile.interleavings = 1_000.0;
    let (mut tried, mut decided) = (0, 0);
    for seed in seeds(programs) {
        tried += 1;
        let sketch = generate(&profile, seed);
        for scheme in TOKENS {
            match compare_sketch(&sketch, scheme, seed) {
                Ok(count) => decided += count,
                Err(problem) => {
                    let fails =
                        &mut |sketch: &Sketch| compare_sketch(sketch, scheme, seed).is_err();
                    let small = shrink(sketch, fails);
                    let now = compare_sketch(&small, scheme, seed).err().unwrap_or_default();
                    panic!("{} {seed}: {problem}\nsmaller: {now}\n{small}", scheme.name());
                }
            }
        }
    }
    assert!(decided > 5 * tried, "only {decided} comparisons of {tried} programs came to an end");
}

#[test]
fn memory() {
    campaign(Profile::memory(), 40);
}

#[test]
fn locks() {
    campaign(Profile::locks(), 40);
}

/// Tasks, and steps that no other thread can observe.
#[test]
fn tasks_and_choices() {
    use Construct::*;
    let mut profile = Profile::ordinary();
    profile.always = vec![ReadWrite, Assert];
    profile.sometimes = vec![Spawn, Choose, Yield, Branch, Assume];
    campaign(profile, 40);
}

#[test]
fn waiting() {
    campaign(Profile::waiting(), 40);
}

fn bounds(text: &str) -> Vec<ThreadBound> {
    text.split(' ').map(|bound| bound.parse().unwrap()).collect()
}

fn compiled(text: &str) -> Arc<Program> {
    selvedge_lang::compile("t.sel", text, &[]).unwrap().program
}

/// Replicas fail at one place: the second failure shows nothing new, however many switches come before it.
/// And a thread that fails has changed something that another one needs in order to fail.
#[test]
fn failures_end_an_execution_once() {
    let texts = [
        "shared x = 0; thread t(i in 0..2) { x = 1; let v = x; assert v == 0; }",
        "shared x = 0; thread t { x = 1; assert false; } thread u { let _a = x; let v = x; assert v == 0; }",
        "shared x = 0; thread t { x = 1; } thread u { x = 2; let _v = x; } finally { assert x == 1; }",
        "mutex a; mutex b; thread t { lock a { lock b { } } } thread u { lock b { lock a { } } }",
        // A step that takes nothing, since its thread holds the lock already, excludes no other.
        "rwlock l; thread t { read_lock l { write_lock l { } } } thread u { read_lock l { write_lock l { } } }",
    ];
    let all = [
        "t=0",
        "t=1-",
        "t=2-2 u=1",
        "u=2-4 *=2",
        "u=1-1",
        "u=2-",
        "*=1-",
        "*=1",
        "t[1]=2-",
        "t[0]=1-1",
    ];
    for text in texts {
        let all: Vec<Vec<ThreadBound>> = all.iter().map(|text| bounds(text)).collect();
        for scheme in TOKENS {
            let decided = compare(&compiled(text), scheme, &all);
            assert_eq!(decided, Ok(all.len() as u64), "{}: {text}", scheme.name());
        }
    }
}

/// With fewer repetitions a thread has fewer turns than it should: that is no proof.
#[test]
fn what_a_loop_does_later_is_not_covered_by_what_it_did() {
    let text = "shared x = 0; shared n = 0;
        thread t { while x < 3 { n += 1; } assert false; }
        thread u { for i in 0..3 { x = i + 1; } }";
    for scheme in TOKENS {
        let thread_bounds = bounds("t=4-");
        let options = Options { scheme, thread_bounds, unroll: 1, ..Options::default() };
        let budget = Budget::unlimited();
        let outcome = check(&compiled(text), &options, &budget, &|| Duration::ZERO);
        let reasons: Vec<String> =
            outcome.report.inconclusive.iter().map(ToString::to_string).collect();
        let goes_on = reasons.iter().any(|reason| reason.contains("--unroll"));
        assert!(goes_on, "{}: {reasons:?}", scheme.name());
    }
}
