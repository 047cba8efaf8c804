//! Invariants 1 and the ranges of 2: ids, labels, initial values.

use super::Errors;
use crate::ir::{
    AtomicId, AtomicKind, Compute, Global, GlobalKind, Label, Op, Operand, Procedure, ProcedureId,
    Program, Promise, Slot, Type,
};
use crate::ops::Part;

pub(super) fn check(program: &Program, errors: &mut Errors) {
    globals(program, errors);
    for (i, atomic) in program.atomics.iter().enumerate() {
        if atomic.procedure.index() >= program.procedures.len() {
            errors.add(format!("{}: {} does not exist", AtomicId::new(i), atomic.procedure));
        }
    }
    for (i, procedure) in program.procedures.iter().enumerate() {
        Ranges { program, procedure, id: ProcedureId::new(i) }.check(errors);
    }
    for thread in &program.threads {
        let known = program.procedures.get(thread.procedure.index());
        match known {
            None => errors.add(format!("thread {}: no procedure", thread.name)),
            Some(procedure) => {
                if procedure.parameters as usize != thread.arguments.len() {
                    errors.add(format!("thread {}: wrong number of arguments", thread.name));
                }
                if procedure.result.is_some() {
                    errors.add(format!("thread {}: its procedure has a result", thread.name));
                }
            }
        }
    }
    let looks = program.finally.map(|finally| ("finally", finally)).into_iter();
    let invariants = program.invariants.iter().map(|it| ("always", it.procedure));
    let promises = program.promises.iter().flat_map(Promise::procedures);
    let promises = promises.map(|procedure| ("a promise", procedure));
    for (name, look) in looks.chain(invariants).chain(promises) {
        match program.procedures.get(look.index()) {
            Some(procedure) if procedure.parameters == 0 && procedure.result.is_none() => {}
            _ => errors.add(format!("{name}: not a procedure without parameters and result")),
        }
    }
    for invariant in &program.invariants {
        let object = program.globals.get(invariant.object.index());
        if !object.is_some_and(|it| it.kind == GlobalKind::Invariant && it.dims.is_empty()) {
            errors.add("always: no object of its own");
        }
    }
    independence(program, errors);
}

fn globals(program: &Program, errors: &mut Errors) {
    let mut base = 0;
    for global in &program.globals {
        if global.base as usize != base {
            errors
                .add(format!("{}: its objects start at {}, not {base}", global.name, global.base));
        }
        if global.dims.len() > 2 {
            errors.add(format!("{}: more than two dimensions", global.name));
        }
        if !initial_values_fit(global) {
            errors.add(format!("{}: wrong initial values", global.name));
        }
        base += global.objects();
    }
}

fn initial_values_fit(global: &Global) -> bool {
    let elements = global.elements();
    if i32::try_from(elements).is_err() {
        return false;
    }
    match &global.kind {
        GlobalKind::Variable { ty, initial, .. } | GlobalKind::Ghost { ty, initial, .. } => {
            let fits = |&value: &i32| match ty {
                Type::Int => true,
                Type::Bool => matches!(value, 0 | 1),
                Type::Enum(_) => value >= 0,
                Type::Thread | Type::Future(_) => false,
            };
            *ty != Type::Thread && initial.len() == elements && initial.iter().all(fits)
        }
        GlobalKind::Mutex | GlobalKind::RwLock | GlobalKind::Cond | GlobalKind::Invariant => true,
        GlobalKind::Semaphore { initial } => {
            initial.len() == elements && initial.iter().all(|&count| count >= 0)
        }
        GlobalKind::Barrier { parties } => {
            let fits = |&parties: &u32| parties >= 1 && i32::try_from(parties).is_ok();
            parties.len() == elements && parties.iter().all(fits)
        }
        GlobalKind::List { initial } => initial.len() == elements,
        GlobalKind::Channel { capacity, .. } => {
            capacity.len() == elements && capacity.iter().all(|&capacity| capacity >= 1)
        }
        GlobalKind::Map { initial } => initial.len() == elements,
    }
}

fn independence(program: &Program, errors: &mut Errors) {
    for (i, rule) in program.independence.iter().enumerate() {
        let sides = [rule.first, rule.second];
        if sides.iter().any(|side| side.index() >= program.atomics.len()) {
            errors.add(format!("independence {i}: no such section"));
        }
        if rule.site.index() >= program.sites.len() {
            errors.add(format!("independence {i}: no site"));
        }
        let Some(condition) = &rule.condition else { continue };
        match program.procedures.get(condition.procedure.index()) {
            Some(procedure)
                if procedure.parameters as usize == condition.arguments.len()
                    && procedure.result == Some(Type::Bool) => {}
            _ => errors.add(format!("independence {i}: not a condition on these arguments")),
        }
    }
}

/// Checks that what the instructions of a procedure refer to exists.
struct Ranges<'a> {
    program: &'a Program,
    procedure: &'a Procedure,
    id: ProcedureId,
}

impl Ranges<'_> {
    fn check(&self, errors: &mut Errors) {
        let name = &self.procedure.name;
        if self.procedure.slots.len() > usize::from(u16::MAX)
            || (self.procedure.parameters as usize) > self.procedure.slots.len()
        {
            errors.add(format!("{name}: wrong number of slots"));
        }
        if self.procedure.code.is_empty() {
            errors.add(format!("{name}: no code"));
        }
        if let Some(atomic) = self.procedure.atomic {
            let first = self.procedure.code.first().map(|first| &first.op);
            if first != Some(&Op::AtomicBegin { atomic }) || !self.is_own(atomic) {
                errors.add(format!("{name}: does not start with its atomic section"));
            } else if !matches!(
                self.program.atomics[atomic.index()].kind,
                AtomicKind::Procedure | AtomicKind::Task
            ) {
                errors.add(format!("{name}: {atomic} is not of kind `Procedure` or `Task`"));
            }
        }
        for (at, instruction) in self.procedure.code.iter().enumerate() {
            let at = Label::new(at);
            match self.program.sites.get(instruction.site.index()) {
                None => errors.at(name, at, "no site"),
                Some(site) => {
                    if !site.shown.iter().all(|shown| self.has_operand(shown.value)) {
                        errors.at(name, at, "shows a slot that does not exist");
                    }
                }
            }
            if let Some(wrong) = self.wrong(&instruction.op) {
                errors.at(name, at, wrong);
            }
        }
    }

    fn wrong(&self, op: &Op) -> Option<&'static str> {
        let mut wrong = None;
        op.for_each_part(|part| match part {
            Part::Value(value) if !self.has_operand(value) => wrong = Some("a slot out of range"),
            Part::Object(object) => {
                if !self.has_operand(object.index) {
                    wrong = Some("a slot out of range");
                }
                if object.global.index() >= self.program.globals.len() {
                    wrong = Some("no such object");
                }
            }
            Part::Target(slot) | Part::Local(slot) if !self.has_slot(slot) => {
                wrong = Some("a slot out of range");
            }
            Part::Label(to) if to.index() >= self.procedure.code.len() => {
                wrong = Some("a label out of range");
            }
            Part::Routine(routine) if routine.index() >= self.program.procedures.len() => {
                wrong = Some("no such procedure");
            }
            _ => {}
        });
        match op {
            Op::Compute { value: Compute::Index { global, second, .. }, .. } => {
                let dims = self.program.globals.get(global.index()).map(|global| global.dims.len());
                if dims != Some(1 + usize::from(second.is_some())) {
                    wrong = Some("not as many indices as dimensions");
                }
            }
            Op::Compute { value: Compute::ThreadIndex { first, count, .. }, .. } => {
                let end = (*first as usize).checked_add(*count as usize);
                if *count == 0 || end.is_none_or(|end| end > self.program.threads.len()) {
                    wrong = Some("no such threads");
                }
            }
            Op::AtomicBegin { atomic } | Op::AtomicEnd { atomic } if !self.is_own(*atomic) => {
                wrong = Some("an atomic section of another procedure, or of none");
            }
            _ => {}
        }
        wrong
    }

    fn has_slot(&self, slot: Slot) -> bool {
        slot.index() < self.procedure.slots.len()
    }

    fn has_operand(&self, operand: Operand) -> bool {
        match operand {
            Operand::Slot(slot) => self.has_slot(slot),
            Operand::Constant(_) => true,
        }
    }

    fn is_own(&self, atomic: AtomicId) -> bool {
        self.program.atomics.get(atomic.index()).is_some_and(|atomic| atomic.procedure == self.id)
    }
}
