//! Elements of shared objects, and handles of threads.

use super::Lowerer;
use super::code::constant_of;
use crate::ir::{Compute, ObjectRef, Op, Operand, Type};
use crate::span::Span;
use crate::tree::resolved::{Element, Expr};

impl Lowerer<'_> {
    /// Computes the indices, and says which object it is.
    pub(super) fn object(&mut self, element: &Element) -> ObjectRef {
        let global = element.object;
        let indices: Vec<Operand> = element.indices.iter().map(|index| self.value(index)).collect();
        let [first, rest @ ..] = indices.as_slice() else {
            return ObjectRef { global, index: Operand::Constant(0) };
        };
        if let Some(flat) = self.constant_index(element, &indices) {
            return ObjectRef { global, index: Operand::Constant(flat) };
        }
        let target = self.code.index_temporary(global);
        let site = self.sites.plain(element.span);
        let value = Compute::Index { global, first: *first, second: rest.first().copied() };
        self.code.emit(Op::Compute { target, value }, site);
        ObjectRef { global, index: Operand::Slot(target) }
    }

    /// Returns the flat index, if all indices are constants in range.
    fn constant_index(&self, element: &Element, indices: &[Operand]) -> Option<i32> {
        let sizes = &self.tree.objects[element.object.index()].sizes;
        let mut flat = 0_u32;
        for (&index, &size) in indices.iter().zip(sizes) {
            let index = u32::try_from(constant_of(index)?).ok().filter(|&index| index < size)?;
            flat = flat.checked_mul(size)?.checked_add(index)?;
        }
        i32::try_from(flat).ok()
    }

    /// Returns the handle of a thread that starts at the beginning.
    pub(super) fn thread(&mut self, group: usize, index: Option<&Expr>, span: Span) -> Operand {
        let first = self.first_threads[group];
        let number = |number: usize| {
            Operand::Constant(i32::try_from(number).expect("internal error: too many threads"))
        };
        let Some(index) = index else { return number(first) };
        let (low, count) = self.tree.threads[group].replicas.unwrap_or((0, 1));
        let index = self.value(index);
        if let Operand::Constant(index) = index
            && let Ok(nth) = usize::try_from(i64::from(index) - i64::from(low))
            && nth < count as usize
        {
            return number(first + nth);
        }
        let site = self.sites.plain(span);
        let target = self.code.temporary(Type::Thread);
        let first = u32::try_from(first).expect("internal error: too many threads");
        let value = Compute::ThreadIndex { first, count, index };
        self.code.emit(Op::Compute { target, value }, site);
        Operand::Slot(target)
    }
}
