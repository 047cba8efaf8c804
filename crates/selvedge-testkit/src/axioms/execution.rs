//! A complete execution of a litmus test: a graph.

use std::ops::Range;

use selvedge_core::Order;

use crate::litmus::State;

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The write before everything, one for each location.
    Initial,
    /// A read that is all of its operation: a load, or an await.
    Read,
    /// A compare-exchange or try-lock that failed. If it read what it expected, it failed spuriously.
    FailedUpdate {
        /// Whether it did.
        spuriously: bool,
    },
    /// The read part of a read-modify-write. The next event of its thread is the write part.
    UpdateRead,
    /// The write part.
    UpdateWrite,
    /// A store.
    Write,
    /// The beginning of a reader's section: it reads from the last writer's release of the lock, and changes nothing.
    Share,
    /// The end of a reader's section, of which the next writer's [`Kind::UpdateRead`] learns. It has no place in `mo`:
    /// readers are not ordered with each other.
    Unshare,
    /// A fence.
    Fence,
    /// The start of a thread.
    Spawn(usize),
    /// The end of a thread, as another one sees it.
    Join(usize),
    /// A choice.
    Choice,
    /// The end of a wait at a condition variable: it takes note of the signal that woke it, and orders nothing.
    Woken,
    /// The beginning of a thread that was spawned.
    Begin,
    /// The end of a thread that is joined.
    End,
}

impl Kind {
    /// Whether it reads memory.
    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::FailedUpdate { .. } | Kind::UpdateRead | Kind::Share)
    }

    /// Whether it writes memory.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Initial | Kind::Write | Kind::UpdateWrite | Kind::Unshare)
    }
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its thread; an initial write has none.
    pub thread: Option<usize>,
    /// How many events of its thread come before it.
    pub nth: usize,
    /// What it is.
    pub kind: Kind,
    /// The location that it accesses: a variable, or a mutex behind all variables.
    pub at: Option<usize>,
    /// Its ordering.
    pub order: Order,
    /// What it reads, writes or chooses.
    pub value: i64,
    /// The write that a read takes its value from (`rf`).
    pub from: Option<usize>,
}

/// Where a thread stands in the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stop {
    /// It was never spawned.
    Absent,
    /// It ran to its end.
    Ended,
    /// An assumption is false.
    Assumed,
    /// This instruction, an assertion, is false.
    Failed(usize),
    /// It waits: for a mutex, a value, or the end of a thread.
    Waits,
}

/// A complete execution. Events are numbers: first the initial writes, by location.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// All events.
    pub events: Vec<Event>,
    /// Those of each thread, in program order (`po`).
    pub threads: Vec<Vec<usize>>,
    /// The writes of each location, in modification order (`mo`); the initial one is the first.
    pub writes: Vec<Vec<usize>>,
    /// Where each thread stands.
    pub stops: Vec<Stop>,
    /// Its registers, and its next instruction.
    pub states: Vec<State>,
    /// The locations of condition variables.
    pub conditions: Range<usize>,
    /// The locations of mailboxes.
    pub mailboxes: Range<usize>,
}

/// Where the readers are that took a lock between two writers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Readers {
    /// There are none.
    None,
    /// Some have not given it up.
    Inside,
    /// All have, this one last.
    Left(usize),
}

impl Execution {
    /// The sections of readers: for each, the release of the writer before it, and its end if there is one.
    fn sections(&self, at: usize) -> impl Iterator<Item = (usize, Option<usize>)> {
        self.threads.iter().flat_map(move |thread| {
            let mut sections: Vec<(usize, Option<usize>)> = Vec::new();
            for &number in thread {
                let event = &self.events[number];
                match (event.kind, event.from) {
                    (Kind::Share, Some(write)) if event.at == Some(at) => {
                        sections.push((write, None));
                    }
                    (Kind::Unshare, _) if event.at == Some(at) => {
                        let open = sections.iter_mut().rev().find(|(_, end)| end.is_none());
                        open.expect("it shares the lock").1 = Some(number);
                    }
                    _ => {}
                }
            }
            sections
        })
    }

    /// The readers that come right after this release of a lock by a writer.
    pub(super) fn readers_after(&self, at: usize, release: usize) -> Readers {
        let of_it = self.sections(at).filter(|&(write, _)| write == release);
        of_it.fold(Readers::None, |readers, (_, end)| match (readers, end) {
            (Readers::Inside, _) | (_, None) => Readers::Inside,
            (Readers::None, Some(end)) => Readers::Left(end),
            (Readers::Left(last), Some(end)) => Readers::Left(last.max(end)),
        })
    }

    /// The ends of readers' sections, and the release of a writer that each comes after.
    pub(super) fn ends_of_readers(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        self.sections(at).filter_map(|(release, end)| Some((release, end?)))
    }

    /// Whether a thread shares this lock.
    pub(super) fn shares(&self, thread: usize, at: usize) -> bool {
        let own = self.threads[thread].iter().map(|&event| &self.events[event]);
        let own = own.filter(|event| event.at == Some(at));
        let sum = own.fold(0, |sum, event| match event.kind {
            Kind::Share => sum + 1,
            Kind::Unshare => sum - 1,
            _ => sum,
        });
        sum > 0
    }

    /// The value of each location in the end: that of the last write.
    pub fn finals(&self) -> Vec<i64> {
        self.writes.iter().map(|writes| self.events[writes[writes.len() - 1]].value).collect()
    }
}
