//! The command line, described once: parsing, help and completions come from here.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use selvedge_core::Schedule;
use selvedge_explore::{Limits, QuasiOptions, Setting};
use selvedge_symbolic::{Engine, Scheme, ThreadBound};

use crate::constraints::Origin;
use crate::exit::{Exit, FAILURE, Failure, complain};
use crate::registry::{self, Chosen};
use crate::screen::Screen;
use crate::source::Constants;

mod bench;
mod chosen;
mod compiled;
mod estimate;
#[cfg(feature = "farm")]
mod farm;
#[cfg(not(feature = "farm"))]
#[path = "args/farm_missing.rs"]
mod farm;
mod help;
mod limits;
mod mat;
mod output;
mod quasi;
mod serve;
mod spurious;
mod values;
mod weak;
mod work;

pub(crate) use bench::BenchArgs;
pub(crate) use chosen::{CyclesArg, FairnessArg};
pub(crate) use compiled::CompilerArgs;
pub(crate) use estimate::EstimateArgs;
pub(crate) use farm::FarmArgs;
#[cfg(feature = "farm")]
pub(crate) use farm::{
    AccessArgs, FarmCheckArgs, FarmCleanArgs, FarmCommand, FarmStatusArgs, FarmWorkArgs, checked,
};
pub(crate) use limits::{LimitArgs, MemoryArgs};
pub(crate) use mat::MatArgs;
pub(crate) use output::{Annotations, Form, FormatArgs, OutputArgs};
pub(crate) use quasi::QuasiArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use spurious::SpuriousArgs;
pub(crate) use weak::WeakArgs;
pub(crate) use work::{ResumeArgs, WorkArgs};

use values::{AtMost, Constant, parse_constant, parse_duration, parse_k, parse_schedule};

/// Checks concurrent programs: one execution per equivalence class of interleavings.
#[derive(Parser, Debug)]
#[command(name = "selvedge", version, about, long_about = help::ABOUT, after_help = help::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a program: find a violation, or prove that there is none
    #[command(long_about = help::CHECK, after_long_help = help::CHECK_EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Continue an interrupted check from its checkpoint
    #[command(long_about = help::RESUME, after_long_help = help::RESUME_EXAMPLES)]
    Resume(Box<ResumeArgs>),
    /// Estimate how many executions a check will have
    #[command(long_about = help::ESTIMATE, after_long_help = help::ESTIMATE_EXAMPLES)]
    Estimate(EstimateArgs),
    /// Check a program on many machines, by way of a NATS server
    #[command(long_about = help::FARM, after_long_help = help::FARM_EXAMPLES)]
    Farm(FarmArgs),
    /// Run all algorithms on a program, side by side
    #[command(long_about = help::COMPARE, after_long_help = help::COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Replay a schedule and show its execution
    #[command(long_about = help::REPLAY, after_long_help = help::REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Measure how fast the algorithms are, on built-in programs
    #[command(long_about = help::BENCH, after_long_help = help::BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Show the mutually atomic transactions of each pair of threads
    #[command(long_about = help::MAT, after_long_help = help::MAT_EXAMPLES)]
    Mat(MatArgs),
    /// Find conditions under which pairs of atomic blocks are independent
    #[command(long_about = help::CONSTRAINTS, after_long_help = help::CONSTRAINTS_EXAMPLES)]
    Constraints(ConstraintsArgs),
    /// Format programs: indentation, spaces, blank lines
    #[command(name = "fmt", long_about = help::FORMAT, after_long_help = help::FORMAT_EXAMPLES)]
    Format(FormatArgs),
    /// Open a workbench in the browser: an editor, checks, their pages
    #[command(long_about = help::SERVE, after_long_help = help::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Language server for editors: diagnostics, hover, definition, rename, a lens that checks
    #[command(long_about = help::LSP, after_long_help = help::LSP_EXAMPLES)]
    Lsp,
    /// List the algorithms: what each one does, what it covers, when to use it
    Algorithms,
    /// Compile C for an existing build: CC="selvedge cc" make
    #[command(name = "cc", long_about = help::CC, after_long_help = help::CC_EXAMPLES)]
    Cc {
        /// The arguments of the compiler
        arguments: Vec<String>,
    },
    /// Compile C++ for an existing build: CXX="selvedge c++" make
    #[command(name = "c++", long_about = help::CC, after_long_help = help::CC_EXAMPLES)]
    Cxx {
        /// The arguments of the compiler
        arguments: Vec<String>,
    },
    /// Write a completion script for a shell
    #[command(long_about = help::COMPLETIONS, after_long_help = help::COMPLETIONS_EXAMPLES)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which program.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgramArgs {
    /// The model (.sel); `check` also takes .c, .cpp and what `selvedge cc` linked; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    given: ConstantArgs,
}

/// Constants set on the command line.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConstantArgs {
    /// Set a constant of the program; may be repeated
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = parse_constant)]
    constants: Vec<Constant>,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,

    /// The search algorithm; `selvedge algorithms` lists them
    #[arg(long, short, value_name = "NAME", value_parser = AlgorithmParser,
          default_value = registry::DEFAULT, hide_possible_values = true)]
    pub(crate) algorithm: Chosen,

    #[command(flatten)]
    pub(crate) weak: WeakArgs,

    /// Show statistics of the search (`quasi`, `data-centric`, --symbolic, --memory)
    #[arg(long)]
    pub(crate) stats: bool,

    /// How `data-centric` treats threads that communicate in a cycle
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) cycles: CyclesArg,

    /// `data-centric` does not distinguish the order in which locks are acquired: fewer classes, but
    /// deadlocks are not covered
    #[arg(long)]
    pub(crate) unobserved_locks: bool,

    /// With `--algorithm optimal`: writes and sends are ordered only where a later step observes their order: fewer
    /// executions
    #[arg(long)]
    pub(crate) observers: bool,

    /// With `--algorithm states`: take every step in every state; more states, and the shortest path to a violation
    #[arg(long)]
    pub(crate) unreduced: bool,

    /// With `--algorithm states`: tell threads that run the same code apart, also where only their names differ; more states
    #[arg(long)]
    pub(crate) no_symmetry: bool,

    /// With `--algorithm states`: keep a hash of 64 bits of each state instead of all of it; less memory, but different states
    /// with the same hash are taken for one, so the absence of violations is inconclusive
    #[arg(long)]
    pub(crate) hash_compact: bool,

    /// Which infinite executions count for `eventually`, `leads_to` and `progress`
    #[arg(long, value_name = "HOW", default_value = "weak")]
    pub(crate) fairness: FairnessArg,

    /// With `--algorithm constrained`: run both orders wherever a constraint is used, and report a constraint
    /// that does not hold, with the state that refutes it
    #[arg(long)]
    pub(crate) check_constraints: bool,

    /// With `--algorithm constrained`: where further independence constraints come from: `synthesise`, a file
    /// written by `selvedge constraints --write`, or `declared` for none besides those in the program
    /// [default: synthesise if the program declares none, else declared]
    #[arg(long, value_name = "FROM", value_parser = values::parse_constraints)]
    pub(crate) constraints: Option<Origin>,

    /// Leave out the random executions that come before a search of more than 200 executions
    #[arg(long)]
    pub(crate) no_random: bool,

    /// Continue after a violation, and show all distinct violations
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Check for data races as well; the default for C programs
    #[arg(long, conflicts_with = "no_races")]
    pub(crate) races: bool,

    /// Do not check a C program for data races
    #[arg(long, help_heading = "C programs")]
    pub(crate) no_races: bool,

    /// In a program with weaker atomic orderings: do not search again under rc11, where loads may see older values
    #[arg(long, help_heading = "C programs", conflicts_with = "model")]
    pub(crate) sequentially_consistent: bool,

    #[command(flatten, next_help_heading = "Limits")]
    pub(crate) limits: LimitArgs,

    #[command(flatten, next_help_heading = "Several threads, and checkpoints")]
    pub(crate) work: WorkArgs,

    #[command(flatten, next_help_heading = "Algorithm quasi")]
    pub(crate) quasi: QuasiArgs,

    #[command(flatten, next_help_heading = "Sampling")]
    pub(crate) sampling: SamplingArgs,

    #[command(flatten, next_help_heading = "Symbolic checking")]
    pub(crate) symbolic: SymbolicArgs,

    #[command(flatten, next_help_heading = "Output")]
    pub(crate) output: OutputArgs,

    /// Print the verdict only: no progress, no execution
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// With --json: also the tree of explored executions and how each ended, at most 20,000 of them. Pages always have it
    #[arg(long, help_heading = "Output", conflicts_with = "scheme")]
    pub(crate) tree: bool,

    /// Also mark the lines of violations for a service that runs tests, on standard error
    #[arg(long, value_name = "SERVICE", help_heading = "Output")]
    pub(crate) annotations: Option<Annotations>,

    /// Save the schedule of the first violation, with the constants, for `selvedge replay --trace`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save_trace: Option<PathBuf>,
}

/// Random executions instead of all.
#[derive(Args, Clone, Debug)]
pub(crate) struct SamplingArgs {
    /// Run N random executions; finds violations, proves nothing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with = "algorithm")]
    pub(crate) sample: Option<u64>,

    /// Sample with random priorities (PCT), for violations of depth D
    #[arg(long, value_name = "D", requires = "sample",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pct: Option<u32>,

    /// The seed; the same seed gives the same executions
    #[arg(long, value_name = "S", requires = "sample", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// All executions as a formula, instead of one by one.
#[derive(Args, Clone, Debug)]
pub(crate) struct SymbolicArgs {
    /// Check all executions at once, as a formula: order (the default), token or mat
    #[arg(long = "symbolic", value_name = "SCHEME", num_args = 0..=1,
          default_missing_value = "order", value_parser = values::parse_scheme,
          conflicts_with_all = ["algorithm", "sample", "pct", "seed", "max_executions", "max_steps",
                                "preemptions", "context_switches", "k", "locks_only",
                                "skip_step", "cycles", "jobs", "checkpoint"])]
    pub(crate) scheme: Option<Scheme>,

    /// Unroll loops at most N times; loops whose bounds are constant are unrolled fully
    #[arg(long, value_name = "N", requires = "scheme",
          default_value_t = selvedge_symbolic::Options::DEFAULT_UNROLL,
          value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) unroll: u32,

    /// Only executions with at most C context switches; for token and mat
    #[arg(long, value_name = "C", requires = "scheme",
          value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) context_bound: Option<u32>,

    /// Only executions with so many context switches to a thread: THREAD=U (at most U), THREAD=L-U (L to U)
    /// or THREAD=L- (at least L); *=U for every thread; can be repeated; for token and mat
    #[arg(long, value_name = "THREAD=L-U", requires = "scheme")]
    pub(crate) thread_bound: Vec<ThreadBound>,

    /// The solver: batsat, or cadical in a build that has it
    #[arg(long, value_name = "NAME", requires = "scheme", default_value = "batsat",
          value_parser = values::parse_engine)]
    pub(crate) solver: Engine,

    /// Write the formula to a file and do not solve it, so the verdict is inconclusive: SMT-LIB, or DIMACS
    /// if the name ends in .cnf
    #[arg(long, value_name = "FILE", requires = "scheme", conflicts_with = "json")]
    pub(crate) export_formula: Option<PathBuf>,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    /// Only these algorithms, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = AlgorithmParser,
          hide_possible_values = true)]
    pub(crate) algorithms: Vec<Chosen>,

    /// Run `quasi` once for each of these, separated by commas: 1, 2, 3, … or `optimal` [default:
    /// optimal]
    #[arg(long, value_name = "KS", value_delimiter = ',', value_parser = parse_k)]
    k: Vec<AtMost>,

    /// Independence constraints for `constrained`, as in `selvedge check`
    #[arg(long, value_name = "FROM", value_parser = values::parse_constraints)]
    pub(crate) constraints: Option<Origin>,

    /// Also run `optimal --observers`
    #[arg(long)]
    pub(crate) observers: bool,

    /// Also run execution graphs under these memory models, separated by commas: sc, tso, rc11, c++20
    #[arg(long = "memory", value_name = "MODELS", value_delimiter = ',', value_parser = weak::parse_memory)]
    pub(crate) memories: Vec<selvedge_explore::Memory>,

    /// Check for data races as well
    #[arg(long)]
    pub(crate) races: bool,

    /// Stop each algorithm after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub(crate) time: Duration,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Stop each algorithm after N executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Cut executions after N steps
    #[arg(long, value_name = "N", default_value_t = Limits::default().steps as u64,
          value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: u64,

    /// Only executions with at most K preemptions
    #[arg(long, value_name = "K")]
    preemptions: Option<u32>,

    /// Only executions with at most N context switches
    #[arg(long, value_name = "N")]
    context_switches: Option<u32>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `constraints`.
#[derive(Args, Debug)]
pub(crate) struct ConstraintsArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,

    /// Write the constraints to a file, for `selvedge check --constraints`
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    /// Give up on a pair after N units of work. A short query to the solver is one unit, a long one is many;
    /// work is counted, not timed, so that the result does not depend on the machine
    #[arg(long, value_name = "N", default_value_t = crate::constraints::WORK,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pair_work: u64,

    /// Stop after this time; the remaining pairs have no constraints
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    time: Option<Duration>,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// The program: .sel, .c, .cpp or what `selvedge cc` linked; not needed with --trace
    #[arg(value_name = "FILE", required_unless_present = "trace")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,

    #[command(flatten)]
    pub(crate) given: ConstantArgs,

    /// The schedule, as `check` prints it
    #[arg(long, value_name = "STEPS", value_parser = parse_schedule,
          required_unless_present = "trace", conflicts_with = "trace")]
    pub(crate) schedule: Option<Schedule>,

    /// A trace that `check --save-trace` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Variables on stacks that threads share, as `check` prints them
    #[arg(long, value_name = "WORDS", help_heading = "C programs")]
    pub(crate) locals: Option<String>,

    /// Check for data races as well
    #[arg(long)]
    pub(crate) races: bool,

    /// Which executions whose last steps repeat forever count for `eventually`, `leads_to` and `progress`
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub(crate) fairness: FairnessArg,

    /// Show one step at a time, with the next step of every thread
    #[arg(long, conflicts_with = "json")]
    pub(crate) step: bool,

    #[command(flatten)]
    pub(crate) weak: WeakArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl ProgramArgs {
    /// Returns the constants by name.
    pub(crate) fn constants(&self) -> Result<Constants, Failure> {
        self.given.by_name()
    }
}

impl ConstantArgs {
    /// Returns the constants by name.
    pub(crate) fn by_name(&self) -> Result<Constants, Failure> {
        let mut constants = Constants::new();
        for Constant { name, value } in &self.constants {
            if constants.insert(name.clone(), *value).is_some() {
                return Err(Failure::User(format!("--const {name} is given twice; keep one")));
            }
        }
        Ok(constants)
    }
}

impl CompareArgs {
    /// As the explorers want it.
    pub(crate) fn limits(&self) -> Limits {
        let &Self { max_executions: executions, preemptions, context_switches, .. } = self;
        Limits { executions, steps: limits::steps(self.max_steps), preemptions, context_switches }
    }
}

impl CompareArgs {
    /// Returns what to run: the algorithms, `quasi` once for each k.
    ///
    /// # Errors
    /// If there is a k, but no `quasi`.
    pub(crate) fn searches(&self) -> Result<Vec<(Chosen, QuasiOptions)>, Failure> {
        let algorithms = match self.algorithms.as_slice() {
            // One that chooses among the others has nothing to be compared.
            [] => registry::all().filter(|it| it.info().chooses_from.is_empty()).collect(),
            some => some.to_vec(),
        };
        let has_k = |algorithm: &Chosen| algorithm.takes(Setting::Alternatives);
        if !self.k.is_empty() && !algorithms.iter().any(has_k) {
            return Err(Failure::User(format!(
                "--k only applies to {}\n  add it to --algorithms, or leave out --k",
                registry::takers(Setting::Alternatives).join(", ")
            )));
        }
        let mut searches = Vec::new();
        for algorithm in algorithms {
            if !has_k(&algorithm) || self.k.is_empty() {
                searches.push((algorithm, QuasiOptions::default()));
                continue;
            }
            for &AtMost(k) in &self.k {
                searches.push((algorithm, QuasiOptions { k, ..QuasiOptions::default() }));
            }
        }
        Ok(searches)
    }
}

/// Parses the arguments of the process. `Err`: something was shown, and this is the exit code.
pub(crate) fn parse() -> Result<(Command, Colour), ExitCode> {
    match Cli::try_parse() {
        Ok(Cli { command: Some(command), color }) => Ok((command, color)),
        Ok(Cli { command: None, .. }) => {
            complain(help::GETTING_STARTED);
            Err(ExitCode::from(FAILURE))
        }
        Err(error) => {
            // `--help` and `--version` end here as well; a closed pipe is not an error.
            let _ = error.print();
            let asked = !error.use_stderr();
            Err(if asked { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) })
        }
    }
}

/// Writes the completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell, screen: &Screen) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "selvedge", &mut script);
    screen.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Good)
}

/// Parses names of algorithms, and suggests one for names that other tools use.
#[derive(Clone)]
struct AlgorithmParser;

impl TypedValueParser for AlgorithmParser {
    type Value = Chosen;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Chosen, clap::Error> {
        let name = value.to_string_lossy();
        registry::named(name.trim()).ok_or_else(|| {
            let meant = values::nearest_algorithm(&name);
            let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            let message =
                format!("unknown algorithm `{name}`{meant}  (all: selvedge algorithms)\n");
            clap::Error::raw(ErrorKind::InvalidValue, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |explorer: Chosen| {
            let info = explorer.info();
            PossibleValue::new(info.name).help(info.summary)
        };
        Some(Box::new(registry::all().map(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_consistent() {
        Cli::command().debug_assert();
    }
}
