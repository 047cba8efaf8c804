//! A program in which ordinary reads and writes do not interfere, as in the paper.
//!
//! That is right as long as synchronisation orders every two conflicting accesses: then it also
//! orders what they read. So each execution that comes to its end is searched for data races, with all
//! its accesses. One data race, and nothing is proved.
//!
//! An atomic block and an `await` are ordered with all that conflicts with them, so that they are in no data race; and if they
//! access what others access ordinarily, the order matters. Such programs are refused as soon as that is seen.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use selvedge_core::{
    Ahead, Conditions, Effect, Ending, Execution, Mode, ObjectId, Order, Schedule, States, Status,
    Step, System, ThreadId, Values, Violation, forward_system,
};

use crate::outcome::data_race;

/// What was found that makes the reduction wrong.
#[derive(Default)]
pub(super) struct Objections {
    /// Data races, each with a schedule whose last step completes it.
    pub(super) races: Vec<(Violation, Schedule)>,
    /// What ordinary accesses touch, and what steps without a memory ordering read and write.
    ordinary: FxHashSet<ObjectId>,
    in_blocks: FxHashSet<ObjectId>,
    /// Whether something is in both.
    pub(super) is_mixed: bool,
}

impl Objections {
    pub(super) fn is_empty(&self) -> bool {
        self.races.is_empty() && !self.is_mixed
    }

    fn note(&mut self, effect: &Effect) {
        let accesses =
            effect.footprint.accesses().iter().filter(|access| is_on_memory(access.mode));
        for access in accesses {
            let (own, others) = match effect.order {
                Some(Order::NonAtomic) => (&mut self.ordinary, &self.in_blocks),
                None => (&mut self.in_blocks, &self.ordinary),
                Some(_) => continue,
            };
            own.insert(access.object);
            self.is_mixed |= others.contains(&access.object);
        }
    }
}

/// A system without its ordinary accesses.
pub(super) struct LocksOnly<S> {
    system: S,
    /// What was executed, with all accesses.
    whole: Execution,
    objections: Rc<RefCell<Objections>>,
}

impl<S: System> LocksOnly<S> {
    pub(super) fn new(system: S, objections: &Rc<RefCell<Objections>>) -> Self {
        Self { system, whole: Execution::new(), objections: Rc::clone(objections) }
    }

    /// Looks at the threads that wait: what they would read is in no event.
    fn note_waits(&mut self) {
        let mut effect = Effect::default();
        for thread in (0..self.system.thread_count()).map(ThreadId::new) {
            if self.system.status(thread) == Status::Blocked {
                self.pending(Step::of(thread), &mut effect);
            }
        }
    }

    /// Takes out the accesses that do not count.
    fn leave_locks(&self, effect: &mut Effect) {
        self.objections.borrow_mut().note(effect);
        if effect.order == Some(Order::NonAtomic) {
            let accesses = effect.footprint.accesses().iter();
            let rest = accesses.copied().filter(|access| !is_on_memory(access.mode));
            effect.footprint = rest.collect();
        }
    }

    fn note_data_races(&mut self) {
        for race in data_race::find(&self.whole) {
            let is_known = |(known, _): &(Violation, Schedule)| known.same_as(&race.violation);
            if self.objections.borrow().races.iter().any(is_known) {
                continue;
            }
            let steps = self.whole.steps();
            let schedule = Schedule::fresh(&mut self.system, &steps[..=race.second.index()]);
            // It has left the system after these steps.
            let mut effect = Effect::default();
            for &step in &steps[race.second.index() + 1..] {
                self.system.step(step, &mut effect);
            }
            self.objections.borrow_mut().races.push((race.violation, schedule));
        }
    }
}

/// Returns whether an access reads or writes a variable.
fn is_on_memory(mode: Mode) -> bool {
    matches!(mode, Mode::Read | Mode::Write)
}

impl<S: System> System for LocksOnly<S> {
    forward_system! { self => self.system;
        thread_count thread_key object_key status choices freed judging foresight promises
        // What keeps a step waiting synchronises; if it does not, the program is refused.
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
        self.leave_locks(effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.system.step(step, effect);
        self.whole.push(step, effect);
        self.leave_locks(effect);
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        self.note_data_races();
        self.note_waits();
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
