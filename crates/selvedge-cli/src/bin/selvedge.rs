//! The binary `selvedge`, with the explorers of `selvedge-explore`.

use std::process::ExitCode;

fn main() -> ExitCode {
    selvedge_cli::main_with(selvedge_cli::registry())
}
