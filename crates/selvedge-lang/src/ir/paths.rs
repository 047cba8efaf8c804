//! What can follow what in code: calls, loops, atomic sections, and slots that still matter.

use std::collections::BTreeMap;

use super::{Compute, Label, Op, Operand, Procedure, ProcedureId, Program, Slot};

impl Program {
    /// Returns the procedures that are called from these, at any depth, and these.
    pub fn called_from(&self, roots: impl IntoIterator<Item = ProcedureId>) -> Vec<ProcedureId> {
        let mut seen = vec![false; self.procedures.len()];
        let mut found = Vec::new();
        let mut work: Vec<ProcedureId> = roots.into_iter().collect();
        while let Some(id) = work.pop() {
            if !std::mem::replace(&mut seen[id.index()], true) {
                found.push(id);
                work.extend(
                    self.procedures[id.index()].code.iter().filter_map(|it| it.op.called()),
                );
            }
        }
        found
    }
}

impl Op {
    /// Returns the procedure that it calls.
    pub fn called(&self) -> Option<ProcedureId> {
        match self {
            Op::Call { procedure, .. } => Some(*procedure),
            _ => None,
        }
    }
}

impl Procedure {
    /// Returns a task with its arguments as it is written: `worker[1].run(5)`; `None` if it is none.
    pub fn task(&self, arguments: &[String]) -> Option<String> {
        let (actor, task) = self.name.split_once('.')?;
        let (index, arguments) = arguments.split_at(usize::from(self.of_indexed_actor));
        let index: String = index.iter().map(|index| format!("[{index}]")).collect();
        Some(format!("{actor}{index}.{task}({})", arguments.join(", ")))
    }

    /// Returns the loops: where each starts, and the last jump back to its start.
    pub fn loops(&self) -> BTreeMap<Label, Label> {
        let mut loops = BTreeMap::new();
        for (i, instruction) in self.code.iter().enumerate() {
            let at = Label::new(i);
            instruction.op.for_each_successor(at, |to, _| {
                if to <= at {
                    loops.insert(to, at);
                }
            });
        }
        loops
    }

    /// Returns the instructions that can run after the one at `from`, up to the end of the atomic section that
    /// starts at `begin`.
    pub fn rest_of_section(&self, program: &Program, begin: Label, from: Label) -> Vec<Label> {
        let Op::AtomicBegin { atomic } = self.code[begin.index()].op else { return Vec::new() };
        let atomic = program.ends_as(atomic);
        let mut seen = vec![false; self.code.len()];
        let mut found = Vec::new();
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            let op = &self.code[at.index()].op;
            if *op == (Op::AtomicEnd { atomic }) {
                continue;
            }
            op.for_each_successor(at, |to, _| {
                if to.index() < seen.len() && !std::mem::replace(&mut seen[to.index()], true) {
                    found.push(to);
                    work.push(to);
                }
            });
        }
        found
    }

    /// Returns whether the atomic section that starts at `begin` may reach an `await` before its end, if these
    /// procedures do.
    pub fn section_awaits(&self, program: &Program, begin: Label, awaiting: &[bool]) -> bool {
        let rest = self.rest_of_section(program, begin, begin);
        rest.iter().any(|at| self.code[at.index()].op.awaits(awaiting))
    }

    /// Returns, for each instruction, the slots that are read after it is reached and before they are written again.
    pub fn live_slots(&self, program: &Program) -> Vec<Vec<Slot>> {
        let mut live = vec![vec![false; self.slots.len()]; self.code.len()];
        loop {
            let mut changed = false;
            for (at, instruction) in self.code.iter().enumerate().rev() {
                let mut before = vec![false; self.slots.len()];
                instruction.op.for_each_successor(Label::new(at), |to, written| {
                    let Some(after) = live.get(to.index()) else { return };
                    for (slot, before) in before.iter_mut().enumerate() {
                        *before |= after[slot] && !written.contains(&Slot::new(slot));
                    }
                });
                let mut uses = |operand: Operand| {
                    if let Operand::Slot(slot) = operand {
                        before[slot.index()] = true;
                    }
                };
                instruction.op.for_each_operand(&mut uses);
                if may_show(&instruction.op) {
                    let shown = &program.sites[instruction.site.index()].shown;
                    shown.iter().for_each(|shown| uses(shown.value));
                }
                changed |= live[at] != before;
                live[at] = before;
            }
            if !changed {
                break;
            }
        }
        let listed = |flags: Vec<bool>| {
            flags
                .iter()
                .enumerate()
                .filter(|(_, live)| **live)
                .map(|(slot, _)| Slot::new(slot))
                .collect()
        };
        live.into_iter().map(listed).collect()
    }
}

/// Returns whether its message shows values.
fn may_show(op: &Op) -> bool {
    match op {
        Op::Assert { .. } => true,
        Op::Compute { value, .. } => matches!(value, Compute::Binary(..) | Compute::Unary(..)),
        _ => false,
    }
}
