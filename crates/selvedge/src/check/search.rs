//! Searching all executions, and running those again that show what is wrong.

use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use selvedge_core::{Inconclusive, Report};
use selvedge_crew::Journal;
use selvedge_explore::{Sampling, confirm_within, explore, sample};
use selvedge_report::TraceView;
use selvedge_rt::World as _;

use super::observer::Watch;
use super::{Builder, places};
use crate::failure;
use crate::rt::{Program, Shared};
use crate::turns;

impl Builder {
    /// All executions, and those that show what is wrong.
    pub(super) fn search_and_confirm(
        &self,
        shared: &Rc<Shared>,
        journal: &mut Journal<'_>,
    ) -> (Report, Vec<TraceView>) {
        // In fewer context switches, a loop may come to a state that it was not in before.
        until_known(shared, || {
            let report = self.search_until_known(shared, journal);
            shared.pulse.is_confirming.store(true, Relaxed);
            let failures = self.confirm(shared, &report);
            shared.pulse.is_confirming.store(false, Relaxed);
            if shared.learned.news.get() {
                // The journal does not know it.
                journal.close();
            }
            (report, failures)
        })
    }

    /// All executions.
    pub(super) fn search_until_known(
        &self,
        shared: &Rc<Shared>,
        journal: &mut Journal<'_>,
    ) -> Report {
        until_known(shared, || self.search(shared, journal))
    }

    /// The executions that show what is wrong.
    fn confirm(&self, shared: &Rc<Shared>, report: &Report) -> Vec<TraceView> {
        let mut failures = Vec::new();
        for (violation, schedule) in &report.violations {
            let make = || Program::new(Rc::clone(shared), true);
            shared.backtrace.take();
            shared.about_block.take();
            match confirm_within(&make, violation, schedule, &self.options.budget) {
                Ok(mut confirmed) => {
                    places::find(shared, &mut confirmed.replay, &mut confirmed.violation);
                    let (replay, found) =
                        (turns::without(confirmed.replay), [&confirmed.violation]);
                    let backtrace = shared.backtrace.take();
                    failures.push(failure::view(
                        &replay,
                        &found,
                        shared.replay_command(),
                        backtrace,
                    ));
                }
                Err(_) if shared.learned.news.get() || shared.hopeless.borrow().is_some() => break,
                Err(error) => {
                    let mut unsteady = shared.unsteady.borrow_mut();
                    let reason = error.reason;
                    unsteady.get_or_insert(format!(
                        "\"{}\" was found once and not again: {reason}",
                        violation.message
                    ));
                }
            }
        }
        failures
    }

    fn search(&self, shared: &Rc<Shared>, journal: &mut Journal<'_>) -> Report {
        shared.is_unsteady.set(false);
        let info = self.algorithm.info();
        if self.options.data_races && self.sample.is_none() && !info.covers.data_races {
            let mut report = Report::default();
            report.note(Inconclusive::GaveUp(format!(
                "`{}` does not look for data races: say so with `.data_races(false)`",
                info.name
            )));
            return report;
        }
        if let Some(report) = self.search_in_parts(shared, journal) {
            return report;
        }
        let make = || Program::new(Rc::clone(shared), false);
        let mut watch = Watch::new(shared);
        match self.sample {
            None => explore(self.algorithm, &make, &self.options, &mut watch),
            Some((executions, seed)) => {
                sample(Sampling::Uniform, executions, seed, &make, &self.options, &mut watch)
            }
        }
    }
}

/// Runs something until it learns nothing new about the code. What is learned matters from the first step on, so it
/// starts again.
pub(super) fn until_known<T>(shared: &Shared, mut run: impl FnMut() -> T) -> T {
    loop {
        let result = run();
        if !shared.learned.news.replace(false) {
            return result;
        }
    }
}
