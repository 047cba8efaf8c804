//! Races of what is pruned.
//!
//! What sleeps for a conditional reason leads to states that are seen elsewhere, but there the events before
//! them are others, or in another order. So the races that it would have shown with the events *here* are lost, and
//! with them backtrack points that nothing else asks for. Instead of exploring it, all that each thread may still
//! touch is taken for one step of it, and whatever conflicts with that is a race.

use selvedge_core::{Effect, MayAccess, Position, Status, Step, System, ThreadId};

use crate::reductions::optimal_dpor::source::is_initial;
use crate::search::run::Run;
use crate::trace::clock::{Clock, join};
use crate::trace::races::hard_causes;
use crate::trace::sequence::Sequence;

use super::Conditional;

impl Conditional {
    /// Adds the backtrack points that the races of everything after the first `depth` events could ask
    /// for. The run is in that state.
    pub(super) fn find_lost_races<S: System>(&mut self, run: &mut Run<'_, S>, depth: usize) {
        for thread in run.threads() {
            run.sync_to(depth);
            let status = run.system.status(thread);
            if !matches!(status, Status::Enabled | Status::Blocked | Status::Parked) {
                continue;
            }
            let clock = self.known_to(run, thread, status, depth);
            let Some(conditions) = run.system.conditions() else { return };
            let may = conditions.may_access(thread);
            self.may_meet_fragile(run, thread, &may);
            for e in (0..depth).rev().map(Position::new) {
                let id = run.execution.event(e).id;
                let known = clock.get(id.thread.index()).is_some_and(|&count| count > id.nth);
                if !known && id.thread != thread && may.may_depend_on(run.execution.accesses(e)) {
                    self.ask_for(run, e, thread, &may, depth);
                }
            }
        }
        run.sync_to(depth);
    }

    /// The same for a node whose backtrack set has threads that sleep: also the races with their steps.
    pub(super) fn find_lost_races_of_skipped<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        depth: usize,
    ) {
        if self.nodes[depth].searched == 0 {
            self.find_lost_races(run, depth);
        }
        let node = &mut self.nodes[depth];
        let skipped = node.skipped[node.searched..].to_vec();
        node.searched = node.skipped.len();
        let mut effect = Effect::default();
        for step in skipped {
            run.system.pending(step, &mut effect);
            for thread in run.threads().filter(|&thread| thread != step.thread) {
                let Some(conditions) = run.system.conditions() else { return };
                let may = conditions.may_access(thread);
                if !may.may_depend_on(effect.footprint.accesses())
                    || self.nodes[depth].frontier.threads.contains(&thread)
                {
                    continue;
                }
                if run.is_enabled(thread) {
                    self.nodes[depth].frontier.threads.push(thread);
                } else {
                    self.expand(run, Position::new(depth));
                }
            }
        }
    }

    /// Returns what happens before everything that the thread will do: a clock.
    fn known_to<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        thread: ThreadId,
        status: Status,
        depth: usize,
    ) -> Clock {
        let mut clock = Clock::new();
        let execution = &run.execution;
        if let Some(last) = execution.last_of(thread) {
            join(&mut clock, execution.clock(last));
            return clock;
        }
        if status != Status::Parked {
            let mut effect = Effect::default();
            run.system.pending(Step::of(thread), &mut effect);
            let accesses = effect.footprint.accesses();
            for cause in hard_causes(execution, accesses, Position::new(depth)) {
                join(&mut clock, execution.clock(cause));
            }
        }
        for &(_, child, cause) in &self.caused {
            if child == thread {
                join(&mut clock, execution.clock(cause));
            }
        }
        clock
    }

    /// Has something explored before `e` that leads to a step of `thread` without `e`.
    fn ask_for<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        e: Position,
        thread: ThreadId,
        may: &MayAccess,
        depth: usize,
    ) {
        let execution = &run.execution;
        let mut sequence = Sequence::default();
        let (mut has_own, mut depends) = (false, false);
        for position in (e.index() + 1..depth).map(Position::new) {
            if !execution.happens_before(e, position) {
                let (step, accesses) =
                    (execution.event(position).step(), execution.accesses(position));
                has_own |= step.thread == thread;
                depends |= may.may_depend_on(accesses);
                sequence.push_event(execution, position);
            }
        }
        run.sync_to(e.index());
        let can_start = !has_own
            && !depends
            && thread.index() < run.system.thread_count()
            && run.is_enabled(thread);
        let backtrack = &mut self.nodes[e.index()].frontier.threads;
        let is_asked_for = backtrack
            .iter()
            .any(|&other| is_initial(&sequence, other) || other == thread && can_start);
        if is_asked_for {
            return;
        }
        if !sequence.is_empty() {
            backtrack.push(sequence.step(0).thread);
        } else if can_start {
            backtrack.push(thread);
        } else {
            self.expand(run, e);
        }
    }
}
