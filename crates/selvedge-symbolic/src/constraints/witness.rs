//! States in which the conditions of a path hold. They answer most questions whether something can be, so
//! that the solver is asked only what it has not shown yet.
//!
//! A witness is believed, not checked: one that is wrong leads to a path that cannot be taken, whose guard
//! is false in every state. So it costs time, and never makes a constraint wrong.

use std::cell::RefCell;

use selvedge_lang::ir::{BinaryOp, GlobalId};

use super::run::Relation;
use super::term::{CallId, Opaque, OpaqueId, Output, Place, Poly};
use super::words::{Argument, Words};

/// What may be asked about a state.
#[derive(Clone, Copy)]
pub(super) enum Question<'q> {
    /// How two terms compare.
    Compare(Relation, &'q Poly, &'q Poly),
    /// Whether this operation overflows.
    Overflows(BinaryOp, &'q Poly, &'q Poly),
}

/// What each opaque term is in one state.
#[derive(Debug)]
pub(super) struct Witness {
    /// By opaque term. Those that came up later are filled in when they are asked for.
    values: RefCell<Vec<Option<i32>>>,
}

impl Words<'_> {
    /// Returns the state that the solver found last.
    pub(super) fn witness(&self) -> Witness {
        let solver = &self.circuit.solver;
        let value = |(id, _): (OpaqueId, &Opaque)| {
            let bits = self.opaque_word(id).bits().iter().enumerate();
            Some(bits.fold(0, |sum, (at, &bit)| sum | i32::from(solver.value(bit)) << at))
        };
        Witness { values: RefCell::new(self.terms.all().map(value).collect()) }
    }
}

impl Witness {
    /// Returns the answer in this state; `None` if there is none, because something is divided by 0.
    pub(super) fn answer(&self, words: &Words<'_>, question: Question<'_>) -> Option<bool> {
        let (Question::Compare(_, a, b) | Question::Overflows(_, a, b)) = question;
        let (a, b) = (self.poly(words, a)?, self.poly(words, b)?);
        Some(match question {
            Question::Compare(Relation::Equal, ..) => a == b,
            Question::Compare(Relation::Less, ..) => a < b,
            Question::Overflows(BinaryOp::Add, ..) => a.checked_add(b).is_none(),
            Question::Overflows(BinaryOp::Subtract, ..) => a.checked_sub(b).is_none(),
            Question::Overflows(BinaryOp::Multiply, ..) => a.checked_mul(b).is_none(),
            Question::Overflows(..) => a == i32::MIN && b == -1,
        })
    }

    fn poly(&self, words: &Words<'_>, poly: &Poly) -> Option<i32> {
        poly.terms.iter().try_fold(0_i32, |sum, (product, factor)| {
            let product = product
                .iter()
                .try_fold(*factor, |so_far, &id| Some(so_far.wrapping_mul(self.value(words, id)?)));
            Some(sum.wrapping_add(product?))
        })
    }

    fn value(&self, words: &Words<'_>, id: OpaqueId) -> Option<i32> {
        let known = self.values.borrow().get(id.index()).copied().flatten();
        if known.is_some() {
            return known;
        }
        let value = self.new_value(words, id)?;
        let mut values = self.values.borrow_mut();
        if values.len() <= id.index() {
            values.resize(id.index() + 1, None);
        }
        values[id.index()] = Some(value);
        Some(value)
    }

    /// Returns the value of a term that the solver did not know of: what it is called elsewhere, or 0.
    fn new_value(&self, words: &Words<'_>, id: OpaqueId) -> Option<i32> {
        match words.terms.get(id) {
            Opaque::Quotient(a, b) => self.poly(words, a)?.checked_div(self.poly(words, b)?),
            Opaque::Remainder(a, b) => self.poly(words, a)?.checked_rem(self.poly(words, b)?),
            opaque => {
                let Some(name) = self.name(words, opaque) else { return Some(0) };
                let known = self.values.borrow().clone();
                let same = words.terms.all().zip(known).find_map(|((_, other), value)| {
                    let value = value?;
                    (self.name(words, other).as_ref() == Some(&name)).then_some(value)
                });
                Some(same.unwrap_or(0))
            }
        }
    }

    /// Returns what tells an object apart from all others; `None` if its term does.
    fn name<'w>(&self, words: &'w Words<'_>, opaque: &'w Opaque) -> Option<Name> {
        let (place, key) = match opaque {
            Opaque::Variable(place) | Opaque::Length(place) => (place, None),
            Opaque::Item(place, key) | Opaque::Has(place, key) | Opaque::Contains(place, key) => {
                (place, Some(key))
            }
            Opaque::Output(call, output) => {
                return Some(Name::Output(self.call(words, *call), *output));
            }
            _ => return None,
        };
        let Place { global, after, index } = place;
        let numbers: Option<Vec<i32>> =
            index.iter().chain(key).map(|poly| self.poly(words, poly)).collect();
        let after = after.map(|call| self.call(words, call));
        Some(Name::Object(std::mem::discriminant(opaque), *global, after, numbers?))
    }

    /// Returns the first run of the same loop that reads the same. Objects that only look different are taken
    /// for different.
    fn call(&self, words: &Words<'_>, call: CallId) -> CallId {
        let this = &words.calls[call.index()];
        let same = |other: &&(usize, &super::words::Call)| {
            let arguments = other.1.arguments.iter().zip(&this.arguments);
            other.1.run == this.run
                && arguments.into_iter().all(|arguments| match arguments {
                    (Argument::Value(a), Argument::Value(b)) => {
                        a == b || self.poly(words, a) == self.poly(words, b)
                    }
                    (a, b) => a == b,
                })
        };
        let earlier = words.calls[..call.index()].iter().enumerate();
        earlier.into_iter().find(|it| same(&it)).map_or(call, |(at, _)| CallId::new(at))
    }
}

/// See [`Witness::name`].
#[derive(PartialEq)]
enum Name {
    Object(std::mem::Discriminant<Opaque>, GlobalId, Option<CallId>, Vec<i32>),
    Output(CallId, Output),
}
