//! Depth-first search with backtrack sets and sleep sets: what `classic` and `source` share.
//!
//! Each node on the path has a set of threads to explore. It begins with one thread; the [`Rule`] of
//! an algorithm adds to the sets of earlier nodes when it sees that another order matters.

use selvedge_core::{Position, Report, Step, System, ThreadId, ThreadSet};

use crate::options::{Observer, Options};
use crate::search::run::{Run, share_done};
use crate::trace::frontier::Frontier;
use crate::trace::sleep_set::SleepSets;

/// When and how an algorithm adds to backtrack sets.
pub(crate) trait Rule<S: System> {
    /// In every state, before anything is explored from it; also at the end of an execution.
    fn at_state(&mut self, search: &mut Search<'_, S>) {
        let _ = search;
    }

    /// After a step: its event stands at `position`, the last one.
    fn after_step(&mut self, search: &mut Search<'_, S>, position: Position) {
        let _ = (search, position);
    }

    /// At the end of an execution.
    fn at_end(&mut self, search: &mut Search<'_, S>) {
        let _ = search;
    }
}

/// Explores by `rule`.
pub(crate) fn explore<S: System>(
    mut rule: impl Rule<S>,
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut search = Search {
        run: Run::new(make, options, observer),
        sleep: SleepSets::new(),
        nodes: Vec::new(),
    };
    loop {
        search.arrive(&mut rule);
        let Some(step) = search.next_step() else { return search.run.into_report() };
        search.take(step, &mut rule);
    }
}

/// A search under way.
pub(crate) struct Search<'a, S> {
    pub(crate) run: Run<'a, S>,
    sleep: SleepSets,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    pub(crate) nodes: Vec<Node>,
}

/// A state on the current path.
pub(crate) struct Node {
    pub(crate) frontier: Frontier,
    /// The threads of which every alternative sleeps here from the beginning.
    pub(crate) asleep: ThreadSet,
    /// Whether the event after this node was explored from it.
    taken: bool,
}

impl Node {
    fn new(first: ThreadId, asleep: ThreadSet) -> Self {
        Self { frontier: Frontier::new(first), asleep, taken: false }
    }
}

impl<S: System> Search<'_, S> {
    /// Adds all threads that are enabled before the event at `position`.
    pub(crate) fn expand(&mut self, position: Position) {
        self.run.sync_to(position.index());
        self.nodes[position.index()].frontier.expand(&self.run);
    }

    /// Makes a node of the state, or ends the execution.
    fn arrive(&mut self, rule: &mut impl Rule<S>) {
        rule.at_state(self);
        self.run.sync_to(self.run.execution.len());
        let mut maximal = true;
        let mut cut = false;
        let mut first = None;
        for thread in self.run.enabled_in_order() {
            maximal = false;
            if !self.run.is_within_preemptions(thread) {
                cut = true;
            } else if (0..self.run.system.choices(thread))
                .any(|choice| !self.sleep.contains(Step { thread, choice }))
            {
                first = Some(thread);
                break;
            }
        }
        match first {
            Some(first) if !self.run.is_at_step_limit() => {
                let asleep = self.asleep();
                return self.nodes.push(Node::new(first, asleep));
            }
            Some(_) => self.run.finish_cut(),
            None if maximal => self.run.finish(),
            None if cut => self.run.finish_preempted(false),
            None => self.run.finish_redundant(),
        }
        rule.at_end(self);
        self.run.after_execution(&|| fraction(&self.nodes));
    }

    /// Returns the threads that sleep with every alternative they have.
    fn asleep(&self) -> ThreadSet {
        let sleepers = self.sleep.last().iter().map(|sleeper| sleeper.step.thread);
        sleepers
            .filter(|&thread| {
                (0..self.run.system.choices(thread))
                    .all(|choice| self.sleep.contains(Step { thread, choice }))
            })
            .collect()
    }

    /// Returns the next step of the search, with the run in the state before it.
    fn next_step(&mut self) -> Option<Step> {
        while !self.run.is_stopped() {
            let depth = self.nodes.len().checked_sub(1)?;
            if self.nodes[depth].frontier.has_more() {
                self.go_back_to(depth);
                if let Some(step) = self.next_of_last() {
                    return Some(step);
                }
            }
            self.nodes.pop();
        }
        None
    }

    /// Goes back to the node at `depth`, where what was explored from it sleeps from now on.
    fn go_back_to(&mut self, depth: usize) {
        self.sleep.ascend(depth);
        if std::mem::take(&mut self.nodes[depth].taken) {
            let explored = Position::new(depth);
            self.sleep.add(
                self.run.execution.event(explored).step(),
                self.run.execution.event(explored).choices,
                self.run.execution.accesses(explored),
            );
        }
        self.run.backtrack(depth);
    }

    /// Returns the next step of the last node that does not sleep.
    fn next_of_last(&mut self) -> Option<Step> {
        let node = self.nodes.last_mut()?;
        loop {
            let step = node.frontier.next(&mut self.run)?;
            if !self.sleep.contains(step) {
                return Some(step);
            }
        }
    }

    fn take(&mut self, step: Step, rule: &mut impl Rule<S>) {
        let position = Position::new(self.run.execution.len());
        self.run.step(step);
        self.sleep.descend(step, self.run.execution.accesses(position));
        self.nodes[position.index()].taken = true;
        rule.after_step(self, position);
        self.run.sync_to(self.run.execution.len());
        self.run.after_step(&|| fraction(&self.nodes));
    }
}

fn fraction(nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| node.frontier.progress()))
}
