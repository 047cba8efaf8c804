//! The tests of this crate, in one program: what they share is compiled once.

mod always;
mod bounds;
mod constrained;
mod contract;
mod elsewhere;
mod golden;
mod locks_only;
mod modules;
mod names;
mod observations;
mod observers;
mod random_programs;
mod reference;
mod small_programs;
mod states;
mod tidy;
mod weak_axioms;
mod weak_campaign;
mod weak_counts;
mod weak_limits;
mod weak_litmus;
mod weak_models;
mod weak_parts;
mod weak_patterns;
mod weak_readers;
