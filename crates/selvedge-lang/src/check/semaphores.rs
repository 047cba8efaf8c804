//! The count of a semaphore, and more than one `up` in one step.

use super::body::{BodyChecker, LocalKind};
use super::effects::Effect;
use super::places::Wanted;
use crate::ir::Type;
use crate::ops::{BinaryOp, Compute, Op, Semaphore};
use crate::span::Span;
use crate::tree::resolved::{
    Assignment as Set, Block, Element, Expr, ExprKind, Leaf, LocalId, Stmt, StmtKind,
};
use crate::tree::written::{Expr as AstExpr, ObjectKind};

const SEMAPHORE: Wanted = Wanted::One(ObjectKind::Semaphore);

impl BodyChecker<'_, '_> {
    /// `count(s)`.
    pub(super) fn semaphore_count(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [semaphore] = self.exactly("count(s)", args, span)?;
        self.effect(Effect::Read, "`count`", span);
        let (_, semaphore) = self.object_argument(semaphore, SEMAPHORE, "`count`")?;
        Some(Expr::of(Semaphore::Count { target: (), semaphore }, Type::Int, span))
    }

    /// `up(s, n)`: `n` is evaluated; then one step raises the semaphore `n` times. A negative `n` is a violation.
    pub(super) fn up_by(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let [semaphore, by] = self.exactly("up(s, n)", args, span)?;
        self.effect(Effect::Send, "`up`", span);
        let semaphore = self.object_argument(semaphore, SEMAPHORE, "`up`");
        let by_span = by.span;
        let value = self.typed(by, Type::Int, "by how much `up` raises a semaphore");
        let (object, mut semaphore) = semaphore?;
        // Before `n`, and before the step.
        let mut all = self.fixed_indices(object, &mut semaphore);
        let by = self.hidden_local(by_span);
        let index = self.hidden_local(span);
        let local = |local| Expr::leaf(Leaf::Local(local), Type::Int, by_span);
        let zero = || Expr::constant(0, Type::Int, by_span);
        let compared = Compute::Binary(BinaryOp::GreaterEqual, local(by), zero());
        let condition = Expr {
            kind: ExprKind::Op(Box::new(Op::Compute { target: (), value: compared })),
            known: Type::Bool,
            span: by_span,
        };
        let message = Some("a semaphore cannot be raised by a negative number".into());
        let up = Stmt { kind: StmtKind::Op(Semaphore::Up { semaphore }.into()), span };
        let times = StmtKind::For {
            index,
            low: zero(),
            high: local(by),
            body: Block { statements: vec![up], span },
        };
        let times = Block { statements: vec![Stmt { kind: times, span }], span };
        all.extend([
            StmtKind::Set(Set::Local { local: by, value: value? }),
            StmtKind::Op(Op::Assert { condition, message }),
            StmtKind::Atomic { section: None, body: times },
        ]);
        let statements = all.into_iter().map(|kind| Stmt { kind, span }).collect();
        Some(StmtKind::Block(Block { statements, span }))
    }

    /// Puts variables in the place of the indices of an element, and returns what evaluates and then checks these.
    fn fixed_indices(&mut self, object: usize, element: &mut Element) -> Vec<StmtKind> {
        let sizes = self.checker.objects[object].sizes.clone().unwrap_or_default();
        let (mut evaluated, mut checked) = (Vec::new(), Vec::new());
        for (index, size) in element.indices.iter_mut().zip(sizes) {
            let span = index.span;
            let local = self.hidden_local(span);
            let variable = Expr::leaf(Leaf::Local(local), Type::Int, span);
            let value = std::mem::replace(index, variable.clone());
            evaluated.push(StmtKind::Set(Set::Local { local, value }));
            let value = Compute::Within { index: variable, size };
            let value = Expr::of(Op::Compute { target: (), value }, Type::Int, span);
            checked.push(StmtKind::Set(Set::Local { local, value }));
        }
        evaluated.extend(checked);
        evaluated
    }

    /// Returns a variable that no name refers to.
    fn hidden_local(&mut self, span: Span) -> LocalId {
        let name = format!("_{}", self.locals.len());
        let local = self.add_local(&format!("{name} "), span, Type::Int, LocalKind::Variable);
        self.locals[local.0].used = true;
        local
    }
}
