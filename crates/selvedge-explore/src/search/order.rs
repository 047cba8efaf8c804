//! The order of threads: by their names, so that it is the same in every process. Their numbers depend on what a system
//! has run before.

use selvedge_core::{System, ThreadId, ThreadKey};

/// The threads that a system knows, in order.
#[derive(Default)]
pub(crate) struct Order {
    /// In order.
    sorted: Vec<(ThreadKey, ThreadId)>,
    /// The same without their names.
    ids: Vec<ThreadId>,
    /// Which of them each thread is, by its number.
    places: Vec<usize>,
}

impl Order {
    /// Adds the threads that the system has met since the last time; returns whether there are any. The others keep their
    /// order.
    #[inline]
    pub(crate) fn update<S: System>(&mut self, system: &S) -> bool {
        let is_new = system.thread_count() > self.places.len();
        if is_new {
            self.add_new(system);
        }
        is_new
    }

    #[cold]
    fn add_new<S: System>(&mut self, system: &S) {
        for thread in (self.places.len()..system.thread_count()).map(ThreadId::new) {
            self.sorted.push((system.thread_key(thread), thread));
        }
        self.sorted.sort();
        self.ids = self.sorted.iter().map(|(_, thread)| *thread).collect();
        self.places.resize(self.sorted.len(), 0);
        for (place, (_, thread)) in self.sorted.iter().enumerate() {
            self.places[thread.index()] = place;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the threads in order.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.ids.iter().copied()
    }

    /// Returns the threads in the opposite order, from a place on and around.
    #[inline]
    pub(crate) fn back_from(&self, place: usize) -> impl Iterator<Item = ThreadId> {
        let (before, after) = self.ids.split_at(self.ids.len().min(place + 1));
        before.iter().rev().chain(after.iter().rev()).copied()
    }

    /// Returns the thread at a place.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> ThreadId {
        self.ids[place]
    }

    /// Returns the place of a thread.
    #[inline]
    pub(crate) fn place(&self, thread: ThreadId) -> usize {
        self.places[thread.index()]
    }

    /// Returns the names of all threads.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ThreadKey> {
        self.sorted.iter().map(|(name, _)| name)
    }
}
