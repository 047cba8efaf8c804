//! Watches a search, and ends it early.

use selvedge_core::{Bound, Ended, Ending, Execution, Step};
use selvedge_explore::{Observer, Progress};

use crate::rt::Shared;

/// Watches a search over interleavings.
pub(super) struct Watch<'a> {
    shared: &'a Shared,
}

impl<'a> Watch<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }
}

impl Observer for Watch<'_> {
    fn begins(&mut self) {
        if let Some(tree) = &mut *self.shared.tree.borrow_mut() {
            tree.clear();
        }
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        if self.shared.keeps_tree.get() {
            self.shared.tree.borrow_mut().get_or_insert_default().add(steps, how);
        }
    }

    fn wants_steps(&self) -> bool {
        self.shared.keeps_tree.get()
    }

    fn execution(&mut self, _execution: &Execution, _ending: Ending) {
        self.shared.pulse.count_execution();
    }

    fn poll(&mut self, _progress: &dyn Fn() -> Progress) -> Option<Bound> {
        poll(self.shared)
    }
}

/// Ends a search whose result will not count: something was learned, so that it begins again, or the check has failed.
pub(super) fn poll(shared: &Shared) -> Option<Bound> {
    shared.pulse.count_search();
    let is_over =
        shared.learned.news.get() || shared.is_unsteady.get() || shared.pulse.stranger().is_some();
    is_over.then_some(Bound::Interrupted)
}
