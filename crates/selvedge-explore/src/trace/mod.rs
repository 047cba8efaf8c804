//! Data structures over traces: what the reductions have in common.
//!
//! | file | contents |
//! |---|---|
//! | `races.rs` | races of an execution, and the sequences that reverse them |
//! | `sequence.rs` | sequences of steps with their accesses, and weak initials |
//! | `sleep_set.rs` | sleep sets along the current path |
//! | `frontier.rs` | backtrack sets |
//! | `clock.rs` | vector clocks of steps that may come |
//! | `linearisations.rs` | how many executions a trace has |

pub(crate) mod clock;
pub(crate) mod frontier;
pub(crate) mod linearisations;
pub(crate) mod races;
pub(crate) mod sequence;
pub(crate) mod sleep_set;
#[cfg(test)]
pub(crate) mod tests;

pub use races::{Later, OnReversal, Reversal, reversals};
pub use sequence::{Initial, Move, Sequence};
pub use sleep_set::SleepSets;
