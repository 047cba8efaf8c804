//! `send` and `receive`.

use std::rc::Rc;

use super::Meaning;
use super::body::{BodyChecker, LocalKind, Region};
use super::effects::Effect;
use super::places::Wanted;
use super::statements::Checked;
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ops::{Alternative, Channel, Compute, Delivery, Message, Op, Pattern};
use crate::span::Span;
use crate::tree::resolved::{Expr, StmtKind};
use crate::tree::written::{Block, Expr as AstExpr, ExprKind as Ast, Leaf as AstLeaf, ObjectKind};
use crate::tree::{Resolved, Written};

/// A channel of any kind.
const CHANNEL: Wanted =
    Wanted::One(ObjectKind::Channel(Delivery { lossy: false, reordering: false }));

impl BodyChecker<'_, '_> {
    pub(super) fn message(&mut self, message: &Message<Written>, span: Span) -> Checked {
        match message {
            Message::Send { to, values } => (self.send(to, values, span), true),
            Message::TrySend { .. } => unreachable!("internal error: not written as a statement"),
            Message::Receive { alternatives, after } => {
                self.receive(alternatives, after.as_ref(), span)
            }
        }
    }

    fn send(&mut self, to: &AstExpr, values: &[AstExpr], span: Span) -> Option<StmtKind> {
        if self.is_channel(to) {
            return self.send_to_channel(to, values, span);
        }
        self.effect(Effect::Send, "`send`", span);
        let to = match to.kind {
            Ast::Leaf(AstLeaf::SelfHandle) => {
                let own = Op::Compute { target: (), value: Compute::Own };
                Some(Expr::of(own, Type::Thread, to.span))
            }
            _ if self.is_unknown_target(to) => None,
            _ => self.typed(to, Type::Thread, "the target of `send`"),
        };
        let values: Vec<_> = values.iter().map(|value| self.message_value(value)).collect();
        let values: Option<_> = values.into_iter().collect();
        Some(StmtKind::Op(Message::Send { to: to?, values: values? }.into()))
    }

    /// `try_send(t, v)`: sends unless the thread has ended.
    pub(super) fn try_send(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let Some((to, values)) = args.split_first().filter(|(_, values)| !values.is_empty()) else {
            let error = Diagnostic::error(span, "`try_send` needs a thread and 1 to 8 values");
            self.report(error.help("write `try_send(t, v)`"));
            return None;
        };
        if values.len() > 8 {
            let error = Diagnostic::error(span, "a message has 1 to 8 values");
            self.report(error.help("send several messages"));
            return None;
        }
        self.try_send_to(to, values, span)
    }

    /// The same, also of what watches a thread.
    pub(super) fn try_send_to(
        &mut self,
        to: &AstExpr,
        values: &[AstExpr],
        span: Span,
    ) -> Option<Expr> {
        self.effect(Effect::Send, "`try_send`", span);
        let to = match self.is_unknown_target(to) {
            true => None,
            false => self.typed(to, Type::Thread, "the target of `try_send`"),
        };
        let values: Vec<_> = values.iter().map(|value| self.message_value(value)).collect();
        let values: Option<_> = values.into_iter().collect();
        let send = Message::TrySend { to: to?, values: values?, target: () };
        Some(Expr::of(send, Type::Bool, span))
    }

    /// Returns whether the target of a `send` is a name without a meaning, and reports it.
    pub(super) fn is_unknown_target(&mut self, to: &AstExpr) -> bool {
        let Ast::Leaf(AstLeaf::Place(place)) = &to.kind else { return false };
        let name = &place.name.text;
        if self.local(name).is_some() || self.checker.actual(place).name.text != *name {
            return false;
        }
        if self.checker.entry(name).is_some() {
            return false;
        }
        let objects = &self.checker.objects;
        let near = self.checker.near_global(name, |meaning| match meaning {
            Meaning::Thread(_) => true,
            Meaning::Object(i) => matches!(objects[i].decl.kind, ObjectKind::Channel(_)),
            _ => false,
        });
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it: `thread {name} {{ … }}` or `channel {name}(1);`"),
        };
        self.report_unknown_as(&place.name, "thread or channel", help);
        true
    }

    fn is_channel(&self, to: &AstExpr) -> bool {
        let Ast::Leaf(AstLeaf::Place(place)) = &to.kind else { return false };
        let place = &*self.checker.actual(place);
        let entry = self.checker.entry(&place.name.text);
        let Some(Meaning::Object(i)) = entry.map(|entry| entry.meaning) else { return false };
        self.local(&place.name.text).is_none()
            && matches!(self.checker.objects[i].decl.kind, ObjectKind::Channel(_))
    }

    fn send_to_channel(
        &mut self,
        to: &AstExpr,
        values: &[AstExpr],
        span: Span,
    ) -> Option<StmtKind> {
        self.effect(Effect::Wait, "`send` to a channel", span);
        let channel = self.object_argument(to, CHANNEL, "`send`");
        let values: Vec<_> = values.iter().map(|value| self.message_value(value)).collect();
        if values.len() != 1 {
            let message = format!("a channel takes one value, not {}", values.len());
            let help = "send them one after the other, or compute one from them";
            self.report(Diagnostic::error(span, message).help(help));
            return None;
        }
        let value = values.into_iter().next()??;
        Some(StmtKind::Op(Channel::Send { channel: channel?.1, value }.into()))
    }

    /// `receive(c)`
    pub(super) fn receive_value(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [channel] = self.exactly("receive(c)", args, span)?;
        self.effect(Effect::Wait, "`receive`", span);
        let (_, channel) = self.object_argument(channel, CHANNEL, "`receive`")?;
        Some(Expr::of(Channel::Receive { channel, target: Some(()) }, Type::Int, span))
    }

    pub(super) fn message_value(&mut self, value: &AstExpr) -> Option<Expr> {
        let checked = self.expr(value)?;
        if checked.ty() == Type::Thread {
            let error = Diagnostic::error(value.span, "a thread handle cannot be sent");
            self.report(error.help("send a number, and let the receiver find the thread by it"));
            return None;
        }
        Some(checked)
    }

    fn receive(
        &mut self,
        alternatives: &[Alternative<Written>],
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
            let (block, leaves) = self.block(block);
            goes_on |= leaves;
            Rc::new(block)
        });
        let alternatives: Option<_> = checked.into_iter().collect();
        let kind = alternatives
            .map(|alternatives| StmtKind::Op(Message::Receive { alternatives, after }.into()));
        (kind, goes_on)
    }

    fn alternative(
        &mut self,
        alternative: &Alternative<Written>,
    ) -> (Option<Alternative<Resolved>>, bool) {
        let patterns: Vec<_> = alternative.patterns.iter().map(|it| self.pattern(it)).collect();
        let guard = alternative.guard.as_ref().map(|guard| {
            let guard = self.in_region(Region::Guard, |body| body.condition(guard));
            guard.map(Some)
        });
        let (body, goes_on) = self.block(&alternative.to);
        let to = Rc::new(body);
        let patterns: Option<_> = patterns.into_iter().collect();
        // No guard is fine, a guard with errors is not.
        let guard = guard.unwrap_or(Some(None));
        let checked = patterns.zip(guard);
        (checked.map(|(patterns, guard)| Alternative { patterns, guard, to }), goes_on)
    }

    fn pattern(&mut self, pattern: &Pattern<Written>) -> Option<Pattern<Resolved>> {
        match pattern {
            Pattern::Ignore => Some(Pattern::Ignore),
            Pattern::Bind(name) => {
                Some(Pattern::Bind(self.declare_local(name, Type::Int, LocalKind::Variable)))
            }
            Pattern::Equal(expr) => self.pattern_value(expr).map(Pattern::Equal),
        }
    }

    fn pattern_value(&mut self, expr: &AstExpr) -> Option<Expr> {
        let problem = match &expr.kind {
            Ast::Leaf(AstLeaf::Int(_) | AstLeaf::Bool(_) | AstLeaf::Paren(_)) => None,
            Ast::Leaf(AstLeaf::Place(place)) if place.indices.is_empty() => {
                let name = &place.name.text;
                let plain = match self.local(name) {
                    Some(local) => self.locals[local.0].kind == LocalKind::ThreadIndex,
                    None => self.checker.names.get(name).is_some_and(|entry| {
                        matches!(entry.meaning, Meaning::Constant(_) | Meaning::Member(_))
                    }),
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
        if checked.ty() == Type::Thread {
            let message =
                format!("a pattern is int or bool, not {}", self.checker.type_name(checked.ty()));
            self.report(Diagnostic::error(expr.span, message));
            return None;
        }
        Some(checked)
    }
}
