//! A thread that goes round in a loop alone, to see whether it gives up.

use selvedge_core::ObjectId;

use super::Spins;
use super::loops::Key;
use crate::world::World;

/// A thread that is tried out.
pub(crate) struct Alone<W: World> {
    pub(crate) thread: usize,
    pub(crate) spot: W::Spot,
    /// What it touches in each turn, and whether that differs from turn to turn.
    seen: Vec<ObjectId>,
    pub(super) varies: bool,
    /// Values of all objects. At the end of a turn they are what they were.
    values: Vec<u64>,
    /// Its visible operations up to a turn: each begins with the same.
    pub(crate) before: u64,
    /// It comes back to the loop before it did so many.
    pub(crate) operations: u64,
    /// How many turns it makes at most.
    turns: usize,
    /// What it had allocated before a turn.
    pub(crate) filled: W::Mark,
    /// The states that it was in.
    pub(super) path: Vec<(Key<W>, Option<u128>)>,
    /// What came out.
    pub(crate) end: Option<End>,
}

/// How a thread that ran alone came to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// In a state that it was in before.
    Returned,
    /// After too many turns.
    Lasted,
    /// It left the loop.
    Left,
}

impl<W: World> Spins<W> {
    /// A thread, which stands in a loop in this state, goes on alone.
    pub(crate) fn leave_alone(
        &mut self,
        thread: usize,
        key: Key<W>,
        state: Option<u128>,
        filled: W::Mark,
        turns: usize,
    ) -> &Alone<W> {
        let values = self.values.clone();
        let touched = self.touched(thread);
        let (before, operations) = touched.last_turn();
        let seen = touched.seen().iter().map(|seen| seen.object).collect();
        touched.forget_turns();
        let spot = key.spot;
        let (varies, path, end) = (false, vec![(key, state)], None);
        self.alone.insert(Alone {
            thread,
            spot,
            seen,
            varies,
            values,
            before,
            operations,
            turns,
            filled,
            path,
            end,
        })
    }

    /// Enough is known.
    pub(crate) fn end_alone(&mut self, end: End) {
        if let Some(alone) = &mut self.alone {
            alone.end.get_or_insert(end);
        }
    }

    /// The thread that runs alone came to the end of a turn. Returns whether the turn changed nothing, and touched
    /// what those before it did.
    pub(crate) fn is_same_turn(&mut self) -> bool {
        let Some(mut alone) = self.alone.take() else { return false };
        let touched = self.touched(alone.thread);
        let now = touched.seen().iter().map(|seen| seen.object);
        let touched_same = now.eq(alone.seen.iter().copied());
        let is_same = touched_same || touched.varies;
        let acted = alone.values.iter().zip(&self.values).any(|(before, now)| before != now);
        alone.varies |= !touched_same;
        self.alone = Some(alone);
        is_same && !acted
    }

    /// The next turn of the thread that runs alone begins as the first did: nothing that is kept about it differs
    /// from turn to turn.
    pub(crate) fn begin_same_turn(&mut self, state: Option<u128>) -> Option<End> {
        let mut alone = self.alone.take()?;
        let (first, last) = (alone.path[0].0, alone.path[alone.path.len() - 1].0);
        let history = self.touched(alone.thread).forget_turn(first.history, last.history);
        let was_there = state.is_some() && alone.path.iter().any(|(_, before)| *before == state);
        alone.path.push((Key { history, ..first }, state));
        let end = match was_there {
            true => Some(End::Returned),
            false => (alone.path.len() > alone.turns).then_some(End::Lasted),
        };
        self.alone = Some(alone);
        end
    }
}
