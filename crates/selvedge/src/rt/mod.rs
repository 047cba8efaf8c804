//! The engine: threads of checked code as coroutines, driven as a `System`.

pub(crate) mod ahead;
mod alone;
pub(crate) mod arena;
pub(crate) mod blocks;
mod deadlock;
pub(crate) mod engine;
pub(crate) mod fiber;
mod freed;
mod image;
pub(crate) mod leaks;
mod lock_order;
mod names;
pub(crate) mod object;
pub(crate) mod operation;
mod overflow;
mod panics;
mod restore;
mod reuse;
pub(crate) mod runtime;
pub(crate) mod spin;
mod state;
pub(crate) mod system;
pub(crate) mod watched;
mod whim;

#[cfg(test)]
mod tests;

pub(crate) use engine::{Engine, is_unwinding, may_step_to_show};
pub(crate) use lock_order::Waits;
pub(crate) use object::Header;
pub(crate) use operation::{Await, Compare, Operation, Spot, Subject, Touch};
pub(crate) use restore::Restorer;
