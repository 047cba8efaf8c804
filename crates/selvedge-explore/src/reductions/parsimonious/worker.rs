//! Work that is divided: a search that begins with any unit, and whose units can be handed over.

use std::collections::BTreeSet;

use selvedge_core::{Report, Schedule, System, ThreadKey, Violation};

use super::portable::Text;
use super::unit::Unit;
use super::{NO_SWITCHES, Search};
use crate::division::worker::{Advance, Before, Worker};
use crate::division::{Part, Pending};
use crate::options::{Observer, Options};

/// Begins with one unit.
pub(crate) fn begin<'a, S: System + 'static>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    start: &Pending,
) -> Result<Box<dyn Worker + 'a>, String> {
    Ok(Box::new(worker(make, options, observer, start)?))
}

/// The same, of systems that may borrow something.
pub(crate) fn worker<'a, S: System>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    start: &Pending,
) -> Result<impl Worker + use<'a, S>, String> {
    if options.limits.preemptions.is_some() || options.limits.context_switches.is_some() {
        return Err(NO_SWITCHES.to_owned());
    }
    let mut search = Search::new(make, options, observer);
    search.pending.clear();
    let text = start.unit.parse::<Text>()?;
    let unit = search.local(&text)?;
    search.pending.push(Unit { share: start.share, ..unit });
    Ok(Divided { search, besides: Vec::new() })
}

struct Divided<'a, S> {
    search: Search<'a, S>,
    /// Violations of a unit that was interrupted.
    besides: Vec<(Violation, Schedule)>,
}

impl<S: System> Divided<'_, S> {
    fn to_do(&self, unit: &Unit) -> Part {
        let text = self.search.portable(unit).to_string();
        Part::ToDo(Pending { unit: text, share: unit.share, floor: 0 })
    }
}

impl<S: System> Worker for Divided<'_, S> {
    fn advance(&mut self) -> Advance {
        let search = &mut self.search;
        if let Some(ended) = Advance::ended(&search.run) {
            return ended;
        }
        let Some(unit) = search.pending.pop() else { return Advance::Nothing };
        let known = search.pending.len();
        let before = Before::of(&search.run.report);
        let Some(unit) = search.perform(unit) else {
            return if search.run.is_violated() { Advance::Violated } else { Advance::Ran };
        };
        search.pending.truncate(known);
        search.pending.push(unit);
        self.besides.extend(before.restore(&mut search.run.report));
        Advance::Interrupted
    }

    fn left(&self) -> usize {
        self.search.pending.len()
    }

    fn all_left(&self) -> Vec<Part> {
        self.search.pending.iter().rev().map(|unit| self.to_do(unit)).collect()
    }

    fn give_away(&mut self) -> Vec<Part> {
        let oldest = self.search.pending.drain(..1.min(self.search.pending.len())).next();
        oldest.iter().map(|unit| self.to_do(unit)).collect()
    }

    fn report(&self) -> &Report {
        &self.search.run.report
    }

    fn seen_besides(&self) -> &[(Violation, Schedule)] {
        &self.besides
    }

    fn threads(&self) -> BTreeSet<ThreadKey> {
        self.search.order.names().cloned().collect()
    }

    fn share(&self) -> f64 {
        self.search.done
    }
}
