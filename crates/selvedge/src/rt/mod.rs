//! What checked Rust code adds to the runtime of native code (`selvedge-rt`): the closure, panics, the memory that
//! Rust's global allocator hands out, and objects that know where they are.

pub(crate) mod allocator;
pub(crate) mod arena;
pub(crate) mod blocks;
pub(crate) mod body;
pub(crate) mod counted;
mod exit;
mod freed;
mod guarded;
mod hooks;
mod image;
pub(crate) mod locals;
pub(crate) mod object;
mod panics;
mod restore;
pub(crate) mod reuse;
mod stranger;
mod take_down;
pub(crate) mod watched;
pub(crate) mod world;

/// The end of a turn of a loop.
pub(crate) fn pause(verb: &'static str, spot: Spot) {
    let engine = Engine::enter();
    match engine.asks() {
        true => engine.pause_asked(verb, spot),
        false => engine.pause(verb, spot),
    }
}

pub(crate) use hooks::running;
pub(crate) use object::Header;
pub(crate) use panics::{is_unwinding, may_step_to_show};
pub(crate) use restore::Restorer;
pub(crate) use selvedge_rt::{
    Ask, Await, Compare, Content, Fence, Found, Observed, Operation, State, Subject, Touch, Waits,
    Wants, ordering,
};
pub(crate) use world::{Engine, GraphProgram, Program, Runtime, Rust, Shared, Spot, Word};
