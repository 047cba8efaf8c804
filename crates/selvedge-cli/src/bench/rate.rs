//! The first table: how fast the algorithms are.

use std::collections::BTreeMap;

use selvedge_explore::Algorithm;
use selvedge_report::{Align, ConstantJson, Style, Table, bytes, grouped, rate, seconds};
use serde::Serialize;

use super::measure::{Effort, Measurement, measure, ratio};
use super::programs::{Case, RATE};
use crate::exit::Failure;
use crate::guard;
use crate::screen::Screen;

/// What the algorithms need for a program.
#[derive(Serialize)]
pub(super) struct RateRow {
    #[serde(skip)]
    pub(super) title: String,
    program: &'static str,
    constants: BTreeMap<String, ConstantJson>,
    classes: u64,
    /// `None`: it did not come to its end in time.
    pub(super) source: Option<Measurement>,
    pub(super) optimal: Option<Measurement>,
    pub(super) quasi: Option<Measurement>,
    /// How many times as long an execution takes with `optimal` as with `source`.
    pub(super) ratio: Option<f64>,
    /// How many times as long an execution takes with `quasi` as with `optimal`.
    pub(super) quasi_ratio: Option<f64>,
}

/// Measures every program, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Vec<RateRow>, Failure> {
    let mut rows = Vec::new();
    for case in RATE.iter().filter(|case| effort.includes(case)) {
        let row = RateRow::measure(case, effort, screen)?;
        if guard::is_interrupted() {
            break;
        }
        rows.push(row);
    }
    Ok(rows)
}

impl RateRow {
    fn measure(case: &Case, effort: &Effort, screen: &Screen) -> Result<Self, Failure> {
        let algorithms = [Algorithm::Source, Algorithm::Optimal, Algorithm::Quasi];
        let mut measured = measure(case, &algorithms, effort, screen)?.into_iter();
        let mut next = || measured.next().flatten();
        let (source, optimal, quasi) = (next(), next(), next());
        let (program, constants) = (case.program, case.constants());
        Ok(Self {
            title: case.title(),
            program,
            constants,
            classes: case.classes,
            ratio: ratio_of(&optimal, &source),
            quasi_ratio: ratio_of(&quasi, &optimal),
            source,
            optimal,
            quasi,
        })
    }

    /// Returns whether `source` and `optimal` came to their end, and neither gave up an execution: then they
    /// did the same work.
    pub(super) fn is_without_redundancy(&self) -> bool {
        [&self.source, &self.optimal].iter().all(|measured| {
            measured.as_ref().is_some_and(|measured| measured.executions.redundant == 0)
        })
    }
}

fn ratio_of(other: &Option<Measurement>, base: &Option<Measurement>) -> Option<f64> {
    Some(ratio(other.as_ref()?, base.as_ref()?))
}

/// Returns the table, with a heading.
pub(super) fn text(rows: &[RateRow], screen: &Screen) -> String {
    let head = screen.paint.style(Style::Strong, "Rate");
    let explanation = "per execution of any kind, redundant ones included; events are those of the \
                       longest execution; –: not done in time";
    format!("\n{head}: {explanation}\n\n{}", table(rows).render(screen.table_width, screen.paint))
}

fn table(rows: &[RateRow]) -> Table {
    let mut table = Table::new(&[
        ("program", Align::Left),
        ("algorithm", Align::Left),
        ("classes", Align::Right),
        ("redundant", Align::Right),
        ("events", Align::Right),
        ("time", Align::Right),
        ("executions/s", Align::Right),
        ("ns/execution", Align::Right),
        ("optimal/source", Align::Right),
        ("quasi/optimal", Align::Right),
        ("memory", Align::Right),
    ]);
    for row in rows {
        let show =
            |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        let line = |algorithm: &str, measured: &Option<Measurement>, ratios| {
            let mut cells = vec![row.title.clone(), algorithm.to_owned(), grouped(row.classes)];
            cells.extend(numbers(measured.as_ref(), ratios));
            cells
        };
        let none = String::new;
        table.row(line("source", &row.source, [none(), none()]));
        table.row(line("optimal", &row.optimal, [show(row.ratio), none()]));
        table.row(line("quasi", &row.quasi, [none(), show(row.quasi_ratio)]));
    }
    table
}

fn numbers(measured: Option<&Measurement>, ratios: [String; 2]) -> [String; 8] {
    let [optimal, quasi] = ratios;
    let Some(measured) = measured else {
        return ["–", "–", "–", "–", "–", &optimal, &quasi, "–"].map(str::to_owned);
    };
    [
        grouped(measured.executions.redundant),
        grouped(measured.longest as u64),
        seconds(measured.time()),
        rate(measured.total(), measured.time()).map_or("–".to_owned(), grouped),
        grouped(measured.ns_per_execution.round() as u64),
        optimal,
        quasi,
        bytes(measured.peak_bytes),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use selvedge_core::Counts;
    use selvedge_report::Paint;

    /// Returns the row of a program with 1000 classes. For each algorithm: its seconds, and how many
    /// redundant executions it starts.
    pub(in crate::bench) fn row(
        title: &str,
        source: Option<(f64, u64)>,
        optimal: Option<(f64, u64)>,
        quasi: Option<(f64, u64)>,
    ) -> RateRow {
        let measurement = |algorithm, (seconds, redundant): (f64, u64)| Measurement {
            algorithm,
            executions: Counts { complete: 1000, redundant, ..Counts::default() }.into(),
            longest: 7,
            seconds,
            ns_per_execution: seconds * 1e9 / (1000 + redundant) as f64,
            peak_bytes: 5_000_000,
            round_seconds: vec![seconds],
        };
        let source = source.map(|source| measurement("source", source));
        let optimal = optimal.map(|optimal| measurement("optimal", optimal));
        let quasi = quasi.map(|quasi| measurement("quasi", quasi));
        let (program, constants) = ("p", BTreeMap::new());
        RateRow {
            title: title.to_owned(),
            program,
            constants,
            classes: 1000,
            ratio: ratio_of(&optimal, &source),
            quasi_ratio: ratio_of(&quasi, &optimal),
            source,
            optimal,
            quasi,
        }
    }

    #[test]
    fn what_was_not_measured_has_a_dash() {
        let rows = [
            row("p", None, Some((0.001, 0)), None),
            row("q", Some((0.001, 0)), Some((0.002, 0)), Some((0.001, 0))),
        ];
        let expected = "\
program  algorithm  classes  redundant  events     time  executions/s  ns/execution  optimal/source  quasi/optimal   memory
p        source       1,000          –       –        –             –             –                                       –
p        optimal      1,000          0       7  1.00 ms     1,000,000         1,000               –                 4.8 MiB
p        quasi        1,000          –       –        –             –             –                              –        –
q        source       1,000          0       7  1.00 ms     1,000,000         1,000                                 4.8 MiB
q        optimal      1,000          0       7  2.00 ms       500,000         2,000            2.00                 4.8 MiB
q        quasi        1,000          0       7  1.00 ms     1,000,000         1,000                           0.50  4.8 MiB
";
        let shown = table(&rows).render(usize::MAX, Paint { colour: false });
        assert_eq!(shown, expected);
    }
}
