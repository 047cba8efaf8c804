//! Statements.

use super::Lowerer;
use super::code::Scope;
use super::conditions::copy;
use crate::ir::{AtomicId, AtomicKind, GlobalKind, Operand, Shown, Type};
use crate::ops::{
    BinaryOp, Change, Compute, Container, Ghost, Lock, LockMode, Op, Query, Variable,
};
use crate::span::Span;
use crate::tree::resolved::{
    Assignment, Block, Element, Expr, LocalId, SectionId, SectionName, Stmt, StmtKind,
};

impl Lowerer<'_> {
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            // What cannot be reached is left out, with its atomic sections.
            if !self.code.reachable {
                return;
            }
            let mark = self.code.mark();
            self.statement(statement);
            self.code.release(mark);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Set(Assignment::Local { local, value }) => {
                let target = self.code.local(*local);
                self.value_into(value, target);
            }
            StmtKind::Set(Assignment::Array { array, values }) => {
                self.declare_array(*array, values)
            }
            StmtKind::Set(Assignment::Element { array, index, place, op, value }) => {
                self.set_element(*array, index, *place, (*op, value), span);
            }
            StmtKind::Set(Assignment::Shared { target, op, value }) => {
                self.set_shared(target, *op, value, span);
            }
            StmtKind::Set(Assignment::Ghost { target, op, value }) => {
                self.set_ghost(target, *op, value, span);
            }
            StmtKind::Set(Assignment::Entry { container, is_map, key, op, value }) => {
                self.set_entry(container, *is_map, key, (*op, value), span);
            }
            StmtKind::Expr(expr) => self.discard(expr),
            StmtKind::If { branches, otherwise } => {
                self.if_statement(branches, otherwise.as_ref(), span);
            }
            StmtKind::While { condition, body } => self.while_statement(condition, body, span),
            StmtKind::For { index, low, high, body } => {
                self.for_statement(*index, [low, high], body, span);
            }
            StmtKind::ForEach { element, list, body } => {
                self.for_each_statement(*element, list, body, span);
            }
            StmtKind::Break | StmtKind::Continue => self.loop_exit(&statement.kind, span),
            StmtKind::Lock { mode, target, body } => {
                self.lock_statement(*mode, target, body.as_ref(), span);
            }
            StmtKind::Atomic { section, body } => self.atomic(section.as_ref(), body, span),
            StmtKind::Block(block) => self.statements(&block.statements),
            StmtKind::Scan(condition) => self.scan_statement(condition, span),
            StmtKind::Skip => {}
            StmtKind::Op(Op::Return { value }) => {
                let value = value.as_ref().map(|value| self.value(value));
                self.unwind(0, span);
                self.emit(Op::Return { value }, span);
            }
            StmtKind::Op(Op::Assert { condition, message }) => {
                self.assertion(condition, message.as_deref());
            }
            StmtKind::Op(Op::Assume { condition }) => {
                let value = self.value(condition);
                self.emit(Op::Assume { condition: value }, condition.span);
            }
            StmtKind::Op(Op::Progress) => self.emit(Op::Progress, span),
            StmtKind::Op(Op::Await { condition }) => {
                self.await_statement(condition, AtomicKind::Await, span);
            }
            StmtKind::Op(op) => self.operation_statement(op, span),
        }
    }

    pub(super) fn emit(&mut self, op: impl Into<Op>, span: Span) {
        let site = self.sites.plain(span);
        self.code.emit(op.into(), site);
    }

    fn set_shared(&mut self, target: &Element, op: Option<BinaryOp>, value: &Expr, span: Span) {
        let variable = self.object(target);
        let value = match op {
            None => self.value(value),
            Some(op) => {
                let old = self.code.temporary(Type::Int);
                self.emit(Variable::Read { target: old, variable, order: None }, target.span);
                self.updated(op, Operand::Slot(old), self.written(target), value, span)
            }
        };
        self.emit(Variable::Write { variable, value, order: None }, span);
    }

    fn set_ghost(&mut self, target: &Element, op: Option<BinaryOp>, value: &Expr, span: Span) {
        let kind = &self.tree.objects[target.object.index()].kind;
        if !matches!(kind, GlobalKind::Ghost { kept: true, .. }) {
            return;
        }
        let ghost = self.object(target);
        let value = match (op, value.as_constant()) {
            (None, _) => self.value(value),
            (Some(op @ (BinaryOp::Add | BinaryOp::Subtract)), Some(by @ (1 | -1))) => {
                let down = (op == BinaryOp::Subtract) == (by == 1);
                self.emit(Ghost::Count { ghost, down }, span);
                return;
            }
            (Some(op), _) => {
                let old = self.code.temporary(Type::Int);
                self.emit(Ghost::Read { target: old, ghost }, target.span);
                self.updated(op, Operand::Slot(old), self.written(target), value, span)
            }
        };
        self.emit(Ghost::Write { ghost, value }, span);
    }

    fn set_entry(
        &mut self,
        container: &Element,
        is_map: bool,
        key: &Expr,
        (op, value): (Option<BinaryOp>, &Expr),
        span: Span,
    ) {
        let place = container.span;
        let container = self.object(container);
        let key = self.value(key);
        let value = match op {
            None => self.value(value),
            Some(op) => {
                let old = self.code.temporary(Type::Int);
                let query = if is_map { Query::Get(key) } else { Query::Element(key) };
                self.emit(Container::Ask { target: old, container, query }, place);
                self.updated(op, Operand::Slot(old), self.sites.one_line(place), value, span)
            }
        };
        let change = if is_map { Change::Insert(key, value) } else { Change::Set(key, value) };
        self.emit(Container::Change { container, change }, span);
    }

    /// `old op value`, for `+=` and the like; `name` is what it is assigned to.
    pub(super) fn updated(
        &mut self,
        op: BinaryOp,
        old: Operand,
        name: String,
        value: &Expr,
        span: Span,
    ) -> Operand {
        let right = self.value(value);
        let target = self.code.temporary(Type::Int);
        let old_shown = Shown { name, value: old, ty: Type::Int };
        let shown = std::iter::once(old_shown).chain(self.named(value, right)).collect();
        let site = self.sites.showing(span, shown);
        let value = Compute::Binary(op, old, right);
        self.code.emit(Op::Compute { target, value }, site);
        Operand::Slot(target)
    }

    fn if_statement(&mut self, branches: &[(Expr, Block)], otherwise: Option<&Block>, span: Span) {
        let otherwise = otherwise.map_or(&[][..], |block| &block.statements);
        let end = self.code.new_label();
        for (i, (condition, block)) in branches.iter().enumerate() {
            let [then, next] = [(); 2].map(|()| self.code.new_label());
            let last = i + 1 == branches.len() && otherwise.is_empty();
            let mark = self.code.mark();
            self.condition(condition, then, next);
            self.code.release(mark);
            self.code.place(then);
            self.statements(&block.statements);
            if !last {
                self.jump(end, span);
            }
            self.code.place(next);
        }
        self.statements(otherwise);
        self.code.place(end);
    }

    fn while_statement(&mut self, condition: &Expr, body: &Block, span: Span) {
        let [head, inside, end] = [(); 3].map(|()| self.code.new_label());
        self.code.place(head);
        let mark = self.code.mark();
        match condition.as_constant() {
            // `loop` and `while true`: no test.
            Some(value) if value != 0 => {}
            _ => {
                self.condition(condition, inside, end);
                self.code.place(inside);
            }
        }
        self.code.release(mark);
        self.code.scopes.push(Scope::Loop { break_to: end, continue_to: head });
        self.statements(&body.statements);
        self.code.scopes.pop();
        self.jump(head, span);
        self.code.place(end);
    }

    fn for_statement(&mut self, index: LocalId, [low, high]: [&Expr; 2], body: &Block, span: Span) {
        let [head, inside, next, end] = [(); 4].map(|()| self.code.new_label());
        let index = self.code.local(index);
        // Both bounds are evaluated once; the body may change the variables in them.
        let first = match self.value(low) {
            Operand::Constant(value) => Operand::Constant(value),
            slot => self.copy(slot, low.span),
        };
        let limit = match self.value(high) {
            Operand::Constant(value) => Operand::Constant(value),
            slot => self.copy(slot, high.span),
        };
        let header = self.sites.header(span);
        self.code.emit(copy(index, first), header);
        self.code.place(head);
        let condition = self.code.temporary(Type::Bool);
        let left = Operand::Slot(index);
        let less = Compute::Binary(BinaryOp::Less, left, limit);
        self.code.emit(Op::Compute { target: condition, value: less }, header);
        let condition = Operand::Slot(condition);
        self.code.emit(Op::Branch { condition, then: inside, otherwise: end }, header);
        self.code.place(inside);
        self.code.scopes.push(Scope::Loop { break_to: end, continue_to: next });
        self.statements(&body.statements);
        self.code.scopes.pop();
        self.code.place(next);
        let next = Compute::Binary(BinaryOp::Add, left, Operand::Constant(1));
        self.code.emit(Op::Compute { target: index, value: next }, header);
        self.code.emit(Op::Jump { to: head }, header);
        self.code.place(end);
    }

    /// One step finds the next element, or that there is none; the list may change in between.
    fn for_each_statement(&mut self, element: LocalId, list: &Element, body: &Block, span: Span) {
        let [head, more, done, inside, next, end] = [(); 6].map(|()| self.code.new_label());
        let element = self.code.local(element);
        let container = self.object(list);
        let header = self.sites.header(span);
        let index = self.code.temporary(Type::Int);
        self.code.emit(copy(index, Operand::Constant(0)), header);
        let index_value = Operand::Slot(index);
        self.code.place(head);
        let is_step = !self.code.in_one_step();
        let atomic = is_step.then(|| self.add_atomic(None, AtomicKind::Each));
        if let Some(atomic) = atomic {
            self.code.emit(Op::AtomicBegin { atomic }, header);
        }
        let length = self.code.temporary(Type::Int);
        let ask = Container::Ask { target: length, container, query: Query::Length };
        self.code.emit(ask.into(), header);
        let condition = self.code.temporary(Type::Bool);
        let value = Compute::Binary(BinaryOp::Less, index_value, Operand::Slot(length));
        self.code.emit(Op::Compute { target: condition, value }, header);
        let condition = Operand::Slot(condition);
        self.code.emit(Op::Branch { condition, then: more, otherwise: done }, header);
        self.code.place(more);
        let query = Query::Element(index_value);
        self.code.emit(Container::Ask { target: element, container, query }.into(), header);
        for (is_over, to) in [(false, inside), (true, end)] {
            if is_over {
                self.code.place(done);
            }
            if let Some(atomic) = atomic {
                self.code.emit(Op::AtomicEnd { atomic }, header);
            }
            self.code.emit(Op::Jump { to }, header);
        }
        self.code.place(inside);
        self.code.scopes.push(Scope::Loop { break_to: end, continue_to: next });
        self.statements(&body.statements);
        self.code.scopes.pop();
        self.code.place(next);
        let value = Compute::Binary(BinaryOp::Add, index_value, Operand::Constant(1));
        self.code.emit(Op::Compute { target: index, value }, header);
        self.code.emit(Op::Jump { to: head }, header);
        self.code.place(end);
    }

    fn copy(&mut self, value: Operand, span: Span) -> Operand {
        let target = self.code.temporary(Type::Int);
        self.emit(copy(target, value), span);
        Operand::Slot(target)
    }

    fn loop_exit(&mut self, kind: &StmtKind, span: Span) {
        let is_loop = |scope: &Scope| matches!(scope, Scope::Loop { .. });
        let position = self.code.scopes.iter().rposition(is_loop);
        let depth = position.expect("internal error: a jump outside of a loop");
        let Scope::Loop { break_to, continue_to } = self.code.scopes[depth] else { return };
        self.unwind(depth + 1, span);
        let to = if matches!(kind, StmtKind::Break) { break_to } else { continue_to };
        self.emit(Op::Jump { to }, span);
    }

    /// Leaves all scopes above the first `kept`; they stay open for the code that follows.
    fn unwind(&mut self, kept: usize, span: Span) {
        let left = self.code.scopes[kept..].to_vec();
        for scope in left.into_iter().rev() {
            self.leave(scope, span);
        }
    }

    fn leave(&mut self, scope: Scope, span: Span) {
        match scope {
            Scope::Loop { .. } => {}
            Scope::Lock { mode, object, name } => {
                let site = self.sites.implied(span, format!("{} {name}", mode.unlock_word()));
                self.code.emit(Lock::Release { mode, lock: object }.into(), site);
            }
            Scope::Atomic { atomic } => self.emit(Op::AtomicEnd { atomic }, span),
        }
    }

    fn lock_statement(
        &mut self,
        mode: LockMode,
        target: &Element,
        body: Option<&Block>,
        span: Span,
    ) {
        let object = self.object(target);
        let site = self.sites.header(span);
        self.code.emit(Lock::Acquire { mode, lock: object }.into(), site);
        let Some(body) = body else { return };
        self.code.scopes.push(Scope::Lock { mode, object, name: self.written(target) });
        self.statements(&body.statements);
        self.close_scope(span);
    }

    /// Leaves the innermost scope at the brace that closes it.
    fn close_scope(&mut self, span: Span) {
        let brace = Span { start: span.end.saturating_sub(1), end: span.end };
        let scope = self.code.scopes.pop();
        self.leave(scope.expect("internal error: a scope closed twice"), brace);
    }

    fn atomic(&mut self, section: Option<&(SectionId, SectionName)>, body: &Block, span: Span) {
        let atomic = self.add_atomic(None, AtomicKind::Block);
        if let Some((section, name)) = section {
            self.name_section(atomic, *section, name);
        }
        let site = self.sites.header(span);
        self.code.emit(Op::AtomicBegin { atomic }, site);
        self.code.scopes.push(Scope::Atomic { atomic });
        self.statements(&body.statements);
        self.close_scope(span);
    }

    /// Lets constraints refer to a section.
    pub(super) fn name_section(
        &mut self,
        atomic: AtomicId,
        section: SectionId,
        name: &SectionName,
    ) {
        self.sections.insert(section, atomic);
        let atomic = &mut self.program.atomics[atomic.index()];
        match name {
            SectionName::Written(name) => atomic.name = Some(name.clone()),
            SectionName::Number(number) => atomic.number = Some(*number),
        }
    }

    /// `await scan c;`: `if !c { await c; }`, with `c` read piece by piece the first time. To read that it is false changes nothing:
    /// what a loop that reads again and again can do after reads in vain, it can do without them, and so can this before it
    /// has started. What is left is a loop that never reads true, and that is a thread which waits forever.
    fn scan_statement(&mut self, condition: &Expr, span: Span) {
        let [again, end] = [(); 2].map(|()| self.code.new_label());
        let mark = self.code.mark();
        self.condition(condition, end, again);
        self.code.release(mark);
        self.code.place(again);
        self.await_statement(condition, AtomicKind::Scan, span);
        self.code.place(end);
    }

    fn await_statement(&mut self, condition: &Expr, kind: AtomicKind, span: Span) {
        let atomic = (!self.code.in_one_step()).then(|| self.add_atomic(None, kind));
        if let Some(atomic) = atomic {
            self.emit(Op::AtomicBegin { atomic }, span);
        }
        let value = self.value(condition);
        self.emit(Op::Await { condition: value }, condition.span);
        if let Some(atomic) = atomic {
            self.emit(Op::AtomicEnd { atomic }, span);
        }
    }
}
