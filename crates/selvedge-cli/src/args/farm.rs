//! Arguments of `farm`: a search on many machines.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser as _, Subcommand};
use selvedge_farm::{Access, JobName};

use super::limits::MemoryArgs;
use super::values::{parse_duration, parse_jobs};
use super::{Annotations, CheckArgs, Cli, Command, LimitArgs, OutputArgs, ProgramArgs};
use crate::exit::Failure;
use crate::guard::Guard;

/// The environment variables that NATS's own tools read.
const URL: &str = "NATS_URL";
const CREDENTIALS: &str = "NATS_CREDS";
/// What those tools assume.
const NEAR: &str = "nats://localhost:4222";

/// Arguments of `farm`.
#[derive(Args, Debug)]
pub(crate) struct FarmArgs {
    #[command(subcommand)]
    pub(crate) command: FarmCommand,
}

/// What to do on many machines.
#[derive(Subcommand, Debug)]
pub(crate) enum FarmCommand {
    /// Submit a program, add up what workers find, and show the result
    Check(Box<FarmCheckArgs>),
    /// Run parts of the jobs on a server, until it is ended
    Work(FarmWorkArgs),
    /// Show the jobs on a server
    Status(FarmStatusArgs),
    /// Remove jobs from a server
    Clean(FarmCleanArgs),
}

/// How to reach the server.
#[derive(Args, Clone, Debug)]
pub(crate) struct AccessArgs {
    /// The NATS server: nats://host:4222, tls://host, nats://user:password@host; several separated by
    /// commas [default: NATS_URL, or nats://localhost:4222]
    #[arg(long = "nats", value_name = "URL")]
    url: Option<String>,

    /// A credentials file of NATS [default: NATS_CREDS, or none]
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,

    /// Certificates of authorities for TLS, beside those of the system
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    /// The certificate of this client for TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of this client's certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl AccessArgs {
    /// Returns how to reach the server.
    pub(crate) fn access(&self) -> Access {
        let given = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let url = self.url.clone().or_else(|| given(URL)).unwrap_or_else(|| NEAR.to_owned());
        let credentials = self.creds.clone().or_else(|| given(CREDENTIALS).map(PathBuf::from));
        Access {
            url,
            credentials,
            authorities: self.tls_ca.clone(),
            certificate: self.tls_cert.clone().zip(self.tls_key.clone()),
        }
    }

    /// Returns the options that reach the same server, without what is secret.
    pub(crate) fn again(&self, shown: &str) -> String {
        let mut text = format!("--nats {shown}");
        for (name, file) in [
            ("--creds", &self.creds),
            ("--tls-ca", &self.tls_ca),
            ("--tls-cert", &self.tls_cert),
            ("--tls-key", &self.tls_key),
        ] {
            if let Some(file) = file {
                text.push_str(&format!(" {name} {}", file.display()));
            }
        }
        text
    }
}

/// Arguments of `farm check`.
#[derive(Args, Debug)]
pub(crate) struct FarmCheckArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    #[command(flatten, next_help_heading = "The server")]
    pub(crate) access: AccessArgs,

    /// The name of the job; the same name and program continue a job [default: from the program]
    #[arg(long, value_name = "NAME", help_heading = "The server")]
    pub(crate) job: Option<JobName>,

    /// A worker that was not heard of for so long is taken for dead
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s",
          help_heading = "The server")]
    pub(crate) lease: Duration,

    /// Continue after a violation, and show all distinct violations
    #[arg(long, help_heading = "Search")]
    keep_going: bool,

    /// Check for data races as well
    #[arg(long, help_heading = "Search")]
    races: bool,

    #[command(flatten, next_help_heading = "Limits")]
    limits: LimitArgs,

    #[command(flatten, next_help_heading = "Output")]
    output: OutputArgs,

    /// Print the verdict only: no progress, no execution
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,

    /// Also mark the lines of violations for a service that runs tests, on standard error
    #[arg(long, value_name = "SERVICE", help_heading = "Output")]
    annotations: Option<Annotations>,

    /// Save the schedule of the first violation, with the constants, for `selvedge replay --trace`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    save_trace: Option<PathBuf>,
}

impl FarmCheckArgs {
    /// Returns the arguments of the check that has the same result.
    pub(crate) fn check(&self) -> Result<CheckArgs, Failure> {
        let mut args = checked(["--algorithm", "parsimonious"].into_iter().map(str::to_owned))?;
        args.program = self.program.clone();
        (args.keep_going, args.races) = (self.keep_going, self.races);
        args.limits = self.limits.clone();
        (args.output, args.quiet) = (self.output.clone(), self.quiet);
        args.annotations = self.annotations;
        args.save_trace.clone_from(&self.save_trace);
        Ok(args)
    }
}

/// Returns the arguments of a check, of a program that does not matter.
pub(crate) fn checked(arguments: impl Iterator<Item = String>) -> Result<CheckArgs, Failure> {
    let words: Vec<String> =
        ["selvedge", "check", "-"].into_iter().map(str::to_owned).chain(arguments).collect();
    match Cli::try_parse_from(&words).map(|cli| cli.command) {
        Ok(Some(Command::Check(args))) => Ok(*args),
        _ => Err(Failure::User(format!(
            "the arguments of the job are not those of a check: {}\n  submit it again",
            words[3..].join(" ")
        ))),
    }
}

/// Arguments of `farm work`.
#[derive(Args, Debug)]
pub(crate) struct FarmWorkArgs {
    #[command(flatten, next_help_heading = "The server")]
    pub(crate) access: AccessArgs,

    /// Work with N threads [default: as many as the machine has cores]
    #[arg(long, value_name = "N", value_parser = parse_jobs)]
    jobs: Option<NonZeroUsize>,

    /// Work on this job only
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<JobName>,

    /// End when there was nothing to do for so long
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) idle: Option<Duration>,

    #[command(flatten)]
    memory: MemoryArgs,
}

impl FarmWorkArgs {
    /// Returns how many threads there are.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(cores, NonZeroUsize::get)
    }

    /// Begins what a signal, or the memory limit, ends.
    pub(crate) fn guard(&self) -> Guard {
        self.memory.guard(None)
    }
}

/// Arguments of `farm status`.
#[derive(Args, Debug)]
pub(crate) struct FarmStatusArgs {
    #[command(flatten)]
    pub(crate) access: AccessArgs,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `farm clean`.
#[derive(Args, Debug)]
pub(crate) struct FarmCleanArgs {
    /// The job
    #[arg(value_name = "JOB", required_unless_present = "all")]
    pub(crate) job: Option<JobName>,

    /// All jobs
    #[arg(long, conflicts_with = "job")]
    pub(crate) all: bool,

    /// Also a job whose submitter is there
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}
