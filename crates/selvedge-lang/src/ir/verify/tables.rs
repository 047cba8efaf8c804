//! Invariants 1 and the ranges of 2: ids, labels, initial values.

use super::Errors;
use crate::ir::{
    AtomicId, AtomicKind, Global, GlobalKind, GuardArgument, Label, Op, Operand, Procedure,
    ProcedureId, Program, Slot, Type,
};

/// More values than this do not fit a message. The checker refuses them, and so does this, for programs made otherwise.
const LONGEST_MESSAGE: usize = 8;

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
    if let Some(finally) = program.finally {
        match program.procedures.get(finally.index()) {
            Some(procedure) if procedure.parameters == 0 && procedure.result.is_none() => {}
            _ => errors.add("finally: not a procedure without parameters and result"),
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
        GlobalKind::Variable { ty: Type::Int, initial, .. } => initial.len() == elements,
        GlobalKind::Variable { ty: Type::Bool, initial, .. } => {
            initial.len() == elements && initial.iter().all(|value| matches!(value, 0 | 1))
        }
        GlobalKind::Variable { ty: Type::Thread, .. } => false,
        GlobalKind::Mutex | GlobalKind::RwLock | GlobalKind::Cond => true,
        GlobalKind::Semaphore { initial } => {
            initial.len() == elements && initial.iter().all(|&count| count >= 0)
        }
        GlobalKind::Barrier { parties } => {
            let fits = |&parties: &u32| parties >= 1 && i32::try_from(parties).is_ok();
            parties.len() == elements && parties.iter().all(fits)
        }
        GlobalKind::List { initial } => initial.len() == elements,
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
            } else if self.program.atomics[atomic.index()].kind != AtomicKind::Procedure {
                errors.add(format!("{name}: {atomic} is not of kind `Procedure`"));
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
            if let Some(wrong) = self.wrong(&instruction.op, at) {
                errors.at(name, at, wrong);
            }
        }
    }

    fn wrong(&self, op: &Op, at: Label) -> Option<&'static str> {
        let mut wrong = None;
        op.for_each_operand(|operand| {
            if !self.has_operand(operand) {
                wrong = Some("a slot out of range");
            }
        });
        op.for_each_object(|object| {
            if object.global.index() >= self.program.globals.len() {
                wrong = Some("no such object");
            }
        });
        // Falling off the end is judged where reachability is known.
        op.for_each_successor(at, |to, written| {
            if to.index() > self.procedure.code.len()
                || (to.index() == self.procedure.code.len() && to.0 != at.0 + 1)
            {
                wrong = Some("a label out of range");
            }
            if !written.iter().all(|&slot| self.has_slot(slot)) {
                wrong = Some("a slot out of range");
            }
        });
        let exists = |id: ProcedureId| id.index() < self.program.procedures.len();
        match op {
            Op::Index { global, second, .. } => {
                let dims = self.program.globals.get(global.index()).map(|global| global.dims.len());
                if dims != Some(1 + usize::from(second.is_some())) {
                    wrong = Some("not as many indices as dimensions");
                }
            }
            Op::ThreadIndex { first, count, .. } => {
                let end = (*first as usize).checked_add(*count as usize);
                if *count == 0 || end.is_none_or(|end| end > self.program.threads.len()) {
                    wrong = Some("no such threads");
                }
            }
            Op::Call { procedure, .. } | Op::Spawn { procedure, .. } if !exists(*procedure) => {
                wrong = Some("no such procedure");
            }
            Op::AtomicBegin { atomic } | Op::AtomicEnd { atomic } if !self.is_own(*atomic) => {
                wrong = Some("an atomic section of another procedure, or of none");
            }
            Op::Send { values, .. } if !(1..=LONGEST_MESSAGE).contains(&values.len()) => {
                wrong = Some("a message has 1 to 8 values");
            }
            Op::Receive { alternatives, after } => {
                if alternatives.is_empty() && after.is_none() {
                    wrong = Some("receives nothing");
                }
                for alternative in alternatives {
                    if !(1..=LONGEST_MESSAGE).contains(&alternative.patterns.len()) {
                        wrong = Some("a message has 1 to 8 values");
                    }
                    let Some(guard) = &alternative.guard else { continue };
                    let in_range = |argument: &GuardArgument| match argument {
                        GuardArgument::Element(i) => (*i as usize) < alternative.patterns.len(),
                        GuardArgument::Local(_) => true,
                    };
                    if !exists(guard.procedure) || !guard.arguments.iter().all(in_range) {
                        wrong = Some("a guard that does not exist");
                    }
                }
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
