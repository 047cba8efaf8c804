//! The locations of a program. They are the same in every execution.
//!
//! A location is an object with the value that it had when this execution first used it.

use rustc_hash::FxHashMap;
use selvedge_core::{Bits, Location, ObjectId};

/// A location, and what it stands for.
#[derive(Clone, Copy)]
struct About {
    object: ObjectId,
    initial: Bits,
    /// The first location of the same object.
    memory: Location,
}

/// All locations.
#[derive(Default)]
pub(crate) struct Locations {
    all: Vec<About>,
    known: FxHashMap<(ObjectId, Bits), Location>,
    first: FxHashMap<ObjectId, Location>,
    /// Those of this execution.
    here: FxHashMap<ObjectId, Location>,
}

impl Locations {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.here.clear();
    }

    /// Returns the location of an object. `initial`: its value, if this execution uses it for the first time.
    pub(super) fn locate(&mut self, object: ObjectId, initial: impl FnOnce() -> Bits) -> Location {
        if let Some(&location) = self.here.get(&object) {
            return location;
        }
        let initial = initial();
        let next = Location::new(self.all.len());
        let location = *self.known.entry((object, initial)).or_insert(next);
        if location == next {
            let memory = *self.first.entry(object).or_insert(next);
            self.all.push(About { object, initial, memory });
        }
        self.here.insert(object, location);
        location
    }

    /// Returns the value of a location before anything is written there.
    pub(super) fn initial(&self, at: Location) -> Bits {
        self.all[at.index()].initial
    }

    /// Returns the location that stands for its memory.
    pub(super) fn memory_of(&self, at: Location) -> Location {
        self.all[at.index()].memory
    }

    /// Returns its object.
    pub(super) fn object(&self, at: Location) -> ObjectId {
        self.all[at.index()].object
    }
}
