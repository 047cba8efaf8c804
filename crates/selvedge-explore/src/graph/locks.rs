//! Mutexes: in which order threads lock one.
//!
//! The modification order of a mutex is a chain of takes and releases, so the only alternatives are which of
//! several locks comes next. A lock is never made to read another write; the thread that could have come first
//! *steals* the mutex, and the one that had it stands at its lock again and takes it later like any other.
//!
//! A [`Ghost`] remains in the place of the lock that was taken out. It counts as a reader of the write of the lock
//! that replaced it. Without ghosts two threads would steal from each other without end.
//!
//! Try-locks are compare-exchanges on the mutex. The write of a lock or an unlock is shown to them like to any
//! read; the write of a try-lock that succeeds steals from a lock; and a lock that steals also takes what a
//! try-lock has taken, whose read then sees it taken.

use selvedge_core::{EventId, GraphSystem, Label, Location, ThreadId};

use super::clocks::{Clock, PORF};
use super::event::{Act, Reading, Source};
use super::search::Search;
use super::task::Task;

/// A lock that was taken out of the graph so that another could come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ghost {
    /// The stamp that the lock had.
    pub(super) stamp: u32,
    /// Its name.
    pub(super) lock: EventId,
    /// What took its place: a write, or the read of one that shares the mutex.
    pub(super) by: EventId,
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Plans the alternatives of a lock that `thread` stands at: it comes before locks of the mutex that are in the graph.
    pub(super) fn plan_steals(&mut self, thread: ThreadId, at: Location) {
        if self.graph().census.shares > 0 && self.graph().has_shares(at) {
            return self.plan_takes(thread, at);
        }
        let reading = Reading::Updating;
        for index in 0..self.graph().cells[at.index()].reads.len() {
            let graph = self.graph();
            let read = graph.cells[at.index()].reads[index];
            let event = graph.event(read);
            match (event.label, event.act) {
                (Label::Lock(_), _) => self.plan(Task::Steal { thread, lock: read }),
                (Label::TryLock(_), Act::Read { from, reading: Reading::Updating })
                    if !self.is_taken_for_good(thread, at, from) =>
                {
                    self.plan(Task::Read { thread, from, reading });
                }
                _ => {}
            }
        }
    }

    /// Lets `thread` take a mutex in place of the lock `lock`, if that makes a new graph.
    pub(super) fn steal(&mut self, thread: ThreadId, lock: EventId) {
        let graph = self.graph();
        let event = graph.event(lock);
        let (label, stamp) = (event.label, event.stamp);
        let (Some(from), Some(at)) = (event.source(), event.at) else { return };
        let mut prefix = graph.prefix_of(thread);
        if let Source::Write(write) = from {
            graph.join_event(&mut prefix, write, PORF);
        }
        if Clock(&prefix).contains(lock)
            || !graph.leaves_room(lock, &prefix, at, from)
            || !graph.is_maximal_extension(lock, &prefix)
        {
            return;
        }
        self.cut(lock, &prefix);
        if self.add_read(thread, label, from, Reading::Updating, None)
            && let Some(write) = self.add_write_at(thread, self.graph().place_of(from) + 1)
        {
            self.graph_mut().ghosts.push(Ghost { stamp, lock, by: write });
            self.go_on();
        }
    }

    /// Lets the write of a try-lock, which `thread` owes, take a mutex in place of the lock `lock`.
    pub(super) fn rob(&mut self, thread: ThreadId, lock: EventId) {
        let stamp = self.graph().event(lock).stamp;
        let prefix = self.graph().prefix_of(thread);
        self.cut(lock, &prefix);
        let Some(pending) = self.pending_write(thread) else { return };
        let place = self.first_place(thread, &pending);
        let is_last = place as usize == self.graph().places(pending.at);
        if is_last && let Some(write) = self.add_write_at(thread, place) {
            self.graph_mut().ghosts.push(Ghost { stamp, lock, by: write });
            self.go_on();
        }
    }
}
