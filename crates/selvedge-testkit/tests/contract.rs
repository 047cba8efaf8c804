//! What an explorer may rely on, tested directly on random programs: the contract of
//! [`System`](selvedge_core::System).
//!
//! Brute force finds a footprint that tells too little only if the classes come out wrong. Here two
//! independent steps are taken in both orders, and a step that waits is watched while others run.
//! `SELVEDGE_FUZZ_SECONDS=600` continues with new programs for that long, for each profile.

use selvedge_core::{
    Describe, Effect, Flexibility, Footprint, Mode, Status, Step, System, ThreadId,
};
use selvedge_explore::Algorithm;
use selvedge_lang::Interpreter;
use selvedge_testkit::compare;
use selvedge_testkit::{Profile, Random, Sketch, Subject, generate, seeds, shrink};

#[test]
fn everything() {
    campaign(&Profile::everything(), 2_000);
}

#[test]
fn waiting() {
    campaign(&Profile::waiting(), 2_000);
}

/// Thread numbers depend on what a system has run before. Nothing that is shown may depend on them,
/// nor whom an alternative of a signal wakes.
#[test]
fn numbers_of_threads_do_not_show() {
    for (name, text) in [
        ("signal", include_str!("../../../programs/regressions/signal-to-tasks.sel")),
        ("deadlock", include_str!("../../../programs/regressions/tasks-that-wait.sel")),
    ] {
        let subject = Subject::new(name, text, &[]).expect("it compiles");
        for &algorithm in Algorithm::ALL {
            let found = subject.classes(algorithm, &compare::thorough(1_000)).expect("it runs");
            assert!(!found.report.violations.is_empty(), "{name}");
            compare::replays(&subject, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

fn campaign(profile: &Profile, programs: u64) {
    let mut swapped = 0;
    for seed in seeds(programs) {
        let sketch = generate(profile, seed);
        match check(&sketch, seed) {
            Ok(pairs) => swapped += pairs,
            Err(_) => report(profile, seed, sketch),
        }
    }
    assert!(swapped > programs, "only {swapped} pairs of independent steps were met");
}

fn report(profile: &Profile, seed: u64, sketch: Sketch) -> ! {
    let small = shrink(sketch, &mut |sketch| check(sketch, seed).is_err());
    let broken = check(&small, seed).expect_err("internal error: it fails no more");
    panic!("{broken} (profile {}, seed {seed})\n\n{small}", profile.name);
}

/// Walks through a program at random; returns the number of pairs that were swapped.
fn check(sketch: &Sketch, seed: u64) -> Result<u64, String> {
    let text = sketch.to_string();
    let subject = Subject::new("random.sel", &text, &[])
        .unwrap_or_else(|error| panic!("a random program does not compile:\n{error}\n{text}"));
    let mut swapped = 0;
    for round in 0..4 {
        let mut walk = Walk {
            system: Interpreter::new(subject.program().clone()),
            steps: Vec::new(),
            random: Random::new(seed ^ (round << 40)),
        };
        loop {
            swapped += walk.swap_all()?;
            walk.watch_all()?;
            let Some(step) = walk.any_step(None) else { break };
            walk.take(step);
        }
    }
    Ok(swapped)
}

struct Walk {
    system: Interpreter,
    /// From the start to the state of the system.
    steps: Vec<Step>,
    random: Random,
}

impl Walk {
    fn threads(&self) -> Vec<ThreadId> {
        (0..self.system.thread_count()).map(ThreadId::new).collect()
    }

    fn enabled(&self) -> Vec<ThreadId> {
        let mut threads = self.threads();
        threads.retain(|&thread| self.system.status(thread) == Status::Enabled);
        threads
    }

    /// A step that can be taken, of any thread but `but`.
    fn any_step(&mut self, but: Option<ThreadId>) -> Option<Step> {
        let mut enabled = self.enabled();
        enabled.retain(|&thread| Some(thread) != but);
        if enabled.is_empty() {
            return None;
        }
        let thread = *self.random.pick(&enabled);
        let choice = self.random.below(self.system.choices(thread) as usize) as u32;
        Some(Step { thread, choice })
    }

    /// Takes a step; tells in words what it did.
    fn take(&mut self, step: Step) -> String {
        let mut effect = Effect::default();
        self.system.step(step, &mut effect);
        self.steps.push(step);
        // The text of these shows a count, which depends on who comes first; the state does not.
        let counts = |mode| matches!(mode, Mode::Arrive | Mode::Up);
        if effect.footprint.accesses().iter().any(|access| counts(access.mode)) {
            return format!("{effect:?}");
        }
        format!("{effect:?} {}", self.system.describe_last().text)
    }

    fn back_to(&mut self, length: usize) {
        self.steps.truncate(length);
        self.system.rewind(&self.steps);
    }

    fn pending(&mut self, step: Step) -> Effect {
        let mut effect = Effect::default();
        self.system.pending(step, &mut effect);
        effect
    }

    /// All that can be seen of the state.
    fn observe(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for thread in self.threads() {
            let status = self.system.status(thread);
            if status != Status::Absent {
                lines.push(format!("{thread:?} is {status:?}"));
            }
            let choices = match status {
                Status::Enabled => self.system.choices(thread),
                Status::Blocked => 1,
                _ => continue,
            };
            for choice in 0..choices {
                let effect = self.pending(Step { thread, choice });
                lines.push(format!("{thread:?}:{choice} would {effect:?}"));
            }
        }
        if self.enabled().is_empty() {
            lines.push(format!("{:?}", self.system.end()));
        }
        lines
    }

    /// Values show only in what comes later: some steps more, the same whenever asked from here.
    fn observe_later(&mut self, seed: u64) -> Vec<String> {
        let mut lines = self.observe();
        let before = std::mem::replace(&mut self.random, Random::new(seed));
        let start = self.steps.len();
        for _ in 0..8 {
            let Some(step) = self.any_step(None) else { break };
            lines.push(self.take(step));
        }
        lines.extend(self.observe());
        self.back_to(start);
        self.random = before;
        lines
    }

    /// Independent steps lead to the same state in either order, and do the same.
    fn swap_all(&mut self) -> Result<u64, String> {
        let start = self.steps.len();
        let enabled = self.enabled();
        let mut swapped = 0;
        for (index, &first) in enabled.iter().enumerate() {
            for &second in &enabled[index + 1..] {
                let [a, b] = [first, second].map(|thread| {
                    let choices = self.system.choices(thread) as usize;
                    Step { thread, choice: self.random.below(choices) as u32 }
                });
                let (effect_a, effect_b) = (self.pending(a), self.pending(b));
                if effect_a.footprint.dependent(&effect_b.footprint) {
                    continue;
                }
                swapped += 1;
                let seed = self.random.number();
                let [ab, ba] = [[a, b], [b, a]].map(|order| {
                    let mut did = Vec::new();
                    for step in order {
                        if self.system.status(step.thread) != Status::Enabled {
                            did.push((step.thread, "cannot run".to_owned()));
                            continue;
                        }
                        did.push((step.thread, self.take(step)));
                    }
                    did.sort();
                    let seen = self.observe_later(seed);
                    self.back_to(start);
                    (did, seen)
                });
                if ab != ba {
                    return Err(format!("{a:?} and {b:?} do not commute:\n{ab:#?}\n{ba:#?}"));
                }
            }
        }
        Ok(swapped)
    }

    /// While other threads run, a pending step stays as its flexibility promises, and only what
    /// touches its footprint decides whether it can run.
    fn watch_all(&mut self) -> Result<(), String> {
        let start = self.steps.len();
        for thread in self.threads() {
            if matches!(self.system.status(thread), Status::Enabled | Status::Blocked) {
                self.watch(thread)?;
                self.back_to(start);
            }
        }
        Ok(())
    }

    fn watch(&mut self, thread: ThreadId) -> Result<(), String> {
        let promised = self.pending(Step::of(thread));
        let mut status = self.system.status(thread);
        for _ in 0..10 {
            self.stays(thread, &promised, status)?;
            let Some(step) = self.any_step(Some(thread)) else { break };
            let now = self.pending(Step::of(thread)).footprint;
            let other = self.pending(step).footprint;
            let did = self.take(step);
            let after = self.system.status(thread);
            let decides = |footprint: &Footprint| footprint.dependent(&other);
            if after != status && !(decides(&now) && decides(&promised.footprint)) {
                return Err(format!(
                    "{thread:?} was {status:?} and is {after:?} after {step:?}, which is independent of it: {did}\n\
                     footprint at first {:?}, now {now:?}",
                    promised.footprint
                ));
            }
            status = after;
        }
        Ok(())
    }

    fn stays(&mut self, thread: ThreadId, promised: &Effect, status: Status) -> Result<(), String> {
        let now = self.pending(Step::of(thread));
        let may_wait = matches!(promised.flexibility, Flexibility::Lock | Flexibility::Blocking);
        let may_change =
            matches!(promised.flexibility, Flexibility::Conditional | Flexibility::Blocking);
        // Whether it ends the thread is not told of a step that waits.
        let same = now.footprint == promised.footprint || promised.flexibility == Flexibility::Lock;
        let can_wait = |effect: &Effect| effect.flexibility == Flexibility::Blocking;
        let stays_so = can_wait(&now) == can_wait(promised);
        if (status == Status::Enabled || may_wait) && (same || may_change) && stays_so {
            return Ok(());
        }
        Err(format!("{thread:?} promised {promised:?}, but is {status:?} with {now:?}"))
    }
}
