//! `--tree`: a search whose executions are recorded.

use std::sync::PoisonError;
use std::time::Duration;

use selvedge_core::{Bound, Conditions, Ended, Ending, Execution, Report, Step};
use selvedge_explore::{Observer, Progress};
use selvedge_lang::ThreadNames;
use selvedge_report::Tree;

use crate::progress::Watch;

/// Observes a search and records its executions.
pub(crate) struct Recorder<'a> {
    watch: &'a mut Watch,
    tree: Tree,
    names: ThreadNames,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(watch: &'a mut Watch) -> Self {
        Self { watch, tree: Tree::default(), names: ThreadNames::default() }
    }

    /// Returns what the system of the search is to put the names of its threads into.
    pub(crate) fn names(&self) -> ThreadNames {
        ThreadNames::clone(&self.names)
    }

    /// Returns the executions of the search, which is over.
    pub(crate) fn into_tree(mut self) -> Tree {
        self.tree.threads =
            std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        self.tree
    }
}

impl Observer for Recorder<'_> {
    fn begins(&mut self) {
        self.tree.clear();
        self.watch.begins();
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        self.tree.add(steps, how);
        self.watch.ended(steps, how);
    }

    fn wants_steps(&self) -> bool {
        true
    }

    fn execution(&mut self, execution: &Execution, ending: Ending) {
        self.watch.execution(execution, ending);
    }

    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.watch.state(conditions, ending);
    }

    fn found(&mut self, report: &Report) {
        self.watch.found(report);
    }

    fn now(&self) -> Duration {
        self.watch.now()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.watch.poll(progress)
    }
}
