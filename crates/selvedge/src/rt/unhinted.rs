//! Loops that wait without saying so: no `hint::spin_loop()`, no `yield_now()`.
//!
//! To the check each turn is a step like all others, so that the number of executions has no end. It is better to say
//! so soon, and not to look at other executions first.

use selvedge_core::ObjectId;
use smallvec::SmallVec;

use super::engine::Engine;
use super::operation::Spot;
use super::runtime::Way;

/// What a thread looked at, with nothing else in between.
#[derive(Default)]
pub(super) struct Looks {
    /// Each with the place.
    things: SmallVec<[(Spot, ObjectId); 8]>,
    /// How often since the last one that was new.
    times: u32,
    /// The thread's visible operations up to the last one.
    operations: u64,
}

impl Looks {
    pub(super) fn clear(&mut self) {
        self.things.clear();
        self.times = 0;
    }

    /// Keeps one more. Returns how often the thread looked at what it knows.
    fn keep(&mut self, spot: Spot, object: ObjectId, operations: u64, most: usize) -> u32 {
        let follows = std::mem::replace(&mut self.operations, operations) + 1 == operations;
        if !follows {
            self.clear();
        }
        let is_this =
            |&(place, thing): &(Spot, ObjectId)| std::ptr::eq(place, spot) && thing == object;
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

impl Engine {
    /// The running thread looked at something, and changed nothing.
    #[inline]
    pub(crate) fn only_looked(&self, object: ObjectId, spot: Spot) {
        let rt = self.rt();
        let thread = &mut rt.threads[rt.current];
        let caps = &rt.shared.caps;
        let times = thread.touched.looks.keep(spot, object, thread.operations, caps.things);
        if times >= caps.looks && rt.shared.ends_loops && rt.way == Way::Announce {
            self.give_up_loop(object, spot);
        }
    }

    #[cold]
    fn give_up_loop(&self, object: ObjectId, spot: Spot) -> ! {
        let rt = self.rt();
        let (name, object) = (rt.thread_name(rt.current), rt.object_name(object));
        let looks = rt.shared.caps.looks;
        self.give_up_all(format!(
            "{name} looked at {object} and did nothing else {looks} times in a row at {spot}; a loop that waits \
             for another thread needs `hint::spin_loop()` or `thread::yield_now()` in it, and one that ends by \
             itself `Builder::max_steps`"
        ))
    }
}
