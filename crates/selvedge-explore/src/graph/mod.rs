//! Execution graphs: each consistent execution under a memory model once, in memory that does not grow.
//!
//! After M. Kokologiannakis, I. Marmanis, V. Gladstein, V. Vafeiadis: *Truly Stateless, Optimal Dynamic Partial Order
//! Reduction* (TruSt), POPL 2022.
//!
//! | paper | here |
//! |---|---|
//! | execution graph `G` | [`Graph`], `execution.rs` |
//! | `<_G`, when events were added | the stamps of events |
//! | `Visit` | `Search::go_on`, `search.rs` |
//! | `VisitCOs` | `Search::write` |
//! | revisits, `Deleted`, `IsMaximallyAdded` | `revisit.rs` |
//! | `cons_m`, memory models | `models.rs` |
//!
//! **Equivalence:** the same events, reads-from and modification order. Under `sc` these are Mazurkiewicz traces.
//! **Guarantee:** exactly one complete graph per class. **Not guaranteed:** no wasted work where threads await
//! values: a few graphs cannot be completed without a thread that waits at a write which is no longer the last. Those that lead to nothing else
//! are counted as redundant.
//! Readers of a lock may come before a writer in several orders, which are one graph: it is judged each time and counted
//! once, the others as redundant (about 3^n / 2 graphs for the 2^n of n readers and one writer).
//! **Differs from the paper:**
//! 1. Locks with their deadlocks, and try-locks: `locks.rs`; those that threads share: `shares.rs`.
//! 2. Awaits: a thread that waits for a value is in the graph only when nothing else can run, or when a write that it was shown
//!    made it wait. A write that would leave it waiting at an older one is not added: `held.rs`.
//! 3. Choices, weak compare-exchanges, spawn and join; for each it is said in `Graph::is_maximal` how the search adds
//!    it without an alternative.
//! 4. A stack of alternatives in place of recursion.
//!
//! **Cost:** per execution, the events after the last one that it shares with the one before. Memory: the graphs from
//! which reads were shown newer writes, nested; each is as large as an execution.
//! **Tests:** `selvedge-testkit/tests/weak_*.rs`: exact counts, comparison with machines and with `optimal`,
//! programs that show what each part is for.

mod clocks;
mod estimate;
mod event;
mod execution;
mod follow;
mod hash;
mod held;
mod locks;
mod models;
mod program;
mod race;
mod report;
mod revisit;
mod search;
mod share;
mod shares;
mod task;
mod told;
mod unit;
mod witness;
mod words;

use selvedge_core::GraphSystem;

use crate::options::Options;

pub use estimate::estimate_graphs;
pub use event::{Act, Event, Reading, Source};
pub use execution::Graph;
pub use follow::{Follower, follow_graph, graph_races};
pub use models::Memory;
pub use report::{Finding, GraphObserver, GraphReport};
pub use told::{Followed, Turn, follow};
pub use unit::Unit;
pub use witness::Witness;

/// Explores the executions of a system under a memory model.
pub fn explore_graphs<S: GraphSystem>(
    system: &mut S,
    memory: Memory,
    options: &Options,
    observer: &mut dyn GraphObserver,
) -> GraphReport {
    search::Search::new(system, memory, options, observer).run()
}

/// Explores a part of a search that was given away by another search through the same program, with the same memory
/// model and options.
pub fn explore_unit<S: GraphSystem>(
    system: &mut S,
    memory: Memory,
    options: &Options,
    observer: &mut dyn GraphObserver,
    unit: Unit,
) -> GraphReport {
    let mut search = search::Search::new(system, memory, options, observer);
    search.begin_with(unit);
    search.run()
}
