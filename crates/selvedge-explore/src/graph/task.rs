//! What is planned: a graph, and what else can be done in it.

use selvedge_core::{EventId, ThreadId};

use super::event::{Reading, Source};
use super::execution::Graph;

/// Something that can be done in a graph.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// Continues from the graph as it is.
    Begin,
    /// The thread, which stands at an operation that reads, reads this write.
    Read { thread: ThreadId, from: Source, reading: Reading },
    /// The thread adds its pending write at this place.
    Place { thread: ThreadId, place: u32 },
    /// The thread chooses.
    Choose { thread: ThreadId, value: u32 },
    /// The pending write of the thread is shown to this read.
    Revisit { thread: ThreadId, read: EventId },
    /// The pending write of the thread goes to this place, and the thread `to` reads it, with this stamp.
    Show { thread: ThreadId, place: u32, to: ThreadId, stamp: u32, spurious: bool },
    /// The thread takes a mutex in place of this lock.
    Steal { thread: ThreadId, lock: EventId },
    /// The thread takes a mutex that others share, after what `from` wrote and after these of them, by their number; the
    /// others come later.
    Take { thread: ThreadId, from: Source, after: u64 },
    /// The thread shares a mutex before this lock.
    Share { thread: ThreadId, lock: EventId },
}

/// A task that is planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    /// After how many events of its graph.
    pub(super) mark: usize,
    pub(super) task: Task,
    /// Which share of the search it is taken to be: `share.rs`.
    pub(super) share: f64,
}

/// A graph, and what can be done in it.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub(super) graph: Graph,
    pub(super) tasks: Vec<Planned>,
}

impl Planned {
    /// The task that a search begins with, which is all of it.
    pub(super) fn first(task: Task) -> Self {
        Self { mark: 0, task, share: 1.0 }
    }
}
