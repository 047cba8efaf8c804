//! Threads that are held back, so that no read waits at a write that is not the last one.
//!
//! A thread that waits is in the graph with a *blocked* read of the last write. If another write became the last one, the
//! thread would no longer wait there: the graph would be no execution, whatever is added to it. It is of use only for
//! revisits that take the new write out again. So the write `e` is not added; it is shown to the reads that are there, as any
//! write, and then its thread is *held back*: it does nothing more in this graph. After Kokologiannakis, Marmanis, Vafeiadis: *Unblocking
//! Dynamic Partial Order Reduction* (Awamoche), CAV 2023, where `e` also unblocks the read.
//!
//! **Nothing is lost.** Suppose `e` were added, and call the blocked read `b`. A write that was shown to an older read, and all that is before that write,
//! stay in all graphs that follow: the write is never maximal again, as an older read reads it. Take a graph that follows
//! and in which `b` does not wait at a write that is not the last. On the way to it `b` was taken out or shown another write, or `e`
//! was taken out.
//!
//! 1. `b` was: then it was maximal, so `e` was not before the write of that revisit, was younger than `b`, and was taken out as well.
//! 2. So `e` was taken out in any case. Then it was never before a write that was shown to a read, since such events stay.
//!
//! Events that come after `e` in program order or reads-from, or that wait for one that does (a lock, a join, an await that `e`
//! or they satisfy), are therefore of no use either, and without `e` they are just not there; they would have been added
//! maximally, and taken out together with `e`. All others are added as without `e`: what would see it reads the last write that
//! there is. The read part of a read-modify-write comes before `e`, and stays: other writes are shown to it.
//!
//! For the same reason a revisit that keeps a blocked read does not make its write the last one of that location: an older
//! read reads it, so it stays.
//!
//! **Nothing is met twice.** That a thread is held back takes the place of `e`: it has the stamp that `e` would have had, is
//! taken out with what is younger than the read that is revisited, and kept otherwise. So the argument of `revisit.rs` holds for it
//! as for any event that is added maximally.
//!
//! **What is left of redundant work:** a graph in which threads are held back, nothing else can run, and on the way to
//! which nothing was planned.

use selvedge_core::{GraphSystem, Location, ThreadId};

use super::execution::Graph;
use super::search::{Pending, Search};

/// A thread that is held back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) thread: ThreadId,
    /// The youngest stamp when it was.
    pub(super) stamp: u32,
}

impl Graph {
    /// Returns whether a thread is held back.
    #[inline]
    pub(super) fn is_held(&self, thread: ThreadId) -> bool {
        self.held.iter().any(|held| held.thread == thread)
    }

    /// Returns how many threads were held back before an event with this stamp was added.
    pub(super) fn held_before(&self, stamp: u32) -> usize {
        self.held.partition_point(|held| held.stamp < stamp)
    }

    /// Returns whether a thread waits at the last write of a location.
    fn is_watched(&self, at: Location) -> bool {
        let mut reads = self.cells[at.index()].reads.iter();
        self.census.blocked > 0 && reads.any(|&read| self.event(read).is_blocked())
    }
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Returns whether a thread would wait at a write that is not the last one, if a pending write went to this place.
    pub(super) fn is_watched_at(&self, pending: &Pending, place: u32) -> bool {
        let graph = self.graph();
        place as usize == graph.places(pending.at) && graph.is_watched(pending.at)
    }
}
