//! The unfolding of a program: its events with their causes, each stored once.
//!
//! An event of the unfolding is a step together with its *history*, all that happened before it. It
//! stands for that step in every execution in which the same happened before it. The history is
//! known from its maximal events: the previous event of the thread, and the immediate predecessors in
//! other threads. These name the event; the same name gives the same event again (*hash-consing*).
//!
//! | paper | here |
//! |---|---|
//! | `⟨a, H⟩` | [`Name`] |
//! | `[e]` | [`Unfolding::is_before`], from `tmax` |
//! | thread tree | one [`Forest`] for all threads; the node of an event has its number |
//! | lock tree | `objects.rs`: a tree for every object, in which commuting accesses are one node |
//! | `tmax`, `lmax` | [`Unfolding::latest`]; `maxima.rs`, for the events that need it: `places.rs` |
//! | `e < e'`, `e # e'` | [`Unfolding::is_before`], [`Unfolding::are_in_conflict`] |
//!
//! Invariants, recomputed from the definitions in the tests:
//! 1. causes have lower numbers than what they cause;
//! 2. `a` is before `b` exactly if it is in the history of `b`;
//! 3. `a` and `b` are in conflict exactly if their histories, with themselves, contain two dependent
//!    events neither of which is in the history of the other.

use selvedge_core::{Access, Step, ThreadId};

mod forest;
mod maxima;
mod objects;
mod places;
mod rows;
mod table;
mod touched;

pub(crate) use forest::DISTANCES;
use forest::{Forest, NodeRef};
use places::Places;
use rows::Rows;
pub(crate) use table::Table;
use table::hash;
pub(crate) use touched::Touched;

/// An event of the unfolding: also a node of its thread's tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct EventRef(NodeRef);

impl EventRef {
    #[inline]
    fn of_index(index: usize) -> Self {
        Self(NodeRef::of_index(index))
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0.index()
    }

    #[inline]
    fn number(self) -> u32 {
        self.index() as u32
    }

    /// For hash tables.
    #[inline]
    pub(crate) fn hash(self) -> u32 {
        hash([self.number()])
    }
}

/// What names an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    pub(crate) step: Step,
    /// The event of the thread before it.
    pub(crate) previous: Option<EventRef>,
    /// The immediate predecessors in other threads, ascending.
    pub(crate) predecessors: &'a [EventRef],
}

impl Name<'_> {
    #[inline]
    fn hash(&self) -> u32 {
        let Step { thread, choice } = self.step;
        let previous = self.previous.map_or(0, |previous| previous.number() + 1);
        let first = [thread.number() ^ choice << 16, previous];
        hash(first.into_iter().chain(self.predecessors.iter().map(|event| event.number())))
    }
}

#[derive(Clone, Copy, Debug)]
struct EventRecord {
    step: Step,
    touched: Touched,
}

/// All events that are known.
#[derive(Debug)]
pub(crate) struct Unfolding {
    events: Vec<EventRecord>,
    by_name: Table,
    threads: Forest,
    /// Of each event: its immediate predecessors in other threads, its accesses, and `tmax`.
    predecessors: Rows<EventRef>,
    accesses: Rows<Access>,
    latest: Rows<Option<EventRef>>,
    places: Places,
    /// Events that must get their places: a buffer.
    unplaced: Vec<EventRef>,
    /// The `tmax` of the event that is being added.
    row: Vec<Option<EventRef>>,
    /// What the trees look like, if statistics are requested.
    statistics: Option<Box<TreeStatistics>>,
}

/// What the trees look like, with all that was dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeStatistics {
    pub(crate) events: usize,
    pub(crate) most_events: usize,
    pub(crate) prunings: usize,
    pub(crate) threads: Depths,
    pub(crate) objects: Depths,
}

/// Depths of some trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depths {
    pub(crate) nodes: usize,
    /// Of the depths of all nodes.
    pub(crate) sum: u64,
    /// The greatest depth of each tree.
    pub(crate) deepest: Vec<u32>,
}

impl Depths {
    fn count(&mut self, tree: usize, depth: u32) {
        self.nodes += 1;
        self.sum += u64::from(depth);
        if self.deepest.len() <= tree {
            self.deepest.resize(tree + 1, 0);
        }
        self.deepest[tree] = self.deepest[tree].max(depth);
    }
}

impl Unfolding {
    /// Returns the empty one. `step`: that of the skip pointers.
    pub(crate) fn new(step: u32) -> Self {
        Self {
            events: Vec::new(),
            by_name: Table::default(),
            threads: Forest::new(step),
            predecessors: Rows::new(),
            accesses: Rows::new(),
            latest: Rows::new(),
            places: Places::new(step),
            unplaced: Vec::new(),
            row: Vec::new(),
            statistics: None,
        }
    }

    /// Collects statistics from now on.
    pub(crate) fn collect_statistics(&mut self) {
        self.statistics = Some(Box::default());
        self.threads.count_distances();
        self.places.objects.forest_mut().count_distances();
    }

    /// Returns what the trees look like. Only objects that were accessed have a tree.
    pub(crate) fn tree_statistics(&self) -> TreeStatistics {
        let mut statistics = self.statistics.as_deref().cloned().unwrap_or_default();
        statistics.threads.deepest.retain(|&depth| depth > 0);
        statistics.objects.deepest.retain(|&depth| depth > 0);
        statistics
    }

    /// Returns how many queries had which distance, by powers of two: in thread trees and in object trees.
    pub(crate) fn distances(&self) -> (Vec<u64>, Vec<u64>) {
        (self.threads.distances(), self.places.objects.forest().distances())
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    #[inline]
    pub(crate) fn step(&self, event: EventRef) -> Step {
        self.events[event.index()].step
    }

    #[inline]
    pub(crate) fn thread(&self, event: EventRef) -> ThreadId {
        self.step(event).thread
    }

    /// Returns how many events are in its history, with itself: more than in the history of any of them.
    pub(crate) fn size(&self, event: EventRef) -> u32 {
        self.latest(event).iter().flatten().map(|&other| self.depth(other)).sum()
    }

    /// Returns the event of the thread before it.
    #[inline]
    fn previous(&self, event: EventRef) -> Option<EventRef> {
        self.threads.parent(event.0).map(EventRef)
    }

    /// Returns how many events of its thread there are up to it.
    #[inline]
    fn depth(&self, event: EventRef) -> u32 {
        self.threads.depth(event.0)
    }

    /// Returns the immediate predecessors in other threads.
    fn predecessors(&self, event: EventRef) -> &[EventRef] {
        self.predecessors.get(event.index())
    }

    #[inline]
    fn accesses(&self, event: EventRef) -> &[Access] {
        self.accesses.get(event.index())
    }

    /// `tmax`: the last event of each thread in the history of `event`, with itself.
    #[inline]
    fn latest(&self, event: EventRef) -> &[Option<EventRef>] {
        self.latest.get(event.index())
    }

    /// `tmax` of one thread.
    #[inline]
    fn latest_of(&self, event: EventRef, thread: ThreadId) -> Option<EventRef> {
        self.latest(event).get(thread.index()).copied().flatten()
    }

    /// Returns the event with this name, which touches what `accesses` say.
    pub(crate) fn event(&mut self, name: Name<'_>, accesses: &[Access]) -> EventRef {
        let hash = name.hash();
        let found = self.by_name.find(hash, |index| {
            let event = EventRef::of_index(index);
            self.events[index].step == name.step
                && self.previous(event) == name.previous
                && self.predecessors(event) == name.predecessors
        });
        match found {
            Some(index) => EventRef::of_index(index),
            None => {
                self.by_name.insert(hash, self.events.len());
                self.add(name, accesses)
            }
        }
    }

    fn add(&mut self, name: Name<'_>, accesses: &[Access]) -> EventRef {
        let event = EventRef::of_index(self.events.len());
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let mut causes = name.previous.into_iter().chain(name.predecessors.iter().copied());
        row.extend_from_slice(causes.next().map_or(&[], |first| self.latest(first)));
        causes.for_each(|cause| self.join_latest(&mut row, cause));
        let thread = name.step.thread.index();
        if row.len() <= thread {
            row.resize(thread + 1, None);
        }
        row[thread] = Some(event);
        let touched = Touched::by(name.step.thread, accesses);
        self.events.push(EventRecord { step: name.step, touched });
        self.predecessors.push_row(name.predecessors);
        self.accesses.push_row(accesses);
        self.latest.push_row(&row);
        self.row = row;
        self.threads.push(name.previous.map(|previous| previous.0));
        if self.statistics.is_some() {
            self.count_nodes(event);
        }
        event
    }

    /// Assigns an event its places in the object trees, unless it has them.
    #[inline]
    fn place(&mut self, event: EventRef) {
        if !self.places.has(event) {
            self.place_after_causes(event);
        }
    }

    fn place_after_causes(&mut self, event: EventRef) {
        let mut unplaced = std::mem::take(&mut self.unplaced);
        unplaced.push(event);
        while let Some(&event) = unplaced.last() {
            let causes = || {
                let others = self.predecessors.get(event.index()).iter().copied();
                self.threads.parent(event.0).map(EventRef).into_iter().chain(others)
            };
            let known = unplaced.len();
            unplaced.extend(causes().filter(|&cause| !self.places.has(cause)));
            if unplaced.len() > known {
                continue;
            }
            unplaced.pop();
            if !self.places.has(event) {
                self.places.add(event, causes(), self.accesses.get(event.index()));
            }
        }
        self.unplaced = unplaced;
    }

    #[cold]
    fn count_nodes(&mut self, event: EventRef) {
        self.place(event);
        let Some(mut statistics) = self.statistics.take() else { return };
        statistics.events += 1;
        statistics.most_events = statistics.most_events.max(self.events.len());
        statistics.threads.count(self.thread(event).index(), self.depth(event));
        for (access, &place) in self.accesses(event).iter().zip(self.places.of(event)) {
            let depth = self.places.objects.forest().depth(place);
            statistics.objects.count(access.object.index(), depth);
        }
        self.statistics = Some(statistics);
    }

    fn join_latest(&self, row: &mut Vec<Option<EventRef>>, predecessor: EventRef) {
        let other = self.latest(predecessor);
        row.resize(row.len().max(other.len()), None);
        for (mine, &theirs) in row.iter_mut().zip(other) {
            *mine = match (*mine, theirs) {
                (Some(a), Some(b)) if a != b && self.depth(a) < self.depth(b) => theirs,
                (None, _) => theirs,
                _ => continue,
            };
        }
    }

    /// Returns whether `a` is in the history of `b`, or is `b`.
    #[inline]
    pub(crate) fn is_before(&self, a: EventRef, b: EventRef) -> bool {
        let latest = self.latest_of(b, self.thread(a));
        latest.is_some_and(|latest| self.threads.is_ancestor(a.0, latest.0))
    }

    /// Returns whether no execution contains both.
    pub(crate) fn are_in_conflict(&mut self, a: EventRef, b: EventRef) -> bool {
        let threads = self.latest(a).iter().zip(self.latest(b));
        let mut threads = threads.filter_map(|(a, b)| Some(((*a)?, (*b)?)));
        if threads.any(|(a, b)| !self.threads.are_comparable(a.0, b.0)) {
            return true;
        }
        self.place(a);
        self.place(b);
        !self.places.are_compatible(a, b)
    }

    /// Returns whether no execution contains both. All that is before `new` is compatible with `event`. So only
    /// the thread and the objects of `new` need to be examined, and of these only what `event` knows
    /// of them from the place just before `new` on.
    #[inline]
    pub(crate) fn excludes(&mut self, new: EventRef, event: EventRef) -> bool {
        let (thread, depth) = (self.thread(new), self.depth(new));
        if let Some(latest) = self.latest_of(event, thread)
            && self.depth(latest) >= depth
        {
            return self.threads.ancestor(latest.0, depth) != new.0;
        }
        // It is not before `event`. Mostly they clash themselves.
        if self.depends_on(event, thread, self.accesses(new)) {
            return !self.is_before(event, new);
        }
        self.excludes_history(new, event)
    }

    /// As [`Unfolding::excludes`], with the history of `event` in mind.
    fn excludes_history(&mut self, new: EventRef, event: EventRef) -> bool {
        self.place(new);
        self.place(event);
        let mut accesses = self.accesses(new).iter().zip(self.places.of(new));
        accesses.any(|(&access, &place)| {
            let known = self.places.known(event, access);
            known.is_some_and(|known| !self.places.objects.can_continue(known, place))
        })
    }

    /// Returns whether an event and a step of `thread` with these accesses, both enabled, cannot be swapped.
    #[inline]
    pub(crate) fn depends_on(
        &self,
        event: EventRef,
        thread: ThreadId,
        accesses: &[Access],
    ) -> bool {
        let clash = |mine: &Access| accesses.iter().any(|&access| mine.dependent(access));
        self.thread(event) == thread || self.accesses(event).iter().any(clash)
    }

    /// Calls `each` with the events of `event`'s history, and itself, that come after the steps that each
    /// thread has taken.
    pub(crate) fn for_each_after(
        &self,
        taken: &[u32],
        event: EventRef,
        mut each: impl FnMut(EventRef),
    ) {
        for (thread, latest) in self.latest(event).iter().enumerate() {
            let taken = taken.get(thread).copied().unwrap_or(0);
            let all = std::iter::successors(*latest, |&event| self.previous(event));
            all.take_while(|&event| self.depth(event) > taken).for_each(&mut each);
        }
    }

    /// Returns what the event touches.
    #[inline]
    pub(crate) fn touched(&self, event: EventRef) -> Touched {
        self.events[event.index()].touched
    }

    /// Returns what the event and its history touch after the steps that each thread has taken.
    pub(crate) fn touched_after(&self, taken: &[u32], event: EventRef) -> Touched {
        let mut touched = self.touched(event);
        self.for_each_after(taken, event, |other| touched = touched.and(self.touched(other)));
        touched
    }

    /// Forgets all events but `roots` and what is before them. Returns the new name of each event.
    pub(crate) fn retain(
        &mut self,
        roots: impl Iterator<Item = EventRef>,
    ) -> Vec<Option<EventRef>> {
        let keep = self.with_causes(roots);
        let names: Vec<Option<EventRef>> =
            self.threads.retain(&keep).into_iter().map(|name| name.map(EventRef)).collect();
        let rename = |event: &mut EventRef| {
            *event = names[event.index()].expect("internal error: a cause was dropped");
        };
        rows::retain(&mut self.events, &keep);
        self.predecessors.retain(&keep);
        self.predecessors.items_mut().iter_mut().for_each(rename);
        self.latest.retain(&keep);
        self.latest.items_mut().iter_mut().flatten().for_each(rename);
        self.accesses.retain(&keep);
        self.places.retain(&keep, &names);
        if let Some(statistics) = &mut self.statistics {
            statistics.prunings += 1;
        }
        self.by_name.clear();
        for index in 0..self.events.len() {
            let event = EventRef::of_index(index);
            let (step, previous) = (self.step(event), self.previous(event));
            let name = Name { step, previous, predecessors: self.predecessors(event) };
            self.by_name.insert(name.hash(), index);
        }
        names
    }

    /// Returns which events are roots or before one.
    fn with_causes(&self, roots: impl Iterator<Item = EventRef>) -> Vec<bool> {
        let mut keep = vec![false; self.events.len()];
        roots.for_each(|root| keep[root.index()] = true);
        for index in (0..keep.len()).rev() {
            if keep[index] {
                let event = EventRef::of_index(index);
                let previous = self.previous(event);
                for &cause in previous.iter().chain(self.predecessors(event)) {
                    keep[cause.index()] = true;
                }
            }
        }
        keep
    }
}

#[cfg(test)]
mod tests;
