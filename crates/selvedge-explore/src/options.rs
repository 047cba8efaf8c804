//! What a caller asks for, and how it listens.

use selvedge_core::{Bound, Counts, Ending, Execution};

/// Limits of an exploration. Reaching one makes the verdict inconclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// At most so many executions, all kinds together.
    pub executions: Option<u64>,
    /// At most so many steps in one execution; longer ones are cut.
    pub steps: usize,
    /// At most so many preemptions in one execution: switches away from a thread that could go on.
    pub preemptions: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { executions: None, steps: 10_000, preemptions: None }
    }
}

/// How `data-centric` treats programs in which the threads communicate in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cycles {
    /// Like all others. Whether an observation is possible may then be hard to decide.
    #[default]
    Exact,
    /// By the order of the writes to some variables, so that this is easy to decide.
    Refine,
}

/// What to look for and when to stop.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Go on after a violation and collect all distinct ones.
    pub keep_going: bool,
    /// Look for data races too.
    pub data_races: bool,
    /// When to stop.
    pub limits: Limits,
    /// How `data-centric` treats cyclic communication.
    pub cycles: Cycles,
}

/// How far an exploration is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Executions so far.
    pub counts: Counts,
    /// Steps so far.
    pub steps: u64,
    /// Length of the current execution.
    pub depth: usize,
    /// Estimated share of the search that is done, from 0 to 1: each branch of a node that is known
    /// so far is taken to be equally large.
    pub fraction: f64,
}

/// Listens to an exploration, and can end it.
pub trait Observer {
    /// An execution has come to its end. Not called for redundant or cut ones.
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        let _ = (execution, ending);
    }

    /// Called after every execution and every few hundred steps. An answer ends the exploration:
    /// the time is up, or the user asks to stop.
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        let _ = progress;
        None
    }
}

/// Does not listen.
pub struct Silent;

impl Observer for Silent {}
