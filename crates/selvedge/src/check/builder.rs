//! The options of a check.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use selvedge_crew::Pace;
use selvedge_explore::{Algorithm, Limits, Memory, Options};

use super::second::Second;
use crate::alloc::Reuse;
use crate::sync::waiting_writers::RwLockPolicy;
use crate::watch::Times;

/// How many turns a spin loop is followed by default.
pub(super) const SPIN_TURNS: u32 = 100;

/// A check with options.
#[derive(Clone, Debug)]
pub struct Builder {
    pub(super) algorithm: Algorithm,
    pub(super) options: Options,
    pub(super) times: Times,
    pub(super) stack_size: usize,
    pub(super) panics_are_results: bool,
    pub(super) spin_turns: u32,
    pub(super) leaks: bool,
    /// Whether the test says so: whether freed memory is guarded.
    pub(super) guard_freed: Option<bool>,
    pub(super) exclusive_cells: bool,
    pub(super) reuse: Reuse,
    pub(super) rwlock_policy: RwLockPolicy,
    pub(super) spurious: u32,
    pub(super) spurious_everywhere: bool,
    pub(super) report_file: Option<PathBuf>,
    pub(super) statistics: bool,
    pub(super) quiet: bool,
    pub(super) replay: Option<String>,
    pub(super) sample: Option<(u64, u64)>,
    pub(super) memory: Option<Memory>,
    /// The search besides the one in which loads see the last store.
    pub(crate) second: Second,
    pub(super) jobs: Option<NonZeroUsize>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) checkpoint_every: Duration,
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
            guard_freed: None,
            exclusive_cells: false,
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
            checkpoint_every: super::kept::EVERY,
            pace: Pace::default(),
        }
    }
}

impl Builder {
    /// Returns a check of all executions, one per class.
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

    /// Only executions with at most so many preemptions: switches away from an enabled thread. Of the executions of a class one is
    /// looked at, and it may have more than another: so classes can be missed that so few lead to, but with [`Algorithm::Oracle`].
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

    /// Returns whether to detect data races on [cells](crate::cell); on by default.
    pub fn data_races(mut self, on: bool) -> Self {
        self.options.data_races = on;
        self
    }

    /// Returns whether memory that checked code allocates and never frees is a failure, too; off by
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

    /// Returns whether freed memory is made inaccessible, so that plain reads and writes of it are found as well.
    ///
    /// By default that is so in a search of its own, if it can matter: if a check passes that frees memory whose address
    /// another thread has from an atomic, from the content of a lock or of a `OnceLock`, from its closure or from a message, and that the freeing thread has not joined. Blocks with
    /// such a layout are guarded there. With `true` every block is, in all searches, and with `false` none is, and a test that
    /// passes says so. An address that threads have in another way only, in the content of another block for example, or in a lock whose
    /// content has something to drop, is not recognised, nor is one that was computed with, but for a tag in its lower bits. Who passes on a value that has something to
    /// drop gives its blocks away, and is not taken to use them any more.
    ///
    /// A guarded block takes pages of its own. A use of freed memory ends the thread, and is reported with the places where
    /// the memory was allocated and freed. Plain uses of a block whose address threads share in these ways are steps, so that they are
    /// found in every order; those of other blocks are found in executions in which they come after the free. Under a memory
    /// model they are no steps: a use is found there with `true`, if the execution that stands for others has it after the free. A system call that is handed the address of such a block fails.
    /// Linux and macOS on x86-64 and AArch64 (tested on Linux on x86-64): on other systems the process ends when the
    /// schedule is printed.
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
        self.guard_freed = Some(on);
        self
    }

    /// Returns whether two accesses to an [`UnsafeCell`](crate::cell::UnsafeCell) that overlap, one of which writes, are a
    /// violation even if they are ordered, or of one thread, as in loom: `&mut` to its content must be the only reference. By default
    /// they are not, since through raw pointers `std` allows them.
    ///
    /// ```
    /// # use selvedge::cell::UnsafeCell;
    /// # use selvedge::{Builder, ViolationKind};
    /// let nested = || {
    ///     let cell = UnsafeCell::new(0);
    ///     cell.with_mut(|_| cell.with(|_| ()));
    /// };
    /// Builder::new().check(nested);
    /// let outcome = Builder::new().exclusive_cells(true).explore(nested);
    /// assert_eq!(outcome.kinds(), [ViolationKind::Misuse]);
    /// ```
    pub fn exclusive_cells(mut self, on: bool) -> Self {
        self.exclusive_cells = on;
        self
    }

    /// Returns whether an allocation may give memory that was freed before; see [`Reuse`].
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// The size of each thread's stack in bytes; by default 256 KiB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// Returns whether a panic in a spawned thread is what `join` returns and not a failure: for code that is meant
    /// to survive panics.
    pub fn panics_are_results(mut self, on: bool) -> Self {
        self.panics_are_results = on;
        self
    }

    /// Returns how many turns a spin loop is followed to see whether it gives up although nothing
    /// it read has changed; by default 100. One that does not, and reaches a new state in
    /// each turn (it counts them, for example), is treated as waiting for a change, and the verdict is
    /// [`Inconclusive`](crate::Verdict::Inconclusive). With 0 all loops are treated as waiting.
    pub fn spin_turns(mut self, turns: u32) -> Self {
        self.spin_turns = turns;
        self
    }

    /// Returns whether a reader-writer lock prefers readers or writers; by default, every order that `std` allows.
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

    /// Returns whether operations also end spuriously where the code rechecks and changes nothing, as often as
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

    /// Returns whether to suppress the line that a passing check prints when orderings weaker than `SeqCst` were used, or when
    /// operations could end spuriously more often than [`spurious`](Self::spurious) says.
    /// `SELVEDGE_QUIET=1` does so too. [`Outcome::uses_weak_orderings`](crate::Outcome::uses_weak_orderings) and the report say it in any case.
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
}
