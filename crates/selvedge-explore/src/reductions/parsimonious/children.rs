//! The children of a unit: for each race of its execution that is looked at here and nowhere else, the unit that
//! reverses it.
//!
//! A child puts off an event `e` that was chosen, and runs `f` in its place, after the events `W` that happen
//! before `f`. Let `f'` be the step of the same thread after `e` and `W`. This execution is the parent exactly if all
//! its departures after `e` are in the *target*: `W` and `f'`, or `W` alone if `f'` cannot run there or sleeps.

use selvedge_core::{
    Access, Effect, Elsewhere, Flexibility, Footprint, Mode, Position, Status, Step, System,
    ThreadId, commute, dependent,
};
use smallvec::SmallVec;

use super::elsewhere::Open;
use super::pasts::{Trial, try_out};
use super::stages::{all_accesses, first_conflict, reversible};
use super::unit::{Item, Mark, Reasons, Unit};
use super::{Search, is_only};
use crate::trace::races::{hard_causes, is_hard, lock_races};

/// The second step of a race: executed, or pending at the end.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub(super) thread: ThreadId,
    /// Where it was executed; the end if it was not.
    pub(super) at: Position,
    pub(super) executed: bool,
    pub(super) flexibility: Flexibility,
    /// What it may touch in another state.
    pub(super) elsewhere: Elsewhere,
    pub(super) accesses: SmallVec<[Access; 4]>,
    /// What happens before it whatever it touches: these events, and what happens before them.
    pub(super) causes: SmallVec<[Position; 2]>,
}

impl<S: System> Search<'_, S> {
    /// Adds the children of the execution to the pending units.
    pub(super) fn add_children(&mut self) {
        let end = self.run.execution.len();
        let head = self.replayed.saturating_sub(1);
        let known = self.pending.len();
        self.note_sleepy();
        let mut open: Vec<Open> = Vec::new();
        for at in (head..end).rev().map(Position::new) {
            let event = *self.run.execution.event(at);
            match event.flexibility {
                _ if self.is_varied(at) => {}
                Flexibility::Fixed => self.reverse_fixed(at),
                Flexibility::Lock if self.is_beyond_reversal(at) => {}
                _ => self.reverse(self.executed(at), true, &mut open),
            }
            if at.index() >= self.replayed && event.choices > 1 {
                self.add_alternatives(at);
            }
        }
        // Of what was there in the parent, only steps whose past or effect may be another one now.
        for nth in (0..self.unsettled.partition_point(|at| at.index() < head)).rev() {
            let at = self.unsettled[nth];
            if !self.is_varied(at) {
                self.reverse(self.executed(at), false, &mut open);
            }
        }
        self.add_siblings();
        self.run.sync_to(end);
        for thread in self.not_over() {
            let later = self.pending_at_end(thread);
            if later.flexibility != Flexibility::Fixed {
                self.reverse(later, true, &mut open);
            }
        }
        for race in open {
            self.reverse_open(&race);
        }
        if !self.varied.is_empty() {
            self.reverse_varied();
        }
        self.pending[known..].sort_by_key(Unit::shared);
    }

    /// Returns the threads that have a step left at the end of the execution, in order.
    pub(super) fn not_over(&self) -> SmallVec<[ThreadId; 8]> {
        let is_pending = |thread: &ThreadId| {
            matches!(self.run.system.status(*thread), Status::Blocked | Status::Enabled)
        };
        self.order.threads().filter(is_pending).collect()
    }

    pub(super) fn executed(&self, at: Position) -> Later {
        let execution = &self.run.execution;
        let event = execution.event(at);
        let accesses: SmallVec<[Access; 4]> = SmallVec::from_slice(execution.accesses(at));
        let mut causes: SmallVec<[Position; 2]> =
            execution.previous_of_thread(at).into_iter().collect();
        for (nth, _) in accesses.iter().enumerate().filter(|(_, access)| access.mode.is_cause()) {
            let before = execution.history_of_access(at, nth).map(|(x, _)| x);
            causes.extend(before.filter(|&x| x < at).take(1));
        }
        debug_assert!(hard_causes(execution, &accesses, at).all(|cause| causes.contains(&cause)));
        let (thread, flexibility, elsewhere) = (event.thread(), event.flexibility, event.elsewhere);
        Later { thread, at, executed: true, flexibility, elsewhere, accesses, causes }
    }

    pub(super) fn pending_at_end(&mut self, thread: ThreadId) -> Later {
        let end = self.run.execution.len();
        self.run.sync_to(end);
        let mut effect = Effect::default();
        self.run.system.pending(Step::of(thread), &mut effect);
        let (execution, at) = (&self.run.execution, Position::new(end));
        let accesses: SmallVec<[Access; 4]> = SmallVec::from_slice(effect.footprint.accesses());
        let causes = execution.last_of(thread).into_iter();
        let causes = causes.chain(hard_causes(execution, &accesses, at)).collect();
        // Of a step that waits it is not told whether it ends its thread.
        let (flexibility, elsewhere) = (effect.flexibility, Elsewhere::Anything);
        Later { thread, at, executed: false, flexibility, elsewhere, accesses, causes }
    }

    /// Races of a step that always acts as it did.
    fn reverse_fixed(&mut self, later: Position) {
        if self.run.execution.event(later).choice > 0 {
            return;
        }
        for nth in 0..self.run.execution.predecessors(later).len() {
            let e = self.run.execution.predecessors(later)[nth];
            if is_hard(&self.run.execution, e, later)
                || self.is_varied(e)
                || !self.could_put_off(e, later)
            {
                continue;
            }
            if let Some(past) = self.past(e, later) {
                let event = *self.run.execution.event(later);
                let accesses: SmallVec<[Access; 4]> =
                    SmallVec::from_slice(self.run.execution.accesses(later));
                self.offer(e, &past, event.step(), &accesses);
            }
        }
    }

    /// Returns whether the event was chosen, and all departures after it happen before `later` or are it.
    pub(super) fn could_put_off(&self, e: Position, later: Position) -> bool {
        let execution = &self.run.execution;
        let mut after = self.departures.iter().rev().take_while(|&&x| x > e);
        self.marks[e.index()] == Mark::Free
            && after.all(|&x| execution.happens_before(x, later))
            && self.is_apart(e, &|x| execution.happens_before(x, later))
    }

    /// Returns whether the event has alternatives that touch different things.
    pub(super) fn is_varied(&self, e: Position) -> bool {
        self.varied.binary_search_by_key(&e, |(x, _)| *x).is_ok()
    }

    /// Returns whether nothing in the target conflicts with another alternative of a step that was taken freely after
    /// `e` and is not in the target: else that would have been put off.
    pub(super) fn is_apart(&self, e: Position, in_target: &dyn Fn(Position) -> bool) -> bool {
        let execution = &self.run.execution;
        self.varied.iter().rev().take_while(|(x, _)| *x > e).all(|(x, touched)| {
            let after = (x.index() + 1..execution.len()).map(Position::new);
            let mut target = after.filter(|&y| in_target(y));
            self.marks[x.index()] != Mark::Free
                || in_target(*x)
                || !target.any(|y| dependent(touched, execution.accesses(y)))
        })
    }

    /// The events between `e` and `later` that happen before `later`; nothing if one of them happens after `e`.
    pub(super) fn past(&self, e: Position, later: Position) -> Option<Vec<Position>> {
        let execution = &self.run.execution;
        let between = (e.index() + 1..later.index()).map(Position::new);
        let past: Vec<Position> = between.filter(|&x| execution.happens_before(x, later)).collect();
        let clean = !past.iter().any(|&x| execution.happens_before(e, x));
        clean.then_some(past)
    }

    /// Races of a step that may wait or act differently. `is_new`: it was not there in the parent. Those that need a
    /// look at other states are added to `open`.
    fn reverse(&mut self, later: Later, is_new: bool, open: &mut Vec<Open>) {
        match later.flexibility {
            Flexibility::Lock if is_only(&later.accesses, Mode::Acquire) => {
                self.reverse_lock(&later);
            }
            Flexibility::Blocking if is_only(&later.accesses, Mode::Join) => {}
            _ => self.reverse_general(&later, is_new, open),
        }
    }

    /// Returns whether taking a mutex, and nothing else, has no race that is looked at here. A cheap look, before all that
    /// `reverse_lock` does: it only looks at acquires that the thread did not know, and after the last departure that it did not.
    fn is_beyond_reversal(&self, at: Position) -> bool {
        let execution = &self.run.execution;
        let &[Access { mode: Mode::Acquire, .. }] = execution.accesses(at) else { return false };
        let mut before = execution.history_of_access(at, 0);
        let Some((e, access)) = before.find(|(_, access)| access.mode != Mode::Release) else {
            return true;
        };
        let own = execution.previous_of_thread(at);
        let knows = |x: Position| own.is_some_and(|own| execution.happens_before(x, own));
        let is_late = |&x: &Position| x >= e && !knows(x);
        access.mode == Mode::Acquire && (knows(e) || self.departures.last().is_some_and(is_late))
    }

    /// Races of taking a mutex.
    fn reverse_lock(&mut self, later: &Later) {
        let Some(own) = later.accesses.iter().find(|a| a.mode == Mode::Acquire).copied() else {
            return;
        };
        // If nothing inspected the mutex, its race is with the acquire before: see below.
        let is_inspected = {
            let before = self.run.execution.history(own.object, later.at);
            let mut before = before.map(|(_, access)| access.mode);
            before.find(|&mode| mode != Mode::Release).is_some_and(|mode| mode != Mode::Acquire)
        };
        if later.executed && is_inspected {
            for e in lock_races(&self.run.execution, later.at) {
                let takes = |a: &Access| a.object == own.object && a.mode == Mode::Acquire;
                if !self.run.execution.accesses(e).iter().any(takes)
                    && !self.is_varied(e)
                    && self.could_put_off(e, later.at)
                    && let Some(past) = self.past(e, later.at)
                {
                    let step = self.run.execution.event(later.at).step();
                    self.offer(e, &past, step, &later.accesses);
                }
            }
        }
        // All departures after `e` are in the target. If the step was executed, that is what its thread knows.
        let mut departures = self.departures.iter().rev().filter(|_| later.executed);
        let unknown = departures.find(|&&x| !self.knows(later, x));
        let first = unknown.map_or(0, |x| x.index() + 1);
        let acquires: SmallVec<[Position; 8]> = self
            .run
            .execution
            .history(own.object, later.at)
            .take_while(|&(e, _)| e.index() >= first && !self.knows(later, e))
            .filter(|(_, access)| access.mode == Mode::Acquire)
            .map(|(e, _)| e)
            .filter(|e| self.marks[e.index()] == Mark::Free && !self.is_varied(*e))
            .collect();
        let is_simple =
            later.executed || acquires.first().is_none_or(|&e| self.touches_only(later, e, own));
        for e in acquires {
            if !is_simple {
                let past = self.known_since(later, e);
                self.with_target(later, e, past, false);
                continue;
            }
            let mut after = self.departures.iter().rev().take_while(|&&x| x > e);
            if after.all(|&x| self.knows(later, x)) && self.is_apart(e, &|x| self.knows(later, x)) {
                let past = self.known_since(later, e);
                self.offer(e, &past, Step::of(later.thread), &later.accesses);
            }
        }
    }

    /// Returns whether a step that is blocked at the end touches nothing more than that when it runs before `e`: taking
    /// a mutex can end its thread.
    fn touches_only(&mut self, later: &Later, e: Position, own: Access) -> bool {
        let past = self.known_since(later, e);
        let is_only = |it: &Footprint| it.accesses().iter().all(|a| *a == own || a.mode.is_cause());
        match try_out(&mut self.run, e.index(), &past, later.thread) {
            Trial::Enabled(alternatives) => alternatives.iter().all(is_only),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn knows(&self, later: &Later, x: Position) -> bool {
        later.causes.iter().any(|&cause| self.run.execution.happens_before(x, cause))
    }

    pub(super) fn known_since(&self, later: &Later, e: Position) -> Vec<Position> {
        // Nothing after these happens before one of them.
        let end = later.causes.iter().max().map_or(0, |last| last.index() + 1);
        let after = (e.index() + 1..end).map(Position::new);
        after.filter(|&x| self.knows(later, x)).collect()
    }

    /// The other alternatives of a step that was chosen freely.
    fn add_alternatives(&mut self, at: Position) {
        let event = *self.run.execution.event(at);
        let is_varied = self.is_varied(at);
        for choice in (0..event.choices).filter(|&choice| choice != event.choice) {
            let step = Step { choice, ..event.step() };
            if is_varied {
                self.run.sync_to(at.index());
                self.run.system.pending(step, &mut self.effect);
                if self.sleeps(at.index(), &[], step, self.effect.footprint.accesses()) {
                    continue;
                }
            }
            let mut items = self.items(at);
            items.push(Item { step, mark: Mark::Other });
            self.pending.push(Unit::new(items));
        }
    }

    /// The other alternatives of the head of the unit, with the same block. The first that can be its head has the others
    /// as children.
    fn add_siblings(&mut self) {
        let mut siblings = std::mem::take(&mut self.siblings);
        let head = Position::new(self.replayed.saturating_sub(1));
        let Some(&Mark::Head(thread, _)) = self.marks.get(head.index()) else { return };
        if siblings.is_empty() {
            return;
        }
        let body = self.marks[..head.index()].iter().rposition(|mark| *mark != Mark::Block);
        let at = body.map_or(0, |last| last + 1);
        self.run.sync_to(at);
        let put_off = all_accesses(&self.alternatives(thread));
        let past: Vec<Position> = (at..head.index()).map(Position::new).collect();
        siblings.retain(|(step, footprint)| {
            self.is_head(at, &put_off, &past, *step, footprint.accesses())
        });
        let own = self.run.execution.event(head).step();
        if siblings.first().is_none_or(|(first, _)| *first != own) {
            return;
        }
        for (step, _) in siblings.drain(1..) {
            let mut items = self.items(head);
            items.push(Item { step, mark: Mark::Head(thread, Reasons::Open) });
            self.pending.push(Unit::new(items));
        }
    }

    /// Adds the unit that puts off `e` for the step, which runs after `past`, unless that sleeps there.
    pub(super) fn offer(
        &mut self,
        e: Position,
        past: &[Position],
        step: Step,
        accesses: &[Access],
    ) {
        if !self.sleeps(e.index(), past, step, accesses) {
            let put_off = || reversible(self.run.execution.accesses(e).iter().copied());
            let excludes = |own: Access| {
                let mut touched = accesses.iter().filter(|a| a.object == own.object);
                touched.any(|a| !commute(a.mode, a.mode))
            };
            // Later accesses have reasons of higher rank.
            let first = first_conflict(put_off(), accesses);
            let is_settled = !self.is_varied(e)
                && first.is_some_and(|first| put_off().take(first + 1).all(excludes));
            let reasons = if is_settled { Reasons::Settled } else { Reasons::Open };
            self.push(e, past, step, reasons);
        }
    }

    pub(super) fn push(&mut self, e: Position, past: &[Position], step: Step, reasons: Reasons) {
        let mut items = self.items(e);
        let execution = &self.run.execution;
        for &x in past {
            items.push(Item { step: execution.event(x).step(), mark: Mark::Block });
        }
        items.push(Item { step, mark: Mark::Head(execution.event(e).thread(), reasons) });
        self.pending.push(Unit::new(items));
    }

    pub(super) fn items(&mut self, before: Position) -> Vec<Item> {
        let marked = self.run.execution.steps().iter().zip(&self.marks).take(before.index());
        let mut items = self.spare.pop().unwrap_or_default();
        items.clear();
        items.extend(marked.map(|(&step, &mark)| Item { step, mark }));
        items
    }
}
