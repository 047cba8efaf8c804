//! Memory models: which graphs are consistent.
//!
//! All of them demand that program order, reads-from, spawn and join have no cycle (no values out of thin air):
//! the search builds no other graphs. All of them have two properties that the search needs:
//!
//! 1. *Extensible:* an event that is added last, and reads the last write in modification order or becomes the
//!    last one there, keeps a consistent graph consistent.
//! 2. *Prefix-closed:* what is before some events of a consistent graph is a consistent graph.
//!
//! By the first, a model is asked only about an event that is *not* last in modification order. Everything
//! else was consistent before, and the new event is a sink of program order and reads-from; so a cycle that a
//! model forbids has to leave the new event towards a later write, by modification order or from-read. A model
//! looks for that and for nothing else.

mod cxx20;
mod ends;
mod rc11;
mod reach;
mod sc;
mod strong;
mod tso;

use selvedge_core::EventId;

use super::event::Act;
use super::execution::Graph;

use reach::Reach;
use strong::Rows;

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Memory {
    /// Sequential consistency: all accesses are in one order, whatever their orderings.
    Sc,
    /// x86: a store may be delayed past later loads of its thread.
    Tso,
    /// C11 and Rust: what the orderings say, as in *Repairing Sequential Consistency in C/C++11*.
    Rc11,
    /// The same, without what only the wording of C++20 forbids.
    Cxx20,
}

impl Memory {
    /// Every model, from the strongest to the weakest.
    pub const ALL: &[Memory] = &[Memory::Sc, Memory::Tso, Memory::Cxx20, Memory::Rc11];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Sc => "sc",
            Memory::Tso => "tso",
            Memory::Rc11 => "rc11",
            Memory::Cxx20 => "c++20",
        }
    }

    /// Returns the model with this command-line name.
    pub fn named(name: &str) -> Option<Memory> {
        Self::ALL.iter().copied().find(|memory| memory.name() == name)
    }
}

/// Asks models about graphs. Holds their buffers.
#[derive(Debug)]
pub(super) struct Judge {
    memory: Memory,
    reach: Reach,
    rows: Rows,
}

impl Judge {
    pub(super) fn new(memory: Memory) -> Self {
        Self { memory, reach: Reach::default(), rows: Rows::default() }
    }

    /// Returns whether the model is sequential consistency.
    pub(super) fn is_sequential(&self) -> bool {
        self.memory == Memory::Sc
    }

    /// Returns whether the graph, which was consistent without this event, is consistent with it. The event is the last
    /// of its thread, and nothing reads from it.
    pub(super) fn allows(&mut self, graph: &Graph, new: EventId) -> bool {
        let event = graph.event(new);
        let Some(at) = event.at else { return true };
        if event.is_blocked() || matches!(event.act, Act::Access { .. }) {
            return true;
        }
        let place = graph.place(event) as usize;
        if place + 1 == graph.places(at) {
            return true;
        }
        // Atomicity: the write part of a read-modify-write comes right after what its read part reads.
        if matches!(event.act, Act::Write { .. }) {
            let next = graph.cells[at.index()].writes[place];
            if graph.event(next).is_updating_write() {
                return false;
            }
        }
        match self.memory {
            Memory::Sc => sc::allows(graph, new, &mut self.reach),
            Memory::Tso => tso::allows(graph, new, &mut self.reach),
            Memory::Rc11 | Memory::Cxx20 => {
                rc11::allows(graph, new, &mut self.reach, &mut self.rows)
            }
        }
    }

    /// Returns whether a complete graph counts. A model that is not extensible is a filter of one that is.
    pub(super) fn admits(&mut self, graph: &Graph) -> bool {
        if graph.census.closes > 0 && !ends::admits(graph, self.memory, &mut self.reach) {
            return false;
        }
        match self.memory {
            Memory::Sc | Memory::Tso | Memory::Rc11 => true,
            Memory::Cxx20 => cxx20::admits(graph, &mut self.rows),
        }
    }
}
