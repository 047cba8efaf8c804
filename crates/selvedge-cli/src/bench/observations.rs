//! Observation classes: `data-centric` beside `optimal`.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_explore::Algorithm;
use selvedge_report::{Align, ConstantJson, Style, Table, bytes, grouped, rate, seconds};
use serde::Serialize;

use super::goals::Goal;
use super::measure::{Effort, Measurement, measure};
use super::programs::{Case, OBSERVED, OBSERVED_ALONE};
use crate::exit::Failure;
use crate::guard;
use crate::screen::Screen;

/// The largest programs should be done in this time.
const LARGEST: Duration = Duration::from_secs(60);

/// What the two need for a program.
#[derive(Serialize)]
pub(super) struct ObservationRow {
    #[serde(skip)]
    title: String,
    program: &'static str,
    constants: BTreeMap<String, ConstantJson>,
    classes: u64,
    observations: u64,
    /// `None`: it did not come to its end in time, or was not tried.
    optimal: Option<Measurement>,
    data_centric: Option<Measurement>,
}

/// Measures every program, until the user interrupts.
pub(super) fn measure_all(
    effort: &Effort,
    screen: &Screen,
) -> Result<Vec<ObservationRow>, Failure> {
    let mut rows = Vec::new();
    for case in OBSERVED.iter().filter(|case| effort.includes(case)) {
        let algorithms = [Algorithm::Optimal, Algorithm::DataCentric];
        let mut measured = measure(case, &algorithms, effort, screen)?.into_iter();
        let mut next = || measured.next().flatten();
        rows.push(ObservationRow::new(case, next(), next()));
        if guard::is_interrupted() {
            return Ok(rows);
        }
    }
    for case in OBSERVED_ALONE.iter().filter(|case| effort.includes(case)) {
        let effort = effort.with_limit(effort.limit.max(LARGEST));
        let mut measured = measure(case, &[Algorithm::DataCentric], &effort, screen)?;
        rows.push(ObservationRow::new(case, None, measured.pop().flatten()));
        if guard::is_interrupted() {
            return Ok(rows);
        }
    }
    Ok(rows)
}

impl ObservationRow {
    fn new(case: &Case, optimal: Option<Measurement>, data_centric: Option<Measurement>) -> Self {
        Self {
            title: case.title(),
            program: case.program,
            constants: case.constants(),
            classes: case.classes,
            observations: case.observations.unwrap_or(case.classes),
            optimal,
            data_centric,
        }
    }
}

/// Returns the table, with a heading.
pub(super) fn text(rows: &[ObservationRow], screen: &Screen) -> String {
    let head = screen.paint.style(Style::Strong, "Observations");
    let explanation = "one execution per trace (optimal), or per observation class (data-centric); \
                       –: not done in time, or not tried";
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("traces", Align::Right),
        ("observations", Align::Right),
        ("optimal", Align::Right),
        ("executions/s", Align::Right),
        ("data-centric", Align::Right),
        ("executions/s", Align::Right),
        ("memory", Align::Right),
    ]);
    let dash = || "–".to_owned();
    for row in rows {
        let time = |measured: &Option<Measurement>| {
            measured.as_ref().map_or(dash(), |measured| seconds(measured.time()))
        };
        let speed = |measured: &Option<Measurement>| {
            let rate = measured.as_ref().and_then(|it| rate(it.total(), it.time()));
            rate.map_or(dash(), grouped)
        };
        let memory = row.data_centric.as_ref();
        table.row(vec![
            row.title.clone(),
            grouped(row.classes),
            grouped(row.observations),
            time(&row.optimal),
            speed(&row.optimal),
            time(&row.data_centric),
            speed(&row.data_centric),
            memory.map_or(dash(), |measured| bytes(measured.peak_bytes)),
        ]);
    }
    format!("\n{head}: {explanation}\n\n{}", table.render(screen.table_width, screen.paint))
}

/// Returns the goals: the largest programs in less than a minute.
pub(super) fn goals(rows: &[ObservationRow]) -> Vec<Goal> {
    let goal = |case: &Case| {
        let row = rows.iter().find(|row| row.title == case.title());
        let measured = row.and_then(|row| row.data_centric.as_ref());
        Goal {
            goal: format!("{}: less than {} (data-centric)", case.title(), seconds(LARGEST)),
            measured: measured.map(|measured| seconds(measured.time())),
            met: measured.map(|measured| measured.time() < LARGEST),
        }
    };
    OBSERVED_ALONE.iter().map(goal).collect()
}
