//! Tasks that commute: `constrained` beside `source` and `context-sensitive`.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_explore::Algorithm;
use selvedge_report::{Align, ConstantJson, Style, Table, grouped, seconds};
use serde::Serialize;

use super::goals::Goal;
use super::measure::{Effort, Measurement, measure};
use super::programs::{Case, TASKS, TASKS_ALONE};
use crate::exit::Failure;
use crate::interrupt;
use crate::screen::Screen;

/// The largest programs should be done in this time.
const LARGEST: Duration = Duration::from_secs(5);

/// What the three need for a program.
#[derive(Serialize)]
pub(super) struct TaskRow {
    #[serde(skip)]
    title: String,
    program: &'static str,
    constants: BTreeMap<String, ConstantJson>,
    /// `None`: it did not come to its end in time, or was not tried.
    source: Option<Measurement>,
    context_sensitive: Option<Measurement>,
    constrained: Option<Measurement>,
}

/// Measures every program, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Vec<TaskRow>, Failure> {
    let mut rows = Vec::new();
    let all = [Algorithm::Source, Algorithm::ContextSensitive, Algorithm::Constrained];
    let cases = TASKS.iter().map(|case| (case, &all[..]));
    let alone = TASKS_ALONE.iter().map(|case| (case, &all[2..]));
    for (case, algorithms) in cases.chain(alone).filter(|(case, _)| effort.includes(case)) {
        let mut measured = measure(case, algorithms, effort, screen)?;
        let constrained = measured.pop().flatten();
        let mut others = measured.into_iter();
        rows.push(TaskRow {
            title: case.title(),
            program: case.program,
            constants: case.constants(),
            source: others.next().flatten(),
            context_sensitive: others.next().flatten(),
            constrained,
        });
        if interrupt::is_requested() {
            break;
        }
    }
    Ok(rows)
}

/// The table, with a heading.
pub(super) fn text(rows: &[TaskRow], screen: &Screen) -> String {
    let head = screen.paint.style(Style::Strong, "Tasks");
    let explanation =
        "executions, redundant ones included, and time; –: not done in time, or not tried";
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("source", Align::Right),
        ("time", Align::Right),
        ("context-sensitive", Align::Right),
        ("time", Align::Right),
        ("constrained", Align::Right),
        ("time", Align::Right),
    ]);
    let dash = || "–".to_owned();
    for row in rows {
        let mut cells = vec![row.title.clone()];
        for measured in [&row.source, &row.context_sensitive, &row.constrained] {
            cells.push(measured.as_ref().map_or(dash(), |measured| grouped(measured.total())));
            cells.push(measured.as_ref().map_or(dash(), |measured| seconds(measured.time())));
        }
        table.row(cells);
    }
    format!("\n{head}: {explanation}\n\n{}", table.render(screen.table_width, screen.paint))
}

/// The largest programs of the paper in a few seconds.
pub(super) fn goals(rows: &[TaskRow]) -> Vec<Goal> {
    let goal = |case: &Case| {
        let row = rows.iter().find(|row| row.title == case.title());
        let measured = row.and_then(|row| row.constrained.as_ref());
        Goal {
            goal: format!("{}: less than {} (constrained)", case.title(), seconds(LARGEST)),
            measured: measured.map(|measured| seconds(measured.time())),
            met: measured.map(|measured| measured.time() < LARGEST),
        }
    };
    TASKS_ALONE.iter().map(goal).collect()
}
