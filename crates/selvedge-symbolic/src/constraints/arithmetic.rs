//! Operators of the language on terms.

use selvedge_lang::ir::{BinaryOp, Domain, Indexed, Operand, Range, SiteId, Table, Type, UnaryOp};

use super::GiveUp;
use super::path::{Path, Value};
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

/// The values of a path.
pub(super) struct Terms<'r, 'p, 'a, 'x> {
    pub(super) runner: &'r mut Runner<'p, 'a>,
    pub(super) path: &'x mut Path,
    pub(super) site: SiteId,
}

impl Domain for Terms<'_, '_, '_, '_> {
    type Value = Value;
    type Halt = Halt;

    fn operand(&mut self, operand: Operand) -> Value {
        self.runner.value(self.path, operand)
    }

    fn unary(&mut self, op: UnaryOp, value: Value) -> Result<Value, Halt> {
        let result = self.runner.unary(self.path, op, &value.into_number(), self.site);
        result.map(Value::Number)
    }

    fn binary(&mut self, op: BinaryOp, left: Value, right: Value) -> Result<Value, Halt> {
        let (a, b) = (&left.into_number(), &right.into_number());
        let operation = Operation { op, a, b, site: self.site };
        self.runner.binary(self.path, operation).map(Value::Number)
    }

    fn position(&mut self, index: Value, range: Range) -> Result<Value, Halt> {
        let position = index.into_number().minus(&Poly::constant(range.lowest));
        self.runner.require_in_range(self.path, &position, range.size, self.site)?;
        Ok(match range.of {
            Indexed::Objects(..) => Value::Index(vec![position]),
            Indexed::Threads(_) | Indexed::Table(_) | Indexed::Local => Value::Number(position),
        })
    }

    /// Elements are told apart by both indices.
    fn flat(&mut self, row: Value, _: u32, column: Value) -> Value {
        Value::Index(vec![row.into_number(), column.into_number()])
    }

    fn thread(&mut self, first: u32, position: Value) -> Value {
        Value::Number(position.into_number().plus(&Poly::constant(first as i32)))
    }

    fn lookup(&mut self, table: &Table, position: Value) -> Result<Value, Halt> {
        let position = position.into_number().as_constant();
        let element =
            position.and_then(|position| table.values.get(usize::try_from(position).ok()?));
        match element {
            Some(&element) => Ok(Value::Number(Poly::constant(element))),
            None => Err(GiveUp::TooLarge("a constant array has no encoding").into()),
        }
    }

    /// One path for each element.
    fn pick(&mut self, operands: &[Operand], position: Value) -> Result<Value, Halt> {
        let position = position.into_number();
        let (&last, others) = operands.split_last().expect("internal error: a position in nothing");
        for (at, &operand) in (0..).zip(others) {
            if self.runner.decide(self.path, Relation::Equal, &position, &Poly::constant(at))? {
                return Ok(self.operand(operand));
            }
        }
        Ok(self.operand(last))
    }

    fn own(&mut self) -> Value {
        Value::Number(self.runner.words.opaque(Opaque::Own(self.runner.side), Type::Thread))
    }
}

impl Runner<'_, '_> {
    fn require_in_range(
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

    fn unary(
        &mut self,
        path: &mut Path,
        op: UnaryOp,
        value: &Poly,
        site: SiteId,
    ) -> Result<Poly, Halt> {
        let zero = Poly::constant(0);
        match op {
            UnaryOp::Not => Ok(Poly::constant(1).minus(value)),
            UnaryOp::Complement => Ok(Poly::constant(-1).minus(value)),
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

    fn binary(&mut self, path: &mut Path, operation: Operation<'_>) -> Result<Poly, Halt> {
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
            BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => match (a.as_constant(), b.as_constant()) {
                (Some(a), Some(b)) => {
                    op.apply(a, b).map(Poly::constant).ok_or_else(|| Self::failed(site))
                }
                _ => Err(GiveUp::TooLarge("bits have no encoding").into()),
            },
        }
    }

    /// Addition and its like.
    pub(super) fn ring(&mut self, path: &mut Path, operation: Operation<'_>) -> Result<Poly, Halt> {
        let Operation { op, a, b, site } = operation;
        let result = match op {
            BinaryOp::Add => a.plus(b),
            BinaryOp::Subtract => a.minus(b),
            _ => a
                .times(b, self.caps.parts)
                .ok_or(GiveUp::TooLarge("a product has too many parts"))?,
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
