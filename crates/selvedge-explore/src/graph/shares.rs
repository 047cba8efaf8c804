//! Mutexes that threads share: which readers come before a writer.
//!
//! Those that share a mutex, the *readers*, read the write that made it free and nothing else, so that they are not ordered
//! with each other. A writer takes the mutex when all readers of what it reads have given it up, and comes after them.
//!
//! As with mutexes that are not shared (`locks.rs`), nothing is made to read another write. A writer has as many
//! alternatives as there are sets of readers that come before it: the others are taken out of the graph, stand where they
//! share the mutex again, and come later. A reader can come before a writer that is there, which then waits for it. A ghost
//! stays in the place of the oldest that was taken out.

use selvedge_core::{EventId, GraphSystem, Inconclusive, Label, Location, ThreadId};
use smallvec::SmallVec;

use super::clocks::{Clock, PORF};
use super::event::{Reading, Source};
use super::execution::Graph;
use super::locks::Ghost;
use super::search::Search;
use super::task::Task;

impl Graph {
    /// Returns whether a mutex was ever shared.
    pub(super) fn has_shares(&self, at: Location) -> bool {
        let reads = &self.cells[at.index()].reads;
        reads.iter().any(|&read| self.event(read).is_of_share())
    }

    /// Those that share a mutex after this write, in the order in which they were added.
    pub(super) fn sharers(
        &self,
        at: Location,
        from: Source,
    ) -> impl Iterator<Item = EventId> + use<'_> {
        let reads = self.cells.get(at.index()).map_or(&[][..], |cell| &cell.reads);
        reads.iter().copied().filter(move |&read| {
            let event = self.event(read);
            matches!(event.label, Label::Share(_)) && event.source() == Some(from)
        })
    }

    /// Returns the event with which a reader releases the mutex.
    pub(super) fn end_of_share(&self, share: EventId) -> Option<EventId> {
        let at = self.event(share).at?;
        let behind = &self.events(share.thread)[share.nth as usize..];
        let end = behind.iter().position(|event| event.label == Label::Unshare(at))?;
        Some(EventId { nth: share.nth + end as u32, ..share })
    }

    /// Returns whether a reader holds the mutex that this write released.
    pub(super) fn is_shared(&self, at: Location, from: Source) -> bool {
        self.sharers(at, from).any(|share| self.end_of_share(share).is_none())
    }

    /// Returns the write that released the mutex which a thread shares.
    pub(super) fn shared_by(&self, thread: ThreadId, at: Location) -> Option<Source> {
        let mut events = self.events(thread).iter().rev();
        events.find(|event| event.label == Label::Share(at))?.source()
    }

    /// Returns whether each of these ghosts, of so many events of each thread, was made by the reader that counts.
    ///
    /// Readers that come before a lock which was there before them can do so in any order, and the graph is the same. What
    /// differs is which of them came first, and put the ghost in the place of the lock. One that depends on another of them
    /// cannot have been the first; of the rest, the one of the lowest thread counts.
    pub(super) fn has_readers_in_order(
        &self,
        kept: &[u32],
        looks_at: impl Fn(&Ghost) -> bool,
    ) -> bool {
        if self.is_again || self.census.shares == 0 {
            return !self.is_again;
        }
        let by_reader = |ghost: &&Ghost| looks_at(ghost) && self.event(ghost.by).is_of_share();
        self.ghosts.iter().filter(by_reader).all(|ghost| {
            let event = self.event(ghost.by);
            let (Some(at), Some(from)) = (event.at, event.source()) else { return true };
            let counts = |&share: &EventId| {
                self.event(share).stamp > ghost.stamp && Clock(kept).contains(share)
            };
            let readers: SmallVec<[EventId; 8]> = self.sharers(at, from).filter(counts).collect();
            let can_be_first = |&&share: &&EventId| {
                let prefix = self.clock(share, PORF);
                !readers.iter().any(|&other| other != share && prefix.contains(other))
            };
            readers.iter().filter(can_be_first).all(|&share| ghost.by <= share)
        })
    }

    /// Returns whether the graph counts: another order of readers leads to the same graph otherwise.
    pub(super) fn is_met_first(&self) -> bool {
        let all: SmallVec<[u32; 8]> =
            self.threads.iter().map(|thread| thread.events.len() as u32).collect();
        self.has_readers_in_order(&all, |_| true)
    }

    /// Returns the lock that took the mutex which this write released.
    fn lock_of(&self, at: Location, from: Source) -> Option<EventId> {
        let mut reads = self.cells[at.index()].reads.iter().copied();
        reads.find(|&read| {
            let event = self.event(read);
            event.is_lock_read() && event.source() == Some(from)
        })
    }
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Plans that a reader comes before the locks that are in the graph.
    pub(super) fn plan_shares(&mut self, thread: ThreadId, at: Location) {
        for index in 0..self.graph().cells[at.index()].reads.len() {
            let lock = self.graph().cells[at.index()].reads[index];
            if self.graph().event(lock).is_lock_read() {
                self.plan(Task::Share { thread, lock });
            }
        }
    }

    /// Lets `thread` share a mutex before `lock` takes it, if that makes a new graph.
    pub(super) fn share(&mut self, thread: ThreadId, lock: EventId) {
        let Some(label) = self.stand(thread) else { return };
        let graph = self.graph();
        let event = graph.event(lock);
        let stamp = event.stamp;
        let Some(from) = event.source() else { return };
        let mut prefix = graph.prefix_of(thread);
        if let Source::Write(write) = from {
            graph.join_event(&mut prefix, write, PORF);
        }
        if Clock(&prefix).contains(lock) || !graph.is_maximal_extension(lock, &prefix) {
            return;
        }
        self.cut(lock, &prefix);
        let by = self.graph().next_of(thread);
        if self.add_read(thread, label, from, Reading::Alone, None) {
            self.graph_mut().ghosts.push(Ghost { stamp, lock, by });
            self.go_on();
        }
    }

    /// Plans the alternatives of a lock of a mutex that is shared: it comes before another lock, before some of the
    /// readers, or both.
    pub(super) fn plan_takes(&mut self, thread: ThreadId, at: Location) {
        for place in 0..self.graph().places(at) {
            let graph = self.graph();
            let from = graph.write_at(at, place);
            if graph.value(at, from) != 0 {
                continue;
            }
            let readers = graph.sharers(at, from).count();
            let most = self.options.caps.sharers;
            if readers > most as usize {
                let reason = format!("more than {most} threads share a lock at a time");
                self.report.note(Inconclusive::GaveUp(reason));
                self.stopped = true;
                return;
            }
            // Without another lock, coming after all readers is no alternative: the search does that first.
            let all = (1_u64 << readers) - 1;
            let is_taken = graph.lock_of(at, from).is_some();
            let most = if is_taken { all + 1 } else { all };
            for after in 0..most {
                self.plan(Task::Take { thread, from, after });
            }
        }
    }

    /// Lets `thread` take a mutex after what `from` wrote and after some of its readers, if that makes a new graph.
    pub(super) fn take(&mut self, thread: ThreadId, from: Source, after: u64) {
        let Some(label @ Label::Lock(at)) = self.stand(thread) else { return };
        let graph = self.graph();
        let mut prefix = graph.prefix_of(thread);
        if let Source::Write(write) = from {
            graph.join_event(&mut prefix, write, PORF);
        }
        let mut later: SmallVec<[EventId; 8]> = graph.lock_of(at, from).into_iter().collect();
        for (number, share) in graph.sharers(at, from).enumerate() {
            match (after >> number & 1 == 1, graph.end_of_share(share)) {
                (true, Some(end)) => graph.join_event(&mut prefix, end, PORF),
                (true, None) => return,
                (false, _) => later.push(share),
            }
        }
        let Some(&oldest) = later.iter().min_by_key(|&&it| graph.event(it).stamp) else { return };
        if later.iter().any(|&it| Clock(&prefix).contains(it))
            || !graph.leaves_room(oldest, &prefix, at, from)
            || !graph.is_maximal_extension(oldest, &prefix)
        {
            return;
        }
        let stamp = graph.event(oldest).stamp;
        self.cut(oldest, &prefix);
        if self.add_read(thread, label, from, Reading::Updating, None)
            && let Some(by) = self.add_write_at(thread, self.graph().place_of(from) + 1)
        {
            self.graph_mut().ghosts.push(Ghost { stamp, lock: oldest, by });
            self.go_on();
        }
    }
}
