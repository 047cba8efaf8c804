//! Operators and the built-in functions without steps: the section "Expressions" of `docs/language.md`.

use super::state::Value;
use super::syntax::Operator;

/// The result is not an integer of 32 bits, or does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoResult;

type Result<T> = std::result::Result<T, NoResult>;

/// Computed with 64 bits, where nothing overflows.
fn fits(value: i64) -> Result<Value> {
    i32::try_from(value).map(Value::Int).map_err(|_| NoResult)
}

pub(super) fn minus(value: i32) -> Result<Value> {
    fits(-i64::from(value))
}

pub(super) fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value> {
    match operator {
        Operator::Equal => return Ok(Value::Bool(left == right)),
        Operator::NotEqual => return Ok(Value::Bool(left != right)),
        _ => {}
    }
    let (a, b) = (i64::from(left.int()), i64::from(right.int()));
    match operator {
        Operator::Add => fits(a + b),
        Operator::Subtract => fits(a - b),
        Operator::Multiply => fits(a * b),
        Operator::Divide | Operator::Remainder if b == 0 => Err(NoResult),
        Operator::Divide => fits(toward_zero(a, b)),
        Operator::Remainder => {
            // The remainder of a division that overflows does not exist either.
            let quotient = toward_zero(a, b);
            fits(quotient)?;
            fits(a - b * quotient)
        }
        Operator::BitAnd => fits(by_bits(a, b, |a, b| a && b)),
        Operator::BitOr => fits(by_bits(a, b, |a, b| a || b)),
        Operator::BitXor => fits(by_bits(a, b, |a, b| a != b)),
        Operator::ShiftLeft | Operator::ShiftRight if !(0..=31).contains(&b) => Err(NoResult),
        // What leaves the 32 bits is lost: the number that is left has the same remainder.
        Operator::ShiftLeft => fits(signed((a * (1 << b)).rem_euclid(1 << 32))),
        // Copies of the sign come in: rounded down.
        Operator::ShiftRight => fits(a.div_euclid(1 << b)),
        Operator::Less => Ok(Value::Bool(a < b)),
        Operator::AtMost => Ok(Value::Bool(a <= b)),
        Operator::Greater => Ok(Value::Bool(a > b)),
        Operator::AtLeast => Ok(Value::Bool(a >= b)),
        Operator::Equal | Operator::NotEqual => unreachable!("compared above"),
    }
}

pub(super) fn complement(value: i32) -> Result<Value> {
    fits(-1 - i64::from(value))
}

/// Combines the 32 bits of two numbers.
fn by_bits(a: i64, b: i64, bit: fn(bool, bool) -> bool) -> i64 {
    let is_set = |value: i64, at: u32| (value.rem_euclid(1 << 32) / (1 << at)) % 2 == 1;
    let bits = (0..32).filter(|&at| bit(is_set(a, at), is_set(b, at)));
    signed(bits.map(|at| 1_i64 << at).sum())
}

/// The number whose two's complement of 32 bits is this one without a sign.
fn signed(unsigned: i64) -> i64 {
    if unsigned < 1 << 31 { unsigned } else { unsigned - (1 << 32) }
}

/// The quotient, rounded towards zero.
fn toward_zero(a: i64, b: i64) -> i64 {
    let size = a.abs() / b.abs();
    if (a < 0) == (b < 0) { size } else { -size }
}

/// A call of `min`, `max` or `abs`; `None` if it is none of them.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Result<Value>> {
    Some(match (name, arguments) {
        ("min", [a, b]) => Ok(Value::Int(a.int().min(b.int()))),
        ("max", [a, b]) => Ok(Value::Int(a.int().max(b.int()))),
        ("int", [a]) => Ok(Value::Int(a.sent())),
        ("abs", [a]) => fits(i64::from(a.int()).abs()),
        _ => return None,
    })
}
