//! The registry: the only list of algorithms. Help texts, tests and documents iterate over it.

pub use selvedge_core::Covers;
use selvedge_core::{Report, System};

use crate::options::{Locks, Observer, Options};
use crate::{
    classic, constrained, context_sensitive, data_centric, optimal, oracle, parsimonious, quasi,
    sleep, source,
};

/// An exploration algorithm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// Every interleaving.
    Oracle,
    /// Sleep sets alone.
    Sleep,
    /// Flanagan and Godefroid's dynamic partial-order reduction.
    Classic,
    /// Source sets.
    Source,
    /// Source sets and wakeup trees.
    Optimal,
    /// A canonical form of traces, and no wakeup trees.
    Parsimonious,
    /// Unfoldings and k-partial alternatives.
    Quasi,
    /// Observations instead of traces.
    DataCentric,
    /// Source sets, and orders that lead to the same state.
    ContextSensitive,
    /// Source sets and independence constraints.
    Constrained,
}

/// When two executions are equivalent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Equivalence {
    /// Only if they are the same interleaving.
    Interleaving,
    /// If swapping neighbouring independent steps turns one into the other.
    Mazurkiewicz,
    /// If every read observes the same write, and locks and the like are used in the same order.
    Observation,
    /// If they end in the same state.
    State,
}

impl Equivalence {
    /// Returns its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Equivalence::Interleaving => "interleavings",
            Equivalence::Mazurkiewicz => "traces (Mazurkiewicz)",
            Equivalence::Observation => "observations (reads-from)",
            Equivalence::State => "states",
        }
    }
}

/// What users should know about an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// When to use it, in one or two sentences.
    pub advice: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// The relation of which it explores one execution per class.
    pub equivalence: Equivalence,
    /// What its "verified" covers.
    pub covers: Covers,
    /// Whether it promises to visit every class once, with no redundant execution.
    pub optimal: bool,
    /// Whether it can keep to a bound on preemptions and context switches.
    pub switch_bounds: bool,
}

impl Algorithm {
    /// Every algorithm, from the simplest on.
    pub const ALL: &[Algorithm] = &[
        Algorithm::Oracle,
        Algorithm::Sleep,
        Algorithm::Classic,
        Algorithm::Source,
        Algorithm::Optimal,
        Algorithm::Parsimonious,
        Algorithm::Quasi,
        Algorithm::DataCentric,
        Algorithm::ContextSensitive,
        Algorithm::Constrained,
    ];

    /// The default.
    pub const DEFAULT: Algorithm = Algorithm::Optimal;

    /// Returns the algorithm with this command-line name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.info().name == name)
    }

    /// Returns what its "verified" covers with these options.
    pub fn covers(self, options: &Options) -> Covers {
        let covers = self.info().covers;
        Covers { deadlocks: covers.deadlocks && options.locks == Locks::Observed, ..covers }
    }

    /// Returns what users should know about it.
    pub fn info(self) -> Info {
        match self {
            Algorithm::Oracle => oracle::INFO,
            Algorithm::Sleep => sleep::INFO,
            Algorithm::Classic => classic::INFO,
            Algorithm::Source => source::INFO,
            Algorithm::Optimal => optimal::INFO,
            Algorithm::Parsimonious => parsimonious::INFO,
            Algorithm::Quasi => quasi::INFO,
            Algorithm::DataCentric => data_centric::INFO,
            Algorithm::ContextSensitive => context_sensitive::INFO,
            Algorithm::Constrained => constrained::INFO,
        }
    }
}

/// Explores the systems that `make` creates, all of the same program.
pub fn explore<S: System>(
    algorithm: Algorithm,
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    match algorithm {
        Algorithm::Oracle => oracle::explore(make, options, observer),
        Algorithm::Sleep => sleep::explore(make, options, observer),
        Algorithm::Classic => classic::explore(make, options, observer),
        Algorithm::Source => source::explore(make, options, observer),
        Algorithm::Optimal => optimal::explore(make, options, observer),
        Algorithm::Parsimonious => parsimonious::explore(make, options, observer),
        Algorithm::Quasi => quasi::explore(make, options, observer),
        Algorithm::DataCentric => data_centric::explore(make, options, observer),
        Algorithm::ContextSensitive => context_sensitive::explore(make, options, observer),
        Algorithm::Constrained => constrained::explore(make, options, observer),
    }
}
