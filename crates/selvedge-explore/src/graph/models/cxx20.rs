//! C++20's own wording, as a filter of RC11: it forbids a little more.
//!
//! Coherence-ordered-before contains reads-from (RC11 has `mo ∪ fr` in its place), and a read-modify-write is
//! one operation, so that what RC11 asks of the location is asked of that. See `strong.rs`. It forbids what processors do
//! with the usual code for SeqCst loads and stores, where a thread reads its own store early.

use crate::graph::execution::Graph;

use super::strong::{Rows, Wording};

/// Returns whether a graph that is consistent in RC11 is so by the wording of C++20.
pub(super) fn admits(graph: &Graph, rows: &mut Rows) -> bool {
    rows.is_acyclic(graph, Wording::Cxx20)
}
