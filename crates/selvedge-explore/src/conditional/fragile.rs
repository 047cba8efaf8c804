//! Pairs of events without an edge between them that act differently in the order that is left out.
//!
//! What the executed order shows of them is not the whole: a step that comes later may conflict with what
//! one of them does in the other order, or be ordered by what it does in this order only. Then the races that are seen
//! are not those that there are. So wherever anything meets such a pair, everything is explored from the states before
//! its events; that is a source set whatever the races are.

use selvedge_core::{Access, Effect, MayAccess, Position, Step, System, ThreadId, dependent};

use crate::search::run::Run;

use super::Conditional;

/// Two events that commute and act differently in the other order.
pub(super) struct Fragile {
    events: [Position; 2],
    /// What each touches in one order or the other.
    touched: [Vec<Access>; 2],
}

impl Fragile {
    pub(super) fn new(events: [Position; 2], mut touched: [Vec<Access>; 2]) -> Self {
        // Who makes whom is known elsewhere.
        touched.iter_mut().for_each(|all| all.retain(|access| access.mode.is_memory()));
        Self { events, touched }
    }

    /// Returns whether the event at `position` comes after both.
    pub(super) fn is_before(&self, position: usize) -> bool {
        self.events[1].index() < position
    }
}

impl Conditional {
    /// Looks whether the event at `position` meets a pair.
    pub(super) fn meet_fragile<S: System>(&mut self, run: &mut Run<'_, S>, position: Position) {
        if !self.fragile.is_empty() {
            let thread = run.execution.event(position).thread();
            let accesses = run.execution.accesses(position).to_vec();
            self.expand_fragile(run, thread, |touched| dependent(&accesses, touched));
        }
    }

    /// The same for a thread that waits. The run is in its state.
    pub(super) fn meet_fragile_waiting<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        thread: ThreadId,
    ) {
        if !self.fragile.is_empty() {
            let mut effect = Effect::default();
            run.system.pending(Step::of(thread), &mut effect);
            let accesses = effect.footprint.accesses();
            self.expand_fragile(run, thread, |touched| dependent(accesses, touched));
        }
    }

    /// The same for all that a thread may still do.
    pub(super) fn may_meet_fragile<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        thread: ThreadId,
        may: &MayAccess,
    ) {
        self.expand_fragile(run, thread, |touched| may.may_depend_on(touched));
    }

    fn expand_fragile<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        thread: ThreadId,
        meets: impl Fn(&[Access]) -> bool,
    ) {
        let mut found = Vec::new();
        for pair in &self.fragile {
            let others = pair.events.iter().zip(&pair.touched);
            let mut others =
                others.filter(|(event, _)| run.execution.event(**event).thread() != thread);
            if others.any(|(_, touched)| meets(touched)) {
                found.extend(pair.events);
            }
        }
        for position in found {
            self.expand(run, position);
        }
    }
}
