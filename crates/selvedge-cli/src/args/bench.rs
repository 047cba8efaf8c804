//! Arguments of `bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::MemoryArgs;
use super::values::parse_duration;

/// What to measure, and how long.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Run the short programs only: a few seconds in all
    #[arg(long)]
    pub(crate) quick: bool,

    /// Stop an exploration after S seconds and leave out its numbers
    #[arg(long, value_name = "S", value_parser = parse_duration, default_value = "5")]
    pub(crate) seconds: Duration,

    /// Run the rows of the papers' tables instead, and show the printed numbers beside ours
    #[arg(long, conflicts_with = "svg")]
    pub(crate) papers: bool,

    /// With `--papers`: run the rows that take more than a minute too, and stop each after ten minutes
    #[arg(long, requires = "papers", conflicts_with = "seconds")]
    pub(crate) long: bool,

    #[command(flatten)]
    pub(super) memory: MemoryArgs,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw how executions and time grow with the size of a program instead, one curve per algorithm; `-` prints the drawing
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) svg: Option<PathBuf>,
}
