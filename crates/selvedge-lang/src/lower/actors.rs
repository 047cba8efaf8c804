//! Tasks: where they wait, one part ends and the next begins.

use super::Lowerer;
use super::code::Scope;
use crate::ir::{AtomicKind, Slot, Type};
use crate::ops::{Op, Thread};
use crate::span::Span;
use crate::tree::resolved::{
    Assignment, Await, Block, Expr, ExprKind, Leaf, SectionId, SectionName, StmtKind,
};

impl Lowerer<'_> {
    /// Ends the part of a task that is open, and begins the next.
    pub(super) fn next_part(&mut self, section: Option<&(SectionId, SectionName)>, span: Span) {
        let Some(&Scope::Atomic { atomic: first }) = self.code.scopes.first() else { return };
        if std::mem::take(&mut self.code.waits_first) {
            return;
        }
        self.emit(Op::AtomicEnd { atomic: first }, span);
        let atomic = self.add_atomic(None, AtomicKind::Task);
        self.program.atomics[atomic.index()].continues = Some(first);
        if let Some((section, name)) = section {
            self.name_section(atomic, *section, name);
        }
        self.emit(Op::AtomicBegin { atomic }, span);
    }

    /// Returns whether a task begins by waiting, for a condition or for a future that has a name. Then that belongs to its first
    /// part, which is enabled no earlier.
    pub(super) fn waits_first(block: &Block) -> bool {
        let value = match block.statements.first().map(|first| &first.kind) {
            Some(StmtKind::Expr(value)) => value,
            Some(StmtKind::Set(Assignment::Local { value, .. })) => value,
            _ => return false,
        };
        let ExprKind::Leaf(Leaf::Await(awaited)) = &value.kind else { return false };
        match awaited.what.ty() {
            Type::Future(_) => matches!(awaited.what.kind, ExprKind::Leaf(Leaf::Local(_))),
            _ => true,
        }
    }

    /// A statement that waits.
    pub(super) fn await_it(&mut self, awaited: &Await, expr: &Expr) {
        if let Type::Future(_) = awaited.what.ty() {
            return self.await_future(awaited, None, expr.span);
        }
        self.next_part(awaited.section.as_ref(), expr.span);
        let condition = self.value(&awaited.what);
        self.emit(Op::Await { condition }, awaited.what.span);
    }

    /// Waits for a future; `target`, if it is given, gets its value.
    pub(super) fn await_future(&mut self, awaited: &Await, target: Option<Slot>, span: Span) {
        let future = self.value(&awaited.what);
        if self.code.in_one_step() {
            self.next_part(awaited.section.as_ref(), span);
        }
        self.emit(Thread::Await { future, target }, span);
    }
}
