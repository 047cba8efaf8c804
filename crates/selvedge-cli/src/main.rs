//! The binary `selvedge`: arguments, files, progress, exit codes. The only crate that prints.

mod advice;
mod algorithms;
mod args;
mod bench;
mod check;
mod compare;
mod constraints;
mod exit;
mod guard;
mod hash;
mod mat;
mod memory;
mod progress;
mod recorded;
mod replay;
mod saved;
mod screen;
mod shown;
mod source;
mod statistics;
mod summary;
mod symbolic;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fn main() -> ExitCode {
    exit::report_panics();
    let (command, colour) = match args::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let screen = screen::Screen::new(colour);
    let result = match command {
        args::Command::Check(args) => check::run(&args, &screen),
        args::Command::Compare(args) => compare::run(&args, &screen),
        args::Command::Replay(args) => replay::run(&args, &screen),
        args::Command::Bench(args) => bench::run(&args, &screen),
        args::Command::Mat(args) => mat::run(&args, &screen),
        args::Command::Constraints(args) => constraints::run(&args, &screen),
        args::Command::Algorithms => algorithms::run(&screen),
        args::Command::Completions { shell } => args::completions(shell, &screen),
    };
    exit::code(result)
}
