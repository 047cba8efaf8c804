//! Units of work: schedules with marks.

use selvedge_core::{Step, ThreadId};

use super::pasts::Rest;

/// What a step is to the canonical sequence of its execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// The chosen step.
    Free,
    /// Another alternative of the chosen step.
    Other,
    /// Needed by the head of its block.
    Block,
    /// The last step of a block: it conflicts with the chosen step, that of this thread, which is put off.
    Head(ThreadId, Reasons),
}

/// What is known about the reasons for putting a step off when its block is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reasons {
    /// The head excludes all others from what the step touches: no later event can be a reason, and none sleeps.
    Settled,
    /// There may be others.
    Open,
}

impl Mark {
    /// Returns whether it was not the first choice: what the test of a parent looks at.
    #[inline]
    pub(super) fn departs(self) -> bool {
        matches!(self, Mark::Head(..) | Mark::Other)
    }
}

/// A step with its mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Item {
    pub(super) step: Step,
    pub(super) mark: Mark,
}

/// The canonical sequence of an execution up to its last departure from the first choice. It
/// determines the execution, and that its children.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) items: Vec<Item>,
    /// Children of an execution that was run before, where there are many: then `items` is all of it.
    pub(super) rest: Option<Box<Rest>>,
    /// Its estimated share of the search.
    pub(super) share: f64,
}

impl Unit {
    pub(super) fn new(items: Vec<Item>) -> Self {
        Self { items, rest: None, share: 0.0 }
    }

    /// Returns how much of it its parent shares: where its last block begins.
    pub(super) fn shared(&self) -> usize {
        if let Some(rest) = &self.rest {
            return rest.question.e.index();
        }
        let body = self.items.len().saturating_sub(1);
        let others = &self.items[..body];
        others.iter().rposition(|item| item.mark != Mark::Block).map_or(0, |last| last + 1)
    }
}
