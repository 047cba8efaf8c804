//! Statements: types, and whether control comes out at the end.

use super::body::{BodyChecker, LocalKind, Region};
use super::effects::Effect;
use super::places::Wanted;
use super::{Meaning, SectionInfo};
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ops::{BinaryOp, Choice, Compute, Lock, LockMode, Op, Thread};
use crate::span::Span;
use crate::tree::resolved::{
    Array, Assignment as Set, Await, Block, Element, Expr, ExprKind, Leaf as ResolvedLeaf, LocalId,
    SectionId, SectionName, Stmt, StmtKind,
};
use crate::tree::written::{
    Assignment, Block as AstBlock, Expr as AstExpr, ExprKind as Ast, Ident, Leaf, ObjectKind,
    Place, Stmt as AstStmt, StmtKind as AstKind,
};
use crate::tree::{Resolved, Written};

/// How many local variables a named atomic block can offer to independence constraints. Beyond: an error.
pub(crate) const MAX_SECTION_LOCALS: usize = 250;

/// A checked statement (`None`: it has errors), and whether control continues after it.
pub(super) type Checked = (Option<StmtKind>, bool);

impl BodyChecker<'_, '_> {
    /// Returns the checked block, and whether control comes out at its end.
    pub(super) fn block(&mut self, block: &AstBlock) -> (Block, bool) {
        let (statements, goes_on) = self.in_scope(|body| body.statements(&block.statements));
        (Block { statements, span: block.span }, goes_on)
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
            AstKind::For { index, low, high, body } => {
                return self.for_statement(index, [low, high], body);
            }
            AstKind::ForEach { element, list, body } => {
                return self.for_each_statement(element, list, body, span);
            }
            AstKind::Break => return self.jump("break", StmtKind::Break, span),
            AstKind::Continue => return self.jump("continue", StmtKind::Continue, span),
            AstKind::Lock { mode, target, body } => {
                return self.lock_statement(*mode, target, body.as_ref(), span);
            }
            AstKind::Atomic { section, body } => return self.atomic(section.as_ref(), body),
            AstKind::Block(block) => {
                let (block, goes_on) = self.block(block);
                return (Some(StmtKind::Block(block)), goes_on);
            }
            AstKind::Op(op) => return self.operation(op, span),
            AstKind::Set(Assignment::Let { name, ty, value }) => {
                self.let_statement(name, *ty, value)
            }
            AstKind::Set(Assignment::LetArray { name, size, ty, initial }) => {
                self.let_array(name, size, *ty, initial)
            }
            AstKind::Set(Assignment::Assign { target, op, value }) => {
                self.assign(target, *op, value, span)
            }
            AstKind::Expr(expr) => self.expression_statement(expr),
            AstKind::Scan(condition) => {
                self.effect(Effect::Wait, "`await scan`", span);
                self.awaited(condition).map(StmtKind::Scan)
            }
            AstKind::Skip => Some(StmtKind::Skip),
        };
        (straight, true)
    }

    /// Returns the condition of an `await`.
    fn awaited(&mut self, condition: &AstExpr) -> Option<Expr> {
        let place = condition.span;
        let condition = self.in_region(Region::Await, |body| body.condition(condition));
        self.check_awaited(place);
        condition
    }

    /// Returns whether it is a future, and not a condition.
    fn is_future(&self, expr: &AstExpr) -> bool {
        match &expr.kind {
            Ast::Leaf(Leaf::Post(_)) => true,
            Ast::Leaf(Leaf::Paren(inner)) => self.is_future(inner),
            Ast::Leaf(Leaf::Place(place)) => self
                .local(&place.name.text)
                .is_some_and(|local| matches!(self.locals[local.0].ty, Type::Future(_))),
            _ => false,
        }
    }

    /// Operations that are statements.
    fn operation(&mut self, op: &Op<Written>, span: Span) -> Checked {
        let checked: Option<Op<Resolved>> = match op {
            Op::Return { value } => return self.return_statement(value.as_ref(), span),
            Op::Message(message) => return self.message(message, span),
            Op::Assert { condition, message } => self
                .assertion(condition)
                .map(|condition| Op::Assert { condition, message: message.clone() }),
            Op::Assume { condition } => {
                self.effect(Effect::Assume, "`assume`", span);
                self.condition(condition).map(|condition| Op::Assume { condition })
            }
            Op::Progress => {
                self.effect(Effect::Write, "`progress`", span);
                self.checker.mark.get_or_insert(span);
                Some(Op::Progress)
            }
            Op::Await { condition } if self.is_future(condition) => {
                let future = self.expr(condition);
                let awaited = future.and_then(|future| self.future(future, Type::Int, span));
                return (awaited.map(StmtKind::Expr), true);
            }
            Op::Await { condition } if self.region == Region::Task => {
                let section = self.number_section();
                let condition = self.awaited(condition);
                let leaf = |what| ResolvedLeaf::Await(Box::new(Await { what, section }));
                let awaited = condition.map(|it| Expr::leaf(leaf(it), Type::Bool, span));
                return (awaited.map(StmtKind::Expr), true);
            }
            Op::Await { condition } => {
                self.effect(Effect::Await, "`await`", span);
                self.awaited(condition).map(|condition| Op::Await { condition })
            }
            Op::Lock(Lock::Release { mode, lock }) => self
                .lock_target(*mode, mode.unlock_word(), lock, span)
                .map(|lock| Lock::Release { mode: *mode, lock }.into()),
            Op::Thread(Thread::Join { thread }) => {
                self.effect(Effect::Wait, "`join`", span);
                let thread = self.typed(thread, Type::Thread, "what `join` waits for");
                thread.map(|thread| Thread::Join { thread }.into())
            }
            Op::Choice(Choice::Yield) => {
                self.effect(Effect::Wait, "`yield`", span);
                Some(Choice::Yield.into())
            }
            _ => unreachable!("internal error: not written as a statement"),
        };
        (checked.map(StmtKind::Op), true)
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
        let known = ty.or(value.as_ref().map(|value| value.ty()));
        let local = self.declare_local(name, known.unwrap_or(Type::Int), LocalKind::Variable);
        self.locals[local.0].broken = known.is_none();
        Some(StmtKind::Set(Set::Local { local, value: value? }))
    }

    fn assign(
        &mut self,
        target: &Place,
        op: Option<BinaryOp>,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        let target = &*self.checker.actual(target);
        let name = &target.name.text;
        if let Some(local) = self.local(name) {
            return self.assign_local(local, target, op, value, span);
        }
        match self.checker.entry(name).map(|entry| entry.meaning) {
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
        local: LocalId,
        target: &Place,
        op: Option<BinaryOp>,
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
        let local = match current.kind {
            ExprKind::Leaf(ResolvedLeaf::Element { array, index }) => {
                let (index, place) = (*index, target.span);
                return Some(StmtKind::Set(Set::Element { array, index, place, op, value }));
            }
            // Of an array: the element.
            ExprKind::Leaf(ResolvedLeaf::Local(local)) => local,
            _ => local,
        };
        let value = match op {
            None => value,
            Some(op) => self.binary_value(op, current, value, span)?,
        };
        Some(StmtKind::Set(Set::Local { local, value }))
    }

    fn assign_object(
        &mut self,
        i: usize,
        target: &Place,
        op: Option<BinaryOp>,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        let name = &target.name.text;
        let kind = self.checker.objects[i].decl.kind;
        let dimensions = self.checker.objects[i].decl.sizes.len();
        match kind {
            ObjectKind::Shared { .. } => {
                let element = self.object(target, Wanted::VARIABLE, "an assignment");
                self.effect(Effect::Write, &format!("a write of `{name}`"), span);
                let ty = self.checker.objects[i].ty;
                let value = self.new_value(op, ty, value, target);
                let (_, element) = element?;
                Some(StmtKind::Set(Set::Shared { target: element, op, value: value? }))
            }
            ObjectKind::Ghost { .. } => self.assign_ghost(i, target, op, value, span),
            ObjectKind::List | ObjectKind::Map if target.indices.len() == dimensions + 1 => {
                self.checker.objects[i].used = true;
                let entry = self.entry_of(i, target);
                self.effect(Effect::Write, &format!("a write of `{name}`"), span);
                let value = self.new_value(op, Type::Int, value, target);
                let (container, key) = entry?;
                let is_map = kind == ObjectKind::Map;
                Some(StmtKind::Set(Set::Entry { container, is_map, key, op, value: value? }))
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
    pub(super) fn new_value(
        &mut self,
        op: Option<BinaryOp>,
        ty: Type,
        value: &AstExpr,
        target: &Place,
    ) -> Option<Expr> {
        let name = &target.name.text;
        if let (Some(op), false) = (op, ty == Type::Int) {
            self.expr(value);
            let message =
                format!("`{op}=` needs int, but `{name}` is {}", self.checker.type_name(ty));
            self.report(Diagnostic::error(target.span, message));
            return None;
        }
        self.typed(value, ty, &format!("what is assigned to `{name}`"))
    }

    fn expression_statement(&mut self, expr: &AstExpr) -> Option<StmtKind> {
        let help = match &expr.kind {
            Ast::Leaf(Leaf::Call { name, args }) => return self.call_statement(name, args, expr),
            Ast::Leaf(Leaf::Choose | Leaf::Post(_) | Leaf::Await(_) | Leaf::Monitor(_)) => {
                return self.expr(expr).map(StmtKind::Expr);
            }
            Ast::Leaf(Leaf::Place(_)) => "assign with `=`, or call it with `(…)`",
            Ast::Op(op) => match &**op {
                Op::Compute { value: Compute::Binary(BinaryOp::Equal, ..), .. } => {
                    "assign with `=`, or write `assert`"
                }
                Op::Compute { .. } => "use its value: `let v = …;`",
                _ => return self.expr(expr).map(StmtKind::Expr),
            },
            _ => "use its value: `let v = …;`",
        };
        self.expr(expr);
        self.report(Diagnostic::error(expr.span, "this statement does nothing").help(help));
        None
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
        let passed = self.args(routine, args, expr.span);
        self.note_call(routine, expr.span);
        let (procedure, arguments) = passed?;
        let arguments = arguments.into();
        Some(StmtKind::Op(Op::Call { procedure, arguments, target: None }))
    }

    fn if_statement(
        &mut self,
        branches: &[(AstExpr, AstBlock)],
        otherwise: &Option<AstBlock>,
    ) -> Checked {
        let mut checked = Vec::new();
        let mut whole = true;
        let mut goes_on = false;
        for (condition, block) in branches {
            let condition = self.condition(condition);
            let (block, after) = self.block(block);
            goes_on |= after;
            match condition {
                Some(condition) => checked.push((condition, block)),
                None => whole = false,
            }
        }
        let last = otherwise.as_ref().map(|block| self.block(block));
        goes_on |= last.as_ref().is_none_or(|(_, after)| *after);
        let otherwise = last.map(|(block, _)| block);
        (whole.then_some(StmtKind::If { branches: checked, otherwise }), goes_on)
    }

    fn while_statement(&mut self, condition: &AstExpr, block: &AstBlock) -> Checked {
        let condition = self.condition(condition);
        let constant = condition.as_ref().and_then(Expr::as_constant);
        let endless = constant.is_some_and(|value| value != 0);
        let (body, breaks) = self.loop_body(block);
        (condition.map(|condition| StmtKind::While { condition, body }), breaks || !endless)
    }

    fn for_statement(
        &mut self,
        index: &Ident,
        [low, high]: [&AstExpr; 2],
        block: &AstBlock,
    ) -> Checked {
        let low = self.typed(low, Type::Int, "the start of a range");
        let high = self.typed(high, Type::Int, "the end of a range");
        self.in_scope(|body| {
            let index = body.declare_local(index, Type::Int, LocalKind::LoopIndex);
            let (block, _) = body.loop_body(block);
            let range = low.zip(high);
            (range.map(|(low, high)| StmtKind::For { index, low, high, body: block }), true)
        })
    }

    fn for_each_statement(
        &mut self,
        element: &Ident,
        list: &Place,
        block: &AstBlock,
        span: Span,
    ) -> Checked {
        self.effect(Effect::Read, "`for each`", span);
        let list = self.object(list, Wanted::One(ObjectKind::List), "`for each`");
        self.in_scope(|body| {
            let element = body.declare_local(element, Type::Int, LocalKind::LoopIndex);
            let (block, _) = body.loop_body(block);
            (list.map(|(_, list)| StmtKind::ForEach { element, list, body: block }), true)
        })
    }

    /// Returns the body of a loop, and whether a `break` leaves it.
    fn loop_body(&mut self, block: &AstBlock) -> (Block, bool) {
        self.loops.push(false);
        let (block, _) = self.block(block);
        (block, self.loops.pop().unwrap_or(false))
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
        let value = match (self.result, value) {
            (None, None) => Some(None),
            (Some(ty), Some(value)) => self.typed(value, ty, "the result").map(Some),
            (Some(ty), None) => {
                let message =
                    format!("`return` without a value of type {}", self.checker.type_name(ty));
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
        (value.map(|value| StmtKind::Op(Op::Return { value })), false)
    }

    fn lock_target(
        &mut self,
        mode: LockMode,
        word: &str,
        target: &Place,
        span: Span,
    ) -> Option<Element> {
        let word = format!("`{word}`");
        let wanted = Wanted::lock(mode);
        self.effect(Effect::Wait, &word, span.to(target.span));
        self.object(target, wanted, &word).map(|(_, element)| element)
    }

    fn lock_statement(
        &mut self,
        mode: LockMode,
        target: &Place,
        body: Option<&AstBlock>,
        span: Span,
    ) -> Checked {
        let target = self.lock_target(mode, mode.lock_word(), target, span);
        let (body, goes_on) = match body.map(|body| self.block(body)) {
            Some((body, goes_on)) => (Some(body), goes_on),
            None => (None, true),
        };
        (target.map(|target| StmtKind::Lock { mode, target, body }), goes_on)
    }

    fn atomic(&mut self, name: Option<&Ident>, block: &AstBlock) -> Checked {
        // A guard of `receive` may not look, not even without reading.
        self.effect(Effect::Read, "`atomic`", block.span);
        let section = match name {
            // It is several blocks.
            _ if self.checker.passed.is_instance() => None,
            Some(name) => {
                let section = self.declare_section(name);
                Some((section, SectionName::Written(name.text.clone())))
            }
            None => self.number_section(),
        };
        if self.region == Region::Task {
            let error = Diagnostic::error(block.span, "`atomic` is not allowed in a task");
            self.report(error.help("a task is one step up to its next `await` anyway"));
        }
        let region = match self.region {
            Region::Thread => Region::Atomic,
            stricter => stricter,
        };
        let (body, goes_on) = self.in_region(region, |checker| checker.block(block));
        (Some(StmtKind::Atomic { section, body }), goes_on)
    }

    /// Numbers a block without a name, unless too many local variables can be used in it.
    pub(super) fn number_section(&mut self) -> Option<(SectionId, SectionName)> {
        if self.checker.passed.is_instance() {
            return None;
        }
        let locals = self.section_locals();
        if locals.len() > MAX_SECTION_LOCALS {
            return None;
        }
        let section = SectionId(self.checker.sections.len());
        let several = self.checker.passed.is_written();
        self.checker.sections.push(SectionInfo { routine: None, several, locals });
        self.checker.unnamed.push(section);
        let number = u32::try_from(self.checker.unnamed.len()).ok()?;
        Some((section, SectionName::Number(number)))
    }

    fn section_locals(&self) -> Vec<(String, Type, LocalId)> {
        let locals = self.visible_locals().flat_map(|(name, id)| {
            let ty = self.locals[id.0].ty;
            let array = self.array(id);
            let elements = array.into_iter().flat_map(Array::elements).enumerate();
            let elements = elements.map(move |(at, id)| (format!("{name}[{at}]"), ty, id));
            let whole = array.is_none().then(|| (name.to_owned(), ty, id));
            elements.chain(whole)
        });
        locals.take(MAX_SECTION_LOCALS + 1).collect()
    }

    fn declare_section(&mut self, name: &Ident) -> SectionId {
        let section = SectionId(self.checker.sections.len());
        self.checker.declare(name, Meaning::Section(section));
        let locals = self.section_locals();
        if locals.len() > MAX_SECTION_LOCALS {
            let message = format!(
                "more than {MAX_SECTION_LOCALS} local variables can be used in block `{}`",
                name.text
            );
            let help = "remove its name, or make it an `atomic proc`";
            self.report(Diagnostic::error(name.span, message).help(help));
        }
        let several = self.checker.passed.is_written();
        self.checker.sections.push(SectionInfo { routine: None, several, locals });
        section
    }
}
