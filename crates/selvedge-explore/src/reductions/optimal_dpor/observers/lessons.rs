//! Which objects are observed in ways that the search does not follow: the order of all accesses to these counts.
//!
//! That shows as the program runs. When one turns out to be treated too lightly, the search starts again.

use std::collections::BTreeSet;

use selvedge_core::ObjectKey;

/// What was learned so far.
#[derive(Default)]
pub(super) struct Lessons {
    ordered: BTreeSet<ObjectKey>,
    learned: BTreeSet<ObjectKey>,
    /// Whether the system does not say what the end of an execution reads.
    pub(super) is_blind: bool,
    /// Whether memory was freed, in an order that the search does not follow.
    pub(super) has_freed: bool,
}

impl Lessons {
    /// Returns whether the order of all accesses to the object counts in this pass.
    pub(super) fn is_ordered(&self, object: ObjectKey) -> bool {
        self.ordered.contains(&object)
    }

    /// Learns that it counts.
    pub(super) fn learn(&mut self, object: ObjectKey) {
        if !self.ordered.contains(&object) {
            self.learned.insert(object);
        }
    }

    /// Takes in what was learned. Returns whether that was anything.
    pub(super) fn apply(&mut self) -> bool {
        let is_new = !self.learned.is_empty();
        self.ordered.append(&mut self.learned);
        is_new
    }
}
