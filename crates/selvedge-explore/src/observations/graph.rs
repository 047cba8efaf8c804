//! The execution as a graph of observations.
//!
//! *Causality* is program order, from a write to the reads that observe it, and from an access to a
//! lock, semaphore, mailbox and the like to later accesses that do not commute with it. Two
//! executions are of the same class if they have the same causality. Unlike happens-before it does
//! not order two writes to one variable, nor a read and a later write.

use selvedge_core::{
    Access, EventId, Execution, Flexibility, Mode, ObjectId, Position, Step, ThreadId, commute,
};

use super::print::Print;

/// What the order of accesses to an object distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Discipline {
    /// A lock: nothing.
    Unobserved,
    /// A variable: only which write each read observes.
    #[default]
    Observed,
    /// A variable: also the order of its writes.
    OrderedWrites,
    /// The order of all accesses that do not commute.
    Ordered,
}

/// How many events of each thread: a set that contains, with an event, those of its thread before it.
pub(super) type Cut = Vec<u32>;

/// An event of the current execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vertex {
    pub(super) id: EventId,
    pub(super) choice: u32,
    pub(super) flexibility: Flexibility,
    /// Its name, with all of its past.
    pub(super) print: Print,
    /// The variable that it reads or writes, if that is [`Discipline::Observed`] or
    /// [`Discipline::OrderedWrites`]. Such an event touches nothing else.
    pub(super) variable: Option<Access>,
    /// The write that it observes; none: the initial value. Only if it reads `variable`.
    pub(super) source: Option<Position>,
    /// Where its touches begin in the list of all.
    first_touch: u32,
}

impl Vertex {
    pub(super) fn step(&self) -> Step {
        Step { thread: self.id.thread, choice: self.choice }
    }
}

/// The graph of the current execution. Events are added and taken back at the end.
#[derive(Default)]
pub(super) struct Graph {
    vertices: Vec<Vertex>,
    threads: Vec<Vec<Position>>,
    /// Of each object: its accesses in order.
    histories: Vec<Vec<(Position, Mode)>>,
    /// Of each object: how it is treated, once an event touched it in any execution.
    disciplines: Vec<Option<Discipline>>,
    /// The objects that events touch, one after the other.
    touched: Vec<ObjectId>,
    /// Causal past of each event, itself included: how many events of each thread.
    clocks: Vec<u32>,
    stride: usize,
    /// Predecessors of the event that is being added.
    predecessors: Vec<Position>,
}

impl Graph {
    pub(super) fn len(&self) -> usize {
        self.vertices.len()
    }

    pub(super) fn vertex(&self, position: Position) -> &Vertex {
        &self.vertices[position.index()]
    }

    pub(super) fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Returns how the object is treated.
    pub(super) fn discipline(&self, object: ObjectId) -> Discipline {
        self.disciplines.get(object.index()).copied().flatten().unwrap_or_default()
    }

    /// Returns how the objects that were touched are treated.
    pub(super) fn disciplines(&self) -> impl Iterator<Item = Discipline> + '_ {
        self.disciplines.iter().copied().flatten()
    }

    /// Returns the objects that are treated in this way.
    pub(super) fn objects_with(
        &self,
        discipline: Discipline,
    ) -> impl Iterator<Item = ObjectId> + '_ {
        let all = self.disciplines.iter().enumerate();
        let same = all.filter(move |&(_, &other)| other == Some(discipline));
        same.map(|(index, _)| ObjectId::new(index))
    }

    /// Treats the object at least so strictly from now on. Returns whether it was treated less
    /// strictly before: then what was explored is void.
    pub(super) fn restrict(&mut self, object: ObjectId, discipline: Discipline) -> bool {
        if self.disciplines.len() <= object.index() {
            self.disciplines.resize(object.index() + 1, None);
        }
        let old = self.disciplines[object.index()];
        self.disciplines[object.index()] = old.max(Some(discipline));
        old.is_some_and(|old| old < discipline)
    }

    /// Returns the events of each thread.
    pub(super) fn cut(&self) -> Cut {
        self.threads.iter().map(|events| events.len() as u32).collect()
    }

    /// Returns where the event is, if it has happened.
    pub(super) fn find(&self, id: EventId) -> Option<Position> {
        self.threads.get(id.thread.index())?.get(id.nth as usize).copied()
    }

    /// Returns the positions of the thread's events.
    pub(super) fn of_thread(&self, thread: usize) -> &[Position] {
        self.threads.get(thread).map_or(&[], Vec::as_slice)
    }

    /// Returns the causal past of the event, itself included.
    pub(super) fn clock(&self, position: Position) -> &[u32] {
        &self.clocks[position.index() * self.stride..][..self.stride]
    }

    /// Returns whether `past` is in the causal past of `event`, or is it.
    pub(super) fn is_past(&self, past: Position, event: Position) -> bool {
        let id = self.vertex(past).id;
        self.clocks[event.index() * self.stride + id.thread.index()] > id.nth
    }

    /// Returns the event of the same thread just before the one at `position`.
    pub(super) fn previous(&self, position: Position) -> Option<Position> {
        let id = self.vertex(position).id;
        (id.nth > 0).then(|| self.threads[id.thread.index()][id.nth as usize - 1])
    }

    /// Returns the accesses to the object in order.
    pub(super) fn history(&self, object: ObjectId) -> &[(Position, Mode)] {
        self.histories.get(object.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns the last write to the variable.
    pub(super) fn last_write(&self, object: ObjectId) -> Option<Position> {
        let mut history = self.history(object).iter().rev();
        history.find(|(_, mode)| mode.writes()).map(|&(position, _)| position)
    }

    /// Returns the accesses to the object before `end` that an access in `mode` comes directly after.
    pub(super) fn below(
        &self,
        object: ObjectId,
        mode: Mode,
        end: Position,
    ) -> impl Iterator<Item = Position> + '_ {
        let history = self.history(object);
        let before = history.partition_point(|&(position, _)| position < end);
        let mut rest = history[..before].iter().rev().copied().peekable();
        while rest.next_if(|&(_, other)| commute(other, mode)).is_some() {}
        let epoch = rest.peek().map(|&(_, mode)| mode);
        let mut first = true;
        rest.take_while(move |&(_, other)| {
            std::mem::take(&mut first) || epoch.is_some_and(|epoch| commute(epoch, other))
        })
        .map(|(position, _)| position)
    }

    /// Returns the event that made the one at `position` possible in the first place, if its thread was created
    /// or woken up for it.
    pub(super) fn cause(&self, accesses: &[Access], position: Position) -> Option<Position> {
        let begin = accesses.iter().find(|access| access.mode.is_cause())?;
        self.below(begin.object, begin.mode, position).next()
    }

    /// Adds the event at `position` of the execution.
    pub(super) fn push(&mut self, execution: &Execution, position: Position) {
        debug_assert_eq!(position.index(), self.vertices.len());
        let event = execution.event(position);
        let accesses = execution.accesses(position);
        self.make_room(event.id.thread, accesses);
        let previous = self.threads[event.id.thread.index()].last().copied();
        let mut vertex = Vertex {
            id: event.id,
            choice: event.choice,
            flexibility: event.flexibility,
            print: previous.map_or(Print::start(u64::from(event.id.thread.number())), |previous| {
                self.vertex(previous).print
            }),
            variable: None,
            source: None,
            first_touch: self.touched.len() as u32,
        };
        vertex.print = vertex.print.with(u64::from(event.choice));
        let mut predecessors = std::mem::take(&mut self.predecessors);
        predecessors.extend(previous);
        for &access in accesses {
            self.touch(position, access, &mut vertex, &mut predecessors);
        }
        let base = self.clocks.len();
        self.clocks.resize(base + self.stride, 0);
        for predecessor in predecessors.drain(..) {
            let (before, new) = self.clocks.split_at_mut(base);
            let other = &before[predecessor.index() * self.stride..][..self.stride];
            for (mine, theirs) in new.iter_mut().zip(other) {
                *mine = (*mine).max(*theirs);
            }
        }
        self.clocks[base + event.id.thread.index()] = event.id.nth + 1;
        self.predecessors = predecessors;
        self.threads[event.id.thread.index()].push(position);
        self.vertices.push(vertex);
    }

    /// Hangs one access of the new event into the history of its object.
    fn touch(
        &mut self,
        position: Position,
        access: Access,
        vertex: &mut Vertex,
        predecessors: &mut Vec<Position>,
    ) {
        let Access { object, mode } = access;
        let mut seen = Print::default();
        let mut direct = |graph: &Graph, predecessor: Position| {
            seen = seen.and(graph.vertex(predecessor).print);
            predecessors.push(predecessor);
        };
        let discipline = self.discipline(object);
        match discipline {
            Discipline::Unobserved => {}
            Discipline::Ordered => {
                self.below(object, mode, position).for_each(|below| direct(self, below));
            }
            Discipline::Observed | Discipline::OrderedWrites => {
                vertex.variable = Some(access);
                let last = self.last_write(object);
                if mode.reads() {
                    vertex.source = last;
                }
                if mode.reads() || discipline == Discipline::OrderedWrites {
                    last.into_iter().for_each(|last| direct(self, last));
                }
            }
        }
        let what = u64::from(object.number()) << 8 | mode as u64;
        vertex.print = vertex.print.with(what).then(seen);
        self.histories[object.index()].push((position, mode));
        self.touched.push(object);
    }

    /// Removes all events from position `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        while self.vertices.len() > len {
            let vertex = self.vertices.pop().expect("just compared");
            self.threads[vertex.id.thread.index()].pop();
            for object in self.touched.drain(vertex.first_touch as usize..) {
                self.histories[object.index()].pop();
            }
        }
        self.clocks.truncate(len * self.stride);
    }

    /// Returns the events of the cut in the order of the execution, as steps, and the set of their prints.
    pub(super) fn steps_of(&self, cut: &[u32]) -> (Vec<Step>, Print) {
        let mut prints = Print::default();
        let inside = |vertex: &&Vertex| contains(cut, vertex.id);
        let steps = self
            .vertices
            .iter()
            .filter(inside)
            .map(|vertex| {
                prints = prints.and(vertex.print);
                vertex.step()
            })
            .collect();
        (steps, prints)
    }

    fn make_room(&mut self, thread: ThreadId, accesses: &[Access]) {
        for access in accesses {
            if self.histories.len() <= access.object.index() {
                self.histories.resize_with(access.object.index() + 1, Vec::new);
            }
        }
        let needed = thread.index() + 1;
        if self.threads.len() < needed {
            self.threads.resize_with(needed, Vec::new);
        }
        if self.stride < needed {
            let stride = needed.next_power_of_two().max(4);
            let mut clocks = Vec::with_capacity(stride * self.vertices.len().max(16));
            for event in 0..self.vertices.len() {
                clocks.extend_from_slice(&self.clocks[event * self.stride..][..self.stride]);
                clocks.resize((event + 1) * stride, 0);
            }
            (self.clocks, self.stride) = (clocks, stride);
        }
    }
}

/// Returns whether the event is in the cut.
#[inline]
pub(super) fn contains(cut: &[u32], id: EventId) -> bool {
    cut.get(id.thread.index()).is_some_and(|&count| count > id.nth)
}

/// Makes the cut contain all that `other` contains.
pub(super) fn join(cut: &mut Cut, other: &[u32]) {
    if cut.len() < other.len() {
        cut.resize(other.len(), 0);
    }
    for (mine, theirs) in cut.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
