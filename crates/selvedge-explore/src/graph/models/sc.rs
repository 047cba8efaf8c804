//! Sequential consistency: `po ∪ rf ∪ mo ∪ fr ∪ asw` has no cycle.

use selvedge_core::EventId;

use crate::graph::event::Event;
use crate::graph::execution::Graph;

use super::reach::{Kept, Onward, Reach};

/// Keeps all of program order.
pub(super) struct ProgramOrder;

impl Kept for ProgramOrder {
    const INTERNAL_READS: bool = true;

    #[inline]
    fn onward(_: &[Event], nth: u32) -> Onward {
        Onward { all: nth, writes: nth }
    }
}

/// Returns whether the graph is consistent with the new event.
pub(super) fn allows(graph: &Graph, new: EventId, reach: &mut Reach) -> bool {
    !reach.returns::<ProgramOrder>(graph, new)
}
