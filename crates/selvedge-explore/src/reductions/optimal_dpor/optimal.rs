//! Optimal-DPOR: source sets and wakeup trees.
//!
//! P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: *Optimal Dynamic Partial Order Reduction*,
//! POPL 2014, Algorithm 2.
//!
//! | paper | here |
//! |---|---|
//! | `E` | `Run::execution` |
//! | `Sleep`, `sleep(E')` | [`SleepSets`] |
//! | `WuT`, `wut(E')` | `Node::tree` and [`WakeupTrees`], without the branch that is being explored |
//! | `insert_[E'](v, wut(E'))` | [`WakeupTrees::insert`] |
//! | `pre(E,e)`, `notdep(e,E)`, `WI` | `races.rs` |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace, and no redundant one.
//! **Differs from the paper:**
//! 1. Locks and other steps that wait, also threads that are blocked at the end: see `races.rs`.
//! 2. A step can have alternatives, which are different steps for wakeup trees and sleep sets. Where a
//!    step is chosen freely all its alternatives are explored; a wakeup sequence needs only the one it
//!    contains, as races of executions with the others lead to these. A step that is not in a sequence
//!    covers it only together with all its alternatives: see `wakeup_tree.rs`.
//! 3. *Races are looked at once where that is enough.* The paper looks at all races of every maximal
//!    execution, since `v` contains all that is independent of `e` in that execution. But most of the
//!    time the beginning of `v` up to `e'`, which all executions that share the prefix up to `e'` have
//!    in common, decides alone which branch or sleeper, if any, covers `v`. Then
//!    that is so in all these executions: the race is *settled*, and will not be examined again. A
//!    new branch then needs to contain only that prefix, as it wakes all sleepers. Most
//!    executions differ from the one before in a short suffix, and so the cost per execution is
//!    proportional to that suffix in practice.
//!
//! **Cost:** per new event, one clock and, per race of it, time linear in the length of `v`, times
//! the number of sleepers and branches at the node. Memory linear in the length of an execution,
//! plus the wakeup trees on the path.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle on all small and on random
//! programs, golden programs, deliberate mistakes.

use selvedge_core::{Effect, Position, Report, Status, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::reductions::optimal_dpor::wakeup_tree::{Absent, NodeId, WakeupTrees};
use crate::registry::{Covers, Equivalence, Info};
use crate::search::run::{Run, share_done};
use crate::trace::races::{Later, NOT_REPRODUCIBLE, Reversal, reversals};
use crate::trace::sequence::{Alternatives, Initial, Move, Sequence};
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "optimal",
    summary: "one execution per trace: source sets and wakeup trees",
    advice: "The default: each trace once, no redundant execution. Memory can grow with the number of \
             executions; `parsimonious` and `source` stay flat.",
    paper: "Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, Algorithm 2",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: true,
    switch_bounds: true,
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut search = Search {
        run: Run::new(make, options, observer),
        sleep: SleepSets::new(),
        trees: WakeupTrees::default(),
        nodes: vec![Node::default()],
        fresh: 0,
        unsettled: Vec::new(),
        reversal: Reversal::new(),
    };
    loop {
        search.descend();
        search.run.after_execution(&|| fraction(&search.trees, &search.nodes));
        if search.run.is_stopped() || !search.next_branch() {
            return search.run.into_report();
        }
    }
}

struct Search<'a, S> {
    run: Run<'a, S>,
    sleep: SleepSets,
    trees: WakeupTrees,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    nodes: Vec<Node>,
    /// Events from here on were not there when races were last looked for.
    fresh: usize,
    /// Events with a race that must be examined again.
    unsettled: Vec<Position>,
    reversal: Reversal,
}

/// A state on the current path.
#[derive(Default)]
struct Node {
    /// `wut(E)`: the branches still to explore, beside the one that leads to the next node.
    tree: Option<NodeId>,
    /// How many branches were explored.
    explored: u32,
}

/// A step to take, and what was put below it.
struct Branch {
    step: Step,
    below: Option<NodeId>,
}

impl<S: System> Search<'_, S> {
    /// Runs to the end of an execution, following the wakeup tree as far as it goes, and looks for
    /// races there.
    fn descend(&mut self) {
        while !self.run.is_stopped() {
            let first = self.last_node().tree;
            let branch = match first {
                None => match self.choose_any() {
                    Ok(branch) => branch,
                    Err(maximal) => return self.look_for_races(maximal),
                },
                Some(first) if self.can_take(first) => self.take_branch(first),
                Some(first) => {
                    self.drop_branch(first);
                    continue;
                }
            };
            if self.run.is_at_step_limit() {
                self.trees.drop_tree(branch.below);
                self.run.finish_cut();
                return self.look_for_races(false);
            }
            self.descend_by(branch);
        }
    }

    fn last_node(&mut self) -> &mut Node {
        self.nodes.last_mut().expect("internal error: the root is never popped")
    }

    /// At a node without branches: a step of any enabled thread that does not sleep. If there is
    /// none, the execution has ended; the error says whether it is maximal.
    fn choose_any(&mut self) -> Result<Branch, bool> {
        let mut maximal = true;
        let mut cut = false;
        let mut chosen = None;
        let mut choices = 1;
        for thread in self.run.enabled_in_order() {
            maximal = false;
            if !self.run.is_within_preemptions(thread) {
                cut = true;
                continue;
            }
            choices = self.run.system.choices(thread);
            let mut all = (0..choices).map(|choice| Step { thread, choice });
            chosen = all.find(|&step| !self.sleep.contains(step));
            if chosen.is_some() {
                break;
            }
        }
        if let Some(step) = chosen {
            if choices > 1 {
                self.add_alternatives(step);
            }
            return Ok(Branch { step, below: None });
        }
        if maximal {
            self.run.finish();
        } else if cut {
            self.run.finish_preempted(false);
        } else {
            debug_assert!(
                !self.run.report.inconclusive.is_empty(),
                "optimality: unless a limit interferes, someone is always awake"
            );
            self.run.finish_redundant();
        }
        Err(maximal)
    }

    /// Returns whether the first branch of the last node can be taken.
    fn can_take(&mut self, branch: NodeId) -> bool {
        let thread = self.trees.step(branch).thread;
        let known = thread.index() < self.run.system.thread_count();
        if !known || !self.run.is_enabled(thread) {
            self.run.give_up(NOT_REPRODUCIBLE.to_owned());
            return false;
        }
        let is_within = self.run.is_within_preemptions(thread);
        if !is_within {
            self.run.note_preemption_cut(false);
        }
        is_within
    }

    /// Takes the first branch of the last node out of its tree.
    fn take_branch(&mut self, first: NodeId) -> Branch {
        let (step, below) = (self.trees.step(first), self.trees.take_children(first));
        self.last_node().tree = self.trees.drop_branch(first);
        Branch { step, below }
    }

    /// Drops the first branch of the last node and all below it.
    fn drop_branch(&mut self, first: NodeId) {
        let branch = self.take_branch(first);
        self.trees.drop_tree(branch.below);
    }

    /// Runs the step that leads to the next node. If there is nothing to follow there, its thread may go
    /// on: no step of it sleeps.
    fn descend_by(&mut self, Branch { step, below }: Branch) {
        let depth = self.run.execution.len();
        match below {
            None => self.run.step_on(step),
            Some(_) => self.run.step(step),
        }
        let execution = &self.run.execution;
        for position in (depth..execution.len()).map(Position::new) {
            self.sleep.descend(execution.event(position).step(), execution.accesses(position));
            self.nodes.push(Node { tree: below, explored: 0 });
        }
        let taken = execution.len() - depth;
        self.run.after_steps(taken, &|| fraction(&self.trees, &self.nodes));
    }

    /// Adds the other alternatives of `step`, which was chosen freely, unless they sleep.
    fn add_alternatives(&mut self, step: Step) {
        let mut behind = None;
        let mut effect = Effect::default();
        let choices = self.run.system.choices(step.thread);
        for choice in 0..choices {
            let other = Step { choice, ..step };
            let node = self.nodes.last_mut().expect("internal error: no root");
            if other != step && !self.sleep.contains(other) {
                self.run.system.pending(other, &mut effect);
                let by = Move::new(other, choices, effect.footprint.clone());
                behind = Some(self.trees.add_leaf(&mut node.tree, behind, by));
            }
        }
    }

    /// Goes back to the last node with a branch left. Returns false if there is none.
    fn next_branch(&mut self) -> bool {
        loop {
            let done = self.nodes.pop().expect("internal error: the root is never popped");
            self.trees.drop_tree(done.tree);
            let Some(depth) = self.nodes.len().checked_sub(1) else { return false };
            self.last_node().explored += 1;
            // Mostly there is no other, and what goes to sleep here is not needed.
            if self.last_node().tree.is_none() {
                continue;
            }
            let explored = Position::new(depth);
            self.sleep.ascend(depth);
            self.sleep.add(
                self.run.execution.event(explored).step(),
                self.run.execution.event(explored).choices,
                self.run.execution.accesses(explored),
            );
            while let Some(branch) = self.last_node().tree
                && self.sleep.contains(self.trees.step(branch))
            {
                self.drop_branch(branch);
            }
            if self.last_node().tree.is_some() {
                self.run.backtrack(depth);
                self.fresh = depth;
                self.unsettled.retain(|position| position.index() < depth);
                return true;
            }
        }
    }

    /// Puts the reversal of every race of the execution into the wakeup tree where it belongs.
    fn look_for_races(&mut self, maximal: bool) {
        let is_blocked = |&thread: &ThreadId| self.run.system.status(thread) == Status::Blocked;
        let blocked: Vec<ThreadId> = self.run.threads().filter(is_blocked).collect();
        for thread in blocked {
            self.settle(Later::Pending(thread), maximal);
        }
        // The latest first: to determine a step again, the system then mostly goes back.
        let older = self.unsettled.len();
        for position in (self.fresh..self.run.execution.len()).rev().map(Position::new) {
            // All that it depends on happens before it anyway: program order.
            if self.run.execution.predecessors(position).is_empty() {
                continue;
            }
            if !self.settle(Later::Event(position), maximal) {
                self.unsettled.push(position);
            }
        }
        for index in (0..older).rev() {
            if self.settle(Later::Event(self.unsettled[index]), maximal) {
                self.unsettled.swap_remove(index);
            }
        }
    }

    /// Treats all races of `later`. Returns whether that settles them for all executions that share
    /// the prefix up to it.
    fn settle(&mut self, later: Later, maximal: bool) -> bool {
        let Search { run, sleep, trees, nodes, reversal, .. } = self;
        let full = if maximal { Absent::Initial } else { Absent::Nothing };
        let mut settled = true;
        let unknown = reversals(run, later, reversal, &mut |execution, reversal| {
            let depth = reversal.at.index();
            let (tree, sleepers) = (&mut nodes[depth].tree, sleep.at(depth));
            if reversal.stable {
                if schedule(trees, tree, sleepers, &reversal.sequence, Absent::Undecided) {
                    return;
                }
                reversal.load_rest(execution);
            }
            settled = false;
            schedule(trees, tree, sleepers, &reversal.sequence, full);
        });
        debug_assert!(unknown.is_empty() || !run.report.inconclusive.is_empty());
        settled
    }
}

/// Inserts the sequence, unless someone who sleeps is a weak initial of it. Returns false, and does
/// nothing, if that is not decided.
fn schedule(
    trees: &mut WakeupTrees,
    tree: &mut Option<NodeId>,
    sleepers: &[Move],
    sequence: &Sequence,
    absent: Absent,
) -> bool {
    let mut undecided = false;
    let mut asleep = Alternatives::default();
    for sleeper in sleepers {
        match (sequence.weak_initial(0..sequence.len(), sleeper), absent) {
            (Initial::No, _) | (Initial::Absent, Absent::Nothing) => {}
            (Initial::At(_), _) => return true,
            (Initial::Absent, Absent::Initial) if asleep.add(sleeper) => return true,
            (Initial::Absent, Absent::Initial) => {}
            (Initial::Absent, Absent::Undecided) => undecided = true,
        }
    }
    !undecided && trees.insert(tree, sequence, asleep, absent)
}

fn fraction(trees: &WakeupTrees, nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| {
        let left = trees.branches(node.tree).count();
        (node.explored as usize + 1, node.explored as usize + 1 + left)
    }))
}
