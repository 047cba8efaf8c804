//! `farm` in a build without it: any arguments, and a sentence that says how to get it.

use clap::Args;

/// Arguments of `farm`.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct FarmArgs {
    /// This build has no `farm`: cargo install --path crates/selvedge-cli --features farm
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<String>,
}
