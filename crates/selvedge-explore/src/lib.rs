//! Exploration algorithms: one file each, and the registry that lists them.
//!
//! Everything here works on any [`System`](selvedge_core::System); no algorithm can know a front end, because it cannot
//! name one. Start reading at `oracle.rs`, then `source.rs` and `optimal.rs` beside the paper.

mod algorithm;
mod conditional;
mod confirm;
mod constrained;
mod context_sensitive;
mod data_race;
mod frees;
mod options;
mod random;
mod run;
mod sampling;
mod shorten;

mod backtrack;
mod classic;
mod clock;
mod data_centric;
mod frontier;
mod graph;
mod optimal;
mod oracle;
mod parsimonious;
mod quasi;
mod races;
mod sequence;
mod sleep;
mod sleep_set;
mod source;
mod unfolding;
mod wakeup_tree;

pub use algorithm::{Algorithm, Covers, Equivalence, Info, explore};
pub use confirm::{Confirmed, NotConfirmed, confirm, confirm_within, data_races};
pub use graph::{
    Act, Event as GraphEvent, Finding, Graph, GraphObserver, GraphReport, Memory, Reading, Source,
    Unit, Witness, explore_graphs, explore_unit,
};
pub use options::{
    Caps, Cycles, Ended, Independence, Limits, Locks, Observer, Options, Progress, QuasiOptions,
    Silent,
};
pub use sampling::{Sampling, sample};
