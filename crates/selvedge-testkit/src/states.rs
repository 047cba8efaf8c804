//! The states in which a program can end, by a search of its state graph; and a system that knows exactly
//! when steps commute.
//!
//! The search knows nothing of traces or dependence: it takes every step in every state, and continues from
//! a state once.

use std::collections::BTreeSet;

use selvedge_core::{
    Ahead, Commutation, Conditions, Effect, Ending, Fault, Holding, MayAccess, ObjectId, Place,
    Report, StateKey, States, Status, Step, System, ThreadId, Violation, ViolationKind,
    forward_system,
};
use selvedge_explore::Observer;

/// How a program can end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcomes {
    /// The final states.
    pub states: BTreeSet<(StateKey, Ending)>,
    /// What can go wrong, and where.
    pub violations: BTreeSet<(ViolationKind, Vec<Place>)>,
}

impl Outcomes {
    fn note(&mut self, violation: &Violation) {
        let mut places = violation.places.clone();
        places.sort();
        self.violations.insert((violation.kind, places));
    }
}

/// Collects the final states that an explorer sees.
impl Observer for Outcomes {
    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.states.insert((conditions.state(), ending));
    }
}

impl Outcomes {
    /// With the violations that the explorer reported.
    #[must_use]
    pub fn with(mut self, report: &Report) -> Self {
        for (violation, _) in &report.violations {
            self.note(violation);
        }
        self
    }
}

/// Every way in which the program can end. `None` if it has more than `most` states.
pub fn search_states<S: System>(system: &mut S, most: usize) -> Option<Outcomes> {
    let mut outcomes = Outcomes::default();
    let mut seen = BTreeSet::new();
    let mut path: Vec<(Vec<Step>, usize)> = Vec::new();
    let mut taken: Vec<Step> = Vec::new();
    let mut effect = Effect::default();
    system.restart();
    loop {
        let new = seen.insert(name(system));
        if seen.len() > most {
            return None;
        }
        let steps = if new { enabled(system) } else { Vec::new() };
        if new && steps.is_empty() {
            let (ending, violation) = system.end();
            outcomes.states.insert((name(system), ending));
            violation.iter().for_each(|violation| outcomes.note(violation));
        }
        path.push((steps, 0));
        loop {
            let Some((steps, next)) = path.last_mut() else { return Some(outcomes) };
            if let Some(&step) = steps.get(*next) {
                *next += 1;
                system.step(step, &mut effect);
                taken.push(step);
                if let Some(Fault::Violation(violation)) = &effect.fault {
                    outcomes.note(violation);
                }
                break;
            }
            path.pop();
            taken.pop();
            system.rewind(&taken);
        }
    }
}

fn name<S: System>(system: &mut S) -> StateKey {
    system.conditions().expect("the system can name its states").state()
}

fn enabled<S: System>(system: &S) -> Vec<Step> {
    (0..system.thread_count())
        .map(ThreadId::new)
        .filter(|&thread| system.status(thread) == Status::Enabled)
        .flat_map(|thread| (0..system.choices(thread)).map(move |choice| Step { thread, choice }))
        .collect()
}

/// A system with the best constraint of all: it holds exactly where two steps commute, and looks at
/// what they touch in either order.
pub struct Exact<S> {
    system: S,
    taken: Vec<Step>,
}

impl<S: System> Exact<S> {
    /// The same program.
    pub fn new(system: S) -> Self {
        Self { system, taken: Vec::new() }
    }

    fn inner(&mut self) -> &mut dyn Conditions {
        self.system.conditions().expect("the system can name its states")
    }

    /// What two steps touch in this order.
    fn touched(&mut self, order: [Step; 2], objects: &mut Vec<ObjectId>) {
        let mut effect = Effect::default();
        for step in order {
            self.system.step(step, &mut effect);
            objects.extend(effect.footprint.accesses().iter().map(|access| access.object));
        }
        self.system.rewind(&self.taken);
    }
}

impl<S: System> System for Exact<S> {
    forward_system! { self => self.system;
        thread_count thread_key object_key status choices pending obstacles end freed values judging foresight promises
    }

    fn restart(&mut self) {
        self.taken.clear();
        self.system.restart();
    }

    fn rewind(&mut self, kept: &[Step]) {
        self.taken.truncate(kept.len());
        self.system.rewind(kept);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.taken.push(step);
        self.system.step(step, effect);
    }

    /// One at a time: each has to be recorded.
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }

    fn conditions(&mut self) -> Option<&mut dyn Conditions> {
        Some(self)
    }

    /// None: the steps that lead to a state have to be known.
    fn states(&mut self) -> Option<&mut dyn States> {
        None
    }
}

impl<S: System> Conditions for Exact<S> {
    fn try_both_orders(&mut self, first: Step, second: Step) -> Commutation {
        self.inner().try_both_orders(first, second)
    }

    fn constraints(&mut self, first: ThreadId, second: ThreadId) -> Vec<Holding> {
        let [first, second] = [first, second].map(Step::of);
        let choices = |step: Step| self.system.choices(step.thread);
        if choices(first) > 1 || choices(second) > 1 {
            return Vec::new();
        }
        if !self.inner().try_both_orders(first, second).same {
            return Vec::new();
        }
        let mut reads = Vec::new();
        self.touched([first, second], &mut reads);
        self.touched([second, first], &mut reads);
        vec![Holding { constraint: 0, reads }]
    }

    fn name_of(&self, object: ObjectId) -> String {
        format!("object {}", object.number())
    }

    fn refute(&mut self, _: &Holding, _: ThreadId, _: ThreadId) -> Option<Violation> {
        None
    }

    fn is_steady(&mut self, thread: ThreadId) -> bool {
        self.inner().is_steady(thread)
    }

    fn may_access(&mut self, thread: ThreadId) -> std::sync::Arc<MayAccess> {
        self.inner().may_access(thread)
    }

    fn state(&mut self) -> StateKey {
        self.inner().state()
    }
}
