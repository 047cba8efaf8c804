//! The command line of `selvedge`, with an explorer from outside.
//!
//! `cargo run -p outside-explorer -- check programs/bank.sel --algorithm delay-1`

use std::process::ExitCode;

use outside_explorer::DelayBounded;

fn main() -> ExitCode {
    let registry = selvedge_cli::registry()
        .with(DelayBounded { name: "delay-1", delays: 1 })
        .with(DelayBounded { name: "delay-2", delays: 2 });
    selvedge_cli::main_with(registry)
}
