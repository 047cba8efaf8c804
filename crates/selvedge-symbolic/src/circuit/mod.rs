//! Circuits: gates that become clauses, and words of them.
//!
//! Every gate is made once: the same inputs give the same output literal. Constants are folded, so
//! what a program computes from constants costs nothing.

mod arithmetic;
mod bits;
mod gates;
mod range;
#[cfg(test)]
mod tests;
mod word;

pub use gates::Circuit;
pub use range::{Computation, Range};
pub use word::Word;
