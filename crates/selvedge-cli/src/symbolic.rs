//! `selvedge check --symbolic`: all executions at once, as a formula.

use std::path::Path;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Budget, Inconclusive, Report, Verdict};
use selvedge_explore::Covers;
use selvedge_report::{
    Align, CoversJson, InconclusiveJson, Style, Table, TraceView, ViolationJson, grouped, plural,
    seconds, to_text,
};
use selvedge_symbolic::check::encoded;
use selvedge_symbolic::encode::NoFormula;
use selvedge_symbolic::solver::Solver;
use selvedge_symbolic::stats::Stats;
use selvedge_symbolic::{Engine, Options, Scheme};
use serde::Serialize;

use crate::advice::advice;
use crate::args::CheckArgs;
use crate::check::{confirm_all, covers_json, violations_text};
use crate::exit::{self, Exit, Failure};
use crate::saved;
use crate::screen::Screen;
use crate::so_far::{self, shown_in_any_case};
use crate::source::Loaded;
use crate::summary::scope;

/// Checks a program symbolically and shows the result.
pub(crate) fn run(args: &CheckArgs, scheme: Scheme, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    let options = Options {
        scheme,
        unroll: args.symbolic.unroll,
        context_bound: args.symbolic.context_bound,
        keep_going: args.keep_going,
        engine: args.symbolic.solver,
    };
    if scheme == Scheme::Order && options.context_bound.is_some() {
        return Err(Failure::User(
            "--context-bound only applies to `mat` and `token`: `order` has no token whose passes it \
             could count\n  use --symbolic mat or --symbolic token"
                .to_owned(),
        ));
    }
    let guard = args.limits.guard();
    if let Some(path) = &args.symbolic.export_formula {
        return export(&loaded, &options, path, guard.budget(), screen);
    }
    let start = Instant::now();
    let clock = || start.elapsed();
    let show = |report: Report, stats: Stats, time: Duration| {
        show(&loaded, args, options, report, stats, time, guard.budget(), screen)
    };
    let conclude = |report| show(report, Stats::default(), clock());
    shown_in_any_case(&conclude, || {
        let outcome = selvedge_symbolic::check(loaded.program(), &options, guard.budget(), &clock);
        let time = clock();
        if let Some(mistake) = outcome.mistakes.first() {
            return Err(Failure::Internal(format!(
                "the solver found an execution that the interpreter does not have: {mistake}"
            )));
        }
        so_far::publish(&outcome.report);
        show(outcome.report, outcome.stats, time)
    })
}

/// Confirms what was found, and shows it.
#[allow(clippy::too_many_arguments, reason = "one for each part of the result")]
fn show(
    loaded: &Loaded,
    args: &CheckArgs,
    options: Options,
    mut report: Report,
    stats: Stats,
    time: Duration,
    budget: &Budget,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let found = confirm_all(loaded, &mut report, budget)?;
    let (verdict, threads) = (report.verdict(), report.threads);
    let inconclusive = report.inconclusive;
    let result =
        Shown { found, inconclusive, verdict, threads, stats, loaded, options, args, time };
    let text = match (args.output.json, args.quiet) {
        (true, _) => to_text(&result.json()),
        (false, true) => result.verdict_line(screen),
        (false, false) => result.text(screen),
    };
    let printed = screen.print(&text);
    let saved = saved::save(args.save_trace.as_deref(), loaded, result.found.first(), screen);
    exit::after(result.verdict.into(), [printed, saved])
}

/// What the formulas cover.
const COVERS: Covers = Covers { assertions: true, deadlocks: true, data_races: false };

/// Writes the formula of the deepest unrolling for other solvers. Nothing is solved, so nothing is proved.
fn export(
    loaded: &Loaded,
    options: &Options,
    path: &Path,
    budget: &Budget,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let solver = Solver::recording();
    let encoded = encoded(loaded.program(), options, options.unroll, solver, budget);
    let encoded = match encoded {
        Ok(encoded) => encoded,
        Err(NoFormula::Stopped(spent)) => {
            screen.warn(&format!("{spent} before the formula was complete; no file is written"));
            return Ok(Exit::Inconclusive);
        }
        Err(too_large) => return Err(Failure::User(too_large.to_string())),
    };
    let goal = [encoded.goals.violated];
    let solver = &encoded.unrolled.circuit.solver;
    let is_dimacs = path.extension().is_some_and(|extension| extension == "cnf");
    let text = if is_dimacs { solver.to_dimacs(&goal) } else { solver.to_smt_lib(&goal) };
    exit::write_file(path, "the formula", &text)?;
    let size = solver.size();
    let verdict = screen.paint.style(Style::Unsure, Verdict::Inconclusive.name());
    screen.print(&format!(
        "{verdict}: the formula was written to {}, not solved\n  {} variables, {} clauses, {} order \
         atoms; it is satisfiable if there is a violation\n  with at most {} of each loop; to solve it \
         here, leave out --export-formula\n",
        path.display(),
        grouped(size.variables),
        grouped(size.clauses),
        grouped(size.order_atoms),
        plural(u64::from(options.unroll), "repetition", "repetitions"),
    ))?;
    Ok(Exit::Inconclusive)
}

/// The result, and everything needed to show it.
struct Shown<'a> {
    loaded: &'a Loaded,
    args: &'a CheckArgs,
    options: Options,
    verdict: Verdict,
    found: Vec<TraceView>,
    inconclusive: Vec<Inconclusive>,
    threads: usize,
    stats: Stats,
    time: Duration,
}

impl Shown<'_> {
    fn verdict_line(&self, screen: &Screen) -> String {
        let (style, rest) = match self.verdict {
            Verdict::Verified => (Style::Good, self.verified()),
            Verdict::Violated => (
                Style::Bad,
                match self.found.as_slice() {
                    [one] => one.violations[0].message.clone(),
                    many => format!("{} different violations", many.len()),
                },
            ),
            Verdict::Inconclusive => {
                let first = self.inconclusive.first();
                (Style::Unsure, first.map_or(String::new(), |reason| advice_on(reason).0))
            }
        };
        format!("{}: {rest}\n", screen.paint.style(style, self.verdict.name()))
    }

    fn verified(&self) -> String {
        match self.stats.depths.last() {
            Some(depth) if self.stats.depths.len() > 1 => format!(
                "no violation in any execution; no loop goes on after {}",
                plural(u64::from(depth.depth), "repetition", "repetitions")
            ),
            _ => "no violation in any execution".to_owned(),
        }
    }

    fn text(&self, screen: &Screen) -> String {
        let mut out = self.verdict_line(screen);
        let options = screen.text_options(self.args.output.full);
        out.push_str(&violations_text(&self.found, self.loaded, &options, screen, &|trace| {
            let inputs = inputs(trace);
            (!inputs.is_empty()).then(|| format!("inputs: {}", inputs.join(", ")))
        }));
        for (i, reason) in self.inconclusive.iter().enumerate() {
            let (what, lines) = advice_on(reason);
            if self.verdict == Verdict::Violated {
                out.push_str(&format!("\nthere may be more violations: {what}\n"));
            } else if i > 0 {
                out.push_str(&format!("also: {what}\n"));
            }
            for line in lines {
                out.push_str(&format!("  {line}\n"));
            }
        }
        if self.verdict != Verdict::Verified {
            out.push('\n');
        }
        out.push_str(&self.summary());
        if self.args.stats {
            out.push_str(&self.stats_text(screen));
        }
        out
    }

    fn summary(&self) -> String {
        let last = self.stats.depths.last();
        let formula = last.map_or_else(String::new, |depth| {
            format!(
                "{} variables, {} clauses, {} order atoms",
                grouped(depth.formula.variables),
                grouped(depth.formula.clauses),
                grouped(depth.formula.order_atoms)
            )
        });
        let unrolled = last.map_or_else(String::new, |depth| {
            format!(
                "loops repeated at most {}; {}, {} transitions",
                plural(u64::from(depth.depth), "time", "times"),
                plural(self.threads as u64, "thread", "threads"),
                grouped(self.stats.transitions)
            )
        });
        let rows = [
            scope(self.verdict, COVERS, false),
            ("unrolled", unrolled),
            ("formula", formula),
            ("search", self.search()),
            ("time", seconds(self.time)),
        ];
        // If it was stopped while the formula was built, these rows are empty.
        let rows = rows.iter().filter(|(_, text)| !text.is_empty());
        rows.map(|(name, text)| format!("  {name:11}{text}\n")).collect()
    }

    /// Returns the encoding, and the solver if it is not the usual one.
    fn search(&self) -> String {
        let (scheme, engine) = (self.options.scheme.name(), self.options.engine);
        match engine == Engine::default() {
            true => format!("symbolic, {scheme}"),
            false => format!("symbolic, {scheme}, solved by {}", engine.name()),
        }
    }

    /// Returns the columns of the paper's Table 1.
    fn stats_text(&self, screen: &Screen) -> String {
        let stats = &self.stats;
        let accesses: Vec<String> = stats.accesses.iter().map(usize::to_string).collect();
        let mut out = format!(
            "\nshared accesses (#SA): {}   shared variables (#SV): {}   transitions (#T): {}\n",
            accesses.join(", "),
            stats.variables,
            grouped(stats.transitions)
        );
        if let Some((all, kept)) = stats.pairs {
            out.push_str(&format!(
                "pairs (#P): {}   after analysis: {}",
                grouped(all as u64),
                grouped(kept as u64)
            ));
            if let Some(transactions) = stats.transactions {
                out.push_str(&format!("   transactions (#MAT): {}", grouped(transactions as u64)));
            }
            out.push('\n');
        }
        if let Some(trace) = self.found.first() {
            out.push_str(&format!("witness length (D): {}\n", trace.steps.len()));
        }
        let columns = ["depth", "variables", "clauses", "literals", "order atoms", "conflicts"];
        let mut columns: Vec<(&str, Align)> =
            columns.into_iter().map(|name| (name, Align::Right)).collect();
        columns.push(("time", Align::Right));
        let mut table = Table::new(&columns);
        for depth in &stats.depths {
            let formula = depth.formula;
            let numbers = [
                u64::from(depth.depth),
                formula.variables,
                formula.clauses,
                formula.literals,
                formula.order_atoms,
                depth.conflicts,
            ];
            let mut row: Vec<String> = numbers.into_iter().map(grouped).collect();
            row.push(seconds(depth.time));
            table.row(row);
        }
        out.push('\n');
        out.push_str(&table.render(screen.width, screen.paint));
        out
    }

    fn json(&self) -> SymbolicJson {
        let violations = self.found.iter().map(|trace| {
            let found = &trace.violations[0];
            let command = self.loaded.replay_command(&trace.schedule, found.kind);
            FoundJson {
                violation: ViolationJson::new(found, trace).replayed_by(command),
                inputs: inputs(trace),
            }
        });
        SymbolicJson {
            version: env!("CARGO_PKG_VERSION"),
            command: "check",
            file: self.loaded.file.clone(),
            constants: self.loaded.constants.clone(),
            verdict: self.verdict.name(),
            symbolic: self.options.scheme.name(),
            solver: self.options.engine.name(),
            unroll: self.options.unroll,
            context_bound: self.options.context_bound,
            covers: covers_json(COVERS, false),
            threads: self.threads,
            shared_accesses: self.stats.accesses.clone(),
            shared_variables: self.stats.variables,
            transitions: self.stats.transitions,
            pairs: self.stats.pairs.map(|(all, _)| all),
            kept_pairs: self.stats.pairs.map(|(_, kept)| kept),
            transactions: self.stats.transactions,
            depths: self.stats.depths.iter().map(DepthJson::new).collect(),
            seconds: self.time.as_secs_f64(),
            violations: violations.collect(),
            inconclusive: self.inconclusive.iter().map(Into::into).collect(),
        }
    }
}

/// Returns what happened, and the next step.
fn advice_on(reason: &Inconclusive) -> (String, Vec<String>) {
    let (what, lines) = advice(reason);
    let lines = match reason {
        Inconclusive::Bound(Bound::Time) => vec![
            "raise the limit (--time), make the program smaller (--const N=2),".to_owned(),
            "unroll loops less (--unroll 2), or explore executions one by one: leave out --symbolic"
                .to_owned(),
        ],
        Inconclusive::Bound(Bound::Memory) => vec![
            "raise the limit (--max-memory), make the program smaller (--const N=2),".to_owned(),
            "unroll loops less (--unroll 2), or explore executions one by one: leave out --symbolic"
                .to_owned(),
        ],
        _ => lines,
    };
    (what, lines)
}

/// Returns what was chosen from outside, as the execution shows it.
fn inputs(trace: &TraceView) -> Vec<String> {
    let chosen = trace.steps.iter().filter(|step| step.text.starts_with("choose("));
    chosen
        .map(|step| {
            let thread = &trace.threads[step.thread.index()];
            let place = step.place.as_ref().map(|place| format!(" (line {})", place.line));
            format!("{thread}: {}{}", step.text, place.unwrap_or_default())
        })
        .collect()
}

/// The output of `check --symbolic --json`. Documented in `docs/json.md`.
#[derive(Serialize)]
struct SymbolicJson {
    version: &'static str,
    command: &'static str,
    file: String,
    constants: crate::source::Constants,
    verdict: &'static str,
    symbolic: &'static str,
    solver: &'static str,
    unroll: u32,
    context_bound: Option<u32>,
    covers: CoversJson,
    threads: usize,
    shared_accesses: Vec<usize>,
    shared_variables: usize,
    transitions: u64,
    pairs: Option<usize>,
    kept_pairs: Option<usize>,
    transactions: Option<usize>,
    depths: Vec<DepthJson>,
    seconds: f64,
    violations: Vec<FoundJson>,
    inconclusive: Vec<InconclusiveJson>,
}

#[derive(Serialize)]
struct FoundJson {
    #[serde(flatten)]
    violation: ViolationJson,
    inputs: Vec<String>,
}

#[derive(Serialize)]
struct DepthJson {
    depth: u32,
    seconds: f64,
    conflicts: u64,
    variables: u64,
    clauses: u64,
    literals: u64,
    order_atoms: u64,
}

impl DepthJson {
    fn new(depth: &selvedge_symbolic::stats::DepthStats) -> Self {
        Self {
            depth: depth.depth,
            seconds: depth.time.as_secs_f64(),
            conflicts: depth.conflicts,
            variables: depth.formula.variables,
            clauses: depth.formula.clauses,
            literals: depth.formula.literals,
            order_atoms: depth.formula.order_atoms,
        }
    }
}
