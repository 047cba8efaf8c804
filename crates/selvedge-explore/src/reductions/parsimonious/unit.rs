//! Units of work: schedules with marks.

use selvedge_core::Step;

/// What a step is to the canonical sequence of its execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// The chosen step.
    Free,
    /// Another alternative of the chosen step.
    Other,
    /// Needed by the head of its block.
    Block,
    /// The last step of a block: it conflicts with this step, which was chosen and is put off.
    Head(Step),
}

impl Mark {
    /// Whether it was not the first choice: what the test of a parent looks at.
    #[inline]
    pub(super) fn departs(self) -> bool {
        matches!(self, Mark::Head(_) | Mark::Other)
    }

    /// Whether the chosen thread took it: only such a step can be put off.
    #[inline]
    pub(super) fn is_chosen(self) -> bool {
        matches!(self, Mark::Free | Mark::Other)
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
    /// Its estimated share of the search.
    pub(super) share: f64,
}
