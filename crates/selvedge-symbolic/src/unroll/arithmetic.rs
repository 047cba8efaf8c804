//! What is computed from slots, as circuits. What is wrong ends the thread there.

use std::convert::Infallible;

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{BinaryOp, Domain, Indexed, Operand, Range, Table, UnaryOp};

use super::Unrolled;
use super::cells::width;
use super::run::{Runner, Turn};
use crate::circuit::Word;
use crate::solver::Lit;

/// The values of a thread that is unrolled.
pub(super) struct Circuits<'u, 't, 's> {
    pub(super) unrolled: &'u mut Unrolled,
    pub(super) turn: &'t mut Turn<'s>,
}

impl Domain for Circuits<'_, '_, '_> {
    type Value = Word;
    type Halt = Infallible;

    fn operand(&mut self, operand: Operand) -> Word {
        self.turn.state.operand(operand, 32)
    }

    fn unary(&mut self, op: UnaryOp, value: Word) -> Result<Word, Infallible> {
        let circuit = &mut self.unrolled.circuit;
        let (word, fault) = match op {
            UnaryOp::Negate => circuit.negate(&value),
            UnaryOp::Abs => circuit.absolute(&value),
            UnaryOp::Not => (Word::boolean(!value.truth()), Lit::FALSE),
            UnaryOp::Complement => (value.complement(), Lit::FALSE),
        };
        self.unrolled.fault(self.turn, fault, ViolationKind::Arithmetic);
        Ok(word)
    }

    fn binary(&mut self, op: BinaryOp, a: Word, b: Word) -> Result<Word, Infallible> {
        let circuit = &mut self.unrolled.circuit;
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
            BinaryOp::BitAnd => (circuit.bits_and(&a, &b), Lit::FALSE),
            BinaryOp::BitOr => (circuit.bits_or(&a, &b), Lit::FALSE),
            BinaryOp::BitXor => (circuit.bits_xor(&a, &b), Lit::FALSE),
            BinaryOp::ShiftLeft => circuit.shift_left(&a, &b),
            BinaryOp::ShiftRight => circuit.shift_right(&a, &b),
            BinaryOp::Equal => truth(circuit.equal_words(&a, &b)),
            BinaryOp::NotEqual => truth(!circuit.equal_words(&a, &b)),
            BinaryOp::Less => truth(circuit.less(&a, &b)),
            BinaryOp::LessEqual => truth(circuit.at_most(&a, &b)),
            BinaryOp::Greater => truth(circuit.less(&b, &a)),
            BinaryOp::GreaterEqual => truth(circuit.at_most(&b, &a)),
        };
        self.unrolled.fault(self.turn, fault, ViolationKind::Arithmetic);
        Ok(word)
    }

    fn position(&mut self, index: Word, range: Range) -> Result<Word, Infallible> {
        let circuit = &mut self.unrolled.circuit;
        let (position, overflow) = match range.of {
            Indexed::Objects(..) | Indexed::Table(_) | Indexed::Local => (index, Lit::FALSE),
            Indexed::Threads(_) => circuit.subtract(&index, &Word::integer(range.lowest)),
        };
        let inside = circuit.less_unsigned(&position, &Word::integer(range.size as i32));
        let outside = circuit.or(!inside, overflow);
        self.unrolled.fault(self.turn, outside, ViolationKind::Bounds);
        Ok(position)
    }

    fn flat(&mut self, row: Word, columns: u32, column: Word) -> Word {
        let circuit = &mut self.unrolled.circuit;
        let start = circuit.multiply(&row, &Word::integer(columns as i32)).0;
        circuit.add(&start, &column).0
    }

    fn thread(&mut self, first: u32, position: Word) -> Word {
        self.unrolled.circuit.add(&position, &Word::integer(first as i32)).0
    }

    fn lookup(&mut self, table: &Table, position: Word) -> Result<Word, Infallible> {
        let bits = width(table.ty);
        let mut word = Word::constant(table.values.last().copied().unwrap_or(0), bits);
        for (at, &value) in table.values.iter().enumerate().rev().skip(1) {
            let circuit = &mut self.unrolled.circuit;
            let is_here = circuit.is(&position, at as i32);
            word = circuit.choose_word(is_here, &Word::constant(value, bits), &word);
        }
        Ok(word)
    }

    fn pick(&mut self, operands: &[Operand], position: Word) -> Result<Word, Infallible> {
        let (&last, others) = operands.split_last().expect("internal error: a position in nothing");
        let mut word = self.operand(last);
        for (at, &operand) in others.iter().enumerate().rev() {
            let value = self.operand(operand);
            let circuit = &mut self.unrolled.circuit;
            let is_here = circuit.is(&position, at as i32);
            word = circuit.choose_word(is_here, &value, &word);
        }
        Ok(word)
    }

    fn own(&mut self) -> Word {
        Word::integer(match self.turn.runner {
            Runner::Thread(thread) => *thread as i32,
            Runner::Look(_) => 0,
        })
    }
}
