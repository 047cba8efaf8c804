//! `selvedge bench`: measures the explorers on built-in programs.
//!
//! Times of one machine say little about another, and not much about the same machine a minute later.
//! Ratios of what was measured side by side do. So everything is measured in one run.

use std::sync::{Mutex, PoisonError};

use selvedge_report::to_text;
use serde::Serialize;

use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::guard;
use crate::screen::Screen;
use crate::so_far::shown_in_any_case;

mod compiled;
mod goals;
mod growth;
mod measure;
mod observations;
mod papers;
mod plots;
mod programs;
mod rate;
mod scale;
mod symbolic;
mod tasks;

use compiled::CompiledRow;
use goals::Goal;
use growth::Growth;
use measure::Effort;
use observations::ObservationRow;
use rate::RateRow;
use scale::Scale;
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
    if let Some(file) = &args.svg {
        return plots::run(file, args, screen);
    }
    if args.papers {
        return papers::run(args, screen);
    }
    let effort = Effort::new(args.quick, args.seconds);
    // Nothing is allocated while this is locked: code that is stopped in the allocator must not hold the lock.
    let measured = Mutex::new(BenchJson::new(&effort));
    let so_far = || measured.lock().unwrap_or_else(PoisonError::into_inner);
    let conclude = |_| {
        so_far().interrupted = true;
        finish(&so_far(), "the memory limit was reached", args, screen)
    };
    let measure = || {
        let show = |text: String| if args.json { Ok(()) } else { screen.print(&text) };
        show(head(&effort))?;
        let rate = rate::measure_all(&effort, screen)?;
        show(rate::text(&rate, screen))?;
        let mut goals = goals::all(&rate, &effort);
        so_far().rate = rate;
        let observations = observations::measure_all(&effort, screen)?;
        show(observations::text(&observations, screen))?;
        goals.extend(observations::goals(&observations));
        so_far().observations = observations;
        let tasks = tasks::measure_all(&effort, screen)?;
        show(tasks::text(&tasks, screen))?;
        goals.extend(tasks::goals(&tasks));
        so_far().tasks = tasks;
        let compiled = compiled::measure_all(&effort, screen)?;
        show(compiled::text(&compiled, screen))?;
        goals.extend(compiled::goals(&compiled));
        so_far().compiled = compiled;
        let growth = growth::measure_all(&effort, screen)?;
        show(growth::text(&growth, screen))?;
        so_far().growth = Some(growth);
        let scale = scale::measure_all(&effort, screen)?;
        show(scale::text(&scale, screen))?;
        so_far().scale = Some(scale);
        let symbolic = symbolic::measure_all(&effort, screen)?;
        show(symbolic::text(&symbolic, screen))?;
        goals.extend(symbolic::goals(&symbolic, &effort));
        so_far().symbolic = symbolic;
        show(goals::text(&goals, screen))?;
        so_far().goals = goals;
        so_far().interrupted = guard::is_interrupted();
        Ok(())
    };
    shown_in_any_case(&conclude, measure)?;
    finish(&so_far(), "interrupted", args, screen)
}

/// Shows what the tables have not: the output for programs, and why something is missing.
fn finish(
    measured: &BenchJson,
    why: &str,
    args: &BenchArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    if args.json {
        screen.print(&to_text(measured))?;
    } else if measured.interrupted {
        screen.print(&format!("\n{why}: what is missing was not measured\n"))?;
    }
    Ok(if measured.interrupted { Exit::Inconclusive } else { Exit::Good })
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
    compiled: Vec<CompiledRow>,
    /// `None`: not measured.
    growth: Option<Growth>,
    /// `None`: not measured.
    scale: Option<Scale>,
    symbolic: Vec<SymbolicRow>,
    goals: Vec<Goal>,
}

impl BenchJson {
    /// Before anything is measured.
    fn new(effort: &Effort) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            command: "bench",
            quick: effort.quick,
            debug_build: cfg!(debug_assertions),
            limit_seconds: effort.limit.as_secs_f64(),
            interrupted: false,
            rate: Vec::new(),
            observations: Vec::new(),
            tasks: Vec::new(),
            compiled: Vec::new(),
            growth: None,
            scale: None,
            symbolic: Vec::new(),
            goals: Vec::new(),
        }
    }
}
