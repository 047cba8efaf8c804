//! The constraints of each pair of sections: those of the program, and those that are found when they are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::interpret::load::Loaded;
use crate::ir::{AtomicId, Independence, Program};

/// Finds constraints of two atomic sections that are about to run, when a search first meets the two.
pub trait FindConstraints: Send + Sync {
    /// Returns the same program with constraints of this pair and no others; `None` if there are none.
    ///
    /// Objects, sections and procedures must have the same numbers; what is added comes after them.
    fn find(&self, first: AtomicId, second: AtomicId) -> Option<Arc<Program>>;
}

/// Two sections, the smaller one first.
type Pair = (AtomicId, AtomicId);

pub(super) struct Known {
    of_pairs: BTreeMap<Pair, Vec<usize>>,
    /// By their numbers.
    all: Vec<Stated>,
    asked: BTreeSet<Pair>,
}

/// Where a constraint is stated.
struct Stated {
    /// The program with it, if it was found.
    found: Option<Arc<Loaded>>,
    index: usize,
}

impl Known {
    pub(super) fn of(program: &Program) -> Self {
        let mut known = Self { of_pairs: BTreeMap::new(), all: Vec::new(), asked: BTreeSet::new() };
        known.add(program, None);
        known
    }

    fn add(&mut self, program: &Program, found: Option<&Arc<Loaded>>) {
        for (index, independence) in program.independence.iter().enumerate() {
            let of_pair = self.of_pairs.entry(pair(independence.first, independence.second));
            of_pair.or_default().push(self.all.len());
            self.all.push(Stated { found: found.cloned(), index });
        }
    }

    /// Returns the numbers of the constraints of two sections.
    pub(super) fn of_pair(
        &mut self,
        a: AtomicId,
        b: AtomicId,
        finder: Option<&dyn FindConstraints>,
    ) -> Vec<usize> {
        let pair = pair(a, b);
        if let Some(finder) = finder
            && self.asked.insert(pair)
            && let Some(program) = finder.find(pair.0, pair.1)
        {
            let loaded = Arc::new(Loaded::new(Arc::clone(&program)));
            self.add(&program, Some(&loaded));
        }
        self.of_pairs.get(&pair).cloned().unwrap_or_default()
    }

    /// Returns a constraint, with the program that states it; `own` is the one that runs.
    pub(super) fn get<'k>(
        &'k self,
        number: usize,
        own: &'k Loaded,
    ) -> (&'k Loaded, &'k Independence) {
        let stated = &self.all[number];
        let loaded = stated.found.as_deref().unwrap_or(own);
        (loaded, &loaded.program.independence[stated.index])
    }
}

fn pair(a: AtomicId, b: AtomicId) -> Pair {
    (a.min(b), a.max(b))
}
