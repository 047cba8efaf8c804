//! Revisits: which reads in the graph a new write is shown to, and which events are taken out for that.
//!
//! A graph in which a read sees a write that was added after it has one origin: take the write away, let the read
//! see the last write that it could see, and continue by the rules of the search, adding everything *maximally* with what is
//! before the write already known. [`Graph::is_maximal_extension`] says that the current graph is that one. So
//! each graph is reached on one path, and nothing has to be remembered.

use selvedge_core::{EventId, GraphSystem, Label, Location, ThreadId};
use smallvec::SmallVec;

use super::clocks::Clock;
use super::event::{Act, Reading, Source};
use super::execution::Graph;
use super::search::{Pending, Search};
use super::task::Task;

/// A part of a graph: how many events of each thread it has.
pub(super) type Prefix = SmallVec<[u32; 8]>;

impl Graph {
    /// Returns what is before the next event of `thread` in program order, reads-from, spawn and join.
    pub(super) fn prefix_of(&self, thread: ThreadId) -> Prefix {
        let mut prefix = SmallVec::from_elem(0, self.threads.len());
        self.join_prefix(&mut prefix, thread);
        prefix
    }

    /// Returns how many events of each thread are left if those younger than `read`, and it, are taken out, but for
    /// those in `prefix`. Stamps increase along a thread.
    pub(super) fn without(&self, read: EventId, prefix: &[u32]) -> Prefix {
        let stamp = self.event(read).stamp;
        let left = |(thread, &least): (usize, &u32)| {
            let events = &self.threads[thread].events;
            let mut left = events.len();
            while left > least as usize && events[left - 1].stamp >= stamp {
                left -= 1;
            }
            left as u32
        };
        prefix.iter().enumerate().map(left).collect()
    }

    /// Returns whether `read` and everything younger than it, but for what is in `prefix`, is what the search would have
    /// added with `prefix` known and without an alternative taken.
    pub(super) fn is_maximal_extension(&self, read: EventId, prefix: &[u32]) -> bool {
        let stamp = self.event(read).stamp;
        let left = self.without(read, prefix);
        self.threads().zip(&left).all(|(thread, &left)| {
            let all = self.events(thread).len() as u32;
            (left..all).all(|nth| self.is_maximal(EventId { thread, nth }, prefix))
        }) && self.ghosts.iter().all(|ghost| {
            ghost.stamp <= stamp
                || Clock(prefix).contains(ghost.lock)
                || Clock(prefix).contains(ghost.by)
        })
    }

    /// Returns whether a write part can come right after the write `from` once `read` and what is younger, but for what is in
    /// `prefix`, are taken out: nothing that is left has taken it.
    pub(super) fn leaves_room(
        &self,
        read: EventId,
        prefix: &[u32],
        at: Location,
        from: Source,
    ) -> bool {
        let left = self.without(read, prefix);
        let behind = &self.cells[at.index()].writes[self.place_of(from) as usize..];
        let next = behind.iter().find(|&&write| Clock(&left).contains(write));
        next.is_none_or(|&next| !self.event(next).is_updating_write())
    }

    /// Returns whether the search would have added the event as it is, with `prefix` known and without an alternative.
    pub(super) fn is_maximal(&self, id: EventId, prefix: &[u32]) -> bool {
        let event = self.event(id);
        match (event.act, event.at) {
            (Act::Read { from, reading }, Some(at)) => {
                reading != Reading::Spurious
                    && from == self.last_before(at, event.stamp, prefix)
                    && !(event.is_of_share() && self.has_older_ghost(id))
            }
            (Act::Write { .. }, Some(at)) => {
                let cell = &self.cells[at.index()];
                let reads_it = |&read: &EventId| {
                    let other = self.event(read);
                    other.source() == Some(Source::Write(id))
                        && (other.stamp <= event.stamp || Clock(prefix).contains(read))
                };
                self.last_before(at, event.stamp, prefix) == Source::Write(id)
                    && !cell.reads.iter().any(reads_it)
                    && !self.has_older_ghost(id)
            }
            (Act::Choice, _) => event.value == 0,
            _ => true,
        }
    }

    /// Returns whether the event took the place of a lock that was there before it.
    fn has_older_ghost(&self, id: EventId) -> bool {
        let stamp = self.event(id).stamp;
        self.ghosts.iter().any(|ghost| ghost.by == id && ghost.stamp <= stamp)
    }

    /// Returns the last write of a location among those that are not younger than `stamp`, or in `prefix`.
    fn last_before(&self, at: Location, stamp: u32, prefix: &[u32]) -> Source {
        let is_there = |write: &&EventId| {
            Clock(prefix).contains(**write) || self.event(**write).stamp <= stamp
        };
        let last = self.cells[at.index()].writes.iter().rev().find(is_there);
        last.map_or(Source::Initial, |&write| Source::Write(write))
    }
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Plans to show a write, which `thread` is about to add, to reads that are in the graph already.
    pub(super) fn plan_revisits(&mut self, thread: ThreadId, pending: &Pending) {
        let graph = self.graph();
        let reads = &graph.cells[pending.at.index()].reads;
        if reads.is_empty() {
            return;
        }
        let prefix = graph.prefix_of(thread);
        // The order of locks is decided in `locks.rs`.
        let of_lock = matches!(pending.label, Label::Lock(_) | Label::Unlock(_));
        let mut reads: SmallVec<[EventId; 16]> = reads
            .iter()
            .copied()
            .filter(|&read| !Clock(&prefix).contains(read))
            .filter(|&read| !graph.event(read).is_of_share())
            .filter(|&read| !(of_lock && graph.event(read).is_lock_read()))
            .collect();
        reads.sort_unstable_by_key(|&read| std::cmp::Reverse(graph.event(read).stamp));
        // An older read would take out even more events.
        let is_possible = |&read: &EventId| graph.is_maximal_extension(read, &prefix);
        let possible = reads.iter().position(|read| !is_possible(read)).unwrap_or(reads.len());
        reads.truncate(possible);
        if let Some(from) = pending.updates {
            reads.retain(|read| graph.leaves_room(*read, &prefix, pending.at, from));
        }
        for read in reads {
            self.plan(Task::Revisit { thread, read });
        }
    }

    /// Shows the write that `thread` is about to add to `read`: takes out what is younger, and plans where the
    /// write goes.
    pub(super) fn revisit(&mut self, thread: ThreadId, read: EventId) {
        if self.graph().event(read).is_lock_read() {
            return self.rob(thread, read);
        }
        let (stamp, label) = (self.graph().event(read).stamp, self.graph().event(read).label);
        let prefix = self.graph().prefix_of(thread);
        self.cut(read, &prefix);
        let Some(pending) = self.pending_write(thread) else { return };
        let may_be_spurious = matches!(label,
            Label::Compare { expected, weak: true, .. } if expected == pending.value);
        let first = self.first_place(thread, &pending);
        let last = self.last_place(&pending, first);
        let last = if self.is_watched_at(&pending, last) { last - 1 } else { last };
        for place in first..=last {
            let to = read.thread;
            self.plan(Task::Show { thread, place, to, stamp, spurious: false });
            if may_be_spurious {
                self.plan(Task::Show { thread, place, to, stamp, spurious: true });
            }
        }
    }

    /// Adds the write of `thread` at `place`, and the read that `reader` stands at and that now reads it, with the
    /// stamp that it had.
    pub(super) fn show(
        &mut self,
        thread: ThreadId,
        place: u32,
        reader: ThreadId,
        stamp: u32,
        spurious: bool,
    ) {
        let Some(write) = self.add_write_at(thread, place) else { return };
        let Some(label) = self.stand(reader) else { return };
        let event = self.graph().event(write);
        let (value, at) = (event.value, event.at);
        let Some(reading) = self.reading(reader, label, value, spurious) else { return };
        let is_last = at.is_some_and(|at| self.graph().last_write(at) == Source::Write(write));
        // A read that waits at a write which is not the last one belongs to another graph.
        if reading == Reading::Blocked && !is_last {
            return;
        }
        if self.add_read(reader, label, Source::Write(write), reading, Some(stamp)) {
            self.go_on();
        }
    }

    /// Puts a graph without `read` and what is younger, but for what is in `prefix`, on top of the others.
    pub(super) fn cut(&mut self, read: EventId, prefix: &[u32]) {
        let mut level = self.spare.pop().unwrap_or_default();
        let whole = self.graph();
        let stamp = whole.event(read).stamp;
        let left = whole.without(read, prefix);
        let held = whole.held_before(stamp);
        level.graph.become_part(whole, &left, held, |ghost| {
            ghost.stamp <= stamp || Clock(prefix).contains(ghost.lock)
        });
        self.levels.push(level);
    }

    /// Returns whether no consistent graph can follow if a read-modify-write of `thread` reads a write that another
    /// read-modify-write reads, because that one cannot be taken out of the graph.
    pub(super) fn is_taken_for_good(&self, thread: ThreadId, at: Location, from: Source) -> bool {
        let graph = self.graph();
        let Some(&next) = graph.cells[at.index()].writes.get(graph.place_of(from) as usize) else {
            return false;
        };
        if !graph.event(next).is_updating_write() {
            return false;
        }
        let owner = EventId { nth: next.nth - 1, ..next };
        let mut prefix = graph.prefix_of(thread);
        if let Source::Write(write) = from {
            graph.join_event(&mut prefix, write, super::clocks::PORF);
        }
        Clock(&prefix).contains(owner) || !graph.is_maximal(owner, &prefix)
    }
}
