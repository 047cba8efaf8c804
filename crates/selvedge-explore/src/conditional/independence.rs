//! Where dependent steps commute: edges that are left out, sequences that sleep, sleepers that sleep on.
//!
//! For a race `e ⋖ n` the question is asked in the state after `E'.u`, where `E'` is `pre(E,e)` and `u` what
//! happens before `n` after `e`. There a constraint may hold (or both orders may be tried). If in addition no other
//! thread can ever write what the constraint read, in whatever it still does, then they commute from
//! there on permanently: *transitively uniform*.
//!
//! **Threads that both make.** Two tasks that commute may spawn the same thread under another name,
//! because the second one does it, whichever that is. Then that thread exists because of both, and both happen
//! before it.

use std::collections::BTreeMap;

use selvedge_core::{
    Access, Edges, Effect, Execution, Flexibility, Footprint, Holding, Mode, Position, Status,
    Step, System, ThreadId, commute,
};

use crate::trace::clock::{Clock, join};
use crate::trace::races::hard_causes;
use crate::trace::sequence::Move;

use super::fragile::Fragile;
use super::sleepers::{Sleeper, SleepsOn};
use super::{Means, Search};

/// What is known of a step before it is taken.
#[derive(Default)]
pub(super) struct Known {
    /// What it will do.
    effect: Effect,
    /// How it is ordered.
    pub(super) edges: Edges,
    /// Those of the events without an edge that commute with it for a conditional reason.
    pub(super) uniform: Vec<Position>,
    /// Pairs with it that act differently in the order that is left out.
    pub(super) fragile: Vec<Fragile>,
    /// Threads that it will make together with an event that is left out.
    pub(super) caused: Vec<(ThreadId, Position)>,
}

/// A race, and where the question is asked.
struct Race<'a> {
    e: Position,
    u: &'a [Position],
    n: Step,
    /// What `n` touches where it is.
    accesses: &'a [Access],
    /// What happens before `n` as far as it is known.
    clock: &'a [u32],
    /// Whether they conflict as they are; else only `e` as it acts after `u` may.
    is_conflict: bool,
    /// Whether one of them can wait.
    waits: bool,
}

/// What came of asking whether two steps commute.
enum Judged {
    /// They do not touch the same, after all.
    Apart,
    /// They do not commute permanently.
    Race {
        /// What the first touches there.
        touched: Footprint,
    },
    /// They commute from there on, whatever happens.
    Uniform {
        /// The threads that both make.
        caused: Vec<ThreadId>,
        /// What each touches in one order or the other, if that is not the same.
        differs: Option<[Vec<Access>; 2]>,
    },
}

impl<S: System> Search<'_, S> {
    /// Finds the races of a step that is about to be taken in which it commutes with the other, and
    /// puts the sequences to sleep that would reverse them.
    pub(super) fn look_back(&mut self, step: Step) -> Known {
        let mut known = Known::default();
        let Some(means) = self.means else { return known };
        self.run.system.pending(step, &mut known.effect);
        let end = Position::new(self.run.execution.len());
        let execution = &self.run.execution;
        let accesses = known.effect.footprint.accesses().to_vec();
        if execution.last_of(step.thread).is_none() {
            let causes = self.caused.iter().filter(|(_, child, _)| *child == step.thread);
            known.edges.causes = causes.map(|&(_, _, cause)| cause).collect();
        }
        // Whether they conflict as they are, or may only in the way in which they act elsewhere.
        let mut candidates: BTreeMap<Position, bool> =
            self.left_out.keys().map(|&first| (first, false)).collect();
        self.conflicts(&accesses, end, |e| {
            candidates.insert(e, true);
        });
        let mut clock = Clock::new();
        let previous = execution.last_of(step.thread).into_iter();
        let causes = previous.chain(hard_causes(execution, &accesses, end));
        for cause in causes.chain(known.edges.causes.iter().copied()) {
            join(&mut clock, execution.clock(cause));
        }
        let arrival = self.arrival(step, &accesses, end);
        while let Some((e, is_conflict)) = candidates.pop_last() {
            if self.knows(&clock, e) || !is_conflict && !self.acts_elsewhere(&clock, e) {
                continue;
            }
            let event = self.run.execution.event(e);
            let waits = can_wait(known.effect.flexibility) || can_wait(event.flexibility);
            if is_conflict && !waits && means == Means::Constraints {
                let other = self.arrival(event.step(), self.run.execution.accesses(e), e);
                if self.are_unordered(&arrival, &other) {
                    known.edges.left_out.push(e);
                    continue;
                }
            }
            let between = (e.index() + 1..end.index()).map(Position::new);
            let u: Vec<Position> = between.filter(|&x| self.knows(&clock, x)).collect();
            let race =
                Race { e, u: &u, n: step, accesses: &accesses, clock: &clock, is_conflict, waits };
            let judged = self.judge(means, &race);
            self.run.system.rewind(&self.run.execution.steps()[..e.index()]);
            match judged {
                Judged::Apart => {}
                Judged::Uniform { caused, differs } => {
                    self.pruned = true;
                    known.edges.left_out.push(e);
                    known.uniform.push(e);
                    known.fragile.extend(differs.map(|touched| Fragile::new([e, end], touched)));
                    known.caused.extend(caused.into_iter().map(|child| (child, e)));
                }
                Judged::Race { touched } => {
                    if is_conflict {
                        join(&mut clock, self.run.execution.clock(e));
                    } else {
                        known.edges.elsewhere.push((e, touched));
                    }
                }
            }
        }
        self.run.sync_to(end.index());
        known
    }

    /// Returns whether `e` may act differently than it did because something that it commutes with comes first,
    /// and that is known.
    fn acts_elsewhere(&self, clock: &[u32], e: Position) -> bool {
        let seconds = self.left_out.get(&e);
        seconds.is_some_and(|seconds| seconds.iter().any(|&second| self.knows(clock, second)))
    }

    /// Calls `found` with the events before `end` that a step with these accesses depends on.
    fn conflicts(&self, accesses: &[Access], end: Position, mut found: impl FnMut(Position)) {
        for access in accesses.iter().filter(|access| !access.mode.is_cause()) {
            for (position, other) in self.run.execution.history(access.object, end) {
                if !commute(other.mode, access.mode) {
                    found(position);
                }
            }
        }
    }

    pub(super) fn knows(&self, clock: &[u32], position: Position) -> bool {
        let id = self.run.execution.event(position).id;
        clock.get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }

    /// Returns whether the event `e` and the step `n` commute after `E'.u`; if so, puts `u.n.e` to sleep. Leaves
    /// the system elsewhere.
    fn judge(&mut self, means: Means, race: &Race<'_>) -> Judged {
        let &Race { e, u, n, accesses, clock, is_conflict, waits } = race;
        self.run.sync_to(e.index());
        let first = self.run.execution.event(e).step();
        let unknown = || Judged::Race { touched: Footprint::of_event(accesses) };
        let (mut moves, mut effect) = (Vec::new(), Effect::default());
        for &position in u {
            let step = self.run.execution.event(position).step();
            if !self.can_take(step) {
                return unknown();
            }
            self.run.system.step(step, &mut effect);
            moves.push(Move::new(step, effect.choices, effect.footprint.clone()));
        }
        if !self.can_take(first) || !self.can_take(n) {
            return unknown();
        }
        self.run.system.pending(first, &mut effect);
        let touched = effect.footprint.clone();
        if !is_conflict {
            self.run.system.pending(n, &mut effect);
            if !touched.dependent(&effect.footprint) {
                return Judged::Apart;
            }
        }
        if waits || !is_memory(accesses) || !is_memory(touched.accesses()) {
            return Judged::Race { touched };
        }
        let holding = self.holding(means, [first.thread, n.thread], |execution| {
            let mut steps = execution.steps()[..e.index()].to_vec();
            steps.extend(u.iter().map(|&position| execution.event(position).step()));
            steps
        });
        let mut uniform = self.is_uniform(&holding, [first.thread, n.thread]);
        let mut commutes = !holding.is_empty();
        let (mut caused, mut differs) = (Vec::new(), None);
        let spawns = accesses.iter().any(|access| access.mode == Mode::Spawn);
        if !commutes || uniform && spawns {
            let Some(conditions) = self.run.system.conditions() else { return unknown() };
            let tried = conditions.try_both_orders(first, n);
            commutes |= tried.same;
            caused = tried.caused;
        }
        if commutes {
            self.run.system.step(n, &mut effect);
            // Without `e` it may conflict with more of what came before it, and that was not seen.
            let end = Position::new(self.run.execution.len());
            let more = beyond(effect.footprint.accesses(), accesses);
            self.conflicts(&more, end, |f| uniform &= f == e || self.knows(clock, f));
            moves.push(Move::new(n, effect.choices, effect.footprint.clone()));
            if !self.can_take(first) {
                return Judged::Race { touched };
            }
            self.run.system.pending(first, &mut effect);
            // Behind `n` it may conflict with more of what came before both.
            let execution = &self.run.execution;
            let more = beyond(effect.footprint.accesses(), execution.accesses(e));
            self.conflicts(&more, end, |f| {
                uniform &= self.knows(clock, f)
                    || f == e
                    || execution.happens_before(f, e)
                    || execution.happens_before(e, f);
            });
            // What one of them touches only in the order that was seen makes edges that hide races.
            let alone = moves[moves.len() - 1].footprint.accesses();
            let less = [
                beyond(accesses, alone),
                beyond(execution.accesses(e), effect.footprint.accesses()),
            ];
            self.conflicts(&less[0], end, |f| uniform &= f == e || self.knows(clock, f));
            self.conflicts(&less[1], end, |f| {
                let is_own = execution.event(f).thread() == first.thread;
                uniform &= is_own || self.knows(clock, f);
            });
            let behind = effect.footprint.accesses();
            if alone != accesses || behind != execution.accesses(e) {
                differs =
                    Some([[behind, execution.accesses(e)].concat(), [alone, accesses].concat()]);
            }
            moves.push(Move::new(first, effect.choices, effect.footprint.clone()));
            self.pruned = true;
            self.sleep.add_sequence(e.index(), moves);
        }
        if uniform { Judged::Uniform { caused, differs } } else { Judged::Race { touched } }
    }

    /// Returns the sleepers of the last node that go on sleeping after a step although they depend on it.
    pub(super) fn sleeps_on(&mut self, step: Step, known: &Known) -> Vec<(usize, SleepsOn)> {
        let mut sleeping_on = Vec::new();
        let accesses = known.effect.footprint.accesses();
        if self.means != Some(Means::Constraints)
            || can_wait(known.effect.flexibility)
            || !is_memory(accesses)
        {
            return sleeping_on;
        }
        let asleep: Vec<(usize, Move)> = self
            .sleep
            .last()
            .iter()
            .enumerate()
            .filter_map(|(number, sleeper)| match sleeper {
                Sleeper::Step(asleep, _)
                    if asleep.step.thread != step.thread
                        && asleep.depends_on(accesses)
                        && is_memory(asleep.footprint.accesses()) =>
                {
                    Some((number, asleep.clone()))
                }
                _ => None,
            })
            .collect();
        let end = Position::new(self.run.execution.len());
        let arrival = self.arrival(step, accesses, end);
        let mut effect = Effect::default();
        for (number, other) in asleep {
            if !self.can_take(other.step) {
                continue;
            }
            self.run.system.pending(other.step, &mut effect);
            if can_wait(effect.flexibility) {
                continue;
            }
            let theirs = self.arrival(other.step, other.footprint.accesses(), end);
            if self.are_unordered(&arrival, &theirs) {
                sleeping_on.push((number, SleepsOn::AsBefore));
                continue;
            }
            let sides = [step.thread, other.step.thread];
            let holding =
                self.holding(Means::Constraints, sides, |execution| execution.steps().to_vec());
            if self.is_uniform(&holding, sides) {
                self.pruned = true;
                sleeping_on.push((number, SleepsOn::Conditionally));
            }
        }
        sleeping_on
    }

    /// Returns the constraints that hold here. If they are to be checked, those that are right; `behind` tells what
    /// was run to come here.
    pub(super) fn holding(
        &mut self,
        means: Means,
        [first, second]: [ThreadId; 2],
        behind: impl FnOnce(&Execution) -> Vec<Step>,
    ) -> Vec<Holding> {
        let Some(conditions) = self.run.system.conditions() else { return Vec::new() };
        if means != Means::Constraints {
            return Vec::new();
        }
        let mut holding = conditions.constraints(first, second);
        if self.run.options.check_constraints {
            let mut wrong = None;
            holding.retain(|holding| match conditions.refute(holding, first, second) {
                Some(violation) => {
                    wrong = Some(violation);
                    false
                }
                None => true,
            });
            if let Some(violation) = wrong {
                let steps = behind(&self.run.execution);
                self.run.note_violation_behind(violation, steps);
            }
        }
        holding
    }

    /// Returns whether one of the constraints stays true whatever threads other than these two do.
    pub(super) fn is_uniform(&mut self, holding: &[Holding], sides: [ThreadId; 2]) -> bool {
        if holding.iter().any(|holding| holding.reads.is_empty()) {
            return true;
        }
        if holding.is_empty() {
            return false;
        }
        let mut stable = vec![true; holding.len()];
        for thread in self.run.threads().filter(|thread| !sides.contains(thread)) {
            let Some(conditions) = self.run.system.conditions() else { return false };
            let may = conditions.may_access(thread);
            for (stable, holding) in stable.iter_mut().zip(holding) {
                *stable &= !holding.reads.iter().any(|&object| may.may_write(object));
            }
        }
        stable.contains(&true)
    }

    pub(super) fn can_take(&self, step: Step) -> bool {
        step.thread.index() < self.run.system.thread_count()
            && self.run.system.status(step.thread) == Status::Enabled
            && step.choice < self.run.system.choices(step.thread)
    }
}

/// Returns the accesses that conflict with more than `usual` ones do.
fn beyond(accesses: &[Access], usual: &[Access]) -> Vec<Access> {
    let is_usual = |access: &&Access| {
        usual.iter().any(|other| {
            other.object == access.object
                && (other.mode == access.mode || !commute(other.mode, other.mode))
        })
    };
    accesses.iter().filter(|access| !is_usual(access)).copied().collect()
}

/// Returns whether a step that does not wait does nothing but read and write, and spawn, begin and end threads.
fn is_memory(accesses: &[Access]) -> bool {
    accesses.iter().all(|access| {
        access.mode.is_memory() || matches!(access.mode, Mode::Begin | Mode::Spawn | Mode::End)
    })
}

/// Returns whether a step can wait. Then what came before it may be what let it run, and to commute with others, which
/// might let it run too, says nothing of that.
pub(super) fn can_wait(flexibility: Flexibility) -> bool {
    match flexibility {
        Flexibility::Fixed | Flexibility::Conditional => false,
        Flexibility::Lock | Flexibility::Blocking => true,
    }
}
