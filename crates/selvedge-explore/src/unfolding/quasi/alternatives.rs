//! Alternatives: sets of events that lead to what was not explored, found with a comb.
//!
//! An *alternative* to `D` after `C` is a configuration `J`, compatible with `C` and without events of
//! `D`, that contains for each event of `D` one in conflict with it. The events of `D` are asleep: as
//! long as none is in conflict with `C`, an execution that takes in none of them can only end because
//! something in conflict with each of them happens. A *k-partial* alternative looks at `k` of them.
//!
//! A comb has a spike for each of these events of `D`, with the known events in conflict with it. An
//! alternative is one event of each spike, pairwise without conflict, with all that is before
//! them. The comb is built lazily: a spike only for an event of `D` that nothing chosen so far is in
//! conflict with, and only from what is compatible with all that is chosen.

use std::num::NonZeroU32;

use selvedge_core::Budget;

use crate::unfolding::events::{EventRef, Unfolding};

/// A search for alternatives. Buffers that are used again and again.
#[derive(Debug, Default)]
pub(super) struct Comb {
    /// The events of `D` that an alternative must be in conflict with.
    disabled: Vec<EventRef>,
    /// What may be chosen, level by level: each level has what is compatible with the choices before.
    usable: Vec<EventRef>,
    levels: Vec<Level>,
    chosen: Vec<EventRef>,
}

/// A choice that was made, or is being made.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The event of `D` whose spike it is.
    disabled: EventRef,
    /// Where what may be chosen begins and ends.
    start: usize,
    end: usize,
    /// What is tried next.
    next: usize,
}

impl Comb {
    /// Looks for an alternative to `disabled`, the latest first. `usable` are the known events: compatible
    /// with `C`, and not after an event of `D`. All in `disabled` are enabled after `C`. Returns the maximal
    /// events of the alternative. To find one can take exponentially long; if the budget is spent, it says
    /// that there is none, and the exploration, which ends too, says why.
    pub(super) fn search(
        &mut self,
        unfolding: &mut Unfolding,
        disabled: impl Iterator<Item = EventRef>,
        usable: impl Iterator<Item = EventRef>,
        k: Option<NonZeroU32>,
        budget: &Budget,
    ) -> Option<&[EventRef]> {
        let k = k.map_or(usize::MAX, |k| k.get() as usize);
        self.disabled.clear();
        self.disabled.extend(disabled.take(k));
        self.usable.clear();
        self.usable.extend(usable);
        self.levels.clear();
        self.chosen.clear();
        self.add_level(*self.disabled.first()?, 0);
        loop {
            budget.check().ok()?;
            let level = self.levels.last_mut()?;
            if level.next == level.end {
                self.usable.truncate(level.start);
                self.levels.pop();
                self.chosen.pop();
                continue;
            }
            let event = self.usable[level.next];
            level.next += 1;
            if !unfolding.excludes(level.disabled, event) {
                continue;
            }
            let (start, end) = (level.start, level.end);
            self.chosen.push(event);
            let Some(open) = self.first_open(unfolding) else { return Some(&self.chosen) };
            let next = self.usable.len();
            for index in start..end {
                let other = self.usable[index];
                if !unfolding.are_in_conflict(event, other) {
                    self.usable.push(other);
                }
            }
            self.add_level(open, next);
        }
    }

    /// Adds the spike of an event of `D`, made of what is usable from `start` on.
    fn add_level(&mut self, disabled: EventRef, start: usize) {
        self.levels.push(Level { disabled, start, end: self.usable.len(), next: start });
    }

    /// Returns the latest event of `D` that nothing chosen is in conflict with.
    fn first_open(&self, unfolding: &mut Unfolding) -> Option<EventRef> {
        let is_open =
            |&event: &EventRef| !self.chosen.iter().any(|&other| unfolding.excludes(event, other));
        self.disabled.iter().copied().find(is_open)
    }
}
