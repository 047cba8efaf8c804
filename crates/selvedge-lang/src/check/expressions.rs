//! Types of expressions. What is constant is computed on the spot.

use super::Meaning;
use super::body::{BodyChecker, Region};
use super::effects::Effect;
use super::objects::mismatch;
use super::places::near_keyword;
use super::tree::{Expr, ExprKind};
use super::type_name;
use crate::ast::{BinaryOp as AstOp, Expr as AstExpr, ExprKind as Ast, Ident, UnaryOp as AstUnary};
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{BinaryOp, ProcedureId, Type, UnaryOp};
use crate::span::Span;

impl BodyChecker<'_, '_> {
    /// Returns the checked expression; `None` if it has errors.
    pub(super) fn expr(&mut self, expr: &AstExpr) -> Option<Expr> {
        let span = expr.span;
        match &expr.kind {
            Ast::Int(value) => Some(constant(*value, Type::Int, span)),
            Ast::Bool(value) => Some(constant(i32::from(*value), Type::Bool, span)),
            Ast::Paren(inner) => self.expr(inner),
            Ast::Place(place) => self.place_value(place),
            Ast::Field { base, field } => self.field(base, field, span),
            Ast::Unary { op, operand } => self.unary(*op, operand, span),
            Ast::Binary { op, left, right } => self.binary(*op, left, right, span),
            Ast::If { condition, then, otherwise } => {
                self.if_expression([condition, then, otherwise], span)
            }
            Ast::Call { name, args } => self.call(name, args, span),
            Ast::Choose { range } => self.choose(range.as_deref(), span),
            Ast::Spawn { name, args } => self.spawn(name, args, span),
            Ast::SelfHandle => {
                let error = Diagnostic::error(span, "`self` can only be the target of `send`");
                self.report(error.help("write `send self(…);`"));
                None
            }
        }
    }

    /// Returns an expression that must have type `wanted`; `what` says what it is.
    pub(super) fn typed(&mut self, expr: &AstExpr, wanted: Type, what: &str) -> Option<Expr> {
        let checked = self.expr(expr)?;
        if checked.ty != wanted {
            self.report(mismatch(expr.span, wanted, checked.ty, what));
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
            return Some(Expr { kind: ExprKind::Local(local), ty, span });
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

    fn unary(&mut self, op: AstUnary, operand: &AstExpr, span: Span) -> Option<Expr> {
        let (op, ty) = match op {
            AstUnary::Negate => (UnaryOp::Negate, Type::Int),
            AstUnary::Not => (UnaryOp::Not, Type::Bool),
        };
        let what = if ty == Type::Int { "the operand of `-`" } else { "the operand of `!`" };
        let operand = self.typed(operand, ty, what)?;
        self.unary_value(op, operand, span)
    }

    pub(super) fn unary_value(&mut self, op: UnaryOp, operand: Expr, span: Span) -> Option<Expr> {
        let ty = operand.ty;
        if let ExprKind::Constant(value) = operand.kind {
            let folded = match op {
                UnaryOp::Negate => value.checked_neg(),
                UnaryOp::Not => Some(1 - value),
                UnaryOp::Abs => value.checked_abs(),
            };
            match folded {
                Some(value) => return Some(constant(value, ty, span)),
                None => self.constant_fault(span, "overflows 32 bits")?,
            }
        }
        Some(Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty, span })
    }

    fn binary(&mut self, op: AstOp, left: &AstExpr, right: &AstExpr, span: Span) -> Option<Expr> {
        match arithmetic(op) {
            Some((op, result)) => self.arithmetic(op, result, [left, right], span),
            None if matches!(op, AstOp::And | AstOp::Or) => self.logic(op, [left, right], span),
            None => self.equality(op, [left, right], span),
        }
    }

    fn arithmetic(
        &mut self,
        op: BinaryOp,
        result: Type,
        [left, right]: [&AstExpr; 2],
        span: Span,
    ) -> Option<Expr> {
        let what = format!("an operand of `{}`", sign(op));
        let left = self.typed(left, Type::Int, &what);
        let right = self.typed(right, Type::Int, &what);
        self.binary_value(op, left?, right?, result, span)
    }

    fn equality(&mut self, op: AstOp, [left, right]: [&AstExpr; 2], span: Span) -> Option<Expr> {
        let (left, right) = (self.expr(left), self.expr(right));
        let (left, right) = left.zip(right)?;
        if left.ty != right.ty {
            let (a, b) = (type_name(left.ty), type_name(right.ty));
            let message = format!("{a} and {b} cannot be compared");
            self.report(Diagnostic::error(span, message));
            return None;
        }
        if left.ty == Type::Thread {
            self.report(Diagnostic::error(span, "thread handles cannot be compared"));
            return None;
        }
        let op = if op == AstOp::Equal { BinaryOp::Equal } else { BinaryOp::NotEqual };
        self.binary_value(op, left, right, Type::Bool, span)
    }

    pub(super) fn binary_value(
        &mut self,
        op: BinaryOp,
        left: Expr,
        right: Expr,
        ty: Type,
        span: Span,
    ) -> Option<Expr> {
        if let (ExprKind::Constant(a), ExprKind::Constant(b)) = (&left.kind, &right.kind) {
            match fold(op, *a, *b) {
                Ok(value) => return Some(constant(value, ty, span)),
                Err(reason) => self.constant_fault(span, reason)?,
            }
        }
        Some(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span })
    }

    /// In a constant a fault is an error; elsewhere it is one when the program gets there.
    fn constant_fault(&mut self, span: Span, reason: &str) -> Option<()> {
        if self.region != Region::Constant {
            return Some(());
        }
        self.report(Diagnostic::error(span, format!("this constant {reason}")));
        None
    }

    fn logic(&mut self, op: AstOp, [left, right]: [&AstExpr; 2], span: Span) -> Option<Expr> {
        let what = format!("an operand of `{}`", op.sign());
        let left = self.typed(left, Type::Bool, &what);
        let right = self.typed(right, Type::Bool, &what);
        let (left, right) = left.zip(right)?;
        let is_and = op == AstOp::And;
        if let ExprKind::Constant(value) = left.kind {
            // The right side is all that counts, or is not evaluated.
            return match (value != 0) == is_and {
                true => Some(Expr { span, ..right }),
                false => Some(constant(value, Type::Bool, span)),
            };
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if is_and { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
        Some(Expr { kind, ty: Type::Bool, span })
    }

    fn if_expression(&mut self, parts: [&AstExpr; 3], span: Span) -> Option<Expr> {
        let [condition, then, otherwise] = parts;
        let condition = self.condition(condition);
        let (then, otherwise) = (self.expr(then), self.expr(otherwise));
        let (condition, (then, otherwise)) = condition.zip(then.zip(otherwise))?;
        if then.ty != otherwise.ty {
            let what = "the value after `else`, as the one before it,";
            self.report(mismatch(otherwise.span, then.ty, otherwise.ty, what));
            return None;
        }
        if let ExprKind::Constant(value) = condition.kind {
            let chosen = if value != 0 { then } else { otherwise };
            return Some(Expr { span, ..chosen });
        }
        let ty = then.ty;
        let kind = ExprKind::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        Some(Expr { kind, ty, span })
    }

    fn choose(&mut self, range: Option<&(AstExpr, AstExpr)>, span: Span) -> Option<Expr> {
        self.effect(Effect::Wait, "`choose`", span);
        let Some((low, high)) = range else {
            return Some(Expr { kind: ExprKind::Choose(None), ty: Type::Bool, span });
        };
        let low = self.typed(low, Type::Int, "the start of a range");
        let high = self.typed(high, Type::Int, "the end of a range");
        let range = Box::new((low?, high?));
        Some(Expr { kind: ExprKind::Choose(Some(range)), ty: Type::Int, span })
    }

    fn spawn(&mut self, name: &Ident, args: &[AstExpr], span: Span) -> Option<Expr> {
        self.effect(Effect::Send, "`spawn`", span);
        let Some(routine) = self.routine_named(name, "spawn") else {
            args.iter().for_each(|arg| self.check_loosely(arg));
            return None;
        };
        let args = self.args(routine, args, span);
        if self.checker.routines[routine.index()].decl.result.is_some() {
            let message = format!("`{}` is a function; `spawn` needs a procedure", name.text);
            let help = "write a `proc` that calls it";
            self.report(Diagnostic::error(name.span, message).help(help));
            return None;
        }
        let kind = ExprKind::Spawn { routine, args: args? };
        Some(Expr { kind, ty: Type::Thread, span })
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
        let args = self.args(routine, args, span);
        self.note_call(routine, span);
        let Some(ty) = self.checker.routines[routine.index()].decl.result else {
            let message = format!("`{}` is a procedure and returns no value", name.text);
            let help = "declare it with `fn` and a result type, or call it as a statement";
            self.report(Diagnostic::error(span, message).help(help));
            return None;
        };
        Some(Expr { kind: ExprKind::Call { routine, args: args? }, ty, span })
    }

    /// Notes a call for the check of effects.
    pub(super) fn note_call(&mut self, routine: ProcedureId, span: Span) {
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

    /// Returns the arguments of a call or a `spawn`.
    pub(super) fn args(
        &mut self,
        routine: ProcedureId,
        args: &[AstExpr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let decl = self.checker.routines[routine.index()].decl;
        if decl.params.len() != args.len() {
            args.iter().for_each(|arg| drop(self.expr(arg)));
            let (wanted, given) = (decl.params.len(), args.len());
            let message = format!("`{}` needs {}, not {given}", decl.name.text, arguments(wanted));
            let error = Diagnostic::error(span, message);
            self.report(error.other(decl.name.span, "declared here"));
            return None;
        }
        let checked = args.iter().zip(&decl.params).map(|(arg, param)| {
            self.typed(arg, param.ty, &format!("argument `{}`", param.name.text))
        });
        // All of them are checked, even after one with an error.
        checked.collect::<Vec<_>>().into_iter().collect()
    }
}

pub(super) fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

pub(super) fn constant(value: i32, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Constant(value), ty, span }
}

/// Operators on integers, with the type of the result.
fn arithmetic(op: AstOp) -> Option<(BinaryOp, Type)> {
    Some(match op {
        AstOp::Add => (BinaryOp::Add, Type::Int),
        AstOp::Subtract => (BinaryOp::Subtract, Type::Int),
        AstOp::Multiply => (BinaryOp::Multiply, Type::Int),
        AstOp::Divide => (BinaryOp::Divide, Type::Int),
        AstOp::Remainder => (BinaryOp::Remainder, Type::Int),
        AstOp::Less => (BinaryOp::Less, Type::Bool),
        AstOp::LessEqual => (BinaryOp::LessEqual, Type::Bool),
        AstOp::Greater => (BinaryOp::Greater, Type::Bool),
        AstOp::GreaterEqual => (BinaryOp::GreaterEqual, Type::Bool),
        AstOp::Equal | AstOp::NotEqual | AstOp::And | AstOp::Or => return None,
    })
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
    }
}

fn fold(op: BinaryOp, a: i32, b: i32) -> Result<i32, &'static str> {
    let overflow = "overflows 32 bits";
    match op {
        BinaryOp::Add => a.checked_add(b).ok_or(overflow),
        BinaryOp::Subtract => a.checked_sub(b).ok_or(overflow),
        BinaryOp::Multiply => a.checked_mul(b).ok_or(overflow),
        BinaryOp::Divide | BinaryOp::Remainder if b == 0 => Err("divides by zero"),
        BinaryOp::Divide => a.checked_div(b).ok_or(overflow),
        BinaryOp::Remainder => a.checked_rem(b).ok_or(overflow),
        BinaryOp::Min => Ok(a.min(b)),
        BinaryOp::Max => Ok(a.max(b)),
        BinaryOp::Equal => Ok(i32::from(a == b)),
        BinaryOp::NotEqual => Ok(i32::from(a != b)),
        BinaryOp::Less => Ok(i32::from(a < b)),
        BinaryOp::LessEqual => Ok(i32::from(a <= b)),
        BinaryOp::Greater => Ok(i32::from(a > b)),
        BinaryOp::GreaterEqual => Ok(i32::from(a >= b)),
    }
}
