//! `selvedge farm work`: run parts of the jobs on a server.

use selvedge_core::{Budget, Spent};
use selvedge_explore::{Part, QuasiOptions, run_unit};
use selvedge_farm::{Job, Opened, Output, Settings, Workshop};

use super::ledger;
use super::submit::DIVISIBLE;
use crate::args::{FarmWorkArgs, checked};
use crate::check;
use crate::exit::{Exit, Failure, complain};
use crate::method::Method;
use crate::screen::Screen;
use crate::source::Loaded;

/// Works until it is ended.
pub(super) fn run(args: &FarmWorkArgs, screen: &Screen) -> Result<Exit, Failure> {
    let guard = args.guard();
    let server = super::connect(&args.access)?;
    let threads = args.threads();
    let settings = Settings { threads, job: args.job.clone(), idle: args.idle };
    let here = Here { budget: guard.budget(), build: super::build()?, screen };
    complain(&format!(
        "working for {} with {}; Ctrl-C ends it\n",
        server.shown(),
        selvedge_report::plural(threads as u64, "thread", "threads")
    ));
    let worked = selvedge_farm::work(&server, &settings, &here).map_err(super::failure)?;
    complain(&format!(
        "worked on {}\n",
        selvedge_report::plural(worked.batches, "batch", "batches")
    ));
    match here.budget.spent() {
        Some(Spent::Memory) => Err(Failure::User(
            "the memory limit was reached; what was not finished is handed back\n  raise --max-memory, or use fewer \
             threads with --jobs"
                .to_owned(),
        )),
        _ => Ok(Exit::Good),
    }
}

/// This machine.
struct Here<'a> {
    budget: &'a Budget,
    build: String,
    screen: &'a Screen,
}

impl Workshop for Here<'_> {
    fn open(&self, job: &Job) -> Result<Opened<'_>, String> {
        if (job.version.as_str(), &job.build) != (super::VERSION, &self.build) {
            let which = match job.version == super::VERSION {
                true => format!("another build of {}", job.version),
                false => format!("selvedge {}, and this is {}", job.version, super::VERSION),
            };
            return Err(format!(
                "it is of {which}, which may divide the search differently\n  start workers with the executable that \
                 submitted it"
            ));
        }
        self.load(job).map_err(|failure| match failure {
            Failure::User(text) | Failure::Rendered(text) | Failure::Internal(text) => text,
        })
    }

    fn go_on(&self) -> bool {
        !self.budget.is_spent()
    }

    fn say(&self, text: &str) {
        complain(&format!("{text}\n"));
    }
}

impl Here<'_> {
    fn load(&self, job: &Job) -> Result<Opened<'_>, Failure> {
        let constants = job.constants.iter().map(|constant| format!("--const={constant}"));
        let args = checked(job.arguments.iter().cloned().chain(constants))?;
        let given = args.program.constants()?;
        let (file, text) = (job.file.clone(), job.text.clone());
        let (loaded, _) = Loaded::compile_quietly(file, text, given, self.screen)?;
        if loaded.identity() != job.program {
            return Err(Failure::User(
                "its program is another one here\n  start workers with the executable that submitted it".to_owned(),
            ));
        }
        let quasi = QuasiOptions::default();
        let method = Method::new(args.algorithm, quasi, &args.sampling);
        let options = check::options(&args, &method, quasi, args.races, self.budget)?;
        Ok(Box::new(move |unit, go_on| {
            let Some(pending) = ledger::unit(unit) else {
                return Output::Damaged(format!("`{unit}` is not a unit of work"));
            };
            let make = || loaded.system();
            let mut goes_on = |ran: u64| ran == 0 || go_on();
            match run_unit(DIVISIBLE, &make, &options, &pending, &mut goes_on) {
                Err(why) => Output::Damaged(why),
                Ok(parts) => {
                    // Whatever was run is worth telling. If not even the unit itself was, it is left as it is.
                    let is_left =
                        |part: &Part| matches!(part, Part::ToDo(left) if left.unit == pending.unit);
                    match parts.iter().any(is_left) {
                        true => Output::NotBegun,
                        false => Output::Ran(ledger::parts_text(&parts)),
                    }
                }
            }
        }))
    }
}
