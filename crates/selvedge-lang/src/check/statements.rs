//! Statements: types, and whether control comes out at the end.

use super::body::{BodyChecker, LocalKind, Region};
use super::effects::Effect;
use super::places::Wanted;
use super::tree::{Expr, ExprKind, SectionId, Stmt, StmtKind};
use super::{Meaning, SectionInfo, type_name};
use crate::ast::{
    AssignOp, BinaryOp as AstOp, Block, Expr as AstExpr, ExprKind as Ast, Ident, LockOp,
    ObjectKind, Place, Stmt as AstStmt, StmtKind as AstKind,
};
use crate::diagnostic::Diagnostic;
use crate::ir::{BinaryOp, Type};
use crate::span::Span;

/// How many local variables a named atomic block can offer to independence constraints. Beyond: an error.
const MAX_SECTION_LOCALS: usize = 250;

/// A checked statement (`None`: it has errors), and whether control continues after it.
pub(super) type Checked = (Option<StmtKind>, bool);

impl BodyChecker<'_, '_> {
    /// Returns the statements of a block, and whether control comes out at its end.
    pub(super) fn block(&mut self, block: &Block) -> (Vec<Stmt>, bool) {
        self.in_scope(|body| body.statements(&block.statements))
    }

    fn statements(&mut self, statements: &[AstStmt]) -> (Vec<Stmt>, bool) {
        let mut checked = Vec::with_capacity(statements.len());
        let mut goes_on = true;
        let mut warned = false;
        for statement in statements {
            if !goes_on && !warned {
                warned = true;
                let message = "this statement is never reached";
                self.report(Diagnostic::warning(statement.span, message));
            }
            let (kind, after) = self.statement(statement);
            goes_on &= after;
            checked.extend(kind.map(|kind| Stmt { kind, span: statement.span }));
        }
        (checked, goes_on)
    }

    fn statement(&mut self, statement: &AstStmt) -> Checked {
        let span = statement.span;
        let straight = match &statement.kind {
            AstKind::If { branches, otherwise } => return self.if_statement(branches, otherwise),
            AstKind::While { condition, body } => return self.while_statement(condition, body),
            AstKind::Loop { body } => return self.loop_statement(body, span),
            AstKind::For { index, low, high, body } => {
                return self.for_statement(index, [low, high], body);
            }
            AstKind::Break => return self.jump("break", StmtKind::Break, span),
            AstKind::Continue => return self.jump("continue", StmtKind::Continue, span),
            AstKind::Return(value) => return self.return_statement(value.as_ref(), span),
            AstKind::Lock { op, target, body: Some(block) } => {
                return self.scoped_lock(*op, target, block, span);
            }
            AstKind::Receive { alternatives, after } => {
                return self.receive(alternatives, after.as_ref(), span);
            }
            AstKind::Atomic { name, body } => return self.atomic(name.as_ref(), body),
            AstKind::Block(block) => {
                let (statements, goes_on) = self.block(block);
                return (Some(StmtKind::Block(statements)), goes_on);
            }
            AstKind::Assert { condition, message } => self
                .condition(condition)
                .map(|condition| StmtKind::Assert { condition, message: message.clone() }),
            AstKind::Let { name, ty, value } => self.let_statement(name, *ty, value),
            AstKind::Assign { target, op, value } => self.assign(target, *op, value, span),
            AstKind::Expr(expr) => self.expression_statement(expr),
            AstKind::Assume(condition) => {
                self.effect(Effect::Assume, "`assume`", span);
                self.condition(condition).map(StmtKind::Assume)
            }
            AstKind::Await(condition) => {
                self.effect(Effect::Await, "`await`", span);
                let condition = self.in_region(Region::Await, |body| body.condition(condition));
                condition.map(StmtKind::Await)
            }
            AstKind::Lock { op, target, body: None } => self
                .lock_target(*op, op.lock_word(), target, span)
                .map(|target| StmtKind::Lock { op: *op, target, body: None }),
            AstKind::Unlock { op, target } => self
                .lock_target(*op, op.unlock_word(), target, span)
                .map(|target| StmtKind::Unlock { op: *op, target }),
            AstKind::Send { target, message } => self.send(target, message, span),
            AstKind::Join(handle) => {
                self.effect(Effect::Wait, "`join`", span);
                self.typed(handle, Type::Thread, "what `join` waits for").map(StmtKind::Join)
            }
            AstKind::Skip => Some(StmtKind::Skip),
            AstKind::Yield => {
                self.effect(Effect::Wait, "`yield`", span);
                Some(StmtKind::Yield)
            }
        };
        (straight, true)
    }

    fn let_statement(
        &mut self,
        name: &Ident,
        ty: Option<Type>,
        value: &AstExpr,
    ) -> Option<StmtKind> {
        let value = match ty {
            Some(ty) => self.typed(value, ty, &format!("the value of `{}`", name.text)),
            None => self.expr(value),
        };
        // Declared in any case, so that its uses are not unknown.
        let known = ty.or(value.as_ref().map(|value| value.ty));
        let local = self.declare_local(name, known.unwrap_or(Type::Int), LocalKind::Variable);
        self.locals[local.0].broken = known.is_none();
        Some(StmtKind::SetLocal { local, value: value? })
    }

    fn assign(
        &mut self,
        target: &Place,
        op: AssignOp,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        let name = &target.name.text;
        if let Some(local) = self.local(name) {
            return self.assign_local(local, target, op, value, span);
        }
        match self.checker.names.get(name).map(|entry| entry.meaning) {
            Some(Meaning::Object(i)) => self.assign_object(i, target, op, value, span),
            Some(meaning) => {
                self.expr(value);
                let what = self.checker.describe(meaning);
                let message = format!("`{name}` is {what}: nothing can be assigned to it");
                let help = matches!(meaning, Meaning::Constant(_));
                let help = help.then(|| format!("declare it as a variable: `shared {name} = 0;`"));
                self.report(Diagnostic::error(target.span, message).maybe_help(help));
                None
            }
            None => {
                // Says that it is unknown.
                self.place_value(target);
                self.expr(value);
                None
            }
        }
    }

    fn assign_local(
        &mut self,
        local: super::tree::LocalId,
        target: &Place,
        op: AssignOp,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        let info = &self.locals[local.0];
        let (ty, used) = (info.ty, info.used);
        if let Some(what) = info.kind.fixed() {
            let message = format!("`{}` is {what}: nothing can be assigned to it", info.name);
            let help = format!("copy it: `let v = {};`", info.name);
            self.report(Diagnostic::error(target.span, message).help(help));
        }
        let current = self.place_value(target);
        // Assigning is not reading.
        self.locals[local.0].used = used;
        let value = self.new_value(op, ty, value, target)?;
        let (current, value) = (current?, value);
        let value = match binary(op) {
            None => value,
            Some(op) => self.binary_value(op, current, value, Type::Int, span)?,
        };
        Some(StmtKind::SetLocal { local, value })
    }

    fn assign_object(
        &mut self,
        i: usize,
        target: &Place,
        op: AssignOp,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        let name = &target.name.text;
        let kind = self.checker.objects[i].decl.kind;
        let dimensions = self.checker.objects[i].decl.sizes.len();
        match kind {
            ObjectKind::Shared { .. } => {
                let element = self.object(target, Wanted::Variable, "an assignment");
                self.effect(Effect::Write, &format!("a write of `{name}`"), span);
                let ty = self.checker.objects[i].ty;
                let value = self.new_value(op, ty, value, target);
                let (_, element) = element?;
                Some(StmtKind::SetShared { target: element, op: binary(op), value: value? })
            }
            ObjectKind::List | ObjectKind::Map if target.indices.len() == dimensions + 1 => {
                self.checker.objects[i].used = true;
                let entry = self.entry_of(i, target);
                self.effect(Effect::Write, &format!("a write of `{name}`"), span);
                let value = self.new_value(op, Type::Int, value, target);
                let (container, key) = entry?;
                let is_map = kind == ObjectKind::Map;
                Some(StmtKind::SetEntry { container, is_map, key, op: binary(op), value: value? })
            }
            _ => {
                self.expr(value);
                let message = format!("nothing can be assigned to {} as a whole", kind.describe());
                let help = match kind {
                    ObjectKind::List => {
                        Some(format!("write `push({name}, v);` or `{name}[i] = v;`"))
                    }
                    ObjectKind::Map => Some(format!("write `{name}[k] = v;`")),
                    ObjectKind::Semaphore => Some(format!("write `up({name});`")),
                    _ => None,
                };
                self.report(Diagnostic::error(target.span, message).maybe_help(help));
                None
            }
        }
    }

    /// Returns the right side of an assignment to something of type `ty`.
    fn new_value(
        &mut self,
        op: AssignOp,
        ty: Type,
        value: &AstExpr,
        target: &Place,
    ) -> Option<Expr> {
        let name = &target.name.text;
        if op != AssignOp::Set && ty != Type::Int {
            self.expr(value);
            let message = format!("`{}=` needs int, but `{name}` is {}", sign(op), type_name(ty));
            self.report(Diagnostic::error(target.span, message));
            return None;
        }
        self.typed(value, ty, &format!("what is assigned to `{name}`"))
    }

    fn expression_statement(&mut self, expr: &AstExpr) -> Option<StmtKind> {
        match &expr.kind {
            Ast::Call { name, args } => self.call_statement(name, args, expr),
            Ast::Spawn { .. } | Ast::Choose { .. } => self.expr(expr).map(StmtKind::Expr),
            kind => {
                self.expr(expr);
                let error = Diagnostic::error(expr.span, "this statement does nothing");
                let help = match kind {
                    Ast::Binary { op: AstOp::Equal, .. } => "assign with `=`, or write `assert`",
                    Ast::Place(_) => "assign with `=`, or call it with `(…)`",
                    _ => "use its value: `let v = …;`",
                };
                self.report(error.help(help));
                None
            }
        }
    }

    fn call_statement(
        &mut self,
        name: &Ident,
        args: &[AstExpr],
        expr: &AstExpr,
    ) -> Option<StmtKind> {
        let meaning = self.checker.names.get(&name.text).map(|entry| entry.meaning);
        let Some(Meaning::Routine(i)) = meaning else {
            return match self.builtin_statement(name, args, expr.span) {
                Some(statement) => statement,
                None => self.expr(expr).map(StmtKind::Expr),
            };
        };
        if self.checker.routines[i].decl.result.is_some() {
            return self.expr(expr).map(StmtKind::Expr);
        }
        let routine = self.routine_named(name, "call")?;
        let args = self.args(routine, args, expr.span);
        self.note_call(routine, expr.span);
        Some(StmtKind::Call { routine, args: args? })
    }

    fn if_statement(
        &mut self,
        branches: &[(AstExpr, Block)],
        otherwise: &Option<Block>,
    ) -> Checked {
        let mut checked = Vec::new();
        let mut whole = true;
        let mut goes_on = false;
        for (condition, block) in branches {
            let condition = self.condition(condition);
            let (statements, after) = self.block(block);
            goes_on |= after;
            match condition {
                Some(condition) => checked.push((condition, statements)),
                None => whole = false,
            }
        }
        let last = match otherwise {
            Some(block) => {
                let (statements, after) = self.block(block);
                goes_on |= after;
                statements
            }
            None => {
                goes_on = true;
                Vec::new()
            }
        };
        (whole.then_some(StmtKind::If { branches: checked, otherwise: last }), goes_on)
    }

    fn while_statement(&mut self, condition: &AstExpr, block: &Block) -> Checked {
        let condition = self.condition(condition);
        let endless =
            matches!(&condition, Some(Expr { kind: ExprKind::Constant(value), .. }) if *value != 0);
        let (body, breaks) = self.loop_body(block);
        (condition.map(|condition| StmtKind::While { condition, body }), breaks || !endless)
    }

    fn loop_statement(&mut self, block: &Block, span: Span) -> Checked {
        let (body, breaks) = self.loop_body(block);
        let condition = super::expressions::constant(1, Type::Bool, span);
        (Some(StmtKind::While { condition, body }), breaks)
    }

    fn for_statement(
        &mut self,
        index: &Ident,
        [low, high]: [&AstExpr; 2],
        block: &Block,
    ) -> Checked {
        let low = self.typed(low, Type::Int, "the start of a range");
        let high = self.typed(high, Type::Int, "the end of a range");
        self.in_scope(|body| {
            let index = body.declare_local(index, Type::Int, LocalKind::LoopIndex);
            let (statements, _) = body.loop_body(block);
            let range = low.zip(high);
            let kind =
                range.map(|(low, high)| StmtKind::For { index, low, high, body: statements });
            (kind, true)
        })
    }

    /// Returns the body of a loop, and whether a `break` leaves it.
    fn loop_body(&mut self, block: &Block) -> (Vec<Stmt>, bool) {
        self.loops.push(false);
        let (statements, _) = self.block(block);
        (statements, self.loops.pop().unwrap_or(false))
    }

    fn jump(&mut self, word: &str, kind: StmtKind, span: Span) -> Checked {
        match self.loops.last_mut() {
            Some(breaks) => *breaks |= word == "break",
            None => {
                let message = format!("`{word}` outside of a loop");
                let help = "to leave the thread or procedure write `return`";
                self.report(Diagnostic::error(span, message).help(help));
            }
        }
        (Some(kind), false)
    }

    fn return_statement(&mut self, value: Option<&AstExpr>, span: Span) -> Checked {
        let kind = match (self.result, value) {
            (None, None) => Some(StmtKind::Return(None)),
            (Some(ty), Some(value)) => {
                let value = self.typed(value, ty, "the result");
                value.map(|value| StmtKind::Return(Some(value)))
            }
            (Some(ty), None) => {
                let message = format!("`return` without a value of type {}", type_name(ty));
                self.report(Diagnostic::error(span, message).help("write `return …;`"));
                None
            }
            (None, Some(value)) => {
                self.expr(value);
                let error = Diagnostic::error(value.span, "a thread or procedure returns no value");
                self.report(error.help("only a `fn` returns a value; write `return;`"));
                None
            }
        };
        (kind, false)
    }

    fn lock_target(
        &mut self,
        op: LockOp,
        word: &str,
        target: &Place,
        span: Span,
    ) -> Option<super::tree::Element> {
        let word = format!("`{word}`");
        let wanted = if op == LockOp::Mutex { Wanted::Mutex } else { Wanted::Rwlock };
        self.effect(Effect::Wait, &word, span.to(target.span));
        self.object(target, wanted, &word).map(|(_, element)| element)
    }

    fn scoped_lock(&mut self, op: LockOp, target: &Place, block: &Block, span: Span) -> Checked {
        let target = self.lock_target(op, op.lock_word(), target, span);
        let (body, goes_on) = self.block(block);
        (target.map(|target| StmtKind::Lock { op, target, body: Some(body) }), goes_on)
    }

    fn atomic(&mut self, name: Option<&Ident>, block: &Block) -> Checked {
        // A guard of `receive` may not look, not even without reading.
        self.effect(Effect::Read, "`atomic`", block.span);
        let section = name.map(|name| (self.declare_section(name), name.text.clone()));
        let region = match self.region {
            Region::Thread => Region::Atomic,
            stricter => stricter,
        };
        let (body, goes_on) = self.in_region(region, |checker| checker.block(block));
        (Some(StmtKind::Atomic { section, body }), goes_on)
    }

    fn declare_section(&mut self, name: &Ident) -> SectionId {
        let section = SectionId(self.checker.sections.len());
        self.checker.declare(name, Meaning::Section(section));
        let visible = self.visible_locals();
        let locals = visible.map(|(name, id)| (name.to_owned(), self.locals[id.0].ty, id));
        let locals: Vec<_> = locals.take(MAX_SECTION_LOCALS + 1).collect();
        if locals.len() > MAX_SECTION_LOCALS {
            let message = format!(
                "more than {MAX_SECTION_LOCALS} local variables can be used in block `{}`",
                name.text
            );
            let help = "remove its name, or make it an `atomic proc`";
            self.report(Diagnostic::error(name.span, message).help(help));
        }
        self.checker.sections.push(SectionInfo { routine: None, locals });
        section
    }
}

fn binary(op: AssignOp) -> Option<BinaryOp> {
    match op {
        AssignOp::Set => None,
        AssignOp::Add => Some(BinaryOp::Add),
        AssignOp::Subtract => Some(BinaryOp::Subtract),
        AssignOp::Multiply => Some(BinaryOp::Multiply),
    }
}

fn sign(op: AssignOp) -> &'static str {
    match op {
        AssignOp::Set => "",
        AssignOp::Add => "+",
        AssignOp::Subtract => "-",
        AssignOp::Multiply => "*",
    }
}
