//! What a thread stands at when an explorer of graphs answers it, and the locations of objects.
//!
//! Under a memory model the explorer decides what an operation reads; so an operation is a [`Label`] to it, on a
//! [`Location`]. A location is an object with the value that it had when the code first used it: the same object may be
//! created with another value in another execution, and is another location then.

use rustc_hash::FxHashMap;
use selvedge_core::{Answer, Bits, Label, Location, ObjectId};

/// What a thread stands at, and what it was told.
pub(crate) struct Asked {
    pub(crate) label: Label,
    /// Whether a value ends the await; on the stack of the thread, as long as it stands there.
    pub(crate) satisfies: *const dyn Fn(Bits) -> bool,
    /// What it writes if it reads a value.
    pub(crate) next: *const dyn Fn(Bits) -> Bits,
    pub(crate) answer: Option<Answer>,
    /// Whether what it writes is the newest value.
    pub(crate) newest: bool,
    /// What it read since its last operation that did something else, or since the end of the last turn of a loop.
    pub(crate) turn: Vec<(Location, Bits)>,
    /// Whether it had read several locations at the end of the last turn.
    pub(crate) several: bool,
    /// Set while it goes on without the explorer, to see whether it only goes round.
    pub(crate) silent: Option<Silent>,
    /// What it does after the end of a turn.
    pub(crate) ends: Turn,
    /// What it waits for, if it waits for one of several locations to have another value than this.
    pub(crate) several_changes: Vec<(Location, Bits)>,
    /// How many locks it holds beside others.
    pub(crate) reading: u32,
    /// Objects in blocks that it allocated since its last operation.
    pub(crate) allocated: Vec<ObjectId>,
    /// The same of blocks that it freed.
    pub(crate) freed: Vec<ObjectId>,
}

/// What a thread does after the end of a turn of a loop.
pub(crate) enum Turn {
    GoesOn,
    /// It can only go round until one of these locations has another value than this.
    Waits(Vec<(Location, Bits)>),
}

/// A thread that is told the same values again.
pub(crate) struct Silent {
    /// What it read in its last turn: the value of each location.
    pub(crate) reads: Vec<(Location, Bits)>,
    /// The number of that turn, for [`Counting`](selvedge_core::Counting).
    pub(crate) turn: u64,
    /// Its states at the ends of turns.
    pub(crate) states: Vec<Option<u128>>,
}

pub(crate) const NEVER: *const dyn Fn(Bits) -> bool = &|_| false;
pub(crate) const SAME: *const dyn Fn(Bits) -> Bits = &|bits| bits;

impl Default for Asked {
    fn default() -> Self {
        let (label, answer) = (Label::Ended, None);
        Self {
            label,
            satisfies: NEVER,
            next: SAME,
            answer,
            newest: false,
            turn: Vec::new(),
            several: false,
            silent: None,
            ends: Turn::GoesOn,
            several_changes: Vec::new(),
            reading: 0,
            allocated: Vec::new(),
            freed: Vec::new(),
        }
    }
}

/// A location, and what it stands for.
#[derive(Clone, Copy)]
struct About {
    object: ObjectId,
    initial: Bits,
    /// The first location of the same object.
    memory: Location,
}

/// Where an object is in an execution.
#[derive(Clone, Copy)]
struct Here {
    epoch: u64,
    /// How often its owner had it for itself.
    lent: u32,
    location: Option<Location>,
}

/// The locations of a system. They are the same in every execution.
#[derive(Default)]
pub(crate) struct Labels {
    all: Vec<About>,
    known: FxHashMap<(ObjectId, u32, Bits), Location>,
    /// The first location of each object.
    first: FxHashMap<ObjectId, Location>,
    here: Vec<Option<Here>>,
}

impl Labels {
    /// The location of an object in the execution `epoch`. `initial`: its value, if it is used for the first time.
    pub(crate) fn locate(
        &mut self,
        object: ObjectId,
        epoch: u64,
        initial: impl FnOnce() -> Bits,
    ) -> Location {
        let here = self.here(object, epoch);
        if let Some(location) = here.location {
            return location;
        }
        let lent = here.lent;
        let initial = initial();
        let next = Location::new(self.all.len());
        let location = *self.known.entry((object, lent, initial)).or_insert(next);
        if location == next {
            let memory = *self.first.entry(object).or_insert(next);
            self.all.push(About { object, initial, memory });
        }
        self.here(object, epoch).location = Some(location);
        location
    }

    /// Returns whether the execution `epoch` has used an object, since its owner had it for itself.
    pub(crate) fn is_used(&mut self, object: ObjectId, epoch: u64) -> bool {
        self.here(object, epoch).location.is_some()
    }

    /// The owner of an object has it for itself, and may give it any value: what comes next finds another location.
    pub(crate) fn lend(&mut self, object: ObjectId, epoch: u64) {
        let here = self.here(object, epoch);
        (here.lent, here.location) = (here.lent + 1, None);
    }

    fn here(&mut self, object: ObjectId, epoch: u64) -> &mut Here {
        if self.here.len() <= object.index() {
            self.here.resize(object.index() + 1, None);
        }
        let here = &mut self.here[object.index()];
        match here {
            Some(known) if known.epoch == epoch => {}
            _ => *here = Some(Here { epoch, lent: 0, location: None }),
        }
        here.as_mut().expect("internal error: an object without a location")
    }

    /// The value of a location before anything is written there.
    pub(crate) fn initial(&self, at: Location) -> Bits {
        self.all[at.index()].initial
    }

    /// The location that stands for its memory.
    pub(crate) fn memory_of(&self, at: Location) -> Location {
        self.all[at.index()].memory
    }

    /// Its object.
    pub(crate) fn object(&self, at: Location) -> ObjectId {
        self.all[at.index()].object
    }
}
