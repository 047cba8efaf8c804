//! Independence constraints that are synthesised when a search first meets two blocks that race.
//!
//! Most pairs of blocks of a program never race, or do so only where both orders are explored anyway. So the solver is
//! asked about a pair when the search asks, once for all systems that a check makes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::Budget;
use selvedge_lang::FindConstraints;
use selvedge_lang::ir::{AtomicId, Program};
use selvedge_symbolic::constraints::{GiveUp, synthesise};
use selvedge_symbolic::{Caps, Values};

use crate::constraints::{self, because};

/// What a program is compiled from.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) constants: Vec<(String, i64)>,
}

pub(crate) struct OnDemand {
    from: Text,
    program: Arc<Program>,
    values: OnceLock<Values>,
    /// All pairs together.
    budget: Budget,
    known: Mutex<Known>,
}

/// What was asked so far.
#[derive(Clone, Default)]
pub(crate) struct Known {
    programs: BTreeMap<(AtomicId, AtomicId), Option<Arc<Program>>>,
    /// How many constraints were found.
    pub(crate) found: usize,
    /// How long that took.
    pub(crate) time: Duration,
    /// The pairs that were given up, and why.
    pub(crate) given_up: Vec<String>,
}

impl OnDemand {
    pub(crate) fn new(from: Text, program: Arc<Program>, budget: &Budget) -> Self {
        let budget = budget.with_work(constraints::TOTAL_WORK);
        let known = Mutex::new(Known::default());
        Self { from, program, values: OnceLock::new(), budget, known }
    }

    /// Returns what was found so far.
    pub(crate) fn so_far(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn synthesise(&self, pair: (AtomicId, AtomicId), known: &mut Known) -> Option<Arc<Program>> {
        let caps = Caps::default();
        let values = self.values.get_or_init(|| Values::of(&self.program, &caps));
        let budget = self.budget.with_work(constraints::WORK);
        let synthesis = synthesise(&self.program, pair, values, &caps, &budget);
        if let Err(reason) = &synthesis.found
            && *reason != GiveUp::NoName
        {
            let [first, second] = &synthesis.heads;
            known.given_up.push(format!("{first}, {second}: {}", because(reason)));
        }
        let text = synthesis.declarations();
        if text.is_empty() {
            return None;
        }
        let added = selvedge_lang::Additions { name: "the synthesised constraints", text: &text };
        let Text { name, text, constants } = &self.from;
        let compiled = selvedge_lang::compile_with(name, text, constants, Some(added));
        let program =
            compiled.expect("internal error: a synthesised constraint is refused").program;
        known.found += program.independence.len() - self.program.independence.len();
        let mut alone = Program::clone(&program);
        // The others are those of the program itself.
        alone.independence.drain(..self.program.independence.len());
        Some(Arc::new(alone))
    }
}

impl FindConstraints for OnDemand {
    fn find(&self, first: AtomicId, second: AtomicId) -> Option<Arc<Program>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = known.programs.get(&(first, second)) {
            return program.clone();
        }
        let started = Instant::now();
        let program = self.synthesise((first, second), &mut known);
        known.time += started.elapsed();
        known.programs.insert((first, second), program.clone());
        program
    }
}
