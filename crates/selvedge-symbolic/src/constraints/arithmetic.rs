//! Operators of the language on terms.

use selvedge_lang::ir::{BinaryOp, SiteId, Type, UnaryOp};

use super::GiveUp;
use super::path::Path;
use super::run::{Halt, Relation, Runner};
use super::term::{Opaque, Poly};
use super::witness::Question;
use crate::solver::Lit;

/// An operator between two terms, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Operation<'o> {
    pub(super) op: BinaryOp,
    pub(super) a: &'o Poly,
    pub(super) b: &'o Poly,
    pub(super) site: SiteId,
}

impl Runner<'_, '_> {
    pub(super) fn require_in_range(
        &mut self,
        path: &mut Path,
        value: &Poly,
        size: u32,
        site: SiteId,
    ) -> Result<(), Halt> {
        let size = Poly::constant(i32::try_from(size).unwrap_or(i32::MAX));
        if self.decide(path, Relation::Less, value, &Poly::constant(0))?
            || !self.decide(path, Relation::Less, value, &size)?
        {
            return Err(Self::failed(site));
        }
        Ok(())
    }

    pub(super) fn unary(
        &mut self,
        path: &mut Path,
        op: UnaryOp,
        value: &Poly,
        site: SiteId,
    ) -> Result<Poly, Halt> {
        let zero = Poly::constant(0);
        match op {
            UnaryOp::Not => Ok(Poly::constant(1).minus(value)),
            UnaryOp::Abs if !self.decide(path, Relation::Less, value, &zero)? => Ok(value.clone()),
            UnaryOp::Negate | UnaryOp::Abs => {
                let word = self.words.word(value);
                let overflow = self.words.circuit.negate(&word).1;
                let result = value.times_constant(-1);
                let question = Question::Overflows(BinaryOp::Subtract, &zero, value);
                self.may_overflow(path, (overflow, question), result, site)
            }
        }
    }

    pub(super) fn binary(
        &mut self,
        path: &mut Path,
        operation: Operation<'_>,
    ) -> Result<Poly, Halt> {
        let Operation { op, a, b, site } = operation;
        let truth = |value: bool| Poly::constant(i32::from(value));
        match op {
            BinaryOp::Equal => self.decide(path, Relation::Equal, a, b).map(truth),
            BinaryOp::NotEqual => self.decide(path, Relation::Equal, a, b).map(|same| truth(!same)),
            BinaryOp::Less => self.decide(path, Relation::Less, a, b).map(truth),
            BinaryOp::Greater => self.decide(path, Relation::Less, b, a).map(truth),
            BinaryOp::LessEqual => self.decide(path, Relation::Less, b, a).map(|less| truth(!less)),
            BinaryOp::GreaterEqual => {
                self.decide(path, Relation::Less, a, b).map(|less| truth(!less))
            }
            BinaryOp::Min => {
                let less = self.decide(path, Relation::Less, b, a)?;
                Ok(if less { b.clone() } else { a.clone() })
            }
            BinaryOp::Max => {
                let less = self.decide(path, Relation::Less, a, b)?;
                Ok(if less { b.clone() } else { a.clone() })
            }
            BinaryOp::Divide | BinaryOp::Remainder => {
                if self.decide(path, Relation::Equal, b, &Poly::constant(0))? {
                    return Err(Self::failed(site));
                }
                self.divide(path, operation)
            }
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => self.ring(path, operation),
        }
    }

    /// Addition and its like.
    pub(super) fn ring(&mut self, path: &mut Path, operation: Operation<'_>) -> Result<Poly, Halt> {
        let Operation { op, a, b, site } = operation;
        let result = match op {
            BinaryOp::Add => a.plus(b),
            BinaryOp::Subtract => a.minus(b),
            _ => a.times(b).ok_or(GiveUp::TooLarge("a product has too many parts"))?,
        };
        let (left, right) = (self.words.word(a), self.words.word(b));
        let circuit = &mut self.words.circuit;
        let (_, overflow) = match op {
            BinaryOp::Add => circuit.add(&left, &right),
            BinaryOp::Subtract => circuit.subtract(&left, &right),
            _ => circuit.multiply(&left, &right),
        };
        self.may_overflow(path, (overflow, Question::Overflows(op, a, b)), result, site)
    }

    fn divide(&mut self, path: &mut Path, operation: Operation<'_>) -> Result<Poly, Halt> {
        let Operation { op, a, b, site } = operation;
        if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant()) {
            let result = if op == BinaryOp::Divide { x.checked_div(y) } else { x.checked_rem(y) };
            if let Some(result) = result {
                return Ok(Poly::constant(result));
            }
        }
        let (left, right) = (self.words.word(a), self.words.word(b));
        let overflow = self.words.divide(&left, &right).2;
        let parts = (a.clone(), b.clone());
        let opaque = match op {
            BinaryOp::Divide => Opaque::Quotient(parts.0, parts.1),
            _ => Opaque::Remainder(parts.0, parts.1),
        };
        let result = self.words.opaque(opaque, Type::Int);
        self.may_overflow(path, (overflow, Question::Overflows(op, a, b)), result, site)
    }

    /// Returns the result, unless it overflows.
    fn may_overflow(
        &mut self,
        path: &mut Path,
        (overflow, question): (Lit, Question<'_>),
        result: Poly,
        site: SiteId,
    ) -> Result<Poly, Halt> {
        if self.settle(path, overflow, question)? {
            path.overflows = true;
            return Err(Self::failed(site));
        }
        if overflow != Lit::FALSE && !self.results.contains(&result) {
            self.results.push(result.clone());
        }
        Ok(result)
    }
}
