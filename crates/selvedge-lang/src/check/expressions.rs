//! Types of expressions. What is constant is computed on the spot.

use super::Meaning;
use super::body::{BodyChecker, Region};
use super::effects::Effect;
use super::places::near_keyword;
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{ProcedureId, Type};
use crate::ops::{BinaryOp, Choice, Compute, Message, Op, Thread, UnaryOp};
use crate::span::Span;
use crate::tree::resolved::{Expr, ExprKind, Leaf};
use crate::tree::written::{Expr as AstExpr, ExprKind as Ast, Ident, Leaf as AstLeaf};

impl BodyChecker<'_, '_> {
    /// Returns the checked expression; `None` if it has errors.
    pub(super) fn expr(&mut self, expr: &AstExpr) -> Option<Expr> {
        let span = expr.span;
        match &expr.kind {
            Ast::Leaf(leaf) => self.leaf(leaf, span),
            Ast::And(left, right) => self.logic(true, [left, right], span),
            Ast::Or(left, right) => self.logic(false, [left, right], span),
            Ast::If { condition, then, otherwise } => {
                self.if_expression([condition, then, otherwise], span)
            }
            Ast::Op(op) => match &**op {
                Op::Compute { value: Compute::Unary(op, operand), .. } => {
                    self.unary(*op, operand, span)
                }
                Op::Compute { value: Compute::Binary(op, left, right), .. } => {
                    self.binary(*op, [left, right], span)
                }
                Op::Choice(Choice::Choose { low, high, .. }) => self.choose(low, high, span),
                Op::Thread(Thread::Spawn { procedure, arguments, .. }) => {
                    self.spawn(procedure, arguments, span)
                }
                Op::Message(Message::TrySend { to, values, .. }) => {
                    self.try_send_to(to, values, span)
                }
                _ => unreachable!("internal error: not written as an expression"),
            },
        }
    }

    fn leaf(&mut self, leaf: &AstLeaf, span: Span) -> Option<Expr> {
        match leaf {
            AstLeaf::Int(value) => Some(Expr::constant(*value, Type::Int, span)),
            AstLeaf::Bool(value) => Some(Expr::constant(i32::from(*value), Type::Bool, span)),
            AstLeaf::Paren(inner) => self.expr(inner),
            AstLeaf::Place(place) => self.place_value(place),
            AstLeaf::Field { base, field } => self.field(base, field, span),
            AstLeaf::Call { name, args } => self.call(name, args, span),
            AstLeaf::Choose => {
                self.effect(Effect::Wait, "`choose`", span);
                let [low, high] = [0, 2].map(|end| Expr::constant(end, Type::Int, span));
                Some(Expr::of(Choice::Choose { target: (), low, high }, Type::Bool, span))
            }
            AstLeaf::Post(post) => self.post(post, span),
            AstLeaf::Await(future) => self.awaited_value(future, span),
            AstLeaf::ActorIndex => self.actor_index(span),
            AstLeaf::Monitor(monitor) => self.monitor(monitor, span),
            AstLeaf::SelfHandle => {
                let error = Diagnostic::error(span, "`self` can only be the target of `send`");
                self.report(error.help("write `send self(…);`"));
                None
            }
        }
    }

    /// Returns an expression that must have type `wanted`; `what` says what it is.
    pub(super) fn typed(&mut self, expr: &AstExpr, wanted: Type, what: &str) -> Option<Expr> {
        let checked = self.expr(expr)?;
        if checked.ty() != wanted {
            let error = self.checker.mismatch(expr.span, wanted, checked.ty(), what);
            self.report(error);
            return None;
        }
        Some(checked)
    }

    pub(super) fn condition(&mut self, expr: &AstExpr) -> Option<Expr> {
        self.typed(expr, Type::Bool, "a condition")
    }

    /// `first.v`: declared beforehand under the whole name.
    fn field(&mut self, base: &Ident, field: &Ident, span: Span) -> Option<Expr> {
        let name = format!("{}.{}", base.text, field.text);
        if let Some(local) = self.local(&name) {
            self.locals[local.0].used = true;
            let ty = self.locals[local.0].ty;
            return Some(Expr::leaf(Leaf::Local(local), ty, span));
        }
        if self.region != Region::Condition {
            let error = Diagnostic::error(span, "`.` can only be used in `independent … if`");
            self.report(error.help("there it means a local variable of an atomic block"));
            return None;
        }
        let prefix = format!("{}.", base.text);
        let fields = self.visible_locals().filter_map(|(name, _)| name.strip_prefix(&prefix));
        let fields: Vec<String> = fields.map(str::to_owned).collect();
        let names = fields.iter().map(String::as_str);
        let help = match nearest(&field.text, names.clone()) {
            Some(near) => Some(format!("did you mean `{}.{near}`?", base.text)),
            None if fields.is_empty() => None,
            None => Some(format!("it has `{}`", names.take(6).collect::<Vec<_>>().join("`, `"))),
        };
        let message = format!("no variable `{}` can be used in `{}`", field.text, base.text);
        self.report(Diagnostic::error(span, message).maybe_help(help));
        None
    }

    fn unary(&mut self, op: UnaryOp, operand: &AstExpr, span: Span) -> Option<Expr> {
        let (ty, what) = match op {
            UnaryOp::Not => (Type::Bool, "the operand of `!`"),
            UnaryOp::Negate | UnaryOp::Abs => (Type::Int, "the operand of `-`"),
            UnaryOp::Complement => (Type::Int, "the operand of `~`"),
        };
        let operand = match op {
            UnaryOp::Complement => self.bits(operand, what, "for a logical \"not\" write `!`")?,
            _ => self.typed(operand, ty, what)?,
        };
        self.unary_value(op, operand, span)
    }

    pub(super) fn unary_value(&mut self, op: UnaryOp, operand: Expr, span: Span) -> Option<Expr> {
        let ty = operand.ty();
        if let Some(value) = operand.as_constant() {
            match op.apply(value) {
                Some(value) => return Some(Expr::constant(value, ty, span)),
                None => self.constant_fault(span, "overflows 32 bits")?,
            }
        }
        let value = Compute::Unary(op, operand);
        Some(Expr::of(Op::Compute { target: (), value }, ty, span))
    }

    fn binary(&mut self, op: BinaryOp, sides: [&AstExpr; 2], span: Span) -> Option<Expr> {
        if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            return self.equality(op, sides, span);
        }
        let what = format!("an operand of `{op}`");
        let [left, right] = match op {
            _ if !op.is_bitwise() => sides.map(|side| self.typed(side, Type::Int, &what)),
            BinaryOp::BitXor => {
                sides.map(|side| self.bits(side, &what, "two booleans differ if `a != b`"))
            }
            _ => {
                let help = format!("for a logical operator write `{op}{op}`");
                sides.map(|side| self.bits(side, &what, &help))
            }
        };
        self.binary_value(op, left?, right?, span)
    }

    /// Returns an operand of an operation on bits. Other languages have it on booleans: `help` says what to write.
    fn bits(&mut self, expr: &AstExpr, what: &str, help: &str) -> Option<Expr> {
        let checked = self.expr(expr)?;
        match checked.ty() {
            Type::Int => return Some(checked),
            Type::Bool => {
                let message = format!("{what} must be int, but this is bool");
                self.report(Diagnostic::error(expr.span, message).help(help));
            }
            other => {
                let error = self.checker.mismatch(expr.span, Type::Int, other, what);
                self.report(error);
            }
        }
        None
    }

    fn equality(&mut self, op: BinaryOp, [left, right]: [&AstExpr; 2], span: Span) -> Option<Expr> {
        let (left, right) = (self.expr(left), self.expr(right));
        let (left, right) = left.zip(right)?;
        if left.ty() != right.ty() {
            let [a, b] = [&left, &right].map(|side| self.checker.type_name(side.ty()));
            let message = format!("{a} and {b} cannot be compared");
            self.report(Diagnostic::error(span, message));
            return None;
        }
        if left.ty().representation() == Type::Thread {
            self.report(Diagnostic::error(span, "thread handles cannot be compared"));
            return None;
        }
        self.binary_value(op, left, right, span)
    }

    pub(super) fn binary_value(
        &mut self,
        op: BinaryOp,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Option<Expr> {
        if let (Some(a), Some(b)) = (left.as_constant(), right.as_constant()) {
            match op.apply(a, b) {
                Some(value) => return Some(Expr::constant(value, op.result(), span)),
                None if op.divides() && b == 0 => self.constant_fault(span, "divides by zero")?,
                None if op.shifts() => {
                    let reason = format!("shifts by {b}: possible are 0 to 31");
                    self.constant_fault(span, &reason)?;
                }
                None => self.constant_fault(span, "overflows 32 bits")?,
            }
        }
        let value = Compute::Binary(op, left, right);
        Some(Expr::of(Op::Compute { target: (), value }, op.result(), span))
    }

    /// In a constant a fault is an error; elsewhere it is one when the program gets there.
    fn constant_fault(&mut self, span: Span, reason: &str) -> Option<()> {
        if self.region != Region::Constant {
            return Some(());
        }
        self.report(Diagnostic::error(span, format!("this constant {reason}")));
        None
    }

    fn logic(&mut self, is_and: bool, sides: [&AstExpr; 2], span: Span) -> Option<Expr> {
        let what = format!("an operand of `{}`", if is_and { "&&" } else { "||" });
        let [left, right] = sides.map(|side| self.typed(side, Type::Bool, &what));
        let (left, right) = left.zip(right)?;
        if let Some(value) = left.as_constant() {
            // The right side is all that counts, or is not evaluated.
            return match (value != 0) == is_and {
                true => Some(Expr { span, ..right }),
                false => Some(Expr::constant(value, Type::Bool, span)),
            };
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if is_and { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
        Some(Expr { kind, known: Type::Bool, span })
    }

    fn if_expression(&mut self, parts: [&AstExpr; 3], span: Span) -> Option<Expr> {
        let [condition, then, otherwise] = parts;
        let condition = self.condition(condition);
        let (then, otherwise) = (self.expr(then), self.expr(otherwise));
        let (condition, (then, otherwise)) = condition.zip(then.zip(otherwise))?;
        if then.ty() != otherwise.ty() {
            let what = "the value after `else`, as the one before it,";
            let error = self.checker.mismatch(otherwise.span, then.ty(), otherwise.ty(), what);
            self.report(error);
            return None;
        }
        if let Some(value) = condition.as_constant() {
            let chosen = if value != 0 { then } else { otherwise };
            return Some(Expr { span, ..chosen });
        }
        let known = then.ty();
        let kind = ExprKind::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Some(Expr { kind, known, span })
    }

    fn choose(&mut self, low: &AstExpr, high: &AstExpr, span: Span) -> Option<Expr> {
        self.effect(Effect::Wait, "`choose`", span);
        let low = self.typed(low, Type::Int, "the start of a range");
        let high = self.typed(high, Type::Int, "the end of a range");
        let op = Choice::Choose { target: (), low: low?, high: high? };
        Some(Expr::of(op, Type::Int, span))
    }

    fn spawn(&mut self, name: &Ident, args: &[AstExpr], span: Span) -> Option<Expr> {
        self.effect(Effect::Send, "`spawn`", span);
        let Some(routine) = self.routine_named(name, "spawn") else {
            args.iter().for_each(|arg| self.check_loosely(arg));
            return None;
        };
        let passed = self.args(routine, args, span);
        if self.checker.routines[routine.index()].decl.result.is_some() {
            let message = format!("`{}` is a function; `spawn` needs a procedure", name.text);
            let help = "write a `proc` that calls it";
            self.report(Diagnostic::error(name.span, message).help(help));
            return None;
        }
        let (procedure, arguments) = passed?;
        let arguments = arguments.into();
        let op = Thread::Spawn { procedure, arguments, target: Some(()) };
        Some(Expr::of(op, Type::Thread, span))
    }

    /// Checks a call for its value.
    fn call(&mut self, name: &Ident, args: &[AstExpr], span: Span) -> Option<Expr> {
        let meaning = self.checker.names.get(&name.text).map(|entry| entry.meaning);
        if !matches!(meaning, Some(Meaning::Routine(_)))
            && let Some(result) = self.builtin_value(name, args, span)
        {
            return result;
        }
        let routine = self.routine_named(name, "call");
        let Some(routine) = routine else {
            args.iter().for_each(|arg| self.check_loosely(arg));
            return None;
        };
        let passed = self.args(routine, args, span);
        self.note_call(routine, span);
        let Some(ty) = self.checker.routines[routine.index()].decl.result else {
            let message = format!("`{}` is a procedure and returns no value", name.text);
            let help = "declare it with `fn` and a result type, or call it as a statement";
            self.report(Diagnostic::error(span, message).help(help));
            return None;
        };
        let (procedure, arguments) = passed?;
        let arguments = arguments.into();
        Some(Expr::of(Op::Call { procedure, arguments, target: Some(()) }, ty, span))
    }

    /// Notes a call for the check of effects, which are those of routines as they are written.
    pub(super) fn note_call(&mut self, routine: ProcedureId, span: Span) {
        if self.checker.passed.is_instance() {
            return;
        }
        if self.region == Region::Constant {
            self.effect(Effect::Wait, "a call", span);
        } else {
            self.checker.effects.add_call(self.owner, routine, self.region, span);
        }
    }

    /// Returns the user's function or procedure with this name.
    pub(super) fn routine_named(&mut self, name: &Ident, verb: &str) -> Option<ProcedureId> {
        match self.checker.names.get(&name.text).map(|entry| entry.meaning) {
            Some(Meaning::Routine(i)) => {
                self.checker.routines[i].used = true;
                Some(ProcedureId::new(i))
            }
            Some(meaning) => {
                let what = self.checker.describe(meaning);
                let message = format!("`{}` is {what}: it cannot be {verb}ed", name.text);
                self.report(Diagnostic::error(name.span, message));
                None
            }
            None => {
                let routines = |meaning| matches!(meaning, Meaning::Routine(_));
                let global = self.checker.near_global(&name.text, routines).map(str::to_owned);
                let builtins = super::builtins::NAMES.iter().copied().filter(|_| verb == "call");
                let near = nearest(&name.text, global.as_deref().into_iter().chain(builtins));
                let keyword = near_keyword(&name.text).filter(|_| verb == "call");
                let written = super::builtins::written(&name.text).filter(|_| verb == "call");
                let help = match (near.or(keyword), written) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, Some(usage)) => format!("here it is written `{usage}`"),
                    (None, None) if verb == "spawn" => {
                        format!("declare it: `proc {}() {{ … }}`", name.text)
                    }
                    (None, None) => format!(
                        "declare it: `proc {0}() {{ … }}`, or `fn {0}() -> int {{ … }}` if it returns a value",
                        name.text
                    ),
                };
                self.report_unknown_as(name, "function or procedure", help);
                None
            }
        }
    }

    /// Returns the arguments of a call or a `spawn`, and what it is that is called.
    pub(super) fn args(
        &mut self,
        routine: ProcedureId,
        args: &[AstExpr],
        span: Span,
    ) -> Option<(ProcedureId, Vec<Expr>)> {
        let decl = self.checker.routines[routine.index()].decl;
        if decl.task {
            let message = format!("`{}` is a task", decl.name.text);
            let help = format!("post it: `post {}(…)`", decl.name.text);
            self.report(Diagnostic::error(span, message).help(help));
        }
        let own = match decl.member {
            Some(_) => self.own_index(span),
            None => None,
        };
        let (called, args) = self.args_without_index(routine, args, span)?;
        Some((called, own.into_iter().chain(args).collect()))
    }

    /// Returns the arguments as they are written: without the index of an actor.
    pub(super) fn args_without_index(
        &mut self,
        routine: ProcedureId,
        args: &[AstExpr],
        span: Span,
    ) -> Option<(ProcedureId, Vec<Expr>)> {
        let decl = self.checker.routines[routine.index()].decl;
        if decl.params.len() != args.len() {
            args.iter().for_each(|arg| match decl.takes_objects() {
                true => self.check_loosely(arg),
                false => drop(self.expr(arg)),
            });
            let (wanted, given) = (decl.params.len(), args.len());
            let message = format!("`{}` needs {}, not {given}", decl.name.text, arguments(wanted));
            let error = Diagnostic::error(span, message);
            self.report(error.other(decl.name.span, "declared here"));
            return None;
        }
        self.passed(routine, args)
    }
}

pub(super) fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}
