//! A search by several processes: copies of this one.

use std::num::NonZeroUsize;
use std::rc::Rc;

use selvedge_core::{Inconclusive, Report};
use selvedge_crew::Crew;
use selvedge_explore::{
    Algorithm, Divisible, Frontier, Ledger, Setting, put_together, run_unit, sequential,
};

use super::Builder;
use super::observer::Watch;
use crate::rt::{Program, Shared};

/// How many processes take part, unless the test says so.
const JOBS: &str = "SELVEDGE_JOBS";

impl Builder {
    /// Explores with so many processes, copies of the one that runs the test. The counts, the verdict and the failure that is
    /// shown are the same for every number. Unless said otherwise, the environment variable `SELVEDGE_JOBS` says how many;
    /// without it there is one.
    ///
    /// [`Algorithm::Optimal`] is sequential: with two and more, [`Algorithm::Parsimonious`] takes its place, which has the same
    /// classes, each once. [`Algorithm::Sleep`] and [`sample`](Self::sample) can be divided too; the others, and a search
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

    /// Returns the algorithm that explores with so many processes.
    pub(super) fn divided(&self, jobs: NonZeroUsize) -> Algorithm {
        match self.algorithm {
            Algorithm::Optimal if jobs.get() > 1 => Algorithm::Parsimonious,
            other => other,
        }
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

    /// Searches with several processes. Returns nothing if one is enough, or the search cannot be divided.
    pub(super) fn search_together(&self, shared: &Rc<Shared>) -> Option<Report> {
        let jobs = self.asked_jobs();
        let (what, root) = self.divisible().filter(|_| jobs.get() > 1)?;
        let make = || Program::new(Rc::clone(shared), false);
        let options = &self.options;
        let crew = Crew {
            jobs,
            pace: self.pace,
            run: &|unit, go_on| {
                run_unit(what, &make, options, unit, &mut |ran| {
                    shared.pulse.count_search();
                    go_on(ran)
                })
            },
            as_copy: &|| (),
            told: &|| shared.known() + shared.about(),
            is_void: &|| shared.is_unsteady.get(),
            is_full: &|| false,
            budget: &options.budget,
        };
        let mut ledger = Ledger::new(root, options.keep_going, options.limits.executions);
        let put = crew
            .explore(&mut ledger, &mut Watch::new(shared))
            .and_then(|ended| put_together(what, &make, options, ledger.frontier().clone(), ended));
        Some(put.map_or_else(
            |why| {
                let mut report = Report::default();
                report.note(Inconclusive::GaveUp(format!("the search cannot go on: {why}")));
                report
            },
            |divided| divided.report,
        ))
    }

    /// Returns what is said about a search that was to be divided and cannot be.
    pub(super) fn undivided(&self, is_weak: bool) -> Option<String> {
        let is_asked = self.asked_jobs().get() > 1;
        match self.divisible() {
            _ if !is_asked => None,
            _ if is_weak => Some("a search under a memory model runs in one process".to_owned()),
            Some(_) => None,
            None => Some(sequential(self.algorithm.info().name)),
        }
    }
}
