//! Arguments of `serve`.

use std::time::Duration;

use clap::Args;

use super::values::{parse_duration, parse_size};

/// How to serve the workbench.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The port; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,

    /// Stop a check after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) time: Duration,

    /// Stop a check when it uses this much memory
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1GiB")]
    pub(crate) max_memory: u64,

    /// How many checks may run at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) checks: u8,
}
