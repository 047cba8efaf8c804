//! The children of a unit: for each race of its execution that is looked at here and nowhere else, the unit that
//! reverses it.
//!
//! A child puts off an event `e` that was chosen, and runs `f` in its place, after the events `W` that happen
//! before `f`. Let `f'` be the step of the same thread after `e` and `W`. This execution is the parent exactly if all
//! its departures after `e` are in the *target*: `W` and `f'`, or `W` alone if `f'` cannot run there.

use selvedge_core::{
    Access, Effect, Flexibility, Footprint, Mode, Position, Status, Step, System, ThreadId,
    commute, dependent, may_enable_only, never_disables,
};
use smallvec::SmallVec;

use super::Search;
use super::pasts::{Question, Trial, for_each_past, try_out};
use super::stages::single;
use super::unit::{Item, Mark, Unit};
use crate::trace::clock::{Clock, join};
use crate::trace::races::{decided, hard_causes, is_hard, lock_races};

/// The second step of a race: executed, or pending at the end.
#[derive(Clone)]
struct Later {
    thread: ThreadId,
    /// Where it was executed; the end if it was not.
    at: Position,
    executed: bool,
    flexibility: Flexibility,
    accesses: SmallVec<[Access; 4]>,
    /// What happens before it whatever it touches: a clock.
    known: Clock,
}

impl<S: System> Search<'_, S> {
    /// Adds the children of the execution to the pending units.
    pub(super) fn add_children(&mut self) {
        let end = self.run.execution.len();
        let head = self.replayed.saturating_sub(1);
        let known = self.pending.len();
        for at in (0..end).rev() {
            let event = *self.run.execution.event(Position::new(at));
            match event.flexibility {
                Flexibility::Fixed if at >= head => self.reverse_fixed(Position::new(at)),
                Flexibility::Fixed => {}
                _ => {
                    let later = self.executed(Position::new(at));
                    self.reverse(&later, at >= head);
                }
            }
            if at >= self.replayed && event.choices > 1 && self.marks[at] == Mark::Free {
                self.add_alternatives(Position::new(at));
            }
        }
        self.run.sync_to(end);
        let is_blocked = |&thread: &ThreadId| self.run.system.status(thread) == Status::Blocked;
        let blocked: Vec<ThreadId> = self.run.threads().filter(is_blocked).collect();
        for thread in blocked {
            let later = self.pending_at_end(thread);
            self.reverse(&later, true);
        }
        let at = |unit: &Unit| shared(unit);
        self.pending[known..].sort_by_key(at);
    }

    fn executed(&self, at: Position) -> Later {
        let execution = &self.run.execution;
        let event = execution.event(at);
        let accesses = SmallVec::from_slice(execution.accesses(at));
        let mut known = Clock::new();
        let causes = execution.previous_of_thread(at).into_iter();
        for cause in causes.chain(hard_causes(execution, &accesses, at)) {
            join(&mut known, execution.clock(cause));
        }
        let (thread, flexibility) = (event.thread(), event.flexibility);
        Later { thread, at, executed: true, flexibility, accesses, known }
    }

    fn pending_at_end(&mut self, thread: ThreadId) -> Later {
        let end = self.run.execution.len();
        self.run.sync_to(end);
        let mut effect = Effect::default();
        self.run.system.pending(Step::of(thread), &mut effect);
        let (execution, at) = (&self.run.execution, Position::new(end));
        let accesses: SmallVec<[Access; 4]> = SmallVec::from_slice(effect.footprint.accesses());
        let mut known = Clock::new();
        let causes = execution.last_of(thread).into_iter();
        for cause in causes.chain(hard_causes(execution, &accesses, at)) {
            join(&mut known, execution.clock(cause));
        }
        let flexibility = effect.flexibility;
        Later { thread, at, executed: false, flexibility, accesses, known }
    }

    /// Races of a step that always acts as it did.
    fn reverse_fixed(&mut self, later: Position) {
        for nth in 0..self.run.execution.predecessors(later).len() {
            let e = self.run.execution.predecessors(later)[nth];
            if is_hard(&self.run.execution, e, later) || !self.could_put_off(e, Some(later)) {
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

    /// Whether the event was chosen, and all departures between it and `later` happen before that.
    fn could_put_off(&self, e: Position, later: Option<Position>) -> bool {
        let execution = &self.run.execution;
        self.marks[e.index()].is_chosen()
            && later.is_none_or(|later| {
                let after = self.departures.iter().rev().take_while(|&&x| x > e);
                let mut between = after.filter(|&&x| x < later);
                between.all(|&x| execution.happens_before(x, later))
            })
    }

    /// The events between `e` and `later` that happen before `later`; nothing if one of them happens after `e`.
    fn past(&self, e: Position, later: Position) -> Option<Vec<Position>> {
        let execution = &self.run.execution;
        let between = (e.index() + 1..later.index()).map(Position::new);
        let past: Vec<Position> = between.filter(|&x| execution.happens_before(x, later)).collect();
        let clean = !past.iter().any(|&x| execution.happens_before(e, x));
        clean.then_some(past)
    }

    /// Races of a step that may wait or act differently. `is_new`: it was not there in the parent.
    fn reverse(&mut self, later: &Later, is_new: bool) {
        let only = |mode| later.accesses.iter().all(|a| a.mode == mode || a.mode.is_cause());
        match later.flexibility {
            Flexibility::Lock if only(Mode::Acquire) => self.reverse_lock(later, is_new),
            Flexibility::Blocking if only(Mode::Join) => {}
            _ => self.reverse_general(later, is_new),
        }
    }

    /// Races of taking a mutex.
    fn reverse_lock(&mut self, later: &Later, is_new: bool) {
        if later.executed && is_new {
            for e in lock_races(&self.run.execution, later.at) {
                let looks = |a: &Access| a.mode == Mode::Probe;
                if self.run.execution.accesses(e).iter().any(looks)
                    && self.could_put_off(e, Some(later.at))
                    && let Some(past) = self.past(e, later.at)
                {
                    let step = self.run.execution.event(later.at).step();
                    self.offer(e, &past, step, &later.accesses);
                }
            }
        }
        let Some(own) = later.accesses.iter().find(|a| a.mode == Mode::Acquire) else { return };
        let acquires: Vec<Position> = self
            .run
            .execution
            .history(own.object, later.at)
            .take_while(|&(e, _)| !self.knows(later, e))
            .filter(|(_, access)| access.mode == Mode::Acquire)
            .map(|(e, _)| e)
            .collect();
        for e in acquires {
            if !self.marks[e.index()].is_chosen() {
                continue;
            }
            let after = self.departures.iter().rev().take_while(|&&x| x > e);
            if !after.clone().all(|&x| self.knows(later, x)) {
                continue;
            }
            let between = (e.index() + 1..later.at.index()).map(Position::new);
            let past: Vec<Position> = between.filter(|&x| self.knows(later, x)).collect();
            self.offer(e, &past, Step::of(later.thread), &later.accesses);
        }
    }

    fn knows(&self, later: &Later, x: Position) -> bool {
        let id = self.run.execution.event(x).id;
        later.known.get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }

    /// Races of any other step.
    fn reverse_general(&mut self, later: &Later, is_new: bool) {
        if later.executed {
            for e in self.run.execution.predecessors(later.at).to_vec() {
                if !is_hard(&self.run.execution, e, later.at)
                    && self.marks[e.index()].is_chosen()
                    && let Some(base) = self.past(e, later.at)
                {
                    match decided(&mut self.run, e, later.at, &base) {
                        // It touches one object, whatever the state is.
                        Some(Some((step, footprint)))
                            if is_new && self.could_put_off(e, Some(later.at)) =>
                        {
                            self.offer(e, &base, step, footprint.accesses());
                        }
                        Some(_) => {}
                        None => self.with_target(later, e, base, true),
                    }
                }
            }
        }
        for e in self.candidates(later) {
            let between = (e.index() + 1..self.run.execution.len()).map(Position::new);
            let base = between.filter(|&x| self.knows(later, x)).collect();
            self.with_target(later, e, base, false);
        }
    }

    /// Events of other threads, latest first, that may keep the step from running as it would without them.
    fn candidates(&self, later: &Later) -> SmallVec<[Position; 8]> {
        let execution = &self.run.execution;
        let varies = later.flexibility == Flexibility::Conditional
            && later.accesses.iter().any(|a| a.mode == Mode::Signal);
        let mut candidates: SmallVec<[Position; 8]> = SmallVec::new();
        if later.flexibility == Flexibility::Conditional && !varies {
            return candidates;
        }
        for access in later.accesses.iter().filter(|access| !access.mode.is_cause()) {
            for (e, other) in execution.history(access.object, later.at) {
                if !self.knows(later, e)
                    && !commute(other.mode, access.mode)
                    && (varies || !may_enable_only(other.mode, access.mode))
                    && (varies || execution.accesses(e).iter().any(|a| !never_disables(a.mode)))
                {
                    candidates.push(e);
                }
            }
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.dedup();
        candidates
    }

    /// Offers what puts `e` off with a target that contains the step after `e`, or that does not.
    fn with_target(&mut self, later: &Later, e: Position, base: Vec<Position>, contains: bool) {
        if !self.marks[e.index()].is_chosen() {
            return;
        }
        let execution = &self.run.execution;
        let may_be_past = |x: Position| {
            !execution.happens_before(e, x)
                && execution.event(x).thread() != later.thread
                && !(later.executed && execution.happens_before(later.at, x))
        };
        let after = (e.index() + 1..execution.len()).map(Position::new);
        let rest: Vec<Position> =
            after.filter(|&x| may_be_past(x) && base.binary_search(&x).is_err()).collect();
        // All departures are in the target.
        let mut base = base;
        let needed: Vec<Position> = self
            .departures
            .iter()
            .copied()
            .filter(|&x| x > e && !(contains && later.executed && x == later.at))
            .filter(|x| base.binary_search(x).is_err())
            .collect();
        if !needed.iter().all(|x| rest.binary_search(x).is_ok()) {
            return;
        }
        if !needed.is_empty() {
            let is_needed = |x: Position| needed.iter().any(|&y| execution.happens_before(x, y));
            base.extend(rest.iter().copied().filter(|&x| is_needed(x)));
            base.sort_unstable();
            base.dedup();
        }
        let rest = rest.into_iter().filter(|x| base.binary_search(x).is_err()).collect();
        let question = Question { e, thread: later.thread, base, rest };
        let mut found: Vec<(Vec<Position>, Step, Footprint)> = Vec::new();
        let choice = later.executed.then(|| self.run.execution.event(later.at).choice);
        let known = |run: &crate::search::run::Run<'_, S>, x: Position| {
            let id = run.execution.event(x).id;
            later.known.get(id.thread.index()).is_some_and(|&count| count > id.nth)
        };
        for_each_past(&mut self.run, question, &mut |run, past, alternatives| {
            for (number, footprint) in alternatives.iter().enumerate() {
                let number = number as u32;
                if contains && Some(number) != choice {
                    continue;
                }
                let accesses = footprint.accesses();
                if !run.execution.depends_on(accesses, e) {
                    continue;
                }
                let direct =
                    |x: Position| known(run, x) || dependent(run.execution.accesses(x), accesses);
                let happens = |x: Position| {
                    past.iter().any(|&y| direct(y) && run.execution.happens_before(x, y))
                };
                if !past.iter().all(|&x| happens(x)) {
                    continue;
                }
                if !contains {
                    let mut with = vec![e];
                    with.extend_from_slice(past);
                    let runs = match try_out(run, e.index(), &with, later.thread) {
                        Trial::Enabled(alternatives) => (number as usize) < alternatives.len(),
                        _ => false,
                    };
                    if runs {
                        continue;
                    }
                }
                let step = Step { thread: later.thread, choice: number };
                found.push((past.to_vec(), step, footprint.clone()));
            }
        });
        for (past, step, footprint) in found {
            self.offer(e, &past, step, footprint.accesses());
        }
    }

    /// The other alternatives of a step that was chosen freely.
    fn add_alternatives(&mut self, at: Position) {
        let event = *self.run.execution.event(at);
        for choice in 1..event.choices {
            let mut items = self.items(at);
            items.push(Item { step: Step { choice, ..event.step() }, mark: Mark::Other });
            self.pending.push(Unit { items, share: 0.0 });
        }
    }

    /// Adds the unit that puts off `e` for the step, which runs after `past`, unless another parent has it.
    fn offer(&mut self, e: Position, past: &[Position], step: Step, accesses: &[Access]) {
        if !self.is_in_order(e, past, step, accesses) {
            return;
        }
        let execution = &self.run.execution;
        let mut items = self.items(e);
        for &x in past {
            items.push(Item { step: execution.event(x).step(), mark: Mark::Block });
        }
        items.push(Item { step, mark: Mark::Head(execution.event(e).step()) });
        self.pending.push(Unit { items, share: 0.0 });
    }

    fn items(&self, before: Position) -> Vec<Item> {
        let marked = self.run.execution.steps().iter().zip(&self.marks).take(before.index());
        marked.map(|(&step, &mark)| Item { step, mark }).collect()
    }

    /// Whether the step is not a reason that should have come before one of the heads directly before
    /// `e`. Only if `e` touches one object; others are checked when the unit is run.
    fn is_in_order(&self, e: Position, past: &[Position], step: Step, accesses: &[Access]) -> bool {
        let execution = &self.run.execution;
        let put_off = execution.event(e).thread();
        let Some(own) = single(execution.accesses(e)) else { return true };
        let mut end = e.index();
        let index = self.stages.partition_point(|stage| stage.head < e);
        let happens_before = |head: Position| {
            execution.event(head).thread() == step.thread
                || dependent(execution.accesses(head), accesses)
                || past.iter().any(|&x| execution.happens_before(head, x))
                || execution
                    .of_thread(step.thread)
                    .iter()
                    .rev()
                    .find(|&&x| x < e)
                    .is_some_and(|&x| execution.happens_before(head, x))
        };
        for stage in self.stages[..index].iter().rev() {
            if stage.head.index() + 1 != end || stage.put_off.thread != put_off {
                return true;
            }
            let same = |f: &Footprint| single(f.accesses()).is_some_and(|a| a.object == own.object);
            if stage.footprints.len() != 1 || !same(&stage.footprints[0]) {
                return true;
            }
            if happens_before(stage.head) {
                return true;
            }
            if execution.event(stage.head).thread() > step.thread {
                return false;
            }
            end = stage.at;
        }
        true
    }
}

/// How much of a unit its parent shares: where its last block begins.
fn shared(unit: &Unit) -> usize {
    let body = unit.items.len().saturating_sub(1);
    unit.items[..body].iter().rposition(|item| item.mark != Mark::Block).map_or(0, |last| last + 1)
}
