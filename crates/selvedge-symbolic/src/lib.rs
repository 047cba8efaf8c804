//! Symbolic checking of concurrent programs: all executions at once, as a formula.
//!
//! [`check()`] goes from a program to a verdict: unroll the threads to guarded events
//! ([`unroll`]), encode their interleavings ([`encode`]), ask the embedded solver ([`solver`]) for a
//! model in which something is wrong, and make an execution of it that the interpreter confirms
//! ([`witness`]). Loops are unrolled deeper and deeper, until there is a violation, until no loop
//! continues, or up to a limit.

pub mod bounds;
pub mod caps;
pub mod check;
pub mod circuit;
pub mod constraints;
pub mod encode;
pub mod solver;
pub mod stats;
pub mod transactions;
pub mod unroll;
pub mod values;
pub mod witness;

pub use bounds::ThreadBound;
pub use caps::Caps;
pub use check::{Options, Outcome, check};
pub use encode::Scheme;
pub use solver::Engine;
pub use values::Values;
