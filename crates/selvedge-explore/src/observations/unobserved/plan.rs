//! Runs an execution that has an annotation, or finds out that there is none.
//!
//! The events of the annotation are to happen, and each decision is to observe what it should. Events of
//! other kinds may happen in between: a thread that has done its part but still holds a lock may have to
//! go on until it gives it up. Which events these are only the program can tell.
//!
//! First the order is tried that the graph suggests, where threads in the way run on to their
//! release. If they cannot, all orders are tried, where the state counts as known if every thread
//! has the same past and every variable the same last write: what follows is then the same.

use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_core::{EventId, Mode, ObjectId, Status, Step, System, ThreadId};

use super::super::graph::{Discipline, Graph, Vertex};
use super::super::print::Print;
use super::{Forbidden, Observation, Unobserved, sections};

/// Where a search has got to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// All events of the plan have happened.
    Annotation,
    /// They have, and nothing else can happen.
    End,
}

/// What a search has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It has got to its goal.
    Yes,
    /// It cannot get there.
    No,
    /// It was given up.
    Unknown,
}

/// A search through all orders.
pub(super) struct Walk<'a> {
    goal: Goal,
    /// Which threads may run on when they have done their part; none: all.
    free: Option<&'a [bool]>,
    most_states: usize,
    /// Variables that were read in between.
    pub(super) read: FxHashSet<ObjectId>,
    /// Whether the end of a thread was waited for in between.
    pub(super) joins: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(goal: Goal, free: Option<&'a [bool]>, most_states: usize) -> Self {
        Self { goal, free, most_states, read: FxHashSet::default(), joins: false }
    }

    /// Returns whether the thread may run on when it has done its part.
    fn lets_run_on(&self, thread: ThreadId) -> bool {
        self.free.is_none_or(|free| free.get(thread.index()) == Some(&true))
    }
}

/// What an event of the annotation must do.
#[derive(Clone, Copy)]
struct Planned {
    choice: u32,
    /// What it must observe, if it reads.
    source: Option<Option<EventId>>,
}

/// A read that must observe this write.
struct Claim {
    read: EventId,
    source: Option<EventId>,
}

/// The events of an annotation.
pub(super) struct Plan {
    /// Of each thread: its first events.
    threads: Vec<Vec<Planned>>,
    /// Of each variable: the reads that must not be disturbed.
    claims: FxHashMap<ObjectId, Vec<Claim>>,
    /// Of each thread: how many locks it holds when it has done its part.
    held: Vec<u32>,
}

impl Plan {
    /// Returns the events of the cut as they are, and then `next`, a decision, which observes that.
    pub(super) fn new(graph: &Graph, cut: &[u32], next: Vertex, observation: Observation) -> Self {
        let threads = cut.len().max(next.id.thread.index() + 1);
        let mut plan = Self {
            threads: vec![Vec::new(); threads],
            claims: FxHashMap::default(),
            held: sections::held(graph, cut, threads),
        };
        for (thread, &count) in cut.iter().enumerate() {
            for &position in &graph.of_thread(thread)[..count as usize] {
                let vertex = graph.vertex(position);
                let source = vertex.source.map(|source| graph.vertex(source).id);
                plan.add(vertex, vertex.choice, source);
            }
        }
        match observation {
            Observation::Source(source) => plan.add(&next, next.choice, source),
            Observation::Choice(choice) => plan.add(&next, choice, None),
        }
        plan
    }

    fn add(&mut self, vertex: &Vertex, choice: u32, source: Option<EventId>) {
        let read = vertex.variable.filter(|access| access.mode.reads());
        if let Some(read) = read {
            let claim = Claim { read: vertex.id, source };
            self.claims.entry(read.object).or_default().push(claim);
        }
        let planned = Planned { choice, source: read.map(|_| source) };
        self.threads[vertex.id.thread.index()].push(planned);
    }

    /// Returns what the thread must do next, if it has not done its part.
    fn next(&self, graph: &Graph, thread: ThreadId) -> Option<Planned> {
        let done = graph.of_thread(thread.index()).len();
        self.threads.get(thread.index())?.get(done).copied()
    }

    /// Returns how many events of the plan have happened.
    fn done(&self, graph: &Graph) -> usize {
        let threads = self.threads.iter().enumerate();
        threads.map(|(thread, planned)| planned.len().min(graph.of_thread(thread).len())).sum()
    }

    /// Of each thread: whether it holds a lock when it has done its part.
    pub(super) fn holders(&self) -> Vec<bool> {
        self.held.iter().map(|&held| held > 0).collect()
    }

    fn is_done(&self, graph: &Graph) -> bool {
        let mut threads = self.threads.iter().enumerate();
        threads.all(|(thread, planned)| graph.of_thread(thread).len() >= planned.len())
    }
}

impl<S: System> Unobserved<'_, S> {
    /// Runs the events of the plan in this order. Returns whether that is possible; it is unknown if a
    /// lock is in the way.
    pub(super) fn follow(
        &mut self,
        plan: &Plan,
        order: &[EventId],
        forbidden: &Forbidden,
    ) -> Answer {
        for id in order {
            while !self.run.is_enabled(id.thread) {
                let Some(in_the_way) = self.in_the_way(plan, id.thread) else {
                    return Answer::Unknown;
                };
                if !self.take(plan, Step::of(in_the_way), forbidden) {
                    return Answer::Unknown;
                }
            }
            let planned = plan.next(&self.graph, id.thread);
            let choice = planned.map_or(0, |planned| planned.choice);
            if !self.take(plan, Step { thread: id.thread, choice }, forbidden) {
                return if self.run.execution.len() == plan.done(&self.graph) {
                    Answer::No
                } else {
                    Answer::Unknown
                };
            }
        }
        Answer::Yes
    }

    /// Returns a thread that can go on, has done its part, and holds a lock for which `thread` waits, maybe
    /// by way of others.
    fn in_the_way(&mut self, plan: &Plan, mut thread: ThreadId) -> Option<ThreadId> {
        for _ in 0..self.run.system.thread_count() {
            if self.run.system.status(thread) != Status::Blocked {
                return None;
            }
            self.run.system.pending(Step::of(thread), &mut self.pending);
            let mut accesses = self.pending.footprint.accesses().iter();
            let lock = accesses.find(|access| access.mode == Mode::Acquire)?.object;
            let &(position, _) = self.graph.history(lock).last()?;
            thread = self.graph.vertex(position).id.thread;
            if plan.next(&self.graph, thread).is_some() {
                return None;
            }
            if self.run.is_enabled(thread) {
                return Some(thread);
            }
        }
        None
    }

    /// Takes the step if the plan permits it. Returns whether it was taken.
    fn take(&mut self, plan: &Plan, step: Step, forbidden: &Forbidden) -> bool {
        if self.is_over() || self.run.is_at_step_limit() || !self.permits(plan, step, forbidden) {
            return false;
        }
        self.step(step);
        !self.is_over()
    }

    /// Returns whether the step, which can be taken, observes what it should and leaves others in peace.
    fn permits(&mut self, plan: &Plan, step: Step, forbidden: &Forbidden) -> bool {
        let planned = plan.next(&self.graph, step.thread);
        if planned.is_none() && self.is_forbidden(step, forbidden) {
            return false;
        }
        self.run.system.pending(step, &mut self.pending);
        let accesses = self.pending.footprint.accesses();
        let Some(access) = accesses.iter().find(|access| access.mode.is_memory()) else {
            return true;
        };
        let last = self.last_writer(access.object);
        if let Some(source) = planned.and_then(|planned| planned.source)
            && source != last
        {
            return false;
        }
        let done = |thread: ThreadId| self.graph.of_thread(thread.index()).len() as u32;
        let me = EventId { thread: step.thread, nth: done(step.thread) };
        let claims = plan.claims.get(&access.object).map_or(&[][..], Vec::as_slice);
        let is_disturbed = |claim: &Claim| {
            claim.source == last && claim.read != me && claim.read.nth >= done(claim.read.thread)
        };
        // The read would show it too, but late.
        !(access.mode.writes() && claims.iter().any(is_disturbed))
    }

    /// Tries all orders, also with other events in between, but looks at no more than so many states.
    pub(super) fn find_a_way(
        &mut self,
        plan: &Plan,
        forbidden: &Forbidden,
        walk: &mut Walk<'_>,
    ) -> Answer {
        self.go_to(&[]);
        let mut seen: FxHashSet<Print> = FxHashSet::default();
        let mut path: Vec<Vec<Step>> = Vec::new();
        while !self.is_over() {
            if self.is_at(plan, walk.goal) {
                return Answer::Yes;
            }
            if seen.len() >= walk.most_states {
                return Answer::Unknown;
            }
            let is_new = seen.insert(self.state());
            path.push(if is_new { self.moves(plan, forbidden, walk) } else { Vec::new() });
            let Some(step) = self.next_move(&mut path) else { return Answer::No };
            self.step(step);
        }
        Answer::Unknown
    }

    fn is_at(&self, plan: &Plan, goal: Goal) -> bool {
        let at_end = || self.run.is_at_step_limit() || self.run.enabled_in_order().next().is_none();
        plan.is_done(&self.graph) && (goal == Goal::Annotation || at_end())
    }

    /// Returns the next step on a way that was not tried, after going back to where it begins.
    fn next_move(&mut self, path: &mut Vec<Vec<Step>>) -> Option<Step> {
        loop {
            if let Some(step) = path.last_mut()?.pop() {
                return Some(step);
            }
            path.pop();
            let len = path.len().checked_sub(1)?;
            self.graph.truncate(len);
            self.run.backtrack(len);
        }
    }

    /// Returns the name of the state: what every thread has done, and which event wrote every variable.
    fn state(&self) -> Print {
        let mut print = Print::default();
        for thread in 0..self.run.system.thread_count() {
            if let Some(&last) = self.graph.of_thread(thread).last() {
                print = print.and(self.graph.vertex(last).print.with(0));
            }
        }
        for object in self.graph.objects_with(Discipline::Observed) {
            if let Some(write) = self.graph.last_write(object) {
                let by = self.graph.vertex(write).print;
                print = print.and(by.with(1 + u64::from(object.number())));
            }
        }
        print
    }

    /// Returns the steps that the plan permits now; the last is to be tried first.
    fn moves(&mut self, plan: &Plan, forbidden: &Forbidden, walk: &mut Walk<'_>) -> Vec<Step> {
        let (mut free, mut planned) = (Vec::new(), Vec::new());
        if self.run.is_at_step_limit() {
            return free;
        }
        for thread in (0..self.run.system.thread_count()).rev().map(ThreadId::new) {
            let status = self.run.system.status(thread);
            match plan.next(&self.graph, thread) {
                Some(next) if status == Status::Enabled => {
                    planned.push(Step { thread, choice: next.choice });
                }
                None if walk.lets_run_on(thread) && status == Status::Enabled => {
                    let choices = self.run.system.choices(thread);
                    free.extend((0..choices).rev().map(|choice| Step { thread, choice }));
                    self.note_dependence(thread, walk);
                }
                None if walk.lets_run_on(thread) && status == Status::Blocked => {
                    self.note_dependence(thread, walk);
                }
                _ => {}
            }
        }
        free.extend(planned);
        free.retain(|&step| self.permits(plan, step, forbidden));
        free
    }

    /// Notes what the pending step of the thread depends on, other than locks.
    fn note_dependence(&mut self, thread: ThreadId, walk: &mut Walk<'_>) {
        self.run.system.pending(Step::of(thread), &mut self.pending);
        for access in self.pending.footprint.accesses() {
            if access.mode.reads() {
                walk.read.insert(access.object);
            }
            walk.joins |= access.mode == Mode::Join;
        }
    }
}
