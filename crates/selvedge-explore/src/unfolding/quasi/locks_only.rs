//! A program in which ordinary reads and writes do not interfere, as in the paper.
//!
//! That is right as long as synchronisation orders every two conflicting accesses: then it also
//! orders what they read. So each execution that comes to its end is searched for data races, with all
//! its accesses. One data race, and nothing is proved.

use std::cell::RefCell;
use std::rc::Rc;

use selvedge_core::{
    Ahead, Conditions, Effect, Ending, Execution, Footprint, Mode, Order, Schedule, States, Step,
    System, Values, Violation, forward_system,
};

use crate::outcome::data_race;

/// Data races, each with a schedule whose last step completes it.
pub(super) type DataRaces = Rc<RefCell<Vec<(Violation, Schedule)>>>;

/// A system without its ordinary accesses.
pub(super) struct LocksOnly<S> {
    system: S,
    /// What was executed, with all accesses.
    whole: Execution,
    races: DataRaces,
}

impl<S: System> LocksOnly<S> {
    pub(super) fn new(system: S, races: &DataRaces) -> Self {
        Self { system, whole: Execution::new(), races: Rc::clone(races) }
    }

    fn note_data_races(&mut self) {
        for race in data_race::find(&self.whole) {
            let is_known = |(known, _): &(Violation, Schedule)| known.same_as(&race.violation);
            if self.races.borrow().iter().any(is_known) {
                continue;
            }
            let steps = self.whole.steps();
            let schedule = Schedule::fresh(&mut self.system, &steps[..=race.second.index()]);
            // It has left the system after these steps.
            let mut effect = Effect::default();
            for &step in &steps[race.second.index() + 1..] {
                self.system.step(step, &mut effect);
            }
            self.races.borrow_mut().push((race.violation, schedule));
        }
    }
}

/// Takes out the accesses that do not count.
fn leave_locks(effect: &mut Effect) {
    let order = effect.order;
    let is_ordinary =
        |mode| order == Some(Order::NonAtomic) && matches!(mode, Mode::Read | Mode::Write);
    let accesses = effect.footprint.accesses();
    if accesses.iter().any(|access| is_ordinary(access.mode)) {
        let rest: Footprint =
            accesses.iter().copied().filter(|access| !is_ordinary(access.mode)).collect();
        effect.footprint = rest;
    }
}

impl<S: System> System for LocksOnly<S> {
    forward_system! { self => self.system;
        thread_count thread_key object_key status choices freed judging foresight
        // What keeps a step waiting synchronises, so it is never an ordinary access.
        obstacles
    }

    fn restart(&mut self) {
        self.whole.truncate(0);
        self.system.restart();
    }

    fn rewind(&mut self, kept: &[Step]) {
        self.whole.truncate(kept.len());
        self.system.rewind(kept);
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        self.system.pending(step, effect);
        leave_locks(effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.system.step(step, effect);
        self.whole.push(step, effect);
        leave_locks(effect);
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        self.note_data_races();
        self.system.end()
    }

    /// One at a time: each has to be recorded with all its accesses.
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }

    /// Not known: a step that touches one object here may touch more there.
    fn values(&self) -> Option<&dyn Values> {
        None
    }

    /// None: what the inner system knows is about all accesses.
    fn conditions(&mut self) -> Option<&mut dyn Conditions> {
        None
    }

    /// None: what was recorded of earlier steps belongs to them.
    fn states(&mut self) -> Option<&mut dyn States> {
        None
    }
}
