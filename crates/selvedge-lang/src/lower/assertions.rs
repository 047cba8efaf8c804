//! Assertions: each way on which one can fail shows what was read on that way.

use super::Lowerer;
use super::conditions::negated;
use super::sites::MOST_SHOWN;
use crate::ir::{Op, Operand};
use crate::span::Span;
use crate::tree::resolved::{Expr, ExprKind};

impl Lowerer<'_> {
    pub(super) fn assertion(&mut self, condition: &Expr, message: Option<&str>) {
        self.code.shown = Some(Vec::new());
        self.assert_part(condition, message, condition.span);
        self.code.shown = None;
    }

    /// Asserts a part of the condition under `whole`. Control continues if it holds.
    fn assert_part(&mut self, part: &Expr, message: Option<&str>, whole: Span) {
        match &part.kind {
            ExprKind::And(left, right) => {
                self.assert_part(left, message, whole);
                self.assert_part(right, message, whole);
            }
            ExprKind::Or(left, right) => {
                let [middle, done] = [(); 2].map(|()| self.code.new_label());
                let ways = self.condition(left, done, middle);
                self.code.place(middle);
                self.code.shown = Some(ways.if_false);
                self.assert_part(right, message, whole);
                let after_right = self.code.shown.take().unwrap_or_default();
                self.code.place(done);
                self.code.shown = Some(self.code.common(ways.if_true, after_right));
            }
            ExprKind::Op(op)
                if negated(op).is_some_and(|inner| {
                    matches!(inner.kind, ExprKind::And(..) | ExprKind::Or(..))
                }) =>
            {
                let [fine, failed] = [(); 2].map(|()| self.code.new_label());
                let ways = self.condition(part, fine, failed);
                self.code.place(failed);
                self.code.shown = Some(ways.if_false);
                self.emit_assert(Operand::Constant(0), message, whole);
                self.code.place(fine);
                self.code.shown = Some(ways.if_true);
            }
            _ => {
                let condition = self.value(part);
                self.emit_assert(condition, message, whole);
            }
        }
    }

    fn emit_assert(&mut self, condition: Operand, message: Option<&str>, whole: Span) {
        let shown = self.code.shown.clone().unwrap_or_default();
        let site = self.sites.showing(whole, shown);
        self.code.emit(Op::Assert { condition, message: message.map(Box::from) }, site);
    }

    /// While an assertion is lowered: notes a value that has a name.
    pub(super) fn show(&mut self, expr: &Expr, value: Operand) {
        if self.code.shown.as_ref().is_none_or(|shown| shown.len() >= MOST_SHOWN) {
            return;
        }
        let Some(named) = self.named(expr, value) else { return };
        let one_step = self.code.in_one_step();
        if let Some(shown) = &mut self.code.shown {
            // Read twice in different steps, a variable can have two values.
            let known =
                shown.iter().any(|other| *other == named || one_step && other.name == named.name);
            if !known {
                shown.push(named);
            }
        }
    }
}
