//! Options with a few values that single algorithms take.

use clap::ValueEnum;
use selvedge_explore::{Cycles, Fairness};

/// How to treat cyclic communication.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum CyclesArg {
    /// One execution per observation class: the fewest executions
    Exact,
    /// Also distinguish the order of writes to some variables, as the paper does: more classes, each
    /// decided in polynomial time
    Refine,
}

impl From<CyclesArg> for Cycles {
    fn from(cycles: CyclesArg) -> Self {
        match cycles {
            CyclesArg::Exact => Cycles::Exact,
            CyclesArg::Refine => Cycles::Refine,
        }
    }
}

/// Which infinite executions count.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum FairnessArg {
    /// Those in which a thread that is always enabled from some point on takes steps
    Weak,
    /// Those in which a thread that is enabled infinitely often takes steps infinitely often
    Strong,
    /// All
    None,
}

impl From<FairnessArg> for Fairness {
    fn from(fairness: FairnessArg) -> Self {
        match fairness {
            FairnessArg::Weak => Fairness::Weak,
            FairnessArg::Strong => Fairness::Strong,
            FairnessArg::None => Fairness::None,
        }
    }
}
