//! The search: one graph that grows, and a stack of what else could have been done.
//!
//! A *level* is a graph and its pending alternatives. Going forward adds events to the graph of the top level in
//! place, and going back takes them away. Showing a write to a read that is there already begins a new level with a
//! part of the graph; when it has no alternatives left it is dropped. A level and an alternative are all that is
//! needed to continue from there: levels share nothing.

use selvedge_core::{
    Bits, Bound, Ended, EventId, Fault, GraphSystem, Inconclusive, Label, Location, Order, ThreadId,
};

use crate::options::Options;

use super::event::{self, Act, Event, Reading, Source};
use super::execution::{Added, Graph};
use super::models::{Judge, Memory};
use super::program::{NotReproducible, Program};
use super::race;
use super::report::{GraphObserver, GraphReport};
use super::task::{Level, Planned, Task};

/// A write that a thread is about to add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) label: Label,
    pub(super) at: Location,
    pub(super) order: Order,
    pub(super) value: Bits,
    /// What the read part reads, if it is a write part.
    pub(super) updates: Option<Source>,
}

/// After how many events the observer is asked whether to continue.
const EVENTS_BETWEEN_POLLS: u32 = 1024;

pub(super) struct Search<'a, 's, S> {
    pub(super) program: Program<'s, S>,
    pub(super) judge: Judge,
    pub(super) options: &'a Options,
    pub(super) observer: &'a mut dyn GraphObserver,
    pub(super) report: GraphReport,
    pub(super) levels: Vec<Level>,
    /// Levels that were dropped, whose memory is reused.
    pub(super) spare: Vec<Level>,
    /// The last event that was made.
    pub(super) life: u64,
    /// Which share of the search the current graph is taken to be, with the tasks among which it is not divided yet.
    pub(super) share: f64,
    /// How many of the last tasks these are.
    pub(super) undivided: usize,
    events_to_poll: u32,
    pub(super) stopped: bool,
    /// How many levels there were, and tasks in the last of them, when the current task was begun.
    pub(super) begun: (usize, usize),
    /// Whether threads use memory of their own.
    has_memory: bool,
}

impl<'a, 's, S: GraphSystem> Search<'a, 's, S> {
    pub(super) fn new(
        system: &'s mut S,
        memory: Memory,
        options: &'a Options,
        observer: &'a mut dyn GraphObserver,
    ) -> Self {
        let program = Program::new(system);
        let graph = Graph::new(program.threads());
        let has_memory = program.has_memory();
        Self {
            program,
            has_memory,
            judge: Judge::new(memory),
            options,
            observer,
            report: GraphReport::default(),
            levels: vec![Level { graph, tasks: vec![Planned::first(Task::Begin)] }],
            spare: Vec::new(),
            life: 0,
            share: 0.0,
            undivided: 0,
            events_to_poll: EVENTS_BETWEEN_POLLS,
            stopped: false,
            begun: (0, 0),
        }
    }

    /// Visits every graph.
    pub(super) fn run(mut self) -> GraphReport {
        while !self.stopped
            && let Some(level) = self.levels.last_mut()
        {
            match level.tasks.pop() {
                Some(Planned { mark, task, share }) => {
                    level.graph.truncate(mark);
                    self.share = share;
                    self.perform(task);
                    self.divide(false);
                }
                None => self.spare.extend(self.levels.pop()),
            }
        }
        // An exhausted budget makes computations return early, so the alternatives may look exhausted when they are not.
        if let Some(spent) = self.options.budget.spent() {
            self.report.note(Inconclusive::Bound(spent.into()));
        }
        self.report
    }

    #[inline]
    pub(super) fn graph(&self) -> &Graph {
        &self.levels.last().expect("internal error: no graph").graph
    }

    #[inline]
    pub(super) fn graph_mut(&mut self) -> &mut Graph {
        &mut self.levels.last_mut().expect("internal error: no graph").graph
    }

    /// Plans something for the graph as it is.
    #[inline]
    pub(super) fn plan(&mut self, task: Task) {
        let level = self.levels.last_mut().expect("internal error: no graph");
        level.tasks.push(Planned { mark: level.graph.mark(), task, share: 0.0 });
        self.undivided += 1;
    }

    /// Returns how many levels there are, and tasks in the last of them.
    pub(super) fn planned(&self) -> (usize, usize) {
        (self.levels.len(), self.levels.last().map_or(0, |level| level.tasks.len()))
    }

    pub(super) fn perform(&mut self, task: Task) {
        self.begun = self.planned();
        match task {
            Task::Begin => self.go_on(),
            Task::Read { thread, from, reading } => {
                if let Some(label) = self.stand(thread)
                    && self.add_read(thread, label, from, reading, None)
                {
                    self.go_on();
                }
            }
            Task::Place { thread, place } => {
                if self.add_write_at(thread, place).is_some() {
                    self.go_on();
                }
            }
            Task::Choose { thread, value } => {
                if let Some(label) = self.stand(thread) {
                    self.add_plain(thread, label, Act::Choice, value.into());
                    self.go_on();
                }
            }
            Task::Revisit { thread, read } => self.revisit(thread, read),
            Task::Show { thread, place, to, stamp, spurious } => {
                self.show(thread, place, to, stamp, spurious);
            }
            Task::Steal { thread, lock } => self.steal(thread, lock),
            Task::Take { thread, from, after } => self.take(thread, from, after),
            Task::Share { thread, lock } => self.share(thread, lock),
        }
    }

    /// Runs threads until none is enabled or the graph is inconsistent, and plans the alternatives. Which thread is next depends on
    /// the graph alone: the argument in `revisit.rs` needs that.
    pub(super) fn go_on(&mut self) {
        while !self.stopped && !self.is_stopped() {
            if self.has_memory && self.options.data_races && self.ends_in_race() {
                return self.stop_at_race();
            }
            let graph = self.graph();
            let owes = |&thread: &ThreadId| {
                graph.last(thread).is_some_and(Event::is_updating_read) && !graph.is_held(thread)
            };
            let owing = graph.threads().find(owes);
            let enabled = if owing.is_none() { self.enabled() } else { None };
            let goes_on = owing.is_some() || enabled.is_some() || self.awaiting().is_some();
            if goes_on && self.is_as_long_as_it_may_be() {
                return;
            }
            let went = if let Some(thread) = owing {
                self.write(thread)
            } else if let Some((thread, label)) = enabled {
                self.step(thread, label)
            } else if let Some(thread) = self.awaiting() {
                self.give_up_waiting(thread)
            } else {
                if !self.stopped {
                    self.finish();
                }
                return;
            };
            if !went {
                return;
            }
        }
    }

    /// Returns whether what was added last is part of a data race: one event, or a write and the read that it is shown to.
    fn ends_in_race(&self) -> bool {
        let graph = self.graph();
        let memory = |at| self.program.memory_of(at);
        let is_racy = |added: &Added| {
            let &Added::Event(thread) = added else { return false };
            let nth = (graph.events(thread).len() as u32).checked_sub(1);
            nth.is_some_and(|nth| race::has_race(graph, &memory, EventId { thread, nth }))
        };
        graph.census.non_atomic > 0
            && graph.added_since(graph.mark().saturating_sub(2)).iter().any(is_racy)
    }

    /// Returns what the thread stands at. `None`: it does not exist, or the search was stopped.
    pub(super) fn stand(&mut self, thread: ThreadId) -> Option<Label> {
        let level = self.levels.last_mut().expect("internal error: no graph");
        let home = &level.graph.threads[thread.index()];
        if let Some(label) = home.stands {
            return Some(label);
        }
        if home.spawned.is_none() && !self.program.is_root(thread) {
            return None;
        }
        let label = self.program.label(&level.graph, thread);
        let label = self.trust(label)?;
        if let Some(at) = label.location() {
            let level = self.levels.last_mut().expect("internal error: no graph");
            level.graph.meet(at, |at| self.program.initial(at));
        }
        self.graph_mut().threads[thread.index()].stands = Some(label);
        Some(label)
    }

    /// Returns the result. If the system is nondeterministic, nothing is proved; but a failure that came only in this order of
    /// replay, as that of a use after a free, is found.
    pub(super) fn trust<T>(&mut self, result: Result<T, NotReproducible>) -> Option<T> {
        match result {
            Ok(result) => Some(result),
            Err(NotReproducible) => {
                self.find_failed_instead();
                let reason = "the program is nondeterministic: it acts differently when it reads the same values again";
                self.report.note(Inconclusive::GaveUp(reason.to_owned()));
                self.stopped = true;
                None
            }
        }
    }

    pub(super) fn fault(&mut self, thread: ThreadId) -> Option<Fault> {
        let level = self.levels.last().expect("internal error: no graph");
        let fault = self.program.fault(&level.graph, thread);
        self.trust(fault).flatten()
    }

    /// Returns whether the value ends the await that the thread stands at.
    fn satisfies(&mut self, thread: ThreadId, value: Bits) -> Option<bool> {
        let level = self.levels.last().expect("internal error: no graph");
        let satisfied = self.program.satisfies(&level.graph, thread, value);
        self.trust(satisfied)
    }

    /// Returns the first enabled thread.
    fn enabled(&mut self) -> Option<(ThreadId, Label)> {
        for thread in self.graph().threads() {
            if self.graph().is_held(thread) {
                continue;
            }
            let Some(label) = self.stand(thread) else { continue };
            let graph = self.graph();
            let is_enabled = match label {
                Label::Ended | Label::Exited | Label::Assumed | Label::Failed => false,
                Label::Lock(at) => {
                    let last = graph.last_write(at);
                    graph.value(at, last) == 0 && !graph.is_shared(at, last)
                }
                Label::Share(at) => graph.value(at, graph.last_write(at)) == 0,
                Label::Await { at, .. } => {
                    !graph.last(thread).is_some_and(Event::is_blocked)
                        && self.satisfies(thread, graph.value(at, graph.last_write(at)))?
                }
                Label::Join(child) => {
                    let is_known = child.index() < graph.threads.len() && !graph.is_held(child);
                    is_known && self.stand(child) == Some(Label::Ended)
                }
                _ => true,
            };
            if is_enabled {
                return Some((thread, label));
            }
        }
        None
    }

    /// Returns the first thread that stands at an await and is not in the graph with it.
    fn awaiting(&mut self) -> Option<ThreadId> {
        self.graph().threads().find(|&thread| {
            matches!(self.graph().threads[thread.index()].stands, Some(Label::Await { .. }))
                && !self.graph().last(thread).is_some_and(Event::is_blocked)
                && !self.graph().is_held(thread)
        })
    }

    /// Takes the next step of an enabled thread. Returns whether the graph is consistent.
    fn step(&mut self, thread: ThreadId, label: Label) -> bool {
        match label {
            Label::Load { at, .. }
            | Label::Update { at, .. }
            | Label::Close(at)
            | Label::Compare { at, .. }
            | Label::Try { at, .. }
            | Label::TryLock(at)
            | Label::Await { at, .. } => self.read(thread, label, at),
            Label::Lock(at) => {
                self.plan_steals(thread, at);
                let from = self.graph().last_write(at);
                self.add_read(thread, label, from, Reading::Updating, None)
            }
            Label::Share(at) => {
                self.plan_shares(thread, at);
                let from = self.graph().last_write(at);
                self.add_read(thread, label, from, Reading::Alone, None)
            }
            Label::Unshare(at) => {
                let Some(from) = self.graph().shared_by(thread, at) else { return false };
                self.add_read(thread, label, from, Reading::Alone, None)
            }
            Label::Store { .. } | Label::Unlock(_) => self.write(thread),
            Label::Fence(_) => self.add_plain(thread, label, Act::Fence, 0),
            Label::Access { write, .. } => self.add_plain(thread, label, Act::Access { write }, 0),
            Label::Spawn(child) => {
                self.graph_mut().widen(child);
                self.add_plain(thread, label, Act::Spawn(child), 0);
                // The system knows the child from here on: its label can be asked for.
                let level = self.levels.last().expect("internal error: no graph");
                let told = self.program.tell(&level.graph, thread);
                self.trust(told).is_some()
            }
            Label::Join(child) => self.add_plain(thread, label, Act::Join(child), 0),
            Label::Choose(below) => {
                for value in 1..below {
                    self.plan(Task::Choose { thread, value });
                }
                self.add_plain(thread, label, Act::Choice, 0)
            }
            Label::Ended | Label::Exited | Label::Assumed | Label::Failed => {
                unreachable!("internal error: a thread that cannot run is run")
            }
        }
    }

    /// Returns how an operation of the thread reads this value: alone, as part of an update, or blocked.
    pub(super) fn reading(
        &mut self,
        thread: ThreadId,
        label: Label,
        value: Bits,
        spurious: bool,
    ) -> Option<Reading> {
        Some(match label {
            Label::Update { .. } | Label::Close(_) | Label::Lock(_) => Reading::Updating,
            Label::Compare { .. } if spurious => Reading::Spurious,
            Label::Compare { expected, .. } if value == expected => Reading::Updating,
            Label::TryLock(_) if value == 0 => Reading::Updating,
            Label::Await { update, .. } => match (self.satisfies(thread, value)?, update) {
                (false, _) => Reading::Blocked,
                (true, true) => Reading::Updating,
                (true, false) => Reading::Alone,
            },
            Label::Try { .. } if self.satisfies(thread, value)? => Reading::Updating,
            _ => Reading::Alone,
        })
    }

    /// Lets the thread read the last write, and plans that it reads others.
    fn read(&mut self, thread: ThreadId, label: Label, at: Location) -> bool {
        let last = self.graph().last_write(at);
        let weak = matches!(label, Label::Compare { weak: true, .. });
        let mut first = None;
        for place in self.graph().floor(thread, at) as usize..self.graph().places(at) {
            let graph = self.graph();
            let from = graph.write_at(at, place);
            let value = graph.value(at, from);
            let Some(reading) = self.reading(thread, label, value, false) else { return false };
            if reading == Reading::Blocked {
                continue;
            }
            if weak && reading == Reading::Updating {
                self.plan(Task::Read { thread, from, reading: Reading::Spurious });
            }
            if from == last {
                first = Some(reading);
            } else if reading != Reading::Updating || !self.is_taken_for_good(thread, at, from) {
                self.plan(Task::Read { thread, from, reading });
            }
        }
        first.is_some_and(|reading| self.add_read(thread, label, last, reading, None))
    }

    /// Called when every thread that has not ended is at an await: plans that this one reads an older write that ends its await,
    /// and makes it wait at the last one.
    fn give_up_waiting(&mut self, thread: ThreadId) -> bool {
        let Some(label @ Label::Await { at, .. }) = self.stand(thread) else { return false };
        let last = self.graph().last_write(at);
        for place in self.graph().floor(thread, at) as usize..self.graph().places(at) - 1 {
            let from = self.graph().write_at(at, place);
            let value = self.graph().value(at, from);
            let Some(reading) = self.reading(thread, label, value, false) else { return false };
            let is_in_vain = reading == Reading::Blocked
                || (reading == Reading::Updating && self.is_taken_for_good(thread, at, from));
            if !is_in_vain {
                self.plan(Task::Read { thread, from, reading });
            }
        }
        self.add_read(thread, label, last, Reading::Blocked, None)
    }

    /// Lets the thread write at the last possible place, and plans other places and reads that see it.
    fn write(&mut self, thread: ThreadId) -> bool {
        let Some(pending) = self.pending_write(thread) else { return false };
        self.plan_revisits(thread, &pending);
        let first = self.first_place(thread, &pending);
        let last = self.last_place(&pending, first);
        for place in first..last {
            self.plan(Task::Place { thread, place });
        }
        if self.is_watched_at(&pending, last) {
            self.graph_mut().hold(thread);
            return true;
        }
        self.add_write_at(thread, last).is_some()
    }

    /// Returns the write that the thread owes, or stands at.
    pub(super) fn pending_write(&mut self, thread: ThreadId) -> Option<Pending> {
        let level = self.levels.last().expect("internal error: no graph");
        let last = level.graph.last(thread).filter(|event| event.is_updating_read());
        let Some(read) = last else {
            return match self.stand(thread)? {
                label @ Label::Store { at, order, value } => {
                    Some(Pending { label, at, order, value, updates: None })
                }
                label @ Label::Unlock(at) => {
                    let order = Order::Release;
                    Some(Pending { label, at, order, value: 0, updates: None })
                }
                label => unreachable!("internal error: {label:?} writes nothing"),
            };
        };
        let (label, updates) = (read.label, read.source());
        let (at, order, value) = match label {
            Label::Update { at, order }
            | Label::Await { at, order, .. }
            | Label::Try { at, success: order, .. } => {
                let wrote = self.program.wrote(&level.graph, thread);
                (at, order.of_write_part(), self.trust(wrote)?)
            }
            Label::Close(at) => {
                let wrote = self.program.wrote(&level.graph, thread);
                (at, Order::Relaxed, self.trust(wrote)?)
            }
            Label::Compare { at, new, success, .. } => (at, success.of_write_part(), new),
            Label::Lock(at) | Label::TryLock(at) => (at, Order::Relaxed, 1),
            label => unreachable!("internal error: {label:?} has no write part"),
        };
        Some(Pending { label, at, order, value, updates })
    }

    /// Returns the first place where a pending write can go.
    pub(super) fn first_place(&self, thread: ThreadId, pending: &Pending) -> u32 {
        match (pending.updates, pending.label) {
            (Some(from), _) => self.graph().place_of(from) + 1,
            (None, Label::Unlock(at)) => self.graph().places(at) as u32,
            (None, _) => self.graph().floor(thread, pending.at) + 1,
        }
    }

    /// Returns the last place where a pending write can go.
    pub(super) fn last_place(&self, pending: &Pending, first: u32) -> u32 {
        if pending.updates.is_some() { first } else { self.graph().places(pending.at) as u32 }
    }

    /// Adds the pending write of the thread at this place. Returns it, if the graph is consistent.
    pub(super) fn add_write_at(&mut self, thread: ThreadId, place: u32) -> Option<EventId> {
        let Pending { label, at, order, value, updates } = self.pending_write(thread)?;
        let act = Act::Write { place, updating: updates.is_some() };
        let write = self.add(thread, label, act, Some(at), order, value, None);
        self.is_allowed(write).then_some(write)
    }

    /// Adds a read of the thread. Returns whether the graph is consistent.
    pub(super) fn add_read(
        &mut self,
        thread: ThreadId,
        label: Label,
        from: Source,
        reading: Reading,
        stamp: Option<u32>,
    ) -> bool {
        let (at, order) = event::reads(label, reading);
        let value = self.graph().value(at, from);
        let act = Act::Read { from, reading };
        let read = self.add(thread, label, act, Some(at), order, value, stamp);
        self.is_allowed(read)
    }

    /// Adds an event that every model allows.
    fn add_plain(&mut self, thread: ThreadId, label: Label, act: Act, value: Bits) -> bool {
        let (at, order) = match label {
            Label::Access { at, .. } => (Some(at), Order::NonAtomic),
            Label::Fence(order) => (None, order),
            _ => (None, Order::Relaxed),
        };
        self.add(thread, label, act, at, order, value, None);
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an event")]
    fn add(
        &mut self,
        thread: ThreadId,
        label: Label,
        act: Act,
        at: Option<Location>,
        order: Order,
        value: Bits,
        stamp: Option<u32>,
    ) -> EventId {
        self.divide(true);
        self.life += 1;
        self.report.events += 1;
        let event = Event { label, act, at, order, value, stamp: 0, answers: 0, life: self.life };
        self.graph_mut().push(thread, event, stamp)
    }

    fn is_allowed(&mut self, new: EventId) -> bool {
        let level = self.levels.last().expect("internal error: no graph");
        let allowed = self.judge.allows(&level.graph, new);
        self.report.inconsistent += u64::from(!allowed);
        allowed
    }

    /// Returns whether the search was ended; looks at the limits from time to time.
    fn is_stopped(&mut self) -> bool {
        self.events_to_poll -= 1;
        if self.events_to_poll == 0 {
            self.events_to_poll = EVENTS_BETWEEN_POLLS;
            self.poll();
        }
        self.stopped
    }

    /// Cuts the execution, which could go on, if it has as many events as it may.
    fn is_as_long_as_it_may_be(&mut self) -> bool {
        let most = self.options.limits.steps;
        let is_cut = self.graph().len() >= most;
        if is_cut {
            self.report.counts.cut += 1;
            self.tell(Ended::Cut);
            self.report.note(Inconclusive::Bound(Bound::Steps(most)));
            self.after_execution();
        }
        is_cut
    }

    fn poll(&mut self) {
        if let Some(bound) = self.observer.poll(&self.report) {
            self.report.note(Inconclusive::Bound(bound));
            self.stopped = true;
        }
        self.stopped |= self.options.budget.is_spent();
    }

    /// Looks at the limit of executions, and whether another worker is idle.
    pub(super) fn after_execution(&mut self) {
        self.divide(true);
        while self.observer.is_hungry()
            && let Some(unit) = self.give_away()
        {
            self.observer.take(unit);
        }
        if let Some(most) = self.options.limits.executions
            && self.report.counts.total() >= most
            && !self.is_done()
        {
            self.report.note(Inconclusive::Bound(Bound::Executions(most)));
            self.stopped = true;
        }
    }

    /// Returns whether nothing is left to do.
    fn is_done(&self) -> bool {
        self.levels.iter().all(|level| level.tasks.is_empty())
    }
}
