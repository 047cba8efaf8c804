//! Every interleaving: the specification of all other explorers.
//!
//! **Equivalence:** none; two executions are the same only if they are the same sequence of steps.
//! **Guarantee:** every execution of the program, each exactly once.
//! **Differs from the paper:** there is none; this is plain depth-first search.
//! **Cost:** exponential; the time per execution is that of the steps since the last branch.
//! **Tests:** `selvedge-testkit/tests/small_programs.rs` counts interleavings by formula.
//!
//! It shares nothing with the reductions but the seam and the bookkeeping in `run.rs`.

use selvedge_core::{Report, Step, System};

use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::run::Run;
use crate::search::share::share_done;

pub(crate) const INFO: Info = Info {
    name: "oracle",
    summary: "every interleaving",
    advice: "For tests and tiny programs, and to cover everything within a bound on switches.",
    paper: "depth-first search",
    equivalence: Equivalence::Interleaving,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut run = Run::new(make, options, observer);
    let mut nodes: Vec<Node> = Vec::new();
    loop {
        match steps_from_here(&mut run) {
            Some(steps) if !run.is_at_step_limit() => nodes.push(Node { steps, taken: 0 }),
            rest => {
                if rest.is_some() {
                    run.finish_cut();
                } else {
                    run.finish();
                }
                run.after_execution(&|| fraction(&nodes));
            }
        }
        // Back to the last node that has a step left.
        while nodes.last().is_some_and(|node| node.taken == node.steps.len()) {
            nodes.pop();
        }
        let Some(node) = nodes.last_mut().filter(|_| !run.is_stopped()) else {
            return run.into_report();
        };
        let step = node.steps[node.taken];
        node.taken += 1;
        run.backtrack(nodes.len() - 1);
        run.step(step);
        run.after_step(&|| fraction(&nodes));
    }
}

/// A state on the current path, and the steps that can be taken there.
struct Node {
    steps: Vec<Step>,
    taken: usize,
}

/// Returns all steps that can be taken now; `None` if the execution is maximal.
fn steps_from_here<S: System>(run: &mut Run<'_, S>) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut maximal = true;
    let mut cut = false;
    for thread in run.threads() {
        if run.is_enabled(thread) {
            maximal = false;
            if run.is_within_preemptions(thread) {
                let choices = run.system.choices(thread);
                steps.extend((0..choices).map(|choice| Step { thread, choice }));
            } else {
                cut = true;
            }
        }
    }
    if cut {
        run.note_preemption_cut(true);
    }
    (!maximal).then_some(steps)
}

fn fraction(nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| (node.taken, node.steps.len())))
}
