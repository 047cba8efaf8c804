//! Replays the execution of a witness, event by event, and asks the memory model about each.
//!
//! It shares no code with the search: a violation that is shown has been found twice.

use selvedge_core::{EventId, GraphSystem, Label, Location, Order, ReplayError, Step, ThreadId};

use super::event::{self, Act, Event, Reading};
use super::execution::Graph;
use super::models::{Judge, Memory};
use super::race;

/// Listens to the turns of an execution that is replayed.
pub trait Follower<S> {
    /// A thread is about to get an answer.
    fn before(&mut self, system: &mut S, thread: ThreadId);

    /// It got the answer and stands at its next operation. Its events are the last in the graph.
    fn after(&mut self, system: &mut S, graph: &Graph, event: EventId);
}

/// Replays the steps of a witness and returns the graph. Steps number threads in the order in which they are spawned, which
/// is the same for every system.
///
/// # Errors
/// If a step is not possible, or the model does not allow it.
pub fn follow_graph<S: GraphSystem>(
    system: &mut S,
    memory: Memory,
    steps: &[Step],
    follower: &mut dyn Follower<S>,
) -> Result<Graph, ReplayError> {
    system.restart();
    let graph = Graph::new(system.thread_count());
    let is_root = |thread: &ThreadId| system.is_root(*thread);
    let numbers = graph.threads().filter(is_root).collect();
    let judge = Judge::new(memory);
    let mut following = Following { system, graph, judge, numbers, life: 0 };
    for (at, &step) in steps.iter().enumerate() {
        following.take(step, follower).map_err(|reason| ReplayError { at, reason })?;
    }
    Ok(following.graph)
}

/// Returns the data races of a graph, in the order of their events.
pub fn graph_races<S: GraphSystem>(system: &S, graph: &Graph) -> Vec<(EventId, EventId)> {
    race::find(graph, &|at| system.memory_of(at))
}

struct Following<'s, S> {
    system: &'s mut S,
    graph: Graph,
    judge: Judge,
    /// The threads in the order in which they were spawned.
    numbers: Vec<ThreadId>,
    life: u64,
}

impl<S: GraphSystem> Following<'_, S> {
    fn take(&mut self, step: Step, follower: &mut dyn Follower<S>) -> Result<(), String> {
        let Step { thread, choice } = step;
        let Some(&thread) = self.numbers.get(thread.index()) else {
            return Err(format!("there is no thread {} yet", thread.index()));
        };
        let label = self.system.label(thread);
        let event = match label {
            Label::Store { at, order, value } => {
                self.write(thread, label, at, order, value, choice)?
            }
            Label::Unlock(at) => self.write(thread, label, at, Order::Release, 0, choice)?,
            Label::Fence(order) => self.add(thread, label, Act::Fence, None, order, 0)?,
            Label::Access { at, write } => {
                self.add(thread, label, Act::Access { write }, Some(at), Order::NonAtomic, 0)?
            }
            Label::Spawn(child) => {
                self.graph.widen(child);
                self.numbers.push(child);
                self.add(thread, label, Act::Spawn(child), None, Order::Relaxed, 0)?
            }
            Label::Join(child) if self.system.label(child) == Label::Ended => {
                self.add(thread, label, Act::Join(child), None, Order::Relaxed, 0)?
            }
            Label::Choose(below) if choice < below => {
                self.add(thread, label, Act::Choice, None, Order::Relaxed, choice.into())?
            }
            _ => match label.location() {
                Some(at) => self.read(thread, label, at, choice)?,
                None => return Err(format!("thread {} cannot go on", thread.index())),
            },
        };
        let added = *self.graph.event(event);
        let Some(answer) = added.answer() else {
            return Err(format!("thread {} waits", thread.index()));
        };
        let updating = added.is_updating_read();
        if updating || matches!(added.act, Act::Write { .. }) {
            let newest = added
                .at
                .is_some_and(|at| self.graph.place(&added) as usize + 1 == self.graph.places(at));
            self.system.is_newest(thread, newest);
        }
        follower.before(self.system, thread);
        let wrote = self.system.proceed(thread, answer);
        if updating {
            self.write_part(thread, label, &added, wrote)?;
        }
        follower.after(self.system, &self.graph, event);
        Ok(())
    }

    fn meet(&mut self, at: Location) {
        self.graph.meet(at, |at| self.system.initial(at));
    }

    fn read(
        &mut self,
        thread: ThreadId,
        label: Label,
        at: Location,
        choice: u32,
    ) -> Result<EventId, String> {
        self.meet(at);
        let is_weak = matches!(label, Label::Compare { weak: true, .. });
        let (newer, spurious) =
            if is_weak { (choice / 2, choice % 2 == 1) } else { (choice, false) };
        let places = self.graph.places(at);
        let Some(place) = places.checked_sub(1 + newer as usize) else {
            return Err(format!("there are {places} values to read, from 0 on"));
        };
        let from = self.graph.write_at(at, place);
        let value = self.graph.value(at, from);
        let reading = match label {
            Label::Update { .. } | Label::Close(_) => Reading::Updating,
            Label::Lock(_) if self.graph.is_shared(at, from) => {
                return Err("others share the mutex".to_owned());
            }
            Label::Lock(_) if value == 0 => Reading::Updating,
            Label::Share(_) | Label::Unshare(_) if value == 0 => Reading::Alone,
            Label::Compare { expected, .. } if value == expected => match spurious {
                true => Reading::Spurious,
                false => Reading::Updating,
            },
            Label::Compare { .. } if spurious => {
                return Err("it fails anyway, and not spuriously".to_owned());
            }
            Label::Try { .. } if self.system.satisfies(thread, value) => Reading::Updating,
            Label::TryLock(_) if value == 0 => Reading::Updating,
            Label::Await { update, .. } if self.system.satisfies(thread, value) => match update {
                true => Reading::Updating,
                false => Reading::Alone,
            },
            Label::Await { .. } | Label::Lock(_) | Label::Share(_) | Label::Unshare(_) => {
                return Err("it waits for another value".to_owned());
            }
            _ => Reading::Alone,
        };
        let (_, order) = event::reads(label, reading);
        self.add(thread, label, Act::Read { from, reading }, Some(at), order, value)
    }

    fn write(
        &mut self,
        thread: ThreadId,
        label: Label,
        at: Location,
        order: Order,
        value: u64,
        newer: u32,
    ) -> Result<EventId, String> {
        self.meet(at);
        let places = self.graph.places(at);
        let Some(place) = (places as u32).checked_sub(newer).filter(|&place| place > 0) else {
            return Err(format!("there are {places} places for the write, from 0 on"));
        };
        self.add(thread, label, Act::Write { place, updating: false }, Some(at), order, value)
    }

    fn write_part(
        &mut self,
        thread: ThreadId,
        label: Label,
        read: &Event,
        wrote: Option<u64>,
    ) -> Result<(), String> {
        let (order, value) = match label {
            Label::Update { order, .. }
            | Label::Await { order, .. }
            | Label::Try { success: order, .. } => {
                let Some(wrote) = wrote else { return Err("it writes nothing".to_owned()) };
                (order.of_write_part(), wrote)
            }
            Label::Close(_) => {
                let Some(wrote) = wrote else { return Err("it writes nothing".to_owned()) };
                (Order::Relaxed, wrote)
            }
            Label::Compare { success, new, .. } => (success.of_write_part(), new),
            _ => (Order::Relaxed, 1),
        };
        let (Some(at), Some(from)) = (read.at, read.source()) else { return Ok(()) };
        let act = Act::Write { place: self.graph.place_of(from) + 1, updating: true };
        self.add(thread, label, act, Some(at), order, value).map(|_| ())
    }

    fn add(
        &mut self,
        thread: ThreadId,
        label: Label,
        act: Act,
        at: Option<Location>,
        order: Order,
        value: u64,
    ) -> Result<EventId, String> {
        if let Some(at) = at {
            self.meet(at);
        }
        self.life += 1;
        let event = Event { label, act, at, order, value, stamp: 0, answers: 0, life: self.life };
        let new = self.graph.push(thread, event, None);
        match self.judge.allows(&self.graph, new) {
            true => Ok(new),
            false => Err("the memory model does not allow it".to_owned()),
        }
    }
}

impl<S> Follower<S> for () {
    fn before(&mut self, _: &mut S, _: ThreadId) {}

    fn after(&mut self, _: &mut S, _: &Graph, _: EventId) {}
}
