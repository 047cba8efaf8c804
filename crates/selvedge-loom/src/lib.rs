//! Runs tests written for loom 0.7 on [Selvedge](selvedge): the same paths, another engine.
//!
//! In a crate of your own, rename the dependency:
//!
//! ```toml
//! [target.'cfg(loom)'.dependencies]
//! loom = { path = "…/selvedge/crates/selvedge-loom" }
//! ```
//!
//! For crates that you do not want to touch, give cargo a patch on the command line:
//!
//! ```console
//! $ RUSTFLAGS="--cfg loom" cargo test --release --test loom \
//!       --config 'patch.crates-io.loom.path="…/selvedge/crates/selvedge-loom"'
//! ```
//!
//! What differs: every class of interleavings is run once, and none is left out; data
//! races follow the orderings; first a load returns the last store, and if there is no violation, a second search lets it return every
//! value that the orderings allow (see [`selvedge::Builder::sequentially_consistent`]); there is no limit on threads or
//! branches. The fields of [`model::Builder`] and the environment variables:
//!
//! | variable | here |
//! |---|---|
//! | `LOOM_MAX_PREEMPTIONS` | at most so many preemptions, in one execution of each class that they lead to; then up to 20,000 executions without the bound, since such a search misses some that loom has |
//! | `LOOM_MAX_PERMUTATIONS` | at most so many executions, exactly |
//! | `LOOM_MAX_DURATION` | at most so many seconds |
//! | `LOOM_LOG` | whatever its value, a line for each model: verdict, executions, time |
//! | `LOOM_MAX_BRANCHES` | no effect: there is no limit |
//! | `LOOM_CHECKPOINT_FILE`, `LOOM_CHECKPOINT_INTERVAL` | no effect: a report says how to see it again |
//! | `LOOM_LOCATION` | no effect: reports always name places |
//!
//! As in loom, a bound that was reached does not fail the test. What loom does differently, and what
//! that means for existing tests, is in `docs/loom.md`.
//!
//! ```
//! use loom::sync::Arc;
//! use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
//!
//! loom::model(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = {
//!         let count = Arc::clone(&count);
//!         loom::thread::spawn(move || count.fetch_add(1, SeqCst))
//!     };
//!     count.fetch_add(1, SeqCst);
//!     other.join().unwrap();
//!     assert_eq!(count.load(SeqCst), 2);
//! });
//! ```

pub mod lazy_static;
pub mod model;
pub mod thread;

pub use model::model;
pub use selvedge::{alloc, cell, future, hint, sync, thread_local};

/// loom's limit on threads. There is none here; the constant is kept for code that uses it.
pub const MAX_THREADS: usize = usize::MAX;

/// loom explores only between this and [`stop_exploring`] if asked to; here everything is explored.
pub fn explore() {}

/// See [`explore`].
pub fn stop_exploring() {}

/// loom abandons the current execution; here it continues.
pub fn skip_branch() {}
