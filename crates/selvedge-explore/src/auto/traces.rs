//! Traces, up to where states have their turn: by one worker, or by several.

use std::num::NonZeroUsize;

use selvedge_core::{Inconclusive, Report, System};

use super::turns::{Shared, Told};
use crate::division::crew::{self, UpTo};
use crate::division::until::Until;
use crate::division::worker::{Advance, Worker};
use crate::division::{Divided, Division, Frontier, Keeper};
use crate::options::Options;
use crate::reductions::parsimonious;

/// How far the search of traces is, with what it has found.
pub(super) enum Turn {
    /// Where it was to pause.
    Reached(Report),
    /// At its end.
    Over(Report),
}

/// A search of traces that can be paused. What it has found where it pauses is the same for every number of workers.
pub(super) trait Traces {
    /// Goes on to some place.
    ///
    /// # Errors
    /// As for [`explore_divided`](crate::explore_divided).
    fn advance(&mut self, until: Until) -> Result<Turn, String>;
}

/// One worker, whose executions are observed.
pub(super) struct Alone<'a, W> {
    pub(super) worker: W,
    pub(super) options: &'a Options,
}

impl<W: Worker> Alone<'_, W> {
    fn report(&self) -> Report {
        Report { threads: self.worker.threads().len(), ..self.worker.report().clone() }
    }
}

impl<W: Worker> Traces for Alone<'_, W> {
    fn advance(&mut self, until: Until) -> Result<Turn, String> {
        loop {
            let advance = self.worker.advance();
            let report = self.worker.report();
            match advance {
                Advance::Ran if !until.is_reached(&report.counts, report.steps, report.longest) => {
                }
                Advance::Ran => return Ok(Turn::Reached(self.report())),
                Advance::Nothing | Advance::Violated => return Ok(Turn::Over(self.report())),
                Advance::Interrupted => {
                    let mut report = self.report();
                    report.violations.extend_from_slice(self.worker.seen_besides());
                    if let Some(spent) = self.options.budget.spent() {
                        report.note(Inconclusive::Bound(spent.into()));
                    }
                    return Ok(Turn::Over(report));
                }
            }
        }
    }
}

/// Several workers.
pub(super) struct InParts<'a, 'o, 'k, S> {
    pub(super) make: &'a (dyn Fn() -> S + Sync),
    pub(super) options: &'a Options,
    pub(super) observer: &'a Shared<'o>,
    pub(super) jobs: NonZeroUsize,
    /// What was done, and what is left.
    pub(super) frontier: Frontier,
    pub(super) keeper: Option<&'k mut dyn Keeper>,
}

impl<S: System + 'static> Traces for InParts<'_, '_, '_, S> {
    fn advance(&mut self, until: Until) -> Result<Turn, String> {
        let division = Division {
            jobs: self.jobs,
            start: self.frontier.clone(),
            keeper: self.keeper.as_mut().map(|keeper| &mut **keeper as &mut dyn Keeper),
        };
        let mut observer = Told(self.observer);
        let (begin, options) = (parsimonious::begin::<S>, self.options);
        let up_to = crew::explore_until(until, begin, self.make, options, &mut observer, division);
        let UpTo { divided: Divided { report, left }, is_reached } = up_to?;
        self.frontier = left;
        let is_over = !is_reached || self.options.budget.is_spent();
        Ok(if is_over { Turn::Over(report) } else { Turn::Reached(report) })
    }
}
