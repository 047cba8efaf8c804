//! Limits: which there are, and how they are set.

use std::time::Duration;

use clap::Args;
use selvedge_explore::Limits;

use super::values::{parse_duration, parse_size};
use super::{BenchArgs, CompareArgs, ConstraintsArgs};
use crate::guard::Guard;
use crate::memory;

/// When to stop.
#[derive(Args, Clone, Debug)]
pub(crate) struct LimitArgs {
    /// Stop after N executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Cut executions after N steps
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps as u64,
          value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: u64,

    /// Only executions with at most K preemptions (switches away from an enabled thread)
    #[arg(long, value_name = "K")]
    preemptions: Option<u32>,

    /// Only executions with at most N context switches
    #[arg(long, value_name = "N")]
    context_switches: Option<u32>,

    /// Stop after this time, such as 500ms, 30s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// How much memory may be used.
#[derive(Args, Clone, Debug)]
pub(crate) struct MemoryArgs {
    /// Stop when this much memory is in use, such as 500M or 2GiB [default: 80 % of what is free]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
}

impl MemoryArgs {
    /// Sets the limit, and starts a guard that ends after `time` at the latest.
    pub(super) fn guard(&self, time: Option<Duration>) -> Guard {
        memory::limit(self.max_memory);
        Guard::start(time)
    }
}

impl LimitArgs {
    /// As the explorers want it.
    pub(crate) fn limits(&self) -> Limits {
        let &Self { max_executions: executions, preemptions, context_switches, .. } = self;
        Limits { executions, steps: steps(self.max_steps), preemptions, context_switches }
    }

    /// Begins what these limits end.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(self.time)
    }

    /// Sets what may be different when a search continues.
    pub(super) fn set_resources(&mut self, time: Option<Duration>, memory: MemoryArgs) {
        (self.time, self.memory) = (time, memory);
    }
}

impl CompareArgs {
    /// Begins what a signal, or the memory limit, ends. Each algorithm has its own time.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(None)
    }
}

impl BenchArgs {
    /// Begins what a signal, or the memory limit, ends. Each exploration has its own time.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(None)
    }
}

impl ConstraintsArgs {
    /// Begins what these limits end.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(self.time)
    }
}

/// Where `usize` is smaller, memory is exhausted first.
pub(super) fn steps(most: u64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}
