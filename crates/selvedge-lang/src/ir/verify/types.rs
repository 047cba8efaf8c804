//! Invariants 3 and 5: types, kinds of objects, indices.

use super::Errors;
use crate::ir::{
    Compute, ConditionArgument, Global, GlobalId, GlobalKind, Label, ObjectRef, Op, Operand,
    Procedure, ProcedureId, Program, Slot, Type,
};

pub(super) fn check(program: &Program, errors: &mut Errors) {
    for procedure in &program.procedures {
        let written_by = index_slots(procedure);
        let checker = Checker { program, procedure, index_slots: &written_by };
        for (at, instruction) in procedure.code.iter().enumerate() {
            let shown = &program.sites[instruction.site.index()].shown;
            let result = checker.op(&instruction.op).and_then(|()| {
                shown.iter().try_for_each(|shown| checker.operand(shown.value, shown.ty))
            });
            if let Err(wrong) = result {
                errors.at(&procedure.name, Label::new(at), wrong);
            }
        }
    }
    for thread in &program.threads {
        let procedure = &program.procedures[thread.procedure.index()];
        for (&value, slot) in thread.arguments.iter().zip(&procedure.slots) {
            if !constant_fits(program, value, slot.ty) {
                errors.add(format!("thread {}: {value} is no {}", thread.name, slot.ty));
            }
        }
    }
    conditions(program, errors);
}

fn conditions(program: &Program, errors: &mut Errors) {
    for (i, rule) in program.independence.iter().enumerate() {
        let Some(condition) = &rule.condition else { continue };
        let parameters = &program.procedures[condition.procedure.index()].slots;
        for (argument, parameter) in condition.arguments.iter().zip(parameters) {
            let (side, slot) = match *argument {
                ConditionArgument::First(slot) => (rule.first, slot),
                ConditionArgument::Second(slot) => (rule.second, slot),
            };
            let procedure = program.atomics[side.index()].procedure;
            let slots = &program.procedures[procedure.index()].slots;
            if slots.get(slot.index()).map(|slot| slot.ty) != Some(parameter.ty) {
                errors.add(format!("independence {i}: {argument} is no {}", parameter.ty));
            }
        }
    }
}

/// Who writes a slot, as far as indices are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    None,
    IndexOf(GlobalId),
    Others,
}

fn index_slots(procedure: &Procedure) -> Vec<Writer> {
    let mut writers = vec![Writer::None; procedure.slots.len()];
    writers[..procedure.parameters as usize].fill(Writer::Others);
    let mut write = |slot: Slot, writer: Writer| {
        let known = &mut writers[slot.index()];
        *known = match *known {
            Writer::None => writer,
            same if same == writer => writer,
            _ => Writer::Others,
        };
    };
    for instruction in &procedure.code {
        match &instruction.op {
            Op::Compute { target, value: Compute::Index { global, .. } } => {
                write(*target, Writer::IndexOf(*global));
            }
            op => op.for_each_successor(Label(0), |_, slots| {
                slots.iter().for_each(|&slot| write(slot, Writer::Others));
            }),
        }
    }
    writers
}

fn constant_fits(program: &Program, value: i32, ty: Type) -> bool {
    match ty {
        Type::Int => true,
        Type::Bool => matches!(value, 0 | 1),
        Type::Thread | Type::Future(_) => {
            usize::try_from(value).is_ok_and(|value| value < program.threads.len())
        }
        Type::Enum(id) => program
            .enums
            .get(id.index())
            .is_some_and(|it| usize::try_from(value).is_ok_and(|value| value < it.members.len())),
    }
}

pub(crate) struct Checker<'a> {
    pub(crate) program: &'a Program,
    procedure: &'a Procedure,
    index_slots: &'a [Writer],
}

pub(crate) type Checked = Result<(), String>;

impl Checker<'_> {
    pub(crate) fn operand(&self, operand: Operand, ty: Type) -> Checked {
        match operand {
            Operand::Slot(slot) => self.slot(slot, ty),
            Operand::Constant(value) if constant_fits(self.program, value, ty) => Ok(()),
            Operand::Constant(value) => Err(format!("{value} is no {ty}")),
        }
    }

    pub(crate) fn slot(&self, slot: Slot, ty: Type) -> Checked {
        let found = self.type_of(slot);
        let same = found.representation() == ty.representation();
        if same { Ok(()) } else { Err(format!("{slot} is of type {found}, not {ty}")) }
    }

    /// Integers or booleans.
    pub(crate) fn number(&self, operand: Operand) -> Checked {
        self.operand(operand, Type::Int).or_else(|_| self.operand(operand, Type::Bool))
    }

    pub(crate) fn type_of(&self, slot: Slot) -> Type {
        self.procedure.slots[slot.index()].ty
    }

    /// Returns the type of operands that are compared; constants have none of their own.
    pub(crate) fn common_type(&self, left: Operand, right: Operand) -> Result<Type, String> {
        let slot_type = |operand: Operand| match operand {
            Operand::Slot(slot) => Some(self.type_of(slot)),
            Operand::Constant(_) => None,
        };
        match slot_type(left).or(slot_type(right)).unwrap_or(Type::Int) {
            Type::Thread | Type::Future(_) => Err("thread handles are not compared".to_owned()),
            ty => Ok(ty),
        }
    }

    pub(crate) fn kind(&self, object: ObjectRef, fits: impl Fn(&GlobalKind) -> bool) -> Checked {
        self.object(object, fits).map(drop)
    }

    fn object(
        &self,
        object: ObjectRef,
        fits: impl Fn(&GlobalKind) -> bool,
    ) -> Result<&Global, String> {
        let global = &self.program.globals[object.global.index()];
        if !fits(&global.kind) {
            return Err(format!("`{}` is of the wrong kind", global.name));
        }
        let in_range = match object.index {
            Operand::Constant(index) => {
                usize::try_from(index).is_ok_and(|index| index < global.elements())
            }
            Operand::Slot(slot) => self.index_slots[slot.index()] == Writer::IndexOf(object.global),
        };
        if in_range {
            Ok(global)
        } else {
            Err(format!("an index of `{}` is not checked", global.name))
        }
    }

    pub(crate) fn variable(&self, object: ObjectRef) -> Result<Type, String> {
        match &self.object(object, |kind| matches!(kind, GlobalKind::Variable { .. }))?.kind {
            GlobalKind::Variable { ty, .. } => Ok(*ty),
            _ => Err("not a variable".to_owned()),
        }
    }

    pub(crate) fn ghost(&self, object: ObjectRef) -> Result<Type, String> {
        match &self.object(object, |kind| matches!(kind, GlobalKind::Ghost { .. }))?.kind {
            GlobalKind::Ghost { ty, .. } => Ok(*ty),
            _ => Err("not a ghost".to_owned()),
        }
    }

    pub(crate) fn arguments(&self, procedure: ProcedureId, arguments: &[Operand]) -> Checked {
        let procedure = &self.program.procedures[procedure.index()];
        if procedure.parameters as usize != arguments.len() {
            return Err(format!("`{}` has another number of parameters", procedure.name));
        }
        arguments
            .iter()
            .zip(&procedure.slots)
            .try_for_each(|(&argument, slot)| self.operand(argument, slot.ty))
    }

    fn op(&self, op: &Op) -> Checked {
        match op {
            Op::Compute { target, value } => value.check(*target, self),
            Op::Branch { condition, .. }
            | Op::Assert { condition, .. }
            | Op::Assume { condition }
            | Op::Await { condition } => self.operand(*condition, Type::Bool),
            Op::Call { procedure, arguments, target } => {
                let callee = &self.program.procedures[procedure.index()];
                self.arguments(*procedure, arguments)?;
                match (target, callee.result) {
                    (None, _) => Ok(()),
                    (Some(target), Some(ty)) => self.slot(*target, ty),
                    (Some(_), None) => Err(format!("`{}` has no result", callee.name)),
                }
            }
            Op::Return { value } => match (value, self.procedure.result) {
                (None, None) => Ok(()),
                (Some(value), Some(ty)) => self.operand(*value, ty),
                _ => Err("does not return what the procedure does".to_owned()),
            },
            op => op.operation().map_or(Ok(()), |op| op.check(self)),
        }
    }
}
