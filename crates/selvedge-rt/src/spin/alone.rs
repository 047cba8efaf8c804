//! A thread that goes round in a loop alone, to see whether it gives up.

use selvedge_core::ObjectId;

use super::key::Key;
use super::turn::TurnEnd;
use crate::world::World;

/// A thread that is tried out.
pub(crate) struct Alone<W: World> {
    pub(crate) thread: usize,
    pub(crate) spot: W::Spot,
    /// What it touches in each turn, and whether that differs from turn to turn.
    pub(super) seen: Vec<ObjectId>,
    pub(super) varies: bool,
    /// Values of all objects. At the end of a turn they are what they were.
    pub(super) values: Vec<u64>,
    /// Its visible operations up to a turn: each begins with the same.
    pub(crate) before: u64,
    /// It comes back to the loop before it did so many.
    pub(crate) operations: u64,
    /// How many turns it makes at most.
    pub(super) turns: usize,
    /// What it had allocated before a turn.
    pub(crate) filled: W::Mark,
    /// The states that it was in.
    pub(super) path: Vec<(Key<W>, Option<TurnEnd>)>,
    /// Whether the turn before, which had alternatives perhaps, ended as it began.
    pub(super) repeats: bool,
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
