//! The threads to explore from a state: a backtrack set, and how much of it is done.

use selvedge_core::{Step, System, ThreadId};
use smallvec::{SmallVec, smallvec};

use crate::search::run::Run;

/// A backtrack set.
pub(crate) struct Frontier {
    /// The threads to explore, in the order in which they were asked for.
    pub(crate) threads: SmallVec<[ThreadId; 4]>,
    /// How many of them are done.
    done: usize,
    /// How many alternatives of the next one are done.
    choices_done: u32,
}

impl FromIterator<ThreadId> for Frontier {
    /// Begins with these threads.
    fn from_iter<I: IntoIterator<Item = ThreadId>>(threads: I) -> Self {
        Self { threads: threads.into_iter().collect(), done: 0, choices_done: 0 }
    }
}

impl Frontier {
    /// Begins with one thread.
    pub(crate) fn new(first: ThreadId) -> Self {
        Self { threads: smallvec![first], done: 0, choices_done: 0 }
    }

    /// Begins with threads of which so many are done, and so many alternatives of the next one.
    pub(crate) fn begun(
        threads: impl Iterator<Item = ThreadId>,
        done: usize,
        choices_done: u32,
    ) -> Self {
        Self { threads: threads.collect(), done, choices_done }
    }

    /// Returns the threads that are left by their places, each with the first of its alternatives that is.
    pub(crate) fn left(&self) -> impl Iterator<Item = (usize, u32)> {
        let first = self.done;
        let choice = move |place| if place == first { self.choices_done } else { 0 };
        (first..self.threads.len()).map(move |place| (place, choice(place)))
    }

    /// Leaves the rest to others.
    pub(crate) fn close(&mut self) {
        (self.done, self.choices_done) = (self.threads.len(), 0);
    }

    /// Adds all threads that are enabled. The run is in the state.
    pub(crate) fn expand<S: System>(&mut self, run: &Run<'_, S>) {
        for thread in run.threads().filter(|&thread| run.is_enabled(thread)) {
            if !self.threads.contains(&thread) {
                self.threads.push(thread);
            }
        }
    }

    /// Returns whether something is left.
    pub(crate) fn has_more(&self) -> bool {
        self.threads.len() > self.done
    }

    /// Returns the next step, also if it sleeps. The run is in the state.
    pub(crate) fn next<S: System>(&mut self, run: &mut Run<'_, S>) -> Option<Step> {
        loop {
            let &thread = self.threads.get(self.done)?;
            let within = run.is_within_preemptions(thread);
            if !within {
                run.note_preemption_cut(false);
            }
            let choices = if within { run.system.choices(thread) } else { 0 };
            let choice = self.choices_done;
            self.choices_done += 1;
            if self.choices_done >= choices {
                self.done += 1;
                self.choices_done = 0;
            }
            if choice < choices {
                return Some(Step { thread, choice });
            }
        }
    }

    /// Removes what is left.
    pub(crate) fn clear(&mut self) {
        self.threads.truncate(self.done);
        self.choices_done = 0;
    }

    /// Returns how many threads were begun, and how many there are.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done + usize::from(self.choices_done > 0), self.threads.len())
    }
}
