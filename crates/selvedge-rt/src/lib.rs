//! The runtime of native front ends: checked code as a [`System`](selvedge_core::System) that explorers can step.
//!
//! Threads of checked code are coroutines on stacks of their own, all on one thread of the system. A thread runs up
//! to its next *visible operation*, announces it, and stands there until an explorer chooses it. What the code is
//! written in is nothing to this crate: a front end says so with [`World`] and [`Hooks`], and defines its operations
//! with [`Operation`].
//!
//! Each module uses those above it in this table, and none below:
//!
//! | module | |
//! |---|---|
//! | `world` | what a front end says about its code: [`World`] |
//! | `caps`, `fresh`, `fiber`, `operation`, `log`, `told`, `leaks` | bounds, values of an execution, stacks, what a thread announces, what it did, the words for it, what it holds |
//! | `labels` | what a thread stands at under a memory model, and locations |
//! | `names` | objects have the same number in every execution |
//! | `spin` | loops that wait; [`Observed`] is all that types say for it |
//! | `runtime` | the state: [`Shared`] by a check, [`Runtime`] of a system, [`Execution`] and [`Thread`] |
//! | `hooks` | what the engine asks a front end while code runs: [`Hooks`] |
//! | `operations`, `script`, `ahead`, `lock_order` | operations of many types, steps that are taken, and what they say about locks |
//! | `deadlock`, `last_words`, `context`, `plain_access`, `crash`, `signal_stack` | what reports say, signals |
//! | `state`, `whim`, `silent`, `aside` | threads that are tried out: does a loop give up, does an operation come back? |
//! | `switch`, `engine`, `unhinted` | from the scheduler to checked code, and back: announce, follow a script, park, fail |
//! | `program`, `decide`, `system` | [`Program`], the `System` |
//! | `graph` | the same under a memory model: [`GraphProgram`], [`Ask`] |

#[cfg(not(unix))]
compile_error!("selvedge-rt needs a Unix system: it maps stacks and handles signals");

mod ahead;
mod aside;
mod caps;
mod context;
mod crash;
mod deadlock;
mod decide;
mod engine;
mod fiber;
mod fresh;
mod graph;
mod hooks;
mod labels;
pub mod last_words;
mod leaks;
mod lock_order;
mod log;
mod names;
mod operation;
mod operations;
mod plain_access;
mod program;
mod registers;
mod runtime;
mod script;
mod signal_stack;
mod silent;
mod spin;
mod spurious;
mod state;
mod switch;
mod system;
mod told;
mod unhinted;
mod world;

pub use caps::{Caps, Patience};
pub use crash::WAKE_UP;
pub use engine::{Engine, keep_room};
pub use fiber::{Body, Crash, Fiber, Outcome, Yielder};
pub use fresh::Fresh;
pub use graph::{Ask, GraphProgram, Word};
pub use hooks::{AtOnce, Hooks};
pub use leaks::Leaks;
pub use log::{Found, Logged, Wants};
pub use names::{Names, Region, Where, mix};
pub use operation::{Operation, Subject, Waits};
pub use operations::{Await, Compare, Fence, Touch, ordering};
pub use program::Program;
pub use runtime::{
    Execution, Known, Learned, Runtime, Settings, Shared, Spurious, State, Thread, Way,
};
pub use signal_stack::SignalStack;
pub use spin::{Content, Observed, SPIN_STEP};
pub use switch::{resume, start};
pub use world::{Advice, World};
