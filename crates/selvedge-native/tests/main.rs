//! Tests of the front end for C: they compile with the system's compiler.

mod common;

mod errors;
mod operations;
mod programs;
mod random;
mod shim;
mod spin;
