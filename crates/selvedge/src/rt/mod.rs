//! What checked Rust code adds to the runtime of native code (`selvedge-rt`): the closure, panics, the memory that
//! Rust's global allocator hands out, and objects that know where they are.
//!
//! Each module uses those above it in this table, and none below:
//!
//! | module | |
//! |---|---|
//! | `pages`, `block`, `arena` | memory for checked code: pages, blocks, spans of blocks |
//! | `freed`, `guarded`, `memory`, `published`, `plain`, `knowers` | what happened to blocks in an execution |
//! | `image`, `restore`, `locals`, `story` | static data, thread-local values, the story of a block in a report |
//! | `state` | what a check, an execution and a thread have: [`Rust`], [`Runtime`] |
//! | `running`, `address`, `blocks`, `counted` | which code runs, where addresses lie, blocks by address, references that count |
//! | `object`, `panics`, `watched`, `memory_errors` | objects, panics, one block in a replay, what goes wrong with memory |
//! | `reuse`, `frees`, `allocator` | addresses that come again, frees, the global allocator |
//! | `body`, `take_down`, `exit`, `stranger` | the code of a thread, the end of an execution, `exit`, threads of `std` |
//! | `world`, `hooks` | what the engine asks: `World` and `Hooks` for [`Rust`] |

mod address;
pub(crate) mod allocator;
mod answered_blocks;
pub(crate) mod arena;
mod block;
pub(crate) mod blocks;
pub(crate) mod body;
pub(crate) mod counted;
mod exit;
mod freed;
mod frees;
mod guarded;
mod hooks;
mod image;
mod in_blocks;
pub(crate) mod knowers;
pub(crate) mod locals;
mod memory;
mod memory_errors;
pub(crate) mod named;
pub(crate) mod object;
mod pages;
mod panics;
mod plain;
mod published;
mod restore;
mod reuse;
mod running;
mod shown;
mod state;
pub(crate) mod story;
mod stranger;
mod take_down;
mod unseen;
mod watched;
mod world;

/// The end of a turn of a loop.
pub(crate) fn pause(verb: &'static str, spot: Spot) {
    let engine = Engine::enter();
    match engine.asks() {
        true => engine.pause_asked(verb, spot),
        false => engine.pause(verb, spot),
    }
}

pub(crate) use crate::spot::Spot;
pub(crate) use address::address_text;
pub(crate) use object::Header;
pub(crate) use panics::{is_unwinding, may_step_to_show};
pub(crate) use restore::Restorer;
pub(crate) use running::running;
pub(crate) use selvedge_rt::{
    Ask, Await, Compare, Content, Fence, Found, Observed, Operation, State, Subject, Touch, Waits,
    Wants, ordering,
};
pub(crate) use shown::shown;
pub(crate) use state::{
    Engine, GraphProgram, Guards, Open, Program, Runtime, Rust, Shared, Touching, Word,
};
