//! Symbolic checking of concurrent programs.

pub mod check;
pub mod circuit;
pub mod encode;
pub mod solver;
pub mod stats;
#[cfg(test)]
mod testing;
pub mod transactions;
pub mod unroll;
pub mod witness;

pub use check::{Options, Outcome, check};
pub use encode::Scheme;
