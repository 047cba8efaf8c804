//! Optimal-DPOR: source sets and wakeup trees.
//!
//! P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: *Optimal Dynamic Partial Order Reduction*,
//! POPL 2014, Algorithm 2. Comments `[l.N]` name the lines of that listing, of which line 1 is `Explore(E, Sleep, WuT)`.
//!
//! | paper | here |
//! |---|---|
//! | `E` | `Run::execution` |
//! | `Sleep`, `sleep(E')` | [`SleepSets`] |
//! | `WuT`, `wut(E')` | `Node::tree` and [`WakeupTrees`], without the branch that is being explored |
//! | `insert_[E'](v, wut(E'))` | [`WakeupTrees::insert`] |
//! | `pre(E,e)`, `notdep(e,E)` | `trace/races.rs` |
//! | `WI_[E'](v)` | `Sequence::weak_initial` |
//! | [l.2], [l.19], the recursive call | the driver, `search/depth_first.rs` |
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

use crate::options::{Observer, Observers, Options};
use crate::reductions::optimal_dpor::observers;
use crate::reductions::optimal_dpor::wakeup_tree::{Absent, BranchId, WakeupTrees};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::depth_first::{Halt, Reduction, depth_first};
use crate::search::run::Run;
use crate::search::share::share_done;
use crate::trace::races::{Later, NOT_REPRODUCIBLE, Reversal, reversals};
use crate::trace::sequence::{Alternatives, Initial, Move, Sequence};
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "optimal",
    summary: "one execution per trace: source sets and wakeup trees",
    advice: "Each trace once, no redundant execution. Memory can grow with the number of \
             executions; `parsimonious` and `source` stay flat.",
    paper: "Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, Algorithm 2",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: true,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds, Setting::Observers],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    if options.observers == Observers::Decide {
        return observers::explore(make, options, observer);
    }
    let mut run = Run::new(make, options, observer);
    depth_first(&mut run, &mut Optimal::new());
    run.into_report()
}

pub(super) struct Optimal {
    /// Whether the promise of no redundant execution holds.
    is_exact: bool,
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
    tree: Option<BranchId>,
    /// How many branches were explored.
    explored: u32,
}

impl<S: System> Reduction<S> for Optimal {
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
        // [l.9-10] [l.15-16]
        while let Some(first) = self.last_node().tree {
            if self.can_take(run, first) {
                return Ok(self.trees.step(first));
            }
            self.drop_branch(first);
        }
        // [l.11-13]
        let (step, choices) = run.first_awake(|step| self.sleep.contains(step))?;
        if choices > 1 {
            self.add_alternatives(run, step, choices);
        }
        Ok(step)
    }

    /// If there is nothing to follow after the step, its thread may go on: no step of it sleeps.
    fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
        // [l.18]
        let first = self.last_node().tree.filter(|&first| self.trees.step(first) == step);
        let below = first.and_then(|first| self.take_branch(first));
        let depth = run.execution.len();
        match below {
            None => run.step_on(step),
            Some(_) => run.step(step),
        }
        for position in (depth..run.execution.len()).map(Position::new) {
            // [l.17]
            let step = run.execution.event(position).step();
            self.sleep.descend(step, run.execution.accesses(position));
            self.nodes.push(Node { tree: below, explored: 0 });
        }
    }

    fn end(&mut self, run: &mut Run<'_, S>, halt: Halt) {
        debug_assert!(
            halt != Halt::Redundant || !self.is_exact || !run.report.inconclusive.is_empty(),
            "optimality: unless a limit interferes, someone is always awake"
        );
        // What a redundant execution has in common with others is found there; and sequences of one that is not maximal
        // do not say which steps are independent of all that follows.
        if halt != Halt::Redundant || self.is_exact {
            self.look_for_races(run, halt == Halt::Maximal);
        }
    }

    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool {
        loop {
            let done = self.nodes.pop().expect("internal error: the root is never popped");
            self.trees.drop_tree(done.tree);
            let Some(depth) = self.nodes.len().checked_sub(1) else { return false };
            self.last_node().explored += 1;
            // Mostly there is no other, and what goes to sleep here is not needed.
            if self.last_node().tree.is_none() {
                continue;
            }
            // [l.20]
            self.sleep.ascend(depth);
            self.sleep.add_event(&run.execution, Position::new(depth));
            while let Some(branch) = self.last_node().tree
                && self.sleep.contains(self.trees.step(branch))
            {
                self.drop_branch(branch);
            }
            if self.last_node().tree.is_some() {
                run.backtrack(depth);
                self.fresh = depth;
                self.unsettled.retain(|position| position.index() < depth);
                return true;
            }
        }
    }

    fn fraction(&self) -> f64 {
        share_done(self.nodes.iter().map(|node| {
            let left = self.trees.branches(node.tree).count();
            (node.explored as usize + 1, node.explored as usize + 1 + left)
        }))
    }
}

impl Optimal {
    pub(super) fn new() -> Self {
        Self {
            is_exact: true,
            sleep: SleepSets::new(),
            trees: WakeupTrees::default(),
            nodes: vec![Node::default()],
            fresh: 0,
            unsettled: Vec::new(),
            reversal: Reversal::new(),
        }
    }

    /// Of a program with alternatives that are not possible in every state.
    pub(super) fn with_redundancy() -> Self {
        Self { is_exact: false, ..Self::new() }
    }

    fn last_node(&mut self) -> &mut Node {
        self.nodes.last_mut().expect("internal error: the root is never popped")
    }

    /// Returns whether the first branch of the last node can be taken.
    fn can_take<S: System>(&self, run: &mut Run<'_, S>, branch: BranchId) -> bool {
        let step = self.trees.step(branch);
        let thread = step.thread;
        let known = thread.index() < run.system.thread_count();
        if !known || !run.is_enabled(thread) {
            run.give_up(NOT_REPRODUCIBLE.to_owned());
            return false;
        }
        // It contradicts a step above it, below which it was put beside another alternative.
        if !run.is_possible(step, run.system.choices(thread)) {
            return false;
        }
        let is_within = run.is_within_preemptions(thread);
        if !is_within {
            run.note_preemption_cut(false);
        }
        is_within
    }

    /// Takes the first branch of the last node out of its tree. Returns what is below it.
    fn take_branch(&mut self, first: BranchId) -> Option<BranchId> {
        let below = self.trees.take_children(first);
        // [l.21]
        self.last_node().tree = self.trees.drop_branch(first);
        below
    }

    /// Drops the first branch of the last node and all below it.
    fn drop_branch(&mut self, first: BranchId) {
        let below = self.take_branch(first);
        self.trees.drop_tree(below);
    }

    /// Adds the other alternatives of `step`, which was chosen freely, unless they sleep.
    fn add_alternatives<S: System>(&mut self, run: &mut Run<'_, S>, step: Step, choices: u32) {
        let mut behind = None;
        let mut effect = Effect::default();
        for choice in 0..choices {
            let other = Step { choice, ..step };
            let node = self.nodes.last_mut().expect("internal error: no root");
            if other != step && !self.sleep.contains(other) && run.is_possible(other, choices) {
                run.system.pending(other, &mut effect);
                let by = Move::new(other, choices, effect.footprint.clone());
                behind = Some(self.trees.add_leaf(&mut node.tree, behind, by));
            }
        }
    }

    /// Puts the reversal of every race of the execution into the wakeup tree where it belongs.
    fn look_for_races<S: System>(&mut self, run: &mut Run<'_, S>, maximal: bool) {
        let is_blocked = |&thread: &ThreadId| run.system.status(thread) == Status::Blocked;
        let blocked: Vec<ThreadId> = run.threads().filter(is_blocked).collect();
        // [l.3]
        for thread in blocked {
            self.settle(run, Later::Pending(thread), maximal);
        }
        // The latest first: to determine a step again, the system then mostly goes back.
        let older = self.unsettled.len();
        for position in (self.fresh..run.execution.len()).rev().map(Position::new) {
            // All that it depends on happens before it anyway: program order.
            if run.execution.predecessors(position).is_empty() {
                continue;
            }
            if !self.settle(run, Later::Event(position), maximal) {
                self.unsettled.push(position);
            }
        }
        for index in (0..older).rev() {
            if self.settle(run, Later::Event(self.unsettled[index]), maximal) {
                self.unsettled.swap_remove(index);
            }
        }
    }

    /// Treats all races of `later`. Returns whether that settles them for all executions that share
    /// the prefix up to it.
    fn settle<S: System>(&mut self, run: &mut Run<'_, S>, later: Later, maximal: bool) -> bool {
        let Self { sleep, trees, nodes, reversal, .. } = self;
        let full = if maximal { Absent::Initial } else { Absent::Nothing };
        let mut settled = true;
        // [l.4-5]
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

/// Inserts the sequence, unless a sleeping step is a weak initial of it. Returns false, and does
/// nothing, if that is not decided.
fn schedule(
    trees: &mut WakeupTrees,
    tree: &mut Option<BranchId>,
    sleepers: &[Move],
    sequence: &Sequence,
    absent: Absent,
) -> bool {
    let mut undecided = false;
    // [l.6]
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
    // [l.7]
    !undecided && trees.insert(tree, sequence, asleep, absent)
}
