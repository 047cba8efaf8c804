//! What an explorer can do whose work can be divided.

use std::collections::BTreeSet;

use selvedge_core::{Counts, Report, Schedule, System, ThreadKey, Violation};

use super::frontier::{Part, Pending};
use super::rest::Ask;
use crate::options::{Observer, Options};
use crate::search::run::Run;

/// How it went with a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advance {
    /// It was run.
    Ran,
    /// None is left.
    Nothing,
    /// A violation ends the search.
    Violated,
    /// The budget was exhausted before it ended: it is still to be run, and nothing of it is counted.
    Interrupted,
}

impl Advance {
    /// Returns why no further unit is run, if something ended the search.
    pub(crate) fn ended<S: System>(run: &Run<'_, S>) -> Option<Self> {
        match run.is_violated() {
            true => Some(Self::Violated),
            false => run.is_stopped().then_some(Self::Interrupted),
        }
    }
}

impl<S: System> Run<'_, S> {
    /// Returns whether a violation ends the search.
    pub(crate) fn is_violated(&self) -> bool {
        !self.options.keep_going && !self.report.violations.is_empty()
    }

    /// Forgets what was found on the way to where the run is: it belongs to others.
    pub(crate) fn forget_found(&mut self) {
        self.report = Report::default();
        self.stopped = false;
    }
}

/// What a report had before a unit was run.
pub(crate) struct Before {
    counts: Counts,
    steps: u64,
    longest: usize,
    violations: usize,
    doubts: usize,
}

impl Before {
    pub(crate) fn of(report: &Report) -> Self {
        Self {
            counts: report.counts,
            steps: report.steps,
            longest: report.longest,
            violations: report.violations.len(),
            doubts: report.inconclusive.len(),
        }
    }

    /// Takes back what a unit that was interrupted has added. Returns the violations that it showed.
    pub(crate) fn restore(self, report: &mut Report) -> Vec<(Violation, Schedule)> {
        let Self { counts, steps, longest, violations, doubts } = self;
        (report.counts, report.steps, report.longest) = (counts, steps, longest);
        report.inconclusive.truncate(doubts);
        report.violations.split_off(violations)
    }
}

/// Begins to work on one unit.
///
/// # Errors
/// If it does not belong to this program: why.
pub(crate) type Begin<S> = for<'a> fn(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    unit: &Pending,
) -> Result<Box<dyn Worker + 'a>, String>;

/// A worker: a stack of units, and a system to run them on. What a unit leads to depends on the unit alone.
pub(crate) trait Worker {
    /// Runs the next unit.
    fn advance(&mut self) -> Advance;

    /// Returns how many units are left.
    fn left(&self) -> usize;

    /// Returns what is left, the next one first.
    fn all_left(&self) -> Vec<Part>;

    /// Removes the unit that would be run last, or all that are last together. Returns what is to stand behind the worker: nothing
    /// if it keeps all.
    fn give_away(&mut self) -> Vec<Part>;

    /// Returns what the units have asked for, and the floor: see [`Rest`](super::Rest).
    fn asks(&self) -> (Vec<Ask>, usize) {
        (Vec::new(), 0)
    }

    /// Returns what the units that were run have led to.
    fn report(&self) -> &Report;

    /// Returns violations of the unit that was interrupted.
    fn seen_besides(&self) -> &[(Violation, Schedule)];

    /// Returns the threads that were seen.
    fn threads(&self) -> BTreeSet<ThreadKey>;

    /// Returns the estimated share of the search that was done.
    fn share(&self) -> f64;
}
