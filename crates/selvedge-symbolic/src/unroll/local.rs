//! Invisible instructions: what touches only the slots of one thread.

use std::sync::Arc;

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{Op, Slot};

use super::Unrolled;
use super::arithmetic::Circuits;
use super::run::{Runner, Turn};
use super::state::State;
use crate::circuit::Word;
use crate::solver::Lit;

impl Unrolled {
    pub(super) fn local(&mut self, turn: &mut Turn<'_>, op: &Op) {
        match op {
            Op::Compute { target, value } => {
                let program = Arc::clone(&self.program);
                let Ok(word) = value.evaluate(&program, &mut Circuits { unrolled: self, turn });
                self.store(turn.state, *target, word);
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

    /// Stores a value in a slot, with the width of that.
    pub(super) fn store(&mut self, state: &mut State, target: Slot, word: Word) {
        let procedure = state.frame().procedure;
        let width = self.slot_width(procedure, target);
        state.set_slot(target, word.resized(width));
    }
}
