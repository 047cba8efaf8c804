//! One execution under a memory model, told step by step: what each thread read, and which newer values it did not see.

use std::collections::BTreeMap;
use std::rc::Rc;

use selvedge_core::{
    Effect, Ending, EventId, Fault, GraphSystem, Label, Location, Replay, ReplayedStep, Schedule,
    Status, Step, ThreadId, Unfinished, Violation, ViolationKind,
};
use selvedge_explore::{
    Act, Follower, Graph, GraphEvent, Memory, Reading, Source, follow_graph, graph_races,
};

use super::advice;
use crate::rt::{GraphProgram, Shared};

/// An execution that was run again.
pub(super) struct Story {
    pub(super) replay: Replay,
    /// All that is wrong in it.
    pub(super) violations: Vec<Violation>,
}

/// A step as it was taken.
pub(super) struct Turn {
    pub(super) event: EventId,
    /// What it did, in words.
    pub(super) text: String,
    pub(super) place: Option<selvedge_core::Place>,
}

/// Notes what happens.
pub(super) struct Teller {
    effect: Effect,
    steps: Vec<ReplayedStep>,
    pub(super) turns: Vec<Turn>,
    /// The threads in the order in which they were spawned.
    threads: Vec<ThreadId>,
    /// Reads that did not see the newest value, each with the newer writes.
    pub(super) stale: Vec<(EventId, Vec<EventId>)>,
}

impl Follower<GraphProgram> for Teller {
    fn before(&mut self, system: &mut GraphProgram, thread: ThreadId) {
        system.effect(thread, &mut self.effect);
        if let Label::Spawn(child) = system.label(thread) {
            self.threads.push(child);
        }
    }

    fn after(&mut self, system: &mut GraphProgram, graph: &Graph, event: EventId) {
        let mut description = system.describe_last();
        let newer = newer_writes(graph, event);
        if !newer.is_empty() {
            let of = |&write: &EventId| self.told(system, write);
            let newer: Vec<String> = newer.iter().map(of).collect();
            description.text.push_str(&format!(", older than {}", newer.join(" and ")));
            self.stale.push((event, newer_writes(graph, event)));
        }
        let mut effect = std::mem::take(&mut self.effect);
        if let Some(fault) = failed(system, event.thread) {
            effect.fault = Some(fault);
        }
        let turn = Turn { event, text: description.text.clone(), place: description.place.clone() };
        self.turns.push(turn);
        let number = self.number(event.thread);
        let step = Step { thread: ThreadId::new(number), choice: 0 };
        let (values, others) = (Vec::new(), Vec::new());
        self.steps.push(ReplayedStep { step, description, effect, values, others });
    }
}

impl Teller {
    /// The number of a thread in reports.
    fn number(&self, thread: ThreadId) -> usize {
        self.threads.iter().position(|&known| known == thread).unwrap_or_default()
    }

    /// The step of an event: that of the read part, if it is a write part.
    pub(super) fn turn(&self, event: EventId) -> Option<&Turn> {
        let is_it = |turn: &&Turn| turn.event == event;
        let before = event.nth.checked_sub(1).map(|nth| EventId { nth, ..event });
        let of_read = || before.and_then(|before| self.turns.iter().find(|it| it.event == before));
        self.turns.iter().find(is_it).or_else(of_read)
    }

    /// What a write did, and by whom.
    fn told(&self, system: &GraphProgram, write: EventId) -> String {
        let name = system.thread_name(write.thread);
        match self.turn(write) {
            Some(turn) => format!("`{}` of {name}", turn.text),
            None => format!("a write of {name}"),
        }
    }
}

/// The writes that are newer than what an event reads, of those that were made before it.
fn newer_writes(graph: &Graph, event: EventId) -> Vec<EventId> {
    let read = graph.event(event);
    let (Some(at), Act::Read { from, reading }) = (read.at, read.act) else { return Vec::new() };
    let writes = graph.writes(at);
    let after = match from {
        Source::Initial => 0,
        Source::Write(write) => {
            writes.iter().position(|&other| other == write).map_or(0, |index| index + 1)
        }
    };
    // Its own write part comes next.
    let own = usize::from(reading == Reading::Updating);
    writes.get(after + own..).unwrap_or_default().to_vec()
}

fn failed(system: &GraphProgram, thread: ThreadId) -> Option<Fault> {
    (system.label(thread) == Label::Failed).then(|| system.fault(thread)).flatten()
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
        let mut teller = Teller {
            effect: Effect::default(),
            steps: Vec::new(),
            turns: Vec::new(),
            threads: vec![ThreadId::new(0)],
            stale: Vec::new(),
        };
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
            end_violation = system.judge(&|_| None).and_then(|(_, wrong)| wrong);
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

impl Teller {
    fn unfinished(&self, system: &GraphProgram) -> Vec<Unfinished> {
        let stands = |(number, &thread): (usize, &ThreadId)| {
            let label = system.label(thread);
            (!matches!(label, Label::Ended | Label::Failed)).then(|| Unfinished {
                thread: ThreadId::new(number),
                status: Status::Blocked,
                description: system.describe_pending(thread),
                obstacles: Vec::new(),
            })
        };
        self.threads.iter().enumerate().filter_map(stands).collect()
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
