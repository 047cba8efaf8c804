//! Invariant 7: what may stand where, also in what is called from there.

use super::Errors;
use crate::ir::{Compute, Label, Op, ProcedureId, Program};
use crate::ops::Part;

pub(super) fn check(program: &Program, errors: &mut Errors) {
    let mut atomic = Context::new(program, "an atomic section", Op::allowed_in_atomic);
    let mut look = Context::new(program, "`finally` or a condition", Op::allowed_in_look);
    let mut guard = Context::new(program, "a guard", allowed_in_guard);
    if let Some(finally) = program.finally {
        look.visit(finally);
    }
    for condition in program.independence.iter().filter_map(|rule| rule.condition.as_ref()) {
        look.visit(condition.procedure);
    }
    for procedure in &program.procedures {
        let inside = super::flow::inside_atomic(procedure);
        for (at, instruction) in procedure.code.iter().enumerate() {
            if inside[at] {
                if !instruction.op.allowed_in_atomic() {
                    errors.at(&procedure.name, Label::new(at), "not allowed in an atomic section");
                }
                if let Op::Call { procedure, .. } = instruction.op {
                    atomic.visit(procedure);
                }
            }
            instruction.op.for_each_part(|part| {
                if let Part::Guard(used) = part {
                    guard.visit(used.procedure);
                }
            });
        }
    }
    for context in [atomic, look, guard] {
        context.check(errors);
    }
}

fn allowed_in_guard(op: &Op) -> bool {
    let is_forbidden = match op {
        Op::Compute { value, .. } => *value == Compute::Own,
        op => matches!(op, Op::Assume { .. } | Op::Await { .. } | Op::AtomicEnd { .. }),
    };
    !op.is_visible() && !is_forbidden
}

/// The procedures that can run in some context.
struct Context<'a> {
    program: &'a Program,
    name: &'static str,
    allowed: fn(&Op) -> bool,
    reached: Vec<bool>,
    work: Vec<ProcedureId>,
}

impl<'a> Context<'a> {
    fn new(program: &'a Program, name: &'static str, allowed: fn(&Op) -> bool) -> Self {
        let reached = vec![false; program.procedures.len()];
        Self { program, name, allowed, reached, work: Vec::new() }
    }

    fn visit(&mut self, procedure: ProcedureId) {
        if !std::mem::replace(&mut self.reached[procedure.index()], true) {
            self.work.push(procedure);
        }
    }

    fn check(mut self, errors: &mut Errors) {
        while let Some(id) = self.work.pop() {
            let procedure = &self.program.procedures[id.index()];
            for (at, instruction) in procedure.code.iter().enumerate() {
                if !(self.allowed)(&instruction.op) {
                    let what = format!("not allowed in {}, from where it is called", self.name);
                    errors.at(&procedure.name, Label::new(at), what);
                }
                if let Op::Call { procedure, .. } = instruction.op {
                    self.visit(procedure);
                }
            }
        }
    }
}
