//! Bounds on how often the token is passed to single threads.
//!
//! M. Ganai, S. Kundu, SPIN 2009, section 4, step 7: *CBˡ ≤ ctk ≤ CBᵘ* for the passes to one thread. Each step of a
//! bounded thread has a count of the passes to it and to the steps before it: one more than that of the step before,
//! or the same.
//!
//! An upper bound holds of every model. A lower bound holds where a violation is asked for: an execution with too few
//! passes may get more of them behind the place where a loop is cut, so that whether it is cut is asked without
//! the bound. What counts is the execution up to the first step that shows the violation: what would run afterwards is
//! not part of it. A thread that is not created in an execution has no bounds there.

use std::collections::BTreeMap;

use super::goals::{Goals, Wrong};
use super::steps::Steps;
use crate::bounds::{Bounds, ThreadBound};
use crate::circuit::Word;
use crate::encode::passes::Pass;
use crate::solver::Lit;
use crate::unroll::{EventId, FaultSite, Unrolled};

/// Counts the passes to bounded threads. Violations in executions with too few of them are no longer wrong.
pub(super) fn bound(
    unrolled: &mut Unrolled,
    steps: &Steps,
    happens: &[(Lit, Pass)],
    bounds: Bounds<'_>,
    goals: &mut Goals,
) {
    let enough = if bounds.have_least() { unrolled.circuit.fresh() } else { Lit::TRUE };
    for thread in 0..unrolled.threads.len() {
        let name = unrolled.threads[thread].name.clone();
        let of_thread = bounds.threads.iter().filter(|bound| bound.applies_to(&name));
        let of_thread: Vec<&ThreadBound> = of_thread.collect();
        if of_thread.is_empty() {
            continue;
        }
        let start = unrolled.threads[thread].start;
        let counts = counts(unrolled, &steps.of_thread[thread], steps, happens);
        for bound in of_thread {
            at_most(unrolled, &counts, bound.most);
            at_least(unrolled, steps, &counts, bound.least, &[enough, start]);
        }
    }
    if bounds.have_least() {
        demand(unrolled, steps, happens, enough, goals);
    }
}

/// Per step of a thread: how often the token was passed to it or to one before it.
fn counts(
    unrolled: &mut Unrolled,
    of_thread: &[EventId],
    steps: &Steps,
    happens: &[(Lit, Pass)],
) -> BTreeMap<EventId, Word> {
    let mut into: BTreeMap<EventId, Vec<Lit>> = BTreeMap::new();
    for &(lit, pass) in happens {
        into.entry(pass.to).or_default().push(lit);
    }
    // The token is not passed to a thread more often than it has steps.
    let width = (usize::BITS - of_thread.len().leading_zeros()) as usize + 1;
    let mut counts: BTreeMap<EventId, Word> = BTreeMap::new();
    for &event in of_thread {
        let received = into.remove(&event).unwrap_or_default();
        let received = unrolled.circuit.any(&received);
        let guard = unrolled.events[event.index()].guard;
        let count = unrolled.circuit.fresh_word(width);
        for &(condition, previous) in &steps.previous[event.index()] {
            let zero = || Word::constant(0, width);
            let before = previous.map_or_else(zero, |previous| counts[&previous].clone());
            let more = unrolled.circuit.add(&before, &Word::constant(1, width)).0;
            unrolled.circuit.imply_equal(&[guard, condition, received], &more, &count);
            unrolled.circuit.imply_equal(&[guard, condition, !received], &before, &count);
        }
        counts.insert(event, count);
    }
    counts
}

fn at_most(unrolled: &mut Unrolled, counts: &BTreeMap<EventId, Word>, most: Option<u32>) {
    let Some(most) = most.filter(|&most| (most as usize) < counts.len()) else { return };
    for (event, count) in counts {
        let guard = unrolled.events[event.index()].guard;
        let most = Word::constant(most as i32, count.width());
        let over = unrolled.circuit.less_unsigned(&most, count);
        unrolled.circuit.imply(&[guard], &[!over]);
    }
}

/// The thread has a last step, and its count is large enough, if all of `premises`.
fn at_least(
    unrolled: &mut Unrolled,
    steps: &Steps,
    counts: &BTreeMap<EventId, Word>,
    least: u32,
    premises: &[Lit; 2],
) {
    if least == 0 {
        return;
    }
    let mut runs = Vec::new();
    for (event, count) in counts {
        runs.push(unrolled.events[event.index()].guard);
        let under = match i32::try_from(least) {
            Ok(least) if least as usize <= counts.len() => {
                let least = Word::constant(least, count.width());
                unrolled.circuit.less_unsigned(count, &least)
            }
            _ => Lit::TRUE,
        };
        let [enough, start] = *premises;
        unrolled.circuit.imply(&[enough, start, steps.is_last[event.index()]], &[!under]);
    }
    unrolled.circuit.imply(premises, &runs);
}

/// Only a violation with which the execution ends, and which it has not shown before, is wrong, and only if no thread
/// has too few passes.
fn demand(
    unrolled: &mut Unrolled,
    steps: &Steps,
    happens: &[(Lit, Pass)],
    enough: Lit,
    goals: &mut Goals,
) {
    let mut out: BTreeMap<EventId, Vec<Lit>> = BTreeMap::new();
    for &(lit, pass) in happens {
        out.entry(pass.from).or_default().push(!lit);
    }
    let mut ends = Vec::new();
    for of_thread in &steps.of_thread {
        let mut last = Vec::new();
        for event in of_thread {
            let mut premises = out.get(event).cloned().unwrap_or_default();
            premises.push(steps.is_last[event.index()]);
            last.push(unrolled.circuit.all(&premises));
        }
        ends.push(unrolled.circuit.any(&last));
    }
    let all = goals.wrong.clone();
    for (index, (lit, wrong)) in goals.wrong.iter_mut().enumerate() {
        let mut premises = vec![*lit, enough];
        if let Wrong::Fault(FaultSite { site, kind, thread: Some(thread), .. }) = wrong {
            premises.push(ends[*thread]);
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            premises.extend(others.filter_map(|(_, (other, theirs))| match theirs {
                Wrong::Fault(fault) => {
                    let is_same = (fault.site, fault.kind) == (*site, *kind);
                    (is_same && fault.thread.is_some()).then_some(!*other)
                }
                Wrong::Deadlock | Wrong::Race(_) => None,
            }));
        }
        *lit = unrolled.circuit.all(&premises);
    }
    let lits: Vec<Lit> = goals.wrong.iter().map(|&(lit, _)| lit).collect();
    goals.violated = unrolled.circuit.any(&lits);
}
