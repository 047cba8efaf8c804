//! The scheduler's choices, fences, and steps that touch nothing.

use std::fmt::{self, Formatter};

use selvedge_core::{Footprint, Order, ViolationKind};

use super::declare::operations;
use super::{Facts, Operation, Stands, Then, order_word};
use crate::interpret::{At, Done, Failure, Loaded, Machine, fault};
use crate::ir::{Checked, Checker, Names, Operand, Type};

/// More alternatives than this are not a choice but an input: a violation, as the language says.
pub const MOST_ALTERNATIVES: i32 = 1_000_000;

operations! {
    /// An operation that touches nothing.
    pub enum Choice {
        /// `target` = one of `low`, …, `high - 1`, the scheduler's choice. A boolean only if the range is the
        /// constants 0 and 2.
        Choose { low: F::Value, high: F::Value, target: F::Target },
        /// A step that touches nothing.
        Yield,
        /// Orders the accesses of its thread before and behind it, for other threads.
        Fence { order: copy Order },
    }
}

impl Operation for Choice {
    fn facts(&self) -> Facts {
        match self {
            Choice::Choose { .. } => Facts { may_fault: true, ..Facts::STEP },
            Choice::Fence { .. } => Facts::STEP,
            Choice::Yield => Facts { stands: Stands::InLooks, ..Facts::STEP },
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        let Choice::Choose { target, low, high } = self else { return Ok(()) };
        checker.operand(*low, Type::Int)?;
        checker.operand(*high, Type::Int)?;
        let either = (*low, *high) == (Operand::Constant(0), Operand::Constant(2));
        checker
            .slot(*target, Type::Int)
            .or_else(|wrong| if either { checker.slot(*target, Type::Bool) } else { Err(wrong) })
    }

    fn write(&self, f: &mut Formatter<'_>, _: &Names<'_>) -> fmt::Result {
        match self {
            Choice::Choose { low, high, .. } => write!(f, "choose {low}..{high}"),
            Choice::Yield => write!(f, "yield"),
            Choice::Fence { order } => write!(f, "fence {}", order_word(*order)),
        }
    }

    fn footprint(&self, _: &mut Machine, _: At<'_>, _: u32, _: &mut Footprint) {}

    fn choices(&self, machine: &Machine, at: At<'_>) -> u32 {
        match self {
            Choice::Choose { low, high, .. } => {
                alternatives(at, machine.value(at, *low), machine.value(at, *high)).unwrap_or(1)
            }
            Choice::Yield | Choice::Fence { .. } => 1,
        }
    }

    fn memory_order(&self, _: &Machine, _: At<'_>) -> Option<Order> {
        match self {
            Choice::Fence { order } => Some(*order),
            Choice::Choose { .. } | Choice::Yield => None,
        }
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, choice: u32) -> Result<Then, Failure> {
        match self {
            Choice::Choose { target, low, high } => {
                let (low, high) = (machine.value(at, *low), machine.value(at, *high));
                let count = alternatives(at, low, high)?;
                // Below `high`, so it fits.
                let chosen = (i64::from(low) + i64::from(choice.min(count - 1))) as i32;
                machine.set_target(at, *target, chosen);
                machine.record.add(at.thread.pc, 0, 0, Some(chosen), &[low, high]);
            }
            Choice::Yield | Choice::Fence { .. } => {
                machine.record.add(at.thread.pc, 0, 0, Some(0), &[]);
            }
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Choice::Choose { low, high, .. } => machine.values(at, &[*low, *high]),
            Choice::Yield | Choice::Fence { .. } => Vec::new(),
        }
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let target = match self {
            Choice::Choose { target, .. } => target,
            Choice::Yield => return "yield".to_owned(),
            Choice::Fence { order } => return format!("fence({})", order_word(*order)),
        };
        let procedure = &loaded.program.procedures[loaded.procedure_at(done.pc).index()];
        let ty = procedure.slots[target.index()].ty;
        let text = match (ty, done.values) {
            (Type::Int, [low, high]) => format!("choose({low}..{high})"),
            _ => "choose()".to_owned(),
        };
        done.with_result(text, ty)
    }
}

/// Returns how many values `choose(low..high)` has.
fn alternatives(at: At<'_>, low: i32, high: i32) -> Result<u32, Failure> {
    let count = i64::from(high) - i64::from(low);
    if count <= 0 {
        let message = format!("`choose({low}..{high})` has nothing to choose from");
        return Err(fault::violation(at.loaded, at.thread.pc, ViolationKind::Bounds, message));
    }
    if count > i64::from(MOST_ALTERNATIVES) {
        let message =
            format!("`choose({low}..{high})` has {count} alternatives; 1,000,000 are allowed");
        return Err(fault::violation(at.loaded, at.thread.pc, ViolationKind::Resources, message));
    }
    Ok(count as u32)
}
