//! Which share of a search a graph and the planned tasks are taken to be, for estimates (`estimate.rs`).
//!
//! The whole is 1. Where a graph can go on in several ways, its share is divided equally among them: the way that is taken, and the
//! tasks that are planned.

use selvedge_core::GraphSystem;

use super::search::Search;

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Divides the share of the current graph among the tasks that were planned in it since the last time, and the graph itself if
    /// it `goes_on` or was an execution of its own.
    #[inline]
    pub(super) fn divide(&mut self, goes_on: bool) {
        if self.undivided > 0 {
            self.divide_now(goes_on);
        }
    }

    fn divide_now(&mut self, goes_on: bool) {
        let level = self.levels.last_mut().expect("internal error: no graph");
        let share = self.share / (self.undivided + usize::from(goes_on)) as f64;
        for planned in level.tasks.iter_mut().rev().take(self.undivided) {
            planned.share = share;
        }
        self.share = if goes_on { share } else { 0.0 };
        self.undivided = 0;
    }
}
