//! Invisible instructions: what touches only the slots of one thread.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{Op, Operand};

use super::Unrolled;
use super::run::{Runner, Turn};
use super::state::State;
use crate::circuit::Word;
use crate::solver::Lit;

impl Unrolled {
    pub(super) fn local(&mut self, turn: &mut Turn<'_>, op: &Op) {
        match op {
            Op::Copy { value, .. } => {
                let word = turn.state.operand(*value, 32);
                self.store(turn.state, op, word);
            }
            Op::Unary { op: operator, value, .. } => {
                let word = self.unary(turn, *operator, *value);
                self.store(turn.state, op, word);
            }
            Op::Binary { op: operator, left, right, .. } => {
                let word = self.binary(turn, *operator, [*left, *right]);
                self.store(turn.state, op, word);
            }
            Op::Index { global, first, second, .. } => {
                let dims = self.program.globals[global.index()].dims.clone();
                let mut flat = self.checked_index(turn, *first, dims[0]);
                if let Some(second) = second {
                    let second = self.checked_index(turn, *second, dims[1]);
                    let row = Word::integer(dims[1] as i32);
                    flat = self.circuit.multiply(&flat, &row).0;
                    flat = self.circuit.add(&flat, &second).0;
                }
                self.store(turn.state, op, flat);
            }
            Op::ThreadIndex { first, count, index, .. } => {
                let lowest = self.program.threads[*first as usize].index.unwrap_or(0);
                let index = turn.state.operand(*index, 32);
                let (offset, overflow) = self.circuit.subtract(&index, &Word::integer(lowest));
                let inside = self.circuit.less_unsigned(&offset, &Word::integer(*count as i32));
                let outside = self.circuit.or(!inside, overflow);
                self.fault(turn, outside, ViolationKind::Bounds);
                let word = self.circuit.add(&offset, &Word::integer(*first as i32)).0;
                self.store(turn.state, op, word);
            }
            Op::Own { .. } => {
                let me = match turn.runner {
                    Runner::Thread(thread) => *thread as i32,
                    Runner::Look(_) => 0,
                };
                self.store(turn.state, op, Word::integer(me));
            }
            Op::Assert { condition, .. } => {
                let condition = turn.state.condition(*condition);
                self.fault(turn, !condition, ViolationKind::Assertion);
            }
            Op::Assume { condition } => {
                let condition = turn.state.condition(*condition);
                let dropped = self.circuit.and(turn.state.guard, !condition);
                if dropped != Lit::FALSE && matches!(turn.runner, Runner::Thread(_)) {
                    self.assumed.push(dropped);
                }
                turn.state.guard = self.circuit.and(turn.state.guard, condition);
            }
            Op::Await { condition } => {
                let condition = turn.state.condition(*condition);
                match turn.runner {
                    // The step is taken only where it does not wait.
                    Runner::Thread(_) => self.circuit.imply(&[turn.state.guard], &[condition]),
                    Runner::Look(look) => {
                        look.blocked.push(self.circuit.and(turn.state.guard, !condition));
                        turn.state.guard = self.circuit.and(turn.state.guard, condition);
                    }
                }
            }
            op => debug_assert!(false, "{op:?} has no rule"),
        }
    }

    /// Stores the result of an instruction in its target, with the width of that.
    pub(super) fn store(&mut self, state: &mut State, op: &Op, word: Word) {
        if let Some(target) = op.target() {
            let procedure = state.frame().procedure;
            let width = self.slot_width(procedure, target);
            state.set_slot(target, word.resized(width));
        }
    }

    fn checked_index(&mut self, turn: &mut Turn<'_>, index: Operand, size: u32) -> Word {
        let index = turn.state.operand(index, 32);
        let inside = self.circuit.less_unsigned(&index, &Word::integer(size as i32));
        self.fault(turn, !inside, ViolationKind::Bounds);
        index
    }
}
