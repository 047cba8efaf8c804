//! What a thread looked at, with nothing else in between; see `unhinted.rs`.

use selvedge_core::ObjectId;
use smallvec::SmallVec;

use crate::world::World;

/// What a thread looked at, with nothing else in between.
pub(crate) struct Looks<W: World> {
    /// Each with the place.
    things: SmallVec<[(W::Spot, ObjectId); 8]>,
    /// How often since the last one that was new.
    times: u32,
    /// The thread's visible operations up to the last one.
    operations: u64,
}

impl<W: World> Default for Looks<W> {
    fn default() -> Self {
        Self { things: SmallVec::new(), times: 0, operations: 0 }
    }
}

impl<W: World> Looks<W> {
    pub(crate) fn clear(&mut self) {
        self.things.clear();
        self.times = 0;
    }

    /// Keeps one more. Returns how often the thread looked at what it knows.
    pub(crate) fn keep(
        &mut self,
        spot: W::Spot,
        object: ObjectId,
        operations: u64,
        most: usize,
    ) -> u32 {
        let follows = std::mem::replace(&mut self.operations, operations) + 1 == operations;
        if !follows {
            self.clear();
        }
        let is_this =
            |&(place, thing): &(W::Spot, ObjectId)| W::is_same(place, spot) && thing == object;
        if self.things.iter().any(is_this) {
            self.times += 1;
            return self.times;
        }
        if self.things.len() >= most {
            self.things.clear();
        }
        self.things.push((spot, object));
        self.times = 0;
        0
    }
}
