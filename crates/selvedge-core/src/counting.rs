//! Loops whose turns count: what was found out about threads that went on silently under a memory model.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Turns after which a thread does something else, by the thread and where they end. That depends on what it is told again, and on
/// its state: after other turns of the same loop it may wait.
pub struct Counting<P> {
    turns: HashMap<(usize, P), Vec<u64>>,
    noted: usize,
}

impl<P> Default for Counting<P> {
    fn default() -> Self {
        Self { turns: HashMap::new(), noted: 0 }
    }
}

impl<P: Copy + Eq + Hash> Counting<P> {
    /// Returns a number for a turn: the state before it, if that can be compared, and what is read in it. Two turns that have the same number by chance both
    /// count, which is always right.
    pub fn turn(state: Option<u128>, reads: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (state, reads).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns whether a turn counts. If `most` of one loop do, all are taken to.
    pub fn counts(&self, thread: usize, place: P, turn: u64, most: usize) -> bool {
        let known = self.turns.get(&(thread, place));
        known.is_some_and(|known| known.len() >= most || known.contains(&turn))
    }

    /// A turn does. Returns whether that is new.
    pub fn note(&mut self, thread: usize, place: P, turn: u64) -> bool {
        let known = self.turns.entry((thread, place)).or_default();
        let is_new = !known.contains(&turn);
        if is_new {
            known.push(turn);
            self.noted += 1;
        }
        is_new
    }

    /// Returns how many turns count.
    pub fn noted(&self) -> usize {
        self.noted
    }
}
