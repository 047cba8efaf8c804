//! Conflicting extensions: the events that the steps of an execution become once a race is reversed.
//!
//! Taken literally, `cex(C)` is exponential where reads commute: a write can follow any subset of the
//! reads. It is enough to have one event for each reversible race `e ⋖ e'`: what `e'` becomes after
//! `pre(E,e).notdep(e,E)`, with all the history that it has there. Shorter histories (only what `e'`
//! needs) lose classes; `programs/regressions/short-histories.sel` shows it.

use selvedge_core::{
    Access, Effect, Execution, Footprint, Position, Step, System, ThreadId, commute,
};

use super::sleepers::Sleepers;
use crate::search::run::Run;
use crate::trace::races::{Later, Reversal};
use crate::unfolding::events::{EventRef, Name, Unfolding};

/// The unfolding, and what the steps of the execution are in it, where they are and elsewhere.
#[derive(Debug)]
pub(crate) struct Extensions {
    pub(crate) unfolding: Unfolding,
    /// The events of the execution, as far as someone asked for them.
    pub(crate) path: Vec<Option<EventRef>>,
    // Buffers that are used again and again.
    /// How many events of each thread are in a part.
    counts: Vec<u32>,
    clock: Vec<u32>,
    /// What a step depends on in a part.
    causes: Vec<Position>,
    names: Vec<EventRef>,
    /// Events whose names are needed, each because of the one before it.
    unnamed: Vec<Position>,
}

/// A part of the execution that is closed under happens-before.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Of each thread as many events as [`Extensions::counts`] says.
    Counted,
    /// What comes before `end` and does not happen after the event at `at`, which is left out too.
    Without { at: Position, end: Position },
}

impl Extensions {
    pub(crate) fn new(unfolding: Unfolding) -> Self {
        Self {
            unfolding,
            path: Vec::new(),
            counts: Vec::new(),
            clock: Vec::new(),
            causes: Vec::new(),
            names: Vec::new(),
            unnamed: Vec::new(),
        }
    }

    /// Returns the event at `position`. It gets its name, and those before it theirs, when someone asks for it:
    /// most events at the end of an execution are never asked for.
    #[inline]
    pub(crate) fn executed(&mut self, execution: &Execution, position: Position) -> EventRef {
        match self.path[position.index()] {
            Some(event) => event,
            None => self.give_names(execution, position),
        }
    }

    /// Returns the event at `position`, whether it has its name or not.
    pub(super) fn give_name(&mut self, execution: &Execution, position: Position) -> EventRef {
        self.path[position.index()] = None;
        self.executed(execution, position)
    }

    fn give_names(&mut self, execution: &Execution, position: Position) -> EventRef {
        self.unnamed.push(position);
        loop {
            let position = self.unnamed[self.unnamed.len() - 1];
            let previous = execution.previous_of_thread(position);
            let others = execution.predecessors(position);
            let is_unnamed = |other: &Position| self.path[other.index()].is_none();
            if let Some(cause) = previous.iter().chain(others).copied().find(is_unnamed) {
                self.unnamed.push(cause);
                continue;
            }
            let step = (execution.event(position).step(), execution.accesses(position));
            let event = self.named(step, previous, others);
            self.path[position.index()] = Some(event);
            self.unnamed.pop();
            if self.unnamed.is_empty() {
                return event;
            }
        }
    }

    /// Returns the event of a step with its accesses after these of the execution, which have names.
    fn named(
        &mut self,
        (step, accesses): (Step, &[Access]),
        previous: Option<Position>,
        others: &[Position],
    ) -> EventRef {
        let previous = previous.and_then(|other| self.path[other.index()]);
        self.names.clear();
        self.names.extend(others.iter().filter_map(|other| self.path[other.index()]));
        self.names.sort_unstable();
        self.unfolding.event(Name { step, previous, predecessors: &self.names }, accesses)
    }

    /// Returns what the event at `later` becomes if it comes before that at `at`, with which it races, and acts as it
    /// did. Nothing if that sleeps.
    pub(super) fn swapped(
        &mut self,
        execution: &Execution,
        (at, later): (Position, Position),
        sleepers: &Sleepers,
    ) -> Option<EventRef> {
        let is_left =
            |&(other, _): &(Position, Access)| other < at || !execution.happens_before(at, other);
        let accesses = execution.accesses(later);
        self.causes.clear();
        for nth in 0..accesses.len() {
            add_epoch(&mut self.causes, execution.dependences(later, nth).filter(is_left));
        }
        let previous = execution.previous_of_thread(later);
        // Its predecessors but the one at `at` are among the causes, and no less maximal there.
        let predecessors = execution.predecessors(later);
        if self.causes.len() + 1 != predecessors.len() || !predecessors.contains(&at) {
            self.leave_maximal(execution, previous);
        }
        let step = (execution.event(later).step(), accesses);
        self.unless_asleep(execution, at, previous, step, sleepers)
    }

    /// Returns what `later`, a step of `thread`, becomes by a reversal. Nothing if that sleeps.
    pub(super) fn reversed(
        &mut self,
        execution: &Execution,
        reversal: &Reversal,
        (later, thread): (Later, ThreadId),
        sleepers: &Sleepers,
    ) -> Option<EventRef> {
        let sequence = &reversal.sequence;
        // It is the last of its thread: what follows it in its thread happens after e.
        let is_it = |&index: &usize| sequence.step(index).thread == thread;
        let index = (0..sequence.len()).rev().find(is_it);
        let index = index.expect("internal error: a reversal without the step it is about");
        let part = match later {
            Later::Event(end) if reversal.stable => Part::Without { at: reversal.at, end },
            Later::Event(_) | Later::Pending(_) => {
                self.count_before(execution, reversal.at);
                for before in 0..index {
                    self.count(sequence.step(before).thread);
                }
                Part::Counted
            }
        };
        let step = (sequence.step(index), sequence.accesses(index));
        self.after(execution, reversal.at, part, step, sleepers)
    }

    /// Returns the event of an alternative of the event at `at`, after all that is independent of it. Nothing if
    /// that sleeps.
    pub(super) fn alternative(
        &mut self,
        execution: &Execution,
        at: Position,
        (step, footprint): &(Step, Footprint),
        sleepers: &Sleepers,
    ) -> Option<EventRef> {
        self.count_before(execution, at);
        for position in execution.positions().skip(at.index() + 1) {
            if !execution.happens_before(at, position) {
                self.count(execution.event(position).thread());
            }
        }
        self.after(execution, at, Part::Counted, (*step, footprint.accesses()), sleepers)
    }

    fn count_before(&mut self, execution: &Execution, at: Position) {
        self.counts.clear();
        self.counts.extend(execution.threads().map(|thread| {
            execution.of_thread(thread).partition_point(|&position| position < at) as u32
        }));
    }

    #[inline]
    fn count(&mut self, thread: ThreadId) {
        if self.counts.len() <= thread.index() {
            self.counts.resize(thread.index() + 1, 0);
        }
        self.counts[thread.index()] += 1;
    }

    #[inline]
    fn contains(&self, execution: &Execution, part: Part, position: Position) -> bool {
        match part {
            Part::Counted => {
                let id = execution.event(position).id;
                self.counts.get(id.thread.index()).is_some_and(|&count| id.nth < count)
            }
            Part::Without { at, end } => {
                position < at || (position < end && !execution.happens_before(at, position))
            }
        }
    }

    /// Returns the event of a step with its accesses after a part of the execution that contains all before `at`.
    /// Nothing if it sleeps there.
    fn after(
        &mut self,
        execution: &Execution,
        at: Position,
        part: Part,
        (step, accesses): (Step, &[Access]),
        sleepers: &Sleepers,
    ) -> Option<EventRef> {
        let end = match part {
            Part::Counted => Position::new(execution.len()),
            Part::Without { end, .. } => end,
        };
        let mut causes = std::mem::take(&mut self.causes);
        causes.clear();
        for &access in accesses {
            let others = execution.history(access.object, end);
            let others = others.filter(|&(other, _)| self.contains(execution, part, other));
            let commutes = |&(_, other): &(Position, Access)| commute(other.mode, access.mode);
            add_epoch(&mut causes, others.skip_while(commutes));
        }
        self.causes = causes;
        let previous = match part {
            Part::Counted => {
                let count = self.counts.get(step.thread.index()).copied().unwrap_or(0) as usize;
                count.checked_sub(1).map(|last| execution.of_thread(step.thread)[last])
            }
            Part::Without { end, .. } => execution.previous_of_thread(end),
        };
        self.leave_maximal(execution, previous);
        self.unless_asleep(execution, at, previous, (step, accesses), sleepers)
    }

    /// Returns the event of a step with its accesses after `previous` and `causes`. Nothing if it sleeps before the
    /// event at `at`.
    fn unless_asleep(
        &mut self,
        execution: &Execution,
        at: Position,
        previous: Option<Position>,
        step: (Step, &[Access]),
        sleepers: &Sleepers,
    ) -> Option<EventRef> {
        // If all that it depends on comes before `at`, it is enabled there, and one step is one event.
        if previous.iter().chain(&self.causes).all(|&cause| cause < at)
            && let Some(asleep) = sleepers.find(at, step.0)
        {
            debug_assert_eq!(asleep, self.after_causes(execution, previous, step));
            return None;
        }
        Some(self.after_causes(execution, previous, step))
    }

    /// Returns the event of a step with its accesses after `previous` and `causes`.
    fn after_causes(
        &mut self,
        execution: &Execution,
        previous: Option<Position>,
        step: (Step, &[Access]),
    ) -> EventRef {
        let causes = std::mem::take(&mut self.causes);
        for &cause in previous.iter().chain(&causes) {
            self.executed(execution, cause);
        }
        let event = self.named(step, previous, &causes);
        self.causes = causes;
        event
    }

    /// Takes out the causes that happen before another one or before `previous`.
    fn leave_maximal(&mut self, execution: &Execution, previous: Option<Position>) {
        let Self { causes, clock, .. } = self;
        match causes[..] {
            [] => return,
            [one] => {
                if previous.is_some_and(|previous| execution.happens_before(one, previous)) {
                    causes.clear();
                }
                return;
            }
            _ => {}
        }
        causes.sort_unstable_by(|a, b| b.cmp(a));
        clock.clear();
        if let Some(previous) = previous {
            clock.extend_from_slice(execution.clock(previous));
        }
        // The latest first: one that is between another and the step comes before that other.
        causes.retain(|&cause| {
            let id = execution.event(cause).id;
            if clock.get(id.thread.index()).is_some_and(|&count| count > id.nth) {
                return false;
            }
            let other = execution.clock(cause);
            clock.resize(clock.len().max(other.len()), 0);
            for (mine, theirs) in clock.iter_mut().zip(other) {
                *mine = (*mine).max(*theirs);
            }
            true
        });
    }
}

/// Adds the first epoch of accesses to an object, which come latest first.
fn add_epoch(causes: &mut Vec<Position>, accesses: impl Iterator<Item = (Position, Access)>) {
    let mut epoch = None;
    for (position, access) in accesses {
        if epoch.is_some_and(|mode| !commute(mode, access.mode)) {
            return;
        }
        epoch = Some(access.mode);
        causes.push(position);
    }
}

/// Returns the other alternatives of the event at `at`, after all that is independent of it.
pub(super) fn other_alternatives<S: System>(
    run: &mut Run<'_, S>,
    at: Position,
) -> Vec<(Step, Footprint)> {
    let taken = run.execution.event(at).step();
    run.sync_to(at.index());
    let mut effect = Effect::default();
    for position in run.execution.positions().skip(at.index() + 1) {
        let step = run.execution.event(position).step();
        if !run.execution.happens_before(at, position) && run.is_enabled(step.thread) {
            run.system.step(step, &mut effect);
        }
    }
    let alternatives = match run.is_enabled(taken.thread) {
        true => alternatives_but(run, taken),
        false => Vec::new(),
    };
    run.system.rewind(&run.execution.steps()[..at.index()]);
    alternatives
}

/// Returns the alternatives of the pending step but `taken`, each with what it touches.
pub(super) fn alternatives_but<S: System>(
    run: &mut Run<'_, S>,
    taken: Step,
) -> Vec<(Step, Footprint)> {
    let mut effect = Effect::default();
    let others = (0..run.system.choices(taken.thread)).filter(|&choice| choice != taken.choice);
    let others = others.map(|choice| {
        let step = Step { choice, ..taken };
        run.system.pending(step, &mut effect);
        (step, effect.footprint.clone())
    });
    others.collect()
}
