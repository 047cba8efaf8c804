//! `--tree`: a search whose executions are recorded.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use selvedge_core::{Bound, Describe, Ending, Step, System, ThreadId, forward_system};
use selvedge_explore::{Ended, Observer, Progress};
use selvedge_report::{Leaf, Tree};

use crate::progress::Watch;

/// Observes a search and records its executions.
pub(crate) struct Recorder<'a> {
    watch: &'a mut Watch,
    tree: Tree,
    names: Rc<RefCell<Vec<String>>>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(watch: &'a mut Watch) -> Self {
        Self { watch, tree: Tree::default(), names: Rc::default() }
    }

    /// Returns what makes systems whose threads the tree can name.
    pub(crate) fn naming<S, F>(&self, make: F) -> impl Fn() -> Named<S> + use<S, F>
    where
        S: Describe,
        F: Fn() -> S,
    {
        let names = Rc::clone(&self.names);
        move || Named { system: make(), names: Rc::clone(&names) }
    }

    /// Returns the executions of the search, which is over.
    pub(crate) fn into_tree(mut self) -> Tree {
        self.tree.threads = self.names.take();
        self.tree
    }
}

impl Observer for Recorder<'_> {
    fn begins(&mut self) {
        self.tree.clear();
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        let leaf = match how {
            Ended::Violated => Leaf::Violated,
            Ended::Maximal(Ending::Complete) => Leaf::Complete,
            Ended::Maximal(Ending::Deadlocked) => Leaf::Deadlocked,
            Ended::Maximal(Ending::Blocked) => Leaf::Blocked,
            Ended::Redundant => Leaf::Redundant,
            Ended::Cut => Leaf::Cut,
        };
        self.tree.add(steps, leaf);
    }

    fn now(&self) -> Duration {
        self.watch.now()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.watch.poll(progress)
    }
}

/// A system that leaves the names of its threads behind: numbers are given in the order in which a search meets
/// threads, so only the system of that search knows them.
pub(crate) struct Named<S: Describe> {
    system: S,
    names: Rc<RefCell<Vec<String>>>,
}

impl<S: Describe> Drop for Named<S> {
    fn drop(&mut self) {
        let threads = (0..self.system.thread_count()).map(ThreadId::new);
        self.names.replace(threads.map(|thread| self.system.thread_name(thread)).collect());
    }
}

impl<S: Describe> System for Named<S> {
    forward_system! { self => self.system;
        restart rewind thread_count status choices pending obstacles step end freed
        ahead values judging foresight conditions
    }
}
