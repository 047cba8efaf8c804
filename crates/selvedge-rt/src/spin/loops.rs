//! What is known about loops: which of them give up by themselves.

use rustc_hash::FxHashMap;

use super::alone::{Alone, End};
use super::key::Key;
use crate::world::World;

/// What a thread does in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    /// If nothing changes, it is in this state, or in one that it was in before, forever.
    Waits,
    /// Unknown, but it was followed for long.
    Assumed,
    /// It will wait, but there are states that it was not in. The history after the next turn, if
    /// nothing changes.
    GoesOn(u64),
    GivesUp,
}

/// What a turn does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TurnDoes {
    Nothing,
    Something,
}

/// What is known about loops.
pub(crate) struct Loops<W: World> {
    /// Of threads that saw other values of what locks guard: their state, and a number for the values.
    turns: FxHashMap<(Key<W>, u64), TurnDoes>,
    /// `None`: the loop continued before this was known, since something had changed.
    known: FxHashMap<Key<W>, Option<Decided>>,
}

impl<W: World> Default for Loops<W> {
    fn default() -> Self {
        Self { turns: FxHashMap::default(), known: FxHashMap::default() }
    }
}

impl<W: World> Loops<W> {
    /// Returns how much is known.
    pub(crate) fn count(&self) -> usize {
        let decided = self.known.values().filter(|decided| decided.is_some()).count();
        self.turns.len() + self.known.len() + decided
    }

    /// What is known. `goes_on`: something has changed, so that the loop continues in any case.
    pub(crate) fn decided(&mut self, key: Key<W>, goes_on: bool) -> Option<Decided> {
        match goes_on {
            true => *self.known.entry(key).or_insert(None),
            false => self.known.get(&key).copied().flatten(),
        }
    }

    /// What is known about the next turn, with these values of what locks guard.
    pub(crate) fn turn(&self, key: Key<W>, inside: u64) -> Option<TurnDoes> {
        self.turns.get(&(key, inside)).copied()
    }

    /// Returns whether executions so far took it for something else.
    fn decide(&mut self, key: Key<W>, decided: Decided) -> bool {
        let before = self.known.insert(key, Some(decided));
        let stands_still = matches!(decided, Decided::Waits | Decided::Assumed);
        before == Some(None) && !stands_still
    }

    /// Keeps what came out about a turn. Executions so far made it, which was not wrong.
    pub(crate) fn decide_turn(
        &mut self,
        key: Key<W>,
        inside: u64,
        alone: &Option<Alone<W>>,
    ) -> bool {
        let is_back = alone.as_ref().is_some_and(|alone| alone.end == Some(End::Returned));
        let turn = if is_back { TurnDoes::Nothing } else { TurnDoes::Something };
        self.turns.insert((key, inside), turn);
        false
    }

    /// Keeps what came out about a loop. Returns whether executions so far took it for something else.
    pub(crate) fn decide_loop(&mut self, key: Key<W>, alone: &Option<Alone<W>>) -> bool {
        match alone.as_ref().map(|alone| (alone, alone.end)) {
            // It made one turn, and nothing is different: it need not make another.
            Some((alone, Some(End::Returned))) if alone.repeats => self.decide(key, Decided::Waits),
            Some((alone, Some(End::Returned))) => {
                let keys: Vec<Key<W>> = alone.path.iter().map(|&(key, _)| key).collect();
                // The last turn touched what the ones before it did, or it must be made, too.
                let passed = if alone.varies { keys.len() } else { keys.len() - 1 };
                self.decide_all(&keys[..passed])
            }
            Some((_, Some(End::Lasted))) => self.decide(key, Decided::Assumed),
            _ => self.decide(key, Decided::GivesUp),
        }
    }

    /// The states up to which a thread continues, and the last one, in which it waits.
    fn decide_all(&mut self, keys: &[Key<W>]) -> bool {
        let mut is_news = false;
        for (index, &key) in keys.iter().enumerate() {
            if index > 0 && self.decided(key, false).is_some() {
                break;
            }
            let next = keys.get(index + 1);
            let decided = next.map_or(Decided::Waits, |next| Decided::GoesOn(next.history));
            is_news |= self.decide(key, decided);
        }
        is_news
    }
}
