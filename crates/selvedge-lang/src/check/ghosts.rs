//! Ghost variables: what may read them, what they may be computed from, and which of them a property can tell from others.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Checker;
use super::body::{BodyChecker, Region};
use super::effects::Effect;
use crate::diagnostic::Diagnostic;
use crate::ir::{GlobalKind, ProcedureId};
use crate::ops::{BinaryOp, Compute, Ghost, Nothing, Op, Parts, Pattern};
use crate::span::Span;
use crate::tree::Resolved;
use crate::tree::resolved::{
    Assignment as Set, Block, Element, Expr, ExprKind, Leaf, LocalId, Object, StmtKind,
};
use crate::tree::written::{Expr as AstExpr, Place};

/// Where the values of ghosts go.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// The ghosts that properties read.
    read: BTreeSet<usize>,
    /// A ghost, and one that is computed from it.
    into: BTreeSet<(usize, usize)>,
    /// The ghosts with an update that can fail, and where the first one stands. A failure is found whether a property reads the ghost or not.
    can_fail: BTreeMap<usize, Span>,
}

impl Flows {
    /// Returns the ghosts that properties read or whose updates can fail, also by way of others.
    fn matter(&self) -> BTreeSet<usize> {
        let mut ends = self.read.clone();
        ends.extend(self.can_fail.keys());
        self.reached_from(ends)
    }

    /// Returns these ghosts and all that they are computed from.
    fn reached_from(&self, mut matter: BTreeSet<usize>) -> BTreeSet<usize> {
        loop {
            let before = matter.len();
            let reached = self.into.iter().filter(|(_, to)| matter.contains(to));
            let from: Vec<usize> = reached.map(|&(from, _)| from).collect();
            matter.extend(from);
            if matter.len() == before {
                return matter;
            }
        }
    }
}

impl BodyChecker<'_, '_> {
    /// Returns the condition of an `assert`, which may read ghosts.
    pub(super) fn assertion(&mut self, condition: &AstExpr) -> Option<Expr> {
        let outer = std::mem::replace(&mut self.asserting, true);
        let checked = self.condition(condition);
        self.asserting = outer;
        let checked = checked?;
        if matches!(self.region, Region::Thread | Region::Atomic)
            && let Some(span) = misplaced(&checked, true)
        {
            let message = "a ghost variable decides here what the program does";
            let help = "an assertion compares it, and does nothing else with it";
            self.report(Diagnostic::error(span, message).help(help));
            return None;
        }
        Some(checked)
    }

    /// Returns the value of a ghost.
    pub(super) fn ghost_value(&mut self, i: usize, place: &Place) -> Option<Expr> {
        let name = &place.name.text;
        let dimensions = self.checker.objects[i].decl.sizes.len();
        let element = self.element_of(i, place, dimensions);
        let is_code = matches!(self.region, Region::Thread | Region::Atomic);
        if is_code && !self.asserting {
            let message = format!("`{name}` is a ghost variable, which the program cannot read");
            let help = "read it in `assert`, `always`, `eventually`, `leads_to` or `finally`, or update \
                        another ghost with it; what the program reads is `shared`";
            let declared = self.checker.objects[i].decl.name.span;
            let error = Diagnostic::error(place.span, message).other(declared, "declared here");
            self.report(error.help(help));
            return None;
        }
        self.effect(Effect::Ghost, &format!("a read of the ghost `{name}`"), place.span);
        match self.updated {
            Some(updated) => drop(self.checker.ghosts.into.insert((i, updated))),
            None => drop(self.checker.ghosts.read.insert(i)),
        }
        let ty = self.checker.objects[i].ty;
        Some(Expr::of(Ghost::Read { target: (), ghost: element? }, ty, place.span))
    }

    pub(super) fn assign_ghost(
        &mut self,
        i: usize,
        target: &Place,
        op: Option<BinaryOp>,
        value: &AstExpr,
        span: Span,
    ) -> Option<StmtKind> {
        self.checker.objects[i].used = true;
        self.effect(Effect::Write, &format!("an update of `{}`", target.name.text), span);
        let ty = self.checker.objects[i].ty;
        let dimensions = self.checker.objects[i].decl.sizes.len();
        let outer = self.updated.replace(i);
        let (element, value) = self.in_region(Region::Ghost, |body| {
            (body.element_of(i, target, dimensions), body.new_value(op, ty, value, target))
        });
        self.updated = outer;
        let (element, value) = (element?, value?);
        let computes = op.is_some_and(|op| Compute::<Nothing>::Binary(op, (), ()).may_fault());
        if computes || can_fail(&value) || self.can_be_outside(&element) {
            self.checker.ghosts.can_fail.entry(i).or_insert(span);
        }
        Some(StmtKind::Set(Set::Ghost { target: element, op, value }))
    }

    fn can_be_outside(&self, element: &Element) -> bool {
        let sizes = self.checker.objects[element.object.index()].sizes.as_deref().unwrap_or(&[]);
        let is_inside = |(index, size): (&Expr, &u32)| {
            let index = index.as_constant().and_then(|index| u32::try_from(index).ok());
            index.is_some_and(|index| index < *size)
        };
        !element.indices.iter().zip(sizes).all(is_inside)
    }
}

impl Checker<'_> {
    /// Notes in the objects which ghosts are kept, and warns of those that no property reads.
    pub(super) fn ghosts_that_matter(&mut self, objects: &mut [Object]) {
        let matter = self.ghosts.matter();
        let by_properties = self.ghosts.reached_from(self.ghosts.read.clone());
        for (i, object) in objects.iter_mut().enumerate() {
            let GlobalKind::Ghost { kept, .. } = &mut object.kind else { continue };
            *kept = matter.contains(&i);
            if !by_properties.contains(&i) && self.objects[i].used && !object.name.starts_with('_')
            {
                let message = format!("ghost `{}` is read by no property", object.name);
                let span = self.objects[i].decl.name.span;
                let warning = Diagnostic::warning(span, message);
                let warning = match (self.ghosts.can_fail.get(&i), *kept) {
                    (Some(&update), _) => warning
                        .other(update, "this update can fail")
                        .help("it is kept only for that: read it in `assert`, `always` or `finally`, or remove it"),
                    (None, true) => warning.help(
                        "it is kept for a ghost whose update can fail: read that in `assert`, `always` or `finally`",
                    ),
                    (None, false) => warning.help(
                        "its updates are left out: read it in `assert`, `always` or `finally`",
                    ),
                };
                self.report(warning);
            }
        }
    }
}

/// Returns whether the evaluation of a new value or an index can fail.
fn can_fail(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Leaf(Leaf::Constant(_) | Leaf::Local(_) | Leaf::Thread { index: None, .. }) => {
            false
        }
        ExprKind::Leaf(
            Leaf::Element { .. } | Leaf::Thread { index: Some(_), .. } | Leaf::Await(_),
        ) => true,
        ExprKind::And(left, right) | ExprKind::Or(left, right) => can_fail(left) || can_fail(right),
        ExprKind::If { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().any(|part| can_fail(part))
        }
        ExprKind::Op(op) => {
            let by_itself = match &**op {
                Op::Compute { value, .. } => value.may_fault(),
                Op::Ghost(Ghost::Read { ghost, .. }) => !ghost.indices.is_empty(),
                _ => true,
            };
            let mut inside = CanFail(by_itself);
            op.map(&mut inside);
            inside.0
        }
    }
}

struct CanFail(bool);

impl Parts<Resolved, Nothing> for CanFail {
    fn value(&mut self, value: &Expr) {
        self.0 |= can_fail(value);
    }

    fn object(&mut self, object: &Element) {
        object.indices.iter().for_each(|index| self.value(index));
    }

    fn target(&mut self, (): &()) {}

    fn local(&mut self, _: &LocalId) {}

    fn label(&mut self, _: &Rc<Block>) {}

    fn routine(&mut self, _: &ProcedureId) {}

    fn guard(&mut self, _: &Expr, _: &[Pattern<Resolved>]) {}
}

/// Returns where a ghost stands in something else than comparisons and arithmetic; `fine` tells whether it may stand here.
fn misplaced(expr: &Expr, fine: bool) -> Option<Span> {
    match &expr.kind {
        ExprKind::Leaf(Leaf::Constant(_) | Leaf::Local(_) | Leaf::Thread { index: None, .. }) => {
            None
        }
        ExprKind::Leaf(Leaf::Element { index, .. }) => misplaced(index, fine),
        ExprKind::Leaf(Leaf::Await(awaited)) => misplaced(&awaited.what, false),
        ExprKind::Leaf(Leaf::Thread { index: Some(index), .. }) => misplaced(index, false),
        ExprKind::And(left, right) | ExprKind::Or(left, right) => {
            misplaced(left, fine).or_else(|| misplaced(right, fine))
        }
        ExprKind::If { condition, then, otherwise } => misplaced(condition, fine)
            .or_else(|| misplaced(then, fine))
            .or_else(|| misplaced(otherwise, fine)),
        ExprKind::Op(op) => {
            if matches!(**op, Op::Ghost(_)) && !fine {
                return Some(expr.span);
            }
            let fine = fine && matches!(**op, Op::Ghost(_) | Op::Compute { .. });
            let mut inside = Inside { fine, found: None };
            op.map(&mut inside);
            inside.found
        }
    }
}

struct Inside {
    fine: bool,
    found: Option<Span>,
}

impl Parts<Resolved, Nothing> for Inside {
    fn value(&mut self, value: &Expr) {
        self.found = self.found.or_else(|| misplaced(value, self.fine));
    }

    fn object(&mut self, object: &Element) {
        object.indices.iter().for_each(|index| self.value(index));
    }

    fn target(&mut self, (): &()) {}

    fn local(&mut self, _: &LocalId) {}

    fn label(&mut self, _: &Rc<Block>) {}

    fn routine(&mut self, _: &ProcedureId) {}

    fn guard(&mut self, _: &Expr, _: &[Pattern<Resolved>]) {}
}
