//! Sleep sets alone.
//!
//! P. Godefroid: *Partial-Order Methods for the Verification of Concurrent Systems*, LNCS 1032, 1996,
//! chapter 5.
//!
//! | thesis | here |
//! |---|---|
//! | `s.Sleep` | [`SleepSets::last`] |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace. **Not guaranteed:** no redundant work; every
//! enabled thread is tried at every node, and most of these attempts end redundant.
//! **Differs from the paper:** 1. sleepers keep the footprint they had when they were explored, since
//! the footprint of a pending step can depend on the state.
//! **Cost:** time per execution linear in its length times the size of the sleep sets.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle, golden programs.

use selvedge_core::{Position, Report, Step, System};

use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info};
use crate::search::run::{Run, share_done};
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "sleep",
    summary: "sleep sets alone",
    advice: "As a baseline: what sleep sets contribute alone. The other reductions include them.",
    paper: "Godefroid, LNCS 1032, 1996",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: false,
    switch_bounds: true,
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut run = Run::new(make, options, observer);
    let mut sleep = SleepSets::new();
    let mut nodes: Vec<Node> = Vec::new();
    loop {
        arrive(&mut run, &sleep, &mut nodes);
        // Back to the last node that has a step left; what was explored sleeps from now on.
        loop {
            let Some(node) = nodes.last_mut().filter(|_| !run.is_stopped()) else {
                return run.into_report();
            };
            let depth = node.depth;
            sleep.ascend(depth);
            if node.taken > 0 {
                let explored = Position::new(depth);
                let event = run.execution.event(explored);
                sleep.add(event.step(), event.choices, run.execution.accesses(explored));
            }
            if let Some(&step) = node.steps.get(node.taken) {
                node.taken += 1;
                run.backtrack(depth);
                run.step(step);
                sleep.descend(step, run.execution.accesses(Position::new(depth)));
                run.after_step(&|| fraction(&nodes));
                break;
            }
            nodes.pop();
            // The parent's event must still be there when it is put to sleep.
            run.execution.truncate(depth);
        }
    }
}

/// A state on the current path, and the steps to take there that do not sleep.
struct Node {
    depth: usize,
    steps: Vec<Step>,
    taken: usize,
}

/// Ends the execution if it is over, or makes a node of the state.
fn arrive<S: System>(run: &mut Run<'_, S>, sleep: &SleepSets, nodes: &mut Vec<Node>) {
    let mut maximal = true;
    let mut cut = false;
    let mut steps = Vec::new();
    for thread in run.threads() {
        if run.is_enabled(thread) {
            maximal = false;
            cut |= !run.is_within_preemptions(thread);
            if run.is_within_preemptions(thread) {
                let all = (0..run.system.choices(thread)).map(|choice| Step { thread, choice });
                steps.extend(all.filter(|&step| !sleep.contains(step)));
            }
        }
    }
    if cut {
        run.note_preemption_cut(false);
    }
    if maximal {
        run.finish();
    } else if run.is_at_step_limit() {
        run.finish_cut();
    } else if steps.is_empty() && cut {
        run.finish_preempted(false);
    } else if steps.is_empty() {
        run.finish_redundant();
    } else {
        nodes.push(Node { depth: run.execution.len(), steps, taken: 0 });
        return;
    }
    run.after_execution(&|| fraction(nodes));
}

fn fraction(nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| (node.taken, node.steps.len())))
}
