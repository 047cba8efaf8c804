//! The command line: arguments, files, progress, exit codes. The only crate that prints.
//!
//! The binary `selvedge` is [`main_with`] and the [`registry`] of explorers. A binary with further explorers adds them:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use selvedge_core::{Report, System};
//! use selvedge_explore::{Algorithm, Explorer, Info, Observer, Options};
//!
//! /// Another name for an explorer.
//! struct Mine;
//!
//! impl Explorer for Mine {
//!     fn info(&self) -> Info {
//!         Info { name: "mine", ..Algorithm::Source.info() }
//!     }
//!
//!     fn explore<S: System>(
//!         &self,
//!         make: &dyn Fn() -> S,
//!         options: &Options,
//!         observer: &mut dyn Observer,
//!     ) -> Report {
//!         selvedge_explore::explore(Algorithm::Source, make, options, observer)
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     selvedge_cli::main_with(selvedge_cli::registry().with(Mine))
//! }
//! ```
//!
//! `examples/outside-explorer` in the repository is a complete one.

mod advice;
mod algorithms;
mod args;
mod bench;
mod check;
mod checkpoint;
mod child;
mod compare;
mod constraints;
mod estimate;
mod exit;
#[cfg(feature = "farm")]
mod farm;
#[cfg(not(feature = "farm"))]
#[path = "farm_missing.rs"]
mod farm;
mod format;
mod guard;
mod hash;
mod imports;
mod lsp;
mod mat;
mod memory;
mod method;
mod named;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "native_unsupported.rs"]
mod native;
mod on_demand;
mod progress;
mod random_phase;
mod recorded;
mod registry;
mod replay;
mod saved;
mod screen;
mod serve;
mod shown;
mod so_far;
mod source;
mod statistics;
mod summary;
mod symbolic;
mod weak;
mod work;

use std::process::ExitCode;

pub use registry::Registry;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Returns the explorers that come with the tool.
pub fn registry() -> Registry {
    Registry::default()
}

/// Runs the command that the arguments of the process ask for, with these explorers. Returns the exit code.
///
/// # Panics
/// If it is called twice.
pub fn main_with(registry: Registry) -> ExitCode {
    registry::set(registry);
    exit::report_panics();
    child::end_with_parent();
    // The arguments of a compiler are not ours.
    if let Some(result) = native::compile(std::env::args().skip(1)) {
        return exit::code(result);
    }
    let (command, colour) = match args::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let screen = screen::Screen::new(colour);
    let result = match command {
        args::Command::Check(args) => check::run(&args, &screen),
        args::Command::Resume(args) => check::resume(&args, &screen),
        args::Command::Estimate(args) => estimate::run(&args, &screen),
        args::Command::Farm(args) => farm::run(&args, &screen),
        args::Command::Compare(args) => compare::run(&args, &screen),
        args::Command::Replay(args) => replay::run(&args, &screen),
        args::Command::Bench(args) => bench::run(&args, &screen),
        args::Command::Mat(args) => mat::run(&args, &screen),
        args::Command::Constraints(args) => constraints::run(&args, &screen),
        args::Command::Format(args) => format::run(&args, &screen),
        args::Command::Serve(args) => serve::run(&args, &screen),
        args::Command::Lsp => lsp::run(),
        args::Command::Algorithms => algorithms::run(&screen),
        args::Command::Cc { .. } | args::Command::Cxx { .. } => native::compile_nothing(),
        args::Command::Completions { shell } => args::completions(shell, &screen),
    };
    exit::code(result)
}
