//! Weak memory by the axioms alone: every candidate execution of a litmus test, filtered by each memory model.
//!
//! This is the judge of the explorer of execution graphs, and shares no idea with it. [`candidates`] enumerates the graphs that
//! a program can have under any model: each thread runs with each value that its reads can return. A model is a predicate on
//! complete graphs, written as in its paper with relations as bit matrices: [`sc`](Memory::Sc), [`tso`](Memory::Tso),
//! [`rc11`](Memory::Rc11) and [`c++20`](Memory::Cxx20) are one file each. [`agree`] compares.
//!
//! For small programs only: up to [`MOST_EVENTS`] events.

mod candidates;
mod compare;
mod cxx20;
mod execution;
mod facts;
mod happens_before;
mod meetings;
mod models;
mod rc11;
mod relation;
mod relations;
mod sc;
mod shrink;
mod tso;

use selvedge_explore::Memory;

pub use candidates::{Refusal, candidates};
pub use compare::{Compared, Difference, Effort, agree, agree_or_shrink, explored};
pub use execution::{Event, Execution, Kind, Stop};
pub use facts::{Facts, Form, Name, Race, facts};
pub use relation::MOST_EVENTS;
pub use relations::Relations;

/// Whether an execution is consistent under a model.
pub fn is_consistent(relations: &Relations, memory: Memory) -> bool {
    match memory {
        Memory::Sc => sc::is_consistent(relations),
        Memory::Tso => tso::is_consistent(relations),
        Memory::Rc11 => rc11::is_consistent(relations),
        Memory::Cxx20 => cxx20::is_consistent(relations),
    }
}

/// Whether the operations of an execution with `SeqCst` have an order as the wording of C++20 demands it. The model
/// [`Memory::Cxx20`] is RC11 without what has none.
pub fn has_cxx20_order(relations: &Relations) -> bool {
    cxx20::has_an_order(relations)
}
