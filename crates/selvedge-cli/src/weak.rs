//! `selvedge check --memory`: models under a memory model, as execution graphs.

mod view;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::{
    Bound, Covers, Ended, Ending, Fault, GraphDescribe, Inconclusive, ReplayError, Report,
    Schedule, Step, ThreadId, Violation, ViolationKind,
};
use selvedge_explore::{
    Finding, Followed, Graph, GraphObserver, GraphReport, Memory, Observer as _, Options, Progress,
    Sampled, Witness, explore_graphs, follow,
};
use selvedge_lang::{GraphInterpreter, Refusal};
use selvedge_report::{Method, Origin, Outcome, TraceView, Tree, execution, plural, sources};

use crate::advice::advice_under_model;
use crate::args::{CheckArgs, ReplayArgs};
use crate::check::check_output_options;
use crate::exit::{Exit, Failure};
use crate::progress::Watch;
use crate::screen::Screen;
use crate::shown::Shown;
use crate::so_far::{self, shown_in_any_case};
use crate::source::{Loaded, Source, Subject as _};
use crate::{estimate, replay, summary};

/// What two executions have in common that are the same.
pub(crate) const EQUIVALENCE: &str = "reads-from and modification order";

/// A model with a memory model.
struct Weak<'a> {
    loaded: &'a Loaded,
    memory: Memory,
}

impl Origin for Weak<'_> {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        self.loaded.text(file)
    }

    fn replay_command(&self, schedule: &Schedule, kind: ViolationKind) -> String {
        // Under sequential consistency, data races are shown only with --races.
        let races = kind == ViolationKind::DataRace && self.memory == Memory::Sc;
        let races = if races { " --races" } else { "" };
        let schedule = schedule.to_string();
        let schedule = if schedule.is_empty() { "''" } else { &schedule };
        let command = self.loaded.command("replay");
        format!("{command} --memory {}{races} --schedule {schedule}", self.memory.name())
    }
}

impl Weak<'_> {
    /// A fresh system.
    fn system(&self) -> Result<GraphInterpreter, Failure> {
        let system = GraphInterpreter::new(Arc::clone(self.loaded.program()));
        system.map_err(|refused| Failure::Rendered(refusal(&refused, self.memory)))
    }

    /// Returns what estimates the number of executions, while the search is running.
    fn estimator(&self, options: &Options) -> impl FnOnce() -> Option<Sampled> + use<> {
        let (program, memory) = (Arc::clone(self.loaded.program()), self.memory);
        let options = options.clone();
        move || {
            let mut system = GraphInterpreter::new(program).ok()?;
            estimate::graphs_in_passing(&mut system, memory, &options)
        }
    }

    fn wants_races(&self, asked: bool) -> bool {
        asked || self.memory != Memory::Sc
    }
}

/// Everything that has no meaning under a memory model, with what to do about it.
fn refusal(refused: &[Refusal], memory: Memory) -> String {
    let one = |refusal: &Refusal| {
        let Refusal { place, message, help } = refusal;
        format!("error: {message}\n  at {place}\n  {help}\n")
    };
    let all: String = refused.iter().map(one).collect();
    let count = plural(refused.len() as u64, "place has", "places have");
    format!("{all}{count} no meaning under --memory {}\n", memory.name())
}

/// What came of a search through graphs.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) report: Report,
    pub(crate) traces: Vec<TraceView>,
    pub(crate) tree: Option<Tree>,
}

/// Explores a program, and follows what was found on a fresh system.
pub(crate) fn explore(
    loaded: &Loaded,
    memory: Memory,
    options: &Options,
    wants_tree: bool,
    watch: &mut Watch,
) -> Result<Found, Failure> {
    let weak = Weak { loaded, memory };
    let mut system = weak.system()?;
    let mut watching = Watching::new(watch, wants_tree);
    let found = explore_graphs(&mut system, memory, options, &mut watching);
    let tree = watching.into_tree(&system);
    let mut report = report_of(&found, loaded.program().threads.len());
    if options.statistics {
        report.count("events added", found.events);
        report.count("events taken back", found.inconsistent);
    }
    let races = weak.wants_races(options.data_races);
    let make = || weak.system();
    let traces = confirm_all(&make, &weak, memory, &found.findings, &mut report, races)?;
    Ok(Found { report, traces, tree })
}

/// Checks a program and shows the result.
pub(crate) fn check(args: &CheckArgs, memory: Memory, screen: &Screen) -> Result<Exit, Failure> {
    check_output_options(args)?;
    args.refuse_with_memory()?;
    warn_about_jobs(args, screen)?;
    let loaded = Loaded::new(&args.program, screen)?;
    let weak = Weak { loaded: &loaded, memory };
    let guard = args.limits.guard();
    let races = weak.wants_races(args.races);
    let options = Options {
        budget: guard.budget().clone(),
        keep_going: args.keep_going,
        data_races: races,
        limits: args.limits.limits(),
        statistics: args.stats,
        ..Options::default()
    };
    let started = Instant::now();
    let conclude = |report| {
        let found = Found { report, ..Found::default() };
        show(&weak, args, found, started.elapsed(), races, screen)
    };
    shown_in_any_case(&conclude, || {
        let mut watch = Watch::start(!args.quiet, "graph")
            .expecting(|| Some(Box::new(weak.estimator(&options))));
        let found = explore(&loaded, memory, &options, args.wants_tree(), &mut watch);
        let time = watch.finish();
        let found = found?;
        so_far::publish(&found.report);
        show(&weak, args, found, time, races, screen)
    })
}

/// Watches a search through graphs, and records its executions if a tree of them is wanted.
pub(crate) struct Watching<'w> {
    watch: &'w mut Watch,
    tree: Option<Tree>,
}

impl<'w> Watching<'w> {
    pub(crate) fn new(watch: &'w mut Watch, wants_tree: bool) -> Self {
        watch.begins();
        Self { watch, tree: wants_tree.then(Tree::default) }
    }

    /// Returns the executions of the search of this system, which is over.
    pub(crate) fn into_tree<S: GraphDescribe>(self, system: &S) -> Option<Tree> {
        let mut tree = self.tree?;
        let threads = (0..system.thread_count()).map(ThreadId::new);
        tree.threads = threads.map(|thread| system.thread_name(thread)).collect();
        Some(tree)
    }
}

impl GraphObserver for Watching<'_> {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.watch.meet(|_| graph.hash());
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        if let Some(tree) = &mut self.tree {
            tree.add(steps, how);
        }
    }

    fn wants_steps(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| !tree.is_truncated())
    }

    fn poll(&mut self, report: &GraphReport) -> Option<Bound> {
        let progress = || Progress {
            counts: report.counts,
            states: None,
            steps: report.events,
            depth: report.longest,
            // What comes first in the order of this search is not representative of the rest.
            fraction: 0.0,
        };
        self.watch.poll(&progress)
    }
}

pub(crate) fn report_of(found: &GraphReport, threads: usize) -> Report {
    Report {
        counts: found.counts,
        steps: found.events,
        longest: found.longest,
        threads,
        inconclusive: found.inconclusive.clone(),
        ..Report::default()
    }
}

/// Follows the execution of every finding on a fresh system. One that is not found again is an internal error.
pub(crate) fn confirm_all<S: GraphDescribe>(
    make: &dyn Fn() -> Result<S, Failure>,
    origin: &dyn Origin,
    memory: Memory,
    findings: &[(Finding, Witness)],
    report: &mut Report,
    races: bool,
) -> Result<Vec<TraceView>, Failure> {
    let mut traces: Vec<TraceView> = Vec::new();
    for (finding, witness) in findings {
        let (mut system, followed, violation) = confirm(make, memory, finding, witness, races)?;
        report.threads = report.threads.max(followed.graph.threads().count());
        let trace = view::trace(&mut system, &followed, std::slice::from_ref(&violation), origin);
        let new = &trace.violations[0];
        let is_known = traces.iter().any(|known: &TraceView| {
            let known = &known.violations[0];
            (known.kind, &known.message, &known.places) == (new.kind, &new.message, &new.places)
        });
        if !is_known {
            report.violations.push((violation, followed.schedule.clone()));
            traces.push(trace);
        }
    }
    Ok(traces)
}

/// Follows the execution of a finding, in an order that people can read or else in that of the search. Returns what shows it.
fn confirm<S: GraphDescribe>(
    make: &dyn Fn() -> Result<S, Failure>,
    memory: Memory,
    finding: &Finding,
    witness: &Witness,
    races: bool,
) -> Result<(S, Followed, Violation), Failure> {
    let mut last = None;
    for steps in witness.runs() {
        let mut system = make()?;
        let schedule = Schedule::from(steps.to_vec());
        let followed = follow(&mut system, memory, &schedule, races, &mut |_, _| {}).map_err(|error| {
            Failure::Internal(format!(
                "the search found {finding:?}, but its execution could not be followed: {} at step {}",
                error.reason,
                error.at + 1
            ))
        })?;
        let again = followed.found.iter().find(|(other, _)| is_same(finding, other));
        // At a data race the search stops in the middle of an operation, whose other part may be a race with an earlier access.
        let is_race = matches!(finding, Finding::DataRace(..));
        let again = again.or_else(|| followed.found.first().filter(|_| is_race));
        if let Some(violation) = again.map(|(_, violation)| violation.clone()) {
            return Ok((system, followed, violation));
        }
        last = Some(followed.schedule);
    }
    let schedule = last.map_or_else(String::new, |schedule| schedule.to_string());
    Err(Failure::Internal(format!(
        "the search found {finding:?}, but following {schedule} did not"
    )))
}

/// Whether two findings of different systems are the same. Threads may have other numbers there.
fn is_same(one: &Finding, other: &Finding) -> bool {
    match (one, other) {
        (Finding::Fault(_, Fault::Violation(one)), Finding::Fault(_, Fault::Violation(other)))
        | (Finding::Judged(one), Finding::Judged(other)) => one.same_as(other),
        (Finding::DataRace(a, b), Finding::DataRace(c, d)) => (a.nth, b.nth) == (c.nth, d.nth),
        _ => false,
    }
}

fn show(
    weak: &Weak<'_>,
    args: &CheckArgs,
    found: Found,
    time: Duration,
    races: bool,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let Found { mut report, traces, tree } = found;
    let (loaded, model) = (weak.loaded, described(weak.memory));
    let executions = plural(report.counts.maximal(), "execution", "executions");
    let covers = Covers { data_races: races, ..Covers::EVERYTHING };
    let search = format!("graph, --memory {}", weak.memory.name());
    let has_invariants = loaded.has_invariants();
    report.fact("memory model", model.to_owned());
    let shown = Shown {
        verified: format!("no violation in {executions} under {}", weak.memory.name()),
        summary: summary::summary(&report, search, Covers::EVERYTHING, races, has_invariants, time),
        statistics: None,
        outcome: Outcome {
            file: loaded.file.clone(),
            constants: loaded.constants.clone(),
            method: Method::Explored {
                algorithm: "graph",
                equivalence: Some(EQUIVALENCE),
                seed: None,
            },
            covers,
            report,
            source: sources(Some(loaded.name()), &traces, weak),
            found: traces,
            tree,
            time,
            advice: advice_under_model,
        },
        source: loaded.origin(),
        locals: String::new(),
        memory: Some(weak.memory),
        args,
    };
    shown.show(screen)
}

/// Says that one process does everything.
pub(crate) fn warn_about_jobs(args: &CheckArgs, screen: &Screen) -> Result<(), Failure> {
    let jobs = args.work.jobs.jobs()?;
    if jobs.get() > 1 {
        screen.warn(&format!(
            "a search under --memory is not divided: it runs in one process, and not in {jobs}"
        ));
    }
    Ok(())
}

/// A memory model in a few words.
pub(crate) fn described(memory: Memory) -> &'static str {
    match memory {
        Memory::Sc => "sc: sequential consistency",
        Memory::Tso => "tso: x86, stores may be delayed past later loads",
        Memory::Rc11 => "rc11: C11, C++ and Rust, without load buffering",
        Memory::Cxx20 => "c++20: rc11, with the order of seq_cst operations as C++20 words it",
    }
}

/// Follows a schedule, and shows what happens.
pub(crate) fn replay(
    loaded: &Loaded,
    memory: Memory,
    schedule: &Schedule,
    races: bool,
    args: &ReplayArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let weak = Weak { loaded, memory };
    refuse_steps(args)?;
    let mut system = weak.system()?;
    let followed = follow(&mut system, memory, schedule, weak.wants_races(races), &mut |_, _| {})
        .map_err(|error| impossible(&error, memory, &loaded.command("check")))?;
    show_followed(&mut system, &followed, loaded.origin(), &weak, args, screen)
}

/// Steps are not shown one at a time.
pub(crate) fn refuse_steps(args: &ReplayArgs) -> Result<(), Failure> {
    match args.step {
        false => Ok(()),
        true => Err(Failure::User(
            "--step does not apply to --memory: what a thread sees next is not decided by the state alone\n  leave out \
             --step"
                .to_owned(),
        )),
    }
}

/// A schedule that cannot be followed. `check`: the command that finds one.
pub(crate) fn impossible(error: &ReplayError, memory: Memory, check: &str) -> Failure {
    Failure::User(format!(
        "step {} of the schedule is not possible under {}: {}\n  a schedule belongs to one program, its \
         constants and a memory model; find one: {check} --memory {}",
        error.at + 1,
        memory.name(),
        error.reason,
        memory.name(),
    ))
}

/// Shows an execution that was followed.
pub(crate) fn show_followed<S: GraphDescribe>(
    system: &mut S,
    followed: &Followed,
    from: Source<'_>,
    origin: &dyn Origin,
    args: &ReplayArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let violations: Vec<_> =
        followed.found.iter().map(|(_, violation)| violation.clone()).collect();
    let trace = view::trace(system, followed, &violations, origin);
    let exit = if violations.is_empty() { Exit::Good } else { Exit::Violated };
    replay::output(&trace, exit, from, origin, args, screen, || {
        let options = screen.text_options(args.output.full);
        let ending = match &followed.gave_up {
            Some(Inconclusive::GaveUp(reason)) => format!("the tool gave up: {reason}\n"),
            _ => replay::ending(&trace, screen),
        };
        screen.print(&format!("{}\n{ending}", execution(&trace, &options)))
    })
}
