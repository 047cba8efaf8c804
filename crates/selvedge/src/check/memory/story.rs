//! One execution under a memory model, run again: its steps, and all that is wrong in it.

use std::collections::BTreeMap;
use std::rc::Rc;

use selvedge_core::{
    Ending, Fault, GraphSystem, Label, Location, Replay, Schedule, ThreadId, Violation,
    ViolationKind,
};
use selvedge_explore::{Graph, GraphEvent, Memory, follow_graph, graph_races};

use super::advice;
use super::teller::{Teller, failed};
use crate::rt::{GraphProgram, Shared};

/// An execution that was run again.
pub(super) struct Story {
    pub(super) replay: Replay,
    /// All that is wrong in it.
    pub(super) violations: Vec<Violation>,
}

impl Story {
    /// Runs the execution with this schedule. What is wrong in it is found without the search.
    pub(super) fn follow(
        shared: &Rc<Shared>,
        memory: Memory,
        schedule: &Schedule,
        data_races: bool,
    ) -> Result<Self, String> {
        let mut system = GraphProgram::new(Rc::clone(shared), true);
        let mut teller = Teller::new();
        let graph = follow_graph(&mut system, memory, &schedule.steps, &mut teller)
            .map_err(|error| error.to_string())?;
        for (told, step) in teller.steps.iter_mut().zip(&schedule.steps) {
            told.step = *step;
        }
        let mut violations = Vec::new();
        for &thread in &teller.threads {
            if let Some(Fault::Violation(violation)) = failed(&system, thread) {
                violations.push(violation);
            }
        }
        let races = if data_races { graph_races(&system, &graph) } else { Vec::new() };
        let races = races.into_iter().map(|race| advice::data_race(&system, &graph, &teller, race));
        violations.extend(races);
        let ended = |thread: &ThreadId| system.label(*thread) == Label::Ended;
        let unfinished = teller.unfinished(&system);
        let mut end_violation = None;
        let mut ending = Some(Ending::Complete);
        if violations.is_empty() && !teller.threads.iter().all(ended) {
            ending = Some(Ending::Deadlocked);
            end_violation = system.deadlock();
        }
        let thread_names = teller.threads.iter().map(|&it| system.thread_name(it)).collect();
        let object_names = object_names(&system, &teller, &graph);
        if violations.is_empty() && end_violation.is_none() && ending == Some(Ending::Complete) {
            end_violation = system.end();
        }
        violations.extend(end_violation.clone());
        let weak = advice::stale_reads(&system, &graph, &teller);
        for violation in &mut violations {
            violation.thread = violation.thread.map(|thread| ThreadId::new(teller.number(thread)));
            if violation.kind != ViolationKind::DataRace {
                violation.notes.extend(weak.iter().cloned());
            }
        }
        let replay = Replay {
            schedule: schedule.clone(),
            steps: teller.steps,
            thread_names,
            object_names,
            unfinished,
            ending,
            end_violation: None,
        };
        Ok(Self { replay, violations })
    }
}

fn object_names(
    system: &GraphProgram,
    teller: &Teller,
    graph: &Graph,
) -> BTreeMap<selvedge_core::ObjectId, String> {
    let in_steps = teller
        .steps
        .iter()
        .flat_map(|step| step.effect.footprint.accesses().iter().map(|access| access.object));
    let at = |event: &GraphEvent| event.at;
    let located = teller.turns.iter().filter_map(|turn| at(graph.event(turn.event)));
    let located = located.map(|at: Location| system.object(at));
    in_steps.chain(located).map(|object| (object, system.object_name(object))).collect()
}
