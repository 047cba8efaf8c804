//! Counting semaphores. The cell of a semaphore is its count.

use std::fmt::{self, Formatter};

use selvedge_core::{
    Elsewhere, Flexibility, Footprint, Label, Location, Mode, Order, ViolationKind,
};

use super::declare::operations;
use super::{Facts, Operation, Reach, Stands, Then};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Reads, fault};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef, Type};

operations! {
    /// An operation on a semaphore.
    pub enum Semaphore {
        /// Raises it; faults on overflow.
        Up { semaphore: F::Object },
        /// Lowers it once it is positive.
        Down { semaphore: F::Object },
        /// `target` = whether it was positive and is now lowered.
        TryDown { semaphore: F::Object, target: F::Target },
        /// `target` = its count.
        Count { semaphore: F::Object, target: F::Target },
    }
}

impl Semaphore {
    /// Returns the semaphore.
    pub fn semaphore(&self) -> ObjectRef {
        match self {
            Semaphore::Up { semaphore }
            | Semaphore::Down { semaphore }
            | Semaphore::TryDown { semaphore, .. }
            | Semaphore::Count { semaphore, .. } => *semaphore,
        }
    }

    /// Returns the event that it is under a memory model, where the count is one location.
    pub(crate) fn event(&self, at: Location) -> Label {
        match self {
            Semaphore::Up { .. } => Label::Update { at, order: Order::Release },
            Semaphore::Down { .. } => Label::Await { at, order: Order::Acquire, update: true },
            // It is refused.
            Semaphore::Count { .. } => Label::Load { at, order: Order::Acquire },
            Semaphore::TryDown { .. } => {
                Label::Try { at, success: Order::Acquire, failure: Order::Relaxed }
            }
        }
    }

    fn count(&self, machine: &Machine, at: At<'_>) -> i32 {
        machine.cells[machine.cell(at, self.semaphore())]
    }
}

impl Operation for Semaphore {
    fn facts(&self) -> Facts {
        match self {
            Semaphore::Up { .. } => {
                Facts { may_fault: true, stands: Stands::InLooks, finds: true, ..Facts::STEP }
            }
            Semaphore::Down { .. } | Semaphore::TryDown { .. } => Facts::STEP,
            Semaphore::Count { .. } => {
                Facts { stands: Stands::InLooks, finds: true, reach: Reach::Reads, ..Facts::STEP }
            }
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        if let Semaphore::TryDown { target, .. } = self {
            checker.slot(*target, Type::Bool)?;
        }
        if let Semaphore::Count { target, .. } = self {
            checker.slot(*target, Type::Int)?;
        }
        checker.kind(self.semaphore(), |kind| matches!(kind, GlobalKind::Semaphore { .. }))
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let semaphore = names.object(self.semaphore());
        match self {
            Semaphore::Up { .. } => write!(f, "up {semaphore}"),
            Semaphore::Down { .. } => write!(f, "down {semaphore}"),
            Semaphore::TryDown { .. } => write!(f, "try_down {semaphore}"),
            Semaphore::Count { .. } => write!(f, "count {semaphore}"),
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let semaphore = self.semaphore();
        let may_overflow = at.loaded.globals[semaphore.global.index()].may_overflow;
        let mode = match self {
            // If it may overflow, it matters which thread raises it last.
            Semaphore::Up { .. } => match may_overflow {
                true => Mode::Update,
                false => Mode::Up,
            },
            Semaphore::TryDown { .. } if self.count(machine, at) <= 0 => Mode::Probe,
            Semaphore::Count { .. } => Mode::Probe,
            Semaphore::Down { .. } | Semaphore::TryDown { .. } => Mode::Down,
        };
        footprint.add(machine.object(at, semaphore), mode);
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        !matches!(self, Semaphore::Down { .. }) || self.count(machine, at) > 0
    }

    fn flexibility(&self, _: &Machine, _: At<'_>) -> Flexibility {
        match self {
            Semaphore::Up { .. } | Semaphore::Count { .. } => Flexibility::Fixed,
            Semaphore::Down { .. } => Flexibility::Blocking,
            Semaphore::TryDown { .. } => Flexibility::Conditional,
        }
    }

    fn elsewhere(&self, machine: &Machine, at: At<'_>) -> Elsewhere {
        match self {
            Semaphore::TryDown { .. } if self.count(machine, at) <= 0 => Elsewhere::Anything,
            _ => Elsewhere::AtMostThis,
        }
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let semaphore = self.semaphore();
        let element = machine.element(at, semaphore);
        let cell = at.loaded.cell(semaphore, element);
        let count = machine.cells[cell];
        if let Semaphore::Count { target, .. } = self {
            machine.set_target(at, *target, count);
            machine.record.add(at.thread.pc, element, count, Some(count), &[]);
            return Ok(Then::Next);
        }
        let possible = count > 0;
        machine.record.add(at.thread.pc, element, count, Some(i32::from(possible)), &[]);
        match self {
            Semaphore::Up { .. } => {
                let Some(more) = count.checked_add(1) else {
                    let name = at.loaded.name(semaphore, element as usize);
                    let message = format!("the count of `{name}` overflows 32 bits");
                    let kind = ViolationKind::Arithmetic;
                    return Err(fault::violation(at.loaded, at.thread.pc, kind, message));
                };
                machine.set_cell(cell as u32, more);
            }
            _ if possible => machine.set_cell(cell as u32, count - 1),
            _ => {}
        }
        if let Semaphore::TryDown { target, .. } = self {
            machine.set_target(at, *target, i32::from(possible));
        }
        Ok(Then::Next)
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let name = loaded.name(self.semaphore(), done.element);
        match self {
            Semaphore::Up { .. } => format!("up({name})"),
            Semaphore::Down { .. } => format!("down({name})"),
            Semaphore::TryDown { .. } => done.with_result(format!("try_down({name})"), Type::Bool),
            Semaphore::Count { .. } => done.with_result(format!("count({name})"), Type::Int),
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        format!("waits for {}, which is 0", machine.name(at, self.semaphore()))
    }

    fn decides(&self, reads: &mut Reads) {
        if let Semaphore::Count { semaphore, .. } = self {
            reads.places.push(*semaphore);
        }
        // Above the largest count.
        if let Semaphore::Up { semaphore } = self {
            reads.may_fault_before = true;
            reads.raised.push(*semaphore);
        }
    }
}
