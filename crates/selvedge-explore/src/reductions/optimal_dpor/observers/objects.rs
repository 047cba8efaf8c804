//! What was done with an object: epochs of accesses that commute, and writes whose order no step has observed yet.

use selvedge_core::{EventId, Mode, Position, commute};

/// The history of an object, as far as what comes next depends on it.
#[derive(Clone, Default)]
pub(super) struct Object {
    /// The mode of the last accesses, all of which commute with each other.
    mode: Option<Mode>,
    /// The last accesses.
    epoch: Vec<Position>,
    /// Those that they all come after.
    previous: Vec<Position>,
    /// The last writes of a variable: those of an epoch of writes that none of them happens after; in the order of their names.
    candidates: Vec<Position>,
    /// Which of them a read has found.
    found: Option<u32>,
}

impl Object {
    /// Returns what an access in this mode depends on.
    pub(super) fn before(&self, mode: Mode) -> &[Position] {
        match self.mode {
            Some(current) if commute(current, mode) => &self.previous,
            _ => &self.epoch,
        }
    }

    /// Adds an access.
    pub(super) fn add(&mut self, position: Position, mode: Mode) {
        if self.mode.is_some_and(|current| !commute(current, mode)) {
            self.previous = std::mem::take(&mut self.epoch);
            // What reads found stays, for further reads.
            if mode != Mode::Read {
                self.candidates.clear();
                self.found = None;
            }
        }
        self.mode = Some(mode);
        self.epoch.push(position);
    }

    /// Adds a write to the candidates, after `add`.
    pub(super) fn add_candidate(
        &mut self,
        position: Position,
        is_before: impl Fn(Position, Position) -> bool,
        name: impl Fn(Position) -> EventId,
    ) {
        self.candidates.retain(|&other| !is_before(other, position));
        self.candidates.push(position);
        self.candidates.sort_by_key(|&candidate| name(candidate));
    }

    /// Notes which of the candidates a read finds.
    pub(super) fn find(&mut self, choice: u32) {
        self.found = Some(choice);
    }

    /// Returns the candidates, if a read could find more than one of them.
    pub(super) fn candidates(&self) -> Option<&[Position]> {
        (self.candidates.len() > 1).then_some(&self.candidates)
    }

    /// Returns which of the candidates was found.
    pub(super) fn found(&self) -> Option<u32> {
        self.found
    }
}
