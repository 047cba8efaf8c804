//! Conflicting extensions: the events that the steps of an execution become once a race is reversed.
//!
//! Taken literally, `cex(C)` is exponential where reads commute: a write can follow any subset of the
//! reads. It is enough to have one event for each reversible race `e ⋖ e'`: what `e'` becomes after
//! `pre(E,e).notdep(e,E)`, with all the history that it has there. Shorter histories (only what `e'`
//! needs) lose classes; `programs/regressions/short-histories.sel` shows it.

use selvedge_core::{
    Access, Effect, Execution, Footprint, Position, Step, System, ThreadId, commute,
};

use crate::races::{Later, Reversal};
use crate::run::Run;
use crate::unfolding::{EventRef, Name, Unfolding};

/// Finds the unfolding's events for steps after a part of the execution. Buffers that are used again
/// and again.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    /// How many events of each thread are in the part.
    counts: Vec<u32>,
    clock: Vec<u32>,
    candidates: Vec<Position>,
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

/// The events of the execution, as far as they have names.
pub(crate) type Path = [Option<EventRef>];

impl Extensions {
    /// The event at `position`. It gets its name, and those before it theirs, when someone asks for it:
    /// most events at the end of an execution are never asked for.
    #[inline]
    pub(crate) fn executed(
        &mut self,
        unfolding: &mut Unfolding,
        execution: &Execution,
        path: &mut Path,
        position: Position,
    ) -> EventRef {
        match path[position.index()] {
            Some(event) => event,
            None => self.give_names(unfolding, execution, path, position),
        }
    }

    fn give_names(
        &mut self,
        unfolding: &mut Unfolding,
        execution: &Execution,
        path: &mut Path,
        position: Position,
    ) -> EventRef {
        self.unnamed.push(position);
        loop {
            let position = self.unnamed[self.unnamed.len() - 1];
            let previous = execution.previous_of_thread(position);
            let others = execution.predecessors(position);
            let is_unnamed = |other: &Position| path[other.index()].is_none();
            if let Some(cause) = previous.iter().chain(others).copied().find(is_unnamed) {
                self.unnamed.push(cause);
                continue;
            }
            self.names.clear();
            self.names.extend(others.iter().filter_map(|other| path[other.index()]));
            self.names.sort_unstable();
            let previous = previous.and_then(|other| path[other.index()]);
            let step = execution.event(position).step();
            let name = Name { step, previous, predecessors: &self.names };
            let event = unfolding.event(name, execution.accesses(position));
            path[position.index()] = Some(event);
            self.unnamed.pop();
            if self.unnamed.is_empty() {
                return event;
            }
        }
    }

    /// The event that `later`, a step of `thread`, becomes by a reversal.
    pub(crate) fn reversed(
        &mut self,
        unfolding: &mut Unfolding,
        execution: &Execution,
        path: &mut Path,
        reversal: &Reversal,
        (later, thread): (Later, ThreadId),
    ) -> EventRef {
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
        let (step, accesses) = (sequence.step(index), sequence.accesses(index));
        self.after(unfolding, execution, path, part, (step, accesses))
    }

    /// The other alternatives of the event at `at`, after all that is independent of it.
    pub(crate) fn alternatives<S: System>(
        &mut self,
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
        let choices =
            if run.is_enabled(taken.thread) { run.system.choices(taken.thread) } else { 0 };
        let mut alternatives = Vec::new();
        for choice in (0..choices).filter(|&choice| choice != taken.choice) {
            let step = Step { choice, ..taken };
            run.system.pending(step, &mut effect);
            alternatives.push((step, effect.footprint.clone()));
        }
        run.system.rewind(&run.execution.steps()[..at.index()]);
        alternatives
    }

    /// The event of an alternative of the event at `at`, after all that is independent of it.
    pub(crate) fn alternative(
        &mut self,
        unfolding: &mut Unfolding,
        execution: &Execution,
        path: &mut Path,
        at: Position,
        (step, footprint): &(Step, Footprint),
    ) -> EventRef {
        self.count_before(execution, at);
        for position in execution.positions().skip(at.index() + 1) {
            if !execution.happens_before(at, position) {
                self.count(execution.event(position).thread());
            }
        }
        let step = (*step, footprint.accesses());
        self.after(unfolding, execution, path, Part::Counted, step)
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

    /// The event of a step with its accesses after a part of the execution.
    fn after(
        &mut self,
        unfolding: &mut Unfolding,
        execution: &Execution,
        path: &mut Path,
        part: Part,
        (step, accesses): (Step, &[Access]),
    ) -> EventRef {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for &access in accesses {
            self.add_epoch_below(execution, part, access, &mut candidates);
        }
        let previous = match part {
            Part::Counted => {
                let count = self.counts.get(step.thread.index()).copied().unwrap_or(0) as usize;
                count.checked_sub(1).map(|last| execution.of_thread(step.thread)[last])
            }
            Part::Without { end, .. } => execution.previous_of_thread(end),
        };
        self.leave_maximal(execution, previous, &mut candidates);
        let previous = previous.map(|other| self.executed(unfolding, execution, path, other));
        for &candidate in &candidates {
            self.executed(unfolding, execution, path, candidate);
        }
        self.names.clear();
        self.names.extend(candidates.iter().filter_map(|other| path[other.index()]));
        self.names.sort_unstable();
        self.candidates = candidates;
        let name = Name { step, previous, predecessors: &self.names };
        unfolding.event(name, accesses)
    }

    /// Takes out the candidates that happen before another one or before `previous`.
    fn leave_maximal(
        &mut self,
        execution: &Execution,
        previous: Option<Position>,
        candidates: &mut Vec<Position>,
    ) {
        if let [one] = candidates[..] {
            if previous.is_some_and(|previous| execution.happens_before(one, previous)) {
                candidates.clear();
            }
            return;
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        self.clock.clear();
        if let Some(previous) = previous {
            self.clock.extend_from_slice(execution.clock(previous));
        }
        // The latest first: one that is between another and the step comes before that other.
        candidates.retain(|&candidate| {
            let id = execution.event(candidate).id;
            if self.clock.get(id.thread.index()).is_some_and(|&count| count > id.nth) {
                return false;
            }
            let clock = execution.clock(candidate);
            self.clock.resize(self.clock.len().max(clock.len()), 0);
            for (mine, theirs) in self.clock.iter_mut().zip(clock) {
                *mine = (*mine).max(*theirs);
            }
            true
        });
    }

    /// Adds the last accesses of the part to the object that do not commute with `access`.
    fn add_epoch_below(
        &self,
        execution: &Execution,
        part: Part,
        access: Access,
        candidates: &mut Vec<Position>,
    ) {
        let mut epoch = None;
        let end = match part {
            Part::Counted => Position::new(execution.len()),
            Part::Without { end, .. } => end,
        };
        for (position, other) in execution.history(access.object, end) {
            if !self.contains(execution, part, position) {
                continue;
            }
            match epoch {
                None if commute(other.mode, access.mode) => continue,
                None => epoch = Some(other.mode),
                Some(mode) if commute(mode, other.mode) => {}
                Some(_) => break,
            }
            candidates.push(position);
        }
    }
}
