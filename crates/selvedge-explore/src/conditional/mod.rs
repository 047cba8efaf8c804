//! Source sets with conditional independence: what `constrained` and `context-sensitive` share.
//!
//! E. Albert, M. Gómez-Zamalloa, M. Isabel, A. Rubio: *Constrained Dynamic Partial Order Reduction*, CAV 2018, Algorithm 1.
//! Comments `[l.N]` name the lines of that listing. The parts of the paper that are in other crates (evaluating and
//! synthesising constraints, comparing states) are listed in `docs/papers.md`.
//!
//! The search is that of `source.rs`. In three places it does with less because two dependent steps commute in the state
//! in which they meet:
//!
//! | paper (Algorithm 1) | here |
//! |---|---|
//! | line 9, no backtrack point | `independence.rs`, `look_back`: edges that are left out |
//! | lines 11-14, sequences that sleep | `independence.rs`; kept in `sleepers.rs` |
//! | line 17, sleepers that sleep on | `independence.rs`, `sleeps_on` |
//! | line 18, the recursive call | the driver, `search/depth_first.rs` |
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

use selvedge_core::{ObjectId, Position, Report, Status, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::reductions::optimal_dpor::source::ask_for;
use crate::search::depth_first::{Halt, Reduction, depth_first};
use crate::search::run::Run;
use crate::search::share::share_done;
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
    let mut conditional = Conditional::new(means);
    depth_first(&mut run, &mut conditional);
    let unused = conditional.unused(&mut run);
    let mut report = run.into_report();
    if let Some(unused) = unused {
        report.fact("constraints not used", unused);
    }
    if options.data_races {
        let reason = "by footprints alone, since data races are looked for (--races)";
        report.fact("independence", reason.to_owned());
    }
    report
}

struct Conditional {
    /// `None` if data races are looked for: then everything is ordered that footprints order, and the report
    /// says so.
    means: Option<Means>,
    sleep: Sleepers,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    nodes: Vec<Node>,
    /// The next step from the state that the search has gone back to.
    next: Option<Step>,
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
    /// What other threads may still write where a constraint held that reads it: then it may not last. With how many
    /// races that made.
    changing: BTreeMap<ObjectId, u64>,
    /// Whether anything was pruned for a conditional reason so far.
    pruned: bool,
    /// Whether an edge was left out so far. Then what sleeps for an ordinary reason loses races too: those of
    /// orders that were never begun.
    has_left_out: bool,
}

impl Conditional {
    /// Returns why constraints that held were not used, in words.
    fn unused<S: System>(&self, run: &mut Run<'_, S>) -> Option<String> {
        let conditions = run.system.conditions()?;
        let mut by_count: Vec<(u64, ObjectId)> =
            self.changing.iter().map(|(&object, &count)| (count, object)).collect();
        by_count.sort_by_key(|&(count, object)| (std::cmp::Reverse(count), object));
        let total: u64 = by_count.iter().map(|(count, _)| count).sum();
        let names: Vec<String> = by_count
            .iter()
            .take(MOST_NAMED)
            .map(|&(_, object)| conditions.name_of(object))
            .collect();
        let more = if by_count.len() > MOST_NAMED { " and others" } else { "" };
        (total > 0).then(|| {
            let races = if total == 1 { "race" } else { "races" };
            format!(
                "in {total} {races}: another thread may still write {}{more}, which they read",
                names.join(", ")
            )
        })
    }
}

/// So many objects are named in a sentence.
const MOST_NAMED: usize = 3;

/// A state on the current path.
struct Node {
    frontier: Frontier,
    /// The steps that were asked for, and sleep for a reason by which races are lost.
    skipped: Vec<Step>,
    /// For how many of them it was made sure that nothing is lost.
    searched: usize,
}

impl Node {
    fn new(first: ThreadId) -> Self {
        Self { frontier: Frontier::new(first), skipped: Vec::new(), searched: 0 }
    }
}

impl<S: System> Reduction<S> for Conditional {
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
        if let Some(next) = self.next.take() {
            return Ok(next);
        }
        // [l.2]
        let (first, _) = run.first_awake(|step| self.sleep.contains(step))?;
        // [l.3]
        self.nodes.push(Node::new(first.thread));
        Ok(self.next_of_last(run).expect("internal error: no step of a thread that is awake"))
    }

    fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
        let position = Position::new(run.execution.len());
        // [l.5-9] [l.11-14]
        let known = self.look_back(run, step);
        let sleeping_on = self.sleeps_on(run, step, &known);
        run.step_with(step, Some(&known.edges));
        for &e in &known.uniform {
            self.has_left_out = true;
            self.left_out.entry(e).or_default().push(position);
        }
        for (child, cause) in known.caused {
            self.caused.push((position, child, cause));
        }
        // [l.15-17]
        let accesses = run.execution.accesses(position);
        self.sleep.descend(step, accesses, &sleeping_on, &mut run.system);
        self.unstable.retain(|&older| older < position);
        // [l.10]
        if !self.reverse_races(run, Later::Event(position)) {
            self.unstable.push(position);
        }
        self.meet_fragile(run, position);
        self.fragile.extend(known.fragile);
        run.sync_to(run.execution.len());
    }

    fn end(&mut self, run: &mut Run<'_, S>, halt: Halt) {
        // Nothing is explored from a state at the limit of steps.
        self.nodes.truncate(run.execution.len());
        let loses = halt == Halt::Maximal || halt != Halt::Steps && self.is_lossy(run);
        self.reverse_at_end(run);
        if loses && self.pruned {
            self.find_lost_races(run, run.execution.len());
        }
    }

    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool {
        while let Some(depth) = self.nodes.len().checked_sub(1) {
            self.ascend(run, depth);
            if self.nodes[depth].frontier.has_more() {
                run.backtrack(depth);
                self.next = self.next_of_last(run);
                if self.next.is_some() {
                    return true;
                }
            }
            if self.pruned && self.nodes[depth].searched < self.nodes[depth].skipped.len() {
                run.backtrack(depth);
                self.find_lost_races_of_skipped(run, depth);
                continue;
            }
            self.nodes.pop();
        }
        false
    }

    fn fraction(&self) -> f64 {
        share_done(self.nodes.iter().map(|node| node.frontier.progress()))
    }
}

impl Conditional {
    fn new(means: Option<Means>) -> Self {
        Self {
            means,
            sleep: Sleepers::new(),
            nodes: Vec::new(),
            next: None,
            reversal: Reversal::new(),
            unstable: Vec::new(),
            left_out: BTreeMap::new(),
            fragile: Vec::new(),
            caused: Vec::new(),
            changing: BTreeMap::new(),
            pruned: false,
            has_left_out: false,
        }
    }

    /// Returns whether a thread that sleeps in the last state does so for a reason by which races are lost.
    fn is_lossy<S: System>(&self, run: &Run<'_, S>) -> bool {
        let is_conditional = |step| self.sleep.why(step) == Some(Reason::Conditional);
        run.enabled_in_order().filter(|&thread| run.is_within_preemptions(thread)).any(|thread| {
            let mut all = (0..run.system.choices(thread)).map(|choice| Step { thread, choice });
            self.has_left_out || all.any(is_conditional)
        })
    }

    /// The races of what was not stable when it ran, and of threads that are blocked.
    fn reverse_at_end<S: System>(&mut self, run: &mut Run<'_, S>) {
        self.unstable.retain(|older| older.index() < run.execution.len());
        for index in 0..self.unstable.len() {
            self.reverse_races(run, Later::Event(self.unstable[index]));
        }
        for thread in run.threads() {
            run.sync_to(run.execution.len());
            if run.system.status(thread) == Status::Blocked {
                self.meet_fragile_waiting(run, thread);
                self.reverse_races(run, Later::Pending(thread));
            }
        }
        run.sync_to(run.execution.len());
    }

    /// Forgets what comes after the node at `depth`; what was explored from it sleeps there from now on.
    fn ascend<S: System>(&mut self, run: &mut Run<'_, S>, depth: usize) {
        self.sleep.ascend(depth);
        if depth < run.execution.len() {
            let explored = Position::new(depth);
            let event = run.execution.event(explored);
            // [l.19]
            self.sleep.add(event.step(), event.choices, run.execution.accesses(explored));
        }
        run.execution.truncate(depth);
        self.caused.retain(|(second, ..)| second.index() < depth);
        self.fragile.retain(|pair| pair.is_before(depth));
        self.left_out.retain(|_, seconds| {
            seconds.retain(|second| second.index() < depth);
            !seconds.is_empty()
        });
    }

    /// Returns the next step of the last node that does not sleep.
    fn next_of_last<S: System>(&mut self, run: &mut Run<'_, S>) -> Option<Step> {
        let node = self.nodes.last_mut()?;
        // [l.4]
        loop {
            let step = node.frontier.next(run)?;
            if !self.sleep.contains(step) {
                return Some(step);
            }
            if self.has_left_out || self.sleep.why(step) == Some(Reason::Conditional) {
                node.skipped.push(step);
            }
        }
    }

    /// Adds to the backtrack sets what the races of `later` ask for. Returns whether nothing that comes
    /// after it can matter.
    fn reverse_races<S: System>(&mut self, run: &mut Run<'_, S>, later: Later) -> bool {
        let Self { nodes, reversal, .. } = self;
        let mut stable = true;
        let expand = reversals(run, later, reversal, &mut |_, reversal| {
            stable &= reversal.stable;
            let frontier = &mut nodes[reversal.at.index()].frontier;
            ask_for(&reversal.sequence, frontier, ThreadId::index);
        });
        for at in expand {
            self.expand(run, at);
        }
        stable
    }

    /// Adds all threads that are enabled before the event at `position`.
    fn expand<S: System>(&mut self, run: &mut Run<'_, S>, position: Position) {
        run.sync_to(position.index());
        self.nodes[position.index()].frontier.expand(run);
    }
}
