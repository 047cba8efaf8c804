//! Terms as words of 32 bits, and what is known about them.
//!
//! Every opaque term is a word about which only facts are known: the same object at the same index
//! has the same value, and a loop that reads the same gives the same (Ackermann's reduction).

use std::collections::BTreeMap;

use selvedge_core::Budget;
use selvedge_lang::ir::{AtomicId, Type};

use super::GiveUp;
use super::store::Objects;
use super::term::{CallId, Index, LoopId, Opaque, OpaqueId, Output, Place, Poly, Terms};
use crate::circuit::{Circuit, Range, Word};
use crate::solver::{Answer, Lit, Solver};
use crate::values::Values;

/// No list or map is longer: it would not fit into memory.
const LONGEST_CONTAINER: i32 = 1 << 30;

/// One run of a loop: what it reads decides what it does.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) run: LoopId,
    pub(super) arguments: Vec<Argument>,
}

/// What a loop reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    /// A local variable.
    Value(Poly),
    /// All objects of a declaration.
    Objects(Objects),
}

/// Terms with their words.
pub(super) struct Words<'a> {
    pub(super) terms: Terms,
    pub(super) circuit: Circuit,
    pub(super) calls: Vec<Call>,
    /// By opaque term.
    words: Vec<Word>,
    polys: BTreeMap<Poly, Word>,
    /// By the difference of the two sides.
    equalities: BTreeMap<Poly, Lit>,
    call_equalities: BTreeMap<(CallId, CallId), Lit>,
    /// Equalities that were queried, while they are recorded.
    pub(super) noted: Option<Vec<(Poly, Poly)>>,
    pub(super) values: &'a Values,
    /// The two blocks, whose local variables have ranges.
    atomics: [AtomicId; 2],
    budget: &'a Budget,
}

impl<'a> Words<'a> {
    pub(super) fn new(values: &'a Values, atomics: [AtomicId; 2], budget: &'a Budget) -> Self {
        Self {
            values,
            atomics,
            terms: Terms::default(),
            circuit: Circuit::new(Solver::new()),
            calls: Vec::new(),
            words: Vec::new(),
            polys: BTreeMap::new(),
            equalities: BTreeMap::new(),
            call_equalities: BTreeMap::new(),
            noted: None,
            budget,
        }
    }

    pub(super) fn opaque_word(&self, id: OpaqueId) -> &Word {
        &self.words[id.index()]
    }

    /// Returns whether all of `assumptions` can be true together.
    pub(super) fn possible(&mut self, assumptions: &[Lit]) -> Result<bool, GiveUp> {
        if assumptions.contains(&Lit::FALSE) {
            return Ok(false);
        }
        match self.circuit.solver.solve(assumptions, self.budget) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Stopped => Err(self.stopped()),
        }
    }

    /// Polls the budget where no query is made.
    pub(super) fn go_on(&self) -> Result<(), GiveUp> {
        self.budget.check().map_err(GiveUp::Stopped)
    }

    fn stopped(&self) -> GiveUp {
        GiveUp::Stopped(self.budget.spent().expect("internal error: stopped without a reason"))
    }

    /// Returns an opaque term.
    pub(super) fn opaque(&mut self, opaque: Opaque, ty: Type) -> Poly {
        match self.terms.add(opaque.clone(), ty) {
            Ok(id) => Poly::opaque(id),
            Err(id) => {
                let word = self.new_word(&opaque, ty);
                self.words.push(word);
                self.add_facts(id, &opaque);
                Poly::opaque(id)
            }
        }
    }

    fn new_word(&mut self, opaque: &Opaque, ty: Type) -> Word {
        match opaque {
            Opaque::Quotient(a, b) | Opaque::Remainder(a, b) => {
                let (a, b) = (self.word(a), self.word(b));
                let (quotient, remainder, _) = self.divide(&a, &b);
                if matches!(opaque, Opaque::Quotient(..)) { quotient } else { remainder }
            }
            _ if ty == Type::Bool => Word::boolean(self.circuit.fresh()).resized(32),
            _ => self.circuit.fresh_word(32),
        }
    }

    /// Quotient, remainder, and whether the quotient overflows. Powers of two are only shifted.
    pub(super) fn divide(&mut self, a: &Word, b: &Word) -> (Word, Word, Lit) {
        let shift = match b.as_constant() {
            Some(divisor) if divisor > 0 && divisor.count_ones() == 1 => divisor.trailing_zeros(),
            _ => return self.circuit.divide(a, b),
        };
        let shift = shift as usize;
        // Towards zero: a negative number is raised first.
        let rounding = (0..32).map(|bit| if bit < shift { a.sign() } else { Lit::FALSE });
        let raised = self.circuit.add(a, &rounding.collect()).0;
        let bit = |i: usize| raised.bits().get(i).copied().unwrap_or_else(|| raised.sign());
        let quotient: Word = (shift..shift + 32).map(bit).collect();
        let whole = (0..32).map(|i| if i < shift { Lit::FALSE } else { raised.bits()[i] });
        let remainder = self.circuit.subtract(a, &whole.collect()).0;
        (quotient, remainder, Lit::FALSE)
    }

    fn add_facts(&mut self, id: OpaqueId, opaque: &Opaque) {
        let word = self.words[id.index()].clone();
        if let Some(range) = self.range(opaque) {
            self.circuit.require_range(&word, range);
        }
        if let Opaque::Length(_) = opaque {
            let most = self.circuit.at_most(&word, &Word::integer(LONGEST_CONTAINER));
            self.circuit.require(&[most]);
            self.circuit.require(&[!word.sign()]);
        }
        let earlier: Vec<_> = self.terms.all().take(id.index()).map(|(_, o)| o.clone()).collect();
        for (i, other) in earlier.iter().enumerate() {
            if let Some(premises) = self.same(opaque, other) {
                let other = self.words[i].clone();
                self.circuit.imply_equal(&premises, &word, &other);
            }
        }
    }

    /// Returns the values that a term can have when both blocks begin, in any execution. What a loop leaves behind is no
    /// such value.
    fn range(&self, opaque: &Opaque) -> Option<Range> {
        match opaque {
            Opaque::Local(side, slot) => self.values.of_local(self.atomics[side.index()], *slot),
            Opaque::Variable(Place { global, after: None, .. }) => self.values.of_global(*global),
            _ => None,
        }
    }

    /// When two opaque terms are the same thing; `None`: never.
    fn same(&mut self, a: &Opaque, b: &Opaque) -> Option<Vec<Lit>> {
        let (places, keys) = match (a, b) {
            (Opaque::Variable(p), Opaque::Variable(q)) | (Opaque::Length(p), Opaque::Length(q)) => {
                ((p, q), None)
            }
            (Opaque::Item(p, k), Opaque::Item(q, l))
            | (Opaque::Has(p, k), Opaque::Has(q, l))
            | (Opaque::Contains(p, k), Opaque::Contains(q, l)) => ((p, q), Some((k, l))),
            (Opaque::Output(c, o), Opaque::Output(d, p)) if o == p => {
                let equal = self.same_call(*c, *d);
                return (equal != Lit::FALSE).then(|| vec![equal]);
            }
            _ => return None,
        };
        let mut premises = self.same_place(places.0, places.1)?;
        premises.extend(keys.map(|(k, l)| self.equal(k, l)));
        (!premises.contains(&Lit::FALSE)).then_some(premises)
    }

    fn same_place(&mut self, p: &Place, q: &Place) -> Option<Vec<Lit>> {
        if p.global != q.global {
            return None;
        }
        let after = self.same_after(p.after, q.after);
        let index = self.same_index(&p.index, &q.index);
        (after != Lit::FALSE && index != Lit::FALSE).then(|| vec![after, index])
    }

    /// Returns whether objects were last changed as a whole by the same, or never.
    pub(super) fn same_after(&mut self, a: Option<CallId>, b: Option<CallId>) -> Lit {
        match (a, b) {
            (None, None) => Lit::TRUE,
            (Some(a), Some(b)) => self.same_call(a, b),
            _ => Lit::FALSE,
        }
    }

    /// Returns whether two runs are of one loop and read the same.
    pub(super) fn same_call(&mut self, a: CallId, b: CallId) -> Lit {
        if a == b {
            return Lit::TRUE;
        }
        let key = (a.min(b), a.max(b));
        // Recording equalities includes those of the arguments.
        if let (Some(&known), None) = (self.call_equalities.get(&key), &self.noted) {
            return known;
        }
        let (a, b) = (self.calls[a.index()].clone(), self.calls[b.index()].clone());
        let lit = if a.run != b.run {
            Lit::FALSE
        } else {
            let pairs = a.arguments.iter().zip(&b.arguments);
            let equal: Vec<Lit> = pairs.map(|(a, b)| self.same_argument(a, b)).collect();
            self.circuit.all(&equal)
        };
        self.call_equalities.insert(key, lit);
        lit
    }

    fn same_argument(&mut self, a: &Argument, b: &Argument) -> Lit {
        match (a, b) {
            (Argument::Value(a), Argument::Value(b)) => self.equal(a, b),
            (Argument::Objects(a), Argument::Objects(b)) => self.same_objects(a, b),
            _ => Lit::FALSE,
        }
    }

    /// Returns whether two indices name one element.
    pub(super) fn same_index(&mut self, a: &Index, b: &Index) -> Lit {
        let equal: Vec<Lit> = a.iter().zip(b).map(|(a, b)| self.equal(a, b)).collect();
        self.circuit.all(&equal)
    }

    /// Returns the value of a term.
    pub(super) fn word(&mut self, poly: &Poly) -> Word {
        if let Some(word) = self.polys.get(poly) {
            return word.clone();
        }
        let mut sum: Option<Word> = None;
        for (product, factor) in &poly.terms {
            let mut term = None;
            for &id in product {
                let word = self.words[id.index()].clone();
                term = Some(match term {
                    None => word,
                    Some(so_far) => self.circuit.multiply(&so_far, &word).0,
                });
            }
            sum = Some(self.add_scaled(sum, term, *factor));
        }
        let word = sum.unwrap_or_else(|| Word::integer(0));
        self.polys.insert(poly.clone(), word.clone());
        word
    }

    /// `sum + factor * term`; a missing sum is 0, a missing term 1.
    fn add_scaled(&mut self, sum: Option<Word>, term: Option<Word>, factor: i32) -> Word {
        let scaled = match (term, factor) {
            (None, factor) => Word::integer(factor),
            (Some(term), 1) => term,
            (Some(term), -1) => match sum {
                None => return self.circuit.negate(&term).0,
                Some(sum) => return self.circuit.subtract(&sum, &term).0,
            },
            (Some(term), factor) => self.circuit.multiply(&term, &Word::integer(factor)).0,
        };
        match sum {
            None => scaled,
            Some(sum) => self.circuit.add(&sum, &scaled).0,
        }
    }

    /// Returns whether two terms have one value.
    pub(super) fn equal(&mut self, a: &Poly, b: &Poly) -> Lit {
        let (there, back) = (a.minus(b), b.minus(a));
        if let Some(constant) = there.as_constant() {
            return Lit::constant(constant == 0);
        }
        if let Some(noted) = &mut self.noted {
            noted.push((a.clone(), b.clone()));
        }
        let difference = there.min(back);
        if let Some(&lit) = self.equalities.get(&difference) {
            return lit;
        }
        let (left, right) = difference.balanced();
        let (left, right) = (self.word(&left), self.word(&right));
        let lit = self.circuit.equal_words(&left, &right);
        self.equalities.insert(difference, lit);
        lit
    }

    /// Returns whether `a < b`.
    pub(super) fn less(&mut self, a: &Poly, b: &Poly) -> Lit {
        if a == b {
            return Lit::FALSE;
        }
        let (a, b) = (self.word(a), self.word(b));
        self.circuit.less(&a, &b)
    }

    /// Returns whether a boolean term is true.
    pub(super) fn truth(&mut self, poly: &Poly) -> Lit {
        !self.equal(poly, &Poly::constant(0))
    }

    /// Returns whether a loop fails.
    pub(super) fn fails(&mut self, call: CallId) -> Poly {
        self.opaque(Opaque::Output(call, Output::Fails), Type::Bool)
    }
}
