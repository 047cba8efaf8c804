//! The program beside the graph: threads are brought to where the graph has them when they are asked.
//!
//! A thread is told what its events say only when its next label is needed. Until then the search may have
//! thrown the graph away, and nothing was run in vain.

use selvedge_core::{
    Bits, Ending, EventId, Fault, GraphSystem, Label, Location, ThreadId, Violation,
};

use super::execution::Graph;
use super::witness;

/// The system is nondeterministic: a replay differs.
#[derive(Debug)]
pub(super) struct NotReproducible;

/// An event that a thread was told.
struct Told {
    /// What identifies the event.
    life: u64,
    /// What the thread writes, if it is the read part of an update.
    wrote: Option<Bits>,
}

/// A system, and which events its threads were told.
pub(super) struct Program<'s, S> {
    system: &'s mut S,
    /// The events that each thread was told.
    told: Vec<Vec<Told>>,
    /// The threads that are there from the beginning.
    roots: Vec<bool>,
    /// A buffer.
    order: Vec<EventId>,
}

impl<'s, S: GraphSystem> Program<'s, S> {
    pub(super) fn new(system: &'s mut S) -> Self {
        system.restart();
        let threads = system.thread_count();
        let roots = (0..threads).map(|thread| system.is_root(ThreadId::new(thread))).collect();
        Self { system, told: (0..threads).map(|_| Vec::new()).collect(), roots, order: Vec::new() }
    }

    /// How many threads are known.
    pub(super) fn threads(&self) -> usize {
        self.system.thread_count()
    }

    /// Whether a thread is there from the beginning.
    pub(super) fn is_root(&self, thread: ThreadId) -> bool {
        self.roots.get(thread.index()).is_some_and(|&root| root)
    }

    pub(super) fn initial(&self, at: Location) -> Bits {
        self.system.initial(at)
    }

    /// What the thread stands at in the graph.
    pub(super) fn label(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Label, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.label(thread))
    }

    /// Whether the value ends the await that the thread stands at in the graph.
    pub(super) fn satisfies(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
        value: Bits,
    ) -> Result<bool, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.satisfies(thread, value))
    }

    /// What the thread, whose last event in the graph is the read part of an update, writes.
    pub(super) fn wrote(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Bits, NotReproducible> {
        self.tell(graph, thread)?;
        let last = self.told[thread.index()].last();
        last.and_then(|told| told.wrote).ok_or(NotReproducible)
    }

    /// Why the thread failed.
    pub(super) fn fault(
        &mut self,
        graph: &Graph,
        thread: ThreadId,
    ) -> Result<Option<Fault>, NotReproducible> {
        self.tell(graph, thread)?;
        Ok(self.system.fault(thread))
    }

    /// What the program has to say about a graph in which no thread can go on.
    pub(super) fn judge(
        &mut self,
        graph: &Graph,
    ) -> Result<Option<(Ending, Option<Violation>)>, NotReproducible> {
        // One that is not there has nothing to be told.
        for thread in graph.threads() {
            if self.is_root(thread) || graph.threads[thread.index()].spawned.is_some() {
                self.tell(graph, thread)?;
            }
        }
        Ok(self.system.judge(&|at| {
            (at.index() < graph.cells.len()).then(|| graph.value(at, graph.last_write(at)))
        }))
    }

    /// Brings a thread to where the graph has it.
    pub(super) fn tell(&mut self, graph: &Graph, thread: ThreadId) -> Result<(), NotReproducible> {
        if self.told.len() < graph.threads.len() {
            self.told.resize_with(graph.threads.len(), Vec::new);
        }
        let events = graph.events(thread);
        let waits = events.last().is_some_and(|event| event.is_blocked());
        let events = &events[..events.len() - usize::from(waits)];
        let told = &mut self.told[thread.index()];
        let mut same = told.len().min(events.len());
        while same > 0 && told[same - 1].life != events[same - 1].life {
            same -= 1;
        }
        if same < told.len() {
            told.truncate(same);
            let answers = same.checked_sub(1).map_or(0, |last| events[last].answers);
            if !self.system.rewind(thread, answers as usize) {
                return self.tell_all(graph);
            }
        }
        for nth in same..events.len() {
            self.tell_event(graph, EventId { thread, nth: nth as u32 })?;
        }
        Ok(())
    }

    /// Starts again and tells all threads all of their events.
    fn tell_all(&mut self, graph: &Graph) -> Result<(), NotReproducible> {
        self.system.restart();
        self.told.iter_mut().for_each(Vec::clear);
        let mut order = std::mem::take(&mut self.order);
        witness::linear_extension(graph, &mut order);
        let told = order.iter().try_for_each(|&event| self.tell_event(graph, event));
        self.order = order;
        told
    }

    fn tell_event(&mut self, graph: &Graph, id: EventId) -> Result<(), NotReproducible> {
        let event = graph.event(id);
        let wrote = match event.answer() {
            Some(_) if self.system.label(id.thread) != event.label => return Err(NotReproducible),
            Some(answer) => self.system.proceed(id.thread, answer),
            None => None,
        };
        self.told[id.thread.index()].push(Told { life: event.life, wrote });
        Ok(())
    }
}
