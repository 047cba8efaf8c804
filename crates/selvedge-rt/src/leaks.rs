//! What must be given back by the end of an execution: tracked memory, and locks.

use std::collections::BTreeMap;

use selvedge_core::ObjectId;

use crate::fresh::Fresh;
use crate::world::World;

/// Tracked allocations that are alive, and locks that are held.
pub struct Leaks<W: World> {
    /// By address.
    live: BTreeMap<usize, (&'static str, W::Spot)>,
    held: Vec<(ObjectId, u32, W::Spot)>,
}

impl<W: World> Default for Leaks<W> {
    fn default() -> Self {
        Self { live: BTreeMap::new(), held: Vec::new() }
    }
}

impl<W: World> Fresh for Leaks<W> {
    fn fresh(last: Self) -> Self {
        Self { live: BTreeMap::new(), held: Vec::fresh(last.held) }
    }
}

impl<W: World> Leaks<W> {
    /// Something was made that must be given back.
    pub fn add(&mut self, address: usize, what: &'static str, spot: W::Spot) {
        self.live.insert(address, (what, spot));
    }

    /// Returns whether it was tracked.
    pub fn remove(&mut self, address: usize) -> bool {
        self.live.remove(&address).is_some()
    }

    /// Where what is at this address was made.
    pub fn made_at(&self, address: usize) -> Option<W::Spot> {
        self.live.get(&address).map(|&(_, spot)| spot)
    }

    /// A thread took a lock.
    pub fn hold(&mut self, object: ObjectId, thread: usize, spot: W::Spot) {
        self.held.push((object, thread as u32, spot));
    }

    /// A lock was given up.
    pub fn let_go(&mut self, object: ObjectId, thread: usize) {
        let is_it = |held: &(ObjectId, u32, W::Spot)| held.0 == object && held.1 == thread as u32;
        // Mostly the last one that was taken.
        if self.held.last().is_some_and(is_it) {
            self.held.pop();
            return;
        }
        let position = self
            .held
            .iter()
            .rposition(is_it)
            .or_else(|| self.held.iter().rposition(|held| held.0 == object));
        if let Some(position) = position {
            self.held.swap_remove(position);
        }
    }

    /// The locks that a thread holds.
    pub fn held_by(&self, thread: usize) -> impl Iterator<Item = ObjectId> + '_ {
        let is_its = move |held: &&(ObjectId, u32, W::Spot)| held.1 == thread as u32;
        self.held.iter().filter(is_its).map(|held| held.0)
    }

    /// Returns whether a thread holds a lock.
    pub fn is_held_by(&self, object: ObjectId, thread: usize) -> bool {
        self.held_at(object, thread).is_some()
    }

    /// The threads that hold a lock, in ascending order.
    pub fn holders(&self, object: ObjectId) -> Vec<usize> {
        let its = self.held.iter().filter(|held| held.0 == object);
        let mut holders: Vec<usize> = its.map(|held| held.1 as usize).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Where a thread took a lock that it holds.
    pub fn held_at(&self, object: ObjectId, thread: usize) -> Option<W::Spot> {
        let is_it = |held: &&(ObjectId, u32, W::Spot)| held.0 == object && held.1 == thread as u32;
        self.held.iter().find(is_it).map(|held| held.2)
    }

    /// Locks that were not released: the lock, and where it was taken.
    pub fn guards(&self) -> impl Iterator<Item = (ObjectId, W::Spot)> + '_ {
        self.held.iter().map(|&(object, _, spot)| (object, spot))
    }

    /// What is left: what it is and where it was made, in a deterministic order.
    pub fn left(&self) -> Vec<(&'static str, W::Spot)> {
        let mut left: Vec<_> = self.live.values().copied().collect();
        left.sort_by_cached_key(|&(what, spot)| {
            let place = W::place(spot);
            (place.file, place.line, place.column, what)
        });
        left
    }
}
