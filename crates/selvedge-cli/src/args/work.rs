//! How a search is divided: among workers, and over time.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser as _};

use super::limits::MemoryArgs;
use super::values::{parse_duration, parse_jobs};
use super::{CheckArgs, Cli, Command, OutputArgs};
use crate::exit::Failure;

/// The environment variable with the number of workers.
const JOBS: &str = "SELVEDGE_JOBS";

/// How many workers there are.
#[derive(Args, Clone, Debug)]
pub(crate) struct JobsArgs {
    /// Explore with N threads at a time, C programs with N processes; the result is the same for
    /// every N. For `auto`, `parsimonious`, `sleep`, `states` (for models that spawn no threads) and
    /// --sample; the other algorithms are sequential
    /// [default: SELVEDGE_JOBS, or 1]
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<NonZeroUsize>,

    /// How often the checkpoint is written
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub(crate) checkpoint_every: Duration,
}

impl JobsArgs {
    /// Returns how many workers there are.
    pub(crate) fn jobs(&self) -> Result<NonZeroUsize, Failure> {
        match (self.jobs, std::env::var(JOBS)) {
            (Some(jobs), _) => Ok(jobs),
            (None, Ok(text)) if !text.is_empty() => parse_jobs(&text).map_err(|why| {
                Failure::User(format!(
                    "{JOBS} is `{text}`: {why}\n  set it to a number, or unset it"
                ))
            }),
            (None, _) => Ok(NonZeroUsize::MIN),
        }
    }
}

/// How the search is divided.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkArgs {
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,

    /// Write what is done and what is left to a file, from time to time and when the search ends early:
    /// `selvedge resume FILE` continues from there. For `auto`, `parsimonious`, `sleep` and --sample
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
}

/// Arguments of `resume`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// A checkpoint that `check --checkpoint` wrote
    #[arg(value_name = "FILE")]
    pub(crate) checkpoint: PathBuf,

    #[command(flatten)]
    jobs: JobsArgs,

    /// Stop after this time, such as 500ms, 30s, 5m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten, next_help_heading = "Output")]
    output: OutputArgs,

    /// Print the verdict only: no progress, no execution
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Save the schedule of the first violation, with the constants, for `selvedge replay --trace`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    save_trace: Option<PathBuf>,
}

impl ResumeArgs {
    /// Returns the arguments of the check that continues: what is explored comes from `arguments`, all else from these.
    pub(crate) fn check(&self, arguments: &[String]) -> Option<CheckArgs> {
        let command = ["selvedge", "check"].into_iter().map(str::to_owned);
        let parsed = Cli::try_parse_from(command.chain(arguments.iter().cloned())).ok()?;
        let Some(Command::Check(mut args)) = parsed.command else { return None };
        args.limits.set_resources(self.time, self.memory.clone());
        args.work = WorkArgs { jobs: self.jobs.clone(), checkpoint: Some(self.checkpoint.clone()) };
        (args.output, args.quiet) = (self.output.clone(), self.quiet);
        args.save_trace.clone_from(&self.save_trace);
        Some(*args)
    }
}

impl CheckArgs {
    /// Returns the arguments that say what is explored, without the program.
    pub(crate) fn explored(&self) -> Vec<String> {
        let limits = self.limits.limits();
        let mut all = match self.sampling.sample {
            Some(executions) => {
                let seed = self.sampling.seed.to_string();
                vec!["--sample".to_owned(), executions.to_string(), "--seed".to_owned(), seed]
            }
            None => vec!["--algorithm".to_owned(), self.algorithm.info().name.to_owned()],
        };
        for (bound, name) in
            [(limits.preemptions, "--preemptions"), (limits.context_switches, "--context-switches")]
        {
            all.extend(bound.iter().flat_map(|most| [name.to_owned(), most.to_string()]));
        }
        let switches = [
            (self.keep_going, "--keep-going"),
            (self.races, "--races"),
            (self.no_random, "--no-random"),
        ];
        all.extend(switches.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
        if let Some(most) = limits.executions {
            all.extend(["--max-executions".to_owned(), most.to_string()]);
        }
        all.extend(["--max-steps".to_owned(), limits.steps.to_string()]);
        all.extend(self.compiler.explored(&self.of_compiled()));
        all
    }
}
