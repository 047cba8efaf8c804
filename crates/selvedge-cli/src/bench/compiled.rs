//! C programs beside the same programs as models: how fast compiled code is explored, per execution and per event.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use selvedge_core::Report;
use selvedge_explore::{Algorithm, Options};
use selvedge_report::{Align, ConstantJson, Style, Table, grouped, rate};
use serde::Serialize;

use super::goals::Goal;
use super::measure::{Effort, median};
use crate::exit::Failure;
use crate::screen::Screen;
use crate::source::Loaded;
use crate::{guard, native};

/// A program in both languages, with values for its constants, and how many classes it has.
struct Case {
    program: &'static str,
    c: &'static str,
    model: &'static str,
    constants: &'static [(&'static str, i64)],
    classes: u64,
}

const INCREMENTS: (&str, &str) = (include_str!("increments.c"), include_str!("increments.sel"));
const READERS: (&str, &str) = (
    include_str!("../../../../programs/c/readers.c"),
    include_str!("../../../../programs/optimal-dpor/readers.sel"),
);
const LASTZERO: (&str, &str) = (
    include_str!("../../../../programs/c/lastzero.c"),
    include_str!("../../../../programs/optimal-dpor/lastzero.sel"),
);

const fn case(
    program: &'static str,
    (c, model): (&'static str, &'static str),
    constants: &'static [(&'static str, i64)],
    classes: u64,
) -> Case {
    Case { program, c, model, constants, classes }
}

const CASES: &[Case] = &[
    case("increments", INCREMENTS, &[("T", 3), ("N", 3), ("LOCK", 0)], 1_680),
    case("increments", INCREMENTS, &[("T", 4), ("N", 2), ("LOCK", 1)], 2_520),
    case("readers", READERS, &[("N", 8)], 256),
    case("lastzero", LASTZERO, &[("N", 8)], 704),
];

/// What a program needs in C and as a model, with `optimal`.
#[derive(Serialize)]
pub(super) struct CompiledRow {
    #[serde(skip)]
    title: String,
    program: &'static str,
    constants: BTreeMap<String, ConstantJson>,
    executions: u64,
    /// Events of the longest execution of the C program.
    events: usize,
    /// For one exploration: the median of rounds that took turns.
    c_seconds: f64,
    model_seconds: f64,
    /// From the compiler's start to the first execution.
    start_seconds: f64,
}

impl CompiledRow {
    fn per_second(&self) -> Option<u64> {
        rate(self.executions, Duration::from_secs_f64(self.c_seconds))
    }

    /// Returns nanoseconds for an event of the longest execution.
    fn per_event(&self) -> f64 {
        self.c_seconds * 1e9 / (self.executions as f64 * self.events as f64)
    }
}

/// Measures every program, until the user interrupts. There are none where C programs cannot be checked.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Vec<CompiledRow>, Failure> {
    let mut rows = Vec::new();
    for case in CASES {
        let flags: Vec<String> =
            case.constants.iter().map(|(name, value)| format!("-D{name}={value}")).collect();
        let started = Instant::now();
        let Some(compiled) = native::Measured::new(case.program, case.c, &flags)? else { break };
        let start_seconds = started.elapsed().as_secs_f64();
        let constant = |&(name, value): &(&str, i64)| (name.to_owned(), ConstantJson::Int(value));
        let constants: BTreeMap<_, _> = case.constants.iter().map(constant).collect();
        let file = format!("{}.sel", case.program);
        let model = Loaded::compile(file, case.model.to_owned(), constants.clone(), screen)?;
        let options = Options { keep_going: true, ..Options::default() };
        let of_model = || {
            selvedge_explore::explore(
                Algorithm::Optimal,
                &|| model.system(),
                &options,
                &mut native::Unwatched,
            )
        };
        let (mut of_c_times, mut of_model_times) = (Vec::new(), Vec::new());
        let mut spent = 0.0;
        let first = compiled.explore(&options);
        check(case, &first)?;
        check(case, &of_model())?;
        while of_c_times.len() < 3 || spent < effort.enough().as_secs_f64() {
            of_c_times.push(time(|| compiled.explore(&options)));
            of_model_times.push(time(of_model));
            spent += of_c_times.last().unwrap_or(&0.0);
            if guard::is_interrupted() {
                return Ok(rows);
            }
        }
        let titles = case.constants.iter().map(|(name, value)| format!(" {name}={value}"));
        rows.push(CompiledRow {
            title: format!("{}{}", case.program, titles.collect::<String>()),
            program: case.program,
            constants,
            executions: first.counts.maximal(),
            events: first.longest,
            c_seconds: median(of_c_times),
            model_seconds: median(of_model_times),
            start_seconds,
        });
    }
    Ok(rows)
}

fn time(explore: impl FnOnce() -> Report) -> f64 {
    let started = Instant::now();
    let _ = explore();
    started.elapsed().as_secs_f64()
}

/// A wrong number of classes would make the times mean nothing.
fn check(case: &Case, report: &Report) -> Result<(), Failure> {
    match report.counts.maximal() == case.classes {
        true => Ok(()),
        false => Err(Failure::Internal(format!(
            "{} has {} classes, and {} were explored",
            case.program,
            case.classes,
            report.counts.maximal()
        ))),
    }
}

/// Returns the table, with a heading.
pub(super) fn text(rows: &[CompiledRow], screen: &Screen) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = screen.paint.style(Style::Strong, "C programs");
    let explanation = "the same programs in C and as models, explored by `optimal` alternately; an event of the longest \
                       execution; start: compiling and loading";
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("executions", Align::Right),
        ("events", Align::Right),
        ("executions/s", Align::Right),
        ("ns/event", Align::Right),
        ("C : model", Align::Right),
        ("start", Align::Right),
    ]);
    for row in rows {
        table.row(vec![
            row.title.clone(),
            grouped(row.executions),
            grouped(row.events as u64),
            row.per_second().map_or_else(|| "–".to_owned(), grouped),
            format!("{:.0}", row.per_event()),
            format!("{:.1}", row.c_seconds / row.model_seconds),
            format!("{:.2} s", row.start_seconds),
        ]);
    }
    format!("\n{head}: {explanation}\n\n{}", table.render(screen.table_width, screen.paint))
}

/// Returns the goals: executions in a second, and nanoseconds for an event.
pub(super) fn goals(rows: &[CompiledRow]) -> Vec<Goal> {
    let of = |title: &str| rows.iter().find(|row| row.title == title);
    let speed = of("increments T=3 N=3 LOCK=0").and_then(CompiledRow::per_second);
    let event = of("increments T=4 N=2 LOCK=1").map(CompiledRow::per_event);
    vec![
        Goal {
            goal: "C, 18 events: at least 300,000 executions/s".to_owned(),
            measured: speed.map(|speed| format!("{}/s", grouped(speed))),
            met: speed.map(|speed| speed >= 300_000),
        },
        Goal {
            goal: "C, 44 events: at most 100 ns for an event".to_owned(),
            measured: event.map(|event| format!("{event:.0} ns")),
            met: event.map(|event| event <= 100.0),
        },
    ]
}
