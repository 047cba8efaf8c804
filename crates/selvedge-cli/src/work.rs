//! A check by one worker, by several, or with a checkpoint.

use std::num::NonZeroUsize;
use std::time::Duration;

use selvedge_core::{Report, System};
use selvedge_explore::{
    Algorithm, Auto, Divided, Divisible, Division, Frontier, Keeper, Limits, Observer, Options,
    Sampling, Setting, explore_divided, sequential,
};

use crate::args::CheckArgs;
use crate::checkpoint::{About, Checkpoint, Kept};
use crate::exit::Failure;
use crate::method::Method;
use crate::screen::Screen;
use crate::source::Loaded;

/// How a search is done.
pub(crate) enum Work {
    /// From the beginning to the end.
    Sequential,
    /// In parts.
    Divided(Box<InParts>),
}

/// A search that is divided.
pub(crate) struct InParts {
    what: Divisible,
    jobs: NonZeroUsize,
    start: Frontier,
    kept: Option<Kept>,
}

impl Work {
    /// Decides how to do it. `kept`: where to go on.
    pub(crate) fn new(
        kept: Option<Checkpoint>,
        args: &CheckArgs,
        method: Method,
        loaded: &Loaded,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let jobs = args.work.jobs.jobs()?;
        let promises = loaded.has_promises();
        let Some((what, root)) = divisible_parts(args, method, promises)? else {
            if method.takes(Setting::SharedStates) {
                warn_about_numbers(jobs, loaded, screen);
            } else if jobs.get() > 1 {
                let (why, instead) = not_divisible(args, method, promises);
                // No other algorithm decides what is promised about whole executions.
                let instead = match promises {
                    false => format!(", {instead} in {jobs}"),
                    true => String::new(),
                };
                screen.warn(&format!("{why}; it runs in one thread{instead}"));
            }
            return Ok(Work::Sequential);
        };
        let start = match &kept {
            Some(kept) => {
                kept.belongs_to(&loaded.written_identity(), &loaded.file_hashes())?;
                kept.frontier()?
            }
            None => root,
        };
        let kept = match args.work.checkpoint.as_deref() {
            None => None,
            Some(path) => {
                let about = About::new(args, loaded)?;
                Some(Kept::new(path, about, args, &start, kept.as_ref())?)
            }
        };
        Ok(Work::Divided(Box::new(InParts { what, jobs, start, kept })))
    }
}

/// Warns if the states of a program mean nothing to another worker.
fn warn_about_numbers(jobs: NonZeroUsize, loaded: &Loaded, screen: &Screen) {
    let mut system = loaded.system();
    let is_shared = system.states().is_some_and(|states| states.mean_the_same());
    if jobs.get() > 1 && !is_shared {
        screen.warn(&format!(
            "this program spawns threads, which `states` numbers in the order in which it meets them; it runs in one thread, and \
             not in {jobs}"
        ));
    }
}

/// Returns why a search cannot be divided, and what can.
pub(crate) fn not_divisible(
    args: &CheckArgs,
    method: Method,
    promises: bool,
) -> (String, &'static str) {
    match method {
        Method::Explore(chosen, ..) if !chosen.takes(Setting::Division) => {
            (sequential(method.name()), "--algorithm parsimonious")
        }
        Method::Explore(..) if promises => (
            "promises are decided on the graph of all states, which is not kept".to_owned(),
            "a program without promises",
        ),
        Method::Explore(..) => {
            let bound = match args.limits.limits().preemptions {
                Some(_) => "--preemptions",
                None => "--context-switches",
            };
            (format!("{bound} is for `optimal`; {}", sequential("optimal")), "a check without it")
        }
        Method::Sample { .. } => (
            "--pct is sequential: where priorities change depends on how long the executions before were"
                .to_owned(),
            "--sample without --pct",
        ),
    }
}

/// Returns what is divided and where it begins, if that is asked for and can be. A checkpoint that cannot be is an error.
/// `promises`: the program makes some.
pub(crate) fn divisible_parts(
    args: &CheckArgs,
    method: Method,
    promises: bool,
) -> Result<Option<(Divisible, Frontier)>, Failure> {
    let is_kept = args.work.checkpoint.is_some();
    let parts = divisible(args, method).filter(|(what, _)| {
        // Several workers decide what is promised, but what they have done is not kept.
        !(is_kept && promises && *what == Divisible::Auto)
    });
    match parts {
        Some(parts) => Ok((is_kept || args.work.jobs.jobs()?.get() > 1).then_some(parts)),
        None if is_kept => {
            let (why, instead) = not_divisible(args, method, promises);
            Err(Failure::User(format!(
                "--checkpoint does not apply here: {why}\n  use {instead}, or leave out --checkpoint"
            )))
        }
        None => Ok(None),
    }
}

/// Returns what is divided and where it begins, if that can be.
fn divisible(args: &CheckArgs, method: Method) -> Option<(Divisible, Frontier)> {
    match method {
        Method::Explore(chosen, ..) if chosen.takes(Setting::Division) => {
            let Limits { preemptions, context_switches, .. } = args.limits.limits();
            let is_bounded = preemptions.is_some() || context_switches.is_some();
            let what = match chosen.info().name {
                name if name != Auto::INFO.name => Divisible::Exploration(Algorithm::named(name)?),
                _ if is_bounded => return None,
                _ => Divisible::Auto,
            };
            Some((what, Frontier::root()))
        }
        Method::Sample { sampling: Sampling::Uniform, executions, seed } => {
            Some((Divisible::Sample, Frontier::of_sample(executions, seed)))
        }
        _ => None,
    }
}

impl InParts {
    /// Returns how long the search took before it was interrupted.
    pub(crate) fn time_before(&self) -> Duration {
        self.kept.as_ref().map_or(Duration::ZERO, Kept::time_before)
    }

    /// Does not explore, as the search has ended before: returns its report, and the checkpoint if that is not needed any more.
    pub(crate) fn not_begun(self, report: Report, options: &Options) -> (Report, Option<Kept>) {
        let Self { start, kept, .. } = self;
        ended(report, &start, kept, options)
    }

    /// Explores. Returns the report, and the checkpoint if that is not needed any more.
    pub(crate) fn run(
        mut self,
        loaded: &Loaded,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<(Report, Option<Kept>), Failure> {
        let division = Division {
            jobs: self.jobs,
            start: self.start,
            keeper: self.kept.as_mut().map(|kept| kept as &mut dyn Keeper),
        };
        let make = || loaded.system();
        let divided = explore_divided(self.what, &make, options, observer, division);
        let Divided { report, left } = divided.map_err(|why| {
            Failure::User(format!("the search cannot go on: {why}\n  start the check again"))
        })?;
        Ok(ended(report, &left, self.kept, options))
    }
}

/// Keeps what is left of a search that was ended before its time. Returns the checkpoint if it is not needed any more.
fn ended(
    mut report: Report,
    left: &Frontier,
    kept: Option<Kept>,
    options: &Options,
) -> (Report, Option<Kept>) {
    if options.budget.spent().is_none() {
        return (report, kept);
    }
    if let Some(kept) = kept {
        kept.write_last(left);
        report.fact("to go on", kept.command());
    }
    (report, None)
}

impl Keeper for Kept {
    fn is_due(&mut self) -> bool {
        Kept::is_due(self)
    }

    fn keep(&mut self, frontier: &Frontier) {
        self.try_write(frontier, None);
    }
}
