//! Terms: polynomials over what two blocks find when they start.
//!
//! A [`Poly`] stands for a number modulo 2³². Sums and products of the language agree with it
//! whether or not they overflow, so terms that are equal as polynomials are equal as values:
//! associativity and commutativity need no solver.

use std::collections::BTreeMap;

use selvedge_lang::ir::{GlobalId, Label, ProcedureId, Slot, Type};

/// One of the two blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Side {
    First,
    Second,
}

impl Side {
    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn other(self) -> Self {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// Something that arithmetic does not look into: an index into [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct OpaqueId(u32);

impl OpaqueId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What terms are made of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Opaque {
    /// A local variable of a block when it starts.
    Local(Side, Slot),
    /// The handle of the thread that runs a block.
    Own(Side),
    /// The handle of the n-th thread that a block spawns.
    Spawned(Side, u32),
    /// A variable, or the count of a semaphore.
    Variable(Place),
    /// The length of a list or map.
    Length(Place),
    /// An element of a list, or the value of a map for a key.
    Item(Place, Poly),
    /// Whether a map has a key.
    Has(Place, Poly),
    /// Whether a list contains a value.
    Contains(Place, Poly),
    /// `a / b`.
    Quotient(Poly, Poly),
    /// `a % b`.
    Remainder(Poly, Poly),
    /// What a loop gives: an uninterpreted function of what the loop reads.
    Output(CallId, Output),
}

/// One object: an element of what is declared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) global: GlobalId,
    /// The loop that last changed it as a whole, if one did.
    pub(super) after: Option<CallId>,
    /// One per dimension.
    pub(super) index: Index,
}

/// Which element: one term per dimension.
pub(super) type Index = Vec<Poly>;

/// One run of a loop that is not looked into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct CallId(u32);

impl CallId {
    pub(super) fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A loop: where it starts.
pub(super) type LoopId = (ProcedureId, Label);

/// The result of a loop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Output {
    /// A local variable.
    Slot(Slot),
    /// Whether it fails.
    Fails,
}

/// Sorted products, each with how often it counts (never 0). The empty product is 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Poly {
    pub(super) terms: Vec<(Vec<OpaqueId>, i32)>,
}

impl Poly {
    pub(super) fn constant(value: i32) -> Self {
        let terms = if value == 0 { Vec::new() } else { vec![(Vec::new(), value)] };
        Self { terms }
    }

    pub(super) fn opaque(id: OpaqueId) -> Self {
        Self { terms: vec![(vec![id], 1)] }
    }

    /// Returns its value, if it is known.
    pub(super) fn as_constant(&self) -> Option<i32> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(product, value)] if product.is_empty() => Some(*value),
            _ => None,
        }
    }

    fn collect(terms: impl Iterator<Item = (Vec<OpaqueId>, i32)>) -> Self {
        let mut sums: BTreeMap<Vec<OpaqueId>, i32> = BTreeMap::new();
        for (product, factor) in terms {
            let sum = sums.entry(product).or_insert(0);
            *sum = sum.wrapping_add(factor);
        }
        Self { terms: sums.into_iter().filter(|(_, factor)| *factor != 0).collect() }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self::collect(self.terms.iter().chain(&other.terms).cloned())
    }

    pub(super) fn times_constant(&self, factor: i32) -> Self {
        let scaled =
            self.terms.iter().map(|(product, f)| (product.clone(), f.wrapping_mul(factor)));
        Self::collect(scaled)
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.times_constant(-1))
    }

    /// `None` if it would have more than `parts` parts, and be too long to be of use.
    pub(super) fn times(&self, other: &Self, parts: usize) -> Option<Self> {
        if self.terms.len() * other.terms.len() > parts {
            return None;
        }
        let products = self.terms.iter().flat_map(|(a, f)| {
            other.terms.iter().map(move |(b, g)| {
                let mut product: Vec<OpaqueId> = a.iter().chain(b).copied().collect();
                product.sort_unstable();
                (product, f.wrapping_mul(*g))
            })
        });
        Some(Self::collect(products))
    }

    /// Everything it is made of, without what that is made of.
    pub(super) fn opaques(&self) -> impl Iterator<Item = OpaqueId> + '_ {
        self.terms.iter().flat_map(|(product, _)| product.iter().copied())
    }

    /// Returns two sums that are equal exactly if it is 0, without negative factors where possible.
    pub(super) fn balanced(&self) -> (Self, Self) {
        let positive = self.terms.iter().filter(|(_, f)| *f > 0).cloned();
        let negative = self.terms.iter().filter(|(_, f)| *f < 0);
        let negative = negative.map(|(product, f)| (product.clone(), f.wrapping_neg()));
        (Self::collect(positive), Self::collect(negative))
    }
}

/// All opaque terms, each once.
#[derive(Default)]
pub(super) struct Terms {
    list: Vec<(Opaque, Type)>,
    ids: BTreeMap<Opaque, OpaqueId>,
}

impl Terms {
    pub(super) fn get(&self, id: OpaqueId) -> &Opaque {
        &self.list[id.index()].0
    }

    pub(super) fn ty(&self, id: OpaqueId) -> Type {
        self.list[id.index()].1
    }

    /// Returns its number; `Err` if it is new.
    pub(super) fn add(&mut self, opaque: Opaque, ty: Type) -> Result<OpaqueId, OpaqueId> {
        if let Some(&id) = self.ids.get(&opaque) {
            return Ok(id);
        }
        let id = OpaqueId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        self.list.push((opaque.clone(), ty));
        self.ids.insert(opaque, id);
        Err(id)
    }

    /// Returns all of them, in the order in which they came up.
    pub(super) fn all(&self) -> impl Iterator<Item = (OpaqueId, &Opaque)> {
        (0..).map(OpaqueId).zip(self.list.iter().map(|(opaque, _)| opaque))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_have_one_form() {
        let [x, y, z] = [0, 1, 2].map(|id| Poly::opaque(OpaqueId(id)));
        let left = x.plus(&y).times(&z, 2).expect("two parts");
        let right = z.times(&y, 1).expect("one").plus(&x.times(&z, 1).expect("one"));
        assert_eq!(left, right);
        assert_eq!(x.plus(&y).minus(&y), x);
        assert_eq!(x.minus(&x).as_constant(), Some(0));
        assert_eq!(Poly::constant(i32::MAX).plus(&Poly::constant(1)).as_constant(), Some(i32::MIN));
    }
}
