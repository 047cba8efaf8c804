//! Where the search branches, and what is left to explore there.

use rustc_hash::FxHashSet;
use selvedge_core::{EventId, Step};
use smallvec::SmallVec;

use super::graph::Cut;
use super::print::Print;

/// A point on the current path at which classes part.
///
/// All classes below it contain the events of `base`. They part by what the branch's event observes,
/// that is by its [`Print`]: an event together with its past. Each child is one such print, so that no
/// two children have a class in common.
pub(super) struct Branch {
    pub(super) subject: Subject,
    /// The events that all classes below have.
    pub(super) base: Cut,
    /// What was asked for or found already.
    seen: FxHashSet<Print>,
    /// Children that were found and not yet explored.
    pub(super) queue: Vec<Child>,
    /// Writes of `base`, or the initial value, that the branch's event could perhaps observe. Whether
    /// it can is asked when the first child is done, as the answer is an order of all events.
    pub(super) questions: Vec<Option<EventId>>,
    /// How many children were explored.
    pub(super) explored: u32,
    /// Events of other threads that made the step wait, one per child of that kind that was
    /// explored. The last one is the current child, if `absent`.
    pub(super) disablers: Vec<Print>,
    /// Whether the current child has another thread's event instead of the branch's.
    pub(super) absent: bool,
    /// Events of the current child, in order, that were put before the branch's event, or take its
    /// place. They are not in `base`.
    pub(super) ahead: Vec<EventId>,
}

/// What an event of the current execution is to a branch on the path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    /// It is the branch's event.
    Own(usize),
    /// It is one of those [ahead](Branch::ahead) of it.
    Ahead(usize),
}

/// What a branch is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject {
    /// What this event, the next one of its thread, observes.
    Event(EventId),
    /// Which write is the last one to the `level`-th variable that is examined in the end.
    Last { level: usize },
}

/// Something to explore.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// An execution to start with.
    pub(super) steps: Vec<Step>,
    pub(super) goal: Goal,
    /// The prints of the events of `steps` other than the branch's: they must come out again.
    pub(super) prints: Print,
}

/// What is to come out.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    /// `steps[at]` is the branch's event, and observes the write with this print, or the initial
    /// value. `only_reading`: not if it turns out to write too.
    Observes { at: usize, source: Option<Print>, only_reading: bool },
    /// `steps[at]` is the branch's event, and observes `steps[first]`, if that writes.
    Swapped { first: usize, at: usize },
    /// The last of these steps is the branch's event, with another alternative; the others are
    /// [ahead](Branch::ahead) of it.
    Alternative { new: SmallVec<[usize; 2]> },
    /// After `steps` these steps come, and then the branch's event, with this alternative, if it still can.
    Reversed { ahead: SmallVec<[Step; 2]>, own: u32 },
    /// The last step is the branch's event, after these others; `absent`: the last of them makes
    /// it wait.
    Minimal { ahead: Vec<EventId>, absent: bool },
    /// Another write than before is the last one to the branch's variable.
    Last,
}

impl Branch {
    pub(super) fn new(subject: Subject, base: Cut) -> Self {
        Self {
            subject,
            base,
            seen: FxHashSet::default(),
            queue: Vec::new(),
            questions: Vec::new(),
            explored: 1,
            disablers: Vec::new(),
            absent: false,
            ahead: Vec::new(),
        }
    }

    /// Notes that this was asked for or found. Returns whether that is new.
    pub(super) fn is_new(&mut self, print: Print) -> bool {
        self.seen.insert(print)
    }

    /// Returns the branch's event.
    pub(super) fn event(&self) -> Option<EventId> {
        match self.subject {
            Subject::Event(event) => Some(event),
            Subject::Last { .. } => None,
        }
    }
}

/// What a print in [`Branch::seen`] stands for.
#[derive(Clone, Copy)]
pub(super) enum Key {
    /// The branch's event with its past.
    Found = 1,
    /// The write that the branch's event, or the last read, is to observe.
    Source = 2,
    /// The event that makes the branch's step wait.
    Disabler = 3,
    /// A reversal.
    Reversal = 4,
}

impl Key {
    /// Returns the key for the thing with this print.
    pub(super) fn of(self, print: Print) -> Print {
        Print::start(self as u64).then(print)
    }

    /// Returns the key for a write, or the initial value.
    pub(super) fn source(source: Option<Print>) -> Print {
        source.map_or(Print::start(Key::Source as u64), |print| Key::Source.of(print))
    }
}
