//! The events of an execution as a partial order, and the interleaving of it that the system is in.
//!
//! Events are numbered in the order in which the explorer took them. Happens-before is the closure of two kinds of edges:
//! those to what an event depends on, which all lead to earlier numbers, and those that an observer adds between two writes
//! that came before it. So the interleaving that has been run need not be in the order of the numbers.

use selvedge_core::{Effect, EventId, Execution, ObjectId, Position, Step, narrow};

use super::objects::Object;

/// An event.
pub(super) struct Event {
    pub(super) id: EventId,
    /// The step of the system inside.
    pub(super) step: Step,
    /// What it did there.
    pub(super) effect: Effect,
    /// How many events of each thread happen before it or are it, without what observers add.
    clock: Vec<u32>,
    /// What it depends on.
    before: Vec<Position>,
    /// Writes that an observer has put before it.
    overwritten: Vec<Position>,
    /// The writes that it, an observer, put last, and how many were put before each until then.
    pub(super) observed: Vec<(Position, usize)>,
    /// The objects that it accessed, as they were.
    pub(super) undo: Vec<(ObjectId, Object)>,
}

/// All events, and an interleaving of them.
#[derive(Default)]
pub(super) struct Line {
    events: Vec<Event>,
    order: Vec<Position>,
    /// The events of each thread.
    of_thread: Vec<Vec<Position>>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn event(&self, position: Position) -> &Event {
        &self.events[position.index()]
    }

    pub(super) fn event_mut(&mut self, position: Position) -> &mut Event {
        &mut self.events[position.index()]
    }

    /// Returns the interleaving.
    pub(super) fn order(&self) -> &[Position] {
        &self.order
    }

    /// Returns the steps of the interleaving.
    pub(super) fn steps(&self) -> Vec<Step> {
        self.steps_of(&self.order)
    }

    pub(super) fn steps_of(&self, order: &[Position]) -> Vec<Step> {
        order.iter().map(|&position| self.event(position).step).collect()
    }

    /// Returns the interleaving as an execution, with all accesses as they were.
    pub(super) fn execution(&self) -> Execution {
        let mut execution = Execution::new();
        for &position in &self.order {
            let event = self.event(position);
            execution.push(event.step, &event.effect);
        }
        execution
    }

    /// Adds an event that depends on those in `before`, at the end of the interleaving.
    pub(super) fn push(
        &mut self,
        step: Step,
        effect: Effect,
        mut before: Vec<Position>,
    ) -> Position {
        let position = Position::new(self.events.len());
        let thread = step.thread.index();
        if self.of_thread.len() <= thread {
            self.of_thread.resize_with(thread + 1, Vec::new);
        }
        before.extend(self.of_thread[thread].last());
        let mut clock = vec![0; self.of_thread.len()];
        for &earlier in &before {
            for (mine, &other) in clock.iter_mut().zip(&self.event(earlier).clock) {
                *mine = (*mine).max(other);
            }
        }
        let nth = self.of_thread[thread].len();
        clock[thread] = narrow(nth + 1);
        let id = EventId { thread: step.thread, nth: narrow(nth) };
        self.of_thread[thread].push(position);
        let (overwritten, observed, undo) = (Vec::new(), Vec::new(), Vec::new());
        self.events.push(Event { id, step, effect, clock, before, overwritten, observed, undo });
        self.order.push(position);
        position
    }

    /// Removes the last event. The interleaving keeps the order of the others.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        let position = Position::new(self.events.len());
        self.of_thread[event.id.thread.index()].pop();
        self.order.retain(|&other| other != position);
        for &(last, earlier) in event.observed.iter().rev() {
            self.event_mut(last).overwritten.truncate(earlier);
        }
        Some(event)
    }

    /// Puts `others` before `last`, because an observer sees that. Returns how many were before it until now.
    pub(super) fn overwrite(&mut self, others: &[Position], last: Position) -> usize {
        let overwritten = &mut self.event_mut(last).overwritten;
        let earlier = overwritten.len();
        overwritten.extend(others.iter().filter(|&&other| other != last));
        earlier
    }

    /// Makes it another interleaving of the same events.
    pub(super) fn reorder(&mut self, order: Vec<Position>) {
        self.order = order;
    }

    /// Returns whether `a` happens before `b` without what observers add. Both are different events.
    pub(super) fn is_before(&self, a: Position, b: Position) -> bool {
        let id = self.event(a).id;
        self.event(b).clock.get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }

    /// Returns for each event whether it is `first` or happens after it.
    pub(super) fn after(&self, first: Position) -> Vec<bool> {
        let mut after = vec![false; self.events.len()];
        after[first.index()] = true;
        for &position in self.order.iter().skip_while(|&&position| position != first) {
            after[position.index()] |= self.causes(position).any(|cause| after[cause.index()]);
        }
        after
    }

    /// Returns for each event whether it is one of `last` or happens before it.
    pub(super) fn past(&self, last: &[Position]) -> Vec<bool> {
        let mut past = vec![false; self.events.len()];
        for &position in last {
            past[position.index()] = true;
        }
        for &position in self.order.iter().rev() {
            if past[position.index()] {
                for cause in self.causes(position) {
                    past[cause.index()] = true;
                }
            }
        }
        past
    }

    fn causes(&self, position: Position) -> impl Iterator<Item = Position> + '_ {
        let event = self.event(position);
        event.before.iter().chain(&event.overwritten).copied()
    }

    /// Returns the interleaving in which `last`, and what happens after it, comes after all others.
    pub(super) fn with_last(&self, last: Position) -> Vec<Position> {
        let after = self.after(last);
        let (later, earlier): (Vec<Position>, Vec<Position>) =
            self.order.iter().partition(|position| after[position.index()]);
        [earlier, later].concat()
    }
}
