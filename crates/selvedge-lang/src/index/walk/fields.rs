//! What the conditions of independence constraints say of the local variables of blocks: `first.v`.

use crate::ops::{Nothing, Parts, Pattern};
use crate::tree::Written;
use crate::tree::written::{Block, Expr, ExprKind, Ident, Leaf, Place};

/// Calls `visit` with the two parts of every `first.v`.
pub(super) fn each_field(expr: &Expr, visit: &mut impl FnMut(&Ident, &Ident)) {
    match &expr.kind {
        ExprKind::Leaf(Leaf::Field { base, field }) => visit(base, field),
        ExprKind::Leaf(Leaf::Paren(inner) | Leaf::Await(inner)) => each_field(inner, visit),
        ExprKind::Leaf(Leaf::Post(post)) => post.args.iter().for_each(|it| each_field(it, visit)),
        ExprKind::Leaf(Leaf::Monitor(monitor)) => {
            monitor.values.iter().for_each(|it| each_field(it, visit));
        }
        ExprKind::Leaf(Leaf::Call { args, .. }) => {
            args.iter().for_each(|arg| each_field(arg, visit));
        }
        ExprKind::Leaf(Leaf::Place(place)) => {
            place.indices.iter().for_each(|index| each_field(index, visit));
        }
        ExprKind::Leaf(
            Leaf::Int(_) | Leaf::Bool(_) | Leaf::Choose | Leaf::SelfHandle | Leaf::ActorIndex,
        ) => {}
        ExprKind::And(left, right) | ExprKind::Or(left, right) => {
            each_field(left, visit);
            each_field(right, visit);
        }
        ExprKind::If { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| each_field(part, visit));
        }
        ExprKind::Op(op) => {
            op.map(&mut Values(|value: &Expr| each_field(value, visit)));
        }
    }
}

/// Calls a function with every value of an operation.
struct Values<V>(V);

impl<V: FnMut(&Expr)> Parts<Written, Nothing> for Values<V> {
    fn value(&mut self, value: &Expr) {
        (self.0)(value);
    }

    fn object(&mut self, _: &Place) {}

    fn target(&mut self, (): &()) {}

    fn local(&mut self, _: &Ident) {}

    fn label(&mut self, _: &Block) {}

    fn routine(&mut self, _: &Ident) {}

    fn guard(&mut self, guard: &Expr, _: &[Pattern<Written>]) {
        (self.0)(guard);
    }
}
