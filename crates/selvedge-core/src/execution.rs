//! One execution with its happens-before relation.
//!
//! *Happens-before* is the smallest partial order that contains program order and, for every two
//! dependent events, their order in the execution. Starts, ends, wake-ups and messages are accesses
//! to objects of their own, so no further rule is needed. Every event has a vector clock;
//! `a` happens before `b` is one comparison.
//!
//! The history of an object is a sequence of *epochs*: maximal runs of accesses that commute with
//! each other (the reads between two writes; a single write). An access depends on the epoch below
//! its own and, through that, on all earlier ones. Epochs are chains of links between accesses, so
//! that removing the last event costs as much as adding it.
//!
//! An explorer may find that two dependent events commute where they are, and leave the edge between them out
//! ([`Execution::push_with`]). From then on an epoch does not stand for those below it, and every event
//! looks at the whole history of its objects.

use crate::dependence::{commute, dependent};
use crate::ids::{EventId, ObjectId, Position, ThreadId, narrow};
use crate::op::{Access, Footprint};
use crate::order::Order;
use crate::system::{Effect, Elsewhere, Flexibility, Step};

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Thread, and index within that thread.
    pub id: EventId,
    /// Which alternative it took.
    pub choice: u32,
    /// Of how many.
    pub choices: u32,
    /// What must be determined again if it runs in another state.
    pub flexibility: Flexibility,
    /// What it may touch in another state.
    pub elsewhere: Elsewhere,
    /// The memory ordering of its reads and writes, or of a fence: see [`Effect::order`].
    pub order: Option<Order>,
    /// Where its accesses begin; they end where the next event's begin.
    first_access: u32,
    /// Where its immediate predecessors begin.
    first_predecessor: u32,
}

impl Event {
    /// Whose event.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.id.thread
    }

    /// Returns the step: the choice of the scheduler.
    #[inline]
    pub fn step(&self) -> Step {
        Step { thread: self.id.thread, choice: self.choice }
    }
}

/// Clocks are a multiple of so many numbers long.
const LANES: usize = 4;

/// Index of an access in [`Execution::accesses`].
type AccessIndex = u32;

/// The links of an access in the history of its object.
#[derive(Clone, Copy, Debug)]
struct Link {
    event: Position,
    /// The previous access of the same epoch.
    peer: Option<AccessIndex>,
    /// The last access of the epoch below.
    below: Option<AccessIndex>,
}

/// A sequence of events from the initial state.
///
/// Invariants (recomputed from the definitions in the tests of this crate and of the test kit):
/// 1. `clock(e)[t]` is the number of events of `t` that happen before `e` or are `e`;
/// 2. the immediate predecessors of `e` are exactly the events of other threads that are dependent
///    with `e` and before it, with no third event between them in happens-before;
/// 3. `heads[o]` is the last access to `o`, and following `peer` and `below` gives all others.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    events: Vec<Event>,
    steps: Vec<Step>,
    accesses: Vec<Access>,
    links: Vec<Link>,
    predecessors: Vec<Position>,
    /// Clock of event `i` at `i * stride`.
    clocks: Vec<u32>,
    stride: usize,
    threads: Vec<Vec<Position>>,
    heads: Vec<Option<AccessIndex>>,
    /// Candidates for predecessors while an event is added.
    candidates: Vec<Position>,
    /// The first event that was added with other edges than its accesses tell.
    relaxed_from: Option<Position>,
    /// What an event touches when it runs after some that it is not ordered with: the event, the one that
    /// depends on it then, and the accesses.
    elsewhere: Vec<(Position, Position, Vec<Access>)>,
}

/// How an event is ordered other than its accesses tell.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    /// Events that it depends on, without an edge from them.
    pub left_out: Vec<Position>,
    /// Events that happen before it although it does not depend on them, and cannot come before them.
    pub causes: Vec<Position>,
    /// Events that it depends on in the way in which they act after what happens before it. They become
    /// predecessors, but do not happen before it as they are.
    pub elsewhere: Vec<(Position, Footprint)>,
}

impl Edges {
    fn is_empty(&self) -> bool {
        self.left_out.is_empty() && self.causes.is_empty() && self.elsewhere.is_empty()
    }
}

impl Execution {
    /// Returns the empty execution.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the event at `position`.
    #[inline]
    pub fn event(&self, position: Position) -> &Event {
        &self.events[position.index()]
    }

    /// Returns all events in order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the steps in order.
    #[inline]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns all positions in order.
    pub fn positions(
        &self,
    ) -> impl DoubleEndedIterator<Item = Position> + ExactSizeIterator + use<> {
        (0..self.events.len()).map(Position::new)
    }

    /// Returns what the event touched.
    #[inline]
    pub fn accesses(&self, position: Position) -> &[Access] {
        let first = self.event(position).first_access as usize;
        let next = self.events.get(position.index() + 1);
        &self.accesses[first..next.map_or(self.accesses.len(), |event| event.first_access as usize)]
    }

    /// Returns the events of other threads that the event depends on with no third one in between.
    #[inline]
    pub fn predecessors(&self, position: Position) -> &[Position] {
        let first = self.event(position).first_predecessor as usize;
        let next = self.events.get(position.index() + 1);
        let end = next.map_or(self.predecessors.len(), |event| event.first_predecessor as usize);
        &self.predecessors[first..end]
    }

    /// Returns the clock of the event: for each thread, how many of its events happen before it or are it.
    #[inline]
    pub fn clock(&self, position: Position) -> &[u32] {
        &self.clocks[position.index() * self.stride..][..self.stride]
    }

    /// Returns whether `a` happens before `b`, or is it.
    #[inline]
    pub fn happens_before(&self, a: Position, b: Position) -> bool {
        let id = self.event(a).id;
        self.clocks[b.index() * self.stride + id.thread.index()] > id.nth
    }

    /// Returns the positions of the events of `thread`, in order.
    #[inline]
    pub fn of_thread(&self, thread: ThreadId) -> &[Position] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the threads that may have events: all that have are among them.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::new)
    }

    /// Returns the last event of `thread`.
    #[inline]
    pub fn last_of(&self, thread: ThreadId) -> Option<Position> {
        self.of_thread(thread).last().copied()
    }

    /// Returns the event of the same thread just before `position`.
    pub fn previous_of_thread(&self, position: Position) -> Option<Position> {
        let id = self.event(position).id;
        (id.nth > 0).then(|| self.threads[id.thread.index()][id.nth as usize - 1])
    }

    /// Returns the accesses to `object` before `position`, latest first, each with its event.
    pub fn history(
        &self,
        object: ObjectId,
        before: Position,
    ) -> impl Iterator<Item = (Position, Access)> + '_ {
        let mut next = self.heads.get(object.index()).copied().flatten();
        std::iter::from_fn(move || {
            let index = next?;
            let link = &self.links[index as usize];
            next = link.peer.or(link.below);
            Some((link.event, self.accesses[index as usize]))
        })
        .skip_while(move |&(event, _)| event >= before)
    }

    /// Returns the accesses to the object of the event's `nth` access that come before it, latest first, each with
    /// its event. As [`history`](Self::history), without a walk over what comes later.
    #[inline]
    pub fn history_of_access(
        &self,
        position: Position,
        nth: usize,
    ) -> impl Iterator<Item = (Position, Access)> + '_ {
        let link = &self.links[self.event(position).first_access as usize + nth];
        let mut next = link.peer.or(link.below);
        std::iter::from_fn(move || {
            let index = next?;
            let link = &self.links[index as usize];
            next = link.peer.or(link.below);
            Some((link.event, self.accesses[index as usize]))
        })
    }

    /// Returns the accesses that the event's `nth` access depends on: those to its object before it with which it does
    /// not commute, latest first, each with its event.
    #[inline]
    pub fn dependences(
        &self,
        position: Position,
        nth: usize,
    ) -> impl Iterator<Item = (Position, Access)> + '_ {
        let index = self.event(position).first_access as usize + nth;
        let mode = self.accesses[index].mode;
        let mut next = self.links[index].below;
        std::iter::from_fn(move || {
            let mut index = next?;
            if commute(self.accesses[index as usize].mode, mode) {
                // The whole epoch commutes with it, and so the one below does not.
                index = self.links[index as usize].below?;
            }
            let link = &self.links[index as usize];
            next = link.peer.or(link.below);
            Some((link.event, self.accesses[index as usize]))
        })
    }

    /// Returns whether edges are left out.
    #[inline]
    pub fn is_relaxed(&self) -> bool {
        self.relaxed_from.is_some()
    }

    /// Adds the event that `step` was.
    #[inline]
    pub fn push(&mut self, step: Step, effect: &Effect) {
        if self.is_relaxed() {
            return self.push_with(step, effect, &Edges::default());
        }
        let (position, base) = self.start_event(step, effect);
        match effect.footprint.accesses() {
            [] => {}
            // One chain comes in descending order by itself.
            &[access] => {
                let mut next = self.add_access(position, access);
                while let Some(index) = next {
                    let link = self.links[index as usize];
                    self.add_predecessor(base, link.event);
                    next = link.peer;
                }
            }
            accesses => {
                for &access in accesses {
                    let mut next = self.add_access(position, access);
                    while let Some(index) = next {
                        let link = self.links[index as usize];
                        self.candidates.push(link.event);
                        next = link.peer;
                    }
                }
                self.add_predecessors(base, &[]);
            }
        }
        self.finish_event(step.thread, position, base);
    }

    /// Adds the event that `step` was, ordered as `edges` say.
    pub fn push_with(&mut self, step: Step, effect: &Effect, edges: &Edges) {
        if edges.is_empty() && !self.is_relaxed() {
            return self.push(step, effect);
        }
        let (position, base) = self.start_event(step, effect);
        if !edges.is_empty() {
            self.relaxed_from.get_or_insert(position);
        }
        for &cause in &edges.causes {
            self.join_clock(base, cause);
        }
        for &access in effect.footprint.accesses() {
            self.add_access(position, access);
            let conflicts: Vec<Position> = self
                .history(access.object, position)
                .filter(|(_, other)| !commute(other.mode, access.mode))
                .map(|(event, _)| event)
                .collect();
            self.candidates.extend(conflicts);
        }
        self.add_predecessors(base, &edges.left_out);
        for (event, footprint) in &edges.elsewhere {
            self.predecessors.push(*event);
            self.elsewhere.push((*event, position, footprint.accesses().to_vec()));
        }
        self.finish_event(step.thread, position, base);
    }

    /// Returns whether a step with these accesses depends on the event, or on it as it acts elsewhere.
    pub fn depends_on(&self, accesses: &[Access], event: Position) -> bool {
        let mut elsewhere = self.elsewhere.iter().filter(|(other, ..)| *other == event);
        dependent(accesses, self.accesses(event))
            || elsewhere.any(|(.., others)| dependent(accesses, others))
    }

    /// Adds the event with the clock of its thread before it. Returns where it and its clock stand.
    #[inline(always)]
    fn start_event(&mut self, step: Step, effect: &Effect) -> (Position, usize) {
        let thread = step.thread;
        self.make_room_for(thread);
        let position = Position::new(self.events.len());
        let nth = narrow(self.threads[thread.index()].len());
        self.events.push(Event {
            id: EventId { thread, nth },
            choice: step.choice,
            choices: effect.choices,
            flexibility: effect.flexibility,
            elsewhere: effect.elsewhere,
            order: effect.order,
            first_access: narrow(self.accesses.len()),
            first_predecessor: narrow(self.predecessors.len()),
        });
        self.steps.push(step);
        let base = self.clocks.len();
        match self.threads[thread.index()].last() {
            Some(previous) => {
                let start = previous.index() * self.stride;
                // In pieces of a known size: mostly there is one.
                for nth in 0..self.stride / LANES {
                    let mut piece = [0; LANES];
                    piece.copy_from_slice(&self.clocks[start + nth * LANES..][..LANES]);
                    self.clocks.extend_from_slice(&piece);
                }
            }
            None => self.clocks.resize(base + self.stride, 0),
        }
        (position, base)
    }

    #[inline(always)]
    fn finish_event(&mut self, thread: ThreadId, position: Position, base: usize) {
        // All indices of its accesses were narrow enough if the next one is.
        narrow(self.accesses.len());
        self.clocks[base + thread.index()] = narrow(self.threads[thread.index()].len() + 1);
        self.threads[thread.index()].push(position);
    }

    /// Removes all events from position `len` on.
    pub fn truncate(&mut self, len: usize) {
        let Some(first) = self.events.get(len) else { return };
        let (accesses, predecessors) = (first.first_access, first.first_predecessor);
        for index in (accesses as usize..self.accesses.len()).rev() {
            let link = self.links[index];
            self.heads[self.accesses[index].object.index()] = link.peer.or(link.below);
        }
        for event in &self.events[len..] {
            self.threads[event.id.thread.index()].pop();
        }
        self.events.truncate(len);
        self.steps.truncate(len);
        self.accesses.truncate(accesses as usize);
        self.links.truncate(accesses as usize);
        self.predecessors.truncate(predecessors as usize);
        self.clocks.truncate(len * self.stride);
        if self.relaxed_from.is_some_and(|first| first.index() >= len) {
            self.relaxed_from = None;
        }
        while self.elsewhere.last().is_some_and(|(_, by, _)| by.index() >= len) {
            self.elsewhere.pop();
        }
    }

    /// Links the access into its object's history. Returns the last access of the epoch below.
    #[inline(always)]
    fn add_access(&mut self, event: Position, access: Access) -> Option<AccessIndex> {
        let object = access.object.index();
        if self.heads.len() <= object {
            self.heads.resize(object + 1, None);
        }
        let head = self.heads[object];
        let link = match head {
            Some(last) if commute(self.accesses[last as usize].mode, access.mode) => {
                Link { event, peer: head, below: self.links[last as usize].below }
            }
            _ => Link { event, peer: None, below: head },
        };
        self.heads[object] = Some(self.accesses.len() as AccessIndex);
        self.accesses.push(access);
        self.links.push(link);
        link.below
    }

    /// Joins the clock of `candidate` into the clock at `base`, unless that contains it already.
    /// Candidates come latest first: an event between `candidate` and the new one was joined before.
    #[inline]
    fn add_predecessor(&mut self, base: usize, candidate: Position) {
        let id = self.events[candidate.index()].id;
        if self.clocks[base + id.thread.index()] > id.nth {
            return;
        }
        self.predecessors.push(candidate);
        self.join_clock(base, candidate);
    }

    /// Adds those of the candidates that are not left out and not known already.
    fn add_predecessors(&mut self, base: usize, left_out: &[Position]) {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        for candidate in candidates.drain(..) {
            if !left_out.contains(&candidate) {
                self.add_predecessor(base, candidate);
            }
        }
        self.candidates = candidates;
    }

    #[inline]
    fn join_clock(&mut self, base: usize, event: Position) {
        let (before, new) = self.clocks.split_at_mut(base);
        let other = &before[event.index() * self.stride..][..self.stride];
        let (mine, theirs) = (new.as_chunks_mut::<LANES>().0, other.as_chunks::<LANES>().0);
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = std::array::from_fn(|i| mine[i].max(theirs[i]));
        }
    }

    #[inline]
    fn make_room_for(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.make_room(thread.index() + 1);
        }
    }

    #[cold]
    fn make_room(&mut self, needed: usize) {
        self.threads.resize_with(needed, Vec::new);
        if self.stride < needed {
            let stride = needed.next_power_of_two().max(LANES);
            let mut clocks = Vec::with_capacity(stride * self.events.len().max(16));
            for event in 0..self.events.len() {
                clocks.extend_from_slice(&self.clocks[event * self.stride..][..self.stride]);
                clocks.resize((event + 1) * stride, 0);
            }
            (self.clocks, self.stride) = (clocks, stride);
        }
    }
}

#[cfg(test)]
mod tests;
