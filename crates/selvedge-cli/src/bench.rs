//! `selvedge bench`: measures the explorers on built-in programs.
//!
//! Times of one machine say little about another, and not much about the same machine a minute later.
//! Ratios of what was measured side by side do. So everything is measured in one run.

use selvedge_report::to_text;
use serde::Serialize;

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::guard;
use crate::screen::Screen;

mod goals;
mod growth;
mod measure;
mod observations;
mod programs;
mod rate;
mod symbolic;
mod tasks;

use goals::Goal;
use growth::Growth;
use measure::Effort;
use observations::ObservationRow;
use rate::RateRow;
use symbolic::SymbolicRow;
use tasks::TaskRow;

/// Measures, and shows each table when it is complete.
pub(crate) fn run(args: &BenchArgs, screen: &Screen) -> Result<Exit, Failure> {
    let _guard = args.guard();
    if cfg!(debug_assertions) {
        screen.warn(
            "this is a debug build, which checks its invariants: measure with a release build",
        );
    }
    let effort = Effort::new(args.quick, args.seconds);
    let show = |text: String| if args.json { Ok(()) } else { screen.print(&text) };
    show(head(&effort))?;
    let rate = rate::measure_all(&effort, screen)?;
    show(rate::text(&rate, screen))?;
    let observations = observations::measure_all(&effort, screen)?;
    show(observations::text(&observations, screen))?;
    let tasks = tasks::measure_all(&effort, screen)?;
    show(tasks::text(&tasks, screen))?;
    let growth = growth::measure_all(&effort, screen)?;
    show(growth::text(&growth, screen))?;
    let symbolic = symbolic::measure_all(&effort, screen)?;
    show(symbolic::text(&symbolic, screen))?;
    let mut goals = goals::all(&rate, &effort);
    goals.extend(observations::goals(&observations));
    goals.extend(tasks::goals(&tasks));
    goals.extend(symbolic::goals(&symbolic, &effort));
    show(goals::text(&goals, screen))?;
    let interrupted = guard::is_interrupted();
    if args.json {
        screen.print(&to_text(&BenchJson {
            version: env!("CARGO_PKG_VERSION"),
            command: "bench",
            quick: effort.quick,
            debug_build: cfg!(debug_assertions),
            limit_seconds: effort.limit.as_secs_f64(),
            interrupted,
            rate,
            observations,
            tasks,
            growth,
            symbolic,
            goals,
        }))?;
    } else if interrupted {
        screen.print("\ninterrupted: what is missing was not measured\n")?;
    }
    Ok(if interrupted { Exit::Inconclusive } else { Exit::Good })
}

fn head(effort: &Effort) -> String {
    let quick = if effort.quick { ", quick: the long measurements are left out" } else { "" };
    format!("selvedge {}{quick}\n", env!("CARGO_PKG_VERSION"))
}

/// The output of `bench --json`. Documented in `docs/benchmarks.md`.
#[derive(Serialize)]
struct BenchJson {
    version: &'static str,
    command: &'static str,
    quick: bool,
    /// Whether this build is slow because it checks its invariants.
    debug_build: bool,
    limit_seconds: f64,
    interrupted: bool,
    rate: Vec<RateRow>,
    observations: Vec<ObservationRow>,
    tasks: Vec<TaskRow>,
    growth: Growth,
    symbolic: Vec<SymbolicRow>,
    goals: Vec<Goal>,
}
