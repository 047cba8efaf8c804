//! Searching all executions that a memory model allows, and running those again that show what is wrong.

mod story;

use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use selvedge_core::{
    Bound, Ended, Ending, Fault, Inconclusive, Report, Schedule, Step, Violation, ViolationKind,
};
use selvedge_explore::{
    Finding, Graph, GraphObserver, GraphReport, Memory, Witness, explore_graphs,
};
use selvedge_report::{TraceView, Tree};
use selvedge_rt::World as _;

use super::search::until_known;
use super::{Builder, observer};
use crate::failure::{self, Look};
use crate::rt::{GraphProgram, Shared};

use story::Story;

impl Builder {
    /// Explores all executions that a memory model allows: with [`Memory::Rc11`], the model of C++ and Rust, a load may see
    /// older values, as orderings weaker than `SeqCst` permit. Without this, loads see the last store first; a check that passes
    /// so and has used weaker orderings is explored under [`Memory::Rc11`] as well, as far as some ten thousand executions go
    /// ([`sequentially_consistent`](Self::sequentially_consistent)). `SELVEDGE_MEMORY=rc11` says the same as this for tests that do not say it.
    ///
    /// [`algorithm`](Self::algorithm) and [`preemptions`](Self::preemptions) have no effect then: each execution is run once.
    /// Values out of thin air (load buffering) are left out, as in all models here. Operations that have no meaning
    /// under a memory model yet make the verdict [`Verdict::Inconclusive`](crate::Verdict::Inconclusive), and the report names them.
    ///
    /// ```
    /// # use selvedge::{Builder, Memory, Verdict, sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}}, thread};
    /// let publish = || {
    ///     let (data, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    ///     let (data2, ready2) = (Arc::clone(&data), Arc::clone(&ready));
    ///     thread::spawn(move || { data2.store(42, Relaxed); ready2.store(1, Relaxed); });
    ///     if ready.load(Relaxed) == 1 {
    ///         assert_eq!(data.load(Relaxed), 42);
    ///     }
    /// };
    /// assert_eq!(Builder::new().memory(Memory::Rc11).explore(publish).verdict(), Verdict::Violated);
    /// assert_eq!(Builder::new().memory(Memory::Sc).explore(publish).verdict(), Verdict::Verified);
    /// ```
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// The memory model that was asked for.
    pub(super) fn asked_memory(&self) -> Option<Memory> {
        self.memory.or_else(of_environment)
    }

    /// All executions that the model allows, and those that show what is wrong.
    pub(super) fn search_graphs(
        &self,
        shared: &Rc<Shared>,
        memory: Memory,
    ) -> (Report, Vec<TraceView>) {
        if self.sample.is_some() {
            let mut report = Report::default();
            report.note(Inconclusive::GaveUp(
                "executions under a memory model are not drawn at random: leave `sample` or `memory` out"
                    .to_owned(),
            ));
            return (report, Vec::new());
        }
        until_known(shared, || {
            shared.is_unsteady.set(false);
            if let Some(tree) = &mut *shared.tree.borrow_mut() {
                tree.clear();
            }
            let mut system = GraphProgram::new(Rc::clone(shared), false);
            let mut watch = Watch { shared, threads: 0 };
            let found = explore_graphs(&mut system, memory, &self.options, &mut watch);
            drop(system);
            let mut report = Report {
                counts: found.counts,
                steps: found.events,
                longest: found.longest,
                threads: watch.threads,
                ..Report::default()
            };
            if shared.hopeless.borrow().is_none() {
                found.inconclusive.iter().for_each(|reason| report.note(reason.clone()));
            }
            shared.pulse.is_confirming.store(true, Relaxed);
            let failures = self.confirm_graphs(shared, memory, &found, &mut report);
            shared.pulse.is_confirming.store(false, Relaxed);
            (report, failures)
        })
    }

    /// The executions that show what is wrong, each run again.
    fn confirm_graphs(
        &self,
        shared: &Rc<Shared>,
        memory: Memory,
        found: &GraphReport,
        report: &mut Report,
    ) -> Vec<TraceView> {
        let mut failures = Vec::new();
        for (finding, witness) in &found.findings {
            let shows = |steps: &[Step]| {
                let schedule = Schedule::from(steps.to_vec());
                let story = Story::follow(shared, memory, &schedule, self.options.data_races)
                    .map_err(|error| (error.at, error.to_string()))?;
                let not_shown = (steps.len(), "its replay did not show it".to_owned());
                let violation = shown_by(&story, finding).ok_or(not_shown)?;
                Ok((story, violation, schedule))
            };
            let ran = |reason| witness.ran.as_deref().map_or(Err(reason), shows);
            // A thread that uses or frees what was freed stops there, and may not come to the race with the same free.
            let sooner = |(at, reason): (usize, String)| match finding {
                Finding::DataRace(..) => shows(&witness.steps[..at]).map_err(|_| (at, reason)),
                _ => Err((at, reason)),
            };
            match shows(&witness.steps).or_else(ran).or_else(sooner) {
                Ok((_, violation, _)) if is_listed(report, &violation) => {}
                Ok((story, violation, schedule)) => {
                    let backtrace = shared.backtrace.take();
                    let view = failure::view(
                        &story.replay,
                        &[&violation],
                        shared.replay_command(),
                        backtrace,
                    );
                    failures.push(view);
                    report.violations.push((violation, schedule));
                }
                Err(_) if shared.learned.news.get() || shared.hopeless.borrow().is_some() => break,
                Err((_, reason)) => {
                    let mut unsteady = shared.unsteady.borrow_mut();
                    let what = in_short(finding, witness);
                    unsteady.get_or_insert(format!("{what} came once: {reason}"));
                }
            }
        }
        failures
    }

    /// The one execution under the model that a schedule describes. If nothing is wrong in it, it is printed.
    #[track_caller]
    #[allow(clippy::print_stderr, reason = "the user of a replay wants to see the execution")]
    pub(super) fn follow_graph(
        &self,
        shared: &Rc<Shared>,
        memory: Memory,
        schedule: &str,
    ) -> (Report, Vec<TraceView>) {
        let steps: Schedule = match schedule.parse() {
            Ok(steps) => steps,
            Err(error) => panic!("selvedge: `{schedule}` is no schedule: {error}"),
        };
        let follow = || {
            shared.is_unsteady.set(false);
            Story::follow(shared, memory, &steps, self.options.data_races)
        };
        let mut story = until_known(shared, follow);
        if story.is_err() && shared.hopeless.borrow().is_none() {
            // Which steps there are may depend on what the search learned: the same search learns the same.
            self.search_graphs(shared, memory);
            story = until_known(shared, follow);
        }
        if shared.hopeless.borrow().is_some() {
            return (Report::default(), Vec::new());
        }
        let story = match story {
            Ok(story) => story,
            Err(reason) => panic!(
                "selvedge: the schedule does not fit this code under `{}`, or not any more: {reason}",
                memory.name()
            ),
        };
        let found: Vec<&Violation> = story.violations.iter().collect();
        let view =
            failure::view(&story.replay, &found, shared.replay_command(), shared.backtrace.take());
        let mut report = Report {
            steps: story.replay.steps.len() as u64,
            longest: story.replay.steps.len(),
            threads: story.replay.thread_names.len(),
            ..Report::default()
        };
        report.counts.complete = 1;
        report.note(Inconclusive::Bound(Bound::Executions(1)));
        if found.is_empty() {
            let look = Look::of_terminal().under(Some(memory), false);
            eprintln!("{}", failure::of_failure(look, &view));
            eprintln!("selvedge: no violation in this execution");
            return (report, Vec::new());
        }
        let violations = story.violations.into_iter();
        report.violations = violations.map(|violation| (violation, steps.clone())).collect();
        (report, vec![view])
    }
}

/// The memory model that the environment asks for.
///
/// # Panics
/// If there is none of that name.
fn of_environment() -> Option<Memory> {
    let name = std::env::var("SELVEDGE_MEMORY").ok().filter(|name| !name.is_empty())?;
    let memory = Memory::named(&name);
    let names: Vec<&str> = Memory::ALL.iter().map(|memory| memory.name()).collect();
    assert!(
        memory.is_some(),
        "selvedge: SELVEDGE_MEMORY={name}: there is no memory model of that name; there are {}",
        names.join(", ")
    );
    memory
}

/// Returns whether a report has a violation already: as a race, and as what that led to.
fn is_listed(report: &Report, violation: &Violation) -> bool {
    let is_it =
        |known: &Violation| (known.kind, &known.message) == (violation.kind, &violation.message);
    report.violations.iter().any(|(known, _)| is_it(known))
}

/// What the execution that was run again shows of a finding.
fn shown_by(story: &Story, finding: &Finding) -> Option<Violation> {
    // The race of a free with a use, or with another free, is shown as what it leads to.
    let is_of_freed = |violation: &&Violation| {
        matches!(violation.kind, ViolationKind::UseAfterFree | ViolationKind::DoubleFree)
    };
    if matches!(finding, Finding::DataRace(..))
        && let Some(of_freed) = story.violations.iter().find(is_of_freed)
    {
        return Some(of_freed.clone());
    }
    let is_shown = |violation: &&Violation| match finding {
        Finding::Fault(_, Fault::Violation(found)) | Finding::Judged(found) => {
            (violation.kind, &violation.message) == (found.kind, &found.message)
        }
        Finding::Fault(_, Fault::GaveUp(_)) => false,
        Finding::Deadlock(_) => violation.kind == ViolationKind::Deadlock,
        Finding::DataRace(..) => violation.kind == ViolationKind::DataRace,
    };
    story.violations.iter().find(is_shown).cloned()
}

fn in_short(finding: &Finding, witness: &Witness) -> String {
    match finding {
        Finding::Fault(_, Fault::Violation(found)) | Finding::Judged(found) => {
            format!("\"{}\"", found.message)
        }
        Finding::Fault(_, Fault::GaveUp(reason)) => reason.clone(),
        Finding::Deadlock(_) => format!("a deadlock after {} steps", witness.steps.len()),
        Finding::DataRace(..) => format!("a data race in {} steps", witness.steps.len()),
    }
}

/// Watches a search over execution graphs.
struct Watch<'a> {
    shared: &'a Shared,
    threads: usize,
}

impl GraphObserver for Watch<'_> {
    fn execution(&mut self, graph: &Graph, _ending: Ending) {
        self.threads = self.threads.max(graph.threads().count());
        self.shared.pulse.count_execution();
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        self.shared.tree.borrow_mut().get_or_insert_default().add(steps, how);
    }

    fn wants_steps(&self) -> bool {
        let tree = self.shared.tree.borrow();
        self.shared.keeps_tree.get() && !tree.as_ref().is_some_and(Tree::is_truncated)
    }

    fn poll(&mut self, _report: &GraphReport) -> Option<Bound> {
        observer::poll(self.shared)
    }
}
