//! What decides whether an atomic section that may wait can run.
//!
//! Which variables such a section has read when it is found to be blocked depends on their values:
//! `await x == 0 && y == 0` looks at `y` only if `x` is 0. An explorer that moves the section to
//! another place must know everything that could keep it waiting there. So all that the section may
//! read is part of its footprint, read or not.

use selvedge_core::ObjectId;

use crate::ir::{Label, ObjectRef, Op, Operand, Procedure, ProcedureId, Program};

/// For each atomic section that may wait: where its code starts, and what it may read. Sections
/// that read one thing in one place are left out: they always read it.
pub(super) fn sections(program: &Program, awaits: &dyn Fn(usize) -> bool) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut first = 0;
    for procedure in &program.procedures {
        for at in 0..procedure.code.len() {
            if awaits(first + at) {
                let reads = reads_of_section(program, procedure, at);
                if reads.len() > 1 {
                    let objects = objects(program, &reads);
                    sections.push(Section { pc: (first + at) as u32, objects });
                }
            }
        }
        first += procedure.code.len();
    }
    sections
}

/// An atomic section that may wait.
pub(super) struct Section {
    /// Where its code starts.
    pub(super) pc: u32,
    /// All that it may read.
    pub(super) objects: Vec<ObjectId>,
}

/// The places in the section that starts at `begin`, and in what it calls, that read.
fn reads_of_section(program: &Program, procedure: &Procedure, begin: usize) -> Vec<ObjectRef> {
    let Op::AtomicBegin { atomic } = procedure.code[begin].op else { return Vec::new() };
    let mut reads = Vec::new();
    let mut called = Vec::new();
    let mut seen = vec![false; procedure.code.len()];
    let mut work = vec![begin];
    while let Some(at) = work.pop() {
        let op = &procedure.code[at].op;
        note(op, &mut reads, &mut called);
        if *op == (Op::AtomicEnd { atomic }) {
            continue;
        }
        op.for_each_successor(Label::new(at), |to, _| {
            if to.index() < seen.len() && !std::mem::replace(&mut seen[to.index()], true) {
                work.push(to.index());
            }
        });
    }
    let mut next = 0;
    while let Some(&procedure) = called.get(next) {
        for instruction in &program.procedures[procedure.index()].code {
            note(&instruction.op, &mut reads, &mut called);
        }
        next += 1;
    }
    reads
}

fn note(op: &Op, reads: &mut Vec<ObjectRef>, called: &mut Vec<ProcedureId>) {
    match op {
        Op::Read { .. }
        | Op::CompareExchange { .. }
        | Op::Exchange { .. }
        | Op::FetchAdd { .. }
        | Op::ReadContainer { .. }
        | Op::ChangeContainer { .. } => op.for_each_object(|object| reads.push(object)),
        Op::Call { procedure, .. } if !called.contains(procedure) => called.push(*procedure),
        _ => {}
    }
}

/// The objects behind the references; all elements where the index is not a constant.
fn objects(program: &Program, references: &[ObjectRef]) -> Vec<ObjectId> {
    let mut objects = Vec::new();
    for reference in references {
        let global = &program.globals[reference.global.index()];
        let base = global.base as usize;
        match reference.index {
            Operand::Constant(index) => objects.push(ObjectId::new(base + index as usize)),
            Operand::Slot(_) => objects.extend((base..base + global.elements()).map(ObjectId::new)),
        }
    }
    objects.sort_unstable();
    objects.dedup();
    objects
}
