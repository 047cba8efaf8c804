//! Who expands states: the search alone, or several threads.
//!
//! The states that are open are expanded in rounds. During a round the store does not change, and all workers read it; after it the search
//! takes over what they found, in the order of the states. What a state leads to does not depend on when it was expanded
//! (`expand.rs`), so the result is that of one worker: the same states with the same numbers, and the same violation first.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use selvedge_core::{Budget, System};

use super::expand::{Expander, Followed};
use super::store::{StateId, Store};

/// States that one worker alone expands before they are taken over.
const ALONE: usize = 32;

/// Pieces per worker in a round.
const PIECES: usize = 16;

/// Expands open states.
pub(super) trait Workers<S> {
    /// Returns what follows from the states from `first` on: from as many as are expanded in one round, in their order.
    fn expand(
        &mut self,
        system: &mut S,
        first: StateId,
        store: &Store,
        budget: &Budget,
    ) -> &[Followed];
}

/// The search alone, with its own system.
pub(super) struct Alone {
    expander: Expander,
    followed: Followed,
}

impl Alone {
    pub(super) fn new(expander: Expander) -> Self {
        Self { expander, followed: Followed::default() }
    }
}

impl<S: System> Workers<S> for Alone {
    fn expand(
        &mut self,
        system: &mut S,
        first: StateId,
        store: &Store,
        budget: &Budget,
    ) -> &[Followed] {
        self.followed.clear();
        let end = first.after(ALONE).min(store.end());
        self.expander.expand_all(system, first..end, store, budget, &mut self.followed);
        std::slice::from_ref(&self.followed)
    }
}

/// Several threads, each with a system of its own.
pub(super) struct Team<S> {
    members: Vec<(S, Expander)>,
    /// A worker takes so many states at a time.
    piece: usize,
    /// What was found in the last round, by pieces; buffers that are kept.
    followed: Vec<Followed>,
}

impl<S: System + Send> Team<S> {
    /// `member` makes a system, in any state of the program, and an expander.
    pub(super) fn new(
        count: NonZeroUsize,
        piece: usize,
        member: impl Fn() -> (S, Expander),
    ) -> Self {
        let members = (0..count.get()).map(|_| member()).collect();
        Self { members, piece: piece.max(1), followed: Vec::new() }
    }
}

impl<S: System + Send> Workers<S> for Team<S> {
    fn expand(&mut self, _: &mut S, first: StateId, store: &Store, budget: &Budget) -> &[Followed] {
        let pieces = pieces(first..store.end(), self.piece, PIECES * self.members.len());
        let mut buffers = std::mem::take(&mut self.followed);
        buffers.resize_with(pieces.len(), Followed::default);
        let work: Vec<Mutex<(Range<StateId>, Followed)>> =
            pieces.into_iter().zip(buffers).map(Mutex::new).collect();
        let next = AtomicUsize::new(0);
        let (work_ref, next) = (&work, &next);
        let take_part = move |(system, expander): &mut (S, Expander)| {
            while let Some(piece) = work_ref.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut piece = piece.lock().expect("internal error: a worker has failed");
                let (states, followed) = &mut *piece;
                followed.clear();
                expander.expand_all(system, states.clone(), store, budget, followed);
            }
        };
        // One piece is done before a thread has begun.
        let helpers = self.members.len().min(work.len());
        if let Some((own, others)) = self.members[..helpers].split_first_mut() {
            std::thread::scope(|scope| {
                for other in others {
                    scope.spawn(move || take_part(other));
                }
                take_part(own);
            });
        }
        self.followed = work.into_iter().map(done).collect();
        &self.followed
    }
}

/// Returns what was found in a piece, when all workers are done.
fn done(piece: Mutex<(Range<StateId>, Followed)>) -> Followed {
    piece.into_inner().expect("internal error: a worker has failed").1
}

/// Divides states, or as many of them as make `most` pieces.
fn pieces(states: Range<StateId>, of_each: usize, most: usize) -> Vec<Range<StateId>> {
    let mut pieces = Vec::new();
    let mut start = states.start;
    while start < states.end && pieces.len() < most {
        let next = start.after(of_each).min(states.end);
        pieces.push(start..next);
        start = next;
    }
    pieces
}
