//! Which slots still matter: those that are read before they are written again.

use crate::ir::{Compute, Op, Operand};

use super::super::load::Loaded;

/// Per instruction, the slots of its frame that matter before it.
pub(super) struct Live {
    slots: Vec<Vec<u32>>,
}

impl Live {
    pub(super) fn new(loaded: &Loaded) -> Self {
        let mut slots = Vec::with_capacity(loaded.code.len());
        for (procedure, entry) in loaded.program.procedures.iter().zip(&loaded.procedures) {
            let frame = entry.frame as usize;
            let start = entry.pc as usize;
            let code = &loaded.code[start..start + procedure.code.len()];
            let mut live = vec![vec![false; frame]; code.len()];
            loop {
                let mut changed = false;
                for (at, instruction) in code.iter().enumerate().rev() {
                    let mut before = vec![false; frame];
                    let pc = crate::ir::Label::new(start + at);
                    instruction.op.for_each_successor(pc, |to, written| {
                        let Some(after) = live.get(to.index() - start) else { return };
                        for slot in 0..frame {
                            let is_written = written.iter().any(|other| other.index() == slot);
                            before[slot] |= after[slot] && !is_written;
                        }
                    });
                    let mut uses = |operand: Operand| {
                        if let Operand::Slot(slot) = operand {
                            before[slot.index()] = true;
                        }
                    };
                    instruction.op.for_each_operand(&mut uses);
                    // Messages show them.
                    let site = &loaded.program.sites[instruction.site.index()];
                    if may_show(&instruction.op) {
                        site.shown.iter().for_each(|shown| uses(shown.value));
                    }
                    changed |= live[at] != before;
                    live[at] = before;
                }
                if !changed {
                    break;
                }
            }
            let listed = |flags: &Vec<bool>| {
                (0..frame as u32).filter(|&slot| flags[slot as usize]).collect::<Vec<u32>>()
            };
            slots.extend(live.iter().map(listed));
        }
        Self { slots }
    }

    /// Returns the slots that matter before the instruction at `pc`.
    pub(super) fn at(&self, pc: u32) -> &[u32] {
        &self.slots[pc as usize]
    }
}

fn may_show(op: &Op) -> bool {
    match op {
        Op::Assert { .. } => true,
        Op::Compute { value, .. } => matches!(value, Compute::Binary(..) | Compute::Unary(..)),
        _ => false,
    }
}
