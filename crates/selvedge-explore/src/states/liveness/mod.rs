//! Liveness: promises about whole executions, decided on the state graph.
//!
//! E. A. Emerson, C.-L. Lei: *Modalities for Model Checking: Branching Time Logic Strikes Back*, Science of Computer
//! Programming 8, 1987 (fair strongly connected components); R. Tarjan: *Depth-First Search and Linear Graph Algorithms*,
//! SIAM J. Comput. 1, 1972.
//!
//! An execution that does not keep a promise has a state from which on the promise is open, and then either ends, or stays forever, fairly,
//! in a strongly connected component of the states that do not keep it. Which states are *open*, where that may begin, and
//! which edges such a cycle may have, depends on the promise:
//!
//! | promise | begins | open states | edges of the cycle | may end |
//! |---|---|---|---|---|
//! | `eventually c` | in the initial state | those in which `c` is false | all | yes |
//! | `always p leads_to c` | where `p` is true | those in which `c` is false | all | yes |
//! | marks of progress | in the initial state | all | those without a mark | no |
//!
//! Under *weak* fairness a component has a fair cycle if each thread takes a step in it or is disabled in one of its
//! states: a cycle through all of it shows that. With *strong* fairness a thread that takes no step in it must be disabled in all of its
//! states: those in which it is not are removed, and what remains is decomposed again. States in which a thread has failed
//! or is blocked by an `assume` belong to executions that were reported, or do not count.
//!
//! **Differs from the paper:** the fair components are found forward, one by one, and not as a fixed point of sets of states.
//! **Tests:** `selvedge-testkit/tests/promises.rs`: random programs against a search that shares no code with this one.

mod fair;
mod graph;
mod lasso;

use selvedge_core::{Step, Violation, ViolationKind};

use crate::options::Fairness;
pub(super) use graph::{Edge, Graph};
pub(super) use lasso::Lasso;

/// Returns an execution that does not keep a promise, if there is one.
pub(super) fn broken(
    graph: &Graph,
    promise: usize,
    kind: ViolationKind,
    fairness: Fairness,
) -> Option<Lasso> {
    let is_progress = kind == ViolationKind::Progress;
    let is_open =
        |state: usize| !graph.is_void(state) && (is_progress || !graph.is_kept(promise, state));
    let starts: Vec<usize> = match kind {
        ViolationKind::LeadsTo => {
            (0..graph.states()).filter(|&at| graph.is_asked(promise, at) && is_open(at)).collect()
        }
        _ => Some(0).filter(|&at| is_open(at)).into_iter().collect(),
    };
    let reached = lasso::Reached::new(graph, &starts, is_open);
    let may_end = !is_progress;
    let end = reached.order.iter().position(|&at| may_end && graph.edges(at).len() == 0);
    let component =
        fair::component(graph, &reached, fairness, |edge| !is_progress || !edge.is_marked);
    let entry = component.as_ref().map(|found| found.entry);
    match (end, entry) {
        (Some(end), entry) if entry.is_none_or(|entry| end < entry) => {
            Some(reached.to(reached.order[end]))
        }
        (_, Some(entry)) => {
            let lasso = reached.to(reached.order[entry]);
            Some(Lasso { cycle: component?.cycle(graph, reached.order[entry], fairness), ..lasso })
        }
        (_, None) => None,
    }
}

/// Says which steps repeat, and why that is an execution of the program.
pub(super) fn told(
    mut violation: Violation,
    steps: &[Step],
    cycle: Option<usize>,
    fairness: Fairness,
) -> Violation {
    let Some(before) = cycle else {
        violation.notes.push("the execution ends, and there is nothing more to come".to_owned());
        return violation;
    };
    let (first, last) = (before + 1, steps.len());
    violation.notes.push(match first == last {
        true => format!("step {first} repeats forever"),
        false => format!("steps {first} to {last} repeat forever"),
    });
    let why = match fairness {
        Fairness::Weak => {
            "are fair: each thread takes a step in them, or cannot run somewhere in them"
        }
        Fairness::Strong => "are fair: each thread that can run in them takes a step in them",
        Fairness::None => "need not be fair: threads that can run may be left out forever",
    };
    violation.notes.push(format!("--fairness {}: they {why}", fairness.name()));
    violation
}
