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
    Access, Edges, Effect, Execution, Flexibility, Footprint, Holding, Mode, ObjectId, Position,
    Step, System, ThreadId, commute,
};

use crate::search::run::Run;
use crate::trace::clock::{Clock, join};
use crate::trace::races::hard_causes;
use crate::trace::sequence::Move;

use super::fragile::Fragile;
use super::sleepers::{Sleeper, SleepsOn};
use super::unordered::are_unordered;
use super::{Conditional, Means};

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

impl Conditional {
    /// Finds the races of a step that is about to be taken in which it commutes with the other, and
    /// puts the sequences to sleep that would reverse them.
    pub(super) fn look_back<S: System>(&mut self, run: &mut Run<'_, S>, step: Step) -> Known {
        let mut known = Known::default();
        let Some(means) = self.means else { return known };
        run.system.pending(step, &mut known.effect);
        let end = Position::new(run.execution.len());
        let execution = &run.execution;
        let accesses = known.effect.footprint.accesses().to_vec();
        if execution.last_of(step.thread).is_none() {
            let causes = self.caused.iter().filter(|(_, child, _)| *child == step.thread);
            known.edges.causes = causes.map(|&(_, _, cause)| cause).collect();
        }
        // Whether they conflict as they are, or may only in the way in which they act elsewhere.
        let mut candidates: BTreeMap<Position, bool> =
            self.left_out.keys().map(|&first| (first, false)).collect();
        conflicts(&run.execution, &accesses, end, |e| {
            candidates.insert(e, true);
        });
        let mut clock = Clock::new();
        let previous = execution.last_of(step.thread).into_iter();
        let causes = previous.chain(hard_causes(execution, &accesses, end));
        for cause in causes.chain(known.edges.causes.iter().copied()) {
            join(&mut clock, execution.clock(cause));
        }
        let arrival = self.arrival(&run.execution, step, &accesses, end);
        // [l.6]
        while let Some((e, is_conflict)) = candidates.pop_last() {
            if knows(&run.execution, &clock, e)
                || !is_conflict && !self.acts_elsewhere(&run.execution, &clock, e)
            {
                continue;
            }
            let event = run.execution.event(e);
            let waits = can_wait(known.effect.flexibility) || can_wait(event.flexibility);
            if is_conflict && !waits && means == Means::Constraints {
                let other =
                    self.arrival(&run.execution, event.step(), run.execution.accesses(e), e);
                if are_unordered(run, &arrival, &other) {
                    known.edges.left_out.push(e);
                    continue;
                }
            }
            // [l.8]
            let between = (e.index() + 1..end.index()).map(Position::new);
            let u: Vec<Position> = between.filter(|&x| knows(&run.execution, &clock, x)).collect();
            let race =
                Race { e, u: &u, n: step, accesses: &accesses, clock: &clock, is_conflict, waits };
            let judged = self.judge(run, means, &race);
            run.system.rewind(&run.execution.steps()[..e.index()]);
            match judged {
                Judged::Apart => {}
                // [l.9] No race, so no backtrack point.
                Judged::Uniform { caused, differs } => {
                    self.pruned = true;
                    known.edges.left_out.push(e);
                    known.uniform.push(e);
                    known.fragile.extend(differs.map(|touched| Fragile::new([e, end], touched)));
                    known.caused.extend(caused.into_iter().map(|child| (child, e)));
                }
                Judged::Race { touched } => {
                    if is_conflict {
                        join(&mut clock, run.execution.clock(e));
                    } else {
                        known.edges.elsewhere.push((e, touched));
                    }
                }
            }
        }
        run.sync_to(end.index());
        known
    }

    /// Returns whether `e` may act differently than it did because something that it commutes with comes first,
    /// and that is known.
    fn acts_elsewhere(&self, execution: &Execution, clock: &[u32], e: Position) -> bool {
        let seconds = self.left_out.get(&e);
        seconds.is_some_and(|seconds| seconds.iter().any(|&second| knows(execution, clock, second)))
    }

    /// Returns whether the event `e` and the step `n` commute after `E'.u`; if so, puts `u.n.e` to sleep. Leaves
    /// the system elsewhere.
    fn judge<S: System>(&mut self, run: &mut Run<'_, S>, means: Means, race: &Race<'_>) -> Judged {
        let &Race { e, u, n, accesses, clock, is_conflict, waits } = race;
        // [l.7]
        run.sync_to(e.index());
        let first = run.execution.event(e).step();
        let unknown = || Judged::Race { touched: Footprint::of_event(accesses) };
        let (mut moves, mut effect) = (Vec::new(), Effect::default());
        // Only behind what it commutes with permanently can `e` act differently than it did.
        let left_out = self.left_out.get(&e);
        for &position in u {
            let step = run.execution.event(position).step();
            if !run.can_take(step) {
                return unknown();
            }
            if left_out.is_some_and(|seconds| !seconds.contains(&position)) {
                if !run.can_take(first) {
                    return unknown();
                }
                run.system.pending(first, &mut effect);
                let acts = effect.footprint.clone();
                run.system.pending(step, &mut effect);
                if acts.dependent(&effect.footprint) {
                    // `E'.e.u`, which is explored, does not lead where `E'.u.e` does.
                    return unknown();
                }
            }
            run.system.step(step, &mut effect);
            moves.push(Move::new(step, effect.choices, effect.footprint.clone()));
        }
        if !run.can_take(first) || !run.can_take(n) {
            return unknown();
        }
        run.system.pending(first, &mut effect);
        let touched = effect.footprint.clone();
        if !is_conflict {
            run.system.pending(n, &mut effect);
            if !touched.dependent(&effect.footprint) {
                return Judged::Apart;
            }
        }
        if waits || !is_memory(accesses) || !is_memory(touched.accesses()) {
            return Judged::Race { touched };
        }
        // [l.11]
        let holding = holding(run, means, [first.thread, n.thread], |execution| {
            let mut steps = execution.steps()[..e.index()].to_vec();
            steps.extend(u.iter().map(|&position| execution.event(position).step()));
            steps
        });
        let lasting = lasts(run, &holding, [first.thread, n.thread]);
        if let Err(Fleeting::Changes(object)) = lasting {
            *self.changing.entry(object).or_default() += 1;
        }
        let mut uniform = lasting.is_ok();
        let mut commutes = !holding.is_empty();
        let (mut caused, mut differs) = (Vec::new(), None);
        let spawns = accesses.iter().any(|access| access.mode == Mode::Spawn);
        if !commutes || uniform && spawns {
            let Some(conditions) = run.system.conditions() else { return unknown() };
            // [l.14]
            let tried = conditions.try_both_orders(first, n);
            commutes |= tried.same;
            caused = tried.caused;
        }
        if commutes {
            run.system.step(n, &mut effect);
            // Without `e` it may conflict with more of what came before it, and that was not seen.
            let end = Position::new(run.execution.len());
            let more = beyond(effect.footprint.accesses(), accesses);
            conflicts(&run.execution, &more, end, |f| {
                uniform &= f == e || knows(&run.execution, clock, f)
            });
            moves.push(Move::new(n, effect.choices, effect.footprint.clone()));
            if !run.can_take(first) {
                return Judged::Race { touched };
            }
            run.system.pending(first, &mut effect);
            // Behind `n` it may conflict with more of what came before both.
            let execution = &run.execution;
            let more = beyond(effect.footprint.accesses(), execution.accesses(e));
            conflicts(&run.execution, &more, end, |f| {
                uniform &= knows(&run.execution, clock, f)
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
            conflicts(&run.execution, &less[0], end, |f| {
                uniform &= f == e || knows(&run.execution, clock, f)
            });
            conflicts(&run.execution, &less[1], end, |f| {
                let is_own = execution.event(f).thread() == first.thread;
                uniform &= is_own || knows(&run.execution, clock, f);
            });
            let behind = effect.footprint.accesses();
            if alone != accesses || behind != execution.accesses(e) {
                differs =
                    Some([[behind, execution.accesses(e)].concat(), [alone, accesses].concat()]);
            }
            moves.push(Move::new(first, effect.choices, effect.footprint.clone()));
            self.pruned = true;
            // [l.12]
            self.sleep.add_sequence(e.index(), moves);
        }
        if uniform { Judged::Uniform { caused, differs } } else { Judged::Race { touched } }
    }

    /// Returns the sleepers of the last node that go on sleeping after a step although they depend on it.
    pub(super) fn sleeps_on<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        step: Step,
        known: &Known,
    ) -> Vec<(usize, SleepsOn)> {
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
        let end = Position::new(run.execution.len());
        let arrival = self.arrival(&run.execution, step, accesses, end);
        let mut effect = Effect::default();
        for (number, other) in asleep {
            if !run.can_take(other.step) {
                continue;
            }
            run.system.pending(other.step, &mut effect);
            if can_wait(effect.flexibility) {
                continue;
            }
            let theirs = self.arrival(&run.execution, other.step, other.footprint.accesses(), end);
            if are_unordered(run, &arrival, &theirs) {
                sleeping_on.push((number, SleepsOn::AsBefore));
                continue;
            }
            let sides = [step.thread, other.step.thread];
            let holding =
                holding(run, Means::Constraints, sides, |execution| execution.steps().to_vec());
            // [l.17]
            if lasts(run, &holding, sides).is_ok() {
                self.pruned = true;
                sleeping_on.push((number, SleepsOn::Conditionally));
            }
        }
        sleeping_on
    }
}

/// Calls `found` with the events before `end` that a step with these accesses depends on.
fn conflicts(
    execution: &Execution,
    accesses: &[Access],
    end: Position,
    mut found: impl FnMut(Position),
) {
    for access in accesses.iter().filter(|access| !access.mode.is_cause()) {
        for (position, other) in execution.history(access.object, end) {
            if !commute(other.mode, access.mode) {
                found(position);
            }
        }
    }
}

pub(super) fn knows(execution: &Execution, clock: &[u32], position: Position) -> bool {
    let id = execution.event(position).id;
    clock.get(id.thread.index()).is_some_and(|&count| count > id.nth)
}

/// Returns the constraints that hold here. If they are to be checked, those that are right; `behind` tells what
/// was run to come here.
pub(super) fn holding<S: System>(
    run: &mut Run<'_, S>,
    means: Means,
    [first, second]: [ThreadId; 2],
    behind: impl FnOnce(&Execution) -> Vec<Step>,
) -> Vec<Holding> {
    let Some(conditions) = run.system.conditions() else { return Vec::new() };
    if means != Means::Constraints {
        return Vec::new();
    }
    let mut holding = conditions.constraints(first, second);
    if run.options.check_constraints {
        let mut wrong = None;
        holding.retain(|holding| match conditions.refute(holding, first, second) {
            Some(violation) => {
                wrong = Some(violation);
                false
            }
            None => true,
        });
        if let Some(violation) = wrong {
            let steps = behind(&run.execution);
            run.note_violation_behind(violation, steps);
        }
    }
    holding
}

/// Why no constraint stays true.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fleeting {
    /// None holds.
    NoneHolds,
    /// A third thread may write this, which the first one reads.
    Changes(ObjectId),
}

/// Whether one of the constraints stays true whatever threads other than these two do.
pub(super) fn lasts<S: System>(
    run: &mut Run<'_, S>,
    holding: &[Holding],
    sides: [ThreadId; 2],
) -> Result<(), Fleeting> {
    if holding.iter().any(|holding| holding.reads.is_empty()) {
        return Ok(());
    }
    let mut changes: Vec<Option<ObjectId>> = vec![None; holding.len()];
    for thread in run.threads().filter(|thread| !sides.contains(thread)) {
        let Some(conditions) = run.system.conditions() else { return Err(Fleeting::NoneHolds) };
        let may = conditions.may_access(thread);
        for (changes, holding) in changes.iter_mut().zip(holding) {
            let written = || holding.reads.iter().copied().find(|&object| may.may_write(object));
            *changes = changes.or_else(written);
        }
    }
    match changes.first() {
        None => Err(Fleeting::NoneHolds),
        Some(_) if changes.contains(&None) => Ok(()),
        Some(first) => Err(first.map_or(Fleeting::NoneHolds, Fleeting::Changes)),
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
