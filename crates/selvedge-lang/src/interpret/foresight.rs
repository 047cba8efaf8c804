//! What is known about an instruction before the program runs.

use selvedge_core::Order;

use crate::ir::{
    AtomicKind, GlobalId, GlobalKind, Instruction, Label, Op, Procedure, ProcedureId, Program,
    Thread,
};

use super::ghosts::Ghosts;

/// About one visible instruction and the invisible code after it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Foresight {
    /// Its step may end the thread: run to the end, or fault.
    pub(super) may_end: bool,
    /// Its step may leave the thread alive.
    pub(super) may_go_on: bool,
    /// It starts an atomic section that may reach an `await`.
    pub(crate) may_await: bool,
    /// It starts an `await` of atomic variables: the ordering with which it reads them.
    pub(super) order: Option<Order>,
    /// The local code after it may access ghosts.
    pub(super) ghosts: bool,
    /// What the local code after it accesses may depend on the values of ghosts.
    pub(super) ghosts_decide: bool,
}

/// For each instruction of each procedure, in the order of the procedures.
pub(super) fn compute(program: &Program, ghosts: &Ghosts) -> Vec<Foresight> {
    let awaiting = program.awaiting_procedures();
    let called = called_procedures(program);
    let mut all = Vec::new();
    for (procedure, &called) in program.procedures.iter().zip(&called) {
        let futures = futures(procedure, called, ghosts);
        for (at, instruction) in procedure.code.iter().enumerate() {
            let mut foresight = Foresight::default();
            // Before the first step of a thread, an access to a ghost is one.
            if instruction.op.is_visible() || matches!(instruction.op, Op::Ghost(_)) {
                instruction.op.for_each_successor(Label::new(at), |to, _| {
                    let Some(future) = futures.get(to.index()) else { return };
                    foresight.may_end |= future.may_end;
                    foresight.may_go_on |= future.may_go_on;
                    foresight.ghosts |= future.ghosts;
                    foresight.ghosts_decide |= future.ghosts_decide;
                });
                foresight.may_end |= instruction.op.may_fault();
                // What happens inside is known only by running it.
                if matches!(instruction.op, Op::AtomicBegin { .. }) {
                    foresight.may_end = true;
                    foresight.may_go_on = true;
                    foresight.may_await =
                        procedure.section_awaits(program, Label::new(at), &awaiting);
                    foresight.order = awaited_order(program, procedure, Label::new(at));
                }
            }
            all.push(foresight);
        }
    }
    all
}

/// Returns the memory ordering of an `await` on its own whose condition reads only atomic variables. The checker has seen to
/// it that they all have the same.
fn awaited_order(program: &Program, procedure: &Procedure, begin: Label) -> Option<Order> {
    let Op::AtomicBegin { atomic } = procedure.code[begin.index()].op else { return None };
    if !matches!(program.atomics[atomic.index()].kind, AtomicKind::Await | AtomicKind::Scan) {
        return None;
    }
    let mut order = None;
    for at in procedure.rest_of_section(program, begin, begin) {
        match &procedure.code[at.index()].op {
            Op::Variable(op) => {
                let kind = &program.globals[op.variable().global.index()].kind;
                if !matches!(kind, GlobalKind::Variable { atomic: true, .. }) {
                    return None;
                }
                order = Some(op.order(false, true));
            }
            Op::Call { .. } | Op::Container(_) => return None,
            _ => {}
        }
    }
    order
}

/// What can happen from an instruction on, before the next visible one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Future {
    may_end: bool,
    may_go_on: bool,
    ghosts: bool,
    ghosts_decide: bool,
}

/// Least fixed point over the invisible code, from the back since most jumps go forward.
fn futures(procedure: &Procedure, called: bool, ghosts: &Ghosts) -> Vec<Future> {
    let elsewhere = |followed: bool| Future {
        may_end: true,
        may_go_on: followed,
        ghosts: followed && ghosts.any,
        ghosts_decide: followed && ghosts.any,
    };
    let mut futures = vec![Future::default(); procedure.code.len()];
    loop {
        let mut changed = false;
        for (at, instruction) in procedure.code.iter().enumerate().rev() {
            let mut future = match &instruction.op {
                op if op.is_visible() => Future { may_go_on: true, ..Future::default() },
                Op::Return { .. } => elsewhere(called),
                // What the callee does is not followed.
                Op::Call { .. } => elsewhere(true),
                op => {
                    let mut future = Future {
                        may_end: op.may_fault(),
                        may_go_on: matches!(op, Op::Assume { .. }),
                        ..Future::default()
                    };
                    if let Op::Ghost(op) = op {
                        future.ghosts = true;
                        future.ghosts_decide = op.finds(ghosts.counts(op.ghost().global));
                    }
                    op.for_each_successor(Label::new(at), |to, _| {
                        let Some(next) = futures.get(to.index()) else { return };
                        future.may_end |= next.may_end;
                        future.may_go_on |= next.may_go_on;
                        future.ghosts |= next.ghosts;
                        future.ghosts_decide |= next.ghosts_decide;
                    });
                    future
                }
            };
            std::mem::swap(&mut futures[at], &mut future);
            changed |= futures[at] != future;
        }
        if !changed {
            return futures;
        }
    }
}

/// Returns which procedures are called by others, and so can return without ending a thread.
fn called_procedures(program: &Program) -> Vec<bool> {
    let mut called = vec![false; program.procedures.len()];
    for instruction in program.procedures.iter().flat_map(|procedure| &procedure.code) {
        if let Some(procedure) = instruction.op.called() {
            called[procedure.index()] = true;
        }
    }
    called
}

/// Barriers that more threads may use than they have parties. Then the order of arrival matters.
pub(super) fn crowded_barriers(program: &Program) -> Vec<GlobalId> {
    let spawned: Vec<_> = program
        .procedures
        .iter()
        .flat_map(|procedure| &procedure.code)
        .filter_map(|instruction| match instruction.op {
            Op::Thread(Thread::Spawn { procedure, .. }) => Some(procedure),
            _ => None,
        })
        .collect();
    let mut crowded = Vec::new();
    for (i, global) in program.globals.iter().enumerate() {
        let GlobalKind::Barrier { parties } = &global.kind else { continue };
        let arrives = |it: &Instruction| matches!(&it.op, Op::Barrier(op) if op.barrier().global.index() == i);
        let uses = |procedure: ProcedureId| {
            let mut called = program.called_from([procedure]).into_iter();
            called.any(|it| program.procedures[it.index()].code.iter().any(arrives))
        };
        let procedures = (0..program.procedures.len()).map(ProcedureId::new);
        let used: Vec<bool> = procedures.map(uses).collect();
        let users = program.threads.iter().filter(|it| used[it.procedure.index()]).count();
        let smallest = parties.iter().min().copied().unwrap_or(u32::MAX) as usize;
        // How often a `spawn` runs is not known: any number of threads may come from it.
        if users > smallest || spawned.iter().any(|procedure| used[procedure.index()]) {
            crowded.push(GlobalId::new(i));
        }
    }
    crowded
}
