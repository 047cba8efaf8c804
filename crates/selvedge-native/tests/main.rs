//! Tests of the front end for C: they compile with the system's compiler.

mod common;

mod allocations;
mod cxx;
mod errors;
mod libc;
mod memory;
mod operations;
mod orderings;
mod programs;
mod random;
mod shim;
mod spin;
mod spurious;
mod tasks;
mod weak;
