//! The runtime of native front ends: checked code as a [`System`](selvedge_core::System) that explorers can step.
//!
//! Threads of checked code are coroutines on stacks of their own, all on one thread of the system. A thread runs up
//! to its next *visible operation*, announces it, and stands there until an explorer chooses it. What the code is
//! written in is nothing to this crate: a front end says so with [`World`] and [`Hooks`], and defines its operations
//! with [`Operation`].
//!
//! | module | |
//! |---|---|
//! | [`world`], [`hooks`] | what a front end says and does |
//! | `runtime` | the state: [`Shared`] by a check, [`Runtime`] of a system, [`Execution`] and [`Thread`] |
//! | [`operation`], [`operations`] | what a thread announces |
//! | `engine` | the way in from checked code: announce, follow a script, park, fail |
//! | `fiber`, `switch`, `crash`, `context` | stacks, switching, signals |
//! | `system` | [`Program`], the `System` |
//! | `names` | objects have the same number in every execution |
//! | `spin` | loops that wait; [`Observed`] is all that types say for it |
//! | `aside`, `decide` | threads that are tried out: does a loop give up, does an operation come back? |
//! | `unhinted`, `whim` | loops that do not say that they wait, operations that end without reason |
//! | `lock_order`, `leaks`, `deadlock`, `last_words` | what reports say |

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
mod hooks;
pub mod last_words;
mod leaks;
mod lock_order;
mod log;
mod names;
mod operation;
mod operations;
mod runtime;
mod signal_stack;
mod spin;
mod switch;
mod system;
mod unhinted;
mod whim;
mod world;

pub use caps::{Caps, Patience};
pub use crash::WAKE_UP;
pub use engine::{Engine, keep_room};
pub use fiber::{Body, Crash, Fiber, Outcome, Yielder};
pub use hooks::{AtOnce, Hooks};
pub use leaks::Leaks;
pub use log::{Found, Logged, Wants};
pub use names::{Names, Region, Where, mix};
pub use operation::{Operation, Subject, Waits};
pub use operations::{Await, Compare, Fence, Touch, ordering};
pub use runtime::{Execution, Known, Learned, Runtime, Settings, Shared, State, Thread, Way};
pub use signal_stack::SignalStack;
pub use spin::{Content, Observed, SPIN_STEP};
pub use switch::{resume, start};
pub use system::Program;
pub use whim::Spurious;
pub use world::{Advice, World};
