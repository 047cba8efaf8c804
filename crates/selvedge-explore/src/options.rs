//! Options of an exploration, and its observer.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use selvedge_core::{Bound, Budget, Conditions, Counts, Ended, Ending, Execution, Report, Step};

/// Limits of an exploration. Reaching one makes the verdict inconclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// At most so many executions, all kinds together.
    pub executions: Option<u64>,
    /// At most so many steps in one execution; longer ones are cut.
    pub steps: usize,
    /// At most so many preemptions in one execution: switches away from an enabled thread.
    pub preemptions: Option<u32>,
    /// At most so many context switches in one execution: any switch from one thread to another.
    pub context_switches: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { executions: None, steps: 10_000, preemptions: None, context_switches: None }
    }
}

/// Where an explorer switches to another method, or gives up and says so.
///
/// Nothing is lost beyond any of them: each field says why. The defaults are what the tool uses; tests make
/// them tiny ([`Caps::tiny`]), so that the code beyond them is tested, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// A thread that takes so many steps in a row lets another go first, where the search is free to
    /// choose. Any choice is sound there.
    pub tiring: usize,
    /// So many steps of one thread are taken at most before others are asked. As for `tiring`.
    pub ahead: usize,
    /// `quasi` prunes its unfolding when that is twice as large as after the last time, and larger than
    /// this. What is pruned is not needed: `Quasi::prune` keeps `U ∩ Q_{C,D}`.
    pub worth_pruning: usize,
    /// `parsimonious` makes so many children of a race at a time: there may be very many, of different pasts. The rest of
    /// the question is kept, and asked again after these.
    pub children: usize,
    /// `data-centric` tries so many ways to reverse one race with a step that waits for several things. With
    /// more it gives up: inconclusive.
    pub combinations: usize,
    /// With unobserved locks, so many states are examined to find out whether there is an execution with an
    /// annotation. With more it gives up: inconclusive.
    pub states: usize,
    /// With unobserved locks, so many states are examined to find an execution that has nothing forbidden.
    /// With more the current one is taken, and may be redundant.
    pub states_to_avoid_redundancy: usize,
    /// `auto` takes so many steps in traces before it searches states for the first time, and as many there; then twice
    /// as many, and so on. The search that finishes first decides.
    pub turn: u64,
    /// When traces have ended without an answer, `auto` takes at least so many steps more among states. With more it
    /// gives up on states, and has the answer of traces.
    pub after_traces: u64,
    /// `auto` gives up on states that need so many bytes, and continues with traces unless one of them was cut.
    pub state_bytes: usize,
    /// `states` keeps so many. With more it gives up: inconclusive. Their numbers have 32 bits.
    pub kept_states: u32,
    /// With several threads, each thread of `states` takes so many states at a time. At least 1.
    pub piece: usize,
    /// With [`Options::hash_compact`], `states` keeps so many bits of each state: from 1 to 64.
    pub hash_bits: u32,
    /// Under a memory model, so many readers share a lock at a time. With more the explorer gives up: inconclusive.
    /// A set of them is a word of 64 bits.
    pub sharers: u32,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            tiring: 200,
            ahead: 32,
            worth_pruning: 512,
            children: 64,
            combinations: 4096,
            states: 100_000,
            states_to_avoid_redundancy: 1000,
            turn: 1 << 18,
            after_traces: 1 << 22,
            state_bytes: 1 << 30,
            kept_states: u32::MAX - 1,
            piece: 128,
            hash_bits: u64::BITS,
            sharers: 63,
        }
    }
}

impl Caps {
    /// As small as they can be, for tests.
    pub fn tiny() -> Self {
        Self {
            tiring: 2,
            ahead: 1,
            worth_pruning: 1,
            children: 1,
            combinations: 1,
            states: 2,
            states_to_avoid_redundancy: 1,
            turn: 1,
            after_traces: 1,
            state_bytes: 1 << 10,
            kept_states: 10,
            piece: 1,
            hash_bits: 1,
            sharers: 1,
        }
    }
}

/// How `data-centric` treats programs in which the threads communicate in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cycles {
    /// Like all others. Realizability may then be hard to decide.
    #[default]
    Exact,
    /// By the order of the writes to some variables, so that realizability is easy to decide.
    Refine,
}

/// What `data-centric` observes of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Locks {
    /// The order in which they are acquired.
    #[default]
    Observed,
    /// Nothing: only reads observe. Fewer classes, but deadlocks are not covered. If the search meets one,
    /// it restarts with observed locks.
    Unobserved,
}

/// How `optimal` treats writes and sends whose order no other step observes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Observers {
    /// They are ordered: traces in the sense of Mazurkiewicz.
    #[default]
    Absent,
    /// They are ordered if a later step observes the order.
    Decide,
}

/// Which infinite executions count as executions of the program: how threads are scheduled in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fairness {
    /// A thread that is always enabled from some point on takes infinitely many steps.
    #[default]
    Weak,
    /// A thread that is enabled infinitely often takes infinitely many steps.
    Strong,
    /// All of them.
    None,
}

impl Fairness {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fairness::Weak => "weak",
            Fairness::Strong => "strong",
            Fairness::None => "none",
        }
    }
}

/// How many threads search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jobs(pub NonZeroUsize);

impl Default for Jobs {
    fn default() -> Self {
        Jobs(NonZeroUsize::MIN)
    }
}

/// What to check and when to stop.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Continue after a violation and collect all distinct ones.
    pub keep_going: bool,
    /// Check for data races as well.
    pub data_races: bool,
    /// When to stop.
    pub limits: Limits,
    /// Time, memory and interruption. The caller exhausts it; every phase polls it.
    pub budget: Budget,
    /// How `data-centric` treats cyclic communication.
    pub cycles: Cycles,
    /// What `data-centric` observes of locks.
    pub locks: Locks,
    /// How `optimal` treats writes and sends whose order no other step observes.
    pub observers: Observers,
    /// Collect statistics, if the explorer can.
    pub statistics: bool,
    /// Options of `quasi`.
    pub quasi: QuasiOptions,
    /// Whether `constrained` checks every constraint where it uses it.
    pub check_constraints: bool,
    /// Whether `states` takes every step in every state.
    pub unreduced: bool,
    /// Whether `states` keeps only a hash of each state: less memory, and nothing is proved.
    pub hash_compact: bool,
    /// Whether `states` takes states for one that differ only in the names of threads that run the same code, if it is not
    /// `unreduced` and nothing is promised about executions without end.
    pub symmetry: bool,
    /// How many threads [`explore_states`](crate::explore_states) has.
    pub jobs: Jobs,
    /// Which infinite executions count.
    pub fairness: Fairness,
    /// Where explorers switch methods or give up.
    pub caps: Caps,
}

/// Options of `quasi`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuasiOptions {
    /// How many of the events that were explored an alternative must avoid for certain: the more, the
    /// fewer redundant executions. `None`: all, and no execution is redundant.
    pub k: Option<NonZeroU32>,
    /// Which accesses interfere.
    pub independence: Independence,
    /// The step of the skip pointers in the trees: at least 2.
    pub skip_step: NonZeroU32,
}

impl Default for QuasiOptions {
    fn default() -> Self {
        let skip_step = NonZeroU32::new(4).expect("4 is not 0");
        Self { k: None, independence: Independence::AllAccesses, skip_step }
    }
}

/// Which accesses interfere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Independence {
    /// All that do not commute.
    AllAccesses,
    /// Only those that synchronise, not ordinary reads and writes. Sound only without data races.
    LocksOnly,
}

/// The progress of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Executions so far.
    pub counts: Counts,
    /// Distinct states so far, if the search tells them apart.
    pub states: Option<u64>,
    /// Steps so far.
    pub steps: u64,
    /// Length of the current execution, or how far the current state is from the initial one.
    pub depth: usize,
    /// Estimated share of the search that is done, from 0 to 1: each branch of a node that is known
    /// so far is taken to be equally large. Of a search that tells states apart: which share of those that are known is expanded, which
    /// says nothing about those that are not known yet.
    pub fraction: f64,
}

/// Observes an exploration, and can end it.
pub trait Observer {
    /// A search begins, or starts again: what was observed before does not count.
    fn begins(&mut self) {}

    /// An execution that is counted has ended: these are its steps.
    fn ended(&mut self, steps: &[Step], how: Ended) {
        let _ = (steps, how);
    }

    /// A maximal execution has ended. Not called for redundant or cut ones.
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        let _ = (execution, ending);
    }

    /// The same execution: the state in which it ended, if the system can save states.
    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        let _ = (conditions, ending);
    }

    /// Returns whether [`ended`](Self::ended) is of use: an explorer of states has to find the steps.
    fn wants_steps(&self) -> bool {
        false
    }

    /// What was found so far. Called before each [`poll`](Self::poll).
    fn found(&mut self, report: &Report) {
        let _ = report;
    }

    /// Returns the time, from any beginning. Explorers do not look at the clock themselves; they ask only for
    /// statistics.
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    /// Called after every execution and every few hundred steps. An answer ends the exploration, as the
    /// end of [`Options::budget`] does: for callers that have no other thread to end it from.
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        let _ = progress;
        None
    }
}

/// An observer that ignores everything.
pub struct Silent;

impl Observer for Silent {}
