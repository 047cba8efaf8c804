//! Accesses before which a thread may stop, so that a data race is two threads that stand before such accesses.

use std::collections::BTreeSet;

use selvedge_core::Order;
use selvedge_lang::ir::{
    Choice, GlobalId, GlobalKind, Label, ObjectRef, Op, Operand, ProcedureId, Program, Variable,
};

use super::Unrolled;
use super::cells::{CellId, CellName};
use super::events::EventId;
use super::run::Turn;
use crate::solver::Lit;

/// How a step accesses a variable that is not atomic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// A read-modify-write, which is atomic.
    Update,
    /// A compare-exchange, which is atomic: it reads, and may write.
    Exchange,
    /// An atomic block: it may read or write it, or do neither.
    Block,
}

/// A thread that has come to an access, and may have stopped there.
#[derive(Clone, Copy, Debug)]
pub struct Racing {
    /// Whether it stands before it, and it would be one of this cell.
    pub lit: Lit,
    /// What it would access.
    pub cell: CellId,
    /// How.
    pub kind: Kind,
    /// Whose step it is.
    pub thread: usize,
}

/// An atomic block before which its thread may have stopped.
pub(super) struct RacingBlock {
    /// Whether it has.
    stop: Lit,
    event: EventId,
    /// Where it starts, if it may wait.
    awaits: Option<(ProcedureId, Label)>,
}

impl Unrolled {
    /// Returns whether threads may stop before accesses to a variable.
    pub(super) fn may_race(&self, global: GlobalId) -> bool {
        self.depth.stops_at_races && is_plain(&self.program, global)
    }

    /// Takes down what the step that was made last would access.
    pub(super) fn note_racing(&mut self, turn: &Turn<'_>, op: &Variable, elements: &[(Lit, u32)]) {
        let Some(thread) = turn.runner.thread() else { return };
        let variable = op.variable();
        let kind = match op {
            Variable::Read { .. } => Kind::Read,
            Variable::Write { .. } => Kind::Write,
            Variable::CompareExchange { .. } => Kind::Exchange,
            Variable::Exchange { .. } | Variable::FetchAdd { .. } => Kind::Update,
        };
        let Some(stop) = self.stops.last().map(|stop| stop.lit) else { return };
        for &(condition, element) in elements {
            let lit = self.circuit.and(stop, condition);
            let cell = self.cell(CellName::Value(variable.global, element));
            self.racing.push(Racing { lit, cell, kind, thread });
        }
    }

    /// Takes down a block before which its thread may stop; `awaits`: where it starts, if it may wait. What it accesses is known
    /// when it is unrolled.
    pub(super) fn note_block(&mut self, event: EventId, awaits: Option<(ProcedureId, Label)>) {
        if let Some(stop) = self.stops.last().map(|stop| stop.lit) {
            self.racing_blocks.push(RacingBlock { stop, event, awaits });
        }
    }

    /// Takes down what blocks may access.
    pub(super) fn connect_blocks(&mut self) {
        let plain: BTreeSet<CellId> = self
            .cell_ids
            .iter()
            .filter(|(name, _)| match name {
                CellName::Value(global, _) => is_plain(&self.program, *global),
                _ => false,
            })
            .map(|(_, &cell)| cell)
            .collect();
        for RacingBlock { stop: lit, event, awaits } in std::mem::take(&mut self.racing_blocks) {
            let event = &self.events[event.index()];
            let mut cells: BTreeSet<CellId> =
                event.reads.keys().chain(event.writes.keys()).copied().collect();
            // What can decide whether it waits is a part of such a step, though not all of it is evaluated.
            if let Some((procedure, begin)) = awaits {
                let named = named_in_section(&self.program, procedure, begin);
                let cells_of = self.cell_ids.iter().filter(|(name, _)| match **name {
                    CellName::Value(global, element) => named.iter().any(|object| {
                        let index = match object.index {
                            Operand::Constant(index) => Some(index as u32),
                            Operand::Slot(_) => None,
                        };
                        object.global == global && index.is_none_or(|index| index == element)
                    }),
                    _ => false,
                });
                cells.extend(cells_of.map(|(_, &cell)| cell));
            }
            let thread = event.thread;
            for &cell in cells.intersection(&plain) {
                self.racing.push(Racing { lit, cell, kind: Kind::Block, thread });
            }
        }
    }
}

/// Returns the shared objects that the code of an atomic block names, and that of the procedures it calls.
fn named_in_section(program: &Program, procedure: ProcedureId, begin: Label) -> Vec<ObjectRef> {
    let code = &program.procedures[procedure.index()];
    let own = code.rest_of_section(program, begin, begin);
    let own: Vec<&Op> = own.iter().map(|at| &code.code[at.index()].op).collect();
    let called = program.called_from(own.iter().filter_map(|op| op.called()));
    let called = called.iter().flat_map(|id| &program.procedures[id.index()].code);
    let mut named = Vec::new();
    for op in own.into_iter().chain(called.map(|instruction| &instruction.op)) {
        op.for_each_object(|object| named.push(object));
    }
    named
}

/// Returns whether accesses to a variable can be part of a data race.
fn is_plain(program: &Program, global: GlobalId) -> bool {
    matches!(program.globals[global.index()].kind, GlobalKind::Variable { atomic: false, .. })
}

/// Returns whether a program has an atomic access that orders less than what it reads from or is read by: then a
/// data race need not be one of accesses that can be next to each other.
pub fn has_weak_orders(program: &Program) -> bool {
    let weak = |op: &Op| match op {
        Op::Variable(variable @ Variable::Read { .. }) => {
            variable.written_order(true).is_some_and(|order| !order.acquires())
        }
        Op::Variable(variable @ Variable::Write { .. }) => {
            variable.written_order(true).is_some_and(|order| !order.releases())
        }
        Op::Variable(variable) => {
            let is_weak = |order: Order| !(order.acquires() && order.releases());
            variable.written_order(true).is_some_and(is_weak)
                || variable.written_order(false).is_some_and(|order| !order.acquires())
        }
        Op::Choice(Choice::Fence { .. }) => true,
        _ => false,
    };
    program.procedures.iter().flat_map(|procedure| &procedure.code).any(|code| weak(&code.op))
}
