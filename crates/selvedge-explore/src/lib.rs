//! Exploration algorithms: one folder per family, and the registry that lists them.
//!
//! Everything here works on any [`System`](selvedge_core::System); no algorithm can know a front end, because it cannot
//! name one. Start reading at `oracle.rs`, then `source.rs` and `optimal.rs` beside the paper.

mod conditional;
mod graph;
mod observations;
mod options;
mod outcome;
mod reductions;
mod registry;
mod search;
mod trace;
mod unfolding;

pub use graph::{
    Act, Event as GraphEvent, Finding, Graph, GraphObserver, GraphReport, Memory, Reading, Source,
    Unit, Witness, explore_graphs, explore_unit,
};
pub use options::{
    Caps, Cycles, Independence, Limits, Locks, Observer, Options, Progress, QuasiOptions, Silent,
};
pub use outcome::confirm::{Confirmed, NotConfirmed, confirm, confirm_within, data_races};
pub use registry::{Algorithm, Covers, Equivalence, Info, explore};
pub use search::sampling::{Sampling, sample};
