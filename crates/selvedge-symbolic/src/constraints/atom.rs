//! Atoms: comparisons of linear forms with a number, each in one form whatever it came from.

use std::collections::BTreeSet;

use selvedge_lang::ir::GlobalId;

use super::run::{Comparison, Relation};
use super::term::{Opaque, OpaqueId, Poly, Terms};

/// A sum of products, without a constant: `x - z`.
pub(super) type Form = Vec<(Vec<OpaqueId>, i64)>;

/// `form == bound` or `form <= bound`. The first factor of the form is positive, and the factors
/// have no common divisor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Atom {
    pub(super) form: Form,
    pub(super) relation: AtomRelation,
    pub(super) bound: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AtomRelation {
    Equal,
    AtMost,
}

/// An atom or its opposite.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Literal {
    /// A comparison, true or false.
    Compared(Atom, bool),
    /// This sum can be computed without overflow.
    Fits(Form, i64),
}

/// How terms are ordered in a form, so that it reads well: by name.
pub(super) type Order<'o> = &'o dyn Fn(&[OpaqueId]) -> (u8, String);

/// Returns the literal that a comparison is when it is true; `None` if it is always true or false.
pub(super) fn literal(comparison: &Comparison, order: Order<'_>) -> Option<Literal> {
    let (relation, left, right) = comparison;
    let (form, constant) = parts(&left.minus(right), order);
    let (relation, mut bound) = match relation {
        Relation::Equal => (AtomRelation::Equal, -constant),
        // `form + constant < 0`.
        Relation::Less => (AtomRelation::AtMost, -constant - 1),
    };
    let divisor = form.iter().fold(0, |divisor, (_, factor)| common_divisor(divisor, *factor));
    if divisor == 0 {
        return None;
    }
    let flip = form[0].1 < 0;
    let scaled = |sign: i64| form.iter().map(|(p, f)| (p.clone(), sign * f / divisor)).collect();
    match relation {
        AtomRelation::Equal if bound % divisor != 0 => None,
        AtomRelation::Equal => {
            bound /= divisor;
            let (form, bound) = if flip { (scaled(-1), -bound) } else { (scaled(1), bound) };
            Some(Literal::Compared(Atom { form, relation, bound }, true))
        }
        AtomRelation::AtMost => {
            bound = bound.div_euclid(divisor);
            // `-form <= bound` is not `form <= -bound - 1`.
            let (form, bound) = if flip { (scaled(-1), -bound - 1) } else { (scaled(1), bound) };
            Some(Literal::Compared(Atom { form, relation, bound }, !flip))
        }
    }
}

/// Returns what must hold so that a result fits into 32 bits.
pub(super) fn fits(result: &Poly, order: Order<'_>) -> Vec<Literal> {
    let (form, constant) = parts(result, order);
    let [(product, factor)] = form.as_slice() else {
        return vec![Literal::Fits(form, constant)];
    };
    if product.len() > 1 {
        return vec![Literal::Fits(form, constant)];
    }
    // One variable: bounds for it.
    let (low, high) = (i64::from(i32::MIN) - constant, i64::from(i32::MAX) - constant);
    let (low, high) = if *factor > 0 { (low, high) } else { (-high, -low) };
    let factor = factor.abs();
    let form = vec![(product.clone(), 1)];
    let at_most = |bound: i64| Atom { form: form.clone(), relation: AtomRelation::AtMost, bound };
    let (least, most) = (-(-low).div_euclid(factor), high.div_euclid(factor));
    let mut literals = Vec::new();
    if most < i64::from(i32::MAX) {
        literals.push(Literal::Compared(at_most(most), true));
    }
    if least > i64::from(i32::MIN) {
        literals.push(Literal::Compared(at_most(least - 1), false));
    }
    literals
}

fn parts(poly: &Poly, order: Order<'_>) -> (Form, i64) {
    let mut constant = 0;
    let mut form = Form::new();
    for (product, factor) in &poly.terms {
        match product.as_slice() {
            [] => constant = i64::from(*factor),
            _ => form.push((product.clone(), i64::from(*factor))),
        }
    }
    form.sort_by_key(|(product, _)| order(product));
    (form, constant)
}

fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { common_divisor(b, a % b) }
}

impl Literal {
    fn form(&self) -> &Form {
        match self {
            Literal::Compared(atom, _) => &atom.form,
            Literal::Fits(form, _) => form,
        }
    }

    /// Returns the shared objects that it reads.
    pub(super) fn globals(&self, terms: &Terms) -> BTreeSet<GlobalId> {
        let mut found = BTreeSet::new();
        for (product, _) in self.form() {
            product.iter().for_each(|&id| collect(terms, id, &mut found));
        }
        found
    }

    pub(super) fn negated(&self) -> Option<Self> {
        match self {
            Literal::Compared(atom, truth) => Some(Literal::Compared(atom.clone(), !truth)),
            Literal::Fits(..) => None,
        }
    }

    /// Returns whether it is a `!=`.
    pub(super) fn is_inequality(&self) -> bool {
        matches!(self, Literal::Compared(Atom { relation: AtomRelation::Equal, .. }, false))
    }

    /// Returns whether it is a `==`.
    pub(super) fn is_equality(&self) -> bool {
        matches!(self, Literal::Compared(Atom { relation: AtomRelation::Equal, .. }, true))
    }
}

fn collect(terms: &Terms, id: OpaqueId, found: &mut BTreeSet<GlobalId>) {
    let inner = |poly: &Poly, found: &mut BTreeSet<GlobalId>| {
        poly.opaques().for_each(|id| collect(terms, id, found));
    };
    match terms.get(id) {
        Opaque::Local(..) | Opaque::Own(_) | Opaque::Spawned(..) | Opaque::Output(..) => {}
        Opaque::Variable(place) | Opaque::Length(place) => {
            found.insert(place.global);
            place.index.iter().for_each(|index| inner(index, found));
        }
        Opaque::Item(place, key) | Opaque::Has(place, key) | Opaque::Contains(place, key) => {
            found.insert(place.global);
            place.index.iter().for_each(|index| inner(index, found));
            inner(key, found);
        }
        Opaque::Quotient(a, b) | Opaque::Remainder(a, b) => {
            inner(a, found);
            inner(b, found);
        }
    }
}

/// Simplifies a conjunction on intervals: `z < 0 && z >= -1` is `z == -1`.
pub(super) fn simplified(literals: &[Literal]) -> Vec<Literal> {
    let mut result: Vec<Literal> = Vec::new();
    for literal in literals {
        let Literal::Compared(atom, _) = literal else {
            result.push(literal.clone());
            continue;
        };
        let known = result.iter().any(|other| other.form() == &atom.form);
        if known {
            continue;
        }
        let same = literals.iter().filter_map(|other| match other {
            Literal::Compared(other, truth) if other.form == atom.form => Some((other, *truth)),
            _ => None,
        });
        result.extend(interval(&atom.form, same));
    }
    result
}

fn interval<'l>(form: &Form, literals: impl Iterator<Item = (&'l Atom, bool)>) -> Vec<Literal> {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    let mut holes = BTreeSet::new();
    for (atom, truth) in literals {
        match (atom.relation, truth) {
            (AtomRelation::Equal, true) => {
                (low, high) = (low.max(atom.bound), high.min(atom.bound))
            }
            (AtomRelation::Equal, false) => {
                holes.insert(atom.bound);
            }
            (AtomRelation::AtMost, true) => high = high.min(atom.bound),
            (AtomRelation::AtMost, false) => low = low.max(atom.bound + 1),
        }
    }
    while holes.remove(&low) {
        low += 1;
    }
    while holes.remove(&high) {
        high -= 1;
    }
    let atom = |relation, bound| Atom { form: form.clone(), relation, bound };
    let mut result = Vec::new();
    if low == high {
        return vec![Literal::Compared(atom(AtomRelation::Equal, low), true)];
    }
    if low != i64::MIN {
        result.push(Literal::Compared(atom(AtomRelation::AtMost, low - 1), false));
    }
    if high != i64::MAX {
        result.push(Literal::Compared(atom(AtomRelation::AtMost, high), true));
    }
    let inside = holes.into_iter().filter(|&hole| low < hole && hole < high);
    result.extend(inside.map(|hole| Literal::Compared(atom(AtomRelation::Equal, hole), false)));
    result
}
