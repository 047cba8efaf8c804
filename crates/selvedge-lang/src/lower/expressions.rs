//! Expressions.

use super::Lowerer;
use super::code::Code;
use crate::ast::LockOp;
use crate::check::tree::{Element, Expr, ExprKind, Local, LocalId, Query};
use crate::ir::{self, Change, Op, Operand, ProcedureId, Shown, SiteId, Slot, Type};

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
            self.code.emit(Op::Copy { target, value }, site);
        }
    }

    pub(super) fn values(&mut self, exprs: &[Expr]) -> Box<[Operand]> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    /// `wanted` is where a computed value goes; a constant or a variable stays where it is.
    fn evaluate(&mut self, expr: &Expr, wanted: Option<Slot>) -> Operand {
        match &expr.kind {
            ExprKind::Constant(value) => return Operand::Constant(*value),
            ExprKind::Local(local) => {
                let value = Operand::Slot(self.code.local(*local));
                self.show(expr, value);
                return value;
            }
            ExprKind::Thread { group, index } => {
                return self.thread(*group, index.as_deref(), expr.span);
            }
            ExprKind::And(..) | ExprKind::Or(..) | ExprKind::If { .. } => {
                return self.branching_value(expr, wanted);
            }
            _ => {}
        }
        let (op, target) = self.computed(expr, wanted);
        let site = self.site_of(expr, &op);
        self.code.emit(op, site);
        let value = Operand::Slot(target);
        if matches!(expr.kind, ExprKind::Read(_) | ExprKind::Query { .. }) {
            self.show(expr, value);
        }
        value
    }

    /// Returns the instruction that computes the value. What it needs has been emitted; its target is
    /// chosen last, when the temporaries of its operands are in use.
    fn computed(&mut self, expr: &Expr, wanted: Option<Slot>) -> (Op, Slot) {
        let ty = expr.ty;
        let target = |code: &mut Code| wanted.unwrap_or_else(|| code.temporary(ty));
        match &expr.kind {
            ExprKind::Read(element) => {
                let variable = self.object(element);
                let target = target(&mut self.code);
                (Op::Read { target, variable }, target)
            }
            ExprKind::Unary(op, operand) => {
                let value = self.value(operand);
                let target = target(&mut self.code);
                (Op::Unary { op: *op, target, value }, target)
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                let target = target(&mut self.code);
                (Op::Binary { op: *op, target, left, right }, target)
            }
            ExprKind::Call { routine, args } => {
                let arguments = self.values(args);
                let target = target(&mut self.code);
                (Op::Call { procedure: *routine, arguments, target: Some(target) }, target)
            }
            ExprKind::CompareExchange { variable, expected, new } => {
                let variable = self.object(variable);
                let (expected, new) = (self.value(expected), self.value(new));
                let target = target(&mut self.code);
                (Op::CompareExchange { target, variable, expected, new }, target)
            }
            ExprKind::Exchange { variable, new } => {
                let variable = self.object(variable);
                let new = self.value(new);
                let target = target(&mut self.code);
                (Op::Exchange { target, variable, new }, target)
            }
            ExprKind::FetchAdd { variable, delta } => {
                let variable = self.object(variable);
                let delta = self.value(delta);
                let target = target(&mut self.code);
                (Op::FetchAdd { target, variable, delta }, target)
            }
            ExprKind::TryLock { op, target: lock } => {
                let object = self.object(lock);
                let target = target(&mut self.code);
                let op = match op {
                    LockOp::Mutex => Op::TryLock { target, mutex: object },
                    LockOp::Read => Op::TryReadLock { target, rwlock: object },
                    LockOp::Write => Op::TryWriteLock { target, rwlock: object },
                };
                (op, target)
            }
            ExprKind::TryDown(semaphore) => {
                let semaphore = self.object(semaphore);
                let target = target(&mut self.code);
                (Op::TryDown { target, semaphore }, target)
            }
            ExprKind::Choose(range) => {
                let (low, high) = match range.as_deref() {
                    Some((low, high)) => (self.value(low), self.value(high)),
                    None => (Operand::Constant(0), Operand::Constant(2)),
                };
                let target = target(&mut self.code);
                (Op::Choose { target, low, high }, target)
            }
            ExprKind::Query { container, query } => {
                let container = self.object(container);
                let query = self.query(query);
                let target = target(&mut self.code);
                (Op::ReadContainer { target, container, query }, target)
            }
            ExprKind::Pop { list, front } => {
                let container = self.object(list);
                let target = target(&mut self.code);
                (Op::ChangeContainer { container, change: pop(*front, Some(target)) }, target)
            }
            ExprKind::Spawn { routine, args } => {
                let arguments = self.values(args);
                let target = target(&mut self.code);
                (Op::Spawn { procedure: *routine, arguments, target: Some(target) }, target)
            }
            ExprKind::Own => {
                let target = target(&mut self.code);
                (Op::Own { target }, target)
            }
            ExprKind::Constant(_)
            | ExprKind::Local(_)
            | ExprKind::Thread { .. }
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::If { .. } => {
                unreachable!("internal error: lowered by `evaluate`")
            }
        }
    }

    fn query(&mut self, query: &Query) -> ir::Query {
        match query {
            Query::Length => ir::Query::Length,
            Query::Element(index) => ir::Query::Element(self.value(index)),
            Query::Contains(value) => ir::Query::Contains(self.value(value)),
            Query::Get(key) => ir::Query::Get(self.value(key)),
            Query::Has(key) => ir::Query::Has(self.value(key)),
            Query::GetOr(key, default) => {
                let key = self.value(key);
                ir::Query::GetOr(key, self.value(default))
            }
        }
    }

    /// Evaluates for the effect only.
    pub(super) fn discard(&mut self, expr: &Expr) {
        let op = match &expr.kind {
            ExprKind::Call { routine, args } => {
                Op::Call { procedure: *routine, arguments: self.values(args), target: None }
            }
            ExprKind::Spawn { routine, args } => {
                Op::Spawn { procedure: *routine, arguments: self.values(args), target: None }
            }
            ExprKind::Pop { list, front } => {
                let container = self.object(list);
                Op::ChangeContainer { container, change: pop(*front, None) }
            }
            _ => {
                self.value(expr);
                return;
            }
        };
        let site = self.sites.plain(expr.span);
        self.code.emit(op, site);
    }

    /// Arithmetic shows the operands that have names.
    fn site_of(&mut self, expr: &Expr, op: &Op) -> SiteId {
        let shown = match (&expr.kind, op) {
            (ExprKind::Unary(_, operand), Op::Unary { value, .. }) => {
                self.named(operand, *value).into_iter().collect()
            }
            (ExprKind::Binary(_, a, b), Op::Binary { left, right, .. }) if expr.ty == Type::Int => {
                let (a, b) = (self.named(a, *left), self.named(b, *right));
                a.into_iter().chain(b).collect()
            }
            _ => Vec::new(),
        };
        self.sites.showing(expr.span, shown)
    }

    /// Returns the operand with its name, if it is a variable or an element.
    pub(super) fn named(&self, expr: &Expr, value: Operand) -> Option<Shown> {
        let named =
            matches!(expr.kind, ExprKind::Local(_) | ExprKind::Read(_) | ExprKind::Query { .. });
        named.then(|| Shown { name: self.sites.one_line(expr.span), value, ty: expr.ty })
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
        self.procedures.push(Some(code.finish(name, locals.len(), Some(expr.ty), None)));
        ProcedureId::new(self.procedures.len() - 1)
    }

    /// Returns the name of an object as it is written.
    pub(super) fn written(&self, element: &Element) -> String {
        self.sites.one_line(element.span)
    }
}

fn pop(front: bool, target: Option<Slot>) -> Change {
    if front { Change::PopFront(target) } else { Change::Pop(target) }
}
