//! Steps that commute wherever they meet: they are not ordered at all.
//!
//! The question is asked in the state after nothing but what led two threads to their next steps. There are two ways
//! to know the answer for all executions that go on from there.
//!
//! *Private* steps touch nothing that a third thread may ever change from there on; both orders lead to the same state; and each touches
//! the same whether the other comes first or not. Then what they read is the same wherever they are not ordered by other
//! events, but for each other's writes, and those change nothing.
//!
//! *Steady* steps touch the same in every state, and a constraint holds that no third thread can ever change. There may be many of
//! them that commute with each other, like additions to one sum.
//!
//! Either way, leaving out the edge between them gives a happens-before relation like any other: all linearisations of it are
//! executions with the same events, footprints and edges, and end in the same state. The search stays that of
//! `source.rs` for it, and nothing is lost.

use selvedge_core::{Access, Effect, Execution, Mode, Position, Step, System};

use crate::search::run::Run;
use crate::trace::clock::{Clock, join};
use crate::trace::races::hard_causes;

use super::independence::{holding, knows, lasts};
use super::{Conditional, Means};

/// A step, and what leads to it.
pub(super) struct Arrival {
    pub(super) step: Step,
    /// What it touches.
    pub(super) accesses: Vec<Access>,
    /// What happens before it, whatever other threads do: a clock.
    pub(super) led: Clock,
}

impl Conditional {
    /// Returns the step with these accesses that comes, or could come, at `position`.
    pub(super) fn arrival(
        &self,
        execution: &Execution,
        step: Step,
        accesses: &[Access],
        position: Position,
    ) -> Arrival {
        let mut led = Clock::new();
        let own = execution.of_thread(step.thread);
        let previous = own[..own.partition_point(|&event| event < position)].last().copied();
        if previous.is_none() {
            let makers = self.caused.iter().filter(|(_, child, _)| *child == step.thread);
            makers.for_each(|&(_, _, cause)| join(&mut led, execution.clock(cause)));
        }
        for cause in previous.into_iter().chain(hard_causes(execution, accesses, position)) {
            join(&mut led, execution.clock(cause));
        }
        Arrival { step, accesses: accesses.to_vec(), led }
    }
}

/// Returns whether two steps of different threads, which depend on each other and never wait, need no
/// order. Leaves the system in the state in which it was.
pub(super) fn are_unordered<S: System>(run: &mut Run<'_, S>, a: &Arrival, b: &Arrival) -> bool {
    if !is_plain(&a.accesses) || !is_plain(&b.accesses) {
        return false;
    }
    let end = run.execution.len();
    let led = |&position: &usize| {
        knows(&run.execution, &a.led, Position::new(position))
            || knows(&run.execution, &b.led, Position::new(position))
    };
    let common = (0..end).take_while(led).count();
    let others: Vec<Step> = (common..end).filter(led).map(|x| run.execution.steps()[x]).collect();
    run.sync_to(common);
    let mut steps = run.execution.steps()[..common].to_vec();
    let mut effect = Effect::default();
    let mut possible = true;
    for step in others {
        possible = possible && run.can_take(step);
        if possible {
            run.system.step(step, &mut effect);
            steps.push(step);
        }
    }
    let unordered = possible
        && [a, b].into_iter().all(|it| run.can_take(it.step) && touches_the_same(run, it))
        && (are_steady_here(run, a, b, &steps) || are_private_here(run, a, b, &mut steps));
    run.system.rewind(&run.execution.steps()[..common]);
    run.sync_to(end);
    unordered
}

/// Returns whether they are steady in the state after `steps`.
fn are_steady_here<S: System>(
    run: &mut Run<'_, S>,
    a: &Arrival,
    b: &Arrival,
    steps: &[Step],
) -> bool {
    let sides = [a.step.thread, b.step.thread];
    let holding = holding(run, Means::Constraints, sides, |_| steps.to_vec());
    lasts(run, &holding, sides).is_ok()
        && sides
            .into_iter()
            .all(|thread| run.system.conditions().is_some_and(|it| it.is_steady(thread)))
}

/// Returns whether they are private in the state after `steps`.
fn are_private_here<S: System>(
    run: &mut Run<'_, S>,
    a: &Arrival,
    b: &Arrival,
    steps: &mut Vec<Step>,
) -> bool {
    let sides = [a.step.thread, b.step.thread];
    for thread in run.threads().filter(|thread| !sides.contains(thread)) {
        let Some(conditions) = run.system.conditions() else { return false };
        let may = conditions.may_access(thread);
        let mut touched = a.accesses.iter().chain(&b.accesses);
        if touched.any(|access| access.mode.is_memory() && may.may_write(access.object)) {
            return false;
        }
    }
    let Some(conditions) = run.system.conditions() else { return false };
    let tried = conditions.try_both_orders(a.step, b.step);
    if !tried.same || !tried.caused.is_empty() {
        return false;
    }
    let mut effect = Effect::default();
    for (first, second) in [(a, b), (b, a)] {
        run.system.step(first.step, &mut effect);
        steps.push(first.step);
        let same = run.can_take(second.step) && touches_the_same(run, second);
        steps.pop();
        run.system.rewind(steps);
        if !same {
            return false;
        }
    }
    true
}

fn touches_the_same<S: System>(run: &mut Run<'_, S>, arrival: &Arrival) -> bool {
    let mut effect = Effect::default();
    run.system.pending(arrival.step, &mut effect);
    effect.footprint.accesses() == arrival.accesses
}

/// Returns whether a step does nothing but read and write, and begin and end its thread.
fn is_plain(accesses: &[Access]) -> bool {
    accesses
        .iter()
        .all(|access| access.mode.is_memory() || matches!(access.mode, Mode::Begin | Mode::End))
}
