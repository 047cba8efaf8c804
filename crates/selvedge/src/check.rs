//! The entry points: check a closure and report the result.

mod besides;
mod checkpoint;
mod doubts;
mod follow;
mod kept;
mod memory;
mod observer;
mod places;
mod search;
mod second;
mod spurious;
mod tell;
mod together;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Budget, Covers, Inconclusive};
use selvedge_crew::{Journal, Pace};
use selvedge_explore::{Algorithm, Limits, Memory, Options};
use selvedge_report::Method;
use selvedge_rt::{Caps, Settings, SignalStack, Spurious};

use doubts::{assumption, hopeless, while_panicking};
use kept::{Interrupted, Kept};
use second::Second;

use crate::alloc::Reuse;
use crate::failure::{self, ReplayCommand};
use crate::outcome::Outcome;
use crate::rt::{Rust, Shared, Spot, allocator, arena, running};
use crate::sync::waiting_writers::RwLockPolicy;
use crate::watch::{Pulse, Times, Watched};

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

/// How many turns a spin loop is followed by default.
const SPIN_TURNS: u32 = 100;

/// A check with options.
#[derive(Clone, Debug)]
pub struct Builder {
    algorithm: Algorithm,
    options: Options,
    times: Times,
    stack_size: usize,
    panics_are_results: bool,
    spin_turns: u32,
    leaks: bool,
    guard_freed: bool,
    reuse: Reuse,
    rwlock_policy: RwLockPolicy,
    spurious: u32,
    spurious_everywhere: bool,
    report_file: Option<PathBuf>,
    statistics: bool,
    quiet: bool,
    replay: Option<String>,
    sample: Option<(u64, u64)>,
    memory: Option<Memory>,
    /// The search besides the one in which loads see the last store.
    pub(crate) second: Second,
    jobs: Option<NonZeroUsize>,
    checkpoint: Option<PathBuf>,
    checkpoint_every: Duration,
    /// Tests make it tiny.
    pub(crate) pace: Pace,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::DEFAULT,
            options: Options {
                keep_going: false,
                data_races: true,
                limits: Limits { steps: 100_000, ..Limits::default() },
                ..Options::default()
            },
            times: Times { all: None, between: Duration::from_secs(60) },
            stack_size: 256 << 10,
            panics_are_results: false,
            spin_turns: SPIN_TURNS,
            leaks: false,
            guard_freed: false,
            reuse: Reuse::default(),
            rwlock_policy: RwLockPolicy::Any,
            spurious: 1,
            spurious_everywhere: false,
            report_file: None,
            statistics: false,
            quiet: false,
            replay: None,
            sample: None,
            memory: None,
            second: Second::default(),
            jobs: None,
            checkpoint: None,
            checkpoint_every: kept::EVERY,
            pace: Pace::default(),
        }
    }
}

impl Builder {
    /// All executions, one per class.
    pub fn new() -> Self {
        Self::default()
    }

    /// How to explore; by default [`Algorithm::Optimal`]. One that does not detect data
    /// races ([`Algorithm::DataCentric`]) also needs [`data_races(false)`](Self::data_races).
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Stops after so many executions.
    pub fn max_executions(mut self, most: u64) -> Self {
        self.options.limits.executions = Some(most);
        self
    }

    /// Cuts executions after so many steps, by default 100,000.
    pub fn max_steps(mut self, most: usize) -> Self {
        self.options.limits.steps = most;
        self
    }

    /// Only executions with at most so many preemptions: switches away from an enabled thread.
    pub fn preemptions(mut self, most: u32) -> Self {
        self.options.limits.preemptions = Some(most);
        self
    }

    /// Stops after so much time. Code that is in the middle of a step may finish it; if it keeps computing, or
    /// waits for something of `std`, it is abandoned: the verdict is [`Inconclusive`](crate::Verdict::Inconclusive), the report says where, and the
    /// test fails.
    pub fn max_time(mut self, most: Duration) -> Self {
        self.times.all = Some(most);
        self
    }

    /// How long code may compute between two visible operations, in processor time of this
    /// machine; by default a minute. Code that takes longer is abandoned, since it may not
    /// terminate: the report says where, and the verdict is [`Inconclusive`](crate::Verdict::Inconclusive). Linux only.
    pub fn max_step_time(mut self, most: Duration) -> Self {
        self.times.between = most;
        self
    }

    /// Continues after the first failure and reports all distinct ones.
    ///
    /// ```
    /// # use selvedge::{Builder, sync::{Arc, atomic::{AtomicU32, Ordering::SeqCst}}, thread};
    /// let outcome = Builder::new().keep_going(true).explore(|| {
    ///     let x = Arc::new(AtomicU32::new(0));
    ///     let other = Arc::clone(&x);
    ///     thread::spawn(move || other.store(1, SeqCst));
    ///     panic!("found {}", x.load(SeqCst));
    /// });
    /// assert_eq!(outcome.messages(), ["main panicked: found 0", "main panicked: found 1"]);
    /// ```
    pub fn keep_going(mut self, on: bool) -> Self {
        self.options.keep_going = on;
        self
    }

    /// Whether to detect data races on [cells](crate::cell); on by default.
    pub fn data_races(mut self, on: bool) -> Self {
        self.options.data_races = on;
        self
    }

    /// Whether memory that checked code allocates and never frees is a failure, too; off by
    /// default. That of an [`Arc`](crate::sync::Arc), of a lock's guard and of
    /// [`alloc`](crate::alloc) always is. What the code leaves to others counts as never freed: what it
    /// collects for the test, or what `println!` keeps.
    ///
    /// ```
    /// # use selvedge::{Builder, ViolationKind};
    /// let leaks = || std::mem::forget(Box::new(7));
    /// Builder::new().check(leaks);
    /// let outcome = Builder::new().leaks(true).explore(leaks);
    /// assert_eq!(outcome.kinds(), [ViolationKind::Leak]);
    /// ```
    pub fn leaks(mut self, on: bool) -> Self {
        self.leaks = on;
        self
    }

    /// Whether freed memory is made inaccessible, so that plain reads and writes are found as well; off by default, since each
    /// block then takes pages of its own, and each free a system call. A use ends the thread, and is reported with
    /// the places where the memory was allocated and freed. It is seen in executions in which it comes
    /// after the free: other orders are not explored for it, as they are for operations on types of this crate. Linux and macOS on
    /// x86-64 and AArch64 (tested on Linux on x86-64): on other systems the process ends when the schedule is printed.
    ///
    /// ```
    /// # #[cfg(all(target_os = "linux", target_arch = "x86_64"))] {
    /// # use selvedge::{Builder, ViolationKind};
    /// let outcome = Builder::new().guard_freed(true).explore(|| {
    ///     let numbers = vec![1, 2, 3];
    ///     let first = numbers.as_ptr();
    ///     drop(numbers);
    ///     // SAFETY: a mistake: the vector is gone.
    ///     assert_eq!(unsafe { first.read_volatile() }, 1);
    /// });
    /// assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree]);
    /// # }
    /// ```
    pub fn guard_freed(mut self, on: bool) -> Self {
        self.guard_freed = on;
        self
    }

    /// Whether an allocation may give memory that was freed before; see [`Reuse`].
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// The size of each thread's stack in bytes; by default 256 KiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// Whether a panic in a spawned thread is what `join` returns and not a failure: for code that is meant
    /// to survive panics.
    pub fn panics_are_results(mut self, on: bool) -> Self {
        self.panics_are_results = on;
        self
    }

    /// How many turns a spin loop is followed to see whether it gives up although nothing
    /// it read has changed; by default 100. One that does not, and reaches a new state in
    /// each turn (it counts them, for example), is treated as waiting for a change, and the verdict is
    /// [`Inconclusive`](crate::Verdict::Inconclusive). With 0 all loops are treated as waiting.
    pub fn spin_turns(mut self, turns: u32) -> Self {
        self.spin_turns = turns;
        self
    }

    /// Whether a reader-writer lock prefers readers or writers; by default, every order that `std` allows.
    ///
    /// ```
    /// # use selvedge::{Builder, RwLockPolicy, Verdict, sync::{Arc, RwLock}, thread};
    /// let reads_twice = || {
    ///     let lock = Arc::new(RwLock::new(0));
    ///     let other = Arc::clone(&lock);
    ///     thread::spawn(move || *other.write().unwrap() = 1);
    ///     let (_first, _second) = (lock.read().unwrap(), lock.read().unwrap());
    /// };
    /// // The writer waits for the first, and the second for the writer.
    /// assert_eq!(Builder::new().explore(reads_twice).verdict(), Verdict::Violated);
    /// let readers_first = Builder::new().rwlock_policy(RwLockPolicy::Readers);
    /// assert_eq!(readers_first.explore(reads_twice).verdict(), Verdict::Verified);
    /// ```
    pub fn rwlock_policy(mut self, policy: RwLockPolicy) -> Self {
        self.rwlock_policy = policy;
        self
    }

    /// How often, for each thread and place, a wait ends without a notification, `park` without a token, and a
    /// weak compare-exchange fails although it found what it expected; `std` allows all of these. By default
    /// once; with 0, never.
    ///
    /// It is left out, and costs no execution, where the code rechecks and changes nothing: if the operation ends
    /// spuriously at once, the thread comes back to it, has only read, or acquired and released
    /// locks, and is in a state that it was in after an earlier turn. Everything else is explored, up to the bound.
    ///
    /// So the default leaves out what such a loop does if it wakes *later*, when others have changed what it reads
    /// but not notified it yet (whether it rechecks is determined once, where it first arrives with the same
    /// knowledge), that others find its lock held meanwhile, and what it remembers of its first turns only;
    /// [`spurious_everywhere`](Self::spurious_everywhere) explores these, too.
    ///
    /// The report says if something was left out, or if the bound was reached (`facts.spurious` in JSON); a passing
    /// check says the latter in a line, as for weak orderings.
    ///
    /// ```
    /// # use selvedge::{Builder, Verdict, sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}}, thread};
    /// let parks_once = || {
    ///     let ready = Arc::new(AtomicBool::new(false));
    ///     let (other, main) = (Arc::clone(&ready), thread::current());
    ///     thread::spawn(move || { other.store(true, SeqCst); main.unpark(); });
    ///     thread::park(); // Should be in a loop.
    ///     assert!(ready.load(SeqCst));
    /// };
    /// assert_eq!(Builder::new().explore(parks_once).verdict(), Verdict::Violated);
    /// assert_eq!(Builder::new().spurious(0).explore(parks_once).verdict(), Verdict::Verified);
    /// ```
    pub fn spurious(mut self, most: u32) -> Self {
        self.spurious = most;
        self
    }

    /// Whether operations also end spuriously where the code rechecks and changes nothing, as often as
    /// [`spurious`](Self::spurious) says: a loop then wakes, and rechecks, while others change what it waits for.
    /// Off by default: it costs executions for each loop that waits.
    ///
    /// ```
    /// # use selvedge::{Builder, Verdict, sync::{Arc, atomic::{AtomicBool, Ordering::SeqCst}}, thread};
    /// let looks_again = || {
    ///     let (ready, halfway) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    ///     let (ready2, halfway2, main) = (Arc::clone(&ready), Arc::clone(&halfway), thread::current());
    ///     thread::spawn(move || {
    ///         halfway2.store(true, SeqCst);
    ///         halfway2.store(false, SeqCst);
    ///         ready2.store(true, SeqCst);
    ///         main.unpark();
    ///     });
    ///     while !ready.load(SeqCst) {
    ///         thread::park();
    ///         assert!(!halfway.load(SeqCst)); // Holds if it was unparked.
    ///     }
    /// };
    /// assert_eq!(Builder::new().explore(looks_again).verdict(), Verdict::Verified);
    /// let everywhere = Builder::new().spurious_everywhere(true);
    /// assert_eq!(everywhere.explore(looks_again).verdict(), Verdict::Violated);
    /// ```
    pub fn spurious_everywhere(mut self, on: bool) -> Self {
        self.spurious_everywhere = on;
        self
    }

    /// Also writes the report to a file: as JSON if its name ends in `.json`, with the fields of
    /// `selvedge check --json`, as a page for a browser if it ends in `.html`, and else as text.
    /// `SELVEDGE_HTML=folder` writes a page for each failing test to a folder, and the failure names it.
    pub fn report_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.report_file = Some(path.into());
        self
    }

    /// Prints a line about each check: verdict, executions, time. So does `SELVEDGE_STATISTICS=1`.
    pub fn statistics(mut self, on: bool) -> Self {
        self.statistics = on;
        self
    }

    /// Whether to suppress the line that a passing check prints when orderings weaker than `SeqCst` were used, or when
    /// operations could end spuriously more often than [`spurious`](Self::spurious) says.
    /// `SELVEDGE_QUIET=1` does so too. [`Outcome::uses_weak_orderings`] and the report say it in any case.
    pub fn quiet(mut self, on: bool) -> Self {
        self.quiet = on;
        self
    }

    /// Runs only the execution with this schedule, from a report. `SELVEDGE_REPLAY` takes precedence, if
    /// it is for this check.
    pub fn replay(mut self, schedule: &str) -> Self {
        self.replay = Some(schedule.to_owned());
        self
    }

    /// Runs so many random executions instead of one per class. The same `seed` leads to the same
    /// executions.
    ///
    /// ```
    /// # use selvedge::{Builder, Verdict};
    /// let outcome = Builder::new().sample(100, 7).explore(|| ());
    /// // A sample proves nothing.
    /// assert_eq!((outcome.executions(), outcome.verdict()), (100, Verdict::Inconclusive));
    /// ```
    pub fn sample(mut self, executions: u64, seed: u64) -> Self {
        self.sample = Some((executions, seed));
        self
    }

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
        let is_whole = schedule.is_none() && memory.is_none() && !self.is_to_be_divided();
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
        };
        let (weak, undivided) = (shared.weak.get(), self.undivided(memory.is_some()));
        let besides = None;
        Outcome { found_out, checked_at: here, weak, memory, besides, bounded, left_out, undivided }
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
        let ReplayCommand { before, after } = ReplayCommand::new(checked_at, memory);
        let mut world = Rust::new(program, checked_at, pulse, (before, after));
        world.panics_are_results = self.panics_are_results;
        world.reuses = self.reuse == Reuse::Choice;
        world.guards = self.guard_freed;
        world.block_leaks = self.leaks;
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

    /// Whether the user asked for what is the reason.
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
