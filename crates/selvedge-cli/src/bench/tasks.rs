//! Tasks that commute: `constrained` beside `source` and `context-sensitive`. The constraints that the programs
//! declare are taken out: `constrained` has them found during its search, and the time for that counts.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_explore::Algorithm;
use selvedge_report::{Align, ConstantJson, Style, Table, grouped, seconds};
use serde::Serialize;

use super::goals::Goal;
use super::measure::{Effort, Measurement, measure_once};
use super::programs::{Case, TASKS, TASKS_ALONE};
use crate::exit::Failure;
use crate::guard;
use crate::guard::Guard;
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
    /// How much of its time it took to find the constraints.
    constraints_seconds: f64,
}

/// Measures every program, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Vec<TaskRow>, Failure> {
    let mut rows = Vec::new();
    let others = [Algorithm::Source, Algorithm::ContextSensitive];
    let cases = TASKS.iter().map(|case| (case, &others[..]));
    let alone = TASKS_ALONE.iter().map(|case| (case, &[][..]));
    for (case, others) in cases.chain(alone).filter(|(case, _)| effort.includes(case)) {
        let loaded = case.load_without_constraints(screen)?;
        let mut measured = [None, None];
        for (place, &algorithm) in measured.iter_mut().zip(others) {
            *place = measure_once(case, &loaded, algorithm, effort)?;
        }
        let [source, context_sensitive] = measured;
        let (loaded, finder) = loaded.finding_constraints(Guard::start(None).budget());
        let constrained = measure_once(case, &loaded, Algorithm::Constrained, effort)?;
        rows.push(TaskRow {
            title: case.title(),
            program: case.program,
            constants: case.constants(),
            source,
            context_sensitive,
            constrained,
            constraints_seconds: finder.so_far().time.as_secs_f64(),
        });
        if guard::is_interrupted() {
            break;
        }
    }
    Ok(rows)
}

/// Returns the table, with a heading.
pub(super) fn text(rows: &[TaskRow], screen: &Screen) -> String {
    let head = screen.paint.style(Style::Strong, "Tasks");
    let explanation = "executions, redundant ones included, and time, with that for finding constraints; –: not done in time, \
         or not tried";
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("source", Align::Right),
        ("time", Align::Right),
        ("context-sensitive", Align::Right),
        ("time", Align::Right),
        ("constrained", Align::Right),
        ("time", Align::Right),
        ("constraints", Align::Right),
    ]);
    let dash = || "–".to_owned();
    for row in rows {
        let mut cells = vec![row.title.clone()];
        for measured in [&row.source, &row.context_sensitive, &row.constrained] {
            cells.push(measured.as_ref().map_or(dash(), |measured| grouped(measured.total())));
            cells.push(measured.as_ref().map_or(dash(), |measured| seconds(measured.time())));
        }
        cells.push(seconds(Duration::from_secs_f64(row.constraints_seconds)));
        table.row(cells);
    }
    format!("\n{head}: {explanation}\n\n{}", table.render(screen.table_width, screen.paint))
}

/// Returns the goals: the largest programs of the paper in a few seconds.
pub(super) fn goals(rows: &[TaskRow]) -> Vec<Goal> {
    let goal = |case: &Case| {
        let row = rows.iter().find(|row| row.title == case.title());
        let time = row.and_then(|row| Some(row.constrained.as_ref()?.time()));
        Goal {
            goal: format!(
                "{}: less than {}, constraints found included (constrained)",
                case.title(),
                seconds(LARGEST)
            ),
            measured: time.map(seconds),
            met: time.map(|time| time < LARGEST),
        }
    };
    TASKS_ALONE.iter().map(goal).collect()
}
