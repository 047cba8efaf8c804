//! Loops that wait without saying so: no `hint::spin_loop()`, no `yield_now()`.
//!
//! To the check each turn is a step like all others, so that the number of executions has no end. It is better to say
//! so soon, and not to look at other executions first.

use selvedge_core::ObjectId;
use smallvec::SmallVec;

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::runtime::Way;
use crate::world::{Advice, World};

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
    fn keep(&mut self, spot: W::Spot, object: ObjectId, operations: u64, most: usize) -> u32 {
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

impl<W: Hooks> Engine<W> {
    /// The running thread looked at something, and changed nothing.
    #[inline]
    pub fn only_looked(&self, object: ObjectId, spot: W::Spot) {
        let rt = self.rt();
        if rt.now.way != Way::Announce {
            return;
        }
        let thread = &mut rt.threads[rt.now.current];
        let caps = &rt.shared.settings.caps;
        let times = thread.looks.keep(spot, object, thread.operations, caps.things);
        if times >= caps.looks && rt.shared.settings.ends_loops {
            self.give_up_loop(object, spot);
        }
    }

    #[cold]
    fn give_up_loop(&self, object: ObjectId, spot: W::Spot) -> ! {
        let rt = self.rt();
        let (name, object) = (rt.thread_name(rt.now.current), rt.object_name(object));
        let looks = rt.shared.settings.caps.looks;
        self.give_up_all(format!(
            "{name} looked at {object} and did nothing else {looks} times in a row at {spot}; {}",
            W::advice(Advice::LoopWithoutHint)
        ))
    }
}
