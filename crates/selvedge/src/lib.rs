//! Checks concurrent Rust code: runs one execution per equivalence class of interleavings.

#[cfg(not(unix))]
compile_error!("selvedge needs a Unix system: it maps memory and switches stacks");

mod check;
mod failure;
mod rt;

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod sync;
pub mod thread;

pub use check::{Builder, Outcome, check, check_random, replay};
pub use rt::arena::Allocator;
pub use selvedge_core::{Counts, Report, Verdict, ViolationKind};
pub use selvedge_explore::Algorithm;
