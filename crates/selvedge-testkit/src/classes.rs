//! Collects the classes of the executions that an explorer visits.

use std::collections::BTreeMap;

use selvedge_core::{Conditions, Ending, Execution, ObservationKey, Schedule, StateKey, TraceKey};
use selvedge_explore::{Equivalence, Observer};

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
    /// Traces, by name.
    pub traces: BTreeMap<TraceKey, Class>,
    /// Observation classes, by name.
    pub observations: BTreeMap<ObservationKey, Class>,
    /// Final states, by name.
    pub states: BTreeMap<StateKey, Class>,
    /// Two executions of one class that end in different ways: the classes are wrong, because a
    /// footprint does not tell all.
    pub contradiction: Option<(Schedule, Schedule)>,
    /// The execution that was seen last, if states are collected.
    last: Schedule,
    /// Only the classes of this equivalence are collected; `None`: all.
    only: Option<Equivalence>,
}

impl Classes {
    /// Collects only the classes of this equivalence: naming the others takes time.
    pub fn only(equivalence: Equivalence) -> Self {
        Self { only: Some(equivalence), ..Self::default() }
    }

    fn collects(&self, equivalence: Equivalence) -> bool {
        self.only.is_none_or(|only| only == equivalence)
    }

    /// How many classes of all kinds were collected.
    pub fn len(&self) -> usize {
        self.traces.len() + self.observations.len() + self.states.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many traces end like this.
    pub fn ending_in(&self, ending: Ending) -> u64 {
        self.traces.values().filter(|class| class.ending == ending).count() as u64
    }
}

impl Observer for Classes {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        let schedule = || Schedule::from(execution.steps().to_vec());
        let mut other = None;
        if self.collects(Equivalence::Mazurkiewicz) {
            other = note(&mut self.traces, TraceKey::of(execution), ending, schedule);
        }
        if self.collects(Equivalence::Observation) {
            let key = ObservationKey::of(execution);
            other = note(&mut self.observations, key, ending, schedule).or(other);
        }
        if self.contradiction.is_none() {
            self.contradiction = other.map(|other| (other, schedule()));
        }
        if self.collects(Equivalence::State) {
            self.last = schedule();
        }
    }

    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        if self.collects(Equivalence::State) {
            note(&mut self.states, conditions.state(), ending, || self.last.clone());
        }
    }
}

/// Notes an execution of a class. Returns another one that ends differently, if there was one.
fn note<K: Ord>(
    classes: &mut BTreeMap<K, Class>,
    key: K,
    ending: Ending,
    schedule: impl Fn() -> Schedule,
) -> Option<Schedule> {
    let new = || Class { times: 0, ending, example: schedule() };
    let class = classes.entry(key).or_insert_with(new);
    class.times += 1;
    (class.ending != ending).then(|| class.example.clone())
}
