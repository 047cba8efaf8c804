//! The program under test: its threads are run up to their events in the graph when one of their labels is needed.
//!
//! A thread gets the answers of its events only when its next label is needed. If the search drops the graph before that,
//! nothing has been run for it.

use selvedge_core::{
    Bits, Ending, EventId, Fault, GraphSystem, Label, Location, ThreadId, Violation,
};
use smallvec::{SmallVec, smallvec};

use super::event::{Act, Event, Source};
use super::execution::Graph;
use super::witness;

/// The system is nondeterministic: a replay differs.
#[derive(Debug)]
pub(super) struct NotReproducible;

/// An event whose answer a thread got.
struct Told {
    /// What identifies the event.
    life: u64,
    /// What the thread writes, if it is the read part of an update.
    wrote: Option<Bits>,
    /// The thread that it starts, if it does.
    starts: Option<ThreadId>,
}

/// A system, and the events whose answers its threads got.
pub(super) struct Program<'s, S> {
    system: &'s mut S,
    /// The events whose answers each thread got.
    told: Vec<Vec<Told>>,
    /// Whether each thread exists in the initial state.
    roots: Vec<bool>,
    /// The same events in the order in which the answers were given, if threads use memory of their own: what they find there
    /// may depend on it.
    ran: Vec<EventId>,
    /// The thread that did not come to its next event.
    differs: Option<ThreadId>,
    /// Whether the execution was ended.
    is_over: bool,
    /// A buffer.
    order: Vec<EventId>,
}

impl<'s, S: GraphSystem> Program<'s, S> {
    pub(super) fn new(system: &'s mut S) -> Self {
        system.restart();
        let threads = system.thread_count();
        let roots = (0..threads).map(|thread| system.is_root(ThreadId::new(thread))).collect();
        let told = (0..threads).map(|_| Vec::new()).collect();
        let (ran, order) = (Vec::new(), Vec::new());
        Self { system, told, roots, ran, differs: None, is_over: false, order }
    }

    /// Returns how many threads are known.
    pub(super) fn threads(&self) -> usize {
        self.system.thread_count()
    }

    /// Returns whether a thread exists in the initial state.
    pub(super) fn is_root(&self, thread: ThreadId) -> bool {
        self.roots.get(thread.index()).is_some_and(|&root| root)
    }

    pub(super) fn initial(&self, at: Location) -> Bits {
        self.system.initial(at)
    }

    /// Returns what the thread stands at in the graph.
    pub(super) fn label(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Label, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.label(thread))
    }

    /// Returns whether the value ends the await that the thread stands at in the graph.
    pub(super) fn satisfies(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
        value: Bits,
    ) -> Result<bool, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.satisfies(thread, value))
    }

    /// Returns what the thread, whose last event in the graph is the read part of an update, writes.
    pub(super) fn wrote(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Bits, NotReproducible> {
        if self.has_memory() {
            return self.would_write(graph, thread);
        }
        self.tell(graph, thread)?;
        let last = self.told[thread.index()].last();
        last.and_then(|told| told.wrote).ok_or(NotReproducible)
    }

    /// Returns what [`wrote`](Self::wrote) does for a thread with memory of its own, which does not get the answer of its last
    /// event for that.
    fn would_write(&mut self, graph: &Graph, thread: ThreadId) -> Result<Bits, NotReproducible> {
        let events = graph.events(thread);
        self.tell_until(graph, thread, events.len() - 1)?;
        match self.told[thread.index()].get(events.len() - 1) {
            Some(told) => told.wrote,
            None => self.system.would_write(thread, events[events.len() - 1].value),
        }
        .ok_or(NotReproducible)
    }

    /// Returns why the thread failed.
    pub(super) fn fault(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Option<Fault>, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.fault(thread))
    }

    /// Returns the thread that failed in place of its next event, why, and the events up to there in the order in which they
    /// took place. What it found in memory of its own may differ from one order to the other, and this one is as good as any.
    pub(super) fn failed_instead(&mut self) -> Option<(ThreadId, Fault, &[EventId])> {
        let thread = self.differs.take()?;
        let fault = self.system.fault(thread).filter(|it| matches!(it, Fault::Violation(_)))?;
        Some((thread, fault, &self.ran))
    }

    /// Returns whether threads use memory of their own; see [`GraphSystem::has_memory`].
    pub(super) fn has_memory(&self) -> bool {
        self.system.has_memory()
    }

    /// Returns the events in the order in which threads that use memory of their own got their answers.
    pub(super) fn ran(&self) -> &[EventId] {
        &self.ran
    }

    /// Returns the location that stands for the memory of `at` in data races.
    pub(super) fn memory_of(&self, at: Location) -> Location {
        self.system.memory_of(at)
    }

    /// Returns how the program judges a graph in which no thread is enabled.
    pub(super) fn judge(
        &mut self,
        graph: &Graph,
    ) -> Result<Option<(Ending, Option<Violation>)>, NotReproducible> {
        // A thread that was not spawned has no answers to get.
        for thread in graph.threads() {
            if self.is_root(thread) || graph.threads[thread.index()].spawned.is_some() {
                self.tell(graph, thread)?;
            }
        }
        let judged = self.system.judge(&|at| {
            (at.index() < graph.cells.len()).then(|| graph.value(at, graph.last_write(at)))
        });
        // Judging may have ended its threads.
        self.is_over = self.system.has_memory();
        Ok(judged)
    }

    /// Runs a thread up to its last event in the graph.
    pub(super) fn tell(&mut self, graph: &Graph, thread: ThreadId) -> Result<(), NotReproducible> {
        self.tell_until(graph, thread, graph.events(thread).len())
    }

    /// Runs a thread up to this many of its events in the graph.
    fn tell_until(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
        until: usize,
    ) -> Result<(), NotReproducible> {
        if self.told.len() < graph.threads.len() {
            self.told.resize_with(graph.threads.len(), Vec::new);
        }
        let events = graph.events(thread);
        let waits = events.last().is_some_and(|event| event.is_blocked());
        let events = &events[..events.len() - usize::from(waits)];
        if self.is_over || (self.has_memory() && graph.threads().any(|it| self.is_stale(graph, it)))
        {
            return self.tell_all(graph, thread, until);
        }
        if self.has_memory() {
            return match self.take_back(graph, thread) {
                true => self.tell_with_others(graph, thread, until.min(events.len())),
                false => self.tell_all(graph, thread, until),
            };
        }
        // A thread exists once its parent has run up to the spawn, and the parent of its parent before that.
        let mut line: SmallVec<[ThreadId; 8]> = smallvec![thread];
        let mut last = thread;
        while let Some(spawn) = graph.threads[last.index()].spawned
            && !self.is_told(graph, spawn)
        {
            last = spawn.thread;
            line.push(last);
        }
        for &one in line.iter().rev() {
            if !self.take_back(graph, one) {
                return self.tell_all(graph, thread, until);
            }
            let events = graph.events(one);
            let waits = events.last().is_some_and(|event| event.is_blocked());
            for nth in self.told[one.index()].len()..events.len() - usize::from(waits) {
                self.tell_event(graph, EventId { thread: one, nth: nth as u32 })?;
            }
        }
        Ok(())
    }

    /// Returns whether the thread of an event of the graph got its answer.
    fn is_told(&self, graph: &Graph, event: EventId) -> bool {
        let told = self.told[event.thread.index()].get(event.nth as usize);
        told.is_some_and(|told| told.life == graph.event(event).life)
    }

    /// Takes a thread back to the last event that is in the graph and whose answer it got, and the threads that it has spawned
    /// since then to their beginning. Returns whether the system can do that.
    fn take_back(&mut self, graph: &Graph, thread: ThreadId) -> bool {
        let (told, events) = (&self.told[thread.index()], graph.events(thread));
        let mut same = told.len().min(events.len());
        while same > 0 && told[same - 1].life != events[same - 1].life {
            same -= 1;
        }
        if same == told.len() {
            return true;
        }
        let answers = same.checked_sub(1).map_or(0, |last| events[last].answers);
        let mut back: SmallVec<[(ThreadId, u32); 4]> = smallvec![(thread, answers)];
        let mut next = 0;
        while let Some(&(thread, _)) = back.get(next) {
            let from = if next == 0 { same } else { 0 };
            let undone = self.told[thread.index()].drain(from..);
            back.extend(undone.filter_map(|told| told.starts).map(|child| (child, 0)));
            next += 1;
        }
        // Children before their parents.
        back.iter().rev().all(|&(thread, answers)| self.system.rewind(thread, answers as usize))
    }

    /// Gives a thread the answers of its events, and other threads those of the events before them in program order, reads-from,
    /// spawn, join, and the end of what readers share with a lock.
    fn tell_with_others(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
        until: usize,
    ) -> Result<(), NotReproducible> {
        let events = |thread: ThreadId| {
            let events = graph.events(thread);
            events.len() - usize::from(events.last().is_some_and(Event::is_blocked))
        };
        // How many answers each thread has to get; the last entry is served first.
        let mut due = vec![(thread, until)];
        while let Some(&(thread, until)) = due.last() {
            let known = self.told[thread.index()].len();
            if known >= until {
                due.pop();
                continue;
            }
            let before = match graph.events(thread)[known].act {
                Act::Read { from: Source::Write(write), .. } => {
                    Some((write.thread, write.nth as usize + 1))
                }
                Act::Join(child) => Some((child, events(child))),
                _ => None,
            };
            let spawned = graph.threads[thread.index()].spawned.filter(|_| known == 0);
            let spawned = spawned.map(|spawn| (spawn.thread, spawn.nth as usize + 1));
            let event = &graph.events(thread)[known];
            let shares = match (event.label, event.act) {
                (Label::Lock(at), Act::Read { from, .. }) => Some(graph.sharers(at, from)),
                _ => None,
            };
            let ends = shares.into_iter().flatten().filter_map(|share| graph.end_of_share(share));
            let ends = ends.map(|end| (end.thread, end.nth as usize + 1));
            let is_due = |&(other, until): &(ThreadId, usize)| {
                other != thread && self.told[other.index()].len() < until
            };
            match spawned.into_iter().chain(before).chain(ends).find(is_due) {
                Some(other) => due.push(other),
                None => self.tell_event(graph, EventId { thread, nth: known as u32 })?,
            }
        }
        Ok(())
    }

    /// Returns whether a thread got the answer of an event that is not in the graph: then the program's memory is out of date.
    fn is_stale(&self, graph: &Graph, thread: ThreadId) -> bool {
        let (told, events) = (&self.told[thread.index()], graph.events(thread));
        told.len() > events.len()
            || told.last().is_some_and(|told_last| told_last.life != events[told.len() - 1].life)
    }

    /// Restarts, and gives all threads the answers of all their events, but one thread only this many.
    fn tell_all(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
        until: usize,
    ) -> Result<(), NotReproducible> {
        self.system.restart();
        self.is_over = false;
        self.told.iter_mut().for_each(Vec::clear);
        self.ran.clear();
        let mut order = std::mem::take(&mut self.order);
        witness::linear_extension(graph, &mut order);
        let is_told = |event: &&EventId| event.thread != thread || (event.nth as usize) < until;
        let told = order.iter().filter(is_told).try_for_each(|&it| self.tell_event(graph, it));
        self.order = order;
        told
    }

    fn tell_event(&mut self, graph: &Graph, id: EventId) -> Result<(), NotReproducible> {
        let event = graph.event(id);
        let wrote = match event.answer() {
            Some(_) if self.system.label(id.thread) != event.label => {
                self.differs = Some(id.thread).filter(|_| self.has_memory());
                return Err(NotReproducible);
            }
            Some(answer) => {
                if self.system.has_memory() && self.may_write(event) {
                    let newest = self.is_newest(graph, event);
                    self.system.is_newest(id.thread, newest);
                }
                self.system.proceed(id.thread, answer)
            }
            None => None,
        };
        let starts = if let Act::Spawn(child) = event.act { Some(child) } else { None };
        self.told[id.thread.index()].push(Told { life: event.life, wrote, starts });
        if self.system.has_memory() {
            self.ran.push(id);
        }
        Ok(())
    }

    fn may_write(&self, event: &Event) -> bool {
        matches!(event.act, Act::Write { .. }) || event.is_updating_read()
    }

    /// Returns whether no write whose thread got its answer is later in modification order than this one, or than what this
    /// read part of an update reads.
    fn is_newest(&self, graph: &Graph, event: &Event) -> bool {
        let Some(at) = event.at else { return false };
        let place = graph.place(event) as usize;
        let later = &graph.writes(at)[place..];
        !later.iter().any(|write| (write.nth as usize) < self.told[write.thread.index()].len())
    }
}
