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
use super::pasts::{Question, Rest, Trial, try_out};
use super::stages::single;
use super::unit::{Item, Mark, Unit};
use crate::clock::{Clock, join};
use crate::races::{decided, hard_causes, is_hard, lock_races};

/// So many children that differ only in what happens before the step are made at a time.
const CHILDREN_AT_A_TIME: usize = 64;

/// The events between the two steps of a race that happen before the second.
type Past = SmallVec<[Position; 16]>;

/// The second step of a race: executed, or pending at the end.
#[derive(Clone, Debug)]
pub(super) struct Later {
    pub(super) thread: ThreadId,
    /// Where it was executed; the end if it was not.
    at: Position,
    executed: bool,
    flexibility: Flexibility,
    accesses: SmallVec<[Access; 4]>,
    /// What happens before it whatever it touches: a clock.
    known: Clock,
}

/// Whether an event of the unit has to be looked at again in every execution that begins with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Again {
    /// It has not been looked at.
    Unknown,
    /// What happens before it when a race is reversed may contain later events.
    Yes,
    /// All its races were looked at when it was new.
    No,
}

impl<S: System> Search<'_, S> {
    /// Adds the children of the execution to the pending units.
    pub(super) fn add_children(&mut self) {
        let end = self.run.execution.len();
        let head = self.replayed.saturating_sub(1);
        let known = self.pending.len();
        // The latest first: to decide a step anew, the system then mostly goes back.
        for at in (head..end).rev().map(Position::new) {
            let event = self.run.execution.event(at);
            if event.flexibility == Flexibility::Fixed {
                self.reverse_fixed(at);
            }
            let event = self.run.execution.event(at);
            if event.choices > 1
                && at.index() >= self.replayed
                && self.marks[at.index()] == Mark::Free
            {
                self.add_alternatives(at);
            }
        }
        for nth in (0..self.flexible.len()).rev() {
            let (at, again) = self.flexible[nth];
            let is_new = at.index() >= head;
            if is_new || again != Again::No {
                let later = self.executed(at);
                self.flexible[nth].1 = self.reverse(&later, is_new);
            }
        }
        self.run.sync_to(end);
        let waits = |&thread: &ThreadId| {
            matches!(self.run.system.status(thread), Status::Blocked | Status::Enabled)
        };
        let waiting: SmallVec<[ThreadId; 8]> = self.run.threads().filter(waits).collect();
        for thread in waiting {
            let later = self.pending_at_end(thread);
            if later.flexibility != Flexibility::Fixed {
                self.reverse(&later, true);
            }
        }
        self.pending[known..].sort_by_key(Unit::shared);
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
            if is_hard(&self.run.execution, e, later) || !self.could_put_off(e, later) {
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

    /// Whether the event was chosen, and all departures after it happen before `later` or are it. (One may come after
    /// `later` if that is the head of the unit: the step that it put off, with another alternative than the first.)
    fn could_put_off(&self, e: Position, later: Position) -> bool {
        let execution = &self.run.execution;
        let mut after = self.departures.iter().rev().take_while(|&&x| x > e);
        self.marks[e.index()].is_chosen() && after.all(|&x| execution.happens_before(x, later))
    }

    /// The events between `e` and `later` that happen before `later`; nothing if one of them happens after `e`.
    fn past(&self, e: Position, later: Position) -> Option<Past> {
        let execution = &self.run.execution;
        let between = (e.index() + 1..later.index()).map(Position::new);
        let past: Past = between.filter(|&x| execution.happens_before(x, later)).collect();
        let clean = !past.iter().any(|&x| execution.happens_before(e, x));
        clean.then_some(past)
    }

    /// Races of a step that may wait or act differently. `is_new`: it was not there in the parent. Returns whether it
    /// has to be looked at again when it is not.
    fn reverse(&mut self, later: &Later, is_new: bool) -> Again {
        let only = |mode| later.accesses.iter().all(|a| a.mode == mode || a.mode.is_cause());
        match later.flexibility {
            Flexibility::Lock if only(Mode::Acquire) => {
                debug_assert!(is_new, "what waits for a mutex is looked at once");
                self.reverse_lock(later);
                Again::No
            }
            Flexibility::Blocking if only(Mode::Join) => Again::No,
            _ => self.reverse_general(later, is_new),
        }
    }

    /// Races of taking a mutex.
    fn reverse_lock(&mut self, later: &Later) {
        if later.executed {
            for e in lock_races(&self.run.execution, later.at) {
                let looks = |a: &Access| a.mode == Mode::Probe;
                if self.run.execution.accesses(e).iter().any(looks)
                    && self.could_put_off(e, later.at)
                    && let Some(past) = self.past(e, later.at)
                {
                    let step = self.run.execution.event(later.at).step();
                    self.offer(e, &past, step, &later.accesses);
                }
            }
        }
        let Some(own) = later.accesses.iter().find(|a| a.mode == Mode::Acquire) else { return };
        let last = self.departures.iter().rev().find(|&&x| !self.knows(later, x));
        let acquires: SmallVec<[Position; 8]> = self
            .run
            .execution
            .history(own.object, later.at)
            .take_while(|&(e, _)| !self.knows(later, e) && last.is_none_or(|&last| e >= last))
            .filter(|(_, access)| access.mode == Mode::Acquire)
            .map(|(e, _)| e)
            .collect();
        for e in acquires {
            if !self.marks[e.index()].is_chosen() {
                continue;
            }
            let between = (e.index() + 1..later.at.index()).map(Position::new);
            let past: Past = between.filter(|&x| self.knows(later, x)).collect();
            self.offer(e, &past, Step::of(later.thread), &later.accesses);
        }
    }

    fn knows(&self, later: &Later, x: Position) -> bool {
        let id = self.run.execution.event(x).id;
        later.known.get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }

    /// Races of any other step.
    fn reverse_general(&mut self, later: &Later, is_new: bool) -> Again {
        let mut again = Again::No;
        if later.executed {
            for nth in 0..self.run.execution.predecessors(later.at).len() {
                let e = self.run.execution.predecessors(later.at)[nth];
                if is_hard(&self.run.execution, e, later.at) || !self.marks[e.index()].is_chosen() {
                    continue;
                }
                let Some(base) = self.past(e, later.at) else { continue };
                let Some(decided) = self.decided(later, e, &base) else {
                    again = Again::Yes;
                    self.with_target(later, e, base.into_vec(), true);
                    continue;
                };
                if is_new && self.could_put_off(e, later.at) {
                    for (step, footprint) in decided {
                        self.offer(e, &base, step, footprint.accesses());
                    }
                }
            }
        }
        for e in self.candidates(later) {
            again = Again::Yes;
            if self.marks[e.index()].is_chosen() {
                let between = (e.index() + 1..self.run.execution.len()).map(Position::new);
                let base = between.filter(|&x| self.knows(later, x)).collect();
                self.with_target(later, e, base, false);
            }
        }
        again
    }

    /// What the step does before `e`, if it is always enabled and touches one object whatever the state is. That
    /// object is then as `e` finds it, as whatever changes it depends on `e`, and nothing but `base` can be in
    /// its past. Empty if the step is independent of `e` there.
    fn decided(
        &mut self,
        later: &Later,
        e: Position,
        base: &[Position],
    ) -> Option<SmallVec<[(Step, Footprint); 1]>> {
        let &[access] = later.accesses.as_slice() else { return None };
        let execution = &self.run.execution;
        let other = execution.accesses(e).iter().find(|other| other.object == access.object)?;
        let excludes_changes = commute(other.mode, Mode::Read) || !commute(other.mode, other.mode);
        if later.flexibility != Flexibility::Conditional || !excludes_changes {
            return None;
        }
        if let Some(decided) = decided(&mut self.run, e, later.at, base) {
            return Some(decided.into_iter().collect());
        }
        let execution = &self.run.execution;
        let previous = execution.previous_of_thread(later.at);
        let is_needed = |x: Position| previous.is_some_and(|p| execution.happens_before(x, p));
        let needed: SmallVec<[Position; 8]> =
            base.iter().copied().filter(|&x| is_needed(x)).collect();
        let trial = try_out(&mut self.run, e.index(), &needed, later.thread);
        let Trial::Enabled(alternatives) = trial else { return None };
        let is_single = |footprint: &Footprint| matches!(footprint.accesses(), [one] if one.object == access.object);
        if !alternatives.iter().all(is_single) {
            return None;
        }
        let steps = (0..).map(|choice| Step { thread: later.thread, choice }).zip(alternatives);
        let execution = &self.run.execution;
        Some(steps.filter(|(_, it)| execution.depends_on(it.accesses(), e)).collect())
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

    /// Offers what puts `e`, which was chosen, off with a target that contains the step after `e`, or that does
    /// not.
    fn with_target(&mut self, later: &Later, e: Position, base: Vec<Position>, contains: bool) {
        let execution = &self.run.execution;
        let may_be_past = |x: Position| {
            !execution.happens_before(e, x)
                && execution.event(x).thread() != later.thread
                && !(later.executed && execution.happens_before(later.at, x))
        };
        // All departures are in the target.
        let departures = self.departures.iter().rev().copied().take_while(|&x| x > e);
        let needed: SmallVec<[Position; 8]> = departures
            .filter(|&x| !(contains && later.executed && x == later.at))
            .filter(|x| base.binary_search(x).is_err())
            .collect();
        if !needed.iter().all(|&x| may_be_past(x)) {
            return;
        }
        let after = (e.index() + 1..execution.len()).map(Position::new);
        let mut rest: Vec<Position> =
            after.filter(|&x| may_be_past(x) && base.binary_search(&x).is_err()).collect();
        let mut base = base;
        if !needed.is_empty() {
            let is_needed = |x: Position| needed.iter().any(|&y| execution.happens_before(x, y));
            base.extend(rest.iter().copied().filter(|&x| is_needed(x)));
            base.sort_unstable();
            rest.retain(|x| base.binary_search(x).is_err());
        }
        let question = Question { e, later: later.clone(), contains };
        self.go_on_with(Rest::new(question, base, rest));
    }

    /// Offers the next children that the question leads to, and notes what is left of it.
    pub(super) fn go_on_with(&mut self, mut rest: Rest) {
        let known = self.pending.len();
        while self.pending.len() < known + CHILDREN_AT_A_TIME {
            let Some((past, alternatives)) = rest.next(&mut self.run) else { return };
            for (number, footprint) in alternatives.into_iter().enumerate() {
                let step = Step { thread: rest.question.later.thread, choice: number as u32 };
                if self.is_answer(&rest.question, &past, step, footprint.accesses()) {
                    self.offer(rest.question.e, &past, step, footprint.accesses());
                }
            }
        }
        if !rest.is_empty() {
            let items = self.items(Position::new(self.run.execution.len()));
            self.pending.insert(known, Unit { items, rest: Some(Box::new(rest)), share: 0.0 });
        }
    }

    /// Whether the step depends on `e`, all of `past` happens before it, and the target is what was asked for.
    fn is_answer(
        &mut self,
        question: &Question,
        past: &[Position],
        step: Step,
        accesses: &[Access],
    ) -> bool {
        let &Question { e, ref later, contains } = question;
        let execution = &self.run.execution;
        if contains && execution.event(later.at).choice != step.choice
            || !execution.depends_on(accesses, e)
        {
            return false;
        }
        let direct =
            |x: Position| self.knows(later, x) || dependent(execution.accesses(x), accesses);
        let happens =
            |x: Position| past.iter().any(|&y| direct(y) && execution.happens_before(x, y));
        if !past.iter().all(|&x| happens(x)) {
            return false;
        }
        if contains {
            return true;
        }
        let mut with = vec![e];
        with.extend_from_slice(past);
        match try_out(&mut self.run, e.index(), &with, later.thread) {
            Trial::Enabled(alternatives) => step.choice as usize >= alternatives.len(),
            _ => true,
        }
    }

    /// The other alternatives of a step that was chosen freely.
    fn add_alternatives(&mut self, at: Position) {
        let event = *self.run.execution.event(at);
        for choice in 1..event.choices {
            let mut items = self.items(at);
            items.push(Item { step: Step { choice, ..event.step() }, mark: Mark::Other });
            self.pending.push(Unit::new(items));
        }
    }

    /// Adds the unit that puts off `e` for the step, which runs after `past`, unless another parent has it.
    fn offer(&mut self, e: Position, past: &[Position], step: Step, accesses: &[Access]) {
        if !self.is_in_order(e, past, step, accesses) {
            return;
        }
        let mut items = self.items(e);
        let execution = &self.run.execution;
        for &x in past {
            items.push(Item { step: execution.event(x).step(), mark: Mark::Block });
        }
        items.push(Item { step, mark: Mark::Head(execution.event(e).step()) });
        self.pending.push(Unit::new(items));
    }

    fn items(&mut self, before: Position) -> Vec<Item> {
        let mut items = self.spare.pop().unwrap_or_default();
        items.clear();
        let marked = self.run.execution.steps().iter().zip(&self.marks).take(before.index());
        items.extend(marked.map(|(&step, &mark)| Item { step, mark }));
        items
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
