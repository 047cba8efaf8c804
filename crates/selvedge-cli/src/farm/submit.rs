//! `selvedge farm check`: submit a program, add up what workers find, and show the result.

use std::num::NonZeroUsize;
use std::time::Instant;

use selvedge_core::{Budget, Counts, Report};
use selvedge_explore::{
    Algorithm, Divided, Divisible, Division, Frontier, Ledger, Observer as _, Options, Progress,
    QuasiOptions, explore_divided,
};
use selvedge_farm::{Ended, Host, Job, JobName, Pace, Server};

use super::ledger::Book;
use crate::args::{CheckArgs, FarmCheckArgs};
use crate::check::{self, Search};
use crate::exit::{Exit, Failure, complain};
use crate::hash::hash;
use crate::method::Method;
use crate::progress::Watch;
use crate::screen::Screen;
use crate::so_far::{self, shown_in_any_case};
use crate::source::{Loaded, is_compiled, shell_word};

/// What workers can explore.
pub(super) const DIVISIBLE: Divisible = Divisible::Exploration(Algorithm::Parsimonious);

/// Submits a program, and shows the result.
pub(super) fn run(args: &FarmCheckArgs, screen: &Screen) -> Result<Exit, Failure> {
    let check = args.check()?;
    check::check_output_options(&check)?;
    if is_compiled(&check.program.file) {
        return Err(Failure::User(format!(
            "{} is a C program, and workers on other machines run models only\n  check it here: selvedge check {}",
            check.program.file.display(),
            shell_word(&check.program.file.to_string_lossy())
        )));
    }
    let method = Method::new(check.algorithm, QuasiOptions::default(), &check.sampling);
    let loaded = Loaded::new(&check.program, screen)?;
    let guard = check.limits.guard();
    let budget = guard.budget();
    let options = check::options(&check, &method, QuasiOptions::default(), check.races, budget)?;
    let job = job(&check, &loaded)?;
    let name = match &args.job {
        Some(name) => name.clone(),
        None => default_name(&job)?,
    };
    let server = super::connect(&args.access)?;
    let (covers, facts, races) = (method.covers(&options), &Vec::new, check.races);
    let search = Search { loaded: &loaded, method, covers, args: &check, races, facts, budget };
    let (loaded, check, options) = (&loaded, &check, &options);
    let farm = Farm { args, server: &server, name: &name, job, loaded, check, options };
    let started = Instant::now();
    let conclude = |report| search.conclude(report, None, started.elapsed(), screen);
    shown_in_any_case(&conclude, || {
        let mut watch = Watch::start(!check.quiet, "farm");
        let done = farm.run(&mut watch);
        let time = watch.finish();
        let (report, ended) = done?;
        so_far::publish(&report);
        let exit = search.conclude(report, None, time, screen)?;
        if ended == Ended::Finished {
            // It is not needed any more. If it stays, the same command shows the same result.
            if let Err(error) = selvedge_farm::clean(&server, &name, true) {
                complain(&format!("warning: {error}\n"));
            }
        }
        Ok(exit)
    })
}

/// Returns what workers have to know.
fn job(check: &CheckArgs, loaded: &Loaded) -> Result<Job, Failure> {
    let constants = loaded.given.iter().map(|(name, value)| match value {
        selvedge_report::ConstantJson::Bool(value) => format!("{name}={value}"),
        selvedge_report::ConstantJson::Int(value) => format!("{name}={value}"),
    });
    Ok(Job {
        version: super::VERSION.to_owned(),
        build: super::build()?,
        file: loaded.file.clone(),
        text: loaded.text.clone(),
        constants: constants.collect(),
        program: loaded.identity(),
        arguments: check.explored(),
    })
}

/// Returns a name that is the same whenever the same job is submitted.
fn default_name(job: &Job) -> Result<JobName, Failure> {
    let Job { version, build, program, arguments, .. } = job;
    let all = hash(&format!("{version} {build} {program} {}", arguments.join(" ")));
    let digits = all.rsplit_once(':').map_or(all.as_str(), |(_, digits)| digits);
    let file = std::path::Path::new(&job.file);
    let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let is_good = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let stem: String = stem.chars().filter(is_good).take(32).collect();
    let name = if stem.is_empty() { digits.to_owned() } else { format!("{stem}-{digits}") };
    name.parse().map_err(|why| Failure::Internal(format!("the name of the job: {why}")))
}

/// A job, and its result.
struct Farm<'a> {
    args: &'a FarmCheckArgs,
    server: &'a Server,
    name: &'a JobName,
    job: Job,
    loaded: &'a Loaded,
    check: &'a CheckArgs,
    options: &'a Options,
}

impl Farm<'_> {
    /// Has workers explore. Returns the report.
    fn run(&self, watch: &mut Watch) -> Result<(Report, Ended), Failure> {
        let &Self { args, server, name, loaded, options, .. } = self;
        let limit = options.limits.executions;
        let mut book = Book(Ledger::new(Frontier::root(), options.keep_going, limit));
        let pace = Pace { lease: args.lease, ..Pace::default() };
        let mut submitter = Submitter { watch, budget: &options.budget };
        let job = self.job.clone();
        let ended = selvedge_farm::submit(server, name, job, pace, &mut book, &mut submitter);
        let ended = ended.map_err(super::failure)?;
        // Puts the parts together, as for several threads; nothing is left that matters, or the budget is exhausted.
        let start = book.0.frontier().clone();
        let division = Division { jobs: NonZeroUsize::MIN, start, keeper: None };
        let put = explore_divided(DIVISIBLE, &|| loaded.system(), options, watch, division);
        let Divided { mut report, .. } = put.map_err(|why| {
            Failure::User(format!(
                "the results do not fit together: {why}\n  start again: selvedge farm clean {name}"
            ))
        })?;
        if ended == Ended::Stopped {
            let again = loaded.command("farm check");
            let access = args.access.again(server.shown());
            // All but the algorithm.
            let options = self.check.explored().split_off(2).join(" ");
            report.fact("to go on", format!("{again} {options} {access} --job {name}"));
        }
        Ok((report, ended))
    }
}

struct Submitter<'a> {
    watch: &'a mut Watch,
    budget: &'a Budget,
}

impl Host for Submitter<'_> {
    fn go_on(&self) -> bool {
        !self.budget.is_spent()
    }

    fn say(&self, text: &str) {
        complain(&format!("{text}\n"));
    }

    fn look(&mut self, ledger: &dyn selvedge_farm::Ledger) {
        let progress = || {
            let (executions, fraction) = ledger.so_far();
            let counts = Counts { complete: executions, ..Counts::default() };
            Progress { counts, states: None, steps: 0, depth: 0, fraction }
        };
        self.watch.poll(&progress);
    }
}
