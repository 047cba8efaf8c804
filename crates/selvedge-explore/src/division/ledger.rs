//! A search whose units are run elsewhere, and by workers that may die.

use std::collections::BTreeSet;

use selvedge_core::Inconclusive;

use super::frontier::{Frontier, Part, Pending, Tally};

/// The frontier of a search, with what is at work.
///
/// What came of a unit takes its place if the unit is still to be run. So a second result for a unit, which may be cut
/// elsewhere, does not count; and a ledger that accepts the same results in the same order reaches the same frontier. No
/// two units of a search are the same, as each leads to executions of its own.
#[derive(Clone, Debug)]
pub struct Ledger {
    frontier: Frontier,
    /// Units that were issued.
    at_work: BTreeSet<String>,
    /// As in the options of the search.
    keep_going: bool,
    most_executions: Option<u64>,
}

impl Ledger {
    /// Begins with a frontier. `keep_going`, `most_executions`: as in the options of the search.
    pub fn new(frontier: Frontier, keep_going: bool, most_executions: Option<u64>) -> Self {
        let mut ledger = Self { frontier, at_work: BTreeSet::new(), keep_going, most_executions };
        ledger.frontier.settle();
        ledger
    }

    /// Returns the frontier.
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// Replaces the frontier. Nothing is at work.
    pub fn restore(&mut self, frontier: Frontier) {
        self.frontier = frontier;
        self.frontier.settle();
        self.at_work.clear();
    }

    /// Returns the parts that matter: what comes after a violation or after the limit does not.
    fn needed(&self) -> &[Part] {
        let mut executions = 0;
        for (index, part) in self.frontier.parts.iter().enumerate() {
            let Part::Done(tally, _) = part else { continue };
            executions += tally.counts.total();
            if !self.keep_going && !tally.violations.is_empty()
                || self.most_executions.is_some_and(|most| executions >= most)
            {
                return &self.frontier.parts[..=index];
            }
        }
        &self.frontier.parts
    }

    /// Returns whether nothing is left that matters.
    pub fn is_over(&self) -> bool {
        self.needed().iter().all(|part| matches!(part, Part::Done(..)))
    }

    fn to_issue(&self) -> impl Iterator<Item = &Pending> {
        self.needed().iter().filter_map(|part| match part {
            Part::ToDo(unit) if !self.at_work.contains(&unit.unit) => Some(unit),
            _ => None,
        })
    }

    /// Returns the first unit that is still to be run, issued or not.
    pub fn first_left(&self) -> Option<&Pending> {
        self.needed().iter().find_map(|part| match part {
            Part::ToDo(unit) => Some(unit),
            Part::Done(..) | Part::Rest(_) => None,
        })
    }

    /// Returns how many units are to be issued.
    pub fn left(&self) -> usize {
        self.to_issue().count()
    }

    /// Returns the next units, in order: at most `most`, and beyond the first one at most so many bytes. They are at work
    /// from now on.
    pub fn issue(&mut self, most: usize, bytes: usize) -> Vec<Pending> {
        let mut size = 0;
        let fits = |(nth, unit): &(usize, &Pending)| {
            size += unit.unit.len();
            *nth == 0 || size <= bytes
        };
        let next = self.to_issue().take(most.max(1)).enumerate().take_while(fits);
        let next: Vec<Pending> = next.map(|(_, unit)| unit.clone()).collect();
        self.at_work.extend(next.iter().map(|unit| unit.unit.clone()));
        next
    }

    /// A unit that was issued was not run.
    pub fn take_back(&mut self, unit: &str) {
        self.at_work.remove(unit);
    }

    /// Puts the parts that came of a unit in its place, if it is still to be run. Returns whether it was.
    pub fn accept(&mut self, unit: &str, parts: Vec<Part>) -> bool {
        self.at_work.remove(unit);
        let is_it = |part: &Part| matches!(part, Part::ToDo(pending) if pending.unit == unit);
        let Some(at) = self.frontier.parts.iter().position(is_it) else { return false };
        self.frontier.replace(at, parts);
        true
    }

    /// Says that a unit cannot be run, so nothing is proved.
    pub fn give_up(&mut self, unit: &str, why: &str) {
        let pending = self.frontier.parts.iter().find_map(|part| match part {
            Part::ToDo(pending) if pending.unit == unit => Some(pending),
            _ => None,
        });
        let (share, floor) = pending.map_or((0.0, 0), |pending| (pending.share, pending.floor));
        let reason = format!("the unit of work `{unit}` was not run: {why}");
        let inconclusive = vec![Inconclusive::GaveUp(reason)];
        let tally = Tally { inconclusive, share, floor, ..Tally::default() };
        self.accept(unit, vec![Part::Done(tally, None)]);
    }

    /// Returns what was done so far.
    pub fn so_far(&self) -> Tally {
        let mut sum = Tally::default();
        for part in &self.frontier.parts {
            if let Part::Done(tally, _) = part {
                sum.add(tally);
            }
        }
        sum
    }
}
