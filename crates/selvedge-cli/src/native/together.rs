//! A search of a C program in parts: by copies of the process, and with a checkpoint.

use std::num::NonZeroUsize;

use selvedge_core::{Inconclusive, Report};
use selvedge_crew::{Crew, Journal, Keeper, Pace, Told};
use selvedge_explore::{
    Divided, Divisible, Frontier, Ledger, Observer, Options, put_together, run_unit,
};

use super::besides;
use super::program::Compiled;
use crate::check::Search;
use crate::checkpoint::{About, Checkpoint, Kept};
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::named::Named;
use crate::random_phase::{self, Early};
use crate::screen::Screen;

impl Keeper for Kept {
    fn is_due(&mut self) -> bool {
        Kept::is_due(self)
    }

    fn keep(&mut self, frontier: &Frontier, told: &Told) {
        self.try_write(frontier, Some(told.clone()));
    }
}

/// What is divided, where it begins, and among how many processes.
pub(super) struct Parts {
    pub(super) what: Divisible,
    pub(super) root: Frontier,
    pub(super) jobs: NonZeroUsize,
}

impl Search<'_, Compiled> {
    /// Searches in parts, and shows the result. `interrupted`: where to go on.
    pub(super) fn run_in_parts(
        &self,
        parts: &Parts,
        interrupted: Option<&Checkpoint>,
        options: &Options,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let (loaded, args) = (self.loaded, self.args);
        let mut kept = None;
        if let Some(path) = args.work.checkpoint.as_deref() {
            let program = loaded.identity()?;
            if let Some(interrupted) = interrupted {
                interrupted.belongs_to(&program, &[])?;
            }
            let about = About::of_program(args, loaded.files.name(), program);
            kept = Some(Kept::new(path, about, args, &parts.root, interrupted)?);
        }
        let before = interrupted.map(Checkpoint::time).unwrap_or_default();
        let interrupted = interrupted.map(|it| Ok((it.frontier()?, it.told()))).transpose()?;
        let mut journal = match &mut kept {
            Some(kept) => Journal::new(kept, interrupted),
            None => Journal::default(),
        };
        let exit = besides::run(self, options, before, screen, |watch| {
            let early = match self.run_early(options, watch) {
                Early::Ends(found) => return Ok((self.to_go_on(*found, options), None)),
                Early::GoesOn(early) => early,
            };
            let mut left = Err(String::new());
            let mut report = loaded.search(|| {
                watch.begins();
                let divided = loaded.explore_in_parts(parts, options, &mut journal, watch);
                let (report, end) = match divided {
                    Ok(Divided { report, left }) => (report, Ok(left)),
                    Err(why) => (Report::default(), Err(why)),
                };
                left = end;
                report
            });
            match left {
                Ok(left) => journal.keep(&left),
                Err(why) if journal.is_kept() => {
                    return Err(Failure::User(format!(
                        "the search cannot go on: {why}\n  start the check again, without the checkpoint"
                    )));
                }
                Err(why) => {
                    report.note(Inconclusive::GaveUp(format!("the search cannot go on: {why}")));
                }
            }
            random_phase::add(early, &mut report);
            Ok((self.to_go_on(report, options), None))
        });
        match kept {
            Some(kept) if options.budget.spent().is_none() => kept.remove(exit),
            _ => exit,
        }
    }

    /// Says how to go on with a search that was ended before its time.
    fn to_go_on(&self, mut report: Report, options: &Options) -> Report {
        let kept = self.args.work.checkpoint.as_ref().filter(|_| options.budget.is_spent());
        if let Some(path) = kept {
            report.fact("to go on", format!("selvedge resume {}", path.display()));
        }
        report
    }
}

impl Compiled {
    /// Explores with copies of this process, once.
    fn explore_in_parts(
        &self,
        parts: &Parts,
        options: &Options,
        journal: &mut Journal<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Divided, String> {
        let &Parts { what, jobs, .. } = parts;
        let make = || Named::new(self.program.program(), None);
        let crew = Crew {
            jobs,
            pace: Pace::default(),
            run: &|unit, go_on| run_unit(what, &make, options, unit, go_on),
            as_copy: &|| {
                selvedge_native::stop_recording();
                memory::divide_limit(jobs.get());
            },
            told: &|| self.program.known(),
            is_void: &|| self.program.is_void(),
            is_full: &memory::is_exceeded,
            budget: &options.budget,
        };
        let limit = options.limits.executions;
        let mut ledger = Ledger::new(parts.root.clone(), options.keep_going, limit);
        let ended = crew.explore(&mut ledger, journal, observer)?;
        put_together(what, &make, options, ledger.frontier().clone(), ended)
    }
}
