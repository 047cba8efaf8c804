//! `selvedge check`: find a violation, or prove that there is none.

use std::time::Duration;

use selvedge_core::{Budget, Counts, Inconclusive, Report, Schedule, Verdict, Violation};
use selvedge_explore::{
    Algorithm, Caps, Confirmed, Covers, Independence, Locks, Options, QuasiOptions, Sampling,
};
use selvedge_report::{
    CheckJson, CoversJson, Style, TextOptions, TraceView, ViolationJson, execution, facts_json,
    plural, to_text, violation,
};

use crate::advice::advice;
use crate::args::{CheckArgs, CyclesArg, SamplingArgs};
use crate::constraints;
use crate::exit::{self, Exit, Failure};
use crate::progress::Watch;
use crate::registry::Chosen;
use crate::saved;
use crate::screen::Screen;
use crate::source::Loaded;
use crate::{statistics, summary};

/// How executions are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// One of each class. The options are for `quasi` alone.
    Explore(Chosen, QuasiOptions),
    /// Some at random.
    Sample { sampling: Sampling, executions: u64, seed: u64 },
}

/// Checks a program and shows the result.
pub(crate) fn run(args: &CheckArgs, screen: &Screen) -> Result<Exit, Failure> {
    if let Some(scheme) = args.symbolic.scheme {
        return crate::symbolic::run(args, scheme, screen);
    }
    let quasi = args.quasi.options(args.algorithm)?;
    let method = Method::new(args.algorithm, quasi, &args.sampling);
    check_constraint_options(args, &method)?;
    // With `--races` they are of no use.
    let wanted = method.is_constrained() && !args.races;
    let loaded = Loaded::new(&args.program, screen)?;
    let guard = args.limits.guard();
    let (loaded, used) =
        constraints::loaded(loaded, args.constraints.as_ref(), wanted, guard.budget(), screen)?;
    let options = Options {
        budget: guard.budget().clone(),
        keep_going: args.keep_going,
        data_races: args.races,
        limits: args.limits.limits(),
        cycles: args.cycles.into(),
        locks: if args.unobserved_locks { Locks::Unobserved } else { Locks::Observed },
        statistics: args.stats,
        quasi,
        check_constraints: args.check_constraints,
        caps: Caps::default(),
    };
    let tells = [Algorithm::Quasi, Algorithm::DataCentric].map(|algorithm| algorithm.info().name);
    if args.stats && !tells.contains(&method.name()) {
        return Err(Failure::User(format!(
            "--stats does not apply to `{}`, which has no statistics\n  leave it out, or use --algorithm \
             quasi, --algorithm data-centric or --symbolic",
            method.name()
        )));
    }
    check_switch_bounds(args, &method)?;
    check_observation_options(args, &method)?;
    let covers = method.covers(&options);
    if args.races && !covers.data_races {
        let name = method.name();
        return Err(Failure::User(format!(
            "--races does not apply to `{name}`, which does not detect data races\n  \
             leave it out, or use another algorithm: selvedge algorithms"
        )));
    }

    let mut watch = Watch::start(!args.quiet, method.name());
    let mut report = method.run(&loaded, &options, &mut watch);
    let time = watch.finish();
    if wanted {
        report.facts.splice(0..0, used.facts());
    }
    explain_disregarded_races(&loaded, &mut report, guard.budget())?;

    let found = confirm_all(&loaded, &mut report, guard.budget())?;
    note_unshortened(&mut report, &found, guard.budget());
    let outcome = Outcome { found, loaded: &loaded, report, method, covers, args, time };
    let text = match (args.output.json, args.quiet) {
        (true, _) => to_text(&outcome.json()),
        (false, true) => outcome.verdict_line(screen),
        (false, false) => outcome.text(screen),
    };
    let printed = screen.print(&text);
    let saved = saved::save(args.save_trace.as_deref(), &loaded, outcome.found.first(), screen);
    exit::after(outcome.report.verdict().into(), [printed, saved])
}

/// Only `constrained` has constraints.
fn check_constraint_options(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let given = match (&args.constraints, args.check_constraints) {
        (_, true) => "--check-constraints",
        (Some(_), false) => "--constraints",
        (None, false) => return Ok(()),
    };
    if method.is_constrained() {
        return Ok(());
    }
    Err(Failure::User(format!(
        "{given} only applies to `constrained`\n  add --algorithm constrained, or leave out {given}"
    )))
}

/// Executions of one class differ in their switches, and some algorithms do not choose the one with the fewest.
fn check_switch_bounds(args: &CheckArgs, method: &Method) -> Result<(), Failure> {
    let limits = args.limits.limits();
    let given = match (limits.preemptions, limits.context_switches) {
        (Some(_), _) => "--preemptions",
        (None, Some(_)) => "--context-switches",
        (None, None) => return Ok(()),
    };
    if method.has_switch_bounds() {
        return Ok(());
    }
    Err(Failure::User(format!(
        "{given} does not apply to `{}`: the execution it runs of a class need not be the one with the \
         fewest switches\n  leave it out, or use another algorithm: selvedge algorithms",
        method.name()
    )))
}

/// These options only apply to `data-centric`, one at a time.
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
    if method.name() == Algorithm::DataCentric.info().name {
        return Ok(());
    }
    Err(Failure::User(format!(
        "{given} only applies to `data-centric`\n  add --algorithm data-centric, or leave out {given}"
    )))
}

/// Replays every violation, while the budget lasts. One that is not reproduced is an internal error. Violations that look
/// the same to the user are shown once.
pub(crate) fn confirm_all(
    loaded: &Loaded,
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
fn explain_disregarded_races(
    loaded: &Loaded,
    report: &mut Report,
    budget: &Budget,
) -> Result<(), Failure> {
    for (violation, schedule) in std::mem::take(&mut report.disregarded_races) {
        let trace = confirm(loaded, &violation, &schedule, budget)?;
        let race = &trace.violations[0];
        report.note(Inconclusive::GaveUp(format!(
            "{}\n  {}\n  --locks-only is sound only without data races: leave it out, or show the race with --races",
            race.message,
            race.notes.join("\n  "),
        )));
    }
    Ok(())
}

fn confirm(
    loaded: &Loaded,
    violation: &Violation,
    schedule: &Schedule,
    budget: &Budget,
) -> Result<TraceView, Failure> {
    match selvedge_explore::confirm_within(&|| loaded.system(), violation, schedule, budget) {
        Ok(Confirmed { violation, replay, .. }) => {
            Ok(TraceView::new(&replay, &[&violation], &|place| loaded.line(place)))
        }
        Err(error) => Err(Failure::Internal(format!(
            "the search found \"{}\", but the replay of {schedule} did not: {}",
            violation.message, error.reason
        ))),
    }
}

impl Method {
    fn new(algorithm: Chosen, quasi: QuasiOptions, args: &SamplingArgs) -> Self {
        let Some(executions) = args.sample else {
            return Method::Explore(algorithm, quasi);
        };
        let sampling = match args.pct {
            Some(depth) => Sampling::Pct { depth },
            None => Sampling::Uniform,
        };
        Method::Sample { sampling, executions, seed: args.seed }
    }

    fn run(self, loaded: &Loaded, options: &Options, watch: &mut Watch) -> Report {
        let make = || loaded.system();
        match self {
            Method::Explore(algorithm, _) => algorithm.explore(&make, options, watch),
            Method::Sample { sampling, executions, seed } => {
                selvedge_explore::sample(sampling, executions, seed, &make, options, watch)
            }
        }
    }

    fn is_constrained(self) -> bool {
        matches!(self, Method::Explore(algorithm, _) if algorithm.is(Algorithm::Constrained))
    }

    fn has_switch_bounds(self) -> bool {
        match self {
            Method::Explore(algorithm, _) => algorithm.info().switch_bounds,
            Method::Sample { .. } => true,
        }
    }

    /// Returns its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Explore(algorithm, _) => algorithm.info().name,
            Method::Sample { .. } => "sample",
        }
    }

    /// Returns its name, and what makes it repeatable.
    pub(crate) fn describe(self) -> String {
        match self {
            Method::Explore(algorithm, quasi) => {
                let name = algorithm.info().name;
                let k = quasi.k.map_or(String::new(), |k| format!(", --k {k}"));
                let locks_only = match quasi.independence {
                    Independence::AllAccesses => "",
                    Independence::LocksOnly => ", --locks-only",
                };
                format!("{name}{k}{locks_only}")
            }
            Method::Sample { sampling: Sampling::Uniform, seed, .. } => {
                format!("uniform sample, --seed {seed}")
            }
            Method::Sample { sampling: Sampling::Pct { depth }, seed, .. } => {
                format!("sample with random priorities, --pct {depth} --seed {seed}")
            }
        }
    }

    /// Returns what its "verified" would cover; of a sample: what it looks at.
    fn covers(self, options: &Options) -> Covers {
        match self {
            Method::Explore(algorithm, _) => algorithm.info().covers.with(options),
            Method::Sample { .. } => Covers { assertions: true, deadlocks: true, data_races: true },
        }
    }
}

/// The result, and everything needed to show it.
struct Outcome<'a> {
    loaded: &'a Loaded,
    args: &'a CheckArgs,
    method: Method,
    covers: Covers,
    report: Report,
    /// One for each violation of the report, confirmed.
    found: Vec<TraceView>,
    time: Duration,
}

impl Outcome<'_> {
    fn verdict_line(&self, screen: &Screen) -> String {
        let verdict = self.report.verdict();
        let (style, rest) = match verdict {
            Verdict::Verified => (Style::Good, verified(self.report.counts)),
            Verdict::Violated => (Style::Bad, self.violated()),
            Verdict::Inconclusive => {
                let first = self.report.inconclusive.first();
                (Style::Unsure, first.map_or(String::new(), |reason| advice(reason).0))
            }
        };
        format!("{}: {rest}\n", screen.paint.style(style, verdict.name()))
    }

    fn violated(&self) -> String {
        match self.found.as_slice() {
            [one] => one.violations[0].message.clone(),
            many => format!("{} different violations", many.len()),
        }
    }

    fn text(&self, screen: &Screen) -> String {
        let mut out = self.verdict_line(screen);
        let options = screen.text_options(self.args.output.full);
        out.push_str(&violations_text(&self.found, self.loaded, &options, screen, &|_| None));
        self.add_reasons(&mut out);
        if self.report.verdict() != Verdict::Verified {
            out.push('\n');
        }
        out.push_str(&summary::summary(
            &self.report,
            &self.method,
            self.covers,
            self.args.races,
            self.time,
        ));
        self.add_remarks(&mut out, screen);
        if let Some(statistics) = &self.report.statistics {
            out.push_str(&statistics::text(statistics));
        }
        out
    }

    /// Why nothing is proved, or why not everything was seen, each with the next step.
    fn add_reasons(&self, out: &mut String) {
        let is_violated = self.report.verdict() == Verdict::Violated;
        if is_violated && !self.args.keep_going {
            return;
        }
        for (i, reason) in self.report.inconclusive.iter().enumerate() {
            let (what, lines) = advice(reason);
            if is_violated {
                out.push_str(&format!("\nthere may be more violations: {what}\n"));
            } else if i > 0 {
                out.push_str(&format!("also: {what}\n"));
            }
            for line in lines {
                out.push_str(&format!("  {line}\n"));
            }
        }
    }

    /// Warns about a vacuous proof.
    fn add_remarks(&self, out: &mut String, screen: &Screen) {
        let counts = self.report.counts;
        if self.report.verdict() == Verdict::Verified && counts.complete == 0 && counts.blocked > 0
        {
            let word = screen.paint.style(Style::Unsure, "note");
            out.push_str(&format!(
                "{word}: no execution is complete: each one is blocked by an `assume` that is false, \
                 so nothing was checked to the end\n"
            ));
        }
    }

    fn json(&self) -> CheckJson {
        let covers = self.covers;
        let (equivalence, seed) = match self.method {
            Method::Explore(algorithm, _) => (Some(algorithm.info().equivalence.name()), None),
            Method::Sample { seed, .. } => (None, Some(seed)),
        };
        CheckJson {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "check",
            file: self.loaded.file.clone(),
            constants: self.loaded.constants.clone(),
            verdict: self.report.verdict().name(),
            algorithm: self.method.name().to_owned(),
            equivalence,
            covers: covers_json(covers, self.args.races),
            executions: self.report.counts.into(),
            steps: self.report.steps,
            longest: self.report.longest,
            threads: self.report.threads,
            seconds: self.time.as_secs_f64(),
            seed,
            violations: self
                .found
                .iter()
                .map(|trace| {
                    ViolationJson::new(&trace.violations[0], trace).replayed_by(
                        self.loaded.replay_command(&trace.schedule, trace.violations[0].kind),
                    )
                })
                .collect(),
            inconclusive: self.report.inconclusive.iter().map(Into::into).collect(),
            facts: facts_json(&self.report.facts),
            statistics: self.report.statistics.as_deref().map(Into::into),
        }
    }
}

/// Returns the text of each violation: its execution and the command that replays it. `also`: a further line about the
/// execution, if there is one.
pub(crate) fn violations_text(
    found: &[TraceView],
    loaded: &Loaded,
    options: &TextOptions,
    screen: &Screen,
    also: &dyn Fn(&TraceView) -> Option<String>,
) -> String {
    let mut out = String::new();
    for (i, trace) in found.iter().enumerate() {
        let first = &trace.violations[0];
        if found.len() > 1 {
            let head = format!("{} of {}: {}", i + 1, found.len(), first.message);
            out.push_str(&format!("\n{}\n", screen.paint.style(Style::Strong, &head)));
        }
        out.push_str(&violation(first, options));
        out.push_str(&format!("\n{}\n", execution(trace, options)));
        if let Some(line) = also(trace) {
            out.push_str(&format!("{line}\n"));
        }
        let command = loaded.replay_command(&trace.schedule, first.kind);
        out.push_str(&format!("replay: {command}\n"));
    }
    out
}

/// Returns what a "verified" covers, as JSON: data races only if they were looked for.
pub(crate) fn covers_json(covers: Covers, asked_for_races: bool) -> CoversJson {
    CoversJson {
        assertions: covers.assertions,
        deadlocks: covers.deadlocks,
        data_races: covers.data_races && asked_for_races,
    }
}

fn verified(counts: Counts) -> String {
    format!("no violation in {}", plural(counts.maximal(), "execution", "executions"))
}
