//! Where the loops of a procedure are.

use selvedge_lang::ir::{Label, Procedure};

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
    let mut loops: Vec<Loop> = Vec::new();
    for (at, instruction) in procedure.code.iter().enumerate() {
        instruction.op.for_each_successor(Label::new(at), |to, _| {
            let head = to.index();
            if head > at {
                return;
            }
            match loops.iter_mut().find(|known| known.head == head) {
                Some(known) => known.end = known.end.max(at),
                None => loops.push(Loop { head, end: at }),
            }
        });
    }
    loops.sort_by_key(|l| (l.head, std::cmp::Reverse(l.end)));
    loops
}
