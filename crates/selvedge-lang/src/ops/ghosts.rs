//! Ghost variables: the program updates them, and only properties read them.
//!
//! An access to a ghost is no step of its own. It belongs to the step before it, with the local code in which it stands; only before the
//! first step of a thread there is none, and it is one itself. Steps that update the same ghost are ordered, unless
//! they all count with it, and so are updates and reads; see `interpret/ghosts.rs`.

use std::fmt::{self, Formatter};

use selvedge_core::{Footprint, Mode, ViolationKind};

use super::declare::operations;
use super::{Facts, Operation, Reach, Stands, Then};
use crate::interpret::fault::{self, value_text};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Reads};
use crate::ir::{Checked, Checker, Names, ObjectRef, Type};

operations! {
    /// An operation on a ghost variable. Values are of its type.
    pub enum Ghost {
        /// `target = ghost`.
        Read { ghost: F::Object, target: F::Target },
        /// `ghost = value`.
        Write { ghost: F::Object, value: F::Value },
        /// `ghost += 1`, or `ghost -= 1`; faults on overflow.
        Count { ghost: F::Object, down: copy bool },
    }
}

impl Ghost {
    /// Returns the ghost variable.
    pub fn ghost(&self) -> ObjectRef {
        match self {
            Ghost::Read { ghost, .. } | Ghost::Write { ghost, .. } | Ghost::Count { ghost, .. } => {
                *ghost
            }
        }
    }

    /// Returns whether what follows it may depend on the value of the ghost; `counts` tells whether all updates of it count.
    pub(crate) fn finds(&self, counts: bool) -> bool {
        match self {
            Ghost::Read { .. } => true,
            Ghost::Write { .. } => false,
            // One that only counts does not overflow.
            Ghost::Count { .. } => !counts,
        }
    }
}

impl Operation for Ghost {
    fn facts(&self) -> Facts {
        let stands = Stands::InLooks;
        match self {
            Ghost::Read { .. } => Facts { stands, finds: true, reach: Reach::Reads, ..Facts::STEP },
            Ghost::Write { .. } => Facts { stands, ..Facts::STEP },
            Ghost::Count { .. } => Facts { stands, finds: true, may_fault: true, ..Facts::STEP },
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        let ty = checker.ghost(self.ghost())?;
        match *self {
            Ghost::Read { target, .. } => checker.slot(target, ty),
            Ghost::Write { value, .. } => checker.operand(value, ty),
            Ghost::Count { .. } if ty == Type::Int => Ok(()),
            Ghost::Count { .. } => Err("counts with what is no integer".to_owned()),
        }
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let ghost = names.object(self.ghost());
        match self {
            Ghost::Read { .. } => write!(f, "ghost read {ghost}"),
            Ghost::Write { value, .. } => write!(f, "ghost write {ghost} {value}"),
            Ghost::Count { down: false, .. } => write!(f, "ghost count {ghost} up"),
            Ghost::Count { down: true, .. } => write!(f, "ghost count {ghost} down"),
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let ghost = self.ghost();
        let mode = match self {
            Ghost::Read { .. } => Mode::GhostRead,
            Ghost::Count { .. } if at.loaded.ghosts.counts(ghost.global) => Mode::GhostAdd,
            Ghost::Write { .. } | Ghost::Count { .. } => Mode::GhostWrite,
        };
        footprint.add(machine.object(at, ghost), mode);
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let ghost = self.ghost();
        let element = machine.element(at, ghost);
        let cell = at.loaded.cell(ghost, element);
        let old = machine.cells[cell];
        let new = match self {
            Ghost::Read { target, .. } => {
                machine.set_target(at, *target, old);
                machine.record.add(at.thread.pc, element, old, Some(old), &[]);
                return Ok(Then::Next);
            }
            Ghost::Write { value, .. } => machine.value(at, *value),
            Ghost::Count { down, .. } => match old.checked_add(if *down { -1 } else { 1 }) {
                Some(new) => new,
                None => {
                    machine.record.add(at.thread.pc, element, old, None, &[]);
                    let name = at.loaded.name(ghost, element as usize);
                    let message = format!("ghost `{name}` overflows 32 bits ({name} = {old})");
                    let kind = ViolationKind::Arithmetic;
                    return Err(fault::violation(at.loaded, at.thread.pc, kind, message));
                }
            },
        };
        machine.set_cell(cell as u32, new);
        machine.record.add(at.thread.pc, element, old, Some(new), &[]);
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Ghost::Write { value, .. } => vec![machine.value(at, *value)],
            Ghost::Read { .. } | Ghost::Count { .. } => Vec::new(),
        }
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let ghost = self.ghost();
        let ty = loaded.program.globals[ghost.global.index()].value_type();
        let name = loaded.name(ghost, done.element);
        let value = done.result.or(done.values.first().copied());
        let shown = value.map(|value| value_text(&loaded.program, value, ty));
        match (self, shown) {
            (Ghost::Read { .. }, Some(value)) => format!("read {name} → {value}"),
            (Ghost::Read { .. }, None) => format!("read {name}"),
            (_, Some(value)) => format!("{name} = {value}"),
            (Ghost::Count { down: true, .. }, None) => format!("{name} -= 1"),
            (Ghost::Write { .. } | Ghost::Count { .. }, None) => format!("{name} += 1"),
        }
    }

    fn text_inside(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let (false, Some(new)) = (matches!(self, Ghost::Read { .. }), done.result) else {
            return self.text(machine, loaded, done);
        };
        let ghost = self.ghost();
        let ty = loaded.program.globals[ghost.global.index()].value_type();
        let name = loaded.name(ghost, done.element);
        let [old, new] = [done.old, new].map(|value| value_text(&loaded.program, value, ty));
        format!("{name} {old} → {new}")
    }

    fn decides(&self, reads: &mut Reads) {
        // An assertion that fails does not wait for what comes after it.
        if !matches!(self, Ghost::Write { .. }) {
            reads.ghosts.push(self.ghost());
        }
    }
}
