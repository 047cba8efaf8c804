//! A search in parts: by several processes, copies of this one, and one that is kept in a file.

use std::num::NonZeroUsize;
use std::rc::Rc;

use selvedge_core::{Inconclusive, Report};
use selvedge_crew::{Crew, Journal};
use selvedge_explore::{
    Algorithm, Divisible, Frontier, Ledger, Setting, put_together, run_unit, sequential,
};

use super::Builder;
use super::observer::Watch;
use crate::rt::{Program, Shared, Spot};

/// How many processes take part, unless the test says so.
const JOBS: &str = "SELVEDGE_JOBS";

impl Builder {
    /// Explores with so many processes, copies of the one that runs the test. The counts, the verdict and the failure that is
    /// shown are the same for every number. Unless said otherwise, the environment variable `SELVEDGE_JOBS` says how many;
    /// without it there is one.
    ///
    /// [`Algorithm::Optimal`] is sequential: with two and more, [`Algorithm::Parsimonious`] takes its place, which has the same
    /// classes, each once. [`Algorithm::Source`], [`Algorithm::Sleep`] and [`sample`](Self::sample) can be divided too; the others, and a search
    /// under a memory model, run in one process, and the report says so. Copies begin after some thousand executions, so small
    /// tests do not wait for them.
    ///
    /// ```
    /// # use selvedge::Builder;
    /// Builder::new().jobs(2).check(|| ());
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    pub fn jobs(mut self, jobs: usize) -> Self {
        let jobs = NonZeroUsize::new(jobs).expect("a search needs at least one process: .jobs(1)");
        self.jobs = Some(jobs);
        self
    }

    /// Returns how many processes take part.
    pub(super) fn asked_jobs(&self) -> NonZeroUsize {
        let text = std::env::var(JOBS).ok().filter(|text| !text.is_empty());
        let set = || {
            text.map(|text| match text.parse() {
                Ok(jobs) => jobs,
                Err(_) => panic!("{JOBS}={text}: a search needs a number of processes, at least 1"),
            })
        };
        self.jobs.or_else(set).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns whether the search is to be done in parts.
    pub(super) fn is_to_be_divided(&self) -> bool {
        self.asked_jobs().get() > 1 || self.is_to_be_kept()
    }

    /// Returns the algorithm that explores in parts, if that is asked for.
    pub(super) fn divided(&self) -> Algorithm {
        match self.algorithm {
            Algorithm::Optimal if self.is_to_be_divided() => Algorithm::Parsimonious,
            other => other,
        }
    }

    /// Returns whether the search of a check at this place can be kept: it can be divided, and nothing is replayed.
    pub(super) fn can_be_kept(&self, here: Spot) -> bool {
        self.divisible().is_some() && self.asked_memory().is_none() && self.schedule(here).is_none()
    }

    /// Returns what is divided and where it begins, if that can be.
    fn divisible(&self) -> Option<(Divisible, Frontier)> {
        match self.sample {
            Some((executions, seed)) => {
                Some((Divisible::Sample, Frontier::of_sample(executions, seed)))
            }
            None if self.algorithm.info().takes(Setting::Division) => {
                Some((Divisible::Exploration(self.algorithm), Frontier::root()))
            }
            None => None,
        }
    }

    /// Searches in parts. Returns nothing if that is not asked for, or the search cannot be divided.
    pub(super) fn search_in_parts(
        &self,
        shared: &Rc<Shared>,
        journal: &mut Journal<'_>,
    ) -> Option<Report> {
        let (what, root) = self.divisible().filter(|_| self.is_to_be_divided())?;
        let make = || Program::new(Rc::clone(shared), false);
        let options = &self.options;
        let is_void = || shared.is_unsteady.get();
        let crew = Crew {
            jobs: self.asked_jobs(),
            pace: self.pace,
            run: &|unit, go_on| {
                run_unit(what, &make, options, unit, &mut |ran| {
                    shared.pulse.count_search();
                    go_on(ran)
                })
            },
            as_copy: &|| (),
            told: &|| shared.known() + shared.about(),
            is_void: &is_void,
            is_full: &|| false,
            budget: &options.budget,
        };
        let mut ledger = Ledger::new(root, options.keep_going, options.limits.executions);
        let put = crew
            .explore(&mut ledger, journal, &mut Watch::new(shared))
            .and_then(|ended| put_together(what, &make, options, ledger.frontier().clone(), ended));
        Some(match put {
            Ok(divided) => {
                if !is_void() {
                    journal.keep(&divided.left);
                }
                divided.report
            }
            // What is in the file stays there.
            Err(why) if journal.is_kept() => {
                panic!(
                    "selvedge: the search cannot go on: {why}\n  remove the checkpoint, and it begins again"
                )
            }
            Err(why) => {
                let mut report = Report::default();
                report.note(Inconclusive::GaveUp(format!("the search cannot go on: {why}")));
                report
            }
        })
    }

    /// Returns what is said about a search that was to be divided and cannot be.
    pub(super) fn undivided(&self, is_weak: bool) -> Option<String> {
        match self.divisible() {
            _ if !self.is_to_be_divided() => None,
            _ if is_weak => Some(
                "a search under a memory model runs in one process, and is not kept in a checkpoint"
                    .to_owned(),
            ),
            Some(_) => None,
            None => Some(sequential(self.algorithm.info().name)),
        }
    }
}
