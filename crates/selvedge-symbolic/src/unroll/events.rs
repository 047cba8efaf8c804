//! Steps of unrolled threads.

use std::collections::BTreeMap;

use selvedge_lang::ir::SiteId;

use super::cells::CellId;
use crate::circuit::Word;
use crate::solver::Lit;

/// An event of the unrolled program: its index in [`Unrolled::events`](super::Unrolled::events).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(u32);

impl EventId {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("internal error: more than 2^32 events"))
    }

    /// Returns its index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an event reads from a cell.
#[derive(Clone, Debug)]
pub struct Read {
    /// Whether it does.
    pub guard: Lit,
    /// What it finds.
    pub value: Word,
}

/// What an event writes to a cell.
#[derive(Clone, Debug)]
pub struct Write {
    /// Whether it does.
    pub guard: Lit,
    /// What it leaves.
    pub value: Word,
}

/// One step of a thread. All its reads come before all its writes.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose.
    pub thread: usize,
    /// Whether it is executed.
    pub guard: Lit,
    /// Where it stands in the source.
    pub site: SiteId,
    /// What it reads from others.
    pub reads: BTreeMap<CellId, Read>,
    /// What it leaves to others.
    pub writes: BTreeMap<CellId, Write>,
    /// The events that may be the thread's previous one, each with a condition which, if this one
    /// is executed, says so. `None`: it is the first.
    pub previous: Vec<(Lit, Option<EventId>)>,
    /// The locks that the thread holds before it for sure.
    pub holds: Vec<CellId>,
    /// The lock that it takes for sure.
    pub takes: Option<CellId>,
    /// A value from outside, and the smallest it could be.
    pub input: Option<(Word, Word)>,
    /// The threads that it creates, if the condition holds, in order.
    pub spawns: Vec<(Lit, usize)>,
    /// The threads that it waits for, if the condition holds.
    pub joins: Vec<(Lit, usize)>,
    /// The threads that it wakes, if the condition holds.
    pub wakes: Vec<(Lit, usize)>,
}

impl Event {
    /// Returns whether it touches anything that others can see.
    pub fn is_shared(&self) -> bool {
        !self.reads.is_empty() || !self.writes.is_empty()
    }

    /// Returns whether both may touch one cell and one of them may write it.
    pub fn may_conflict(&self, other: &Event) -> bool {
        let touches = |event: &Event, cell: &CellId| {
            event.reads.contains_key(cell) || event.writes.contains_key(cell)
        };
        self.writes.keys().any(|cell| touches(other, cell))
            || other.writes.keys().any(|cell| touches(self, cell))
    }
}
