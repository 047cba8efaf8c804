//! Loops that wait without saying so: no `hint::spin_loop()`, no `yield_now()`.
//!
//! To the check each turn is a step like all others, so that the number of executions has no end. It is better to say
//! so soon, and not to look at other executions first.

use selvedge_core::ObjectId;

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::runtime::Way;
use crate::world::Advice;

impl<W: Hooks> Engine<W> {
    /// The running thread looked at something, and changed nothing.
    #[inline]
    pub fn only_looked(&self, object: ObjectId, spot: W::Spot) {
        let rt = self.rt();
        if rt.now.way != Way::Announce {
            return;
        }
        let thread = &mut rt.threads[rt.now.current];
        if thread.asked.silent.is_some() {
            return;
        }
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
