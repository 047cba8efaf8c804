//! The list of what was done and what is to be done, in order.

use std::collections::BTreeSet;

use selvedge_core::{Bound, Counts, Inconclusive, Report, Schedule, ThreadKey, Violation};

use super::rest::{Ask, Piece, Rest, settle};
use super::worker::Worker;

/// A unit that is still to be run.
#[derive(Clone, PartialEq, Debug)]
pub struct Pending {
    /// The unit: a text that means the same in every process.
    pub unit: String,
    /// Its estimated share of the search.
    pub share: f64,
    /// Where it is asked for more, in explorers whose units ask: see [`Rest`].
    pub floor: usize,
}

impl Pending {
    /// Returns the unit of a search that has not begun.
    pub(crate) fn root() -> Self {
        Self { unit: String::new(), share: 1.0, floor: 0 }
    }
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
    /// What they have asked for, at nodes below the floor: see [`Rest`].
    pub asks: Vec<Ask>,
    /// Their floor.
    pub floor: usize,
}

impl Tally {
    /// Returns the tally of a worker.
    pub(super) fn of(worker: &dyn Worker) -> Self {
        let report = worker.report();
        let (asks, floor) = worker.asks();
        Self {
            counts: report.counts,
            steps: report.steps,
            longest: report.longest,
            threads: worker.threads(),
            violations: report.violations.clone(),
            inconclusive: report.inconclusive.clone(),
            share: worker.share(),
            asks,
            floor,
        }
    }

    /// Adds what comes next.
    pub(super) fn add(&mut self, next: &Tally) {
        self.counts = sum(self.counts, next.counts);
        self.steps += next.steps;
        self.longest = self.longest.max(next.longest);
        self.threads.extend(next.threads.iter().cloned());
        self.share += next.share;
        self.asks.extend(next.asks.iter().cloned());
        for (violation, schedule) in &next.violations {
            self.add_violation(violation, schedule);
        }
        for reason in &next.inconclusive {
            if !self.inconclusive.contains(reason) {
                self.inconclusive.push(reason.clone());
            }
        }
    }

    /// Returns whether nothing depends on where it ends and the next one begins.
    pub(super) fn is_one_with(&self, next: &Tally) -> bool {
        self.violations.is_empty() && self.floor == next.floor
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
    /// It takes up what those before it ask for.
    Rest(Rest),
}

impl Piece for Part {
    fn floor(&self) -> usize {
        match self {
            Self::Done(tally, _) => tally.floor,
            Self::ToDo(unit) => unit.floor,
            Self::Rest(rest) => rest.floor,
        }
    }

    fn done(&mut self) -> Option<&mut Tally> {
        match self {
            Self::Done(tally, _) => Some(tally),
            _ => None,
        }
    }

    fn rest(&self) -> Option<&Rest> {
        match self {
            Self::Rest(rest) => Some(rest),
            _ => None,
        }
    }
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
        Self { parts: vec![Part::ToDo(Pending::root())] }
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
            Part::ToDo(_) | Part::Rest(_) => 0,
        });
        done.sum()
    }

    /// Puts the parts that came of a unit in its place.
    pub fn replace(&mut self, unit: usize, parts: Vec<Part>) {
        self.parts.splice(unit..=unit, parts);
        self.settle();
    }

    /// Grants what was asked for, and makes one of parts that were done one after the other, as far as [`push`](Frontier::push)
    /// does.
    pub(super) fn settle(&mut self) {
        settle(&mut self.parts, |part| part);
        let parts = std::mem::take(&mut self.parts);
        parts.into_iter().for_each(|part| self.push(part));
    }

    /// Adds a part at the end. What was done right before it becomes one with it, unless the report may end in between: at
    /// a violation, or at a limit.
    pub(super) fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Done(sum, None)), Part::Done(more, None)) if sum.is_one_with(&more) => {
                sum.add(&more);
            }
            (_, part) => self.parts.push(part),
        }
    }
}
