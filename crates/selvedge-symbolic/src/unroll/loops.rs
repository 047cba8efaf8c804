//! Where the loops of a procedure are.

use selvedge_lang::ir::Procedure;

/// A loop: from its head to the last jump back to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loop {
    pub(super) head: usize,
    pub(super) end: usize,
}

impl Loop {
    pub(super) fn contains(&self, at: usize) -> bool {
        (self.head..=self.end).contains(&at)
    }
}

/// Returns the loops of a procedure, outer ones before inner ones. Code comes from structured statements:
/// loops are nested or apart, and every jump back goes to a head.
pub(super) fn find(procedure: &Procedure) -> Vec<Loop> {
    let loops = procedure.loops().into_iter();
    loops.map(|(head, end)| Loop { head: head.index(), end: end.index() }).collect()
}
