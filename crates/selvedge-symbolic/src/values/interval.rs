//! Values as ranges, and what is computed from them.

use selvedge_lang::ir::{BinaryOp, GlobalId, Type, UnaryOp};

use crate::circuit::Range;

/// Every integer of the language.
pub(super) const ALL: Range = Range { low: i32::MIN as i64, high: i32::MAX as i64 };
/// Shifting by more bits fails.
const WIDEST_SHIFT: i64 = 31;
const TRUTH: Range = Range { low: 0, high: 1 };

/// What a slot can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub(super) range: Range,
    /// It is a value that this variable had before, plus one of these deltas.
    pub(super) base: Option<(GlobalId, Range)>,
}

/// What comes out of a computation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computed {
    pub(super) value: Value,
    /// Whether it can fail.
    pub(super) may_fail: bool,
}

/// The thread ends here: no value is possible.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fails;

impl Value {
    pub(super) fn constant(value: i32) -> Self {
        Self::range(Range::of(value.into()))
    }

    pub(super) fn range(range: Range) -> Self {
        Self { range, base: None }
    }

    /// Anything of a type.
    pub(super) fn any(ty: Type) -> Self {
        Self::range(if ty == Type::Bool { TRUTH } else { ALL })
    }

    /// What a read finds.
    pub(super) fn read(global: GlobalId, range: Range) -> Self {
        Self { range, base: Some((global, Range::of(0))) }
    }

    /// Returns a value that is one or the other.
    pub(super) fn join(self, other: Self) -> Self {
        let base = match (self.base, other.base) {
            (Some((a, x)), Some((b, y))) if a == b => Some((a, x.join(y))),
            _ => None,
        };
        Self { range: self.range.join(other.range), base }
    }

    /// Returns the value, if there is only one.
    fn only(self) -> Option<i64> {
        (self.range.low == self.range.high).then_some(self.range.low)
    }

    /// Returns whether a truth value is true; `None`: it can be both.
    pub(super) fn truth(self) -> Option<bool> {
        self.only().map(|value| value != 0)
    }

    fn plus(self, added: Range) -> Option<(GlobalId, Range)> {
        self.base.map(|(global, delta)| (global, sum(delta, added)))
    }

    pub(super) fn unary(op: UnaryOp, value: Self) -> Result<Computed, Fails> {
        let Range { low, high } = value.range;
        fitting(
            false,
            match op {
                UnaryOp::Negate => Self::range(negative(value.range)),
                UnaryOp::Complement => Self::range(Range { low: -1 - high, high: -1 - low }),
                UnaryOp::Not => Self::range(Range { low: 1 - high, high: 1 - low }),
                UnaryOp::Abs => {
                    let least = if low <= 0 && high >= 0 { 0 } else { low.abs().min(high.abs()) };
                    Self::range(Range { low: least, high: low.abs().max(high.abs()) })
                }
            },
        )
    }

    pub(super) fn binary(op: BinaryOp, left: Self, right: Self) -> Result<Computed, Fails> {
        let (a, b) = (left.range, right.range);
        let each = |compute: fn(i64, i64) -> i64| {
            let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
            let corners = corners.map(|(x, y)| Range::of(compute(x, y)));
            Self::range(corners.into_iter().fold(corners[0], Range::join))
        };
        let decided = |always: bool, never: bool| match (always, never) {
            (true, _) => Self::constant(1),
            (_, true) => Self::constant(0),
            _ => Self::range(TRUTH),
        };
        let same = left.only().is_some() && a == b;
        let apart = a.high < b.low || b.high < a.low;
        let value = match op {
            BinaryOp::Add => {
                let base = left.plus(b).or_else(|| right.plus(a));
                Self { range: sum(a, b), base }
            }
            BinaryOp::Subtract => Self { range: sum(a, negative(b)), base: left.plus(negative(b)) },
            BinaryOp::Multiply => each(|x, y| x * y),
            BinaryOp::Divide if b == Range::of(0) => return Err(Fails),
            // Monotone in each argument, on either side of 0; the values next to it are the largest divisions.
            BinaryOp::Divide => {
                let most = a.low.abs().max(a.high.abs());
                let is_positive = b.low > 0;
                match is_positive {
                    true => each(|x, y| x / y),
                    false => Self::range(Range { low: -most, high: most }),
                }
            }
            BinaryOp::Remainder if b == Range::of(0) => return Err(Fails),
            BinaryOp::Remainder => {
                let most = (b.low.abs().max(b.high.abs()) - 1).min(a.low.abs().max(a.high.abs()));
                let low = if a.low >= 0 { 0 } else { -most };
                let high = if a.high <= 0 { 0 } else { most };
                match (left.only(), right.only()) {
                    (Some(x), Some(y)) => Self::range(Range::of(x % y)),
                    _ => Self::range(Range { low, high }),
                }
            }
            // Nothing is followed bit by bit.
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Self::range(ALL),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight if b.high < 0 || b.low > WIDEST_SHIFT => {
                return Err(Fails);
            }
            BinaryOp::ShiftLeft => Self::range(ALL),
            // It goes towards 0, or -1.
            BinaryOp::ShiftRight => Self::range(Range { low: a.low.min(0), high: a.high.max(0) }),
            BinaryOp::Min => each(i64::min),
            BinaryOp::Max => each(i64::max),
            BinaryOp::Equal => decided(same, apart),
            BinaryOp::NotEqual => decided(apart, same),
            BinaryOp::Less => decided(a.high < b.low, a.low >= b.high),
            BinaryOp::LessEqual => decided(a.high <= b.low, a.low > b.high),
            BinaryOp::Greater => decided(a.low > b.high, a.high <= b.low),
            BinaryOp::GreaterEqual => decided(a.low >= b.high, a.high < b.low),
        };
        let divides = matches!(op, BinaryOp::Divide | BinaryOp::Remainder);
        let by_zero = divides && b.low <= 0 && b.high >= 0;
        // The least integer by -1 overflows, whether its quotient or its remainder is asked for.
        let wraps = divides && a.low == ALL.low && b.low <= -1 && b.high >= -1;
        let shifts = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
        let too_far = shifts && (b.low < 0 || b.high > WIDEST_SHIFT);
        fitting(by_zero || wraps || too_far, value)
    }
}

/// What overflows is a failure: only the values that fit are left.
fn fitting(may_fail: bool, value: Value) -> Result<Computed, Fails> {
    if value.range.high < ALL.low || value.range.low > ALL.high {
        return Err(Fails);
    }
    let fitting = Value { range: within(value.range), ..value };
    Ok(Computed { may_fail: may_fail || fitting.range != value.range, value: fitting })
}

/// Returns the part of a range that is integers of the language.
pub(super) fn within(range: Range) -> Range {
    Range { low: range.low.clamp(ALL.low, ALL.high), high: range.high.clamp(ALL.low, ALL.high) }
}

fn sum(a: Range, b: Range) -> Range {
    Range { low: a.low.saturating_add(b.low), high: a.high.saturating_add(b.high) }
}

fn negative(range: Range) -> Range {
    Range { low: -range.high, high: -range.low }
}
