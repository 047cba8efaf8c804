//! What every explorer is built on: a [`Run`] of one system with its limits and its bookkeeping, and the depth-first driver.
//!
//! A depth-first explorer is a [`Reduction`] that [`depth_first`] drives; what follows is one that takes the first thread that is
//! enabled, and so runs one execution.
//!
//! ```
//! use selvedge_core::{Report, Step, System};
//! use selvedge_explore::search::{Halt, Reduction, Run, depth_first};
//! use selvedge_explore::{Observer, Options};
//!
//! struct OneExecution;
//!
//! impl<S: System> Reduction<S> for OneExecution {
//!     fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
//!         run.first_awake(|_| false).map(|(step, _)| step)
//!     }
//!
//!     fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
//!         run.step(step);
//!     }
//!
//!     fn end(&mut self, run: &mut Run<'_, S>, _: Halt) {
//!         run.give_up("one execution proves nothing".to_owned());
//!     }
//!
//!     fn go_back(&mut self, _: &mut Run<'_, S>) -> bool {
//!         false
//!     }
//!
//!     fn fraction(&self) -> f64 {
//!         0.0
//!     }
//! }
//!
//! fn explore<S: System>(
//!     make: &dyn Fn() -> S,
//!     options: &Options,
//!     observer: &mut dyn Observer,
//! ) -> Report {
//!     let mut run = Run::new(make, options, observer);
//!     depth_first(&mut run, &mut OneExecution);
//!     run.into_report()
//! }
//! ```

pub(crate) mod depth_first;
pub(crate) mod estimate;
pub(crate) mod expected;
pub(crate) mod marks;
pub(crate) mod order;
pub(crate) mod random;
pub(crate) mod run;
pub(crate) mod sampling;
pub(crate) mod seen;
pub(crate) mod share;

pub use depth_first::{Halt, Reduction, depth_first};
pub use run::Run;
pub use share::share_done;
