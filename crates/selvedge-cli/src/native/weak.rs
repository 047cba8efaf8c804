//! C programs under a memory model.

use std::borrow::Cow;
use std::time::Duration;

use selvedge_core::{
    Bound, Covers, Ended, Ending, Fact, Inconclusive, Report, Schedule, Step, ViolationKind,
};
use selvedge_explore::{
    Graph, GraphObserver, GraphReport, Memory, Options, explore_graphs, follow,
};
use selvedge_report::{Method, Origin, Outcome, SourceView, plural, sources};

use super::program::{self, Compiled, Files};
use crate::advice::advice_under_model;
use crate::args::{CheckArgs, ReplayArgs};
use crate::exit::{Exit, Failure};
use crate::progress::Watch;
use crate::screen::Screen;
use crate::shown::Shown;
use crate::so_far::{self, shown_in_any_case};
use crate::source::Subject as _;
use crate::summary;
use crate::weak::{self, Found, Watching};

/// A program with a memory model.
pub(super) struct Weak<'a> {
    pub(super) loaded: &'a Compiled,
    pub(super) memory: Memory,
}

impl Origin for Weak<'_> {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        self.loaded.text(file)
    }

    fn replay_command(&self, schedule: &Schedule, kind: ViolationKind) -> String {
        let leaks = if kind == ViolationKind::Leak { " --leaks" } else { "" };
        let options = format!(" --memory {}{leaks}", self.memory.name());
        let locals = self.loaded.program.shared_locals();
        program::with_schedule(&self.loaded.files.command("replay"), schedule, &options, &locals)
    }
}

/// What does not apply to memory models.
pub(super) fn refuse_options(args: &CheckArgs) -> Result<(), Failure> {
    if args.weak.model.is_none() {
        return Ok(());
    }
    if args.no_races {
        return Err(Failure::User(
            "--no-races does not apply to --memory: after a data race a C program may do anything\n  leave it out"
                .to_owned(),
        ));
    }
    args.refuse_with_memory()
}

/// Ends a search that is out of date.
struct Looking<'a, 'w> {
    loaded: &'a Compiled,
    watching: Watching<'w>,
    threads: usize,
}

impl GraphObserver for Looking<'_, '_> {
    fn execution(&mut self, graph: &Graph, ending: Ending) {
        self.threads = self.threads.max(graph.threads().count());
        self.watching.execution(graph, ending);
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        self.watching.ended(steps, how);
    }

    fn wants_steps(&self) -> bool {
        self.watching.wants_steps()
    }

    fn poll(&mut self, report: &GraphReport) -> Option<Bound> {
        match self.loaded.program.is_void() {
            true => Some(Bound::Interrupted),
            false => self.watching.poll(report),
        }
    }
}

/// Checks a program and shows the result.
pub(super) fn check(
    loaded: &Compiled,
    args: &CheckArgs,
    memory: Memory,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let weak = Weak { loaded, memory };
    weak::warn_about_jobs(args, screen)?;
    let guard = args.limits.guard();
    let options = Options {
        budget: guard.budget().clone(),
        keep_going: args.keep_going,
        data_races: true,
        limits: args.limits.limits(),
        statistics: args.stats,
        ..Options::default()
    };
    let started = std::time::Instant::now();
    let told = Told { files: &loaded.files, facts: loaded.facts(), memory, args };
    let conclude = |report| {
        let found = Found { report, ..Found::default() };
        told.show(found, Besides::default(), started.elapsed(), screen)
    };
    shown_in_any_case(&conclude, || {
        let mut watch = weak.watch(args, &options);
        let found = weak.explore(&options, args.wants_tree(), &mut watch);
        let time = watch.finish();
        let found = found?;
        so_far::publish(&found.report);
        weak.show(found, args, time, screen)
    })
}

impl Weak<'_> {
    /// Shows what was found.
    pub(super) fn show(
        &self,
        found: Found,
        args: &CheckArgs,
        time: Duration,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let &Weak { loaded, memory } = self;
        let source = sources(Some(loaded.files.name()), &found.traces, self);
        let told = Told { files: &loaded.files, facts: loaded.facts(), memory, args };
        told.show(found, Besides { source, locals: loaded.locals() }, time, screen)
    }

    /// Starts the clock and the line that shows how far the search is.
    pub(super) fn watch(&self, args: &CheckArgs, options: &Options) -> Watch {
        let &Weak { loaded, memory } = self;
        Watch::start(!args.quiet, "graph").expecting(|| loaded.estimate_graphs(memory, options))
    }

    /// Explores until nothing new is learned, and follows what was found on fresh systems.
    pub(super) fn explore(
        &self,
        options: &Options,
        wants_tree: bool,
        watch: &mut Watch,
    ) -> Result<Found, Failure> {
        if let Some(file) = self.loaded.notes.fences.first() {
            let mut report = Report::default();
            report.note(Inconclusive::GaveUp(format!(
                "{file} has the instruction mfence, which a memory model does not see; use \
                 atomic_thread_fence(memory_order_seq_cst), or check it with --sequentially-consistent"
            )));
            return Ok(Found { report, ..Found::default() });
        }
        let program = &self.loaded.program;
        let (mut traces, mut tree) = (Ok(Vec::new()), None);
        let mut report = program.settle(|| {
            let mut looking = Looking {
                loaded: self.loaded,
                watching: Watching::new(watch, wants_tree),
                threads: 0,
            };
            let mut system = program.graph_program(false);
            let found = explore_graphs(&mut system, self.memory, options, &mut looking);
            let mut report = weak::report_of(&found, looking.threads);
            tree = looking.watching.into_tree(&system);
            if program.is_void() {
                return report;
            }
            if options.statistics {
                report.count("events added", found.events);
                report.count("events taken back", found.inconsistent);
            }
            let make = || Ok(program.graph_program(true));
            traces =
                weak::confirm_all(&make, self, self.memory, &found.findings, &mut report, true);
            report
        });
        self.loaded.add_doubts(&mut report);
        let mut traces = traces?;
        if report.violations.is_empty() {
            // What was found is in doubt.
            traces.clear();
        }
        Ok(Found { report, traces, tree })
    }
}

/// What a check has to say, wherever it is said.
struct Told<'a> {
    files: &'a Files,
    facts: Vec<Fact>,
    memory: Memory,
    args: &'a CheckArgs,
}

/// What belongs to executions that were found: the lines that they show, and variables on stacks that threads share.
#[derive(Default)]
struct Besides {
    source: Vec<SourceView>,
    locals: String,
}

impl Told<'_> {
    fn show(
        &self,
        found: Found,
        besides: Besides,
        time: Duration,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let Found { mut report, traces, tree } = found;
        let executions = plural(report.counts.maximal(), "execution", "executions");
        let search = format!("graph, --memory {}", self.memory.name());
        report.fact("memory model", weak::described(self.memory).to_owned());
        report.facts.extend(self.facts.iter().cloned());
        let shown = Shown {
            verified: format!("no violation in {executions} under {}", self.memory.name()),
            summary: summary::summary(&report, search, Covers::EVERYTHING, true, false, time),
            statistics: None,
            outcome: Outcome {
                file: self.files.name().to_owned(),
                constants: Default::default(),
                method: Method::Explored {
                    algorithm: "graph",
                    equivalence: Some(weak::EQUIVALENCE),
                    seed: None,
                },
                covers: Covers::EVERYTHING,
                report,
                source: besides.source,
                found: traces,
                tree,
                time,
                advice: advice_under_model,
            },
            source: self.files.source(),
            locals: besides.locals,
            memory: Some(self.memory),
            args: self.args,
        };
        shown.show(screen)
    }
}

/// Follows a schedule, and shows what happens.
pub(super) fn replay(
    loaded: &Compiled,
    memory: Memory,
    schedule: &Schedule,
    args: &ReplayArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let weak = Weak { loaded, memory };
    weak::refuse_steps(args)?;
    let mut followed = None;
    let learned = loaded.program.settle(|| {
        let mut system = loaded.program.graph_program(true);
        let result = follow(&mut system, memory, schedule, true, &mut |_, _| {});
        followed = Some((system, result));
        Report::default()
    });
    if let (Some(Inconclusive::GaveUp(reason)), _) = (learned.inconclusive.first(), &followed) {
        return Err(Failure::User(reason.clone()));
    }
    let Some((mut system, result)) = followed else {
        return Err(Failure::Internal("nothing was followed".to_owned()));
    };
    let check = loaded.files.command("check");
    let followed = result.map_err(|error| weak::impossible(&error, memory, &check))?;
    let output = system.output();
    let exit = weak::show_followed(&mut system, &followed, loaded.origin(), &weak, args, screen)?;
    super::show_output(&output, args, screen)?;
    Ok(exit)
}
