//! Which variable has the most values: what makes the states of a model too many.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};
use selvedge_core::States;

use super::store::Store;

/// So many states are looked at, evenly spaced: the memory may be nearly used up.
const SAMPLE: usize = 10_000;

/// The part of the state with the most distinct values.
pub(super) struct Growing {
    pub(super) name: String,
    pub(super) values: usize,
    /// In so many states.
    pub(super) of: usize,
}

/// Returns the part with the most values among the states that were reached; the first in the alphabet of several.
pub(super) fn growing(system: &mut dyn States, store: &Store) -> Option<Growing> {
    let mut values: BTreeMap<String, FxHashSet<u64>> = BTreeMap::new();
    let mut of = 0;
    for state in store.sample(SAMPLE) {
        system.restore(store.bytes(state));
        of += 1;
        system.parts(&mut |name, value| {
            let mut hasher = FxHasher::default();
            value.hash(&mut hasher);
            match values.get_mut(name) {
                Some(known) => known.insert(hasher.finish()),
                None => values.entry(name.to_owned()).or_default().insert(hasher.finish()),
            };
        });
    }
    let most = values.values().map(FxHashSet::len).max()?;
    let (name, _) = values.into_iter().find(|(_, values)| values.len() == most)?;
    Some(Growing { name, values: most, of })
}
