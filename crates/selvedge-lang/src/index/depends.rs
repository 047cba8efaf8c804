//! What a use of something shared depends on: the accesses of other threads that it does not commute with.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::{Mode, commute};

use super::{Access, Index, Place, SymbolId, SymbolKind, Use};

/// What a use depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependence<'i> {
    /// The uses of the same object that another thread may run and that do not commute with it.
    pub others: Vec<&'i Use>,
    /// Whether an `always` reads the object, so that a change depends on every change of what that reads.
    pub is_invariant: bool,
}

impl Index {
    /// Returns what an access depends on; `None` if the use is no access to something shared.
    ///
    /// It is about names: elements of an array are not told apart. What the threads really do is known when they run.
    pub fn dependence(&self, of: &Use) -> Option<Dependence<'_>> {
        let mode = of.access.mode?;
        let own = self.runners(of.place);
        // Many uses stand in the same code.
        let mut elsewhere = BTreeMap::new();
        let others = self.uses_of(of.symbol).filter(|other| {
            let Place::Body(body) = other.place else { return false };
            other.access.mode.is_some_and(|other| !commute(mode, other))
                && *elsewhere
                    .entry(body)
                    .or_insert_with(|| self.may_be_elsewhere(&own, other.place))
        });
        let invariant = self.uses_of(of.symbol).any(|other| other.place == Place::Always);
        let is_invariant = invariant && mode != Mode::Read;
        Some(Dependence { others: others.collect(), is_invariant })
    }

    /// Returns whether a thread other than the one that runs code of `own` may run other code.
    fn may_be_elsewhere(&self, own: &BTreeSet<SymbolId>, other: Place) -> bool {
        let runners = self.runners(other);
        runners.iter().any(|&runner| own.iter().any(|&mine| mine != runner || self.is_many(runner)))
    }

    /// Returns whether several threads run this code.
    fn is_many(&self, runner: SymbolId) -> bool {
        match self.symbol(runner).kind {
            SymbolKind::Thread { replicated } => {
                replicated && self.symbol(runner).threads.is_none_or(|threads| threads > 1)
            }
            // How often a routine is spawned is not known.
            _ => true,
        }
    }

    /// Returns what runs this code: threads, and routines that are spawned as threads.
    pub fn runners(&self, place: Place) -> BTreeSet<SymbolId> {
        let Place::Body(body) = place else { return BTreeSet::new() };
        let mut runners = BTreeSet::new();
        let mut seen = BTreeSet::from([body]);
        let mut todo = vec![body];
        while let Some(body) = todo.pop() {
            if matches!(self.symbol(body).kind, SymbolKind::Thread { .. }) {
                runners.insert(body);
                continue;
            }
            for call in self.uses_of(body) {
                match call.place {
                    Place::Body(_) if call.access == Access::SPAWNS => {
                        runners.insert(body);
                    }
                    Place::Body(caller) if call.access == Access::CALLS && seen.insert(caller) => {
                        todo.push(caller);
                    }
                    _ => {}
                }
            }
        }
        runners
    }
}
