//! Growth with the number of classes, and what a second worker is worth.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use selvedge_explore::{
    Algorithm, Divisible, Division, Frontier, Options, Silent, explore_divided,
};
use selvedge_report::{Align, Style, Table, bytes, grouped, seconds};
use serde::Serialize;

use super::measure::{Effort, Measurement, measure};
use super::programs::{Case, SCALE, SHARED};
use crate::exit::Failure;
use crate::guard::{self, Guard};
use crate::screen::Screen;

/// From flat memory to the least executions.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Parsimonious, Algorithm::Optimal, Algorithm::Quasi, Algorithm::Source];
/// How often a search with one worker and one with two are compared.
const PAIRS: usize = 5;

/// What more classes and more workers cost.
#[derive(Serialize)]
pub(super) struct Scale {
    growth: Vec<ScaleRow>,
    workers: Vec<WorkersRow>,
}

/// A program of one size.
#[derive(Serialize)]
struct ScaleRow {
    program: String,
    classes: u64,
    /// In the order of the table; `null`: it did not come to its end in time.
    algorithms: Vec<Option<Measurement>>,
}

/// The same search with one worker and with two, in turn.
#[derive(Serialize)]
struct WorkersRow {
    program: String,
    classes: u64,
    /// Medians.
    seconds: [f64; 2],
    speed_up: f64,
}

/// Measures every size, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Scale, Failure> {
    let mut scale = Scale { growth: Vec::new(), workers: Vec::new() };
    for case in SCALE.iter().filter(|case| effort.includes(case)) {
        let algorithms = measure(case, &ALGORITHMS, effort, screen)?;
        if guard::is_interrupted() {
            return Ok(scale);
        }
        scale.growth.push(ScaleRow { program: case.title(), classes: case.classes, algorithms });
    }
    for case in SHARED.iter().filter(|case| effort.includes(case)) {
        let Some(row) = compare_workers(case, effort, screen)? else { return Ok(scale) };
        scale.workers.push(row);
    }
    Ok(scale)
}

/// Measures with one worker and with two, in turn. `None`: the user interrupted, or the time limit was reached.
fn compare_workers(
    case: &Case,
    effort: &Effort,
    screen: &Screen,
) -> Result<Option<WorkersRow>, Failure> {
    let loaded = case.load(screen)?;
    let mut times: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let pairs = if effort.quick { 1 } else { PAIRS };
    for pair in 0..pairs {
        for turn in 0..2 {
            // Neither always comes after the other.
            let workers = (pair + turn) % 2;
            let guard = Guard::start(Some(effort.limit));
            let options = Options { budget: guard.budget().clone(), ..Options::default() };
            let jobs = NonZeroUsize::MIN.saturating_add(workers);
            let division = Division { jobs, start: Frontier::root(), keeper: None };
            let what = Divisible::Exploration(Algorithm::Parsimonious);
            let started = Instant::now();
            let divided =
                explore_divided(what, &|| loaded.system(), &options, &mut Silent, division);
            let time = started.elapsed();
            let report = divided.map_err(Failure::Internal)?.report;
            if options.budget.is_spent() {
                return Ok(None);
            }
            drop(guard);
            if report.counts.maximal() != case.classes {
                return Err(Failure::Internal(format!(
                    "{} with {jobs} workers: {} classes in place of {}",
                    case.title(),
                    report.counts.maximal(),
                    case.classes
                )));
            }
            times[workers].push(time.as_secs_f64());
        }
    }
    let seconds = times.map(middle);
    let speed_up = seconds[0] / seconds[1];
    Ok(Some(WorkersRow { program: case.title(), classes: case.classes, seconds, speed_up }))
}

/// Returns the middle one of some times.
fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the tables.
pub(super) fn text(scale: &Scale, screen: &Screen) -> String {
    let mut growth = Table::new(&[
        ("program", Align::Left),
        ("classes", Align::Right),
        ("algorithm", Align::Left),
        ("executions", Align::Right),
        ("time", Align::Right),
        ("memory", Align::Right),
    ]);
    for row in &scale.growth {
        for (nth, (algorithm, measured)) in ALGORITHMS.iter().zip(&row.algorithms).enumerate() {
            let [program, classes] = match nth {
                0 => [row.program.clone(), grouped(row.classes)],
                _ => [String::new(), String::new()],
            };
            let [executions, time, memory] = match measured {
                Some(it) => [grouped(it.total()), seconds(it.time()), bytes(it.peak_bytes)],
                None => ["–"; 3].map(str::to_owned),
            };
            let name = algorithm.info().name.to_owned();
            growth.row(vec![program, classes, name, executions, time, memory]);
        }
    }
    let mut workers = Table::new(&[
        ("program", Align::Left),
        ("classes", Align::Right),
        ("1 worker", Align::Right),
        ("2 workers", Align::Right),
        ("speed-up", Align::Right),
    ]);
    for row in &scale.workers {
        let [one, two] = row.seconds.map(|time| seconds(Duration::from_secs_f64(time)));
        let speed_up = format!("{:.2}", row.speed_up);
        workers.row(vec![row.program.clone(), grouped(row.classes), one, two, speed_up]);
    }
    let scale_head = screen.paint.style(Style::Strong, "Scale");
    let workers_head = screen.paint.style(Style::Strong, "Workers");
    format!(
        "\n{scale_head}: the same programs, larger and larger\n\n{}\n{workers_head}: `parsimonious` with --jobs 1 and \
         2, alternately; other load on the machine shows\n\n{}",
        growth.render(screen.table_width, screen.paint),
        workers.render(screen.table_width, screen.paint),
    )
}
