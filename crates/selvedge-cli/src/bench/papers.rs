//! `selvedge bench --papers`: for each paper the rows of its tables, with the number that is printed there and ours.
//!
//! Counts can be compared. Times cannot, but for their order of magnitude: they are of other machines, other languages and
//! other years. A row that takes more than a minute is left out without `--long`.

mod rows;

use std::time::{Duration, Instant};

use selvedge_core::{Bound, Inconclusive, Verdict};
use selvedge_explore::{Algorithm, Limits, Options, QuasiOptions};
use selvedge_report::{Align, ConstantJson, Style, Table, grouped, seconds, to_text};
use serde::Serialize;

use super::programs::MOST_STEPS;
use crate::args::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::guard::{self, Guard};
use crate::progress::Watch;
use crate::screen::Screen;
use crate::source::Loaded;
use rows::{Here, PAPERS, Paper, Printed, Row};

/// With `--long`, nothing takes longer.
const LONGEST: Duration = Duration::from_secs(600);

/// One line: a row of a table, for one of the tools that it compares.
#[derive(Serialize)]
struct Line {
    paper: &'static str,
    benchmark: &'static str,
    /// The tool or algorithm, as the paper calls it.
    printed_as: &'static str,
    printed: &'static str,
    printed_seconds: &'static str,
    /// What stands for it here.
    here: String,
    /// `None`: not done in time, or not tried.
    measured: Option<Measured>,
    /// Whether it was left out because it takes long.
    left_out: bool,
}

#[derive(Serialize)]
struct Measured {
    count: String,
    /// `None`: the pairs are known, but the solver did not come to its end in time.
    seconds: Option<f64>,
}

#[derive(Serialize)]
struct PapersJson {
    version: &'static str,
    command: &'static str,
    limit_seconds: f64,
    interrupted: bool,
    lines: Vec<Line>,
}

/// Measures all rows, and shows the table of a paper when it is complete.
pub(super) fn run(args: &BenchArgs, screen: &Screen) -> Result<Exit, Failure> {
    let limit = if args.long { LONGEST } else { args.seconds };
    let mut all = Vec::new();
    for paper in PAPERS {
        let mut lines = Vec::new();
        for row in paper.rows.iter().filter(|row| !(args.quick && row.is_large)) {
            lines.extend(measure(paper, row, limit, args, screen)?);
        }
        if !args.json {
            screen.print(&text(paper, &lines, limit, screen))?;
        }
        all.extend(lines);
    }
    let interrupted = guard::is_interrupted();
    if args.json {
        let (version, command) = (env!("CARGO_PKG_VERSION"), "bench");
        let limit_seconds = limit.as_secs_f64();
        let lines = all;
        screen.print(&to_text(&PapersJson {
            version,
            command,
            limit_seconds,
            interrupted,
            lines,
        }))?;
    }
    Ok(if interrupted { Exit::Inconclusive } else { Exit::Good })
}

fn measure(
    paper: &Paper,
    row: &'static Row,
    limit: Duration,
    args: &BenchArgs,
    screen: &Screen,
) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for printed in row.printed {
        let left_out = printed.long && !args.long;
        let measured = match left_out || guard::is_interrupted() {
            true => None,
            false => measure_one(row, printed, limit, screen)?,
        };
        lines.push(Line {
            paper: paper.title,
            benchmark: row.name,
            printed_as: printed.tool,
            printed: printed.count,
            printed_seconds: printed.seconds,
            here: printed.here.to_string(),
            measured,
            left_out,
        });
    }
    Ok(lines)
}

fn load(row: &Row, constrained: bool, screen: &Screen) -> Result<Loaded, Failure> {
    let constants = row.constants.iter();
    let constants =
        constants.map(|&(name, value)| (name.to_owned(), ConstantJson::Int(value))).collect();
    // Constraints are found, as in the paper.
    let lines = row.text.lines().filter(|line| !(constrained && line.starts_with("independent(")));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    Loaded::compile(row.file.to_owned(), text, constants, screen)
}

/// `None`: it did not come to its end in time.
fn measure_one(
    row: &'static Row,
    printed: &Printed,
    limit: Duration,
    screen: &Screen,
) -> Result<Option<Measured>, Failure> {
    let here = printed.here;
    let guard = Guard::start(Some(limit));
    let budget = guard.budget().clone();
    if let Here::Pairs(scheme) = here {
        let loaded = load(row, false, screen)?;
        let start = Instant::now();
        let options = selvedge_symbolic::Options { scheme, ..Default::default() };
        let clock = || start.elapsed();
        let outcome = selvedge_symbolic::check(loaded.program(), &options, &budget, &clock);
        let is_done = outcome.report.verdict() != Verdict::Inconclusive;
        let seconds = is_done.then_some(start.elapsed().as_secs_f64());
        let measured = |(_, left)| Measured { count: grouped(left as u64), seconds };
        return Ok(outcome.stats.pairs.map(measured));
    }
    let is_constrained = here == Here::Explorer(Algorithm::Constrained);
    let mut loaded = load(row, is_constrained, screen)?;
    if is_constrained {
        (loaded, _) = loaded.finding_constraints(&budget);
    }
    let (algorithm, quasi) = match here {
        Here::Quasi(k) => (Algorithm::Quasi, QuasiOptions { k, ..QuasiOptions::default() }),
        Here::Explorer(algorithm) => (algorithm, QuasiOptions::default()),
        Here::Pairs(_) => return Ok(None),
    };
    let limits = Limits { steps: MOST_STEPS, ..Limits::default() };
    let options = Options { keep_going: true, limits, budget, quasi, ..Options::default() };
    let mut watch = Watch::start(true, &format!("{}, {here}", row.name));
    let report = selvedge_explore::explore(algorithm, &|| loaded.system(), &options, &mut watch);
    let time = watch.finish();
    let stopped = |reason: &Inconclusive| {
        matches!(reason, Inconclusive::Bound(Bound::Time | Bound::Memory | Bound::Interrupted))
    };
    if report.inconclusive.iter().any(stopped) {
        return Ok(None);
    }
    let counts = report.counts;
    let mut count = grouped(counts.complete + counts.deadlocked + counts.blocked);
    if counts.redundant > 0 {
        count.push_str(&format!(" + {}", grouped(counts.redundant)));
    }
    Ok(Some(Measured { count, seconds: Some(time.as_secs_f64()) }))
}

fn text(paper: &Paper, lines: &[Line], limit: Duration, screen: &Screen) -> String {
    let mut table = Table::new(&[
        ("benchmark", Align::Left),
        ("printed as", Align::Left),
        ("here", Align::Left),
        (paper.counts, Align::Right),
        ("ours", Align::Right),
        ("time (s)", Align::Right),
        ("ours", Align::Right),
    ]);
    for line in lines {
        let (count, time) = match &line.measured {
            Some(measured) => {
                let time = measured.seconds.map(|time| seconds(Duration::from_secs_f64(time)));
                (measured.count.clone(), time.unwrap_or_else(|| format!("> {}", seconds(limit))))
            }
            None if line.left_out => ("–".to_owned(), "--long".to_owned()),
            None => ("–".to_owned(), format!("> {}", seconds(limit))),
        };
        table.row(vec![
            line.benchmark.to_owned(),
            line.printed_as.to_owned(),
            line.here.clone(),
            line.printed.to_owned(),
            count,
            line.printed_seconds.to_owned(),
            time,
        ]);
    }
    let head = screen.paint.style(Style::Strong, paper.title);
    let note = paper.note;
    format!("\n{head}: {note}\n\n{}", table.render(screen.table_width, screen.paint))
}
