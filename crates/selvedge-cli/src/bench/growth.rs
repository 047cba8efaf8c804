//! The second table: what an execution costs if it is long.

use selvedge_explore::Algorithm;
use selvedge_report::{Align, Style, Table, bytes, grouped, plural, seconds};
use serde::Serialize;

use super::measure::{Effort, Measurement, measure};
use super::programs::{Case, GROWTH, SINGLE};
use crate::exit::Failure;
use crate::guard;
use crate::screen::Screen;

/// What long executions cost.
#[derive(Serialize)]
pub(super) struct Growth {
    rows: Vec<GrowthRow>,
    /// One very long execution. `None`: it did not come to its end in time.
    single: Option<Measurement>,
}

/// The cost for one length.
#[derive(Serialize)]
struct GrowthRow {
    /// Private steps of each thread.
    private_steps: i64,
    /// `None`: it did not come to its end in time.
    optimal: Option<Measurement>,
    /// Per execution, and per event of the longest.
    ns_per_event: Option<f64>,
}

/// Measures every length, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Growth, Failure> {
    let mut growth = Growth { rows: Vec::new(), single: None };
    for case in GROWTH.iter().filter(|case| effort.includes(case)) {
        let optimal = measure_optimal(case, effort, screen)?;
        if guard::is_interrupted() {
            return Ok(growth);
        }
        let ns_per_event =
            optimal.as_ref().map(|optimal| optimal.ns_per_execution / optimal.longest as f64);
        let private_steps = case.constants[0].1;
        growth.rows.push(GrowthRow { private_steps, optimal, ns_per_event });
    }
    growth.single = measure_optimal(&SINGLE, effort, screen)?;
    Ok(growth)
}

fn measure_optimal(
    case: &Case,
    effort: &Effort,
    screen: &Screen,
) -> Result<Option<Measurement>, Failure> {
    Ok(measure(case, &[Algorithm::Optimal], effort, screen)?.pop().flatten())
}

/// Returns the table.
pub(super) fn text(growth: &Growth, screen: &Screen) -> String {
    let mut table = Table::new(&[
        ("private steps", Align::Right),
        ("events", Align::Right),
        ("executions", Align::Right),
        ("time", Align::Right),
        ("ns/execution", Align::Right),
        ("ns/event", Align::Right),
        ("memory", Align::Right),
    ]);
    for row in &growth.rows {
        let mut cells = vec![grouped(row.private_steps.unsigned_abs())];
        cells.extend(numbers(row));
        table.row(cells);
    }
    let single = growth.single.as_ref().map(|single| {
        let steps = plural(single.longest as u64, "step", "steps");
        let (time, memory) = (seconds(single.time()), bytes(single.peak_bytes));
        format!("\none execution of {steps}: {time}, {memory}\n")
    });
    let head = screen.paint.style(Style::Strong, "Growth");
    format!(
        "\n{head} with the length of an execution (optimal): two threads make private steps, then \
         race for 3 rounds;\nlinear growth is a steady number of ns/event, an execution's time by \
         its events\n\n{}{}",
        table.render(screen.table_width, screen.paint),
        single.unwrap_or_default(),
    )
}

fn numbers(row: &GrowthRow) -> [String; 6] {
    let (Some(optimal), Some(ns_per_event)) = (&row.optimal, row.ns_per_event) else {
        return ["–"; 6].map(str::to_owned);
    };
    [
        grouped(optimal.longest as u64),
        grouped(optimal.total()),
        seconds(optimal.time()),
        grouped(optimal.ns_per_execution.round() as u64),
        format!("{ns_per_event:.1}"),
        bytes(optimal.peak_bytes),
    ]
}
