//! Operators of the language.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{BinaryOp, Operand, UnaryOp};

use super::Unrolled;
use super::run::Turn;
use crate::circuit::Word;
use crate::solver::Lit;

impl Unrolled {
    /// Returns the result of an operator. Overflow and division by zero are faults.
    pub(super) fn binary(
        &mut self,
        turn: &mut Turn<'_>,
        op: BinaryOp,
        [left, right]: [Operand; 2],
    ) -> Word {
        let (a, b) = (turn.state.operand(left, 32), turn.state.operand(right, 32));
        let circuit = &mut self.circuit;
        let truth = |lit: Lit| (Word::boolean(lit), Lit::FALSE);
        let (word, fault) = match op {
            BinaryOp::Add => circuit.add(&a, &b),
            BinaryOp::Subtract => circuit.subtract(&a, &b),
            BinaryOp::Multiply => circuit.multiply(&a, &b),
            BinaryOp::Divide | BinaryOp::Remainder => {
                let zero = circuit.is(&b, 0);
                let (quotient, remainder, overflow) = circuit.divide(&a, &b);
                let word = if op == BinaryOp::Divide { quotient } else { remainder };
                (word, circuit.or(zero, overflow))
            }
            BinaryOp::Min => {
                let less = circuit.less(&a, &b);
                (circuit.choose_word(less, &a, &b), Lit::FALSE)
            }
            BinaryOp::Max => {
                let less = circuit.less(&a, &b);
                (circuit.choose_word(less, &b, &a), Lit::FALSE)
            }
            BinaryOp::Equal => truth(circuit.equal_words(&a, &b)),
            BinaryOp::NotEqual => truth(!circuit.equal_words(&a, &b)),
            BinaryOp::Less => truth(circuit.less(&a, &b)),
            BinaryOp::LessEqual => truth(circuit.at_most(&a, &b)),
            BinaryOp::Greater => truth(circuit.less(&b, &a)),
            BinaryOp::GreaterEqual => truth(circuit.at_most(&b, &a)),
        };
        self.fault(turn, fault, ViolationKind::Arithmetic);
        word
    }

    /// Returns the result of an operator on one value.
    pub(super) fn unary(&mut self, turn: &mut Turn<'_>, op: UnaryOp, value: Operand) -> Word {
        let (word, fault) = match op {
            UnaryOp::Negate => self.circuit.negate(&turn.state.operand(value, 32)),
            UnaryOp::Abs => self.circuit.absolute(&turn.state.operand(value, 32)),
            UnaryOp::Not => (Word::boolean(!turn.state.condition(value)), Lit::FALSE),
        };
        self.fault(turn, fault, ViolationKind::Arithmetic);
        word
    }
}
