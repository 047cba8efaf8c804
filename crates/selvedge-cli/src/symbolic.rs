//! `selvedge check --symbolic`: all executions at once, as a formula.

use std::path::Path;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Budget, Covers, Inconclusive, Report, Verdict};
use selvedge_report::{
    Advice, Align, DepthSizes, Encoding, Method, Outcome, Sizes, Style, Table, TraceView, grouped,
    plural, seconds, sources,
};
use selvedge_symbolic::check::encoded;
use selvedge_symbolic::encode::NoFormula;
use selvedge_symbolic::solver::Solver;
use selvedge_symbolic::stats::{DepthStats, Stats};
use selvedge_symbolic::{Engine, Options, Scheme};

use crate::advice::advice;
use crate::args::CheckArgs;
use crate::check::{asked_for, confirm_all};
use crate::exit::{self, Exit, Failure};
use crate::screen::Screen;
use crate::shown::Shown;
use crate::so_far::{self, shown_in_any_case};
use crate::source::{Loaded, Subject as _};
use crate::summary::scope;

/// Checks a program symbolically and shows the result.
pub(crate) fn run(args: &CheckArgs, scheme: Scheme, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    let options = Options {
        scheme,
        unroll: args.symbolic.unroll,
        context_bound: args.symbolic.context_bound,
        thread_bounds: args.symbolic.thread_bound.clone(),
        data_races: args.races,
        keep_going: args.keep_going,
        engine: args.symbolic.solver,
        ..Options::default()
    };
    check_bounds(&loaded, &options)?;
    let guard = args.limits.guard();
    if let Some(path) = &args.symbolic.export_formula {
        return export(&loaded, &options, path, guard.budget(), screen);
    }
    let start = Instant::now();
    let clock = || start.elapsed();
    let show = |report: Report, stats: Stats, time: Duration| {
        show(&loaded, args, &options, report, stats, time, guard.budget(), screen)
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

fn check_bounds(loaded: &Loaded, options: &Options) -> Result<(), Failure> {
    if options.scheme == Scheme::Order && options.bounds().count() {
        let option = match options.context_bound {
            Some(_) => "--context-bound",
            None => "--thread-bound",
        };
        return Err(Failure::User(format!(
            "{option} only applies to `mat` and `token`: `order` has no token whose passes it \
             could count\n  use --symbolic mat or --symbolic token"
        )));
    }
    if options.data_races && options.bounds().count() {
        return Err(Failure::User(
            "--races does not apply with a bound on context switches: a data race is two threads that stand before \
             their accesses, and not yet an execution with so many switches\n  leave out one of the two"
                .to_owned(),
        ));
    }
    match options.thread_bounds.iter().find(|bound| !bound.fits(loaded.program())) {
        None => Ok(()),
        Some(bound) => Err(Failure::User(format!(
            "--thread-bound {bound}: there is no thread `{}`\n  threads that are created are bounded together, by \
             the name of their routine",
            bound.thread
        ))),
    }
}

/// Confirms what was found, and shows it.
#[allow(clippy::too_many_arguments, reason = "one for each part of the result")]
fn show(
    loaded: &Loaded,
    args: &CheckArgs,
    options: &Options,
    mut report: Report,
    stats: Stats,
    time: Duration,
    budget: &Budget,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let found = confirm_all(loaded, &mut report, budget)?;
    let shown = Shown {
        verified: verified(&stats),
        summary: summary(&report, &stats, options, time),
        statistics: args.stats.then(|| stats_text(&stats, found.first(), screen)),
        outcome: Outcome {
            file: loaded.file.clone(),
            constants: loaded.constants.clone(),
            method: reported(options, &stats),
            covers: asked_for(COVERS, options.data_races),
            report,
            source: sources(Some(loaded.name()), &found, loaded),
            found,
            tree: None,
            time,
            advice: advice_on,
        },
        source: loaded.origin(),
        locals: String::new(),
        memory: None,
        args,
    };
    shown.show(screen)
}

/// What the formulas can cover.
const COVERS: Covers = Covers { assertions: true, deadlocks: true, data_races: true };

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

/// Returns what a proof says in one line.
fn verified(stats: &Stats) -> String {
    match stats.depths.last() {
        Some(depth) if stats.depths.len() > 1 => format!(
            "no violation in any execution; no loop continues after {}",
            plural(u64::from(depth.depth), "repetition", "repetitions")
        ),
        _ => "no violation in any execution".to_owned(),
    }
}

/// Returns the lines under the verdict.
fn summary(report: &Report, stats: &Stats, options: &Options, time: Duration) -> String {
    let last = stats.depths.last();
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
            plural(report.threads as u64, "thread", "threads"),
            grouped(stats.transitions)
        )
    });
    let rows = [
        scope(report.verdict(), COVERS, options.data_races, false),
        ("unrolled", unrolled),
        ("formula", formula),
        ("search", search(options)),
        ("time", seconds(time)),
    ];
    // If it was stopped while the formula was built, these rows are empty.
    let rows = rows.iter().filter(|(_, text)| !text.is_empty());
    rows.map(|(name, text)| format!("  {name:11}{text}\n")).collect()
}

/// Returns the encoding, and the solver if it is not the usual one.
fn search(options: &Options) -> String {
    let (scheme, engine) = (options.scheme.name(), options.engine);
    match engine == Engine::default() {
        true => format!("symbolic, {scheme}"),
        false => format!("symbolic, {scheme}, solved by {}", engine.name()),
    }
}

/// Returns the columns of the paper's Table 1.
fn stats_text(stats: &Stats, found: Option<&TraceView>, screen: &Screen) -> String {
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
    if let Some(trace) = found {
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

/// Returns how the check is reported.
fn reported(options: &Options, stats: &Stats) -> Method {
    let encoding = Encoding {
        symbolic: options.scheme.name(),
        solver: options.engine.name(),
        unroll: options.unroll,
        context_bound: options.context_bound,
        thread_bounds: options.thread_bounds.iter().map(ToString::to_string).collect(),
    };
    let depth = |depth: &DepthStats| DepthSizes {
        depth: depth.depth,
        time: depth.time,
        conflicts: depth.conflicts,
        variables: depth.formula.variables,
        clauses: depth.formula.clauses,
        literals: depth.formula.literals,
        order_atoms: depth.formula.order_atoms,
    };
    let sizes = Sizes {
        shared_accesses: stats.accesses.clone(),
        shared_variables: stats.variables,
        transitions: stats.transitions,
        pairs: stats.pairs.map(|(all, _)| all),
        kept_pairs: stats.pairs.map(|(_, kept)| kept),
        transactions: stats.transactions,
        depths: stats.depths.iter().map(depth).collect(),
    };
    Method::Symbolic(encoding, Box::new(sizes))
}

/// Returns what happened, and the next step.
fn advice_on(reason: &Inconclusive) -> Advice {
    let Advice { what, next } = advice(reason);
    let next = match reason {
        Inconclusive::Bound(Bound::Time) => vec![
            "raise the limit (--time), make the program smaller (smaller constants: --const),".to_owned(),
            "unroll loops less (--unroll 2), or explore executions one by one: leave out --symbolic"
                .to_owned(),
        ],
        Inconclusive::Bound(Bound::Memory) => vec![
            "raise the limit (--max-memory), make the program smaller (smaller constants: --const),".to_owned(),
            "unroll loops less (--unroll 2), or explore executions one by one: leave out --symbolic"
                .to_owned(),
        ],
        _ => next,
    };
    Advice { what, next }
}
