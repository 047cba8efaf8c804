//! What steps do to shared objects: values, the order that follows from it, who holds what.

use std::collections::BTreeSet;

use selvedge_core::{
    Access, Execution, Mode, ObjectId, Order, Position, Replay, ReplayedStep, Violation,
    ViolationKind, commute,
};

use crate::view::{AccessView, EdgeView, ValueView};
use crate::why::{About, about, why};
use crate::width::visible;

/// The accesses of an execution.
pub(crate) struct Accesses<'a> {
    replay: &'a Replay,
    execution: Execution,
}

impl<'a> Accesses<'a> {
    pub(crate) fn new(replay: &'a Replay) -> Self {
        Self { replay, execution: replay.execution() }
    }

    /// Returns the name of an object.
    pub(crate) fn name(&self, object: ObjectId) -> String {
        match self.replay.object_names.get(&object) {
            Some(name) => visible(name),
            None => format!("object {}", object.number()),
        }
    }

    fn name_of_thread_at(&self, position: Position) -> String {
        let thread = self.execution.event(position).thread();
        self.replay.thread_names.get(thread.index()).map(|name| visible(name)).unwrap_or_default()
    }

    /// Returns the accesses of a step.
    pub(crate) fn of(&self, step: &ReplayedStep) -> Vec<AccessView> {
        let accesses = step.effect.footprint.accesses().iter().enumerate();
        accesses
            .map(|(nth, access)| {
                let (before, after) = match step.values.get(nth) {
                    Some(change) => (change.before.as_deref(), change.after.as_deref()),
                    None => (None, None),
                };
                let is_changed = !access.mode.is_memory() && before != after;
                AccessView {
                    object: self.name(access.object),
                    mode: access.mode.name(),
                    read: before.filter(|_| access.mode.reads()).map(visible),
                    wrote: after.filter(|_| access.mode.writes() || is_changed).map(visible),
                }
            })
            .collect()
    }

    /// Returns the immediate edges of happens-before to the step at `at` from steps of other threads.
    pub(crate) fn edges(&self, at: usize) -> Vec<EdgeView> {
        let position = Position::new(at);
        let mut edges = Vec::new();
        for &earlier in self.execution.predecessors(position) {
            for access in self.execution.accesses(position) {
                let other = self.execution.accesses(earlier).iter().find(|o| o.dependent(*access));
                edges.extend(other.map(|other| EdgeView {
                    step: earlier.index() + 1,
                    object: match about(other.mode, access.mode) {
                        About::Object => self.name(access.object),
                        About::Earlier => self.name_of_thread_at(earlier),
                        About::Later => self.name_of_thread_at(position),
                    },
                    why: why(other.mode, access.mode),
                }));
            }
        }
        edges.sort_by_key(|edge| edge.step);
        edges
    }

    /// Returns the number of the step that took `object`, if one did and others wait for it therefore.
    pub(crate) fn holder(&self, object: ObjectId) -> Option<usize> {
        let mut released = BTreeSet::new();
        let history = self.execution.history(object, Position::new(self.execution.len()));
        for (position, Access { mode, .. }) in history {
            let thread = self.execution.event(position).thread();
            match mode {
                Mode::Release | Mode::ShareRelease => {
                    released.insert(thread);
                }
                Mode::Acquire | Mode::ShareAcquire if released.remove(&thread) => {}
                Mode::Acquire | Mode::ShareAcquire | Mode::Down | Mode::Write | Mode::Update => {
                    return Some(position.index() + 1);
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the values at the beginning of all that was accessed, as far as they are known: what the first
    /// access found.
    pub(crate) fn initial(&self) -> Vec<ValueView> {
        let (mut seen, mut initial) = (BTreeSet::new(), Vec::new());
        for step in &self.replay.steps {
            let accesses = step.effect.footprint.accesses();
            for (access, change) in accesses.iter().zip(&step.values) {
                if seen.insert(access.object)
                    && let Some(value) = &change.before
                {
                    let value = visible(value);
                    initial.push((
                        access.object,
                        ValueView { object: self.name(access.object), value },
                    ));
                }
            }
        }
        initial.sort_by_key(|(object, _)| *object);
        initial.into_iter().map(|(_, view)| view).collect()
    }

    /// Returns the numbers of the two steps of a data race: the last ones at its places that access an object in
    /// modes that conflict.
    pub(crate) fn race(&self, violation: &Violation) -> Option<[usize; 2]> {
        let (ViolationKind::DataRace, [first, second]) = (violation.kind, &violation.places[..])
        else {
            return None;
        };
        let steps = &self.replay.steps;
        let is_at = |index: &usize, place| steps[*index].description.place.as_ref() == Some(place);
        let seconds = (0..steps.len()).rev().filter(|index| is_at(index, second));
        for later in seconds.filter(|&index| Some(steps[index].step.thread) == violation.thread) {
            let conflicts = |&earlier: &usize| {
                let (earlier, later) = (&steps[earlier], &steps[later]);
                let is_conflict = |one: &Access, other: &Access| {
                    one.object == other.object
                        && one.mode.is_memory()
                        && other.mode.is_memory()
                        && !commute(one.mode, other.mode)
                };
                earlier.step.thread != later.step.thread
                    && [earlier, later]
                        .iter()
                        .any(|step| step.effect.order == Some(Order::NonAtomic))
                    && later.effect.footprint.accesses().iter().any(|mine| {
                        earlier
                            .effect
                            .footprint
                            .accesses()
                            .iter()
                            .any(|other| is_conflict(mine, other))
                    })
            };
            let earlier = (0..later).rev().filter(|index| is_at(index, first)).find(conflicts);
            if let Some(earlier) = earlier {
                return Some([earlier + 1, later + 1]);
            }
        }
        None
    }
}
