//! `send` and `receive`.

use super::body::{BodyChecker, LocalKind, Region};
use super::effects::Effect;
use super::statements::Checked;
use super::tree::{Alternative, Expr, ExprKind, Pattern, StmtKind};
use super::{Meaning, type_name};
use crate::ast::{
    Alternative as AstAlternative, Block, Expr as AstExpr, ExprKind as Ast, Pattern as AstPattern,
};
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::span::Span;

impl BodyChecker<'_, '_> {
    pub(super) fn send(
        &mut self,
        target: &AstExpr,
        message: &[AstExpr],
        span: Span,
    ) -> Option<StmtKind> {
        self.effect(Effect::Send, "`send`", span);
        let target = match target.kind {
            Ast::SelfHandle => {
                Some(Expr { kind: ExprKind::Own, ty: Type::Thread, span: target.span })
            }
            _ => self.typed(target, Type::Thread, "the target of `send`"),
        };
        let message: Vec<_> = message.iter().map(|value| self.message_value(value)).collect();
        let message: Option<Vec<_>> = message.into_iter().collect();
        Some(StmtKind::Send { target: target?, message: message? })
    }

    fn message_value(&mut self, value: &AstExpr) -> Option<Expr> {
        let checked = self.expr(value)?;
        if checked.ty == Type::Thread {
            let error = Diagnostic::error(value.span, "a thread handle cannot be sent");
            self.report(error.help("send a number, and let the receiver find the thread by it"));
            return None;
        }
        Some(checked)
    }

    pub(super) fn receive(
        &mut self,
        alternatives: &[AstAlternative],
        after: Option<&Block>,
        span: Span,
    ) -> Checked {
        self.effect(Effect::Wait, "`receive`", span);
        let mut goes_on = false;
        let mut checked = Vec::new();
        for alternative in alternatives {
            let (alternative, leaves) = self.in_scope(|body| body.alternative(alternative));
            goes_on |= leaves;
            checked.push(alternative);
        }
        let after = after.map(|block| {
            let (statements, leaves) = self.block(block);
            goes_on |= leaves;
            statements
        });
        let alternatives: Option<Vec<_>> = checked.into_iter().collect();
        (alternatives.map(|alternatives| StmtKind::Receive { alternatives, after }), goes_on)
    }

    fn alternative(&mut self, alternative: &AstAlternative) -> (Option<Alternative>, bool) {
        let pattern: Vec<_> = alternative.pattern.iter().map(|part| self.pattern(part)).collect();
        let guard = alternative.guard.as_ref().map(|guard| {
            let guard = self.in_region(Region::Guard, |body| body.condition(guard));
            guard.map(Some)
        });
        let (body, goes_on) = self.block(&alternative.body);
        let pattern: Option<Vec<_>> = pattern.into_iter().collect();
        // No guard is fine, a guard with errors is not.
        let guard = guard.unwrap_or(Some(None));
        let checked =
            pattern.zip(guard).map(|(pattern, guard)| Alternative { pattern, guard, body });
        (checked, goes_on)
    }

    fn pattern(&mut self, pattern: &AstPattern) -> Option<Pattern> {
        match pattern {
            AstPattern::Any => Some(Pattern::Any),
            AstPattern::Bind(name) => {
                Some(Pattern::Bind(self.declare_local(name, Type::Int, LocalKind::Variable)))
            }
            AstPattern::Value(expr) => self.pattern_value(expr).map(Pattern::Value),
        }
    }

    fn pattern_value(&mut self, expr: &AstExpr) -> Option<Expr> {
        let problem = match &expr.kind {
            Ast::Int(_) | Ast::Bool(_) | Ast::Paren(_) => None,
            Ast::Place(place) if place.indices.is_empty() => {
                let name = &place.name.text;
                let plain = match self.local(name) {
                    Some(local) => self.locals[local.0].kind == LocalKind::ThreadIndex,
                    None => self
                        .checker
                        .names
                        .get(name)
                        .is_some_and(|entry| matches!(entry.meaning, Meaning::Constant(_))),
                };
                let known = self.local(name).is_some() || self.checker.names.contains_key(name);
                let hint = match known {
                    true => {
                        format!("write `let v` to take the value, `({name})` to compare with it")
                    }
                    false => format!("write `let {name}` to take the value"),
                };
                (!plain).then_some((format!("`{name}` in a pattern is not a constant"), hint))
            }
            _ => {
                let message = "an expression in a pattern stands in parentheses".to_owned();
                Some((message, "write `(1, (a + b))`".to_owned()))
            }
        };
        if let Some((message, hint)) = problem {
            self.report(Diagnostic::error(expr.span, message).help(hint));
            return None;
        }
        let checked = self.in_region(Region::Guard, |body| body.expr(expr))?;
        if checked.ty == Type::Thread {
            let message = format!("a pattern is int or bool, not {}", type_name(checked.ty));
            self.report(Diagnostic::error(expr.span, message));
            return None;
        }
        Some(checked)
    }
}
