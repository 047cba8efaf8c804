//! RC11: O. Lahav, V. Vafeiadis, J. Kang, C.-K. Hur, D. Dreyer: *Repairing Sequential Consistency in C/C++11*,
//! PLDI 2017, with the release sequences of C++20.
//!
//! 1. Coherence: `hb ; eco?` is irreflexive.
//! 2. Atomicity.
//! 3. SC: `psc` has no cycle; see `strong.rs`.
//!
//! A graph that is sequentially consistent is consistent here too, and that is cheap to see. So the order of
//! questions is: is there a cycle through the new event at all, is it one of coherence, can it be one of `psc`.

use selvedge_core::{EventId, Order};

use crate::graph::clocks::HB;
use crate::graph::execution::Graph;

use super::reach::Reach;
use super::sc::ProgramOrder;
use super::strong::{Rows, Wording};

/// Returns whether the graph is consistent with the new event.
pub(super) fn allows(graph: &Graph, new: EventId, reach: &mut Reach, rows: &mut Rows) -> bool {
    if !reach.returns::<ProgramOrder>(graph, new) {
        return true;
    }
    if !is_coherent(graph, new) {
        return false;
    }
    let census = &graph.census;
    // Without a fence, only a path from one access with `SeqCst` to another is in `psc`; one that leaves the
    // new event begins there.
    if census.strong_fences == 0 && graph.event(new).order != Order::SeqCst {
        return true;
    }
    if census.strong_fences + census.strong_accesses < 2 {
        return true;
    }
    // Where all accesses are SeqCst, `psc` contains `po ∪ rf ∪ mo ∪ fr`.
    if census.weak_accesses == 0 {
        return false;
    }
    rows.is_acyclic(graph, Wording::Rc11)
}

/// Returns whether nothing that happens before the new event is later at its location.
fn is_coherent(graph: &Graph, new: EventId) -> bool {
    let event = graph.event(new);
    let Some(at) = event.at else { return true };
    let (cell, place) = (&graph.cells[at.index()], graph.place(event));
    let before = graph.clock(new, HB);
    let is_fine =
        |&access: &EventId| !before.contains(access) || graph.place(graph.event(access)) <= place;
    cell.writes[place as usize..].iter().all(is_fine) && cell.reads.iter().all(is_fine)
}
