//! The tests of this crate, in one program: what they share is compiled once.

mod agreement;
mod classes;
mod constraints;
mod context_bounds;
mod explored_constraints;
mod export;
mod pairs;
mod printed_construction;
mod races;
mod random_blocks;
mod random_constraints;
mod random_programs;
mod random_tasks;
mod ranges;
mod refused;
mod symmetry;
mod thread_bounds;
mod values;
