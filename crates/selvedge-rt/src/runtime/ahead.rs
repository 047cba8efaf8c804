//! How far a thread may take steps by itself; see `ahead.rs` of the crate.

use selvedge_core::Effect;

/// How far a thread may go on, and what it did.
#[derive(Default)]
pub(crate) struct Ahead {
    thread: usize,
    /// How many steps it may take, and how many it took.
    most: usize,
    pub(crate) taken: usize,
    pub(crate) effects: Vec<Effect>,
}

impl Ahead {
    /// Lets a thread that takes a step continue after it, up to `most` steps in all.
    pub(crate) fn allow(&mut self, thread: usize, most: usize, effects: &mut Vec<Effect>) {
        (self.thread, self.most, self.taken) = (thread, most, 1);
        std::mem::swap(&mut self.effects, effects);
    }

    /// Returns the effects of the steps that were taken, and how many these are.
    pub(crate) fn finish(&mut self, effects: &mut Vec<Effect>) -> usize {
        std::mem::swap(&mut self.effects, effects);
        self.most = 0;
        self.taken
    }

    /// Returns whether a thread may take one more step. Not one that the thread has just spawned.
    #[inline]
    pub(crate) fn is_allowed(&self, thread: usize) -> bool {
        self.taken < self.most && self.thread == thread
    }
}
