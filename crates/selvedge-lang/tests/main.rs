//! The tests of this crate, in one program: what they share is compiled once.

mod awaits;
mod diagnostics;
mod interpreter;
mod reference;
mod robustness;
mod semantics;
mod walk;
