//! Where the loops of a procedure are.

use selvedge_lang::ir::{Label, Op, Procedure};

/// A loop: from its head to the last jump back to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loop {
    pub(super) head: usize,
    pub(super) end: usize,
    /// Whether no jump and no return leads out of it. Then every turn counts: no constant ends it.
    pub(super) is_endless: bool,
}

impl Loop {
    pub(super) fn contains(&self, at: usize) -> bool {
        (self.head..=self.end).contains(&at)
    }
}

/// Returns the loops of a procedure, outer ones before inner ones. Code comes from structured statements:
/// loops are nested or apart, and every jump back goes to a head.
pub(super) fn find(procedure: &Procedure) -> Vec<Loop> {
    let of = |(head, end): (Label, Label)| {
        let (head, end) = (head.index(), end.index());
        let is_inside = |to: Label| (head..=end).contains(&to.index());
        let is_endless = (head..=end).all(|at| {
            let op = &procedure.code[at].op;
            let mut stays = !matches!(op, Op::Return { .. });
            op.for_each_successor(Label::new(at), |to, _| stays &= is_inside(to));
            stays
        });
        Loop { head, end, is_endless }
    };
    procedure.loops().into_iter().map(of).collect()
}
