//! Ends of turns of spin loops under a memory model; see `graph/spin.rs`.
//!
//! It runs on the scheduler's stack, so that what differs from turn to turn is not on that of the thread.

use selvedge_core::Counting;

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
            let reads = std::mem::take(&mut silent.reads);
            self.threads[me].asked.silent = None;
            return Turn::Waits(reads);
        }
        let thread = &mut self.threads[me];
        thread.paused_at = spot;
        let mut reads = std::mem::take(&mut thread.asked.turn);
        reads.sort_unstable();
        reads.dedup();
        let is_steady = reads.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let is_several = reads.len() > 1;
        let was_several = std::mem::replace(&mut thread.asked.several, is_several);
        // Some of several may be from before the loop.
        let may_be_all = !is_several || was_several;
        // Not by its state, which has what other threads did in it.
        let turn = Counting::<W::Spot>::turn(None, &reads);
        let most = self.shared.settings.caps.counting;
        let counts = || self.shared.learned.counting.borrow().counts(me, spot, turn, most);
        if is_steady && may_be_all && !reads.is_empty() && !counts() {
            thread.asked.silent = Some(Silent { reads, turn, states: vec![state] });
        }
        Turn::GoesOn
    }
}
