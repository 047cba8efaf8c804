//! Work that is divided: a thread of a backtrack set, with all that is explored below it.
//!
//! What is explored below a step depends on the way to it and on what sleeps, that is, on the threads that come before
//! in the backtrack sets of the way; so a unit has these too. Its text is that of `division/rest.rs`: the nodes on the way, and last the one
//! whose thread is explored, with all its alternatives from one on. Races that ask for other threads at the
//! nodes of the way are part of its result, and are granted by the rest that has those nodes: in the order in which one worker would have
//! found them, so the backtrack sets and the order of what is in them are those of one worker.

use std::collections::BTreeSet;

use selvedge_core::{
    Position, Report, Schedule, Step, System, ThreadId, ThreadKey, Violation, thread_named,
};

use super::SourceSets;
use crate::division::rest::{Ask, Node, Nodes, Rest};
use crate::division::worker::{Advance, Before, Worker};
use crate::division::{Part, Pending};
use crate::options::{Observer, Options};
use crate::reductions::backtrack::Backtracking;
use crate::search::depth_first::{Reduction as _, to_the_end};
use crate::search::run::Run;
use crate::search::share::share_done;
use crate::trace::frontier::Frontier;
use crate::trace::races::NOT_REPRODUCIBLE;

const DAMAGED: &str = "a unit of work is damaged: it is not a thread of a backtrack set";

/// Begins with a thread of a backtrack set.
pub(crate) fn begin<'a, S: System + 'static>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    start: &Pending,
) -> Result<Box<dyn Worker + 'a>, String> {
    let mut worker = Divided {
        run: Run::new(make, options, observer),
        search: Backtracking::new(SourceSets::new()),
        is_over: false,
        share: start.share,
        besides: Vec::new(),
    };
    if !start.unit.is_empty() {
        worker.go_to(&start.unit)?;
    }
    Ok(Box::new(worker))
}

struct Divided<'a, S> {
    run: Run<'a, S>,
    search: Backtracking<SourceSets>,
    /// Whether nothing is left.
    is_over: bool,
    /// The share of the search that it has, without what it handed over.
    share: f64,
    besides: Vec<(Violation, Schedule)>,
}

impl<S: System> Divided<'_, S> {
    /// Follows a unit to its state.
    fn go_to(&mut self, text: &str) -> Result<(), String> {
        let Nodes(nodes) = text.parse().map_err(|()| DAMAGED)?;
        let (last, way) = nodes.split_last().ok_or(DAMAGED)?;
        // What the way asks for has been asked for.
        self.search.rule.abroad.begin(usize::MAX);
        for node in way {
            let step = self.enter(node)?;
            self.search.sets.frontiers.iter_mut().for_each(Frontier::close);
            self.search.take(&mut self.run, step);
        }
        self.enter(last)?;
        self.search.rule.abroad.begin(nodes.len());
        self.run.forget_found();
        Ok(())
    }

    /// Comes to a node: what was explored from it sleeps. Returns the step that is on the way.
    fn enter(&mut self, node: &Node) -> Result<Step, String> {
        self.search.rule.order.update(&self.run.system);
        let (index, choice) =
            node.taken.filter(|(index, _)| index + 1 == node.threads.len()).ok_or(DAMAGED)?;
        let threads = node.threads.iter().map(|name| self.find(name));
        let threads: Vec<ThreadId> = threads.collect::<Result<_, _>>()?;
        let step = Step { thread: threads[index], choice };
        for &thread in &threads[..index] {
            self.put_to_sleep(thread, u32::MAX);
        }
        self.put_to_sleep(step.thread, choice);
        if !self.run.can_take(step) {
            return Err(NOT_REPRODUCIBLE.to_owned());
        }
        self.search.sets.frontiers.push(Frontier::begun(threads.into_iter(), index, choice));
        Ok(step)
    }

    /// Returns the thread that has this name here.
    fn find(&self, name: &ThreadKey) -> Result<ThreadId, String> {
        let thread = thread_named(&self.run.system, name);
        let thread = thread.filter(|&thread| self.run.is_enabled(thread));
        thread.ok_or_else(|| NOT_REPRODUCIBLE.to_owned())
    }

    /// Takes the alternatives of a thread before one of them, each from the state that the run is in, to see what they touch, and
    /// puts them to sleep.
    fn put_to_sleep(&mut self, thread: ThreadId, before: u32) {
        let depth = self.run.execution.len();
        // Those that the bounds on switches rule out were not explored.
        let is_within = self.run.is_within_preemptions(thread);
        let choices = if is_within { self.run.system.choices(thread) } else { 0 };
        for step in (0..choices.min(before)).map(|choice| Step { thread, choice }) {
            let sleep = &mut self.search.sets.sleep;
            if !sleep.contains(step) {
                self.run.step(step);
                sleep.add_event(&self.run.execution, Position::new(depth));
                self.run.backtrack(depth);
            }
        }
    }

    fn name(&self, thread: ThreadId) -> ThreadKey {
        self.run.system.thread_key(thread)
    }

    /// Returns the node at a depth as it is on the way. `whole`: with what comes after.
    fn node(&self, depth: usize, whole: bool) -> Node {
        let step = self.run.execution.steps()[depth];
        let threads = &self.search.sets.frontiers[depth].threads;
        let index = threads.iter().position(|&thread| thread == step.thread);
        let index = index.expect("internal error: a step that was not asked for");
        let end = if whole { threads.len() } else { index + 1 };
        let threads = threads[..end].iter().map(|&thread| self.name(thread)).collect();
        Node { threads, taken: Some((index, step.choice)) }
    }

    /// Returns the threads that are left at a depth, as places in its backtrack set with their first alternative.
    fn left_at(&self, depth: usize) -> Vec<(usize, u32)> {
        let frontier = &self.search.sets.frontiers[depth];
        match self.search.sets.next.filter(|_| depth == self.run.execution.len()) {
            None => frontier.left().collect(),
            Some(next) => {
                let is_next = |&thread: &ThreadId| thread == next.thread;
                let first = frontier.threads.iter().position(is_next).unwrap_or_default();
                let others = (first + 1..frontier.threads.len()).map(|place| (place, 0));
                std::iter::once((first, next.choice)).chain(others).collect()
            }
        }
    }

    /// Returns the depths at which something is left, the last one first.
    fn depths_left(&self) -> impl Iterator<Item = usize> + '_ {
        let last = self.search.sets.next.map(|_| self.run.execution.len());
        let frontiers = self.search.sets.frontiers.iter().enumerate().rev();
        frontiers
            .filter(move |(depth, frontier)| Some(*depth) == last || frontier.has_more())
            .map(|(depth, _)| depth)
    }

    /// Returns the units of what is left at a depth.
    fn units(&self, depth: usize, share: f64) -> Vec<Part> {
        let way: Vec<Node> = (0..depth).map(|at| self.node(at, false)).collect();
        let unit = |(place, choice): (usize, u32)| {
            let threads = &self.search.sets.frontiers[depth].threads[..=place];
            let threads = threads.iter().map(|&thread| self.name(thread)).collect();
            let last = Node { threads, taken: Some((place, choice)) };
            let nodes = way.iter().cloned().chain([last]).collect();
            Part::ToDo(Pending { unit: Nodes(nodes).to_string(), share, floor: depth + 1 })
        };
        self.left_at(depth).into_iter().map(unit).collect()
    }

    /// Returns the rest of the nodes from `floor` to `depth`; nothing if there are none, as they belong to others.
    fn rest(&self, floor: usize, depth: usize, share: f64) -> Option<Part> {
        if floor > depth {
            return None;
        }
        let way = (0..depth).map(|at| self.node(at, at >= floor));
        let threads = self.search.sets.frontiers[depth].threads.iter();
        let threads = threads.map(|&thread| self.name(thread)).collect();
        let nodes = Nodes(way.chain([Node { threads, taken: None }]).collect());
        Some(Part::Rest(Rest { floor, nodes, share }))
    }

    /// Returns the share of each unit that is left at a depth, and of its rest.
    fn share_at(&self, depth: usize) -> f64 {
        let frontiers = &self.search.sets.frontiers[..=depth];
        let own = frontiers.iter().skip(self.search.rule.abroad.floor);
        own.fold(self.share, |share, frontier| share / (frontier.threads.len() + 1) as f64)
    }

    /// Returns whether nothing was run yet.
    fn is_fresh(&self) -> bool {
        self.search.sets.frontiers.is_empty() && !self.is_over
    }
}

impl<S: System> Worker for Divided<'_, S> {
    fn advance(&mut self) -> Advance {
        if let Some(ended) = Advance::ended(&self.run) {
            return ended;
        }
        // Not before it is needed: what a bound rules out here is not noted if the report ends before it.
        let is_to_go_back = !self.is_fresh() && self.search.sets.next.is_none();
        if self.is_over || is_to_go_back && !self.search.go_back(&mut self.run) {
            self.is_over = true;
            return Advance::Nothing;
        }
        let (depth, next) = (self.run.execution.len(), self.search.sets.next);
        let before = Before::of(&self.run.report);
        to_the_end(&mut self.run, &mut self.search);
        self.search.rule.order.update(&self.run.system);
        if self.run.options.budget.is_spent() && !self.run.is_violated() {
            // What it has asked for, it asks for again: that changes nothing.
            self.run.backtrack(depth);
            let sets = &mut self.search.sets;
            sets.sleep.ascend(depth);
            sets.frontiers.truncate(if next.is_some() { depth + 1 } else { depth });
            sets.next = next;
            self.besides.extend(before.restore(&mut self.run.report));
            return Advance::Interrupted;
        }
        // If nothing is enabled in the initial state, there is nothing to go back to.
        self.is_over = self.search.sets.frontiers.is_empty();
        if self.run.is_violated() { Advance::Violated } else { Advance::Ran }
    }

    fn left(&self) -> usize {
        usize::from(self.is_fresh()) + self.depths_left().count()
    }

    fn all_left(&self) -> Vec<Part> {
        if self.is_fresh() {
            return vec![Part::ToDo(Pending { share: self.share, ..Pending::root() })];
        }
        let depths: Vec<usize> = self.depths_left().collect();
        let above = depths.iter().skip(1).map(|depth| depth + 1);
        let floors = above.chain([self.search.rule.abroad.floor]);
        let mut parts = Vec::new();
        for (&depth, floor) in depths.iter().zip(floors) {
            let share = self.share_at(depth);
            parts.extend(self.units(depth, share));
            parts.extend(self.rest(floor, depth, share));
        }
        parts
    }

    fn give_away(&mut self) -> Vec<Part> {
        let mut depths = self.depths_left();
        // One of them is the next that it explores itself.
        let (Some(_), Some(depth)) = (depths.next(), depths.last()) else { return Vec::new() };
        let share = self.share_at(depth);
        let mut parts = self.units(depth, share);
        let floor = self.search.rule.abroad.floor;
        parts.extend(self.rest(floor, depth, share));
        self.share -= share * parts.len() as f64;
        self.search.sets.frontiers[depth].close();
        self.search.rule.abroad.floor = floor.max(depth + 1);
        parts
    }

    fn asks(&self) -> (Vec<Ask>, usize) {
        let asks = self.search.rule.abroad.asks.iter().map(|(node, initials)| Ask {
            node: *node,
            threads: initials.iter().map(|&thread| self.name(thread)).collect(),
        });
        (asks.collect(), self.search.rule.abroad.floor)
    }

    fn report(&self) -> &Report {
        &self.run.report
    }

    fn seen_besides(&self) -> &[(Violation, Schedule)] {
        &self.besides
    }

    fn threads(&self) -> BTreeSet<ThreadKey> {
        self.search.rule.order.names().cloned().collect()
    }

    fn share(&self) -> f64 {
        let own = self.search.sets.frontiers.iter().skip(self.search.rule.abroad.floor);
        match self.is_over {
            true => self.share,
            false => self.share * share_done(own.map(Frontier::progress)),
        }
    }
}
