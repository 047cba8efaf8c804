//! Quasi-optimal partial order reduction on unfoldings.
//!
//! H. T. T. Nguyen, C. Rodríguez, M. Sousa, C. Coti, L. Petrucci: *Quasi-Optimal Partial Order
//! Reduction*, CAV 2018, extended version, Algorithm 1. Comments `[l.N]` name the lines of that listing.
//!
//! | paper | here |
//! |---|---|
//! | `U` | [`Unfolding`]; what spikes are made of: `Quasi::kept`, [`Sleepers::usable`] |
//! | `C` | `Run::execution` and [`Extensions::path`] |
//! | `D`; its events that are not in conflict with `C` | `quasi/sleepers.rs` |
//! | `A` | `Quasi::clue` |
//! | `ex(C)`, `cex(C)` | `quasi/extensions.rs` |
//! | `Alt`, combs, k-partial alternatives | `quasi/alternatives.rs` |
//! | `U ∩ Q_{C,D}` | `Quasi::prune` |
//! | [l.10], [l.12], the recursive calls | the driver, `search/depth_first.rs` |
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
//!    So a spike is looked for among the events kept with those that are not: they are *usable*.
//!
//!    Why that is enough: let `w` lead from `C` to a maximal configuration without events of `D`, and
//!    let `J` in `w` be minimal such that it has a conflict with each event of `D`. For a maximal event
//!    `m` of `J` take the first `d` of `D` that is in conflict with `m` alone. Those before `d` in
//!    `D` are in conflict with the rest of `J`; so an execution with `C`, `d`, that rest and the step of `m`
//!    after it was explored. There `d` races with that step, which becomes `m` when the race is reversed.
//!    So `m` is kept with `d`, and `J` is found.
//! 4. *Locks only*, as the paper has it, is one of two modes. Data races are looked for then: with one,
//!    nothing is proved.
//! 5. A clue is followed in the order of the sizes of the events' histories.
//!
//! **Cost:** per new event, a look-up by name, and for each usable event that touches the same one or two
//! ancestor queries; per race, time linear in the length of the execution. A search for alternatives
//! is exponential in `k` at worst. Memory: `U`, that is, all events in `C` and `D`, what is kept with
//! them, and their causes; the rest is dropped whenever it is as much again.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle on all small and on random
//! programs for several `k`, golden programs, deliberate mistakes; `events/tests.rs`: causality and
//! conflict against the definitions.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::rc::Rc;

use selvedge_core::{
    Budget, Footprint, Inconclusive, Position, Report, Status, Step, System, ThreadId,
};

use crate::options::{Independence, Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::depth_first::{Halt, Reduction, to_the_end};
use crate::search::run::Run;
use crate::search::share::share_done;
use crate::trace::races::{Later, NOT_REPRODUCIBLE, Reversal, is_stable, plain_races, reversals};
use crate::unfolding::events::{EventRef, Unfolding};

mod alternatives;
mod extensions;
mod kept;
mod locks_only;
mod sleepers;
mod statistics;

use alternatives::Comb;
pub(crate) use extensions::Extensions;
use extensions::{alternatives_but, other_alternatives};
use kept::Kept;
use locks_only::{LocksOnly, Objections};
use sleepers::Sleepers;
use statistics::{Phase, Stopwatch};

pub(crate) const INFO: Info = Info {
    name: "quasi",
    summary: "unfoldings with k-partial alternatives: by default no redundant execution, few with --k",
    advice: "To compare with `optimal`: its memory is sometimes far smaller, sometimes several times larger. \
             --k 1, 2, 3 trades redundant executions for cheaper alternatives; --locks-only is for \
             programs without data races.",
    paper: "Nguyen, Rodríguez, Sousa, Coti, Petrucci, CAV 2018, Algorithm 1",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: true,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds, Setting::Alternatives, Setting::Statistics],
};

const MIXED: &str = "an atomic block or an `await` accesses a variable that is not atomic and that others access on their own, \
                     which `--locks-only` does not order; declare the variable atomic, or leave out `--locks-only`";

const RACES: &str = "with `--locks-only` the search ends at the first execution with a data race, which it does not \
                     order; to go on, leave out `--locks-only`";

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    if options.quasi.independence == Independence::AllAccesses {
        return search(make, options, observer, &|| false);
    }
    let objections = Rc::new(RefCell::new(Objections::default()));
    let is_wrong = || !objections.borrow().is_empty();
    let mut report = search(&|| LocksOnly::new(make(), &objections), options, observer, &is_wrong);
    let Objections { races, is_mixed, .. } = objections.take();
    if is_mixed {
        report.note(Inconclusive::GaveUp(MIXED.to_owned()));
    }
    if options.data_races {
        if options.keep_going && !races.is_empty() {
            report.note(Inconclusive::GaveUp(RACES.to_owned()));
        }
        let most = if options.keep_going { usize::MAX } else { 1 };
        let room = most.saturating_sub(report.violations.len());
        report.violations.extend(races.into_iter().take(room));
    } else {
        for race in races {
            report.note(Inconclusive::DataRace(Box::new(race)));
        }
    }
    report
}

/// `is_wrong`: whether the reduction has turned out not to apply to the program. Then the search ends: what it has planned
/// may not be possible.
fn search<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
    is_wrong: &dyn Fn() -> bool,
) -> Report {
    let mut run = Run::new(make, options, observer);
    let mut quasi = Quasi::new(options);
    if options.statistics {
        quasi.stopwatch = Some(Stopwatch::start(run.now()));
        quasi.extensions.unfolding.collect_statistics();
    }
    loop {
        to_the_end(&mut run, &mut quasi);
        if run.is_stopped() || is_wrong() || !quasi.go_back(&mut run) {
            return quasi.into_report(run);
        }
    }
}

struct Quasi {
    extensions: Extensions,
    /// For each event of the path: what its races become when they are reversed.
    kept: Vec<Kept>,
    sleepers: Sleepers,
    /// How many branches were explored from each state of the path.
    explored: Vec<u32>,
    /// `A`: events to execute, the next one last.
    clue: Vec<EventRef>,
    comb: Comb,
    /// How many steps each thread took before the last node.
    taken: Vec<u32>,
    /// The events that race with another: a buffer.
    races: Vec<Position>,
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
    /// Where the time goes, if statistics are requested.
    stopwatch: Option<Stopwatch>,
}

impl<S: System> Reduction<S> for Quasi {
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
        // [l.8-9]
        if let Some(step) = self.follow_clue(run) {
            return Ok(step);
        }
        // [l.5-7]
        let (step, _) = run.first_awake(|step| self.is_asleep(step))?;
        Ok(step)
    }

    fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
        // What the step is in the unfolding, if it comes from the clue.
        let event = self.clue.pop();
        let position = Position::new(run.execution.len());
        let others = match run.system.choices(step.thread) {
            1 => Vec::new(),
            _ => alternatives_but(run, step),
        };
        run.step(step);
        self.enter(run, Phase::Adding);
        self.count(step.thread);
        self.extensions.path.push(event);
        debug_assert!(
            event.is_none_or(|event| event == self.extensions.give_name(&run.execution, position)),
            "an event of a clue is another one when it is executed"
        );
        self.explored.push(0);
        if self.kept.len() <= position.index() {
            self.kept.push(Kept::default());
        }
        self.sleepers.descend(&mut self.extensions, &run.execution, position);
        if !others.is_empty() {
            self.keep_alternatives(run, position, &others);
            let taken = run.execution.accesses(position);
            if !others.iter().all(|(_, other)| is_stable(taken, other.accesses())) {
                self.undecided_choices.push(position);
            }
        }
        self.enter(run, Phase::Running);
    }

    fn end(&mut self, run: &mut Run<'_, S>, halt: Halt) {
        debug_assert!(
            halt != Halt::Redundant || self.k.is_some() || !run.report.inconclusive.is_empty(),
            "optimality: unless a limit interferes, someone is always awake"
        );
        // [l.4] All of `ex(C)` on the way here.
        self.look_for_races(run);
    }

    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool {
        self.enter(run, Phase::Building);
        while let Some(depth) = self.extensions.path.len().checked_sub(1) {
            self.explored.pop();
            self.taken[run.execution.steps()[depth].thread.index()] -= 1;
            let lost = self.sleepers.ascend();
            let worth_it = lost || !self.kept[depth].is_empty();
            let found = worth_it && self.find_branch(run, depth);
            self.extensions.path.pop();
            if !found {
                self.kept[depth].clear();
                self.sleepers.clear_last();
                continue;
            }
            self.enter(run, Phase::Running);
            run.backtrack(depth);
            self.fresh = depth;
            self.unsettled.retain(|position| position.index() < depth);
            self.undecided_choices.retain(|position| position.index() < depth);
            self.prune(run.options.caps.worth_pruning);
            return true;
        }
        debug_assert!(self.sleepers.events().next().is_none(), "what sleeps at no node is kept");
        false
    }

    fn fraction(&self) -> f64 {
        share_done(self.explored.iter().zip(&self.kept).map(|(&explored, kept)| {
            let explored = explored as usize;
            (explored + 1, explored + 1 + usize::from(!kept.is_empty()))
        }))
    }
}

impl Quasi {
    fn new(options: &Options) -> Self {
        Self {
            extensions: Extensions::new(Unfolding::new(options.quasi.skip_step.get())),
            kept: Vec::new(),
            sleepers: Sleepers::new(),
            explored: vec![0],
            clue: Vec::new(),
            comb: Comb::default(),
            taken: Vec::new(),
            races: Vec::new(),
            fresh: 0,
            unsettled: Vec::new(),
            undecided_choices: Vec::new(),
            reversal: Reversal::new(),
            next_pruning: options.caps.worth_pruning,
            k: options.quasi.k,
            stopwatch: None,
        }
    }

    fn into_report<S: System>(mut self, run: Run<'_, S>) -> Report {
        self.enter(&run, Phase::Running);
        let statistics =
            self.stopwatch.map(|watch| Box::new(watch.statistics(&self.extensions.unfolding)));
        Report { statistics, ..run.into_report() }
    }

    /// Notes what comes now, for statistics.
    #[inline]
    fn enter<S: System>(&mut self, run: &Run<'_, S>, phase: Phase) {
        if let Some(stopwatch) = &mut self.stopwatch {
            stopwatch.enter(phase, run.now());
        }
    }

    /// Returns the step of the next event of the clue, if that can be taken. Otherwise there is no clue any more.
    fn follow_clue<S: System>(&mut self, run: &mut Run<'_, S>) -> Option<Step> {
        let step = self.extensions.unfolding.step(*self.clue.last()?);
        let known = step.thread.index() < run.system.thread_count();
        if !known || !run.is_enabled(step.thread) {
            run.give_up(NOT_REPRODUCIBLE.to_owned());
        } else if !run.is_within_preemptions(step.thread) {
            run.note_preemption_cut(false);
        } else {
            return Some(step);
        }
        self.clue.clear();
        None
    }

    fn is_asleep(&self, step: Step) -> bool {
        let here = Position::new(self.explored.len() - 1);
        self.sleepers.find(here, step).is_some()
    }

    fn count(&mut self, thread: ThreadId) {
        if self.taken.len() <= thread.index() {
            self.taken.resize(thread.index() + 1, 0);
        }
        self.taken[thread.index()] += 1;
    }

    /// Keeps other alternatives of the event at `at` with it.
    fn keep_alternatives<S: System>(
        &mut self,
        run: &Run<'_, S>,
        at: Position,
        others: &[(Step, Footprint)],
    ) {
        let Self { extensions, sleepers, kept, .. } = self;
        for other in others {
            if let Some(event) = extensions.alternative(&run.execution, at, other, sleepers) {
                kept[at.index()].insert(event);
            }
        }
    }

    /// Puts the event that was explored from the last node to sleep there, and looks for an alternative.
    fn find_branch<S: System>(&mut self, run: &Run<'_, S>, depth: usize) -> bool {
        let Self { extensions, kept, sleepers, explored, taken, .. } = self;
        let event = extensions.executed(&run.execution, Position::new(depth));
        let (unfolding, kept) = (&mut extensions.unfolding, &mut kept[depth]);
        if kept.is_empty() && !sleepers.is_anything_excluded(unfolding, event) {
            return false;
        }
        explored[depth] += 1;
        sleepers.add(unfolding, event, kept.drain(), taken);
        self.enter(run, Phase::Searching);
        let found = self.search_comb(&run.options.budget);
        self.enter(run, Phase::Building);
        found
    }

    /// Looks for an alternative to what sleeps at the last node, and makes it the clue.
    fn search_comb(&mut self, budget: &Budget) -> bool {
        let Self { extensions: Extensions { unfolding, .. }, sleepers, .. } = self;
        let (asleep, usable) = (sleepers.asleep().rev(), sleepers.usable());
        self.clue.clear();
        // [l.11]
        let found = self.comb.search(unfolding, asleep, usable, self.k, budget);
        let Some(found) = found else { return false };
        // [l.12]
        clue(unfolding, &self.taken, found, &mut self.clue);
        true
    }

    /// Keeps with each event what its races become when they are reversed.
    fn look_for_races<S: System>(&mut self, run: &mut Run<'_, S>) {
        self.enter(run, Phase::Reversing);
        let is_blocked = |&thread: &ThreadId| run.system.status(thread) == Status::Blocked;
        let blocked: Vec<ThreadId> = run.threads().filter(is_blocked).collect();
        for thread in blocked {
            self.reverse(run, Later::Pending(thread), thread);
        }
        // The latest first: to determine a step again, the system then mostly goes back.
        let older = self.unsettled.len();
        for position in (self.fresh..run.execution.len()).rev().map(Position::new) {
            // All that it depends on happens before it anyway: program order.
            if run.execution.predecessors(position).is_empty() {
                continue;
            }
            if !self.reverse_event(run, position) {
                self.unsettled.push(position);
            }
        }
        for index in 0..older {
            self.reverse_event(run, self.unsettled[index]);
        }
        for index in 0..self.undecided_choices.len() {
            let at = self.undecided_choices[index];
            let others = other_alternatives(run, at);
            self.keep_alternatives(run, at, &others);
        }
    }

    /// Reverses all races of the event at `position`. Returns whether that is settled for all executions
    /// that share the prefix up to it.
    fn reverse_event<S: System>(&mut self, run: &mut Run<'_, S>, position: Position) -> bool {
        let Self { extensions, sleepers, kept, races, .. } = self;
        races.clear();
        if !plain_races(&run.execution, position, |at| races.push(at)) {
            let thread = run.execution.event(position).thread();
            return self.reverse(run, Later::Event(position), thread);
        }
        // [l.14-25], for accesses of all kinds
        for &at in &*races {
            if let Some(event) = extensions.swapped(&run.execution, (at, position), sleepers) {
                kept[at.index()].insert(event);
            }
        }
        true
    }

    /// Reverses all races of `later`, a step of `thread` that must be determined again.
    fn reverse<S: System>(&mut self, run: &mut Run<'_, S>, later: Later, thread: ThreadId) -> bool {
        let Self { extensions, sleepers, kept, reversal, .. } = self;
        let mut settled = true;
        let unknown = reversals(run, later, reversal, &mut |execution, reversal| {
            settled &= reversal.stable;
            let event = extensions.reversed(execution, reversal, (later, thread), sleepers);
            if let Some(event) = event {
                kept[reversal.at.index()].insert(event);
            }
        });
        debug_assert!(unknown.is_empty() || !run.report.inconclusive.is_empty());
        settled
    }

    /// Forgets the events that cannot be part of an alternative any more. Fewer than `worth_it` stay.
    fn prune(&mut self, worth_it: usize) {
        let Extensions { unfolding, path, .. } = &mut self.extensions;
        if unfolding.len() < self.next_pruning {
            return;
        }
        // [l.13]
        let kept = self.kept.iter().flat_map(Kept::iter);
        let roots = kept.chain(path.iter().flatten().copied()).chain(self.sleepers.events());
        let names = unfolding.retain(roots);
        let rename = |event: &mut EventRef| {
            *event = names[event.index()].expect("internal error: a root was dropped");
        };
        self.kept.iter_mut().for_each(|kept| kept.rename(rename));
        path.iter_mut().flatten().for_each(rename);
        self.clue.iter_mut().for_each(rename);
        self.sleepers.rename(rename);
        self.next_pruning = (2 * unfolding.len()).max(worth_it);
    }
}

/// Records what leads to the events `found` after the steps that are taken, the next one last.
fn clue(unfolding: &Unfolding, taken: &[u32], found: &[EventRef], clue: &mut Vec<EventRef>) {
    clue.clear();
    for &event in found {
        unfolding.for_each_after(taken, event, |other| clue.push(other));
    }
    if clue.len() > 1 {
        // Causes have smaller histories. Numbers would do too, but they depend on what was pruned.
        let key = |&event: &EventRef| Reverse((unfolding.size(event), unfolding.thread(event)));
        clue.sort_by_cached_key(key);
        clue.dedup();
    }
}
