//! The paper's locks: neither read nor written.
//!
//! Two executions are then of one class if every read of a variable observes the same write, whatever
//! the order of critical sections. That is coarser: threads that only count under a lock have one class.
//! But it covers assertions only: that there is no deadlock is not shown. If one is met, the search is given up
//! and locks are observed after all: see below.
//!
//! What is known of an execution is the annotation `A⁺`: *decisions* (reads, and choices) with what they
//! observe, and with them all that is before them in their threads. The search is by single mutations.
//! At a node with an execution `t` that has the annotation, a decision is *open* if all decisions
//! before it in its thread are annotated and it is not; a write is *available* if all decisions before
//! it are annotated. Every open decision is annotated with every available write in turn (what it
//! observes in `t` costs no execution), and `A⁻` forbids what was tried before at the node and above.
//!
//! *Nothing is lost:* let an execution have the annotation of a node, and nothing forbidden. Its
//! first decision that is not annotated is open, and what it observes is available; both are in `t`. So it
//! is below one of the children. *Nothing is visited twice:* children forbid what their elder
//! siblings are about. An execution that has something forbidden is redundant.
//!
//! *Both are in `t`* only if `t` runs every thread to its end. A thread that stays blocked in `t`, in a deadlock or
//! because it may, as a daemon, keeps its decisions and writes to itself, although in other executions with
//! the same annotation they come. So this search ends there, and all is explored with observed locks.
//!
//! A decision that has tried everything available must wait for a write that is not, and so the siblings
//! after it are explored only if the system says that another thread may write that variable later.
//!
//! Whether there is an execution with an annotation is found out by running it: a critical section
//! that is left open by the annotation may have to be run to its end first, which is up to the
//! program (`unobserved/plan.rs`). Mostly the graph decides before.
//!
//! Comments `[l.N]` name the lines of Algorithm 2, `DC-DPOR(t, A)`, which this search follows.

mod mutate;
mod plan;
mod sections;
mod treatable;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use selvedge_core::{
    Effect, EventId, Footprint, ObjectId, Position, Report, Status, Step, System, ThreadId,
};

use super::architecture::Architecture;
use super::graph::{Cut, Graph, contains};
use super::may_write;
use super::realize::{Realizer, Wanted};
use crate::options::{Observer, Options};
use crate::search::run::Run;
use crate::search::share::share_done;

use treatable::{discipline, untreatable};

/// What a decision can be about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Observation {
    /// A read observes this write; none: the initial value.
    Source(Option<EventId>),
    /// A step takes this alternative.
    Choice(u32),
}

/// `A⁻`.
type Forbidden = FxHashMap<EventId, Vec<Observation>>;

/// A decision that is not annotated, and what it could observe.
struct Open {
    event: EventId,
    left: Vec<Observation>,
    tried: usize,
}

/// A variable that `finally` looks at.
struct Look {
    /// Which one.
    nth: usize,
    /// Writes that could come last instead.
    left: Vec<EventId>,
}

/// A node of the search.
struct Node {
    /// An execution that has the annotation.
    steps: Rc<[Step]>,
    /// `A⁺`: decisions that observe what they do in `steps`.
    annotated: FxHashSet<EventId>,
    forbidden: Forbidden,
    /// How many events of each thread are available.
    available: Cut,
    /// The first one last.
    open: Vec<Open>,
}

/// Nothing if an execution was met in which a thread stays blocked.
pub(super) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Option<Report> {
    let mut search = Unobserved {
        run: Run::new(make, options, observer),
        graph: Graph::default(),
        realizer: Realizer::new(&options.budget),
        architecture: Architecture::default(),
        pending: Effect::default(),
        nodes: Vec::new(),
        annotations: 0,
        by_running: 0,
        gave_up: None,
        stuck: false,
    };
    search.search();
    (!search.stuck).then(|| search.into_report())
}

struct Unobserved<'a, S> {
    run: Run<'a, S>,
    graph: Graph,
    realizer: Realizer,
    architecture: Architecture,
    pending: Effect,
    nodes: Vec<Node>,
    annotations: u64,
    /// Questions that only the program could answer.
    by_running: u64,
    /// Why nothing is proved.
    gave_up: Option<String>,
    /// A thread stays blocked: what it would do next is not seen.
    stuck: bool,
}

impl<S: System> Unobserved<'_, S> {
    fn search(&mut self) {
        self.run_to_end(&Forbidden::default());
        self.finish();
        self.enter(FxHashSet::default(), Forbidden::default());
        while !self.is_over()
            && let Some(node) = self.nodes.last_mut()
        {
            // [l.1]
            let Some(open) = node.open.last_mut() else {
                self.nodes.pop();
                continue;
            };
            let event = open.event;
            let Some(observation) = open.left.pop() else {
                self.leave(event);
                continue;
            };
            open.tried += 1;
            let forbidden = node.forbidden.clone();
            let tried = node.forbidden.entry(event).or_default();
            // [l.2]
            if tried.contains(&observation) {
                continue;
            }
            // [l.7]
            tried.push(observation);
            self.visit(event, observation, forbidden);
        }
    }

    fn is_over(&self) -> bool {
        self.run.is_stopped() || self.gave_up.is_some() || self.stuck
    }

    /// Leaves a decision that has tried everything. If no other thread can write what it reads, then
    /// nothing is left at the node.
    fn leave(&mut self, event: EventId) {
        let node = self.nodes.last_mut().expect("internal error: no node to leave");
        node.open.pop();
        if node.open.is_empty() {
            self.nodes.pop();
            return;
        }
        let (steps, available) = (Rc::clone(&node.steps), node.available.clone());
        self.go_to(&steps);
        if !self.is_over() && !self.could_observe_more(event, &available) {
            self.nodes.pop();
        }
    }

    /// Returns whether the decision could observe a write that is not available.
    fn could_observe_more(&mut self, event: EventId, available: &[u32]) -> bool {
        let position = self.graph.find(event).expect("internal error: the decision is gone");
        let Some(read) = self.graph.vertex(position).variable else { return false };
        (0..available.len()).filter(|&thread| thread != event.thread.index()).any(|thread| {
            let next = self.graph.of_thread(thread).get(available[thread] as usize).copied();
            next.is_some_and(|next| {
                self.run.sync_to(next.index());
                may_write(&mut self.run.system, ThreadId::new(thread), read.object)
            })
        })
    }

    /// Explores the child of the last node in which the decision observes that.
    fn visit(&mut self, event: EventId, observation: Observation, forbidden: Forbidden) {
        let node = self.nodes.last().expect("internal error: no node to visit");
        let (steps, mut annotated) = (Rc::clone(&node.steps), node.annotated.clone());
        self.go_to(&steps);
        if self.is_over() {
            return;
        }
        let position = self.graph.find(event).expect("internal error: the decision is gone");
        // [l.3-6]
        let is_new = self.observed(position) != Some(observation);
        if is_new && !self.mutate(&mut annotated, position, observation, &forbidden) {
            return;
        }
        annotated.insert(event);
        self.annotations += 1;
        // [l.8-9]
        self.enter(annotated, forbidden);
    }

    /// Returns what the event observes, if it is a decision.
    fn observed(&self, position: Position) -> Option<Observation> {
        let vertex = self.graph.vertex(position);
        if self.run.execution.event(position).choices > 1 {
            return Some(Observation::Choice(vertex.choice));
        }
        vertex.variable.filter(|access| access.mode.reads())?;
        let source = vertex.source.map(|source| self.graph.vertex(source).id);
        Some(Observation::Source(source))
    }

    /// Makes a node of the current execution.
    fn enter(&mut self, annotated: FxHashSet<EventId>, forbidden: Forbidden) {
        self.stuck |= self.waits_for_ever();
        if self.is_over() {
            return;
        }
        let (available, decisions) = self.look_around(&annotated);
        if decisions.is_empty() {
            return self.explore_last_writes();
        }
        let mut open: Vec<Open> = decisions
            .into_iter()
            .map(|position| Open {
                event: self.graph.vertex(position).id,
                left: self.possibilities(position, &available),
                tried: 0,
            })
            .collect();
        open.reverse();
        // Those for which nothing is left come first, since they may show that there is nothing here.
        open.sort_by_key(|open| {
            let tried = forbidden.get(&open.event);
            tried.is_some_and(|tried| open.left.iter().all(|other| tried.contains(other)))
        });
        let steps = Rc::from(self.run.execution.steps());
        self.nodes.push(Node { steps, annotated, forbidden, available, open });
    }

    /// Returns whether the execution has ended, but a thread has not.
    fn waits_for_ever(&self) -> bool {
        let status = |thread| self.run.system.status(thread);
        self.run.threads().any(|thread| status(thread) == Status::Blocked)
            && !self.run.threads().any(|thread| status(thread) == Status::Enabled)
    }

    /// Returns how many events of each thread are available, and the decisions that are open, in the order
    /// of the execution.
    fn look_around(&self, annotated: &FxHashSet<EventId>) -> (Cut, Vec<Position>) {
        let mut available: Cut = vec![0; self.graph.cut().len()];
        let mut open = Vec::new();
        for (index, vertex) in self.graph.vertices().iter().enumerate() {
            let (position, thread) = (Position::new(index), vertex.id.thread.index());
            let cause = self.graph.cause(self.run.execution.accesses(position), position);
            let is_there = |cause: Position| contains(&available, self.graph.vertex(cause).id);
            if available[thread] != vertex.id.nth || !cause.is_none_or(is_there) {
                continue;
            }
            if self.observed(position).is_some() && !annotated.contains(&vertex.id) {
                open.push(position);
                continue;
            }
            let others = self.graph.clock(position).iter().zip(&available).enumerate();
            let mut others = others.filter(|&(other, _)| other != thread);
            if others.all(|(_, (needed, available))| needed <= available) {
                available[thread] += 1;
            }
        }
        (available, open)
    }

    /// Returns what the open decision could observe: what it does observe last, as it is tried first.
    fn possibilities(&self, position: Position, available: &[u32]) -> Vec<Observation> {
        let now = self.observed(position).expect("internal error: it is no decision");
        let mut all: Vec<Observation> = match (now, self.graph.vertex(position).variable) {
            (Observation::Source(_), Some(read)) => {
                let writes =
                    self.graph.history(read.object).iter().filter(|(_, mode)| mode.writes());
                let ids = writes.map(|&(write, _)| self.graph.vertex(write).id);
                let sources = ids.filter(|&id| contains(available, id)).map(Some);
                std::iter::once(None).chain(sources).map(Observation::Source).collect()
            }
            _ => (0..self.run.execution.event(position).choices).map(Observation::Choice).collect(),
        };
        all.reverse();
        // What it observes may not be available.
        if let Some(index) = all.iter().position(|&other| other == now) {
            let now = all.remove(index);
            all.push(now);
        }
        all
    }

    /// Makes these the current steps.
    fn go_to(&mut self, steps: &[Step]) {
        let shared = self.run.execution.steps().iter().zip(steps);
        let shared = shared.take_while(|(a, b)| a == b).count();
        self.graph.truncate(shared);
        self.run.backtrack(shared);
        for &step in &steps[shared..] {
            if self.is_over() {
                return;
            }
            self.step(step);
        }
    }

    /// Takes a step and adds its event to the graph.
    fn step(&mut self, step: Step) {
        self.run.step(step);
        let position = Position::new(self.run.execution.len() - 1);
        let event = self.run.execution.event(position);
        let accesses = self.run.execution.accesses(position);
        for access in accesses {
            self.graph.restrict(access.object, discipline(access.mode));
        }
        if let Some(what) = untreatable(accesses, event.flexibility, event.choices) {
            self.refuse(what);
        }
        self.graph.push(&self.run.execution, position);
        for access in self.run.execution.accesses(position) {
            self.architecture.note(step.thread, *access);
        }
        self.run.after_step(&|| fraction(&self.nodes));
    }

    fn refuse(&mut self, what: &str) {
        let reason = format!(
            "`--unobserved-locks` does not support {what}; leave it out, and the order of \
             everything but reads and writes is observed"
        );
        self.gave_up.get_or_insert(reason);
    }

    /// Runs on to the end, as far as it is easy without anything forbidden.
    fn run_to_end(&mut self, forbidden: &Forbidden) {
        while !self.is_over() && !self.run.is_at_step_limit() {
            let enabled: Vec<ThreadId> = self.run.enabled_in_order().collect();
            let Some(&first) = enabled.first() else { return };
            let mut steps = enabled.into_iter().map(Step::of);
            let step = steps.find(|&step| !self.is_forbidden(step, forbidden));
            self.step(step.unwrap_or(Step::of(first)));
        }
    }

    /// Returns whether the step would observe what it must not.
    fn is_forbidden(&mut self, step: Step, forbidden: &Forbidden) -> bool {
        let nth = self.graph.of_thread(step.thread.index()).len() as u32;
        let Some(tried) = forbidden.get(&EventId { thread: step.thread, nth }) else {
            return false;
        };
        self.run.system.pending(step, &mut self.pending);
        let reads = self.pending.footprint.accesses().iter().find(|access| access.mode.reads());
        let observation = match reads {
            Some(read) => Observation::Source(self.last_writer(read.object)),
            None => Observation::Choice(step.choice),
        };
        tried.contains(&observation)
    }

    fn last_writer(&self, object: ObjectId) -> Option<EventId> {
        self.graph.last_write(object).map(|write| self.graph.vertex(write).id)
    }

    /// Judges the execution, which is maximal or as long as it may be.
    fn finish(&mut self) {
        if self.is_over() {
            return;
        }
        for thread in self.run.threads() {
            if self.run.system.status(thread) == Status::Blocked {
                self.run.system.pending(Step::of(thread), &mut self.pending);
                let Effect { footprint, flexibility, .. } = &self.pending;
                if let Some(what) = untreatable(footprint.accesses(), *flexibility, 1) {
                    return self.refuse(what);
                }
            }
        }
        let is_maximal = self.run.enabled_in_order().next().is_none();
        if is_maximal {
            self.run.finish()
        } else {
            self.run.finish_cut()
        }
        self.run.after_execution(&|| fraction(&self.nodes));
    }

    fn finish_redundant(&mut self) {
        self.run.finish_redundant();
        self.run.after_execution(&|| fraction(&self.nodes));
    }

    /// Returns whether the execution, in which these are annotated, has something forbidden.
    fn has_forbidden(&self, annotated: &FxHashSet<EventId>, forbidden: &Forbidden) -> bool {
        self.graph.vertices().iter().enumerate().any(|(index, vertex)| {
            let tried = forbidden.get(&vertex.id).filter(|_| !annotated.contains(&vertex.id));
            let observed = || self.observed(Position::new(index));
            tried.is_some_and(|tried| observed().is_some_and(|now| tried.contains(&now)))
        })
    }

    /// The decisions are all made. Explores what else `finally` could find.
    ///
    /// [`Unobserved::write_last`] only changes the order of the current events, and leaves the variables before
    /// the `nth` as they are. Looks further up the stack are at later variables. So a look can go on from
    /// any execution that they have left: those before its variable are as they were when it was pushed.
    fn explore_last_writes(&mut self) {
        let mut looks: Vec<Look> = Vec::new();
        self.look_from(0, &mut looks);
        while !self.is_over()
            && let Some(look) = looks.last_mut()
        {
            let Some(write) = look.left.pop() else {
                looks.pop();
                continue;
            };
            let nth = look.nth;
            if self.write_last(nth, write) {
                self.finish();
                self.look_from(nth + 1, &mut looks);
            }
        }
    }

    /// Notes what `finally`, which runs now, could find instead where it looks at its `first` variable and
    /// those after it.
    fn look_from(&mut self, first: usize, looks: &mut Vec<Look>) {
        for (nth, object) in self.judged().into_iter().enumerate().skip(first) {
            let now = self.last_writer(object);
            let writes = self.graph.history(object).iter().filter(|(_, mode)| mode.writes());
            let ids = writes.map(|&(write, _)| self.graph.vertex(write).id);
            let left: Vec<EventId> = ids.filter(|&write| Some(write) != now).collect();
            if !left.is_empty() {
                looks.push(Look { nth, left });
            }
        }
    }

    /// Runs an execution with the same decisions in which the `nth` variable that `finally` looks at was
    /// last written by `write`, and those before it by the same as now. Returns whether there is any.
    fn write_last(&mut self, nth: usize, write: EventId) -> bool {
        let objects = self.judged();
        let before = objects[..nth].iter().map(|&object| (object, self.last_writer(object)));
        let last: Vec<_> = before.chain([(objects[nth], Some(write))]).collect();
        let cut = self.graph.cut();
        let either = sections::exclusive(&self.graph, &cut, None);
        let wanted = Wanted { cut: &cut, extras: &[], last: &last, either: &either };
        let Some(order) = self.realizer.realize(&self.graph, &wanted) else { return false };
        let position = |id| self.graph.find(id).expect("internal error: event is gone");
        let steps: Vec<Step> =
            order.into_iter().map(|id| self.graph.vertex(position(id)).step()).collect();
        self.go_to(&steps);
        self.annotations += 1;
        true
    }

    /// Returns the variables that `finally` looks at, in order.
    fn judged(&mut self) -> Vec<ObjectId> {
        let mut footprint = Footprint::new();
        match self.run.system.judging() {
            Some(system) => system.judged(&mut footprint),
            None => self.run.give_up(super::END_NOT_TOLD.to_owned()),
        }
        footprint.accesses().iter().map(|access| access.object).collect()
    }

    fn into_report(mut self) -> Report {
        let refused = self.gave_up.take();
        let effort = self.realizer.effort;
        if let Some(reason) = refused {
            self.run.give_up(reason);
            return self.run.into_report();
        }
        let mut report = self.run.into_report();
        report.fact("architecture", self.architecture.describe());
        report.fact("mode", "unobserved locks, exact".to_owned());
        report.count("annotations", self.annotations + 1);
        report.count("realizability questions", effort.asked);
        report.count("decided by 2-SAT", effort.two_sat - effort.search);
        report.count("decided by search", effort.search);
        report.count("decided by running", self.by_running);
        report
    }
}

fn fraction(nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| {
        let tried: usize = node.open.iter().map(|open| open.tried).sum();
        let left: usize = node.open.iter().map(|open| open.left.len()).sum();
        (tried, tried + left)
    }))
}
