//! The registry: the only list of algorithms. Help texts, tests and documents iterate over it.
//!
//! [`Algorithm`] names those of this crate. Others come from elsewhere: whatever implements [`Explorer`] can be added to a
//! [`Registry`], which is what the command line chooses from. `examples/outside-explorer` is one.

use std::sync::Arc;

pub use selvedge_core::Covers;
use selvedge_core::{Report, System};

use crate::conditional::{constrained, context_sensitive};
use crate::observations as data_centric;
use crate::options::{Locks, Observer, Observers, Options};
use crate::reductions::optimal_dpor::{optimal, source};
use crate::reductions::{classic, oracle, parsimonious, sleep};
use crate::states;
use crate::unfolding::quasi;

/// An exploration algorithm of any origin.
///
/// It runs executions of a program with a [`Run`](crate::search::Run), which keeps the books: counts, limits, violations. One
/// that searches depth first is best written as a [`Reduction`](crate::search::Reduction).
///
/// # Contract
///
/// 1. *Sound:* [`Info::covers`] says what the absence of violations in a report without a reason to doubt means.
/// 2. *Honest:* whatever it leaves out (a limit, a construct that it does not support) is noted in the report, which is then
///    inconclusive: [`Run::give_up`](crate::search::Run::give_up), [`Report::note`].
/// 3. *Deterministic:* the same program and options lead to the same report.
/// 4. *Polite:* it ends soon after [`Run::is_stopped`](crate::search::Run::is_stopped) holds.
pub trait Explorer: Send + Sync + 'static {
    /// Returns what users should know about it.
    fn info(&self) -> Info;

    /// Explores the systems that `make` creates, all of the same program.
    fn explore<S: System>(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report;
}

/// An [`Explorer`] of one type of systems: what a [`Registry`] holds. Implemented for every explorer.
pub trait ExplorerOf<S>: Send + Sync {
    /// As [`Explorer::info`].
    fn info(&self) -> Info;

    /// As [`Explorer::explore`].
    fn explore(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report;
}

impl<S: System, E: Explorer> ExplorerOf<S> for E {
    fn info(&self) -> Info {
        Explorer::info(self)
    }

    fn explore(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        Explorer::explore(self, make, options, observer)
    }
}

/// One explorer can be in several registries.
impl<E: Explorer> Explorer for Arc<E> {
    fn info(&self) -> Info {
        Explorer::info(&**self)
    }

    fn explore<S: System>(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        Explorer::explore(&**self, make, options, observer)
    }
}

/// Explorers by name, in the order in which they are listed.
pub struct Registry<S> {
    explorers: Vec<Box<dyn ExplorerOf<S>>>,
}

impl<S: System> Default for Registry<S> {
    /// Returns the registry of [`Algorithm::ALL`].
    fn default() -> Self {
        let boxed = |&algorithm: &Algorithm| Box::new(algorithm) as Box<dyn ExplorerOf<S>>;
        Self { explorers: Algorithm::ALL.iter().map(boxed).collect() }
    }
}

impl<S: System> Registry<S> {
    /// Adds an explorer.
    ///
    /// # Panics
    /// If there is one with the same name.
    #[must_use]
    pub fn with(mut self, explorer: impl Explorer) -> Self {
        let name = Explorer::info(&explorer).name;
        assert!(self.named(name).is_none(), "there are two explorers named `{name}`");
        self.explorers.push(Box::new(explorer));
        self
    }

    /// Returns the explorers, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn ExplorerOf<S>> {
        self.explorers.iter().map(|explorer| &**explorer)
    }

    /// Returns the explorer with this command-line name.
    pub fn named(&self, name: &str) -> Option<&dyn ExplorerOf<S>> {
        self.iter().find(|explorer| explorer.info().name == name)
    }
}

/// An exploration algorithm of this crate.
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
    /// Every reachable state once.
    States,
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
    /// If the same steps find the same, and dependent ones come in the same order, but for writes and sends whose order no
    /// step observes.
    Observers,
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
            Equivalence::Observers => "traces with observers",
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
    /// The names of the explorers that it chooses from, if it has no search of its own.
    pub chooses_from: &'static [&'static str],
    /// The options of its own that it takes.
    pub settings: &'static [Setting],
}

/// An option that not every algorithm takes. The command line refuses one that would have no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Setting {
    /// Bounds on preemptions and context switches: it runs an execution of each class with the fewest of them.
    SwitchBounds,
    /// How many conflicts an alternative resolves, which races matter, how densely skip pointers are set.
    Alternatives,
    /// Writes and sends whose order no step observes are not ordered.
    Observers,
    /// What to do with cycles of observations, and whether the order of critical sections is observed.
    Observations,
    /// Conditions under which blocks commute.
    Constraints,
    /// Every step in every state, instead of only those that are necessary.
    Unreduced,
    /// Only a hash of each state is kept.
    HashCompact,
    /// Which executions without end count: it decides what is promised about them.
    Fairness,
    /// Figures about its data structures.
    Statistics,
    /// Several workers, and checkpoints: its work can be divided ([`explore_divided`](crate::explore_divided)).
    Division,
    /// Several workers that share the states which were found ([`explore_states`](crate::explore_states)).
    SharedStates,
}

impl Info {
    /// Returns whether it takes this option.
    pub fn takes(&self, setting: Setting) -> bool {
        self.settings.contains(&setting)
    }

    /// Returns the relation of which it explores one execution per class, with these observers.
    pub fn equivalence_with(&self, observers: Observers) -> Equivalence {
        match observers {
            Observers::Decide if self.takes(Setting::Observers) => Equivalence::Observers,
            _ => self.equivalence,
        }
    }

    /// Returns what its "verified" covers with these options.
    pub fn covers_with(&self, options: &Options) -> Covers {
        let covers = self.covers;
        Covers { deadlocks: covers.deadlocks && options.locks == Locks::Observed, ..covers }
    }
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
        Algorithm::States,
    ];

    /// The default.
    pub const DEFAULT: Algorithm = Algorithm::Optimal;

    /// Returns the algorithm with this command-line name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Self::ALL.iter().copied().find(|&algorithm| Algorithm::info(algorithm).name == name)
    }

    /// Returns what its "verified" covers with these options.
    pub fn covers(self, options: &Options) -> Covers {
        self.info().covers_with(options)
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
            Algorithm::States => states::INFO,
        }
    }
}

impl Explorer for Algorithm {
    fn info(&self) -> Info {
        Algorithm::info(*self)
    }

    fn explore<S: System>(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        explore(*self, make, options, observer)
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
        Algorithm::States => states::explore(make, options, observer),
    }
}
