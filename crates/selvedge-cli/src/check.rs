//! `selvedge check`: find a violation, or prove that there is none.

use std::time::{Duration, Instant};

use selvedge_core::{Budget, Covers, Fact, Inconclusive, Report, Schedule, Violation};
use selvedge_explore::{
    Caps, Confirmed, Equivalence, Jobs, Limits, Locks, Observers, Options, QuasiOptions, Setting,
};
use selvedge_report::{Outcome, TraceView, Tree, plural, sources};

use crate::advice::advice;
use crate::args::{CheckArgs, CyclesArg, FairnessArg, ResumeArgs};
use crate::checkpoint::Checkpoint;
use crate::constraints;
use crate::exit::{Exit, Failure};
use crate::method::Method;
use crate::progress::Watch;
use crate::random_phase::{self, Early};
use crate::registry;
use crate::screen::Screen;
use crate::shown::Shown;
use crate::so_far::{self, shown_in_any_case};
use crate::source::{Loaded, Subject, is_compiled};
use crate::work::{InParts, Work};
use crate::{memory, native, statistics, summary, weak};

/// Checks a program and shows the result.
pub(crate) fn run(args: &CheckArgs, screen: &Screen) -> Result<Exit, Failure> {
    if is_compiled(&args.program.file) {
        return native::check(None, args, screen);
    }
    args.refuse_compiled_options()?;
    if let Some(memory) = args.weak.model {
        return weak::check(args, memory, screen);
    }
    run_from(None, args, screen)
}

/// Continues a check that was interrupted.
pub(crate) fn resume(args: &ResumeArgs, screen: &Screen) -> Result<Exit, Failure> {
    let kept = Checkpoint::read(&args.checkpoint)?;
    let check = kept.check(args)?;
    if is_compiled(&check.program.file) {
        return native::check(Some(kept), &check, screen);
    }
    run_from(Some(kept), &check, screen)
}

fn run_from(kept: Option<Checkpoint>, args: &CheckArgs, screen: &Screen) -> Result<Exit, Failure> {
    check_output_options(args)?;
    if let Some(scheme) = args.symbolic.scheme {
        return crate::symbolic::run(args, scheme, screen);
    }
    let quasi = args.quasi.options(args.algorithm)?;
    let method = Method::new(args.algorithm, quasi, &args.sampling).with_observers(args.observers);
    check_constraint_options(args, &method)?;
    // With `--races` they are of no use.
    let wanted = method.takes(Setting::Constraints) && !args.races;
    let loaded = Loaded::new(&args.program, screen)?;
    let guard = args.limits.guard();
    let (loaded, used) =
        constraints::loaded(loaded, args.constraints.as_ref(), wanted, guard.budget(), screen)?;
    let options = options(args, &method, quasi, args.races, guard.budget())?;
    let covers = method.covers(&options);
    let facts = || if wanted { used.facts() } else { Vec::new() };
    let races = args.races;
    let search = Search {
        loaded: &loaded,
        method,
        covers,
        args,
        races,
        facts: &facts,
        budget: guard.budget(),
    };
    let work = Work::new(kept, args, method, &loaded, screen)?;
    let started = Instant::now();
    let conclude = |report| search.conclude(report, None, started.elapsed(), screen);
    shown_in_any_case(&conclude, || match work {
        Work::Sequential => search.run(&options, screen),
        Work::Divided(work) => search.run_divided(*work, &options, screen),
    })
}

/// A tree is shown in JSON and on a page.
pub(crate) fn check_output_options(args: &CheckArgs) -> Result<(), Failure> {
    args.output.check()?;
    if args.tree && !args.output.json && args.output.html.is_none() {
        return Err(Failure::User(
            "--tree only applies to --json and --html\n  add one of them, or leave out --tree"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns the options of a search.
///
/// # Errors
/// If some do not apply to the method.
pub(crate) fn options(
    args: &CheckArgs,
    method: &Method,
    quasi: QuasiOptions,
    races: bool,
    budget: &Budget,
) -> Result<Options, Failure> {
    let options = Options {
        budget: budget.clone(),
        keep_going: args.keep_going,
        data_races: races,
        limits: args.limits.limits(),
        cycles: args.cycles.into(),
        locks: if args.unobserved_locks { Locks::Unobserved } else { Locks::Observed },
        observers: if args.observers { Observers::Decide } else { Observers::Absent },
        statistics: args.stats,
        quasi,
        check_constraints: args.check_constraints,
        unreduced: args.unreduced,
        hash_compact: args.hash_compact,
        jobs: Jobs(args.work.jobs.jobs()?),
        symmetry: !args.no_symmetry,
        fairness: args.fairness.into(),
        caps: caps(),
    };
    if args.stats && !method.takes(Setting::Statistics) {
        return Err(Failure::User(format!(
            "--stats does not apply to `{}`, which has no statistics\n  leave it out, or use one of {}, or \
             --symbolic",
            method.name(),
            registry::takers(Setting::Statistics).join(", ")
        )));
    }
    if args.unreduced && !method.takes(Setting::Unreduced) {
        return Err(registry::only_applies("--unreduced", Setting::Unreduced));
    }
    if args.hash_compact && !method.takes(Setting::HashCompact) {
        return Err(registry::only_applies("--hash-compact", Setting::HashCompact));
    }
    if args.no_symmetry && !method.takes(Setting::Unreduced) {
        return Err(registry::only_applies("--no-symmetry", Setting::Unreduced));
    }
    if args.fairness != FairnessArg::Weak && !method.takes(Setting::Fairness) {
        return Err(registry::only_applies("--fairness", Setting::Fairness));
    }
    check_switch_bounds(args, method)?;
    check_step_limit(args, method)?;
    check_observation_options(args, method)?;
    check_observers(args, method, races)?;
    if races && !method.covers(&options).data_races {
        let name = method.name();
        let instead = if args.races { "leave it out" } else { "add --no-races" };
        return Err(Failure::User(format!(
            "--races does not apply to `{name}`, which does not detect data races\n  \
             {instead}, or use another algorithm: selvedge algorithms"
        )));
    }
    Ok(options)
}

impl Search<'_, Loaded> {
    /// Searches in parts, and shows the result.
    fn run_divided(
        &self,
        work: InParts,
        options: &Options,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let mut watch = self.watch(options);
        let before = work.time_before();
        let done = match self.run_early(options, &mut watch) {
            Early::Ends(found) => Ok(work.not_begun(*found, options)),
            Early::GoesOn(early) => work.run(self.loaded, options, &mut watch).map(|mut done| {
                random_phase::add(early, &mut done.0);
                done
            }),
        };
        let time = before + watch.finish();
        let (report, checkpoint) = done?;
        let tree = self.tree_of_parts(options);
        so_far::publish(&report);
        let exit = self.conclude(report, tree, time, screen);
        match checkpoint {
            // It is not needed any more.
            Some(finished) => finished.remove(exit),
            None => exit,
        }
    }

    /// Returns the tree of a search in parts. Workers meet executions in no fixed order, so the first ones are run again by one, in
    /// the order in which the parts are put together: the tree does not depend on how many workers there were.
    fn tree_of_parts(&self, options: &Options) -> Option<Tree> {
        if !self.args.wants_tree() {
            return None;
        }
        // With one more, the tree knows that there are more.
        let most = Tree::MOST_EXECUTIONS as u64 + 1;
        let mut short = options.clone();
        short.limits.executions =
            Some(short.limits.executions.map_or(most, |asked| asked.min(most)));
        let (_, tree) = self.method.run(self.loaded, &short, true, &mut Watch::start(false, ""));
        // Of a search that was interrupted it would have what time allowed.
        tree.filter(|_| !options.budget.is_spent())
    }
}

/// What was searched, and how.
pub(crate) struct Search<'a, L> {
    pub(crate) loaded: &'a L,
    pub(crate) args: &'a CheckArgs,
    pub(crate) method: Method,
    pub(crate) covers: Covers,
    /// Whether data races are looked for.
    pub(crate) races: bool,
    /// What else is to be said about it, once it is over.
    pub(crate) facts: &'a (dyn Fn() -> Vec<Fact> + Sync),
    pub(crate) budget: &'a Budget,
}

impl<L: Subject> Search<'_, L> {
    /// Searches, and shows the result.
    fn run(&self, options: &Options, screen: &Screen) -> Result<Exit, Failure> {
        let mut watch = self.watch(options);
        let (report, tree) = self.searched(options, &mut watch);
        let time = watch.finish();
        so_far::publish(&report);
        self.conclude(report, tree, time, screen)
    }

    /// Searches.
    pub(crate) fn searched(&self, options: &Options, watch: &mut Watch) -> (Report, Option<Tree>) {
        match self.run_early(options, watch) {
            Early::Ends(found) => (*found, None),
            Early::GoesOn(early) => {
                let wants_tree = self.args.wants_tree();
                let (mut report, tree) = self.method.run(self.loaded, options, wants_tree, watch);
                random_phase::add(early, &mut report);
                (report, tree)
            }
        }
    }

    /// Runs random executions, if the search is one of many executions.
    pub(crate) fn run_early(&self, options: &Options, watch: &mut Watch) -> Early {
        let is_wanted = match self.method {
            Method::Explore(chosen, ..) => chosen.info().equivalence != Equivalence::State,
            Method::Sample { .. } => false,
        };
        let short = random_phase::short(options);
        let Some(short) =
            short.filter(|_| is_wanted && !self.args.wants_tree() && !self.args.no_random)
        else {
            return Early::GoesOn(Vec::new());
        };
        let report = self.method.run_with(self.loaded, &short, None, watch);
        if options.budget.is_spent() {
            return Early::Ends(Box::new(report));
        }
        let found =
            random_phase::was_cut(&report).then(|| random_phase::find(self.loaded, options, watch));
        match found.flatten() {
            // Nothing more is found once the budget is spent.
            Some(found) if !options.keep_going || options.budget.is_spent() => {
                Early::Ends(Box::new(found))
            }
            Some(found) => Early::GoesOn(found.violations),
            None => Early::GoesOn(Vec::new()),
        }
    }

    /// Starts the clock and the line that shows how far the search is. An estimate is for searches of traces only.
    pub(crate) fn watch(&self, options: &Options) -> Watch {
        let watch = Watch::start(!self.args.quiet, self.method.name());
        match self.method {
            Method::Explore(chosen, _, Observers::Absent)
                if chosen.info().equivalence == Equivalence::Mazurkiewicz =>
            {
                watch.expecting(|| self.loaded.estimator(options))
            }
            Method::Explore(..) | Method::Sample { .. } => watch,
        }
    }

    /// Confirms what the search found, and shows it.
    pub(crate) fn conclude(
        &self,
        report: Report,
        tree: Option<Tree>,
        time: Duration,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        self.conclude_with(report, tree, time, "", screen)
    }

    /// The same. `also`: what a proof says besides.
    pub(crate) fn conclude_with(
        &self,
        mut report: Report,
        tree: Option<Tree>,
        time: Duration,
        also: &str,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let &Self { loaded, args, method, covers, races, budget, .. } = self;
        let source = loaded.origin();
        report.facts.splice(0..0, (self.facts)());
        explain_disregarded_races(loaded, &mut report, budget)?;
        let found = confirm_all(loaded, &mut report, budget)?;
        note_unshortened(&mut report, &found, budget);
        let searched = match report.states {
            Some(states) => plural(states, "state", "states"),
            None => plural(report.counts.maximal(), "execution", "executions"),
        };
        let shown = Shown {
            verified: format!("no violation in {searched}{also}"),
            summary: summary::summary(
                &report,
                method.describe_with(&report),
                covers,
                races,
                loaded.has_invariants(),
                time,
            ),
            statistics: report.statistics.as_deref().map(statistics::text),
            outcome: Outcome {
                file: source.file.to_owned(),
                constants: source.constants.clone(),
                method: method.reported(&report),
                covers: asked_for(covers, races),
                report,
                source: sources(Some(source.shown), &found, loaded),
                found,
                tree,
                time,
                advice,
            },
            source,
            locals: loaded.locals(),
            memory: None,
            args,
        };
        shown.show(screen)
    }
}

/// Returns where explorers give up. States have at most half of the memory: traces need some too.
fn caps() -> Caps {
    let caps = Caps::default();
    let half = usize::try_from(memory::limit_now() / 2).unwrap_or(usize::MAX);
    Caps { state_bytes: caps.state_bytes.min(half), ..caps }
}

/// Returns what a "verified" covers: data races only if they were looked for.
pub(crate) fn asked_for(covers: Covers, races: bool) -> Covers {
    Covers { data_races: covers.data_races && races, ..covers }
}

/// Not every algorithm has constraints.
fn check_constraint_options(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let given = match (&args.constraints, args.check_constraints) {
        (_, true) => "--check-constraints",
        (Some(_), false) => "--constraints",
        (None, false) => return Ok(()),
    };
    match method.takes(Setting::Constraints) {
        true => Ok(()),
        false => Err(registry::only_applies(given, Setting::Constraints)),
    }
}

/// Executions of one class differ in their switches, and some algorithms do not choose the one with the fewest.
fn check_switch_bounds(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let limits = args.limits.limits();
    let given = match (limits.preemptions, limits.context_switches) {
        (Some(_), _) => "--preemptions",
        (None, Some(_)) => "--context-switches",
        (None, None) => return Ok(()),
    };
    if method.takes(Setting::SwitchBounds) {
        return Ok(());
    }
    Err(Failure::User(format!(
        "{given} does not apply to `{}`: the execution it runs of a class need not be the one with the \
         fewest switches\n  leave it out, or use another algorithm: selvedge algorithms",
        method.name()
    )))
}

/// A search of states has no executions whose length could be limited.
fn check_step_limit(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let is_given = args.limits.limits().steps != Limits::default().steps;
    if !is_given || !method.takes(Setting::SharedStates) {
        return Ok(());
    }
    Err(Failure::User(format!(
        "--max-steps does not apply to `{}`: it expands each state once, and executions may be infinite\n  \
         leave it out, or use --time and --max-memory",
        method.name()
    )))
}

/// What a search with observers leaves open is what these options ask for.
fn check_observers(args: &CheckArgs, method: &Method, races: bool) -> Result<(), Failure> {
    if !args.observers {
        return Ok(());
    }
    if !method.takes(Setting::Observers) {
        return Err(registry::only_applies("--observers", Setting::Observers));
    }
    let limits = args.limits.limits();
    let other = match (races, limits.preemptions, limits.context_switches) {
        (true, ..) => "--races: a data race can be between two writes whose order no step observes",
        (_, Some(_), _) => {
            "--preemptions: an execution of each class is run, not one with the fewest switches"
        }
        (.., Some(_)) => {
            "--context-switches: an execution of each class is run, not one with the fewest switches"
        }
        (false, None, None) => return Ok(()),
    };
    Err(Failure::User(format!("--observers does not apply to {other}\n  leave out one of them")))
}

/// Not every algorithm has observations; and one of these options at a time.
fn check_observation_options(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let refine = args.cycles == CyclesArg::Refine;
    let given = match (refine, args.unobserved_locks) {
        (false, false) => return Ok(()),
        (true, true) => {
            return Err(Failure::User(
                "--cycles refine does not apply to --unobserved-locks\n  leave out one of them"
                    .to_owned(),
            ));
        }
        (true, false) => "--cycles refine",
        (false, true) => "--unobserved-locks",
    };
    match method.takes(Setting::Observations) {
        true => Ok(()),
        false => Err(registry::only_applies(given, Setting::Observations)),
    }
}

/// Replays every violation, while the budget lasts. One that is not reproduced is an internal error. Violations that look
/// the same to the user are shown once.
pub(crate) fn confirm_all<L: Subject>(
    loaded: &L,
    report: &mut Report,
    budget: &Budget,
) -> Result<Vec<TraceView>, Failure> {
    let mut found: Vec<TraceView> = Vec::new();
    for (index, (violation, schedule)) in report.violations.iter().enumerate() {
        // One is enough for the verdict. Nothing is shown that was not replayed.
        if budget.is_spent() && !found.is_empty() {
            let left = report.violations.len() - index;
            report.count("violations not replayed", left as u64);
            break;
        }
        let trace = confirm(loaded, violation, schedule, budget)?;
        let new = &trace.violations[0];
        let is_known = found.iter().any(|known| {
            let known = &known.violations[0];
            (known.kind, &known.message, &known.places) == (new.kind, &new.message, &new.places)
        });
        if !is_known {
            found.push(trace);
        }
    }
    Ok(found)
}

/// Says that executions are shown as they were found, if there was no time to shorten them.
pub(crate) fn note_unshortened(report: &mut Report, found: &[TraceView], budget: &Budget) {
    if let Some(spent) = budget.spent()
        && !found.is_empty()
    {
        report.fact("context switches", format!("may not be minimal: {spent}"));
    }
}

/// Says which accesses race, if a search disregarded that.
fn explain_disregarded_races<L: Subject>(
    loaded: &L,
    report: &mut Report,
    budget: &Budget,
) -> Result<(), Failure> {
    // Races of different threads may look the same to the user.
    for reason in std::mem::take(&mut report.inconclusive) {
        let reason = match reason {
            Inconclusive::DataRace(met) => {
                let trace = confirm(loaded, &met.0, &met.1, budget)?;
                let race = &trace.violations[0];
                Inconclusive::GaveUp(format!(
                    "{}\n  {}\n  --locks-only is sound only without data races: leave it out, or show the race \
                     with --races",
                    race.message,
                    race.notes.join("\n  "),
                ))
            }
            other => other,
        };
        report.note(reason);
    }
    Ok(())
}

fn confirm<L: Subject>(
    loaded: &L,
    violation: &Violation,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<TraceView, Failure> {
    match selvedge_explore::confirm_within(&|| loaded.system(), violation, schedule, budget) {
        Ok(Confirmed { violation, replay, .. }) => {
            Ok(TraceView::new(&replay, &[&violation], loaded))
        }
        Err(error) => Err(Failure::Internal(format!(
            "the search found \"{}\", but the replay of {schedule} did not: {}",
            violation.message, error.reason
        ))),
    }
}
