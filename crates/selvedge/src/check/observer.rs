//! What a search is asked now and then: whether it makes sense to go on.

use selvedge_core::{Bound, Ended, Ending, Execution, Step};
use selvedge_explore::{Observer, Progress};

use crate::rt::Shared;

/// Ends a search that makes no sense any more.
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
        let pulse = &self.shared.pulse;
        pulse.count_search();
        let is_over = self.shared.learned.news.get()
            || self.shared.is_unsteady.get()
            || pulse.stranger().is_some();
        is_over.then_some(Bound::Interrupted)
    }
}
