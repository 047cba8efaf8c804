//! Expressions.

use super::Lowerer;
use super::code::Code;
use super::conditions::copy;
use super::operations::{Goes, Lowered};
use crate::ir::{Operand, ProcedureId, Shown, Slot, Type};
use crate::ops::{Compute, Container, Ghost, Op, Variable};
use crate::tree::Resolved;
use crate::tree::resolved::{Element, Expr, ExprKind, Leaf, Local, LocalId};

impl Lowerer<'_> {
    /// Evaluates, and says where the value is.
    pub(super) fn value(&mut self, expr: &Expr) -> Operand {
        self.evaluate(expr, None)
    }

    /// Evaluates into `target`, which is written last of all.
    pub(super) fn value_into(&mut self, expr: &Expr, target: Slot) {
        let value = self.evaluate(expr, Some(target));
        if value != Operand::Slot(target) {
            let site = self.sites.plain(expr.span);
            self.code.emit(copy(target, value), site);
        }
    }

    /// `wanted` is where a computed value goes; a constant or a variable stays where it is.
    fn evaluate(&mut self, expr: &Expr, wanted: Option<Slot>) -> Operand {
        match &expr.kind {
            ExprKind::Leaf(Leaf::Constant(value)) => Operand::Constant(*value),
            ExprKind::Leaf(Leaf::Local(local)) => {
                let value = Operand::Slot(self.code.local(*local));
                self.show(expr, value);
                value
            }
            ExprKind::Leaf(Leaf::Element { array, index }) => {
                let value = self.element(*array, index, expr, wanted);
                self.show(expr, value);
                value
            }
            ExprKind::Leaf(Leaf::Thread { group, index }) => {
                self.thread(*group, index.as_deref(), expr.span)
            }
            ExprKind::Leaf(Leaf::Await(awaited)) => {
                let target = wanted.unwrap_or_else(|| self.code.temporary(expr.ty()));
                self.await_future(awaited, Some(target), expr.span);
                Operand::Slot(target)
            }
            ExprKind::And(..) | ExprKind::Or(..) | ExprKind::If { .. } => {
                self.branching_value(expr, wanted)
            }
            ExprKind::Op(op) => {
                let goes = wanted.map_or(Goes::Anywhere, Goes::To);
                let target = self.compute(expr, op, goes);
                let value = Operand::Slot(target.expect("internal error: a value without a slot"));
                self.show(expr, value);
                value
            }
        }
    }

    /// Evaluates for the effect only.
    pub(super) fn discard(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Op(op) => drop(self.compute(expr, op, Goes::Nowhere)),
            ExprKind::Leaf(Leaf::Await(awaited)) => self.await_it(awaited, expr),
            _ => drop(self.value(expr)),
        }
    }

    fn compute(&mut self, expr: &Expr, op: &Op<Resolved>, goes: Goes) -> Option<Slot> {
        let Lowered { op: lowered, target, .. } = self.operation(op, expr.ty(), goes);
        // Arithmetic shows the operands that have names.
        let shown = match (op, &lowered) {
            (
                Op::Compute { value: Compute::Unary(_, operand), .. },
                Op::Compute { value: Compute::Unary(_, value), .. },
            ) => self.named(operand, *value).into_iter().collect(),
            (
                Op::Compute { value: Compute::Binary(_, a, b), .. },
                Op::Compute { value: Compute::Binary(_, left, right), .. },
            ) if expr.ty() == Type::Int => {
                let (a, b) = (self.named(a, *left), self.named(b, *right));
                a.into_iter().chain(b).collect()
            }
            _ => Vec::new(),
        };
        let site = self.sites.showing(expr.span, shown);
        self.code.emit(lowered, site);
        target
    }

    /// Returns the operand with its name, if it is a variable or an element.
    pub(super) fn named(&self, expr: &Expr, value: Operand) -> Option<Shown> {
        let named = match &expr.kind {
            ExprKind::Leaf(leaf) => matches!(leaf, Leaf::Local(_) | Leaf::Element { .. }),
            ExprKind::Op(op) => matches!(
                **op,
                Op::Variable(Variable::Read { .. })
                    | Op::Ghost(Ghost::Read { .. })
                    | Op::Container(Container::Ask { .. })
            ),
            _ => false,
        };
        named.then(|| Shown { name: self.sites.one_line(expr.span), value, ty: expr.ty() })
    }

    /// Returns a procedure that returns the value of `expr`. Its parameters are `locals`.
    pub(super) fn expression_procedure(
        &mut self,
        name: &str,
        locals: Vec<(LocalId, Local)>,
        expr: &Expr,
    ) -> ProcedureId {
        let outer = std::mem::replace(&mut self.code, Code::with_some(&locals));
        let value = Some(self.value(expr));
        let site = self.sites.plain(expr.span);
        self.code.emit(Op::Return { value }, site);
        let code = std::mem::replace(&mut self.code, outer);
        self.procedures.push(Some(code.finish(name, locals.len(), Some(expr.ty()), None)));
        ProcedureId::new(self.procedures.len() - 1)
    }

    /// Returns the name of an object as it is written.
    pub(super) fn written(&self, element: &Element) -> String {
        self.sites.one_line(element.span)
    }
}
