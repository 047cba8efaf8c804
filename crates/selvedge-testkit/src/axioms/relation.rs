//! Sets of events and relations on them, as bits.

use std::ops::{BitAnd, BitOr, Not};

/// How many events an execution can have, the initial writes included.
pub const MOST_EVENTS: usize = 32;

/// A set of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Set(pub(super) u32);

impl Set {
    /// The set of one event.
    pub(super) fn of(event: usize) -> Self {
        Set(1 << event)
    }

    pub(super) fn has(self, event: usize) -> bool {
        self.0 >> event & 1 == 1
    }

    pub(super) fn insert(&mut self, event: usize) {
        self.0 |= 1 << event;
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its events, the first ones first.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..MOST_EVENTS).filter(move |&event| self.has(event))
    }
}

impl BitOr for Set {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Set(self.0 | other.0)
    }
}

impl BitAnd for Set {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Set(self.0 & other.0)
    }
}

/// A relation: row `a` has bit `b` if `a` is related to `b`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Relation([u32; MOST_EVENTS]);

impl Relation {
    /// No pair.
    pub(super) const EMPTY: Relation = Relation([0; MOST_EVENTS]);

    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.0[from] |= 1 << to;
    }

    #[cfg(test)]
    fn has(&self, from: usize, to: usize) -> bool {
        self.0[from] >> to & 1 == 1
    }

    /// What `from` is related to.
    pub(super) fn row(&self, from: usize) -> Set {
        Set(self.0[from])
    }

    /// The relation with other rows.
    pub(super) fn map_rows(mut self, change: impl Fn(usize, Set) -> Set) -> Self {
        for (event, row) in self.0.iter_mut().enumerate() {
            *row = change(event, Set(*row)).0;
        }
        self
    }

    /// `[set]`: each of its events, related to itself.
    pub(super) fn identity(set: Set) -> Self {
        let mut all = Self::EMPTY;
        for event in set.iter() {
            all.add(event, event);
        }
        all
    }

    /// `self ; other`.
    pub(super) fn then(&self, other: &Self) -> Self {
        let mut all = Self::EMPTY;
        for middle in 0..MOST_EVENTS {
            let row = other.0[middle];
            if row == 0 {
                continue;
            }
            for (result, from) in all.0.iter_mut().zip(&self.0) {
                // All ones if the bit is there: no branch.
                *result |= row & (from >> middle & 1).wrapping_neg();
            }
        }
        all
    }

    /// `self ; [set]`.
    pub(super) fn ending_in(mut self, set: Set) -> Self {
        for row in &mut self.0 {
            *row &= set.0;
        }
        self
    }

    /// `[set] ; self`.
    pub(super) fn starting_in(mut self, set: Set) -> Self {
        for (event, row) in self.0.iter_mut().enumerate() {
            *row &= (set.0 >> event & 1).wrapping_neg();
        }
        self
    }

    /// `self⁺`.
    pub(super) fn closure(mut self) -> Self {
        for middle in 0..MOST_EVENTS {
            let row = self.0[middle];
            if row == 0 {
                continue;
            }
            for from in &mut self.0 {
                *from |= row & (*from >> middle & 1).wrapping_neg();
            }
        }
        self
    }

    /// `self?`: every event is also related to itself.
    pub(super) fn or_same(mut self) -> Self {
        for (event, row) in self.0.iter_mut().enumerate() {
            *row |= 1 << event;
        }
        self
    }

    /// `self⁻¹`.
    pub(super) fn inverse(&self) -> Self {
        let mut all = Self::EMPTY;
        for from in 0..MOST_EVENTS {
            for to in self.row(from).iter() {
                all.add(to, from);
            }
        }
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; MOST_EVENTS]
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        self.0.iter().enumerate().all(|(event, row)| row >> event & 1 == 0)
    }

    pub(super) fn is_acyclic(self) -> bool {
        self.closure().is_irreflexive()
    }
}

impl BitOr for Relation {
    type Output = Self;

    fn bitor(mut self, other: Self) -> Self {
        for (row, other) in self.0.iter_mut().zip(other.0) {
            *row |= other;
        }
        self
    }
}

impl BitAnd for Relation {
    type Output = Self;

    fn bitand(mut self, other: Self) -> Self {
        for (row, other) in self.0.iter_mut().zip(other.0) {
            *row &= other;
        }
        self
    }
}

impl Not for Relation {
    type Output = Self;

    fn not(mut self) -> Self {
        for row in &mut self.0 {
            *row = !*row;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn random_relation(random: &mut Random) -> Relation {
        let mut all = Relation::EMPTY;
        for _ in 0..random.below(40) {
            all.add(random.below(8), random.below(8));
        }
        all
    }

    fn pairs() -> impl Iterator<Item = (usize, usize)> {
        (0..8).flat_map(|a| (0..8).map(move |b| (a, b)))
    }

    #[test]
    fn operations_are_those_of_their_definitions() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let (a, b) = (random_relation(&mut random), random_relation(&mut random));
            let set = Set(random.below(256) as u32);
            let mut steps = a;
            for _ in 0..8 {
                steps = steps | steps.then(&a);
            }
            assert_eq!(a.closure(), steps);
            assert_eq!(a.is_acyclic(), steps.is_irreflexive());
            for (x, y) in pairs() {
                let is_joined = (0..8).any(|z| a.has(x, z) && b.has(z, y));
                assert_eq!(a.then(&b).has(x, y), is_joined);
                assert_eq!(a.inverse().has(y, x), a.has(x, y));
                assert_eq!((a | b).has(x, y), a.has(x, y) || b.has(x, y));
                assert_eq!((a & !b).has(x, y), a.has(x, y) && !b.has(x, y));
                assert_eq!(a.ending_in(set).has(x, y), a.has(x, y) && set.has(y));
                assert_eq!(a.starting_in(set).has(x, y), a.has(x, y) && set.has(x));
                assert_eq!(Relation::identity(set).has(x, y), x == y && set.has(x));
                assert_eq!(a.or_same().has(x, y), x == y || a.has(x, y));
            }
        }
    }
}
