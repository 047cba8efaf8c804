//! A thread in a loop, in one state.

use crate::world::World;

/// A thread in a loop, in one state.
pub(crate) struct Key<W: World> {
    /// Who, as a number that is the same for all systems of a check.
    pub(crate) thread: u64,
    pub(crate) spot: W::Spot,
    /// All that it came to know so far: with the same it is in the same state.
    pub(crate) history: u64,
}

impl<W: World> Clone for Key<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: World> Copy for Key<W> {}

impl<W: World> PartialEq for Key<W> {
    fn eq(&self, other: &Self) -> bool {
        (self.thread, self.spot, self.history) == (other.thread, other.spot, other.history)
    }
}

impl<W: World> Eq for Key<W> {}

impl<W: World> std::hash::Hash for Key<W> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.thread, self.spot, self.history).hash(state);
    }
}
