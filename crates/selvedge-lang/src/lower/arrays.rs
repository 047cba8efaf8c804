//! Local arrays: each element is a slot, and what an index decides is computed. So an array is local code, without steps and without jumps.

use super::Lowerer;
use super::conditions::copy;
use crate::ir::{Operand, Slot, Type};
use crate::ops::{BinaryOp, Compute, Op};
use crate::span::Span;
use crate::tree::resolved::{Array, Expr};

impl Lowerer<'_> {
    pub(super) fn declare_array(&mut self, array: Array, values: &[Expr]) {
        for (element, value) in array.elements().zip(values) {
            let target = self.code.local(element);
            self.value_into(value, target);
        }
        // One value for all is evaluated once.
        let Some(last) = values.last() else { return };
        let first = Operand::Slot(self.code.local(array.first));
        for element in array.elements().skip(values.len()) {
            let target = self.code.local(element);
            self.emit(copy(target, first), last.span);
        }
    }

    /// Returns the value of an element.
    pub(super) fn element(
        &mut self,
        array: Array,
        index: &Expr,
        expr: &Expr,
        wanted: Option<Slot>,
    ) -> Operand {
        let index = self.value(index);
        let target = wanted.unwrap_or_else(|| self.code.temporary(expr.ty()));
        self.read_element(array, index, target, expr.span);
        Operand::Slot(target)
    }

    fn read_element(&mut self, array: Array, index: Operand, target: Slot, span: Span) {
        let elements = array.elements().map(|element| Operand::Slot(self.code.local(element)));
        let value = Compute::Element { index, elements: elements.collect() };
        self.emit(Op::Compute { target, value }, span);
    }

    /// The index is checked first, then the new value is computed, then every element gets what it holds afterwards.
    pub(super) fn set_element(
        &mut self,
        array: Array,
        index: &Expr,
        place: Span,
        (op, value): (Option<BinaryOp>, &Expr),
        span: Span,
    ) {
        let index = self.value(index);
        let within = self.code.temporary(Type::Int);
        let value_within = Compute::Within { index, size: array.size };
        self.emit(Op::Compute { target: within, value: value_within }, place);
        let index = Operand::Slot(within);
        let new = match op {
            None => self.value(value),
            Some(op) => {
                let old = self.code.temporary(Type::Int);
                self.read_element(array, index, old, place);
                self.updated(op, Operand::Slot(old), self.sites.one_line(place), value, span)
            }
        };
        for (at, element) in (0..).zip(array.elements()) {
            let target = self.code.local(element);
            let value = Compute::Updated { at, index, new, old: Operand::Slot(target) };
            self.emit(Op::Compute { target, value }, span);
        }
    }
}
