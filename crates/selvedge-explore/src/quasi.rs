//! Quasi-optimal partial order reduction on unfoldings.
//!
//! H. T. T. Nguyen, C. Rodríguez, M. Sousa, C. Coti, L. Petrucci: *Quasi-Optimal Partial Order
//! Reduction*, CAV 2018, extended version, Algorithm 1.
//!
//! | paper | here |
//! |---|---|
//! | `U` | [`Unfolding`]; what spikes are made of: `Search::extensions`, `Search::usable` |
//! | `C` | `Run::execution` and `Search::path` |
//! | `D` | `Search::disabled`; those not in conflict with `C`: `Search::asleep` |
//! | `A` | `Search::clue` |
//! | `ex(C)`, `cex(C)` | `quasi/extensions.rs` |
//! | `Alt`, combs, k-partial alternatives | `quasi/alternatives.rs` |
//! | `U ∩ Q_{C,D}` | `Search::prune` |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** one maximal execution per trace. With `k` = optimal, the default, no redundant
//! one; with a smaller `k` the fewer the larger `k` is.
//! **Differs from the paper:**
//! 1. All accesses interfere, not only locks, and reads commute: every object has a tree. Steps that
//!    wait, alternatives of a step, steps that act differently elsewhere: as in `races.rs`.
//! 2. *Extensions come from races.* One event for each reversible race `e ⋖ e'` of an execution, kept
//!    with `e` as long as that is in `C` or `D`.
//! 3. *An event of `D` in conflict with `C` needs no spike*, and the events kept with it are of no use.
//!    So a spike is looked for among the events kept with those that are not: `usable`.
//!
//!    Why that is enough: let `w` lead from `C` to a maximal configuration without events of `D`, and
//!    let `J` in `w` be minimal such that it has a conflict with each event of `D`. For a maximal event
//!    `m` of `J` take the first `d` of `D` that is in conflict with `m` alone. Those before `d` in
//!    `D` are in conflict with the rest of `J`; so an execution with `C`, `d`, that rest and the step of `m`
//!    behind it was explored. There `d` races with that step, which becomes `m` when the race is reversed.
//!    So `m` is kept with `d`, and `J` is found.
//! 4. *Locks only*, as the paper has it, is one of two modes. Data races are looked for then: with one,
//!    nothing is proved.
//! 5. A clue is followed in the order of the sizes of the events' histories.
//!
//! **Cost:** per new event, a look-up by name, and for each usable event one or two ancestor queries; per
//! race, time linear in the length of the execution. A search for alternatives is exponential in `k`
//! at worst. Memory: `U`, that is, all events in `C` and `D`, what is kept with them, and their
//! causes; the rest is dropped whenever it is as much again.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle on all small and on random
//! programs for several `k`, golden programs, deliberate mistakes; `unfolding/tests.rs`: causality and
//! conflict against the definitions.

use std::cmp::Reverse;
use std::num::NonZeroU32;

use selvedge_core::{Effect, Event, Footprint, Position, Report, Status, Step, System, ThreadId};

use smallvec::SmallVec;

use crate::algorithm::{Covers, Equivalence, Info};
use crate::options::{Independence, Observer, Options};
use crate::races::{Later, NOT_REPRODUCIBLE, Reversal, is_stable, reversals};
use crate::run::{Run, share_done};
use crate::unfolding::{EventRef, Touched, Unfolding};

mod alternatives;
mod extensions;
mod kept;
mod locks_only;
mod statistics;

use alternatives::Comb;
pub(crate) use extensions::Extensions;
use kept::Kept;
use locks_only::{DataRaces, LocksOnly};
use statistics::{Phase, Stopwatch};

pub(crate) const INFO: Info = Info {
    name: "quasi",
    summary: "unfoldings: as few redundant executions as --k asks for, by default none",
    advice: "When `optimal` needs much memory: it keeps events where that keeps sequences. With --k 1, 2, 3 \
             it looks less far ahead, and wastes executions.",
    paper: "Nguyen, Rodríguez, Sousa, Coti, Petrucci, CAV 2018, Algorithm 1",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: true,
};

/// The unfolding is pruned when it is twice as large as after the last time, and larger than this.
/// Small programs must be able to show what is wrong with it.
const WORTH_PRUNING: usize = if cfg!(debug_assertions) { 24 } else { 512 };

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    if options.quasi.independence == Independence::AllAccesses {
        return search(make, options, observer);
    }
    let races = DataRaces::default();
    let mut report = search(&|| LocksOnly::new(make(), &races), options, observer);
    let races = races.take();
    if options.data_races {
        let most = if options.keep_going { usize::MAX } else { 1 };
        let room = most.saturating_sub(report.violations.len());
        report.violations.extend(races.into_iter().take(room));
    } else {
        report.disregarded_races = races;
    }
    report
}

fn search<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut search = Search {
        run: Run::new(make, options, observer),
        unfolding: Unfolding::new(options.quasi.skip_step.get()),
        finder: Extensions::default(),
        path: Vec::new(),
        extensions: Vec::new(),
        disabled: Vec::new(),
        asleep: Vec::new(),
        usable: Vec::new(),
        nodes: vec![Node::default()],
        clue: Vec::new(),
        comb: Comb::default(),
        sleepers: Vec::new(),
        taken: Vec::new(),
        found: Vec::new(),
        fresh: 0,
        unsettled: Vec::new(),
        undecided_choices: Vec::new(),
        reversal: Reversal::new(),
        next_pruning: WORTH_PRUNING,
        k: options.quasi.k,
        stopwatch: None,
    };
    if options.statistics {
        search.stopwatch = Some(Stopwatch::start(search.run.now()));
        search.unfolding.collect_statistics();
    }
    loop {
        search.descend();
        search.run.after_execution(&|| fraction(&search.nodes, &search.extensions));
        if search.run.is_stopped() || !search.next_branch() {
            return search.into_report();
        }
        search.prune();
    }
}

struct Search<'a, S> {
    run: Run<'a, S>,
    unfolding: Unfolding,
    finder: Extensions,
    /// The events of the execution, as far as someone asked for them.
    path: Vec<Option<EventRef>>,
    /// For each event of the path: what its races become when they are reversed.
    extensions: Vec<Kept>,
    /// `D`: what was explored from the nodes on the path.
    disabled: Vec<EventRef>,
    /// For each node, one behind the other: the events of `D` that are not in conflict with `C`, as
    /// indices of `disabled`.
    asleep: Vec<u32>,
    /// For each node: the events kept with those asleep that are compatible with `C`.
    usable: Vec<Usable>,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    nodes: Vec<Node>,
    /// `A`: steps to take, the next one last.
    clue: Vec<Step>,
    comb: Comb,
    /// The events asleep at a node: a buffer.
    sleepers: Vec<EventRef>,
    /// How many steps each thread took before a node: a buffer.
    taken: Vec<u32>,
    /// What reversals give: a buffer.
    found: Vec<(Position, EventRef)>,
    /// Events from here on were not there when races were last looked for.
    fresh: usize,
    /// Events with a race whose reversal depends on what comes after them.
    unsettled: Vec<Position>,
    /// Events with other alternatives that depend on what comes after them.
    undecided_choices: Vec<Position>,
    reversal: Reversal,
    next_pruning: usize,
    /// How many events of `D` an alternative must be in conflict with; `None`: all.
    k: Option<NonZeroU32>,
    /// Where the time goes, if someone wants to know.
    stopwatch: Option<Stopwatch>,
}

/// A state on the current path.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Where what belongs to it begins in `Search::disabled`, `asleep` and `usable`.
    disabled: usize,
    asleep: usize,
    usable: usize,
    /// How many branches were explored.
    explored: u32,
    /// Whether every step must be explored here, because there are too many reversals.
    in_full: bool,
}

/// An event that may be part of an alternative.
#[derive(Clone, Copy, Debug)]
struct Usable {
    event: EventRef,
    /// What it and those before it touch that were not in `C` when it came here.
    touched: Touched,
    /// The event of `D` that it is kept with.
    keeper: u32,
}

impl<S: System> Search<'_, S> {
    fn into_report(mut self) -> Report {
        self.enter(Phase::Running);
        let statistics = self.stopwatch.map(|watch| Box::new(watch.statistics(&self.unfolding)));
        Report { statistics, ..self.run.into_report() }
    }

    /// Notes what comes now, for statistics.
    #[inline]
    fn enter(&mut self, phase: Phase) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.enter(phase, self.run.now());
        }
    }

    /// Runs to the end of an execution, following the clue as far as it goes, and looks for races there.
    fn descend(&mut self) {
        while !self.run.is_stopped() {
            if self.run.is_at_step_limit() && self.can_go_on() {
                self.run.finish_cut();
                return self.look_for_races();
            }
            match self.follow_clue().or_else(|| self.choose_any()) {
                Some(step) => self.take(step),
                None => return self.look_for_races(),
            }
        }
    }

    /// Whether an execution that is as long as it may be is not at its end.
    fn can_go_on(&self) -> bool {
        let is_open = |thread| self.run.is_enabled(thread) && !self.sleeps_whole(thread);
        !self.clue.is_empty() || self.run.threads().any(is_open)
    }

    fn sleeps_whole(&self, thread: ThreadId) -> bool {
        (0..self.run.system.choices(thread)).all(|choice| self.is_asleep(Step { thread, choice }))
    }

    /// The next step of the clue, if it can be taken.
    fn follow_clue(&mut self) -> Option<Step> {
        let step = self.clue.pop()?;
        let known = step.thread.index() < self.run.system.thread_count();
        if !known || !self.run.is_enabled(step.thread) {
            self.run.give_up(NOT_REPRODUCIBLE.to_owned());
        } else if !self.run.is_within_preemptions(step.thread) {
            self.run.note_preemption_cut(false);
        } else {
            return Some(step);
        }
        self.clue.clear();
        None
    }

    /// Any step that can be taken and does not sleep. If there is none, the execution has ended.
    fn choose_any(&mut self) -> Option<Step> {
        let (mut maximal, mut cut) = (true, false);
        for thread in self.run.enabled_in_order() {
            maximal = false;
            if !self.run.is_within_preemptions(thread) {
                cut = true;
                continue;
            }
            let mut all =
                (0..self.run.system.choices(thread)).map(|choice| Step { thread, choice });
            if let Some(step) = all.find(|&step| !self.is_asleep(step)) {
                return Some(step);
            }
        }
        if maximal {
            self.run.finish();
        } else if cut {
            self.run.finish_preempted(false);
        } else {
            debug_assert!(
                self.k.is_some()
                    || !self.run.report.inconclusive.is_empty()
                    || self.nodes.iter().any(|node| node.in_full),
                "optimality: unless a limit interferes, someone is always awake"
            );
            self.run.finish_redundant();
        }
        None
    }

    fn is_asleep(&self, step: Step) -> bool {
        let start = self.nodes[self.nodes.len() - 1].asleep;
        self.asleep[start..]
            .iter()
            .any(|&index| self.unfolding.step(self.disabled[index as usize]) == step)
    }

    /// Takes a step: a new node.
    fn take(&mut self, step: Step) {
        let position = Position::new(self.run.execution.len());
        let others = match self.run.system.choices(step.thread) {
            1 => Vec::new(),
            choices => self.other_alternatives(step, choices),
        };
        self.run.step(step);
        self.enter(Phase::Adding);
        self.path.push(None);
        if self.extensions.len() < self.path.len() {
            self.extensions.push(Kept::default());
        }
        self.pass_down(position);
        if !others.is_empty() {
            self.keep_alternatives(position, &others);
        }
        self.enter(Phase::Running);
        self.run.after_step(&|| fraction(&self.nodes, &self.extensions));
    }

    /// The event at `position`.
    #[inline]
    fn event(&mut self, position: Position) -> EventRef {
        let Self { unfolding, finder, run, path, .. } = self;
        finder.executed(unfolding, &run.execution, path, position)
    }

    /// Makes the node behind the event at `position`: who commutes with it sleeps on, and what is
    /// compatible with it stays usable if its keeper sleeps on.
    fn pass_down(&mut self, position: Position) {
        let last = self.nodes[self.nodes.len() - 1];
        let node = Node {
            disabled: self.disabled.len(),
            asleep: self.asleep.len(),
            usable: self.usable.len(),
            ..Node::default()
        };
        self.nodes.push(node);
        let mut usable = last.usable;
        let touched = Touched::by(
            self.run.execution.event(position).thread(),
            self.run.execution.accesses(position),
        );
        for index in last.asleep..node.asleep {
            let keeper = self.asleep[index];
            let sleeper = self.disabled[keeper as usize];
            let thread = self.run.execution.event(position).thread();
            let accesses = self.run.execution.accesses(position);
            let sleeps_on = !self.unfolding.depends_on(sleeper, thread, accesses);
            if sleeps_on {
                self.asleep.push(keeper);
            }
            // What sleepers keep stands in their order.
            while usable < node.usable && self.usable[usable].keeper == keeper {
                let kept = self.usable[usable];
                if sleeps_on
                    && (touched.is_disjoint(kept.touched) || !self.excludes(position, kept.event))
                {
                    self.usable.push(kept);
                }
                usable += 1;
            }
        }
    }

    fn excludes(&mut self, position: Position, event: EventRef) -> bool {
        let new = self.event(position);
        self.unfolding.excludes(new, event)
    }

    /// The other alternatives of a step that is about to be taken.
    fn other_alternatives(&mut self, step: Step, choices: u32) -> Vec<(Step, Footprint)> {
        let mut effect = Effect::default();
        let others = (0..choices).filter(|&choice| choice != step.choice).map(|choice| {
            let other = Step { choice, ..step };
            self.run.system.pending(other, &mut effect);
            (other, effect.footprint.clone())
        });
        others.collect()
    }

    /// Keeps the other alternatives of the last event with it.
    fn keep_alternatives(&mut self, position: Position, others: &[(Step, Footprint)]) {
        for other in others {
            let Self { unfolding, finder, run, path, .. } = self;
            let event = finder.alternative(unfolding, &run.execution, path, position, other);
            self.keep(position, event);
        }
        let taken = self.run.execution.accesses(position);
        if !others.iter().all(|(_, other)| is_stable(taken, other.accesses())) {
            self.undecided_choices.push(position);
        }
    }

    /// Goes back to the last node from which there is something left to explore, and finds out what.
    /// Gives false if there is none.
    fn next_branch(&mut self) -> bool {
        self.enter(Phase::Building);
        while let Some(depth) = self.path.len().checked_sub(1) {
            let below = self.nodes.pop().expect("internal error: a node for each event");
            let node = self.nodes[depth];
            let lost = (self.usable.len() - below.usable) < (below.usable - node.usable);
            self.asleep.truncate(below.asleep);
            self.usable.truncate(below.usable);
            let found = (lost || node.in_full || !self.extensions[depth].is_empty())
                && self.find_branch(depth);
            self.path.pop();
            if !found {
                self.extensions[depth].clear();
                self.disabled.truncate(node.disabled);
                self.asleep.truncate(node.asleep);
                self.usable.truncate(node.usable);
                continue;
            }
            self.enter(Phase::Running);
            self.run.backtrack(depth);
            self.fresh = depth;
            self.unsettled.retain(|position| position.index() < depth);
            self.undecided_choices.retain(|position| position.index() < depth);
            return true;
        }
        false
    }

    /// Puts the event that was explored from the last node to sleep there, and looks for an alternative.
    fn find_branch(&mut self, depth: usize) -> bool {
        let event = self.event(Position::new(depth));
        let Self { unfolding, usable, disabled, asleep, sleepers, .. } = self;
        let node = &mut self.nodes[depth];
        let touched = unfolding.touched(event);
        let excluded = |usable: &Usable| {
            !touched.is_disjoint(usable.touched) && unfolding.excludes(event, usable.event)
        };
        if self.extensions[depth].is_empty()
            && !node.in_full
            && !usable[node.usable..].iter().any(excluded)
        {
            return false;
        }
        node.explored += 1;
        let keeper = disabled.len() as u32;
        disabled.push(event);
        asleep.push(keeper);
        let mut kept = node.usable;
        for index in node.usable..usable.len() {
            if !unfolding.is_before(event, usable[index].event) {
                usable[kept] = usable[index];
                kept += 1;
            }
        }
        usable.truncate(kept);
        count_steps(&self.run.execution.events()[..depth], &mut self.taken);
        usable.extend(self.extensions[depth].drain().map(|event| {
            let touched = unfolding.touched_after(&self.taken, event);
            Usable { event, touched, keeper }
        }));
        sleepers.clear();
        sleepers.extend(asleep[node.asleep..].iter().map(|&index| disabled[index as usize]));
        self.enter(Phase::Searching);
        let found = self.search_comb(depth);
        self.enter(Phase::Building);
        found || (self.nodes[depth].in_full && self.has_open_step(depth))
    }

    /// Looks for an alternative to what sleeps at the last node, and makes it the clue.
    fn search_comb(&mut self, depth: usize) -> bool {
        let Self { unfolding, usable, sleepers, .. } = self;
        let known = usable[self.nodes[depth].usable..].iter().map(|usable| usable.event);
        if let Some(found) = self.comb.search(unfolding, sleepers, known, self.k) {
            clue(unfolding, &self.taken, found, &mut self.clue);
            return true;
        }
        self.clue.clear();
        false
    }

    /// Whether a step can be taken at `depth` that does not sleep there.
    fn has_open_step(&mut self, depth: usize) -> bool {
        self.run.sync_to(depth);
        self.run.threads().any(|thread| self.run.is_enabled(thread) && !self.sleeps_whole(thread))
    }

    /// Keeps with each event what its races become when they are reversed.
    fn look_for_races(&mut self) {
        self.enter(Phase::Reversing);
        let is_blocked = |&thread: &ThreadId| self.run.system.status(thread) == Status::Blocked;
        let blocked: Vec<ThreadId> = self.run.threads().filter(is_blocked).collect();
        for thread in blocked {
            self.reverse(Later::Pending(thread), thread);
        }
        // The latest first: to decide a step anew, the system then mostly goes back.
        let older = self.unsettled.len();
        for position in (self.fresh..self.run.execution.len()).rev().map(Position::new) {
            if !self.reverse_event(position) {
                self.unsettled.push(position);
            }
        }
        for index in 0..older {
            self.reverse_event(self.unsettled[index]);
        }
        for index in 0..self.undecided_choices.len() {
            let at = self.undecided_choices[index];
            let others = self.finder.alternatives(&mut self.run, at);
            for other in &others {
                let Self { unfolding, finder, run, path, .. } = self;
                let event = finder.alternative(unfolding, &run.execution, path, at, other);
                self.keep(at, event);
            }
        }
    }

    fn reverse_event(&mut self, position: Position) -> bool {
        let thread = self.run.execution.event(position).thread();
        self.reverse(Later::Event(position), thread)
    }

    /// Reverses all races of `later`, a step of `thread`. Tells whether that is settled for all
    /// executions that share the prefix up to it.
    fn reverse(&mut self, later: Later, thread: ThreadId) -> bool {
        let Self { run, unfolding, finder, path, reversal, found, .. } = self;
        let mut settled = true;
        let in_full = reversals(run, later, reversal, &mut |execution, reversal| {
            settled &= reversal.stable;
            let event = finder.reversed(unfolding, execution, path, reversal, (later, thread));
            found.push((reversal.at, event));
        });
        while let Some((at, event)) = self.found.pop() {
            self.keep(at, event);
        }
        for at in in_full {
            self.nodes[at.index()].in_full = true;
        }
        settled
    }

    /// Keeps `event`, which is in conflict with the event at `at`, with it, unless it sleeps there.
    fn keep(&mut self, at: Position, event: EventRef) {
        let at = at.index();
        let end = self.nodes[at + 1].asleep;
        let mut asleep = self.asleep[self.nodes[at].asleep..end].iter();
        if !asleep.any(|&index| self.disabled[index as usize] == event) {
            self.extensions[at].insert(event);
        }
    }

    /// Forgets the events that cannot be part of an alternative any more.
    fn prune(&mut self) {
        if self.unfolding.len() < self.next_pruning {
            return;
        }
        let extensions = self.extensions.iter().flat_map(Kept::iter);
        let others = self.path.iter().flatten().chain(&self.disabled).copied();
        let roots = extensions.chain(others).chain(self.usable.iter().map(|usable| usable.event));
        let names = self.unfolding.retain(roots);
        let rename = |event: &mut EventRef| {
            *event = names[event.index()].expect("internal error: a root was dropped");
        };
        self.extensions.iter_mut().for_each(|kept| kept.rename(rename));
        self.path.iter_mut().flatten().chain(&mut self.disabled).for_each(rename);
        self.usable.iter_mut().for_each(|usable| rename(&mut usable.event));
        self.next_pruning = (2 * self.unfolding.len()).max(WORTH_PRUNING);
    }
}

/// Counts the steps of each thread.
fn count_steps(events: &[Event], taken: &mut Vec<u32>) {
    taken.clear();
    for event in events {
        let thread = event.thread().index();
        taken.resize(taken.len().max(thread + 1), 0);
        taken[thread] += 1;
    }
}

/// Writes down the steps to the events `found` after the steps that are taken, the next one last.
fn clue(unfolding: &Unfolding, taken: &[u32], found: &[EventRef], steps: &mut Vec<Step>) {
    let mut events: SmallVec<[EventRef; 16]> = SmallVec::new();
    for &event in found {
        unfolding.for_each_after(taken, event, &mut |other| events.push(other));
    }
    // Causes have smaller histories. Numbers would do too, but they depend on what was pruned.
    events.sort_unstable_by_key(|&event| Reverse((unfolding.size(event), unfolding.thread(event))));
    events.dedup();
    steps.clear();
    steps.extend(events.into_iter().map(|event| unfolding.step(event)));
}

fn fraction(nodes: &[Node], extensions: &[Kept]) -> f64 {
    share_done(nodes.iter().zip(extensions).map(|(node, extensions)| {
        let explored = node.explored as usize;
        (explored + 1, explored + 1 + usize::from(!extensions.is_empty()))
    }))
}
