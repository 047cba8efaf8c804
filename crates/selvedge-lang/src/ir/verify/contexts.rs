//! Invariant 7: what may stand where, also in what is called from there.

use super::Errors;
use crate::ir::{Compute, Instruction, Label, Op, ProcedureId, Program, Promise, Thread};
use crate::ops::Part;

pub(super) fn check(program: &Program, errors: &mut Errors) {
    let (mut atomic, mut guard) = (Vec::new(), Vec::new());
    let mut look: Vec<ProcedureId> = program.finally.into_iter().collect();
    look.extend(program.invariants.iter().map(|invariant| invariant.procedure));
    look.extend(program.promises.iter().flat_map(Promise::procedures));
    let conditions = program.independence.iter().filter_map(|rule| rule.condition.as_ref());
    look.extend(conditions.map(|condition| condition.procedure));
    for procedure in &program.procedures {
        let inside = super::flow::inside_atomic(program, procedure);
        for (at, instruction) in procedure.code.iter().enumerate() {
            if inside[at] {
                if !instruction.op.allowed_in_atomic() && !begins_by_waiting(&procedure.code, at) {
                    errors.at(&procedure.name, Label::new(at), "not allowed in an atomic section");
                }
                atomic.extend(instruction.op.called());
            }
            instruction.op.for_each_part(|part| {
                if let Part::Guard(used) = part {
                    guard.push(used.procedure);
                }
            });
        }
    }
    let mut check = |called: Vec<ProcedureId>, allowed: fn(&Op) -> bool, name: &str| {
        for id in program.called_from(called) {
            let procedure = &program.procedures[id.index()];
            for (at, instruction) in procedure.code.iter().enumerate() {
                if !allowed(&instruction.op) {
                    let what = format!("not allowed in {name}, from where it is called");
                    errors.at(&procedure.name, Label::new(at), what);
                }
            }
        }
    };
    check(atomic, Op::allowed_in_atomic, "an atomic section");
    check(look, Op::allowed_in_look, "`finally` or a condition");
    check(guard, allowed_in_guard, "a guard");
}

/// Returns whether it is what the part of a task that starts with it waits for.
fn begins_by_waiting(code: &[Instruction], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &code[before].op);
    matches!(code[at].op, Op::Thread(Thread::Await { .. }))
        && matches!(before, Some(Op::AtomicBegin { .. }))
}

fn allowed_in_guard(op: &Op) -> bool {
    let is_forbidden = match op {
        Op::Compute { value, .. } => *value == Compute::Own,
        op => {
            matches!(op, Op::Assume { .. } | Op::Progress | Op::Await { .. } | Op::AtomicEnd { .. })
        }
    };
    !op.is_visible() && !is_forbidden
}
