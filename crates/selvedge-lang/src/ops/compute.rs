//! What invisible instructions compute, over any domain of values.

use std::fmt::{self, Display, Formatter};

use super::declare::operations;
use super::form::Form;

use crate::ir::{Checked, Checker, GlobalId, Names, Operand, Program, Slot, Table, TableId, Type};

operations! {
    /// A value that is computed from slots alone.
    pub enum Compute {
        /// The value itself, of any one type.
        Copy(value: F::Value),
        /// An operation on one value; faults on overflow.
        Unary(op: copy UnaryOp, value: F::Value),
        /// An operation on two values; faults on overflow, division by zero and shifts out of range.
        Binary(op: copy BinaryOp, left: F::Value, right: F::Value),
        /// The flat index of an element; faults if an index is out of range. `global` has two dimensions if
        /// `second` is given, else one. The target is an integer slot that nothing but `Index` of the same global
        /// writes.
        Index { global: copy GlobalId, first: F::Value, second: Option<F::Value> },
        /// The handle of the thread `name[index]` among the `count` threads from number `first`
        /// on; faults if there is none. `index` counts as the declaration does: the smallest one is
        /// [`StaticThread::index`](crate::ir::StaticThread::index) of the first.
        ThreadIndex { first: copy u32, count: copy u32, index: F::Value },
        /// The element of a constant array; faults if there is none with this index.
        Lookup { table: copy TableId, index: F::Value },
        /// The element of a local array that has these elements; faults if there is none with this index.
        Element { index: F::Value, elements: Box<[F::Value]> },
        /// The index of an element of a local array of this size; faults if there is none.
        Within { index: F::Value, size: copy u32 },
        /// What element `at` of a local array holds after an assignment to the element `index`: `new` if it is that one, else `old`.
        Updated { at: copy u32, index: F::Value, new: F::Value, old: F::Value },
        /// The handle of the running thread.
        Own,
    }
}

/// An operation on one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-v`.
    Negate,
    /// `!v`, on booleans.
    Not,
    /// `abs(v)`.
    Abs,
    /// `~v`: every bit is the other one.
    Complement,
}

/// An operation on two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`, towards zero.
    Divide,
    /// `%`, with the sign of the left operand.
    Remainder,
    /// `min(a, b)`.
    Min,
    /// `max(a, b)`.
    Max,
    /// `&`, bit by bit.
    BitAnd,
    /// `|`, bit by bit.
    BitOr,
    /// `^`, bit by bit.
    BitXor,
    /// `<<`: what leaves the 32 bits is lost.
    ShiftLeft,
    /// `>>`: copies of the sign come in.
    ShiftRight,
    /// `==`, on integers or booleans.
    Equal,
    /// `!=`, on integers or booleans.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
}

/// Values, and what can be done with them: numbers, unknowns, circuits, terms.
pub trait Domain {
    /// A value.
    type Value;
    /// Why there is none: a fault, or that more than one thing can happen.
    type Halt;

    /// Returns what an operand holds.
    fn operand(&mut self, operand: Operand) -> Self::Value;

    /// Computes an operator on one value.
    ///
    /// # Errors
    /// If it overflows.
    fn unary(&mut self, op: UnaryOp, value: Self::Value) -> Result<Self::Value, Self::Halt>;

    /// Computes an operator on two values.
    ///
    /// # Errors
    /// If it overflows, divides by zero or shifts by less than 0 or more than 31.
    fn binary(
        &mut self,
        op: BinaryOp,
        left: Self::Value,
        right: Self::Value,
    ) -> Result<Self::Value, Self::Halt>;

    /// Returns the position of an index in a range.
    ///
    /// # Errors
    /// If it is outside.
    fn position(&mut self, index: Self::Value, range: Range) -> Result<Self::Value, Self::Halt>;

    /// Returns the flat index of an element of an array with so many columns.
    fn flat(&mut self, row: Self::Value, columns: u32, column: Self::Value) -> Self::Value;

    /// Returns the handle of the thread at a position after the first.
    fn thread(&mut self, first: u32, position: Self::Value) -> Self::Value;

    /// Returns the element of a constant array at a position.
    ///
    /// # Errors
    /// If the domain cannot tell.
    fn lookup(&mut self, table: &Table, position: Self::Value) -> Result<Self::Value, Self::Halt>;

    /// Returns the one of some operands at a position.
    ///
    /// # Errors
    /// If the domain cannot tell.
    fn pick(
        &mut self,
        operands: &[Operand],
        position: Self::Value,
    ) -> Result<Self::Value, Self::Halt>;

    /// Returns the handle of the running thread.
    fn own(&mut self) -> Self::Value;
}

/// What an index is looked up in.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The smallest index.
    pub lowest: i32,
    /// How many there are.
    pub size: u32,
    /// What has them.
    pub of: Indexed,
}

/// What has indices.
#[derive(Clone, Copy, Debug)]
pub enum Indexed {
    /// A dimension of shared objects, 0 or 1.
    Objects(GlobalId, usize),
    /// The threads of the declaration whose first thread has this number.
    Threads(u32),
    /// A constant array.
    Table(TableId),
    /// A local array: the one at the site of the instruction.
    Local,
}

impl Compute {
    /// Computes it.
    ///
    /// # Errors
    /// If it faults, or if the domain cannot tell.
    #[inline]
    pub fn evaluate<D: Domain>(
        &self,
        program: &Program,
        domain: &mut D,
    ) -> Result<D::Value, D::Halt> {
        match self {
            Compute::Copy(value) => Ok(domain.operand(*value)),
            Compute::Unary(op, value) => {
                let value = domain.operand(*value);
                domain.unary(*op, value)
            }
            Compute::Binary(op, left, right) => {
                let (left, right) = (domain.operand(*left), domain.operand(*right));
                domain.binary(*op, left, right)
            }
            Compute::Index { global, first, second } => {
                let dims = &program.globals[global.index()].dims;
                let range = |dimension: usize| {
                    let of = Indexed::Objects(*global, dimension);
                    Range { lowest: 0, size: dims[dimension], of }
                };
                let first = domain.operand(*first);
                let second = second.map(|second| domain.operand(second));
                let row = domain.position(first, range(0))?;
                let Some(second) = second else { return Ok(row) };
                let column = domain.position(second, range(1))?;
                Ok(domain.flat(row, dims[1], column))
            }
            Compute::ThreadIndex { first, count, index } => {
                let lowest = program.threads[*first as usize].index.unwrap_or(0);
                let of = Indexed::Threads(*first);
                let index = domain.operand(*index);
                let position = domain.position(index, Range { lowest, size: *count, of })?;
                Ok(domain.thread(*first, position))
            }
            Compute::Lookup { table, index } => {
                let of = Indexed::Table(*table);
                let table = &program.tables[table.index()];
                let range = Range { lowest: 0, size: table.values.len() as u32, of };
                let index = domain.operand(*index);
                let position = domain.position(index, range)?;
                domain.lookup(table, position)
            }
            Compute::Element { index, elements } => {
                let position = within(*index, elements.len() as u32, domain)?;
                domain.pick(elements, position)
            }
            Compute::Within { index, size } => within(*index, *size, domain),
            Compute::Updated { at, index, new, old } => {
                let (index, at) = (domain.operand(*index), Operand::Constant(*at as i32));
                let at = domain.operand(at);
                let is_this = domain.binary(BinaryOp::Equal, index, at)?;
                domain.pick(&[*old, *new], is_this)
            }
            Compute::Own => Ok(domain.own()),
        }
    }

    pub(crate) fn check(&self, target: Slot, checker: &Checker<'_>) -> Checked {
        match *self {
            Compute::Element { index, ref elements } => {
                checker.operand(index, Type::Int)?;
                let ty = checker.type_of(target);
                elements.iter().try_for_each(|element| checker.operand(*element, ty))
            }
            Compute::Within { index, .. } => {
                checker.slot(target, Type::Int)?;
                checker.operand(index, Type::Int)
            }
            Compute::Updated { index, new, old, .. } => {
                checker.operand(index, Type::Int)?;
                checker.operand(new, checker.type_of(target))?;
                checker.operand(old, checker.type_of(target))
            }
            Compute::Copy(value) => checker.operand(value, checker.type_of(target)),
            Compute::Unary(op, value) => {
                let ty = if op == UnaryOp::Not { Type::Bool } else { Type::Int };
                checker.slot(target, ty)?;
                checker.operand(value, ty)
            }
            Compute::Binary(op, left, right) => {
                let operands = match op {
                    BinaryOp::Equal | BinaryOp::NotEqual => checker.common_type(left, right)?,
                    _ => Type::Int,
                };
                checker.slot(target, op.result())?;
                checker.operand(left, operands)?;
                checker.operand(right, operands)
            }
            Compute::Index { first, second, .. } => {
                checker.slot(target, Type::Int)?;
                checker.operand(first, Type::Int)?;
                second.iter().try_for_each(|second| checker.operand(*second, Type::Int))
            }
            Compute::ThreadIndex { index, .. } => {
                checker.slot(target, Type::Thread)?;
                checker.operand(index, Type::Int)
            }
            Compute::Lookup { table, index } => {
                checker.slot(target, checker.program.tables[table.index()].ty)?;
                checker.operand(index, Type::Int)
            }
            Compute::Own => checker.slot(target, Type::Thread),
        }
    }

    pub(crate) fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        match self {
            Compute::Copy(value) => write!(f, "{value}"),
            Compute::Unary(op, value) => write!(f, "{op} {value}"),
            Compute::Binary(op, left, right) => write!(f, "{left} {op} {right}"),
            Compute::Index { global, first, second } => {
                write!(f, "index {} {first}", names.global(*global))?;
                second.iter().try_for_each(|second| write!(f, " {second}"))
            }
            Compute::ThreadIndex { first, count, index } => {
                write!(f, "thread {first}..{} [{index}]", first + count)
            }
            Compute::Lookup { table, index } => write!(f, "{table}[{index}]"),
            Compute::Element { index, elements } => {
                write!(f, "element {index} of")?;
                elements.iter().try_for_each(|element| write!(f, " {element}"))
            }
            Compute::Within { index, size } => write!(f, "{index} within {size}"),
            Compute::Updated { at, index, new, old } => {
                write!(f, "{new} if {index} == {at} else {old}")
            }
            Compute::Own => write!(f, "self"),
        }
    }
}

impl<F: Form> Compute<F> {
    /// Returns whether it can fault.
    pub(crate) fn may_fault(&self) -> bool {
        use BinaryOp::{Add, Divide, Multiply, Remainder, ShiftLeft, ShiftRight, Subtract};
        match self {
            Compute::Copy(_) | Compute::Own | Compute::Updated { .. } => false,
            Compute::Unary(op, _) => !matches!(op, UnaryOp::Not | UnaryOp::Complement),
            Compute::Binary(op, ..) => matches!(
                op,
                Add | Subtract | Multiply | Divide | Remainder | ShiftLeft | ShiftRight
            ),
            Compute::Index { .. }
            | Compute::ThreadIndex { .. }
            | Compute::Lookup { .. }
            | Compute::Element { .. }
            | Compute::Within { .. } => true,
        }
    }
}

/// Returns the position of an index in a local array.
#[inline]
fn within<D: Domain>(index: Operand, size: u32, domain: &mut D) -> Result<D::Value, D::Halt> {
    let index = domain.operand(index);
    domain.position(index, Range { lowest: 0, size, of: Indexed::Local })
}

impl BinaryOp {
    /// Computes it on numbers; `None` if it overflows, divides by zero or shifts by less than 0 or more than 31.
    #[inline]
    pub fn apply(self, left: i32, right: i32) -> Option<i32> {
        let truth = |value: bool| Some(i32::from(value));
        match self {
            BinaryOp::Add => left.checked_add(right),
            BinaryOp::Subtract => left.checked_sub(right),
            BinaryOp::Multiply => left.checked_mul(right),
            BinaryOp::Divide => left.checked_div(right),
            BinaryOp::Remainder => left.checked_rem(right),
            BinaryOp::Min => Some(left.min(right)),
            BinaryOp::Max => Some(left.max(right)),
            BinaryOp::BitAnd => Some(left & right),
            BinaryOp::BitOr => Some(left | right),
            BinaryOp::BitXor => Some(left ^ right),
            BinaryOp::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?),
            BinaryOp::ShiftRight => left.checked_shr(u32::try_from(right).ok()?),
            BinaryOp::Equal => truth(left == right),
            BinaryOp::NotEqual => truth(left != right),
            BinaryOp::Less => truth(left < right),
            BinaryOp::LessEqual => truth(left <= right),
            BinaryOp::Greater => truth(left > right),
            BinaryOp::GreaterEqual => truth(left >= right),
        }
    }

    /// Returns whether it has no result for a right operand of 0.
    pub fn divides(self) -> bool {
        matches!(self, BinaryOp::Divide | BinaryOp::Remainder)
    }

    /// Returns whether it has no result for a right operand outside 0 to 31.
    pub fn shifts(self) -> bool {
        matches!(self, BinaryOp::ShiftLeft | BinaryOp::ShiftRight)
    }

    /// Returns whether it is one of `&`, `|` and `^`, which logical operators resemble.
    pub(crate) fn is_bitwise(self) -> bool {
        matches!(self, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
    }

    /// Returns whether it computes with the bits of integers.
    pub fn is_of_bits(self) -> bool {
        self.is_bitwise() || self.shifts()
    }

    /// Returns the type of its result.
    pub fn result(self) -> Type {
        match self {
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => Type::Int,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => Type::Bool,
        }
    }
}

impl UnaryOp {
    /// Computes it on a number; `None` if it overflows.
    #[inline]
    pub fn apply(self, value: i32) -> Option<i32> {
        match self {
            UnaryOp::Negate => value.checked_neg(),
            UnaryOp::Abs => value.checked_abs(),
            UnaryOp::Not => Some(i32::from(value == 0)),
            UnaryOp::Complement => Some(!value),
        }
    }
}

impl Display for UnaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOp::Negate => "neg",
            UnaryOp::Not => "not",
            UnaryOp::Abs => "abs",
            UnaryOp::Complement => "complement",
        })
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
        })
    }
}
