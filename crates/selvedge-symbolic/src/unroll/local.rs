//! Invisible instructions: what touches only the slots of one thread.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{Op, Operand, SiteId};

use super::Unrolled;
use super::run::Runner;
use super::state::State;
use crate::circuit::Word;
use crate::solver::Lit;

impl Unrolled {
    pub(super) fn local(&mut self, runner: &mut Runner, state: &mut State, op: &Op, site: SiteId) {
        match op {
            Op::Copy { value, .. } => {
                let word = state.operand(*value, 32);
                self.store(state, op, word);
            }
            Op::Unary { op: operator, value, .. } => {
                let word = self.unary(runner, state, *operator, *value, site);
                self.store(state, op, word);
            }
            Op::Binary { op: operator, left, right, .. } => {
                let word = self.binary(runner, state, *operator, [*left, *right], site);
                self.store(state, op, word);
            }
            Op::Index { global, first, second, .. } => {
                let dims = self.program.globals[global.index()].dims.clone();
                let mut flat = self.checked_index(runner, state, *first, dims[0], site);
                if let Some(second) = second {
                    let second = self.checked_index(runner, state, *second, dims[1], site);
                    let row = Word::integer(dims[1] as i32);
                    flat = self.circuit.multiply(&flat, &row).0;
                    flat = self.circuit.add(&flat, &second).0;
                }
                self.store(state, op, flat);
            }
            Op::ThreadIndex { first, count, index, .. } => {
                let lowest = self.program.threads[*first as usize].index.unwrap_or(0);
                let index = state.operand(*index, 32);
                let (offset, overflow) = self.circuit.subtract(&index, &Word::integer(lowest));
                let inside = self.circuit.less_unsigned(&offset, &Word::integer(*count as i32));
                let outside = self.circuit.or(!inside, overflow);
                self.fault(runner, state, outside, ViolationKind::Bounds, site);
                let word = self.circuit.add(&offset, &Word::integer(*first as i32)).0;
                self.store(state, op, word);
            }
            Op::Own { .. } => {
                let me = match runner {
                    Runner::Thread(thread) => *thread as i32,
                    Runner::Look(_) => 0,
                };
                self.store(state, op, Word::integer(me));
            }
            Op::Assert { condition, .. } => {
                let condition = state.condition(*condition);
                self.fault(runner, state, !condition, ViolationKind::Assertion, site);
            }
            Op::Assume { condition } => {
                let condition = state.condition(*condition);
                let dropped = self.circuit.and(state.guard, !condition);
                if dropped != Lit::FALSE && matches!(runner, Runner::Thread(_)) {
                    self.assumed.push(dropped);
                }
                state.guard = self.circuit.and(state.guard, condition);
            }
            Op::Await { condition } => {
                let condition = state.condition(*condition);
                match runner {
                    // The step is taken only where it does not wait.
                    Runner::Thread(_) => self.circuit.imply(&[state.guard], &[condition]),
                    Runner::Look(look) => {
                        look.blocked.push(self.circuit.and(state.guard, !condition));
                        state.guard = self.circuit.and(state.guard, condition);
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

    fn checked_index(
        &mut self,
        runner: &mut Runner,
        state: &mut State,
        index: Operand,
        size: u32,
        site: SiteId,
    ) -> Word {
        let index = state.operand(index, 32);
        let inside = self.circuit.less_unsigned(&index, &Word::integer(size as i32));
        self.fault(runner, state, !inside, ViolationKind::Bounds, site);
        index
    }
}
