//! Arguments of `estimate`.

use std::time::Duration;

use clap::Args;
use selvedge_explore::Limits;

use super::ProgramArgs;
use super::limits::{MemoryArgs, steps};
use super::values::parse_duration;
use crate::guard::Guard;

/// Arguments of `estimate`.
#[derive(Args, Debug)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    /// Run random executions for so long
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "200ms",
          conflicts_with = "samples")]
    pub(crate) time: Duration,

    /// Run N random executions, however long that takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) samples: Option<u64>,

    /// The seed; the same seed gives the same executions
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,

    /// There is no estimate if an execution has more than N steps
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps as u64,
          value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: u64,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl EstimateArgs {
    /// As the explorers want it.
    pub(crate) fn limits(&self) -> Limits {
        Limits { steps: steps(self.max_steps), ..Limits::default() }
    }

    /// Begins what a signal, or the memory limit, ends.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(None)
    }
}
