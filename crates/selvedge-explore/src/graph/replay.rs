//! Follows a schedule through a graph system, and says what is wrong with where it leads.
//!
//! A schedule names an execution graph: threads in an order in which every read comes after what it reads, each with a
//! number that says which write it reads, or where its write goes (`Witness::choices`). Nothing of the search is used but
//! the graph and the memory models.

use selvedge_core::{
    Answer, Description, Ending, EventId, GraphDescribe, Inconclusive, Label, Location, Order,
    Schedule, Step, ThreadId, Violation,
};

use super::event::{Act, Event, Reading, Source};
use super::execution::Graph;
use super::models::{Judge, Memory};
use super::report::Finding;
use super::witness::Witness;
use super::{race, words};

/// An execution that was followed.
#[derive(Debug)]
pub struct Followed {
    /// Its graph.
    pub graph: Graph,
    /// What was done, in order.
    pub turns: Vec<Turn>,
    /// How it ended, if no thread can go on.
    pub ending: Option<Ending>,
    /// What is wrong, with the words for it.
    pub found: Vec<(Finding, Violation)>,
    /// The schedule, with the threads as a fresh system numbers them.
    pub schedule: Schedule,
    /// Why the tool gave up, if it did.
    pub gave_up: Option<Inconclusive>,
}

/// A turn of an execution.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The event; of a read-modify-write its read.
    pub event: EventId,
    /// The write part, if it has one.
    pub writes: Option<EventId>,
    /// What the schedule says about it.
    pub choice: u32,
    /// What it did.
    pub description: Description,
    /// The newer writes of its location that it did not see although they stand before it.
    pub missed: Vec<EventId>,
    /// Whether it is where its thread failed, and why.
    pub stopped: Option<String>,
}

/// Why a schedule could not be followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFollowed {
    /// The number of the step, from 0.
    pub step: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Follows a schedule.
///
/// # Errors
/// If a step is not possible, or the execution is not one of the memory model.
pub fn follow<S: GraphDescribe>(
    system: &mut S,
    memory: Memory,
    schedule: &Schedule,
    wants_races: bool,
) -> Result<Followed, NotFollowed> {
    let mut follower = Follower::new(system, memory);
    for &step in &schedule.steps {
        follower.step(step)?;
    }
    Ok(follower.finish(wants_races))
}

/// Follows a witness on a system that has not run before, whose threads may have other numbers.
///
/// # Errors
/// As [`follow`].
pub fn follow_witness<S: GraphDescribe>(
    system: &mut S,
    memory: Memory,
    witness: &Witness,
    wants_races: bool,
) -> Result<Followed, NotFollowed> {
    let mut follower = Follower::new(system, memory);
    let mut numbers: Vec<(ThreadId, ThreadId)> = Vec::new();
    for (&(thread, label, _), &choice) in witness.turns.iter().zip(&witness.choices) {
        let here = numbers.iter().find(|(there, _)| *there == thread).map_or(thread, |it| it.1);
        if let Label::Spawn(child) = label
            && let Some(Label::Spawn(mine)) = follower.label(here)
        {
            numbers.retain(|(there, _)| *there != child);
            numbers.push((child, mine));
        }
        follower.step(Step { thread: here, choice })?;
    }
    Ok(follower.finish(wants_races))
}

struct Follower<'s, S> {
    system: &'s mut S,
    judge: Judge,
    graph: Graph,
    turns: Vec<Turn>,
    steps: Vec<Step>,
}

impl<'s, S: GraphDescribe> Follower<'s, S> {
    fn new(system: &'s mut S, memory: Memory) -> Self {
        system.restart();
        let graph = Graph::new(system.thread_count());
        Self { system, judge: Judge::new(memory), graph, turns: Vec::new(), steps: Vec::new() }
    }

    fn is_there(&self, thread: ThreadId) -> bool {
        thread.index() < self.graph.threads.len()
            && (self.system.is_root(thread) || self.graph.threads[thread.index()].spawned.is_some())
    }

    fn label(&self, thread: ThreadId) -> Option<Label> {
        self.is_there(thread).then(|| self.system.label(thread))
    }

    fn wrong<T>(&self, reason: impl Into<String>) -> Result<T, NotFollowed> {
        Err(NotFollowed { step: self.steps.len(), reason: reason.into() })
    }

    fn meet(&mut self, at: Location) {
        let system = &*self.system;
        self.graph.meet(at, |at| system.initial(at));
    }

    fn step(&mut self, step: Step) -> Result<(), NotFollowed> {
        let Step { thread, choice } = step;
        let Some(label) = self.label(thread) else {
            return self.wrong(format!("there is no thread {}", thread.number()));
        };
        let turn = match label {
            Label::Load { at, .. }
            | Label::Update { at, .. }
            | Label::Compare { at, .. }
            | Label::Try { at, .. }
            | Label::Await { at, .. }
            | Label::Lock(at)
            | Label::TryLock(at) => self.read(thread, label, at, choice)?,
            Label::Store { at, order, value } => {
                self.write(thread, label, at, order, value, choice)?
            }
            Label::Unlock(at) => self.write(thread, label, at, Order::Release, 0, choice)?,
            Label::Fence(order) => self.plain(thread, label, Act::Fence, order, 0, None),
            Label::Access { at, write } => {
                let act = Act::Access { write };
                self.plain(thread, label, act, Order::NonAtomic, 0, Some(at))
            }
            Label::Spawn(child) => {
                self.graph.widen(child);
                self.plain(thread, label, Act::Spawn(child), Order::Relaxed, 0, None)
            }
            Label::Join(child) => {
                if self.label(child) != Some(Label::Ended) {
                    return self.wrong(format!("thread {} has not ended", child.number()));
                }
                self.plain(thread, label, Act::Join(child), Order::Relaxed, 0, None)
            }
            Label::Choose(below) => {
                if choice >= below {
                    return self.wrong(format!("there are {below} alternatives, from 0 on"));
                }
                let value = u64::from(choice);
                self.plain(thread, label, Act::Choice, Order::Relaxed, value, None)
            }
            Label::Ended | Label::Assumed | Label::Failed => {
                return self.wrong(format!("thread {} cannot go on", thread.number()));
            }
        };
        self.steps.push(step);
        self.turns.push(turn);
        Ok(())
    }

    fn read(
        &mut self,
        thread: ThreadId,
        label: Label,
        at: Location,
        choice: u32,
    ) -> Result<Turn, NotFollowed> {
        self.meet(at);
        let weak = matches!(label, Label::Compare { weak: true, .. });
        let (back, spurious) = if weak { (choice / 2, choice % 2 == 1) } else { (choice, false) };
        let places = self.graph.places(at) as u32;
        let Some(place) = places.checked_sub(1 + back) else {
            return self.wrong(format!("there are only {places} writes to read from"));
        };
        let from = self.graph.write_at(at, place as usize);
        let value = self.graph.value(at, from);
        let reading = match label {
            Label::Update { .. } => Reading::Updating,
            Label::Lock(_) if value != 0 => return self.wrong("the lock is taken"),
            Label::Lock(_) => Reading::Updating,
            Label::Compare { .. } if spurious => Reading::Spurious,
            Label::Compare { expected, .. } if value == expected => Reading::Updating,
            Label::TryLock(_) if value == 0 => Reading::Updating,
            Label::Await { .. } if !self.system.satisfies(thread, value) => {
                return self.wrong("what it reads does not end its wait");
            }
            Label::Await { update: true, .. } => Reading::Updating,
            Label::Try { .. } if self.system.satisfies(thread, value) => Reading::Updating,
            _ => Reading::Alone,
        };
        let updates = reading == Reading::Updating;
        let order = match label {
            Label::Load { order, .. } | Label::Await { order, update: false, .. } => order,
            Label::Update { order, .. } | Label::Await { order, .. } => order.of_read_part(),
            Label::Compare { success, .. } | Label::Try { success, .. } if updates => {
                success.of_read_part()
            }
            Label::Compare { failure, .. } | Label::Try { failure, .. } => failure,
            _ if updates => Order::Acquire,
            _ => Order::Relaxed,
        };
        let missed = (place + 1..places)
            .filter_map(|place| match self.graph.write_at(at, place as usize) {
                Source::Write(write) => Some(write),
                Source::Initial => None,
            })
            .collect();
        let read = self.push(thread, label, Act::Read { from, reading }, Some(at), order, value)?;
        let answer = self.graph.event(read).answer().unwrap_or(Answer::Done);
        let wrote = self.system.proceed(thread, answer);
        let mut turn = self.turn(read, choice, missed);
        if updates {
            let (order, value) = match label {
                Label::Compare { success, new, .. } => (success.of_write_part(), Some(new)),
                Label::Try { success, .. } => (success.of_write_part(), wrote),
                Label::Update { order, .. } | Label::Await { order, .. } => {
                    (order.of_write_part(), wrote)
                }
                _ => (Order::Relaxed, Some(1)),
            };
            let Some(value) = value else {
                return self.wrong("it does not do the same again");
            };
            let act = Act::Write { place: place + 1, updating: true };
            turn.writes = Some(self.push(thread, label, act, Some(at), order, value)?);
        }
        Ok(turn)
    }

    fn write(
        &mut self,
        thread: ThreadId,
        label: Label,
        at: Location,
        order: Order,
        value: u64,
        choice: u32,
    ) -> Result<Turn, NotFollowed> {
        self.meet(at);
        let places = self.graph.places(at) as u32;
        let Some(place) = places.checked_sub(choice).filter(|&place| place > 0) else {
            return self.wrong(format!("there are only {places} places for the write"));
        };
        let act = Act::Write { place, updating: false };
        let write = self.push(thread, label, act, Some(at), order, value)?;
        self.system.proceed(thread, Answer::Done);
        let mut turn = self.turn(write, choice, Vec::new());
        turn.writes = Some(write);
        Ok(turn)
    }

    fn plain(
        &mut self,
        thread: ThreadId,
        label: Label,
        act: Act,
        order: Order,
        value: u64,
        at: Option<Location>,
    ) -> Turn {
        if let Some(at) = at {
            self.meet(at);
        }
        let event = Event { label, act, at, order, value, stamp: 0, answers: 0, life: 0 };
        let id = self.graph.push(thread, event, None);
        let answer = self.graph.event(id).answer().unwrap_or(Answer::Done);
        self.system.proceed(thread, answer);
        self.turn(id, value as u32, Vec::new())
    }

    fn push(
        &mut self,
        thread: ThreadId,
        label: Label,
        act: Act,
        at: Option<Location>,
        order: Order,
        value: u64,
    ) -> Result<EventId, NotFollowed> {
        let event = Event { label, act, at, order, value, stamp: 0, answers: 0, life: 0 };
        let id = self.graph.push(thread, event, None);
        match self.judge.allows(&self.graph, id) {
            true => Ok(id),
            false => self.wrong("the memory model does not allow what it reads or where it writes"),
        }
    }

    fn turn(&self, event: EventId, choice: u32, missed: Vec<EventId>) -> Turn {
        let has_failed = self.system.label(event.thread) == Label::Failed;
        let stopped = match self.system.fault(event.thread).filter(|_| has_failed) {
            Some(selvedge_core::Fault::Violation(violation)) => Some(violation.message),
            Some(selvedge_core::Fault::GaveUp(reason)) => Some(reason),
            None => None,
        };
        let description = self.system.describe_last();
        Turn { event, writes: None, choice, description, missed, stopped }
    }

    fn can_go_on(&self, thread: ThreadId) -> bool {
        let last = |at: Location| match at.index() < self.graph.cells.len() {
            true => self.graph.value(at, self.graph.last_write(at)),
            false => self.system.initial(at),
        };
        match self.label(thread) {
            None | Some(Label::Ended | Label::Assumed | Label::Failed) => false,
            Some(Label::Lock(at)) => last(at) == 0,
            Some(Label::Await { at, .. }) => self.system.satisfies(thread, last(at)),
            Some(Label::Join(child)) => self.label(child) == Some(Label::Ended),
            Some(_) => true,
        }
    }

    fn finish(self, wants_races: bool) -> Followed {
        let mut found = Vec::new();
        let mut gave_up = None;
        for thread in self.graph.threads() {
            match self.system.fault(thread).filter(|_| self.label(thread) == Some(Label::Failed)) {
                Some(selvedge_core::Fault::Violation(violation)) => {
                    let fault = selvedge_core::Fault::Violation(violation.clone());
                    found.push((Finding::Fault(thread, fault), violation));
                }
                Some(selvedge_core::Fault::GaveUp(reason)) => {
                    gave_up = Some(Inconclusive::GaveUp(reason));
                }
                None => {}
            }
        }
        if wants_races {
            for (first, second) in race::find(&self.graph) {
                let violation =
                    words::data_race(&*self.system, &self.graph, &self.turns, [first, second]);
                found.push((Finding::DataRace(first, second), violation));
            }
        }
        let is_maximal = !self.graph.threads().any(|thread| self.can_go_on(thread));
        let mut ending = None;
        if is_maximal {
            let graph = &self.graph;
            let judged = self.system.judge(&|at| {
                (at.index() < graph.cells.len()).then(|| graph.value(at, graph.last_write(at)))
            });
            ending = judged.as_ref().map(|(ending, _)| *ending);
            if let Some((_, Some(violation))) = judged {
                found.push((Finding::Judged(violation.clone()), violation));
            }
        }
        for (finding, violation) in &mut found {
            if !matches!(finding, Finding::DataRace(..)) {
                let stale = words::missing(&*self.system, &self.graph, &self.turns);
                violation.notes.extend(stale);
            }
        }
        let schedule = Schedule { steps: self.steps };
        Followed { graph: self.graph, turns: self.turns, ending, found, schedule, gave_up }
    }
}
