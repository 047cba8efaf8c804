//! Source sets with conditional independence: what `constrained` and `context-sensitive` share.
//!
//! The search is that of `source.rs`. In three places it does with less because two dependent steps commute in the state
//! in which they meet:
//!
//! | paper (Algorithm 1) | here |
//! |---|---|
//! | line 9, no backtrack point | `independence.rs`, [`Search::look_back`]: edges that are left out |
//! | lines 11-14, sequences that sleep | `independence.rs`; kept in `sleepers.rs` |
//! | line 17, sleepers that sleep on | `independence.rs`, [`Search::sleeps_on`] |
//!
//! Beyond the paper, `unordered.rs` leaves out edges permanently.
//!
//! What is pruned for one of the three reasons leads to states that are seen elsewhere; but the races that it would
//! have shown are not. `lost.rs` looks for them. The paper does not, and misses states.

pub(crate) mod constrained;
pub(crate) mod context_sensitive;
mod fragile;
mod independence;
mod lost;
mod sleepers;
mod unordered;

use std::collections::BTreeMap;

use selvedge_core::{Position, Report, Status, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::reductions::optimal_dpor::source::ask_for;
use crate::search::run::{Run, share_done};
use crate::trace::frontier::Frontier;
use crate::trace::races::{Later, Reversal, reversals};
use fragile::Fragile;
use sleepers::{Reason, Sleepers};

/// How it is found out that two steps commute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Means {
    /// By comparing the states after both orders.
    States,
    /// By constraints, and where none holds by comparing states.
    Constraints,
}

/// Without conditions the search would silently be that of another algorithm.
const STATES_NOT_TOLD: &str = "`constrained` and `context-sensitive` compare states, and this front end does \
                               not report them (System::conditions); implement it, or use `source` or \
                               `optimal`";

pub(crate) fn explore<S: System>(
    means: Means,
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut run = Run::new(make, options, observer);
    if run.system.conditions().is_none() {
        run.give_up(STATES_NOT_TOLD.to_owned());
        return run.into_report();
    }
    // Commuting steps do not hide states from each other, but they hide data races.
    let means = (!options.data_races).then_some(means);
    let mut search = Search {
        run,
        means,
        sleep: Sleepers::new(),
        nodes: Vec::new(),
        reversal: Reversal::new(),
        unstable: Vec::new(),
        left_out: BTreeMap::new(),
        fragile: Vec::new(),
        caused: Vec::new(),
        pruned: false,
        has_left_out: false,
    };
    loop {
        search.arrive();
        let Some(step) = search.next_step() else {
            let mut report = search.run.into_report();
            if options.data_races {
                let reason = "by footprints alone, since data races are looked for (--races)";
                report.fact("independence", reason.to_owned());
            }
            return report;
        };
        search.take(step);
    }
}

/// A search under way.
struct Search<'a, S> {
    run: Run<'a, S>,
    /// `None` if data races are looked for: then everything is ordered that footprints order, and the report
    /// says so.
    means: Option<Means>,
    sleep: Sleepers,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    nodes: Vec<Node>,
    reversal: Reversal,
    /// Events of the execution of which a race must be examined again at its end, in order.
    unstable: Vec<Position>,
    /// Events, each with those after it that it commutes with permanently: pairs without an edge.
    left_out: BTreeMap<Position, Vec<Position>>,
    /// Those of them that act differently in the other order.
    fragile: Vec<Fragile>,
    /// Threads that exist only because of two events that commute: the second of them, the thread,
    /// and the first.
    caused: Vec<(Position, ThreadId, Position)>,
    /// Whether anything was pruned for a conditional reason so far.
    pruned: bool,
    /// Whether an edge was left out so far. Then what sleeps for an ordinary reason loses races too: those of
    /// orders that were never begun.
    has_left_out: bool,
}

/// A state on the current path.
struct Node {
    frontier: Frontier,
    /// Whether the event after this node was explored from it.
    taken: bool,
    /// The steps that were asked for, and sleep for a reason by which races are lost.
    skipped: Vec<Step>,
    /// For how many of them it was made sure that nothing is lost.
    searched: usize,
}

impl Node {
    fn new(first: ThreadId) -> Self {
        Self { frontier: Frontier::new(first), taken: false, skipped: Vec::new(), searched: 0 }
    }
}

impl<S: System> Search<'_, S> {
    /// Makes a node of the state, or ends the execution.
    fn arrive(&mut self) {
        self.run.sync_to(self.run.execution.len());
        let (mut maximal, mut cut, mut lost, mut first) = (true, false, false, None);
        for thread in self.run.enabled_in_order() {
            maximal = false;
            if !self.run.is_within_preemptions(thread) {
                cut = true;
            } else if (0..self.run.system.choices(thread))
                .any(|choice| !self.sleep.contains(Step { thread, choice }))
            {
                first = Some(thread);
                break;
            } else {
                lost |= self.has_left_out
                    || (0..self.run.system.choices(thread)).any(|choice| {
                        self.sleep.why(Step { thread, choice }) == Some(Reason::Conditional)
                    });
            }
        }
        match first {
            Some(first) if !self.run.is_at_step_limit() => {
                return self.nodes.push(Node::new(first));
            }
            Some(_) => self.run.finish_cut(),
            None if maximal => self.run.finish(),
            None if cut => self.run.finish_preempted(false),
            None => self.run.finish_redundant(),
        }
        self.at_end();
        if first.is_none() && (maximal || lost) && self.pruned {
            self.find_lost_races(self.run.execution.len());
        }
        self.run.after_execution(&|| fraction(&self.nodes));
    }

    /// The races of what was not stable when it ran, and of threads that are blocked.
    fn at_end(&mut self) {
        self.unstable.retain(|older| older.index() < self.run.execution.len());
        for index in 0..self.unstable.len() {
            self.reverse_races(Later::Event(self.unstable[index]));
        }
        for thread in self.run.threads() {
            self.run.sync_to(self.run.execution.len());
            if self.run.system.status(thread) == Status::Blocked {
                self.meet_fragile_waiting(thread);
                self.reverse_races(Later::Pending(thread));
            }
        }
        self.run.sync_to(self.run.execution.len());
    }

    /// Returns the next step of the search, with the run in the state before it.
    fn next_step(&mut self) -> Option<Step> {
        while !self.run.is_stopped() {
            let depth = self.nodes.len().checked_sub(1)?;
            self.sleep.ascend(depth);
            if std::mem::take(&mut self.nodes[depth].taken) {
                let explored = Position::new(depth);
                self.sleep.add(
                    self.run.execution.event(explored).step(),
                    self.run.execution.event(explored).choices,
                    self.run.execution.accesses(explored),
                );
            }
            self.run.execution.truncate(depth);
            self.caused.retain(|(second, ..)| second.index() < depth);
            self.fragile.retain(|pair| pair.is_before(depth));
            self.left_out.retain(|_, seconds| {
                seconds.retain(|second| second.index() < depth);
                !seconds.is_empty()
            });
            if self.nodes[depth].frontier.has_more() {
                self.run.backtrack(depth);
                if let Some(step) = self.next_of_last() {
                    return Some(step);
                }
            }
            if self.pruned && self.nodes[depth].searched < self.nodes[depth].skipped.len() {
                self.run.backtrack(depth);
                self.find_lost_races_of_skipped(depth);
                continue;
            }
            self.nodes.pop();
        }
        None
    }

    /// Returns the next step of the last node that does not sleep.
    fn next_of_last(&mut self) -> Option<Step> {
        let node = self.nodes.last_mut()?;
        loop {
            let step = node.frontier.next(&mut self.run)?;
            if !self.sleep.contains(step) {
                return Some(step);
            }
            if self.has_left_out || self.sleep.why(step) == Some(Reason::Conditional) {
                node.skipped.push(step);
            }
        }
    }

    fn take(&mut self, step: Step) {
        let position = Position::new(self.run.execution.len());
        let known = self.look_back(step);
        let sleeping_on = self.sleeps_on(step, &known);
        self.run.step_with(step, Some(&known.edges));
        for &e in &known.uniform {
            self.has_left_out = true;
            self.left_out.entry(e).or_default().push(position);
        }
        for (child, cause) in known.caused {
            self.caused.push((position, child, cause));
        }
        let accesses = self.run.execution.accesses(position);
        self.sleep.descend(step, accesses, &sleeping_on, &mut self.run.system);
        self.nodes[position.index()].taken = true;
        self.unstable.retain(|&older| older < position);
        if !self.reverse_races(Later::Event(position)) {
            self.unstable.push(position);
        }
        self.meet_fragile(position);
        self.fragile.extend(known.fragile);
        self.run.sync_to(self.run.execution.len());
        self.run.after_step(&|| fraction(&self.nodes));
    }

    /// Adds to the backtrack sets what the races of `later` ask for. Returns whether nothing that comes
    /// after it can matter.
    fn reverse_races(&mut self, later: Later) -> bool {
        let Search { run, nodes, reversal, .. } = self;
        let mut stable = true;
        let expand = reversals(run, later, reversal, &mut |_, reversal| {
            stable &= reversal.stable;
            ask_for(&reversal.sequence, &mut nodes[reversal.at.index()].frontier);
        });
        for at in expand {
            self.expand(at);
        }
        stable
    }

    /// Adds all threads that are enabled before the event at `position`.
    fn expand(&mut self, position: Position) {
        self.run.sync_to(position.index());
        self.nodes[position.index()].frontier.expand(&self.run);
    }
}

fn fraction(nodes: &[Node]) -> f64 {
    share_done(nodes.iter().map(|node| node.frontier.progress()))
}
