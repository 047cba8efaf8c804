//! The entry points: check a closure and report the result.

mod besides;
mod builder;
mod checkpoint;
mod doubts;
mod follow;
mod kept;
mod memory;
mod observer;
mod places;
mod plain_uses;
mod search;
mod second;
mod spurious;
mod tell;
mod together;

use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

use selvedge_core::{Bound, Budget, Covers, Inconclusive};
use selvedge_crew::Journal;
use selvedge_explore::Memory;
use selvedge_report::Method;
use selvedge_rt::{Caps, Settings, SignalStack, Spurious};

pub use builder::Builder;

use builder::SPIN_TURNS;
use doubts::{assumption, hopeless, while_panicking};
use kept::{Interrupted, Kept};

use crate::alloc::Reuse;
use crate::failure::{self, ReplayCommand};
use crate::outcome::Outcome;
use crate::rt::{Rust, Shared, Spot, allocator, arena, running};
use crate::sync::waiting_writers::RwLockPolicy;
use crate::watch::{Pulse, Watched};

/// Checks `f`: runs one execution per class of interleavings.
///
/// # Panics
/// If one of them has a violation, with a report; also if not all classes could be explored.
///
/// # Examples
/// ```
/// use selvedge::{check, sync::{Arc, Mutex}, thread};
///
/// check(|| {
///     let count = Arc::new(Mutex::new(0));
///     let other = Arc::clone(&count);
///     let thread = thread::spawn(move || *other.lock().unwrap() += 1);
///     *count.lock().unwrap() += 1;
///     thread.join().unwrap();
///     assert_eq!(*count.lock().unwrap(), 2);
/// });
/// ```
#[track_caller]
pub fn check(f: impl Fn() + 'static) {
    Builder::new().check(f);
}

/// Runs `executions` random executions of `f`: for code with too many classes to explore them all.
///
/// # Panics
/// If one of them has a violation, with a report.
#[track_caller]
pub fn check_random(f: impl Fn() + 'static, executions: u64) {
    Builder::new().sample(executions, 0).check(f);
}

/// Replays one execution of `f`: the one with this `schedule`, from a report.
///
/// # Panics
/// If it has a violation, with a report.
#[track_caller]
pub fn replay(f: impl Fn() + 'static, schedule: &str) {
    Builder::new().replay(schedule).check(f);
}

impl Builder {
    /// Checks `f`.
    ///
    /// # Panics
    /// If an execution has a violation, with a report; also if not all classes could be explored, unless the
    /// reason is a bound that the test sets.
    #[track_caller]
    pub fn check(&self, f: impl Fn() + 'static) {
        self.check_program(Rc::new(f));
    }

    /// Checks `f` and returns the result.
    ///
    /// # Panics
    /// If the allocator of this crate is not installed, or a schedule does not fit.
    #[track_caller]
    pub fn explore(&self, f: impl Fn() + 'static) -> Outcome {
        self.explore_program(Rc::new(f))
    }

    /// Nothing here is generic, so that it is compiled once, not for every test of a user.
    #[track_caller]
    fn explore_program(&self, program: Rc<dyn Fn()>) -> Outcome {
        let here = Location::caller();
        let mut this = self.clone();
        // Clones of a budget are the same one.
        this.options.budget = Budget::unlimited();
        this.algorithm = this.divided();
        let Some((mut kept, interrupted)) = this.kept(here) else {
            return this.explore_and_besides(program, here, None);
        };
        let mut outcome = this.explore_and_besides(program, here, Some((&mut kept, interrupted)));
        match this.options.budget.spent() {
            None => kept.remove(),
            Some(_) => outcome.found_out.report.fact("to go on", kept.to_go_on()),
        }
        outcome.found_out.time += kept.took();
        outcome
    }

    #[track_caller]
    fn explore_within_budget(
        &self,
        program: Rc<dyn Fn()>,
        here: Spot,
        kept: Option<(&mut Kept, Option<Interrupted>)>,
    ) -> Outcome {
        let start = Instant::now();
        let shared = self.shared(program, here);
        let schedule = self.schedule(here);
        let _watched = Watched::new(&shared.pulse);
        let _stack = SignalStack::new();
        let memory = self.asked_memory();
        // A search in parts does not say which executions it ran.
        let is_whole = schedule.is_none() && (memory.is_some() || !self.is_to_be_divided());
        shared.keeps_tree.set(is_whole && self.wants_page());
        let (mut report, failures) = match (&schedule, memory) {
            _ if std::thread::panicking() => (while_panicking(), Vec::new()),
            (Some(schedule), Some(memory)) => self.follow_graph(&shared, memory, schedule),
            (None, Some(memory)) => self.search_graphs(&shared, memory),
            (Some(schedule), None) => self.follow(&shared, schedule),
            (None, None) => {
                let mut journal = match kept {
                    Some((kept, interrupted)) => Journal::new(kept, interrupted),
                    None => Journal::default(),
                };
                self.search_and_confirm(&shared, &mut journal)
            }
        };
        if let Some(reason) = hopeless(&shared) {
            // There is no other reason to stop.
            report.inconclusive.retain(|reason| *reason != Inconclusive::Bound(Bound::Interrupted));
            report.note(Inconclusive::GaveUp(reason));
        }
        if shared.unguarded.get() {
            report.note(Inconclusive::GaveUp(
                format!(
                    "not every freed block could be guarded (`Builder::guard_freed`), so that plain uses of the others \
                     are not seen: at most {} at a time can be, and none of more than {} MiB; let the test free \
                     fewer, or leave the option out",
                    shared.settings.caps.guarded,
                    arena::LARGEST >> 20
                ),
            ));
        }
        let unexplored = || shared.weak.get().then(|| failure::WEAK.to_owned());
        if let Some(about) = memory.map(failure::explored).or_else(unexplored) {
            report.fact("memory", about);
        }
        let (bounded, left_out) = (spurious::bounded(&shared), spurious::left_out(&shared));
        let unexplored: Vec<String> = bounded.iter().chain(&left_out).cloned().collect();
        if !unexplored.is_empty() {
            report.fact("spurious", unexplored.join("; "));
        }
        if let Some(spot) = shared.assumed.get() {
            report.note(Inconclusive::Assumed(assumption(spot, self.spin_turns)));
        }
        if let Some(difference) = shared.unsteady.borrow().as_ref() {
            let reason = format!("the closure is nondeterministic: {difference}");
            report.note(Inconclusive::Nondeterministic(reason));
        }
        let covers = self.algorithm.info().covers;
        let found_out = selvedge_report::Outcome {
            file: here.file().to_owned(),
            constants: BTreeMap::new(),
            method: self.method(memory, schedule.is_some()),
            covers: Covers { data_races: covers.data_races && self.options.data_races, ..covers },
            report,
            source: failure::source(&failures),
            found: failures,
            tree: shared.tree.take(),
            time: start.elapsed(),
            advice: crate::advice::advice,
        };
        Outcome {
            found_out,
            checked_at: here,
            weak: shared.weak.get(),
            memory,
            besides: None,
            plain_uses: self.plain_uses_of(&shared),
            bounded,
            left_out,
            undivided: self.undivided(memory.is_some()),
        }
    }

    /// How executions are covered. `replayed`: it is one that was asked for.
    fn method(&self, memory: Option<Memory>, replayed: bool) -> Method {
        let (info, seed) = (self.algorithm.info(), self.sample.map(|(_, seed)| seed));
        let (algorithm, equivalence) = match seed {
            _ if replayed => ("replay", None),
            None if memory.is_some() => ("graph", Some("execution graphs")),
            Some(_) => ("sample", None),
            None => (info.name, Some(info.equivalence.name())),
        };
        Method::Explored { algorithm, equivalence, seed }
    }

    /// The schedule to follow, if one was asked for.
    fn schedule(&self, checked_at: Spot) -> Option<String> {
        let variable = std::env::var("SELVEDGE_REPLAY").ok();
        let asked = variable.and_then(|variable| failure::schedule_of(&variable, checked_at));
        asked.or_else(|| self.replay.clone())
    }

    #[track_caller]
    fn shared(&self, program: Rc<dyn Fn()>, checked_at: Spot) -> Rc<Shared> {
        assert!(running().is_null(), "selvedge: a check cannot run inside of checked code");
        if cfg!(panic = "abort") {
            panic!(
                "selvedge: this program was built with `panic = \"abort\"`; checked code must be able \
                 to unwind: run it as a test, or in a profile with `panic = \"unwind\"`"
            );
        }
        assert!(
            allocator::is_installed(),
            "selvedge: this test binary has an allocator of its own, or the feature `allocator` is \
             off; wrap the allocator: #[global_allocator] static A: \
             selvedge::Allocator<Mine> = selvedge::Allocator::new(Mine);"
        );
        let pulse = Pulse::new(checked_at, self.times, &self.options.budget);
        let memory = self.memory.filter(|_| self.second.is_running);
        let guards = self.second.guards;
        let ReplayCommand { before, after } = ReplayCommand::new(checked_at, memory, guards);
        let mut world = Rust::new(program, checked_at, pulse, (before, after));
        world.panics_are_results = self.panics_are_results;
        world.reuses = self.reuse == Reuse::Choice;
        world.guards = self.guards();
        world.block_leaks = self.leaks;
        world.exclusive_cells = self.exclusive_cells;
        let settings = Settings {
            stack_size: self.stack_size,
            spin_turns: self.spin_turns,
            ends_loops: self.options.limits.steps == Self::default().options.limits.steps,
            writers_may_be_first: self.rwlock_policy == RwLockPolicy::Any,
            spurious: Spurious::new(self.spurious, self.spurious_everywhere),
            caps: Caps::default(),
        };
        Rc::new(Shared::new(world, settings))
    }

    /// Returns whether the user asked for what is the reason.
    fn asked_for(&self, reason: &Inconclusive) -> bool {
        match reason {
            Inconclusive::Bound(Bound::Steps(most)) => {
                *most != Self::default().options.limits.steps
            }
            Inconclusive::Bound(Bound::Interrupted)
            | Inconclusive::GaveUp(_)
            | Inconclusive::DataRace(_)
            | Inconclusive::Nondeterministic(_) => false,
            Inconclusive::Assumed(_) => self.spin_turns != SPIN_TURNS,
            Inconclusive::Bound(_) => true,
        }
    }
}
