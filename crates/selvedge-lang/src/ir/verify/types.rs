//! Invariants 3 and 5: types, kinds of objects, indices.

use super::Errors;
use crate::ir::{
    BinaryOp, Change, ConditionArgument, Global, GlobalId, GlobalKind, Guard, GuardArgument, Label,
    ObjectRef, Op, Operand, Pattern, Procedure, Program, Query, Slot, Type, UnaryOp,
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
    Nobody,
    IndexOf(GlobalId),
    Others,
}

fn index_slots(procedure: &Procedure) -> Vec<Writer> {
    let mut writers = vec![Writer::Nobody; procedure.slots.len()];
    writers[..procedure.parameters as usize].fill(Writer::Others);
    let mut write = |slot: Slot, writer: Writer| {
        let known = &mut writers[slot.index()];
        *known = match *known {
            Writer::Nobody => writer,
            same if same == writer => writer,
            _ => Writer::Others,
        };
    };
    for instruction in &procedure.code {
        match &instruction.op {
            Op::Index { target, global, .. } => write(*target, Writer::IndexOf(*global)),
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
        Type::Thread => usize::try_from(value).is_ok_and(|value| value < program.threads.len()),
    }
}

struct Checker<'a> {
    program: &'a Program,
    procedure: &'a Procedure,
    index_slots: &'a [Writer],
}

type Checked = Result<(), String>;

impl Checker<'_> {
    fn operand(&self, operand: Operand, ty: Type) -> Checked {
        match operand {
            Operand::Slot(slot) => self.slot(slot, ty),
            Operand::Constant(value) if constant_fits(self.program, value, ty) => Ok(()),
            Operand::Constant(value) => Err(format!("{value} is no {ty}")),
        }
    }

    fn slot(&self, slot: Slot, ty: Type) -> Checked {
        let found = self.procedure.slots[slot.index()].ty;
        if found == ty { Ok(()) } else { Err(format!("{slot} is of type {found}, not {ty}")) }
    }

    /// Integers or booleans.
    fn number(&self, operand: Operand) -> Checked {
        self.operand(operand, Type::Int).or_else(|_| self.operand(operand, Type::Bool))
    }

    /// Returns the type of a slot operand; constants have none of their own.
    fn slot_type(&self, operand: Operand) -> Option<Type> {
        match operand {
            Operand::Slot(slot) => Some(self.procedure.slots[slot.index()].ty),
            Operand::Constant(_) => None,
        }
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

    fn variable(&self, object: ObjectRef) -> Result<Type, String> {
        match &self.object(object, |kind| matches!(kind, GlobalKind::Variable { .. }))?.kind {
            GlobalKind::Variable { ty, .. } => Ok(*ty),
            _ => Err("not a variable".to_owned()),
        }
    }

    fn arguments(&self, procedure: &Procedure, arguments: &[Operand]) -> Checked {
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
            Op::Copy { target, value } => {
                self.operand(*value, self.procedure.slots[target.index()].ty)
            }
            Op::Unary { op, target, value } => {
                let ty = if *op == UnaryOp::Not { Type::Bool } else { Type::Int };
                self.slot(*target, ty)?;
                self.operand(*value, ty)
            }
            Op::Binary { op, target, left, right } => self.binary(*op, *target, *left, *right),
            Op::Index { target, first, second, .. } => {
                self.slot(*target, Type::Int)?;
                self.operand(*first, Type::Int)?;
                second.iter().try_for_each(|second| self.operand(*second, Type::Int))
            }
            Op::ThreadIndex { target, index, .. } => {
                self.slot(*target, Type::Thread)?;
                self.operand(*index, Type::Int)
            }
            Op::Own { target } => self.slot(*target, Type::Thread),
            Op::Branch { condition, .. }
            | Op::Assert { condition, .. }
            | Op::Assume { condition }
            | Op::Await { condition } => self.operand(*condition, Type::Bool),
            Op::Call { procedure, arguments, target } => {
                let callee = &self.program.procedures[procedure.index()];
                self.arguments(callee, arguments)?;
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
            Op::Jump { .. } | Op::AtomicBegin { .. } | Op::AtomicEnd { .. } | Op::Yield => Ok(()),
            _ => self.visible(op),
        }
    }

    fn binary(&self, op: BinaryOp, target: Slot, left: Operand, right: Operand) -> Checked {
        use BinaryOp::{
            Add, Divide, Equal, Greater, GreaterEqual, Less, LessEqual, Max, Min, Multiply,
            NotEqual, Remainder, Subtract,
        };
        let (operands, result) = match op {
            Add | Subtract | Multiply | Divide | Remainder | Min | Max => (Type::Int, Type::Int),
            Less | LessEqual | Greater | GreaterEqual => (Type::Int, Type::Bool),
            Equal | NotEqual => {
                let ty = self.slot_type(left).or(self.slot_type(right)).unwrap_or(Type::Int);
                if ty == Type::Thread {
                    return Err("thread handles are not compared".to_owned());
                }
                (ty, Type::Bool)
            }
        };
        self.slot(target, result)?;
        self.operand(left, operands)?;
        self.operand(right, operands)
    }

    fn visible(&self, op: &Op) -> Checked {
        let kind = |object: ObjectRef, wanted: GlobalKind| {
            let same = |found: &GlobalKind| {
                std::mem::discriminant(found) == std::mem::discriminant(&wanted)
            };
            self.object(object, same).map(drop)
        };
        let semaphore = || GlobalKind::Semaphore { initial: Vec::new() };
        match *op {
            Op::Read { target, variable } => self.slot(target, self.variable(variable)?),
            Op::Write { variable, value } => self.operand(value, self.variable(variable)?),
            Op::CompareExchange { target, variable, expected, new } => {
                let ty = self.variable(variable)?;
                self.slot(target, Type::Bool)?;
                self.operand(expected, ty)?;
                self.operand(new, ty)
            }
            Op::Exchange { target, variable, new } => {
                let ty = self.variable(variable)?;
                self.slot(target, ty)?;
                self.operand(new, ty)
            }
            Op::FetchAdd { target, variable, delta } => {
                if self.variable(variable)? != Type::Int {
                    return Err("adds to what is no integer".to_owned());
                }
                self.slot(target, Type::Int)?;
                self.operand(delta, Type::Int)
            }
            Op::Lock { mutex } | Op::Unlock { mutex } => kind(mutex, GlobalKind::Mutex),
            Op::TryLock { target, mutex } => {
                self.slot(target, Type::Bool)?;
                kind(mutex, GlobalKind::Mutex)
            }
            Op::ReadLock { rwlock }
            | Op::ReadUnlock { rwlock }
            | Op::WriteLock { rwlock }
            | Op::WriteUnlock { rwlock } => kind(rwlock, GlobalKind::RwLock),
            Op::TryReadLock { target, rwlock } | Op::TryWriteLock { target, rwlock } => {
                self.slot(target, Type::Bool)?;
                kind(rwlock, GlobalKind::RwLock)
            }
            Op::Up { semaphore: object } | Op::Down { semaphore: object } => {
                kind(object, semaphore())
            }
            Op::TryDown { target, semaphore: object } => {
                self.slot(target, Type::Bool)?;
                kind(object, semaphore())
            }
            Op::Wait { cond, mutex } => {
                kind(cond, GlobalKind::Cond)?;
                kind(mutex, GlobalKind::Mutex)
            }
            Op::Signal { cond } | Op::Broadcast { cond } => kind(cond, GlobalKind::Cond),
            Op::Arrive { barrier } => kind(barrier, GlobalKind::Barrier { parties: Vec::new() }),
            _ => self.concurrent(op),
        }
    }

    fn concurrent(&self, op: &Op) -> Checked {
        match op {
            Op::ReadContainer { target, container, query } => {
                self.query(*target, *container, *query)
            }
            Op::ChangeContainer { container, change } => self.change(*container, *change),
            Op::Spawn { procedure, arguments, target } => {
                self.arguments(&self.program.procedures[procedure.index()], arguments)?;
                target.iter().try_for_each(|&target| self.slot(target, Type::Thread))
            }
            Op::Join { thread } => self.operand(*thread, Type::Thread),
            Op::Send { to, values } => {
                self.operand(*to, Type::Thread)?;
                values.iter().try_for_each(|&value| self.number(value))
            }
            Op::Receive { alternatives, .. } => alternatives.iter().try_for_each(|alternative| {
                alternative.patterns.iter().try_for_each(|pattern| match *pattern {
                    Pattern::Equal(value) => self.number(value),
                    Pattern::Bind(slot) => self.slot(slot, Type::Int),
                    Pattern::Ignore => Ok(()),
                })?;
                alternative.guard.iter().try_for_each(|guard| self.guard(guard))
            }),
            Op::Choose { target, low, high } => {
                self.operand(*low, Type::Int)?;
                self.operand(*high, Type::Int)?;
                let either = (*low, *high) == (Operand::Constant(0), Operand::Constant(2));
                self.slot(*target, Type::Int).or_else(|wrong| {
                    if either { self.slot(*target, Type::Bool) } else { Err(wrong) }
                })
            }
            _ => Err("internal error: an instruction without a rule".to_owned()),
        }
    }

    fn query(&self, target: Slot, container: ObjectRef, query: Query) -> Checked {
        let (list, map, result) = match query {
            Query::Length => (true, true, Type::Int),
            Query::Element(_) => (true, false, Type::Int),
            Query::Contains(_) => (true, false, Type::Bool),
            Query::Get(_) | Query::GetOr(..) => (false, true, Type::Int),
            Query::Has(_) => (false, true, Type::Bool),
        };
        self.container(container, list, map)?;
        self.slot(target, result)?;
        match query {
            Query::Length => Ok(()),
            Query::Element(key) | Query::Contains(key) | Query::Get(key) | Query::Has(key) => {
                self.operand(key, Type::Int)
            }
            Query::GetOr(key, default) => {
                self.operand(key, Type::Int)?;
                self.operand(default, Type::Int)
            }
        }
    }

    fn change(&self, container: ObjectRef, change: Change) -> Checked {
        let (list, map) = match change {
            Change::Clear => (true, true),
            Change::Push(_) | Change::Set(..) | Change::Pop(_) | Change::PopFront(_) => {
                (true, false)
            }
            Change::Insert(..) | Change::Remove(_) => (false, true),
        };
        self.container(container, list, map)?;
        match change {
            Change::Clear => Ok(()),
            Change::Push(value) | Change::Remove(value) => self.operand(value, Type::Int),
            Change::Set(key, value) | Change::Insert(key, value) => {
                self.operand(key, Type::Int)?;
                self.operand(value, Type::Int)
            }
            Change::Pop(target) | Change::PopFront(target) => {
                target.iter().try_for_each(|&target| self.slot(target, Type::Int))
            }
        }
    }

    fn container(&self, container: ObjectRef, list: bool, map: bool) -> Checked {
        self.object(container, |kind| match kind {
            GlobalKind::List { .. } => list,
            GlobalKind::Map { .. } => map,
            _ => false,
        })
        .map(drop)
    }

    fn guard(&self, guard: &Guard) -> Checked {
        let procedure = &self.program.procedures[guard.procedure.index()];
        if procedure.result != Some(Type::Bool)
            || procedure.parameters as usize != guard.arguments.len()
        {
            return Err(format!("`{}` is no guard for these arguments", procedure.name));
        }
        for (argument, slot) in guard.arguments.iter().zip(&procedure.slots) {
            match argument {
                GuardArgument::Local(value) => self.operand(*value, slot.ty)?,
                GuardArgument::Element(_) if slot.ty == Type::Int => {}
                GuardArgument::Element(_) => {
                    return Err("a value of a message is an integer".to_owned());
                }
            }
        }
        Ok(())
    }
}
