//! Collects the classes of the executions that an explorer visits.

use std::collections::BTreeMap;

use selvedge_core::{Ending, Execution, Schedule, TraceKey};
use selvedge_explore::Observer;

/// What was seen of one class.
#[derive(Clone, Debug)]
pub struct Class {
    /// How many executions of it were visited.
    pub times: u64,
    /// How they end.
    pub ending: Ending,
    /// The first of them.
    pub example: Schedule,
}

/// All classes that were visited.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// By name.
    pub found: BTreeMap<TraceKey, Class>,
    /// Two executions of one class that end in different ways: the classes are wrong, because a
    /// footprint does not tell all.
    pub contradiction: Option<(Schedule, Schedule)>,
}

impl Classes {
    /// How many classes end like this.
    pub fn ending_in(&self, ending: Ending) -> u64 {
        self.found.values().filter(|class| class.ending == ending).count() as u64
    }
}

impl Observer for Classes {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        let schedule = || Schedule { steps: execution.steps().to_vec() };
        let class = self.found.entry(TraceKey::of(execution)).or_insert_with(|| Class {
            times: 0,
            ending,
            example: schedule(),
        });
        class.times += 1;
        if class.ending != ending && self.contradiction.is_none() {
            self.contradiction = Some((class.example.clone(), schedule()));
        }
    }
}
