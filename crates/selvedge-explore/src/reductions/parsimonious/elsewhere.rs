//! Races of steps that may wait, or act differently without `e`: what they do must be tried in other states than those of
//! the execution.

use selvedge_core::{
    Access, Elsewhere, Flexibility, Footprint, Mode, Position, Step, System, ThreadId, commute,
    dependent, may_enable_only, never_disables,
};
use smallvec::SmallVec;

use super::Search;
use super::children::Later;
use super::pasts::{Question, Rest, Trial, try_out};
use super::stages::Config;
use super::unit::{Mark, Reasons, Unit};
use crate::trace::races::{decided, is_hard};

impl Later {
    /// Returns the access, if it waits for one object, and touched nothing else.
    fn single(&self) -> Option<Access> {
        let mut own = self.accesses.iter().filter(|access| !access.mode.is_cause());
        let waits = |mode| matches!(mode, Mode::Acquire | Mode::ShareAcquire | Mode::Down);
        match (own.next(), own.next()) {
            (Some(&access), None) if waits(access.mode) => Some(access),
            _ => None,
        }
    }
}

/// A race that can be looked at only in other states than those of the execution.
pub(super) struct Open {
    later: Later,
    e: Position,
    /// Whether the target contains the step after `e`.
    contains: bool,
    is_new: bool,
}

impl<S: System> Search<'_, S> {
    /// Races of any other step.
    pub(super) fn reverse_general(&mut self, later: &Later, is_new: bool, open: &mut Vec<Open>) {
        if later.executed && self.run.execution.event(later.at).choice == 0 {
            for nth in 0..self.run.execution.predecessors(later.at).len() {
                let e = self.run.execution.predecessors(later.at)[nth];
                if is_hard(&self.run.execution, e, later.at)
                    || self.marks[e.index()] != Mark::Free
                    || self.is_varied(e)
                    || !self.may_be_parent(later, e, true)
                {
                    continue;
                }
                let is_bounded = later.elsewhere == Elsewhere::AtMostThis;
                if is_bounded && !(self.could_put_off(e, later.at) && self.can_precede(later, e))
                    || later.elsewhere == Elsewhere::AnotherMessage && self.finds_nothing(later, e)
                {
                    continue;
                }
                let Some(base) = self.past(e, later.at) else { continue };
                if is_bounded && self.is_blind(later, e) {
                    let step = self.run.execution.event(later.at).step();
                    self.offer(e, &base, step, &later.accesses);
                    continue;
                }
                match decided(&mut self.run, e, later.at, &base) {
                    // It touches one object, whatever the state is.
                    Some(Some((step, footprint))) if is_new && self.could_put_off(e, later.at) => {
                        self.offer(e, &base, step, footprint.accesses());
                    }
                    Some(_) => {}
                    None => open.push(Open { later: later.clone(), e, contains: true, is_new }),
                }
            }
        }
        for e in self.candidates(later) {
            if self.marks[e.index()] == Mark::Free
                && !self.is_varied(e)
                && self.may_be_parent(later, e, false)
            {
                open.push(Open { later: later.clone(), e, contains: false, is_new });
            }
        }
    }

    /// Returns whether all departures after `e` can be in the target, which contains `later` or does not: each of them is
    /// in the past of that, or independent of both. Cheap, and rarely so.
    fn may_be_parent(&self, later: &Later, e: Position, contains: bool) -> bool {
        let execution = &self.run.execution;
        let mut after = self.departures.iter().rev().take_while(|&&x| x > e);
        after.all(|&x| {
            let is_needed = || match contains {
                true => execution.happens_before(x, later.at),
                false => self.knows(later, x),
            };
            let is_apart = || {
                execution.event(x).thread() != later.thread
                    && !(later.executed && execution.happens_before(later.at, x))
            };
            contains && x == later.at
                || !execution.happens_before(e, x) && (is_needed() || is_apart())
        })
    }

    /// Looks at a race in other states.
    pub(super) fn reverse_open(&mut self, race: &Open) {
        let &Open { ref later, e, contains, is_new } = race;
        if let Some(own) = later.single()
            && self.reverse_single(race, own)
        {
            return;
        }
        let base = match contains {
            true => self.past(e, later.at).unwrap_or_default(),
            false => self.known_since(later, e),
        };
        if contains && later.elsewhere == Elsewhere::AtMostThis {
            return self.reverse_bounded(later, e, &base);
        }
        debug_assert!(is_new || later.executed, "what is pending is new");
        self.with_target(later, e, base, contains);
    }

    /// Looks at a race of a step that waits for one object. Unless `e` shares that, what is in the past of the
    /// step is known: whatever else changes the object depends on `e`, or commutes with the step. Returns false if the step
    /// turns out to touch something else.
    fn reverse_single(&mut self, race: &Open, own: Access) -> bool {
        let &Open { ref later, e, contains, is_new } = race;
        let mut touched = self.run.execution.accesses(e).iter();
        let excludes = |a: &Access| a.object == own.object && !commute(a.mode, a.mode);
        if !contains && !touched.any(excludes) {
            return false;
        }
        let execution = &self.run.execution;
        let in_target = |x: Position| match contains {
            true => execution.happens_before(x, later.at),
            false => self.knows(later, x),
        };
        let mut after = self.departures.iter().rev().take_while(|&&x| x > e);
        let is_parent = is_new && after.all(|&x| in_target(x)) && self.is_apart(e, &in_target);
        let past = match contains {
            true => self.past(e, later.at).unwrap_or_default(),
            false => self.known_since(later, e),
        };
        // It was free for `e`, nothing in the past touches it, and `e` holds it: the step waits there. A try would fail.
        let mut touched = self.run.execution.accesses(e).iter();
        let takes = |a: &Access| a.object == own.object && a.mode == Mode::Acquire;
        let is_lock = matches!(own.mode, Mode::Acquire | Mode::ShareAcquire)
            && later.flexibility != Flexibility::Conditional;
        let is_bounded = later.elsewhere == Elsewhere::AtMostThis;
        if is_bounded && is_lock && !contains && touched.any(takes) {
            if is_parent {
                self.offer(e, &past, Step::of(later.thread), &later.accesses);
            }
            return true;
        }
        let Trial::Enabled(alternatives) = try_out(&mut self.run, e.index(), &past, later.thread)
        else {
            return true;
        };
        let is_only = |it: &Footprint| it.accesses().iter().all(|a| *a == own || a.mode.is_cause());
        if alternatives.len() > 1 || !is_only(&alternatives[0]) {
            return false;
        }
        if is_parent && (contains || !self.runs_after(later.thread, e, &past)) {
            self.offer(e, &past, Step::of(later.thread), alternatives[0].accesses());
        }
        true
    }

    /// Notes the events that were chosen while steps slept.
    pub(super) fn note_sleepy(&mut self) {
        self.sleepy.clear();
        let last = self.run.execution.len().saturating_sub(1);
        let mut noted = 0;
        for stage in &self.stages {
            // Where a thread spins, each of its steps may have a stage that stays open: each event is looked at once.
            let open = stage.head.index().max(noted) + 1..=stage.is_open_up_to(last);
            noted = noted.max(*open.end());
            let open = open.map(Position::new);
            self.sleepy.extend(open.filter(|e| self.marks[e.index()] == Mark::Free));
        }
    }

    /// Events of other threads, latest first, that may keep the step from running as it would without them.
    fn candidates(&self, later: &Later) -> SmallVec<[Position; 8]> {
        let execution = &self.run.execution;
        let mut candidates: SmallVec<[Position; 8]> = SmallVec::new();
        if later.flexibility != Flexibility::Conditional {
            for access in later.accesses.iter().filter(|access| !access.mode.is_cause()) {
                for (e, other) in execution.history(access.object, later.at) {
                    if !self.knows(later, e)
                        && !commute(other.mode, access.mode)
                        && !may_enable_only(other.mode, access.mode)
                        && !never_disables(other.mode)
                    {
                        candidates.push(e);
                    }
                }
            }
        }
        // Or sleep without them.
        let sleepy = self.sleepy.iter().copied().filter(|&e| {
            e < later.at
                && execution.event(e).thread() != later.thread
                && !self.knows(later, e)
                && (later.elsewhere != Elsewhere::AtMostThis || self.can_do_without(later, e))
        });
        candidates.extend(sleepy);
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.dedup();
        candidates
    }

    /// Races with events whose alternatives touch different things, or of such events.
    pub(super) fn reverse_varied(&mut self) {
        let end = self.run.execution.len();
        self.run.sync_to(end);
        let pending = self.not_over();
        let mut all: Vec<Later> = pending.into_iter().map(|it| self.pending_at_end(it)).collect();
        all.extend(self.run.execution.positions().map(|at| self.executed(at)));
        for later in all {
            let is_varied = later.executed && self.is_varied(later.at);
            for e in (0..later.at.index()).map(Position::new) {
                if self.marks[e.index()] != Mark::Free
                    || self.run.execution.event(e).thread() == later.thread
                    || self.knows(&later, e)
                    || !(is_varied || self.is_varied(e))
                {
                    continue;
                }
                if self.may_be_parent(&later, e, false) {
                    let base = self.known_since(&later, e);
                    self.with_target(&later, e, base, false);
                }
                if later.executed
                    && self.run.execution.event(later.at).choice == 0
                    && self.may_be_parent(&later, e, true)
                {
                    let execution = &self.run.execution;
                    let before = (e.index() + 1..later.at.index()).map(Position::new);
                    let base = before.filter(|&x| execution.happens_before(x, later.at)).collect();
                    self.with_target(&later, e, base, true);
                }
            }
        }
    }

    /// Returns all that the alternatives of the event, which was chosen, touch.
    fn touched(&self, e: Position) -> SmallVec<[Access; 4]> {
        match self.varied.binary_search_by_key(&e, |(x, _)| *x) {
            Ok(index) => self.varied[index].1.clone(),
            Err(_) => SmallVec::from_slice(self.run.execution.accesses(e)),
        }
    }

    /// Offers what puts `e`, which was chosen, off with a target that contains the step after `e`, or that does not.
    pub(super) fn with_target(
        &mut self,
        later: &Later,
        e: Position,
        base: Vec<Position>,
        contains: bool,
    ) {
        let execution = &self.run.execution;
        let touched = self.touched(e);
        // What comes after the other alternatives cannot be in the past either.
        let mut after_e: Vec<Position> = Vec::new();
        for x in (e.index() + 1..execution.len()).map(Position::new) {
            if execution.happens_before(e, x)
                || dependent(&touched, execution.accesses(x))
                || after_e.iter().any(|&y| execution.happens_before(y, x))
            {
                after_e.push(x);
            }
        }
        let may_be_past = |x: Position| {
            after_e.binary_search(&x).is_err()
                && execution.event(x).thread() != later.thread
                && !(later.executed && execution.happens_before(later.at, x))
        };
        if base.iter().any(|x| after_e.binary_search(x).is_ok()) {
            return;
        }
        let after = (e.index() + 1..execution.len()).map(Position::new);
        let rest: Vec<Position> =
            after.filter(|&x| may_be_past(x) && base.binary_search(&x).is_err()).collect();
        // All departures are in the target.
        let mut base = base;
        let needed: Vec<Position> = self
            .departures
            .iter()
            .copied()
            .filter(|&x| x > e && !(contains && x == later.at))
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
        let question = Question { e, later: later.clone(), contains };
        self.go_on_with(Rest::new(question, base, rest));
    }

    /// Offers the next children that the question leads to, and notes what is left of it.
    pub(super) fn go_on_with(&mut self, mut rest: Rest) {
        let known = self.pending.len();
        let touched = self.touched(rest.question.e);
        while self.pending.len() < known + self.run.options.caps.children {
            let Some((past, alternatives)) = rest.next(&mut self.run, &self.order) else { return };
            let Question { e, later, contains } = &rest.question;
            let (e, contains) = (*e, *contains);
            let thread = later.thread;
            if !self.is_apart(e, &|x| past.contains(&x) || contains && x == later.at) {
                continue;
            }
            let steps = (0..).map(|choice| Step { thread, choice });
            let is_head = |(step, it): &(Step, &Footprint)| {
                self.is_head(e.index(), &touched, &past, *step, it.accesses())
            };
            let Some((step, _)) = steps.zip(&alternatives).find(is_head) else { continue };
            if contains || !self.runs_after(thread, e, &past) {
                self.push(e, &past, step, Reasons::Open);
            }
        }
        if !rest.is_empty() {
            let items = self.items(Position::new(self.run.execution.len()));
            self.pending.insert(known, Unit { rest: Some(Box::new(rest)), ..Unit::new(items) });
        }
    }

    /// Returns whether the first alternative of the thread can run after `e` and `past`, and does not sleep.
    fn runs_after(&mut self, thread: ThreadId, e: Position, past: &[Position]) -> bool {
        let mut with = vec![e];
        with.extend_from_slice(past);
        match try_out(&mut self.run, e.index(), &with, thread) {
            Trial::Enabled(alternatives) => {
                let step = Step::of(thread);
                let (execution, order) = (&self.run.execution, &self.order);
                let config = Config { execution, order, len: e.index(), more: &with };
                let mut open = self.stages.iter().filter(|stage| stage.is_open(e.index()));
                !open.any(|stage| stage.sleeps(&config, step, alternatives[0].accesses()))
            }
            _ => false,
        }
    }

    /// Returns whether the step, which can run after the first `len` events and `past`, can be the head of a block with
    /// these: it conflicts with what is put off, all of them happen before it, and it does not sleep.
    pub(super) fn is_head(
        &self,
        len: usize,
        put_off: &[Access],
        past: &[Position],
        step: Step,
        accesses: &[Access],
    ) -> bool {
        let execution = &self.run.execution;
        let config = Config { execution, order: &self.order, len, more: past };
        dependent(put_off, accesses)
            && (past.is_empty() || {
                let causes = config.causes(step.thread, accesses);
                past.iter().all(|&x| causes.iter().any(|&by| execution.happens_before(x, by)))
            })
            && !self.sleeps(len, past, step, accesses)
    }
}
