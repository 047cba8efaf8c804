//! The list of what was done and what is to be done, in order.

use std::collections::BTreeSet;

use selvedge_core::{Bound, Counts, Inconclusive, Report, Schedule, ThreadKey, Violation};

/// A unit that is still to be run.
#[derive(Clone, PartialEq, Debug)]
pub struct Pending {
    /// The unit: a text that means the same in every process.
    pub unit: String,
    /// Its estimated share of the search.
    pub share: f64,
}

/// Returns how many executions there are together.
pub(super) fn sum(some: Counts, more: Counts) -> Counts {
    Counts {
        complete: some.complete + more.complete,
        deadlocked: some.deadlocked + more.deadlocked,
        blocked: some.blocked + more.blocked,
        redundant: some.redundant + more.redundant,
        cut: some.cut + more.cut,
    }
}

/// What some units led to.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Executions by kind.
    pub counts: Counts,
    /// Steps taken.
    pub steps: u64,
    /// Length of the longest execution.
    pub longest: usize,
    /// The threads that were seen.
    pub threads: BTreeSet<ThreadKey>,
    /// Distinct violations in the order in which they were found, as in [`Report::violations`].
    pub violations: Vec<(Violation, Schedule)>,
    /// Why nothing is proved, as in [`Report::inconclusive`].
    pub inconclusive: Vec<Inconclusive>,
    /// The estimated share of the search that this is.
    pub share: f64,
}

impl Tally {
    /// Returns the tally of a report.
    pub(super) fn of(report: &Report, threads: BTreeSet<ThreadKey>, share: f64) -> Self {
        Self {
            counts: report.counts,
            steps: report.steps,
            longest: report.longest,
            threads,
            violations: report.violations.clone(),
            inconclusive: report.inconclusive.clone(),
            share,
        }
    }

    /// Adds what comes next.
    pub(super) fn add(&mut self, next: &Tally) {
        self.counts = sum(self.counts, next.counts);
        self.steps += next.steps;
        self.longest = self.longest.max(next.longest);
        self.threads.extend(next.threads.iter().cloned());
        self.share += next.share;
        for (violation, schedule) in &next.violations {
            self.add_violation(violation, schedule);
        }
        for reason in &next.inconclusive {
            if !self.inconclusive.contains(reason) {
                self.inconclusive.push(reason.clone());
            }
        }
    }

    pub(super) fn add_violation(&mut self, violation: &Violation, schedule: &Schedule) {
        if !self.violations.iter().any(|(known, _)| known.same_as(violation)) {
            self.violations.push((violation.clone(), schedule.clone()));
        }
    }

    /// Returns the report of a search that found this.
    pub(super) fn into_report(self) -> Report {
        Report {
            counts: self.counts,
            steps: self.steps,
            longest: self.longest,
            threads: self.threads.len(),
            violations: self.violations,
            inconclusive: self.inconclusive,
            ..Report::default()
        }
    }

    /// Says that the search ended at a limit.
    pub(super) fn note(&mut self, bound: Bound) {
        let reason = Inconclusive::Bound(bound);
        if !self.inconclusive.contains(&reason) {
            self.inconclusive.push(reason);
        }
    }
}

/// A part of a search.
#[derive(Clone, Debug)]
pub enum Part {
    /// It was run. With a limit on executions: from which unit on, so that a part of it can be run again.
    Done(Tally, Option<Pending>),
    /// It is still to be run.
    ToDo(Pending),
}

/// A search that is divided: its parts, in the order in which one worker alone comes to them.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The parts.
    pub parts: Vec<Part>,
}

impl Frontier {
    /// Returns the frontier of a search that has not begun.
    pub fn root() -> Self {
        Self { parts: vec![Part::ToDo(Pending { unit: String::new(), share: 1.0 })] }
    }

    /// Returns whether nothing is left to be run.
    pub fn is_finished(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Done(..)))
    }

    /// Returns how many units are left to be run.
    pub fn left(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::ToDo(_))).count()
    }

    /// Returns how many executions were run.
    pub fn executions(&self) -> u64 {
        let done = self.parts.iter().map(|part| match part {
            Part::Done(tally, _) => tally.counts.total(),
            Part::ToDo(_) => 0,
        });
        done.sum()
    }

    /// Puts the parts that came of a unit in its place.
    pub fn replace(&mut self, unit: usize, parts: Vec<Part>) {
        self.parts.splice(unit..=unit, parts);
    }

    /// Makes one of parts that were done one after the other, as far as [`push`](Frontier::push) does.
    pub(super) fn join(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        parts.into_iter().for_each(|part| self.push(part));
    }

    /// Adds a part at the end. What was done right before it becomes one with it, unless the report may end in between: at
    /// a violation, or at a limit.
    pub(super) fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Done(sum, None)), Part::Done(more, None)) if sum.violations.is_empty() => {
                sum.add(&more);
            }
            (_, part) => self.parts.push(part),
        }
    }
}
