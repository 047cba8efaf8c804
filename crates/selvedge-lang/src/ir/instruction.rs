//! An instruction and its operands. What it does is an [`Op`], in `ops/`.

use super::ids::{GlobalId, SiteId, Slot};
use crate::ops::Op;

/// One instruction and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// The expression or statement it was lowered from.
    pub site: SiteId,
}

/// A value that an instruction uses. A constant fits every type that its value fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// What the slot holds.
    Slot(Slot),
    /// A constant; booleans are 0 and 1, threads that start at the beginning their number.
    Constant(i32),
}

/// One element of a [`Global`](super::Global).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectRef {
    /// Which declaration.
    pub global: GlobalId,
    /// Which element, row by row: 0 without dimensions, a constant in range, or a slot that only
    /// [`Compute::Index`](super::Compute::Index) of the same global writes.
    pub index: Operand,
}

impl From<GlobalId> for ObjectRef {
    /// Returns the only object of a declaration without dimensions.
    fn from(global: GlobalId) -> Self {
        Self { global, index: Operand::Constant(0) }
    }
}
