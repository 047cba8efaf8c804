//! Checks concurrent Rust code: runs one execution per equivalence class of interleavings, and
//! reports every panic, deadlock, data race, leak and misuse, or proves that there is none.
//!
//! # A first test
//!
//! Use this crate's types in place of those of `std`, and put the code into [`check`]:
//!
//! ```
//! use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! use selvedge::sync::Arc;
//! use selvedge::thread;
//!
//! selvedge::check(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = {
//!         let count = Arc::clone(&count);
//!         thread::spawn(move || count.fetch_add(1, SeqCst))
//!     };
//!     count.fetch_add(1, SeqCst);
//!     other.join().unwrap();
//!     assert_eq!(count.load(SeqCst), 2);
//! });
//! ```
//!
//! The closure runs once per class of executions: two executions are in one class if swapping steps
//! that do not touch the same thing turns one into the other. Here there are two classes, one for each
//! order of the additions. [`Builder::explore`] gives the numbers:
//!
//! ```
//! # use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! # use selvedge::{sync::Arc, thread, Builder, Verdict};
//! let outcome = Builder::new().explore(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = Arc::clone(&count);
//!     let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
//!     count.fetch_add(1, SeqCst);
//!     thread.join().unwrap();
//! });
//! assert_eq!((outcome.verdict(), outcome.executions()), (Verdict::Verified, 2));
//! ```
//!
//! In a crate that should use `std` otherwise, one module decides, and a flag says which:
//!
//! ```
//! mod sync {
//!     #[cfg(selvedge)]
//!     pub(crate) use selvedge::sync::{Arc, Mutex};
//!     #[cfg(not(selvedge))]
//!     pub(crate) use std::sync::{Arc, Mutex};
//! }
//! ```
//!
//! # Reading a failure
//!
//! An update with a load and a store loses one of two:
//!
//! ```
//! # use selvedge::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//! # use selvedge::{sync::Arc, thread, Builder, Verdict};
//! let outcome = Builder::new().explore(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = Arc::clone(&count);
//!     let thread = thread::spawn(move || {
//!         let old = other.load(SeqCst);
//!         other.store(old + 1, SeqCst);
//!     });
//!     let old = count.load(SeqCst);
//!     count.store(old + 1, SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(count.load(SeqCst), 2, "an update was lost");
//! });
//! assert_eq!(outcome.verdict(), Verdict::Violated);
//! assert!(outcome.messages()[0].contains("an update was lost"));
//! ```
//!
//! The report has the failing line, and the execution with the fewest switches between threads that
//! shows it: a column per thread, the line of each step, the values. Objects are named after the line
//! that created them.
//!
//! ```text
//! step  line    main                                  thread 1
//!    1    43    spawn thread 1
//!    2    47    load AtomicUsize@errors.rs:41 → 0
//!    3    44  │                                     ▸ load AtomicUsize@errors.rs:41 → 0
//!    4    48  ▸ store AtomicUsize@errors.rs:41 ← 1  │
//!    5    45  │                                     ▸ store AtomicUsize@errors.rs:41 ← 1
//! ```
//!
//! Below it stands how to see it again, for example under a debugger: an environment variable
//! (`SELVEDGE_REPLAY=0@2.1.0.1@2.0@2`) for the same test, or a line of code:
//!
//! ```should_panic
//! # use selvedge::sync::Mutex;
//! // The schedule says who runs: thread 0, twice.
//! selvedge::Builder::new().replay("0@2").check(|| {
//!     let lock = Mutex::new(0);
//!     let _once = lock.lock().unwrap();
//!     let _again = lock.lock().unwrap();
//! });
//! ```
//!
//! A deadlock says who waits for what and who holds it; a data race shows both accesses; a leak says
//! where the memory was made. `SELVEDGE_FULL=1` shows long executions whole.
//!
//! # Choosing bounds
//!
//! Without a bound the verdict is a proof. With too many classes, bound the search; what was asked
//! for does not fail the test, but the verdict is then [`Verdict::Inconclusive`]:
//!
//! ```
//! use std::time::Duration;
//!
//! selvedge::Builder::new()
//!     .preemptions(2)
//!     .max_executions(10_000)
//!     .max_time(Duration::from_secs(10))
//!     .check(|| { /* … */ });
//! ```
//!
//! [`Builder::report_file`] also writes the report to a file, as JSON if its name ends in `.json`.
//!
//! Smaller tests are the better bound: two threads and two operations each find most mistakes. For
//! code that is too large for that, [`check_random`] samples.
//!
//! # Coming from loom
//!
//! The crate in `crates/selvedge-loom` is named `loom` and has loom's paths: rename the dependency, or
//! give cargo a patch entry, and existing tests run unchanged. What differs: no execution is missed
//! and none is repeated; `SeqCst` is exact; any number of threads; `const fn new` and statics.
//!
//! # Coming from shuttle
//!
//! `shuttle::check_dfs(f, None)` is [`check`], which runs one execution per class in place of one per
//! interleaving; `check_random(f, n)` is [`check_random`]; `replay(f, schedule)` is [`replay`].
//! Accesses to [`cell`]s are steps, and races on them are found.
//!
//! # Limits
//!
//! * Memory is sequentially consistent. Weaker orderings are accepted and shown in reports, which say
//!   that behaviours only weak memory shows were not explored.
//! * The closure must do the same every time: no clocks, no random numbers, no threads or locks of
//!   `std`. If it does not, the report says where it differed.
//! * `compare_exchange_weak`, `park` and waits do not fail or end without reason. Timeouts are tried
//!   both ways.
//! * A spin loop with [`hint::spin_loop`] or [`thread::yield_now`] waits until something it read has
//!   changed, once it has come back to a state it was in before. To see whether it does, it is
//!   followed for a while; if it gives up by itself, or changes something, its turns are steps like
//!   all others. One that does neither in 100 turns, since it counts them for example, is taken to
//!   wait, and the verdict is inconclusive: see [`Builder::spin_turns`]. The state of a loop is what
//!   lies on the stacks and in the heap; what it counts in a static of another type than this
//!   crate's, or in something that the closure captured, is not seen. On other machines than x86-64
//!   and AArch64 no state is known.
//! * A compare-exchange that fails is a read, so that there are fewer classes than in tools that take
//!   it for a write: 40 in place of 62 for two threads that push and pop on a Treiber stack.
//! * [`sync::Arc`] must be this crate's if dropping the last reference does something visible. For
//!   contents of unknown size (`Arc<dyn Trait>`): [`sync::Arc::from_std`].
//! * [`cell::UnsafeCell`] gives guarded pointers, as loom's, not bare ones.
//! * What lives longer than an execution and is not a static (a `Mutex` captured by the closure) is
//!   set back only if it owns no memory.
//! * A thread that has caught a panic of its own while another unwinds may still count as panicking, until
//!   the other has ended.
//! * A second panic while a thread unwinds ends the process, as always in Rust. Who panicked, where and
//!   with which schedule is printed first.
//! * Unix only. Stack overflows are reported on Linux on x86-64.
//! * The crate installs [`Allocator`] as the global allocator of the test binary, to know objects by
//!   where they lie. Turn the feature `allocator` off and wrap your own if you have one.

#[cfg(not(unix))]
compile_error!("selvedge needs a Unix system: it maps memory and switches stacks");

mod check;
mod failure;
mod rt;

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod sync;
pub mod thread;

pub use check::{Builder, Outcome, check, check_random, replay};
pub use rt::arena::Allocator;
pub use selvedge_core::{Counts, Report, Verdict, ViolationKind};
pub use selvedge_explore::Algorithm;
