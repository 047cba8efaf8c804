//! Arguments of `mat`.

use std::path::PathBuf;

use clap::Args;

use super::ProgramArgs;

/// Arguments of `mat`.
#[derive(Args, Debug)]
pub(crate) struct MatArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    /// Write a drawing to a file: for each pair of threads the passes, and the plane of their steps with the transactions
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Unroll loops at most N times; loops whose bounds are constant are unrolled fully
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(..=1_000))]
    pub(crate) unroll: u32,
}
