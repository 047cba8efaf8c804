//! Ends of threads: a thread ends in its last step, and not after it.
//!
//! A thread whose end others can observe tells them by a [`Label::Close`], an event after its last step. Without more, another thread could see that step and yet find this one alive. That the two are one step is
//! asked of complete graphs only: a thread that has come to its last step need not have closed yet.
//!
//! So one end comes *before* another if its last step comes before something that found the other thread alive, and that
//! has no cycle. What comes before what is up to the model: all that it keeps in order for machines, happens-before
//! for languages.

use selvedge_core::{EventId, Label, ThreadId};

use crate::graph::event::Act;
use crate::graph::execution::Graph;

use super::reach::Reach;
use super::{Memory, sc, tso};

/// The end of a thread.
struct End<'g> {
    thread: ThreadId,
    /// The last step.
    step: EventId,
    /// What was written before the close where it is told, in modification order.
    before: &'g [EventId],
}

/// Returns whether each thread of a complete graph ends in its last step.
pub(super) fn admits(graph: &Graph, memory: Memory, reach: &mut Reach) -> bool {
    let mut ends: Vec<End<'_>> = graph.threads().filter_map(|it| end(graph, it)).collect();
    // Takes out the ends with no other before them, until none is left.
    while !ends.is_empty() {
        let is_first =
            |end: &End<'_>| !ends.iter().any(|other| is_before(graph, memory, reach, other, end));
        let Some(first) = ends.iter().position(is_first) else { return false };
        ends.swap_remove(first);
    }
    true
}

fn end(graph: &Graph, thread: ThreadId) -> Option<End<'_>> {
    let events = graph.events(thread);
    let close = events.last()?;
    let (Label::Close(at), Act::Write { place, .. }) = (close.label, close.act) else {
        return None;
    };
    // After the last step come the two parts of the close.
    let mut nth = events.len().checked_sub(3)?;
    if events[nth].is_updating_write() {
        nth -= 1;
    }
    let step = EventId { thread, nth: nth as u32 };
    Some(End { thread, step, before: &graph.writes(at)[..place as usize - 1] })
}

/// Returns whether the last step of `earlier` comes before something that found the thread of `later` alive.
fn is_before(
    graph: &Graph,
    memory: Memory,
    reach: &mut Reach,
    earlier: &End<'_>,
    later: &End<'_>,
) -> bool {
    let mut others = later.before.iter().rev().filter(|write| write.thread != later.thread);
    match memory {
        // These keep modification order: what reaches one of the writes reaches the last one.
        Memory::Sc => others
            .next()
            .is_some_and(|&last| reach.reaches::<sc::ProgramOrder>(graph, earlier.step, last)),
        Memory::Tso => others
            .next()
            .is_some_and(|&last| reach.reaches::<tso::Buffered>(graph, earlier.step, last)),
        Memory::Rc11 | Memory::Cxx20 => {
            others.any(|&write| graph.happens_before(earlier.step, write))
        }
    }
}
