//! A search in parts: several workers, an end and a beginning at any time, and the report of one run.
//!
//! A *unit* is a text from which a worker can run a part of the search, knowing nothing else. Running it gives a *tally* of
//! the executions that were run, and other units. The [`Frontier`] is the list of all tallies and of all units that are
//! still to be run, in the order in which one worker alone would have come to them: a worker that hands over its oldest
//! unit, which it would run last, puts that right behind itself. So the tallies up to some place add up to what one worker
//! has found there, whatever the number of workers and whatever happened to them: the report is theirs up to the first
//! violation, or up to the limit.
//!
//! | file | contents |
//! |---|---|
//! | `frontier.rs` | the list, and how tallies add up |
//! | `rest.rs` | what units ask for that is not theirs |
//! | `until.rs` | where a report ends that is not of the whole search |
//! | `worker.rs` | what an explorer can do whose work can be divided |
//! | `sample.rs` | random executions |
//! | `crew.rs`, `slot.rs` | threads that work on one frontier |
//! | `ledger.rs` | a frontier whose units are run elsewhere |
//!
//! Nothing here knows how units travel. A checkpoint is a frontier in a file; workers on other machines need the program
//! and a unit, and return a tally with the units that are left.

pub(crate) mod crew;
mod frontier;
mod ledger;
pub(crate) mod rest;
mod sample;
mod slot;
#[cfg(test)]
mod tests;
pub(crate) mod until;
pub(crate) mod worker;

use std::num::NonZeroUsize;

use selvedge_core::{Bound, Report, System};

use crate::auto;
use crate::options::{Observer, Options};
use crate::reductions::optimal_dpor::source;
use crate::reductions::{parsimonious, sleep};
use crate::registry::Algorithm;
use crate::search::sampling::note_sampled;

pub use frontier::{Frontier, Part, Pending, Tally};
pub use ledger::Ledger;
pub use rest::{Ask, Rest};
use worker::Begin;

/// Keeps the frontier of a search that continues.
pub trait Keeper {
    /// Returns whether it is time to keep the frontier. Asked several times a second.
    fn is_due(&mut self) -> bool;

    /// Keeps the frontier.
    fn keep(&mut self, frontier: &Frontier);
}

/// How to divide a search.
pub struct Division<'a> {
    /// How many workers there are.
    pub jobs: NonZeroUsize,
    /// Where to begin.
    pub start: Frontier,
    /// Who keeps the frontier now and then.
    pub keeper: Option<&'a mut dyn Keeper>,
}

/// The result of a search that was divided.
pub struct Divided {
    /// What was found: the same for every number of workers, and wherever the search was ended and begun again.
    pub report: Report,
    /// What is left: nothing that matters, unless the budget was exhausted.
    pub left: Frontier,
}

/// What is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Divisible {
    /// An exploration, which begins with [`Frontier::root`].
    Exploration(Algorithm),
    /// What [`Auto`](crate::Auto) does, which begins with [`Frontier::root`]. Its states are not kept: they are searched again.
    Auto,
    /// Random executions, which begin with [`Frontier::of_sample`].
    Sample,
}

/// Explores with several workers, each of which has a system of its own.
///
/// # Errors
/// Why that cannot be done: the algorithm's work cannot be divided, or a unit does not belong to the program.
pub fn explore_divided<S: System + Send + 'static>(
    what: Divisible,
    make: &(dyn Fn() -> S + Sync),
    options: &Options,
    observer: &mut dyn Observer,
    division: Division<'_>,
) -> Result<Divided, String> {
    if what == Divisible::Auto {
        return auto::in_parts(make, options, observer, division);
    }
    let divided = crew::explore(begin(what)?, make, options, observer, division)?;
    Ok(told_how(what, options, divided))
}

/// Says in a report how it came about.
fn told_how(what: Divisible, options: &Options, mut divided: Divided) -> Divided {
    match what {
        Divisible::Exploration(_) => {}
        Divisible::Auto => divided.report.decision = Some(auto::without_choice(options)),
        Divisible::Sample => note_sampled(&mut divided.report),
    }
    divided
}

/// Puts the parts of a search together whose units were run elsewhere ([`run_unit`], [`Ledger`]): nothing is left that matters,
/// or the budget is exhausted, or `ended` says what has ended it.
///
/// # Errors
/// As for [`explore_divided`].
pub fn put_together<S: System + 'static>(
    what: Divisible,
    make: &dyn Fn() -> S,
    options: &Options,
    frontier: Frontier,
    ended: Option<Bound>,
) -> Result<Divided, String> {
    let divided = crew::put_together(begin(what)?, make, options, frontier, ended)?;
    Ok(told_how(what, options, divided))
}

/// Runs units, beginning with one of a frontier, while `go_on`, which gets the number of those that were run, returns true. Returns the parts
/// that take its place there ([`Frontier::replace`]): what was done, and what is left. This is all that a worker elsewhere has
/// to do.
///
/// # Errors
/// As for [`explore_divided`].
pub fn run_unit<S: System + 'static>(
    what: Divisible,
    make: &dyn Fn() -> S,
    options: &Options,
    unit: &Pending,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Part>, String> {
    crew::run_unit(begin(what)?, make, options, unit, go_on)
}

/// Returns how workers begin.
fn begin<S: System + 'static>(what: Divisible) -> Result<Begin<S>, String> {
    match what {
        // Units of `auto` are run elsewhere only if it cannot choose.
        Divisible::Exploration(Algorithm::Parsimonious) | Divisible::Auto => {
            Ok(parsimonious::begin::<S>)
        }
        Divisible::Exploration(Algorithm::Sleep) => Ok(sleep::begin::<S>),
        Divisible::Exploration(Algorithm::Source) => Ok(source::begin::<S>),
        Divisible::Exploration(algorithm) => Err(sequential(algorithm.info().name)),
        Divisible::Sample => Ok(sample::begin::<S>),
    }
}

/// Returns a sentence that says that the work of an algorithm cannot be divided.
pub fn sequential(name: &str) -> String {
    format!(
        "`{name}` is sequential: what it explores next depends on all that it has explored before"
    )
}
