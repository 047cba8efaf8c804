//! What steps were in earlier executions: a guess for the next ones.
//!
//! Most steps have no alternatives and cannot be made to wait. So they are taken at once, and looked at then; what turns out to be
//! special is undone. The same step of the same thread is mostly special in other executions too: there it is looked at
//! before it is taken. A wrong guess costs time, and nothing else depends on it.

use selvedge_core::ThreadId;

/// The steps that were special when they were last looked at.
#[derive(Default)]
pub(super) struct Guesses {
    /// By the thread, and how many steps it had taken before.
    special: Vec<Vec<bool>>,
}

impl Guesses {
    #[inline]
    pub(super) fn is_special(&self, thread: ThreadId, nth: usize) -> bool {
        let steps = self.special.get(thread.index());
        steps.and_then(|steps| steps.get(nth)).is_some_and(|&is_special| is_special)
    }

    pub(super) fn note(&mut self, thread: ThreadId, nth: usize, is_special: bool) {
        if self.is_special(thread, nth) == is_special {
            return;
        }
        if self.special.len() <= thread.index() {
            self.special.resize(thread.index() + 1, Vec::new());
        }
        let steps = &mut self.special[thread.index()];
        if steps.len() <= nth {
            steps.resize(nth + 1, false);
        }
        steps[nth] = is_special;
    }
}
