//! Exploration algorithms: one folder per family, and the registry that lists them.
//!
//! Everything here works on any [`System`](selvedge_core::System); no algorithm can know a front end, because it cannot
//! name one. Start reading at `reductions/oracle.rs`, then `search/depth_first.rs`, then `reductions/optimal_dpor/` beside the
//! paper.
//!
//! | folder | contents |
//! |---|---|
//! | `search/` | what every explorer is built on: a run of one system, the depth-first driver, sampling |
//! | `reductions/` | depth-first search over traces: oracle, sleep, classic, source, optimal, parsimonious |
//! | `conditional/` | source sets where steps commute in the current state: constrained, context-sensitive |
//! | `unfolding/` | unfoldings: quasi |
//! | `observations/` | reads-from classes: data-centric |
//! | `graph/` | execution graphs under weak memory |
//! | `states/` | search of the state graph: states |
//! | `auto/` | traces, then states: auto |
//! | `division/` | a search in parts: several workers, checkpoints |
//! | `trace/` | data structures over traces: races, sequences, sleep sets, backtrack sets |
//! | `outcome/` | what becomes of executions: data races, frees, replay, shortening |
//!
//! An explorer can also live in a crate of its own: see [`Explorer`] and [`search`].

mod auto;
mod conditional;
mod division;
mod graph;
mod observations;
mod options;
mod outcome;
mod reductions;
mod registry;
pub mod search;
mod states;
pub mod trace;
mod unfolding;

pub use auto::Auto;
pub use division::{
    Ask, Divided, Divisible, Division, Frontier, Keeper, Ledger, Part, Pending, Rest, Tally,
    explore_divided, put_together, run_unit, sequential,
};
pub use graph::{
    Act, Event as GraphEvent, Finding, Followed, Follower, Graph, GraphObserver, GraphReport,
    Memory, Reading, Source, Turn, Unit, Witness, estimate_graphs, explore_graphs, explore_unit,
    follow, follow_graph, graph_races,
};
pub use options::{
    Caps, Cycles, Fairness, Independence, Jobs, Limits, Locks, Observer, Observers, Options,
    Progress, QuasiOptions, Silent,
};
pub use outcome::confirm::{Confirmed, NotConfirmed, confirm, confirm_within, data_races};
pub use outcome::promises::{broken_promises, unfair_to};
pub use registry::{
    Algorithm, Covers, Equivalence, Explorer, ExplorerOf, Info, Registry, Setting, explore,
};
pub use search::estimate::{Estimate, Range, estimate};
pub use search::expected::{Sampled, expected};
pub use search::marks::{TraceHash, TraceHasher};
pub use search::sampling::{Sampling, sample};
pub use states::explore_states;
