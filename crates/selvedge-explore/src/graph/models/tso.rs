//! x86-TSO, as in Owens, Sarkar, Sewell: *A Better x86 Memory Model: x86-TSO*, TPHOLs 2009.
//!
//! 1. `po|loc ∪ rf ∪ mo ∪ fr` has no cycle.
//! 2. Atomicity.
//! 3. `kept ∪ rfe ∪ mo ∪ fr ∪ asw` has no cycle. `kept` is program order between accesses, but for a write and a
//!    later read with nothing that drains the store buffer at or between them.
//!
//! What drains: both parts of a read-modify-write, and one that fails (locked instructions always do); a store
//! with `SeqCst` (it is compiled to `xchg`), a fence with `SeqCst` (`mfence`); spawn and join. Other fences and
//! choices are not there for the machine: they order nothing, not even as links from a write to a later read.

use selvedge_core::{EventId, Label, Order};

use crate::graph::event::{Act, Event};
use crate::graph::execution::Graph;

use super::reach::{Kept, Onward, Reach};

/// Keeps what a store buffer keeps.
pub(super) struct Buffered;

impl Kept for Buffered {
    const INTERNAL_READS: bool = false;

    fn onward(events: &[Event], nth: u32) -> Onward {
        let rest = &events[nth as usize..];
        if matches!(rest[0].act, Act::Write { .. }) {
            let drained = rest.iter().position(drains).unwrap_or(rest.len());
            Onward { all: nth + drained as u32, writes: nth }
        } else {
            Onward { all: nth, writes: nth }
        }
    }
}

/// Returns whether the store buffer is empty at this event.
fn drains(event: &Event) -> bool {
    match event.act {
        Act::Read { .. } => matches!(
            event.label,
            Label::Update { .. }
                | Label::Close(_)
                | Label::Compare { .. }
                | Label::Try { .. }
                | Label::Await { update: true, .. }
                | Label::Lock(_)
                | Label::Share(_)
                | Label::Unshare(_)
                | Label::TryLock(_)
        ),
        Act::Write { updating, .. } => updating || event.order == Order::SeqCst,
        Act::Fence => event.order == Order::SeqCst,
        Act::Spawn(_) | Act::Join(_) => true,
        Act::Choice | Act::Access { .. } => false,
    }
}

/// Returns whether the graph is consistent with the new event.
pub(super) fn allows(graph: &Graph, new: EventId, reach: &mut Reach) -> bool {
    is_coherent(graph, new) && !reach.returns::<Buffered>(graph, new)
}

/// Returns whether the thread of the new event has seen nothing later at its location.
fn is_coherent(graph: &Graph, new: EventId) -> bool {
    let event = graph.event(new);
    let Some(at) = event.at else { return true };
    let (cell, place) = (&graph.cells[at.index()], graph.place(event));
    let is_fine = |&access: &EventId| {
        access.thread != new.thread || graph.place(graph.event(access)) <= place
    };
    cell.writes[place as usize..].iter().all(is_fine) && cell.reads.iter().all(is_fine)
}
