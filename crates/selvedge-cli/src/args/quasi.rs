//! Options of the algorithm `quasi`.

use std::num::NonZeroU32;

use clap::Args;
use selvedge_explore::{Independence, QuasiOptions, Setting};

use super::values::{AtMost, parse_k, parse_skip_step};
use crate::exit::Failure;
use crate::registry::{self, Chosen};

/// Options of the algorithm `quasi`.
#[derive(Args, Clone, Debug)]
pub(crate) struct QuasiArgs {
    /// Compute K-partial alternatives: 1, 2, 3, … or `optimal`. The larger K, the fewer redundant executions
    /// [default: optimal]
    #[arg(long, value_name = "K", value_parser = parse_k)]
    k: Option<AtMost>,

    /// Treat plain reads and writes as independent; only locks and other synchronisation interfere. A data
    /// race makes the verdict inconclusive
    #[arg(long)]
    locks_only: bool,

    /// Skip pointers in the causality trees lead 1, S, S², … levels up [default: 4]
    #[arg(long, value_name = "S", value_parser = parse_skip_step)]
    skip_step: Option<NonZeroU32>,
}

impl QuasiArgs {
    /// Returns one of them that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.k.is_some(), "--k"),
            (self.locks_only, "--locks-only"),
            (self.skip_step.is_some(), "--skip-step"),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, option)| *option)
    }

    /// As the explorer wants it.
    ///
    /// # Errors
    /// If another algorithm was asked for.
    pub(crate) fn options(&self, algorithm: Chosen) -> Result<QuasiOptions, Failure> {
        if let Some(option) = self.given()
            && !algorithm.takes(Setting::Alternatives)
        {
            return Err(registry::only_applies(option, Setting::Alternatives));
        }
        let defaults = QuasiOptions::default();
        Ok(QuasiOptions {
            k: self.k.map_or(defaults.k, |AtMost(k)| k),
            independence: match self.locks_only {
                true => Independence::LocksOnly,
                false => Independence::AllAccesses,
            },
            skip_step: self.skip_step.unwrap_or(defaults.skip_step),
        })
    }
}
