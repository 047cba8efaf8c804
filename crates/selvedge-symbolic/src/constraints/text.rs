//! Literals as text of the language, and what that text means.
//!
//! Both go over the same sums, in the same order: a condition that overflows or reads outside of an
//! array when it is evaluated does not hold, so its meaning has to contain that.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_lang::ir::{AtomicKind, GlobalKind, Program, Slot, Type};

use super::atom::{Atom, AtomRelation, Form, Literal};
use super::blocks::Block;
use super::term::{Opaque, OpaqueId, Place, Poly, Side, Terms};
use super::words::Words;
use crate::circuit::Word;
use crate::solver::Lit;

/// How a constraint speaks of two blocks.
pub(super) struct Names<'p> {
    program: &'p Program,
    /// The blocks with their parameters: `res(n, v)`.
    pub(super) heads: [String; 2],
    locals: [BTreeMap<Slot, String>; 2],
    /// Built-in functions that the program has not redefined.
    builtins: BTreeSet<&'static str>,
}

impl<'p> Names<'p> {
    pub(super) fn new(program: &'p Program, blocks: [Block; 2]) -> Self {
        let defined: BTreeSet<&str> =
            program.procedures.iter().map(|procedure| procedure.name.as_str()).collect();
        let free = |name: &&str| !defined.contains(name);
        let mut names = Self {
            program,
            heads: [String::new(), String::new()],
            locals: [BTreeMap::new(), BTreeMap::new()],
            builtins: ["len", "has", "contains"].into_iter().filter(free).collect(),
        };
        let mut taken = BTreeSet::new();
        for side in [Side::First, Side::Second] {
            let block = blocks[side.index()];
            let same = blocks[0].atomic == blocks[1].atomic;
            names.heads[side.index()] = names.head(block, side, same, &mut taken);
        }
        names
    }

    fn head(
        &mut self,
        block: Block,
        side: Side,
        same: bool,
        taken: &mut BTreeSet<String>,
    ) -> String {
        let atomic = &self.program.atomics[block.atomic.index()];
        let name = atomic.reference().unwrap_or_default();
        let procedure = &self.program.procedures[block.procedure.index()];
        let slots = procedure.slots.iter().enumerate();
        let named = slots.filter_map(|(i, slot)| Some((Slot::new(i), slot.name.clone()?)));
        let locals = &mut self.locals[side.index()];
        let is_whole = match atomic.kind {
            AtomicKind::Procedure => true,
            AtomicKind::Task => atomic.continues.is_none(),
            _ => false,
        };
        if !is_whole {
            let base = match (same || atomic.name.is_none(), side) {
                (false, _) => name.as_str(),
                (true, Side::First) => "first",
                (true, Side::Second) => "second",
            };
            locals.extend(named.map(|(slot, local)| (slot, format!("{base}.{local}"))));
            return name;
        }
        let mut params = Vec::new();
        for (slot, param) in named.take(procedure.parameters as usize) {
            let param = unused(&param, taken, self.program);
            taken.insert(param.clone());
            params.push(param.clone());
            locals.insert(slot, param);
        }
        match procedure.task(&params) {
            Some(task) => task,
            None if params.is_empty() => name,
            None => format!("{name}({})", params.join(", ")),
        }
    }

    /// Returns how products are ordered: what is shared first, then by name.
    pub(super) fn order(&self, terms: &Terms, product: &[OpaqueId]) -> (u8, String) {
        let texts: Vec<Option<String>> = product.iter().map(|&id| self.opaque(terms, id)).collect();
        let rank = product.iter().map(|&id| match terms.get(id) {
            Opaque::Local(Side::First, _) => 1,
            Opaque::Local(Side::Second, _) => 2,
            _ => 0,
        });
        let text = texts.into_iter().flatten().collect::<Vec<_>>().join(" * ");
        (rank.max().unwrap_or(0), text)
    }

    /// Returns a literal as text; `None` if the language has no words for it.
    pub(super) fn literal(&self, terms: &Terms, literal: &Literal) -> Option<String> {
        let Literal::Compared(atom, truth) = literal else {
            let shown = Shown::new(literal)?;
            return Some(format!("{} <= {}", self.sum(terms, &shown.left)?, i32::MAX));
        };
        if let [(product, 1)] = atom.form.as_slice()
            && let [id] = product.as_slice()
            && terms.ty(*id) == Type::Bool
        {
            let name = self.opaque(terms, *id)?;
            return Some(if is_true(atom, *truth) { name } else { format!("!{name}") });
        }
        let types: Vec<Type> =
            atom.form.iter().flat_map(|(product, _)| product).map(|&id| terms.ty(id)).collect();
        let two_booleans = types == [Type::Bool, Type::Bool] && atom.bound == 0;
        let is_without_text = |ty: &Type| matches!(ty, Type::Thread | Type::Enum(_));
        if types.iter().any(is_without_text) || types.contains(&Type::Bool) && !two_booleans {
            return None;
        }
        let Shown { left, operator, right } = Shown::new(literal)?;
        Some(format!("{} {operator} {}", self.sum(terms, &left)?, self.sum(terms, &right)?))
    }

    fn sum(&self, terms: &Terms, sum: &Sum) -> Option<String> {
        let mut text = String::new();
        for (product, factor) in &sum.terms {
            let product = match product.as_slice() {
                // A quotient that is only added needs no parentheses.
                [id] if *factor == 1 || *factor == -1 && !text.is_empty() => {
                    self.opaque(terms, *id)?
                }
                product => {
                    let parts = product.iter().map(|&id| self.factor(terms, id));
                    parts.collect::<Option<Vec<String>>>()?.join(" * ")
                }
            };
            let size =
                if factor.abs() == 1 { String::new() } else { format!("{} * ", factor.abs()) };
            let sign = match (text.is_empty(), *factor < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            text.push_str(&format!("{sign}{size}{product}"));
        }
        let constant = i32::try_from(sum.constant).ok().filter(|&value| value != i32::MIN)?;
        match (text.is_empty(), constant) {
            (true, constant) => text = constant.to_string(),
            (false, 0) => {}
            (false, constant) if constant > 0 => text.push_str(&format!(" + {constant}")),
            (false, constant) => text.push_str(&format!(" - {}", -constant)),
        }
        Some(text)
    }

    /// In parentheses, unless it is one word.
    fn operand(&self, terms: &Terms, poly: &Poly) -> Option<String> {
        let text = self.poly(terms, poly)?;
        Some(if text.contains([' ', '-']) { format!("({text})") } else { text })
    }

    fn poly(&self, terms: &Terms, poly: &Poly) -> Option<String> {
        self.sum(terms, &Sum::of(poly))
    }

    /// As a part of a product.
    fn factor(&self, terms: &Terms, id: OpaqueId) -> Option<String> {
        let text = self.opaque(terms, id)?;
        let is_fraction = matches!(terms.get(id), Opaque::Quotient(..) | Opaque::Remainder(..));
        Some(if is_fraction { format!("({text})") } else { text })
    }

    fn opaque(&self, terms: &Terms, id: OpaqueId) -> Option<String> {
        let call = |name: &str| self.builtins.contains(name).then(|| name.to_owned());
        match terms.get(id) {
            Opaque::Local(side, slot) => self.locals[side.index()].get(slot).cloned(),
            Opaque::Own(_) | Opaque::Spawned(..) | Opaque::Output(..) => None,
            Opaque::Variable(place) => self.place(terms, place),
            Opaque::Length(place) => {
                Some(format!("{}({})", call("len")?, self.place(terms, place)?))
            }
            Opaque::Item(place, key) => {
                Some(format!("{}[{}]", self.place(terms, place)?, self.poly(terms, key)?))
            }
            Opaque::Has(place, key) => {
                let (place, key) = (self.place(terms, place)?, self.poly(terms, key)?);
                Some(format!("{}({place}, {key})", call("has")?))
            }
            Opaque::Contains(place, value) => {
                let (place, value) = (self.place(terms, place)?, self.poly(terms, value)?);
                Some(format!("{}({place}, {value})", call("contains")?))
            }
            Opaque::Quotient(a, b) | Opaque::Remainder(a, b) => {
                let sign = if matches!(terms.get(id), Opaque::Quotient(..)) { '/' } else { '%' };
                Some(format!("{} {sign} {}", self.operand(terms, a)?, self.operand(terms, b)?))
            }
        }
    }

    fn place(&self, terms: &Terms, place: &Place) -> Option<String> {
        let global = &self.program.globals[place.global.index()];
        // Counts of semaphores cannot be read, nor the result of a loop.
        if place.after.is_some() || matches!(global.kind, GlobalKind::Semaphore { .. }) {
            return None;
        }
        let indices: Option<Vec<String>> =
            place.index.iter().map(|index| self.poly(terms, index)).collect();
        Some(global.indexed(&indices?))
    }
}

/// Returns a name like this one that is not in use.
fn unused(name: &str, taken: &BTreeSet<String>, program: &Program) -> String {
    let declared = |name: &str| {
        // An actor has the first part of the names of what belongs to it.
        let outer = |full: &str| full.split_once('.').is_some_and(|(outer, _)| outer == name);
        program.globals.iter().any(|global| global.name == name || outer(&global.name))
            || program.procedures.iter().any(|it| it.name == name || outer(&it.name))
            || program.threads.iter().any(|thread| thread.name == name)
            || program.atomics.iter().any(|atomic| atomic.name.as_deref() == Some(name))
    };
    let mut candidate = name.to_owned();
    let mut number = 2;
    while taken.contains(&candidate) || declared(&candidate) {
        candidate = format!("{name}{number}");
        number += 1;
    }
    candidate
}

/// Returns whether a literal about a boolean says that it is true.
fn is_true(atom: &Atom, truth: bool) -> bool {
    match atom.relation {
        AtomRelation::Equal => (atom.bound == 1) == truth,
        AtomRelation::AtMost => !truth,
    }
}

/// A sum as it is written.
struct Sum {
    terms: Form,
    constant: i64,
}

impl Sum {
    fn of(poly: &Poly) -> Self {
        let mut sum = Self { terms: Form::new(), constant: 0 };
        for (product, factor) in &poly.terms {
            match product.as_slice() {
                [] => sum.constant = i64::from(*factor),
                _ => sum.terms.push((product.clone(), i64::from(*factor))),
            }
        }
        // What is added first reads better.
        sum.terms.sort_by_key(|(_, factor)| *factor < 0);
        sum
    }
}

/// A comparison as it is written.
struct Shown {
    left: Sum,
    operator: &'static str,
    right: Sum,
}

impl Shown {
    /// `None` if a number is too large.
    fn new(literal: &Literal) -> Option<Self> {
        let (atom, truth) = match literal {
            Literal::Compared(atom, truth) => (atom, *truth),
            Literal::Fits(form, constant) => {
                let left = Sum { terms: form.clone(), constant: *constant };
                let right = Sum { terms: Form::new(), constant: i64::from(i32::MAX) };
                return Some(Self { left, operator: "<=", right });
            }
        };
        let positive = atom.form.iter().filter(|(_, factor)| *factor > 0).cloned();
        let negative = atom.form.iter().filter(|(_, factor)| *factor < 0);
        let negative: Form = negative.map(|(product, f)| (product.clone(), -f)).collect();
        let (mut operator, mut bound) = match (atom.relation, truth) {
            (AtomRelation::Equal, true) => ("==", atom.bound),
            (AtomRelation::Equal, false) => ("!=", atom.bound),
            (AtomRelation::AtMost, true) => ("<=", atom.bound),
            (AtomRelation::AtMost, false) => (">=", atom.bound.checked_add(1)?),
        };
        match (operator, bound, negative.is_empty()) {
            (">=", 1, _) => (operator, bound) = (">", 0),
            ("<=", -1, false) => (operator, bound) = ("<", 0),
            _ => {}
        }
        let fits = i32::try_from(bound).is_ok_and(|bound| bound != i32::MIN);
        let right = Sum { terms: negative, constant: bound };
        fits.then(|| Self { left: Sum { terms: positive.collect(), constant: 0 }, operator, right })
    }
}

impl Words<'_> {
    /// Returns whether the text of a literal evaluates to true.
    pub(super) fn meaning(&mut self, program: &Program, literal: &Literal) -> Lit {
        let Some(Shown { left, operator, right }) = Shown::new(literal) else { return Lit::FALSE };
        let (left, left_fails) = self.evaluate(program, &left);
        let (right, right_fails) = self.evaluate(program, &right);
        let circuit = &mut self.circuit;
        let truth = match operator {
            "==" => circuit.equal_words(&left, &right),
            "!=" => !circuit.equal_words(&left, &right),
            "<=" => circuit.at_most(&left, &right),
            ">=" => circuit.at_most(&right, &left),
            "<" => circuit.less(&left, &right),
            _ => circuit.less(&right, &left),
        };
        circuit.all(&[truth, !left_fails, !right_fails])
    }

    /// Returns the value of a sum as it is written, and whether computing it fails.
    fn evaluate(&mut self, program: &Program, sum: &Sum) -> (Word, Lit) {
        let mut total: Option<Word> = None;
        let mut fails = Vec::new();
        for (product, factor) in &sum.terms {
            // A sign in front of the first term belongs to its factor.
            let negative = *factor < 0;
            let size = if total.is_none() { *factor } else { factor.abs() };
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            let mut term = (size.abs() != 1).then(|| Word::integer(size));
            for &id in product {
                let word = self.word(&Poly::opaque(id));
                fails.push(self.reading_fails(program, id));
                term = Some(match term {
                    None => word,
                    Some(so_far) => {
                        let (word, overflow) = self.circuit.multiply(&so_far, &word);
                        fails.push(overflow);
                        word
                    }
                });
            }
            let term = term.unwrap_or_else(|| Word::integer(1));
            let (word, overflow) = match (total, negative) {
                (None, true) if size == -1 => self.circuit.negate(&term),
                (None, _) => (term, Lit::FALSE),
                (Some(total), false) => self.circuit.add(&total, &term),
                (Some(total), true) => self.circuit.subtract(&total, &term),
            };
            fails.push(overflow);
            total = Some(word);
        }
        let constant = i32::try_from(sum.constant).unwrap_or(i32::MAX);
        let (word, overflow) = match total {
            None => (Word::integer(constant), Lit::FALSE),
            Some(total) if constant >= 0 => self.circuit.add(&total, &Word::integer(constant)),
            Some(total) => {
                self.circuit.subtract(&total, &Word::integer(constant.checked_neg().unwrap_or(0)))
            }
        };
        fails.push(overflow);
        (word, self.circuit.any(&fails))
    }

    fn computing_fails(&mut self, program: &Program, poly: &Poly) -> Lit {
        self.evaluate(program, &Sum::of(poly)).1
    }

    /// Returns whether a term cannot be read: an index is out of range, a key is missing.
    fn reading_fails(&mut self, program: &Program, id: OpaqueId) -> Lit {
        let mut fails = Vec::new();
        let opaque = self.terms.get(id).clone();
        match &opaque {
            Opaque::Variable(place) | Opaque::Length(place) => {
                fails.push(self.place_fails(program, place));
            }
            Opaque::Has(place, key) | Opaque::Contains(place, key) => {
                fails.push(self.place_fails(program, place));
                fails.push(self.computing_fails(program, key));
            }
            Opaque::Item(place, key) => {
                fails.push(self.place_fails(program, place));
                fails.push(self.computing_fails(program, key));
                fails.push(self.item_is_missing(program, place, key));
            }
            Opaque::Quotient(a, b) | Opaque::Remainder(a, b) => {
                fails.push(self.computing_fails(program, a));
                fails.push(self.computing_fails(program, b));
                let (left, right) = (self.word(a), self.word(b));
                fails.push(self.divide(&left, &right).2);
                fails.push(self.circuit.is(&right, 0));
            }
            Opaque::Local(..) | Opaque::Own(_) | Opaque::Spawned(..) | Opaque::Output(..) => {}
        }
        self.circuit.any(&fails)
    }

    fn place_fails(&mut self, program: &Program, place: &Place) -> Lit {
        let dims = program.globals[place.global.index()].dims.clone();
        let mut fails = Vec::new();
        for (index, size) in place.index.iter().zip(dims) {
            fails.push(self.computing_fails(program, index));
            let word = self.word(index);
            let size = Word::integer(i32::try_from(size).unwrap_or(i32::MAX));
            fails.push(word.sign());
            fails.push(!self.circuit.less(&word, &size));
        }
        self.circuit.any(&fails)
    }

    fn item_is_missing(&mut self, program: &Program, place: &Place, key: &Poly) -> Lit {
        if matches!(program.globals[place.global.index()].kind, GlobalKind::Map { .. }) {
            let has = self.opaque(Opaque::Has(place.clone(), key.clone()), Type::Bool);
            return !self.truth(&has);
        }
        let length = self.opaque(Opaque::Length(place.clone()), Type::Int);
        let before = self.less(key, &Poly::constant(0));
        let behind = !self.less(key, &length);
        self.circuit.or(before, behind)
    }
}
