//! What happens in an execution that is followed, step by step: what each thread read, and which newer values it did not see.

use selvedge_core::{
    Effect, EventId, Fault, GraphSystem, Label, ReplayedStep, Status, Step, ThreadId, Unfinished,
};
use selvedge_explore::{Act, Follower, Graph, Reading, Source};

use crate::rt::GraphProgram;

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
    pub(super) steps: Vec<ReplayedStep>,
    pub(super) turns: Vec<Turn>,
    /// The threads in the order in which they were spawned.
    pub(super) threads: Vec<ThreadId>,
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
    /// Nothing has happened yet.
    pub(super) fn new() -> Self {
        Self {
            effect: Effect::default(),
            steps: Vec::new(),
            turns: Vec::new(),
            threads: vec![ThreadId::new(0)],
            stale: Vec::new(),
        }
    }

    /// The number of a thread in reports.
    pub(super) fn number(&self, thread: ThreadId) -> usize {
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

/// Why a thread failed, if it did.
pub(super) fn failed(system: &GraphProgram, thread: ThreadId) -> Option<Fault> {
    (system.label(thread) == Label::Failed).then(|| system.fault(thread)).flatten()
}

impl Teller {
    pub(super) fn unfinished(&self, system: &GraphProgram) -> Vec<Unfinished> {
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
