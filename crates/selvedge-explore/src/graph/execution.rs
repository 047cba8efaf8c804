//! Execution graphs: events with program order, reads-from and modification order.

use selvedge_core::{Bits, EventId, Label, Location, Order, ThreadId};

use super::clocks::{self, CLOCKS, Clock, FENCED, HB, MESSAGE, PENDING, PORF};
use super::event::{Act, Event, Source};
use super::held::Held;
use super::locks::Ghost;

/// A thread of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) events: Vec<Event>,
    /// The clocks of its events: each has [`CLOCKS`] of them, of one entry per thread.
    clocks: Vec<u32>,
    /// The label that it stands at, if the system was asked already.
    pub(super) stands: Option<Label>,
    /// The event that spawned it; `None` for a thread of the initial state, and for one that is not spawned yet.
    pub(super) spawned: Option<EventId>,
}

/// A location of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Its value before anything is written.
    initial: Bits,
    /// The writes in modification order, without the initial one: `writes[i]` has place `i + 1`.
    pub(super) writes: Vec<EventId>,
    /// The reads that are not blocked, and the blocked ones, in the order in which they were added.
    pub(super) reads: Vec<EventId>,
}

/// How many events there are of the kinds that decide which checks a model has to make.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Census {
    /// Fences with [`Order::SeqCst`].
    pub(super) strong_fences: u32,
    /// Accesses with [`Order::SeqCst`].
    pub(super) strong_accesses: u32,
    /// All other accesses.
    pub(super) weak_accesses: u32,
    /// Non-atomic accesses, with or without a value.
    pub(super) non_atomic: u32,
    /// Joins.
    pub(super) joins: u32,
    /// Ends of threads that others are told of.
    pub(super) closes: u32,
    /// Mutexes that were taken together with others.
    pub(super) shares: u32,
    /// Reads that a thread waits at.
    pub(super) blocked: u32,
}

impl Census {
    fn count(&mut self, event: &Event, change: impl Fn(&mut u32)) {
        match (event.act, event.order) {
            (Act::Fence, Order::SeqCst) => change(&mut self.strong_fences),
            (Act::Read { .. } | Act::Write { .. }, Order::SeqCst) => {
                change(&mut self.strong_accesses);
            }
            (Act::Read { .. } | Act::Write { .. }, _) => change(&mut self.weak_accesses),
            (Act::Join(_), _) => change(&mut self.joins),
            _ => {}
        }
        if event.at.is_some() && event.order == Order::NonAtomic {
            change(&mut self.non_atomic);
        }
        if matches!((event.label, event.act), (Label::Close(_), Act::Write { .. })) {
            change(&mut self.closes);
        }
        if matches!(event.label, Label::Share(_)) {
            change(&mut self.shares);
        }
        if event.is_blocked() {
            change(&mut self.blocked);
        }
    }
}

/// What was added to a graph.
#[derive(Clone, Copy, Debug)]
pub(super) enum Added {
    /// The next event of this thread.
    Event(ThreadId),
    /// The last of the threads that are held back.
    Held,
}

/// An execution graph, complete or not.
#[derive(Debug, Default)]
pub struct Graph {
    pub(super) threads: Vec<Thread>,
    pub(super) cells: Vec<Cell>,
    pub(super) census: Census,
    /// Locks in whose place others were taken: `locks.rs`.
    pub(super) ghosts: Vec<Ghost>,
    /// Whether readers of a lock in it are not in canonical order: the same graph is also reached in another order (`shares.rs`).
    pub(super) is_again: bool,
    /// Threads that are held back: `held.rs`.
    pub(super) held: Vec<Held>,
    /// What was added since the graph was made, in order.
    trail: Vec<Added>,
    /// The youngest stamp.
    now: u32,
    /// A buffer.
    scratch: Vec<u32>,
}

impl Graph {
    /// Returns a graph without events and with this many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self { threads: vec![Thread::default(); threads], ..Self::default() }
    }

    /// Returns the threads that it has room for.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::new)
    }

    /// Returns the events of a thread, in program order.
    pub fn events(&self, thread: ThreadId) -> &[Event] {
        &self.threads[thread.index()].events
    }

    /// Returns the event with this name.
    #[inline]
    pub fn event(&self, event: EventId) -> &Event {
        &self.threads[event.thread.index()].events[event.nth as usize]
    }

    /// Returns how many events it has.
    pub fn len(&self) -> usize {
        self.threads.iter().map(|thread| thread.events.len()).sum()
    }

    /// Returns whether it has no events.
    pub fn is_empty(&self) -> bool {
        self.threads.iter().all(|thread| thread.events.is_empty())
    }

    /// Returns the writes of a location in modification order, without the initial one.
    pub fn writes(&self, at: Location) -> &[EventId] {
        self.cells.get(at.index()).map_or(&[], |cell| &cell.writes)
    }

    /// Returns the locations that were met.
    pub fn locations(&self) -> impl Iterator<Item = Location> + use<> {
        (0..self.cells.len()).map(Location::new)
    }

    /// Returns whether one event happens before another.
    pub fn happens_before(&self, earlier: EventId, later: EventId) -> bool {
        self.clock(later, HB).contains(earlier)
    }

    /// Returns how much was added since the graph was made.
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Returns what was added since the graph was made, without the first `mark`.
    pub(super) fn added_since(&self, mark: usize) -> &[Added] {
        &self.trail[mark..]
    }

    /// Makes room for a location.
    #[inline]
    pub(super) fn meet(&mut self, at: Location, initial: impl Fn(Location) -> Bits) {
        for index in self.cells.len()..=at.index() {
            let initial = initial(Location::new(index));
            self.cells.push(Cell { initial, ..Cell::default() });
        }
    }

    /// Returns the name of the event that `thread` adds next.
    #[inline]
    pub(super) fn next_of(&self, thread: ThreadId) -> EventId {
        let nth = self.threads[thread.index()].events.len() as u32;
        EventId { thread, nth }
    }

    /// Returns the last event of a thread.
    #[inline]
    pub(super) fn last(&self, thread: ThreadId) -> Option<&Event> {
        self.threads[thread.index()].events.last()
    }

    /// Returns the value of a write.
    #[inline]
    pub(super) fn value(&self, at: Location, write: Source) -> Bits {
        match write {
            Source::Initial => self.cells[at.index()].initial,
            Source::Write(write) => self.event(write).value,
        }
    }

    /// Returns the place of a write in modification order.
    #[inline]
    pub(super) fn place_of(&self, write: Source) -> u32 {
        match write {
            Source::Initial => 0,
            Source::Write(write) => match self.event(write).act {
                Act::Write { place, .. } => place,
                _ => unreachable!("internal error: reads from an event that is no write"),
            },
        }
    }

    /// Returns the place of an access: of the write that it is, or that it reads.
    #[inline]
    pub(super) fn place(&self, event: &Event) -> u32 {
        match event.act {
            Act::Write { place, .. } => place,
            Act::Read { from, .. } => self.place_of(from),
            _ => unreachable!("internal error: an event without a place in modification order"),
        }
    }

    /// Returns the last place of a location that is known to happen before the next event of `thread`: no model lets it read an
    /// earlier write, or write at that place or before.
    pub(super) fn floor(&self, thread: ThreadId, at: Location) -> u32 {
        let next = self.next_of(thread);
        let last = match next.nth.checked_sub(1) {
            Some(nth) => Some(EventId { thread, nth }),
            None => self.threads[thread.index()].spawned,
        };
        let Some(last) = last else { return 0 };
        let before = self.clock(last, HB);
        let is_before = |access: EventId| {
            before.contains(access) || (access.thread == last.thread && access.nth <= last.nth)
        };
        let cell = &self.cells[at.index()];
        let seen = cell.writes.iter().rposition(|&write| is_before(write));
        let mut floor = seen.map_or(0, |index| index as u32 + 1);
        for &read in &cell.reads {
            let place = self.place(self.event(read));
            if place > floor && is_before(read) {
                floor = place;
            }
        }
        floor
    }

    /// Returns the last write in modification order.
    #[inline]
    pub(super) fn last_write(&self, at: Location) -> Source {
        self.cells[at.index()].writes.last().map_or(Source::Initial, |&write| Source::Write(write))
    }

    /// Returns the write with this place.
    #[inline]
    pub(super) fn write_at(&self, at: Location, place: usize) -> Source {
        match place.checked_sub(1) {
            None => Source::Initial,
            Some(index) => Source::Write(self.cells[at.index()].writes[index]),
        }
    }

    /// Returns how many writes there are, with the initial one.
    #[inline]
    pub(super) fn places(&self, at: Location) -> usize {
        self.cells[at.index()].writes.len() + 1
    }

    #[inline]
    pub(super) fn clock(&self, event: EventId, which: usize) -> Clock<'_> {
        let width = self.threads.len();
        let from = (event.nth as usize * CLOCKS + which) * width;
        Clock(&self.threads[event.thread.index()].clocks[from..from + width])
    }

    /// Adds to `clock` what is before the next event of `thread` in `PORF`.
    pub(super) fn join_prefix(&self, clock: &mut [u32], thread: ThreadId) {
        let next = self.next_of(thread);
        match next.nth.checked_sub(1) {
            Some(nth) => self.join_event(clock, EventId { thread, nth }, PORF),
            None => {
                if let Some(spawn) = self.threads[thread.index()].spawned {
                    self.join_event(clock, spawn, PORF);
                }
            }
        }
    }

    /// Adds an event and what is before it to `clock`.
    #[inline]
    pub(super) fn join_event(&self, clock: &mut [u32], event: EventId, which: usize) {
        clocks::join(clock, self.clock(event, which).0);
        clocks::add(clock, event);
    }

    /// Makes room for threads up to this one.
    pub(super) fn widen(&mut self, thread: ThreadId) {
        let (old, new) = (self.threads.len(), thread.index() + 1);
        if new <= old {
            return;
        }
        for thread in &mut self.threads {
            let mut clocks = Vec::with_capacity(thread.events.len() * CLOCKS * new);
            for clock in thread.clocks.chunks(old) {
                clocks.extend_from_slice(clock);
                clocks.resize(clocks.len() + new - old, 0);
            }
            thread.clocks = clocks;
        }
        self.threads.resize_with(new, Thread::default);
    }

    /// Appends an event to its thread. Its stamp is the next one or, if it replaces an event that was taken out, the stamp of
    /// that one. A write is inserted at its place; the writes after it move up.
    pub(super) fn push(
        &mut self,
        thread: ThreadId,
        mut event: Event,
        stamp: Option<u32>,
    ) -> EventId {
        let id = self.next_of(thread);
        event.stamp = stamp.unwrap_or_else(|| {
            self.now += 1;
            self.now
        });
        let before = self.last(thread).map_or(0, |event| event.answers);
        event.answers = before + u32::from(event.answer().is_some());
        self.push_clocks(id, &event);
        match (event.act, event.at) {
            (Act::Write { place, .. }, Some(at)) => {
                self.cells[at.index()].writes.insert(place as usize - 1, id);
                self.move_places(at, place as usize, 1);
            }
            (Act::Read { .. }, Some(at)) => self.cells[at.index()].reads.push(id),
            (Act::Spawn(child), _) => self.threads[child.index()].spawned = Some(id),
            _ => {}
        }
        self.census.count(&event, |count| *count += 1);
        let thread = &mut self.threads[thread.index()];
        thread.events.push(event);
        thread.stands = event.is_blocked().then_some(event.label);
        self.trail.push(Added::Event(id.thread));
        id
    }

    /// Holds a thread back from now on.
    pub(super) fn hold(&mut self, thread: ThreadId) {
        self.held.push(Held { thread, stamp: self.now });
        self.trail.push(Added::Held);
    }

    /// Takes back what was added last.
    fn pop(&mut self) {
        let thread = match self.trail.pop().expect("internal error: nothing to take back") {
            Added::Event(thread) => thread,
            Added::Held => {
                self.held.pop();
                return;
            }
        };
        let width = self.threads.len();
        let home = &mut self.threads[thread.index()];
        let event = home.events.pop().expect("internal error: nothing to take back");
        home.clocks.truncate(home.events.len() * CLOCKS * width);
        home.stands = (!event.is_updating_write()).then_some(event.label);
        self.census.count(&event, |count| *count -= 1);
        if event.stamp == self.now {
            self.now -= 1;
        }
        match (event.act, event.at) {
            (Act::Write { place, .. }, Some(at)) => {
                self.cells[at.index()].writes.remove(place as usize - 1);
                self.move_places(at, place as usize - 1, -1);
            }
            (Act::Read { .. }, Some(at)) => {
                let read = self.cells[at.index()].reads.pop();
                debug_assert_eq!(read.map(|read| read.thread), Some(thread));
            }
            (Act::Spawn(child), _) => {
                self.threads[child.index()].spawned = None;
                self.threads[child.index()].stands = None;
            }
            _ => {}
        }
    }

    /// Takes back all but the first `mark` of what was added since the graph was made.
    pub(super) fn truncate(&mut self, mark: usize) {
        while self.trail.len() > mark {
            self.pop();
        }
    }

    /// Changes the places of the writes from this index on.
    #[inline]
    fn move_places(&mut self, at: Location, from: usize, by: i32) {
        for &write in &self.cells[at.index()].writes[from..] {
            let event = &mut self.threads[write.thread.index()].events[write.nth as usize];
            if let Act::Write { place, .. } = &mut event.act {
                *place = place.wrapping_add_signed(by);
            }
        }
    }

    /// Makes it the part of `whole` with this many events of each thread, which is closed under `PORF`, with the first `held`
    /// of the threads that are held back, and with the ghosts that are kept.
    pub(super) fn become_part(
        &mut self,
        whole: &Graph,
        kept: &[u32],
        held: usize,
        is_kept: impl Fn(&Ghost) -> bool,
    ) {
        let width = whole.threads.len();
        self.now = whole.now;
        // What is forgotten with a ghost is remembered here.
        self.is_again = !whole.has_readers_in_order(kept, |ghost| !is_kept(ghost));
        self.trail.clear();
        self.held.clear();
        self.held.extend_from_slice(&whole.held[..held]);
        self.ghosts.clear();
        self.ghosts.extend(whole.ghosts.iter().copied().filter(&is_kept));
        self.threads.resize_with(width, Thread::default);
        self.census = Census::default();
        for ((mine, theirs), &kept) in self.threads.iter_mut().zip(&whole.threads).zip(kept) {
            let kept = kept as usize;
            mine.events.clear();
            mine.events.extend_from_slice(&theirs.events[..kept]);
            mine.clocks.clear();
            mine.clocks.extend_from_slice(&theirs.clocks[..kept * CLOCKS * width]);
            mine.stands = match theirs.events.get(kept) {
                None => theirs.stands,
                Some(event) => (!event.is_updating_write()).then_some(event.label),
            };
            for event in &mine.events {
                self.census.count(event, |count| *count += 1);
            }
        }
        let is_there = |event: &EventId| event.nth < kept[event.thread.index()];
        for (mine, theirs) in self.threads.iter_mut().zip(&whole.threads) {
            mine.spawned = theirs.spawned.filter(is_there);
            // A thread that is not spawned has no label.
            if mine.spawned != theirs.spawned {
                mine.stands = None;
            }
        }
        self.cells.resize_with(whole.cells.len(), Cell::default);
        for (mine, theirs) in self.cells.iter_mut().zip(&whole.cells) {
            mine.initial = theirs.initial;
            mine.reads.clear();
            mine.reads.extend(theirs.reads.iter().copied().filter(is_there));
            mine.writes.clear();
            mine.writes.extend(theirs.writes.iter().copied().filter(is_there));
            if mine.writes.len() < theirs.writes.len() {
                for (index, write) in mine.writes.iter().enumerate() {
                    let events = &mut self.threads[write.thread.index()].events;
                    if let Act::Write { place, .. } = &mut events[write.nth as usize].act {
                        *place = index as u32 + 1;
                    }
                }
            }
        }
    }

    fn push_clocks(&mut self, id: EventId, event: &Event) {
        let width = self.threads.len();
        let mut clocks = std::mem::take(&mut self.scratch);
        clocks.clear();
        match id.nth.checked_sub(1) {
            Some(before) => {
                let before = before as usize * CLOCKS * width;
                let all = &self.threads[id.thread.index()].clocks;
                clocks.extend_from_slice(&all[before..before + CLOCKS * width]);
                clocks[HB * width + id.thread.index()] = id.nth;
                clocks[PORF * width + id.thread.index()] = id.nth;
                clocks[MESSAGE * width..(MESSAGE + 1) * width].fill(0);
            }
            None => {
                clocks.resize(CLOCKS * width, 0);
                if let Some(spawn) = self.threads[id.thread.index()].spawned {
                    self.join_event(&mut clocks[HB * width..][..width], spawn, HB);
                    self.join_event(&mut clocks[PORF * width..][..width], spawn, PORF);
                }
            }
        }
        let (hb, rest) = clocks.split_at_mut(width);
        let (porf, rest) = rest.split_at_mut(width);
        let (message, rest) = rest.split_at_mut(width);
        let (pending, fenced) = rest.split_at_mut(width);
        match event.act {
            Act::Read { from, .. } => {
                if let Source::Write(write) = from {
                    self.join_event(porf, write, PORF);
                    if event.order.is_atomic() {
                        let learned = self.clock(write, MESSAGE).0;
                        if event.order.acquires() {
                            clocks::join(hb, learned);
                        }
                        clocks::join(pending, learned);
                    }
                }
                // All readers have released the mutex.
                if self.census.shares > 0
                    && let Label::Lock(at) = event.label
                {
                    for share in self.sharers(at, from).filter_map(|share| self.end_of_share(share))
                    {
                        self.join_event(porf, share, PORF);
                        self.join_event(hb, share, HB);
                    }
                }
            }
            Act::Write { updating, .. } if event.order.is_atomic() => {
                message.copy_from_slice(fenced);
                if event.order.releases() {
                    clocks::join(message, hb);
                    clocks::add(message, id);
                }
                if updating
                    && let Some(Source::Write(write)) = self.last(id.thread).and_then(Event::source)
                {
                    clocks::join(message, self.clock(write, MESSAGE).0);
                }
            }
            Act::Fence => {
                if event.order.acquires() {
                    clocks::join(hb, pending);
                }
                if event.order.releases() {
                    fenced.copy_from_slice(hb);
                    clocks::add(fenced, id);
                }
            }
            Act::Join(child) => {
                let end = self.next_of(child);
                let end = match end.nth.checked_sub(1) {
                    Some(nth) => Some(EventId { nth, ..end }),
                    None => self.threads[child.index()].spawned,
                };
                if let Some(end) = end {
                    self.join_event(hb, end, HB);
                    self.join_event(porf, end, PORF);
                }
            }
            _ => {}
        }
        debug_assert_eq!([HB, PORF, MESSAGE, PENDING, FENCED], [0, 1, 2, 3, 4]);
        self.threads[id.thread.index()].clocks.extend_from_slice(&clocks);
        self.scratch = clocks;
    }
}
