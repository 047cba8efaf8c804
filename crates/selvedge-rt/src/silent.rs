//! Ends of turns of spin loops under a memory model; see `graph/spin.rs`.
//!
//! It runs on the scheduler's stack, so that what differs from turn to turn is not on that of the thread.

use crate::labels::{Silent, Turn};
use crate::runtime::Runtime;
use crate::world::World;

impl<W: World> Runtime<W> {
    /// The running thread, which was switched away, comes to the end of a turn. Returns what it does next.
    pub(crate) fn end_turn(&mut self, spot: W::Spot) -> Turn {
        let me = self.now.current;
        let state = self.state_of(me);
        let turns = self.shared.settings.spin_turns as usize;
        if let Some(silent) = self.threads[me].asked.silent.as_mut() {
            let is_back = state.is_some() && silent.states.contains(&state);
            if !is_back && silent.states.len() < turns {
                silent.states.push(state);
                return Turn::GoesOn;
            }
            if !is_back {
                self.shared.assumed.set(Some(spot));
            }
            let (at, value) = (silent.at, silent.value);
            self.threads[me].asked.silent = None;
            return Turn::Waits(at, value);
        }
        let counts = self.shared.learned.counting.borrow().contains(&(me, spot));
        let thread = &mut self.threads[me];
        thread.paused_at = spot;
        let turn = std::mem::take(&mut thread.asked.turn);
        let is_several = turn.iter().any(|read| read.0 != turn[0].0);
        let was_several = std::mem::replace(&mut thread.asked.several, is_several);
        let Some(&(at, value)) = turn.last() else { return Turn::GoesOn };
        let is_steady = turn.iter().all(|read| read.1 == value);
        match (is_several, was_several) {
            _ if counts => Turn::GoesOn,
            (true, true) => Turn::WaitsForSeveral,
            // Some of them may be from before the loop.
            (true, false) => Turn::GoesOn,
            (false, _) if !is_steady => Turn::GoesOn,
            (false, _) => {
                thread.asked.silent = Some(Silent { at, value, states: vec![state] });
                Turn::GoesOn
            }
        }
    }
}
