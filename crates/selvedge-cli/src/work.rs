//! A check by one worker, by several, or with a checkpoint.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use selvedge_core::Report;
use selvedge_explore::{
    Algorithm, Divided, Divisible, Division, Frontier, Keeper, Observer, Options, Sampling,
    Setting, explore_divided, sequential,
};

use crate::args::CheckArgs;
use crate::checkpoint::Checkpoint;
use crate::exit::{Exit, Failure, complain};
use crate::method::Method;
use crate::screen::Screen;
use crate::source::Loaded;

/// What has the classes of the default, and can be divided.
pub(crate) const DIVISIBLE: &str = "parsimonious";

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

/// Where the frontier is kept.
struct Kept {
    path: PathBuf,
    every: Duration,
    /// When the search went on, and how long it took before.
    started: Instant,
    before: Duration,
    /// Everything but the frontier.
    about: Checkpoint,
}

/// The checkpoint of a search that has come to its end.
pub(crate) struct Finished(PathBuf);

impl Finished {
    /// Removes it, now that the result was shown.
    pub(crate) fn remove(self, exit: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let exit = exit?;
        if let Err(error) = std::fs::remove_file(&self.0) {
            complain(&format!("warning: {} cannot be removed: {error}\n", self.0.display()));
        }
        Ok(exit)
    }
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
        let path = args.work.checkpoint.as_deref();
        let Some((what, root)) = divisible(method) else {
            let (why, instead) = not_divisible(method);
            if path.is_some() {
                return Err(Failure::User(format!(
                    "--checkpoint does not apply here: {why}\n  use {instead}, or leave out --checkpoint"
                )));
            }
            if jobs.get() > 1 {
                screen.warn(&format!("{why}; it runs in one thread, {instead} in {jobs}"));
            }
            return Ok(Work::Sequential);
        };
        if path.is_none() && jobs.get() == 1 {
            return Ok(Work::Sequential);
        }
        let start = match &kept {
            Some(kept) => {
                kept.belongs_to(loaded)?;
                kept.frontier()?
            }
            None => root,
        };
        let every = args.work.jobs.checkpoint_every;
        let (started, before) =
            (Instant::now(), kept.as_ref().map_or(Duration::ZERO, Checkpoint::time));
        let kept = match path {
            None => None,
            Some(path) => {
                let about = Checkpoint::new(args, loaded)?;
                if kept.is_none() {
                    about.begin(path)?;
                }
                Some(Kept { path: path.to_owned(), every, started, before, about })
            }
        };
        Ok(Work::Divided(Box::new(InParts { what, jobs, start, kept })))
    }
}

/// Returns why a search cannot be divided, and what can.
pub(crate) fn not_divisible(method: Method) -> (String, &'static str) {
    match method {
        Method::Explore(..) => (sequential(method.name()), "--algorithm parsimonious"),
        Method::Sample { .. } => (
            "--pct is sequential: where priorities change depends on how long the executions before were"
                .to_owned(),
            "--sample without --pct",
        ),
    }
}

/// Returns what is divided and where it begins, if that can be.
pub(crate) fn divisible(method: Method) -> Option<(Divisible, Frontier)> {
    match method {
        Method::Explore(chosen, ..) if chosen.takes(Setting::Division) => {
            let algorithm = Algorithm::named(chosen.info().name)?;
            Some((Divisible::Exploration(algorithm), Frontier::root()))
        }
        Method::Sample { sampling: Sampling::Uniform, executions, seed } => {
            Some((Divisible::Sample, Frontier::of_sample(executions, seed)))
        }
        _ => None,
    }
}

impl Kept {
    fn write(&self, frontier: &Frontier) -> Result<(), Failure> {
        self.about.write(&self.path, frontier, self.before + self.started.elapsed())
    }
}

impl InParts {
    /// Returns how long the search took before it was interrupted.
    pub(crate) fn time_before(&self) -> Duration {
        self.kept.as_ref().map_or(Duration::ZERO, |kept| kept.before)
    }

    /// Explores. Returns the report, and the checkpoint if that is not needed any more.
    pub(crate) fn run(
        &self,
        loaded: &Loaded,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<(Report, Option<Finished>), Failure> {
        let mut keeper = self.kept.as_ref().map(Writer::new);
        let division = Division {
            jobs: self.jobs,
            start: self.start.clone(),
            keeper: keeper.as_mut().map(|keeper| keeper as &mut dyn Keeper),
        };
        let make = || loaded.system();
        let divided = explore_divided(self.what, &make, options, observer, division);
        let Divided { mut report, left } = divided.map_err(|why| {
            Failure::User(format!("the search cannot go on: {why}\n  start the check again"))
        })?;
        let Some(kept) = &self.kept else { return Ok((report, None)) };
        if options.budget.spent().is_none() {
            return Ok((report, Some(Finished(kept.path.clone()))));
        }
        kept.write(&left)?;
        report.fact("to go on", format!("selvedge resume {}", kept.path.display()));
        Ok((report, None))
    }
}

/// Writes the checkpoint from time to time.
struct Writer<'a> {
    kept: &'a Kept,
    next: Instant,
    /// Whether it was said that it cannot be written.
    has_complained: bool,
}

impl<'a> Writer<'a> {
    fn new(kept: &'a Kept) -> Self {
        Self { kept, next: Instant::now() + kept.every, has_complained: false }
    }
}

impl Keeper for Writer<'_> {
    fn is_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.next;
        if is_due {
            self.next = Instant::now() + self.kept.every;
        }
        is_due
    }

    fn keep(&mut self, frontier: &Frontier) {
        if let Err(Failure::User(why)) = self.kept.write(frontier)
            && !std::mem::replace(&mut self.has_complained, true)
        {
            complain(&format!("warning: {why}\n  the search continues, and tries again\n"));
        }
    }
}
