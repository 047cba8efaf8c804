//! The engine: threads of checked code as coroutines, driven as a `System`.

pub(crate) mod ahead;
pub(crate) mod allocator;
mod alone;
pub(crate) mod arena;
pub(crate) mod blocks;
pub(crate) mod caps;
pub(crate) mod crash;
mod deadlock;
pub(crate) mod engine;
mod exit;
pub(crate) mod fiber;
mod freed;
mod guarded;
mod image;
mod last_words;
pub(crate) mod leaks;
mod lock_order;
mod names;
pub(crate) mod object;
pub(crate) mod operation;
mod panics;
mod restore;
mod reuse;
pub(crate) mod runtime;
pub(crate) mod signal_stack;
pub(crate) mod spin;
mod state;
mod stranger;
pub(crate) mod system;
mod unhinted;
pub(crate) mod watched;
pub(crate) mod whim;

#[cfg(test)]
mod tests;

pub(crate) use engine::{Engine, is_unwinding, may_step_to_show};
pub(crate) use lock_order::Waits;
pub(crate) use object::Header;
pub(crate) use operation::{Await, Compare, Operation, Spot, Subject, Touch};
pub(crate) use restore::Restorer;
