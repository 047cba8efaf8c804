//! Conditions as jumps; `&&`, `||` and `if` as values.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Lowerer;
use crate::ir::{Label, Operand, ProcedureId, Shown, Slot};
use crate::ops::{Compute, Nothing, Op, Parts, Pattern, UnaryOp};
use crate::span::Span;
use crate::tree::Resolved;
use crate::tree::resolved::{Block, Element, Expr, ExprKind, Leaf, LocalId};

/// The values that were surely read on the way to each outcome of a condition.
#[derive(Default)]
pub(super) struct Ways {
    pub(super) if_true: Vec<Shown>,
    pub(super) if_false: Vec<Shown>,
}

impl Lowerer<'_> {
    /// Goes to one of two labels.
    pub(super) fn condition(&mut self, expr: &Expr, if_true: Label, if_false: Label) -> Ways {
        if let ExprKind::Op(op) = &expr.kind
            && let Some(inner) = negated(op)
        {
            let ways = self.condition(inner, if_false, if_true);
            return Ways { if_true: ways.if_false, if_false: ways.if_true };
        }
        match &expr.kind {
            ExprKind::And(left, right) => {
                let middle = self.code.new_label();
                let left = self.condition(left, middle, if_false);
                self.code.place(middle);
                self.set_shown(left.if_true);
                let right = self.condition(right, if_true, if_false);
                let if_false = self.code.common(left.if_false, right.if_false.clone());
                Ways { if_true: right.if_true, if_false }
            }
            ExprKind::Or(left, right) => {
                let middle = self.code.new_label();
                let left = self.condition(left, if_true, middle);
                self.code.place(middle);
                self.set_shown(left.if_false);
                let right = self.condition(right, if_true, if_false);
                let if_true = self.code.common(left.if_true, right.if_true.clone());
                Ways { if_true, if_false: right.if_false }
            }
            _ => {
                let condition = self.value(expr);
                let site = self.sites.plain(expr.span);
                let op = match condition {
                    Operand::Constant(0) => Op::Jump { to: if_false },
                    Operand::Constant(_) => Op::Jump { to: if_true },
                    condition => Op::Branch { condition, then: if_true, otherwise: if_false },
                };
                self.code.emit(op, site);
                let shown = self.code.shown.clone().unwrap_or_default();
                Ways { if_true: shown.clone(), if_false: shown }
            }
        }
    }

    /// Returns the value of an expression that evaluates only some of its parts.
    pub(super) fn branching_value(&mut self, expr: &Expr, wanted: Option<Slot>) -> Operand {
        let before = self.code.shown.clone();
        let site = self.sites.plain(expr.span);
        let [if_true, if_false, end] = [(); 3].map(|()| self.code.new_label());
        let target = wanted.unwrap_or_else(|| self.code.temporary(expr.ty()));
        match &expr.kind {
            ExprKind::If { condition, then, otherwise } => {
                self.condition(condition, if_true, if_false);
                self.code.place(if_true);
                self.value_into(then, target);
                self.code.emit(Op::Jump { to: end }, site);
                self.code.place(if_false);
                self.value_into(otherwise, target);
            }
            _ => {
                self.condition(expr, if_true, if_false);
                self.code.place(if_true);
                self.code.emit(copy(target, Operand::Constant(1)), site);
                self.code.emit(Op::Jump { to: end }, site);
                self.code.place(if_false);
                self.code.emit(copy(target, Operand::Constant(0)), site);
            }
        }
        self.code.place(end);
        // What was read inside was read on some ways only.
        self.code.shown = before;
        Operand::Slot(target)
    }

    pub(super) fn jump(&mut self, to: Label, span: Span) {
        let site = self.sites.header(span);
        self.code.emit(Op::Jump { to }, site);
    }

    fn set_shown(&mut self, shown: Vec<Shown>) {
        if let Some(current) = &mut self.code.shown {
            *current = shown;
        }
    }
}

/// Returns the local variables that an expression uses.
pub(super) fn locals_in(expr: &Expr) -> BTreeSet<LocalId> {
    let mut locals = BTreeSet::new();
    collect(expr, &mut locals);
    locals
}

fn collect(expr: &Expr, locals: &mut BTreeSet<LocalId>) {
    match &expr.kind {
        ExprKind::Leaf(Leaf::Constant(_)) => {}
        ExprKind::Leaf(Leaf::Local(local)) => {
            locals.insert(*local);
        }
        ExprKind::Leaf(Leaf::Element { array, index }) => {
            collect(index, locals);
            locals.extend(array.elements());
        }
        ExprKind::Leaf(Leaf::Thread { index, .. }) => {
            index.iter().for_each(|index| collect(index, locals));
        }
        ExprKind::Leaf(Leaf::Await(awaited)) => collect(&awaited.what, locals),
        ExprKind::And(left, right) | ExprKind::Or(left, right) => {
            collect(left, locals);
            collect(right, locals);
        }
        ExprKind::If { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| collect(part, locals));
        }
        ExprKind::Op(op) => drop(op.map(&mut Collect(locals))),
    }
}

struct Collect<'l>(&'l mut BTreeSet<LocalId>);

impl Parts<Resolved, Nothing> for Collect<'_> {
    fn value(&mut self, value: &Expr) {
        collect(value, self.0);
    }

    fn object(&mut self, object: &Element) {
        object.indices.iter().for_each(|index| collect(index, self.0));
    }

    fn target(&mut self, (): &()) {}

    fn local(&mut self, _: &LocalId) {}

    fn label(&mut self, _: &Rc<Block>) {}

    fn routine(&mut self, _: &ProcedureId) {}

    fn guard(&mut self, _: &Expr, _: &[Pattern<Resolved>]) {}
}

/// Returns what is negated.
pub(super) fn negated(op: &Op<Resolved>) -> Option<&Expr> {
    match op {
        Op::Compute { value: Compute::Unary(UnaryOp::Not, inner), .. } => Some(inner),
        _ => None,
    }
}

/// Returns the instruction that copies a value.
pub(super) fn copy(target: Slot, value: Operand) -> Op {
    Op::Compute { target, value: Compute::Copy(value) }
}
