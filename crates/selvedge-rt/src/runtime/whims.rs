//! What is known about operations that may end spuriously; see `spurious.rs`.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::spin::Key;
use crate::world::World;

/// What a check does about operations that may end spuriously.
pub struct Spurious {
    /// How often one does, for each thread and place.
    pub most: u32,
    /// Whether it also does where the code rechecks.
    pub everywhere: bool,
    /// Whether one could have done so more often, and it might matter.
    pub(crate) is_bounded: Cell<bool>,
    /// Whether one was left out, since the code rechecks.
    pub(crate) is_left_out: Cell<bool>,
}

impl Spurious {
    /// Nothing has ended spuriously yet.
    pub fn new(most: u32, everywhere: bool) -> Self {
        let (is_bounded, is_left_out) = (Cell::new(false), Cell::new(false));
        Self { most, everywhere, is_bounded, is_left_out }
    }

    /// Returns whether one could have ended spuriously more often, and that might matter.
    pub fn is_bounded(&self) -> bool {
        self.is_bounded.get()
    }

    /// Returns whether one was left out, since the code rechecks.
    pub fn is_left_out(&self) -> bool {
        self.is_left_out.get()
    }
}

/// Whether it matters that an operation ends spuriously.
pub(crate) type Whims<W> = FxHashMap<Key<W>, bool>;

/// A thread that is tried out.
pub(crate) struct Trial<W: World> {
    pub(crate) thread: usize,
    pub(crate) spot: W::Spot,
    /// Its visible operations in this turn, and before the first one. Each turn begins with the same, so that
    /// nothing differs from turn to turn but what the code itself does.
    pub(crate) operations: u32,
    pub(crate) before: u64,
    /// What it had allocated before a turn.
    pub(crate) filled: W::Mark,
    /// The states that it came back in.
    pub(crate) states: Vec<u128>,
    /// Whether it changed what a lock guards.
    pub(crate) changed: bool,
    /// Whether it came back in a state that it was in before.
    pub(crate) returned: bool,
}
