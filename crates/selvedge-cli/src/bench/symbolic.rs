//! The table of the symbolic checks: three encodings of the same programs.

use std::time::{Duration, Instant};

use selvedge_core::{Bound, Verdict};
use selvedge_report::{Align, Style, Table, grouped, seconds};
use selvedge_symbolic::{Options, Scheme};
use serde::Serialize;

use super::goals::Goal;
use super::measure::Effort;
use crate::exit::Failure;
use crate::interrupt;
use crate::screen::Screen;
use crate::source::Loaded;

/// One program with one encoding.
#[derive(Serialize)]
pub(super) struct SymbolicRow {
    program: String,
    scheme: &'static str,
    /// Ordered pairs between which a token could pass, and those that are left.
    pairs: Option<(usize, usize)>,
    clauses: u64,
    /// `None`: it did not come to its end in time.
    seconds: Option<f64>,
    verdict: &'static str,
}

/// A program: its constants, the verdict, the encodings to try, whether it is left out if quick.
struct Case {
    name: &'static str,
    text: &'static str,
    constants: &'static [(&'static str, i64)],
    verdict: Verdict,
    schemes: &'static [Scheme],
    long: bool,
}

const ROUNDS: &str = include_str!("../../../../programs/mat/rounds.sel");
const FIB: &str = include_str!("../../../../programs/mat/fib.sel");

const fn rounds(constants: &'static [(&'static str, i64)], verdict: Verdict, long: bool) -> Case {
    Case { name: "rounds", text: ROUNDS, constants, verdict, schemes: &Scheme::ALL, long }
}

const fn fib(constants: &'static [(&'static str, i64)], verdict: Verdict, long: bool) -> Case {
    Case { name: "fib", text: FIB, constants, verdict, schemes: &[Scheme::Order], long }
}

const CASES: [Case; 14] = [
    rounds(&[("N", 1)], Verdict::Verified, false),
    rounds(&[("N", 2)], Verdict::Verified, true),
    rounds(&[("N", 5)], Verdict::Verified, true),
    rounds(&[("N", 10)], Verdict::Verified, true),
    rounds(&[("N", 25)], Verdict::Verified, true),
    rounds(&[("N", 50)], Verdict::Verified, true),
    rounds(&[("N", 2), ("BUG", 1)], Verdict::Violated, false),
    rounds(&[("N", 25), ("BUG", 1)], Verdict::Violated, true),
    fib(&[("N", 5), ("LIMIT", 144)], Verdict::Violated, false),
    fib(&[("N", 5), ("LIMIT", 145)], Verdict::Verified, false),
    fib(&[("N", 7), ("LIMIT", 987)], Verdict::Violated, true),
    fib(&[("N", 7), ("LIMIT", 988)], Verdict::Verified, true),
    fib(&[("N", 10), ("LIMIT", 17711)], Verdict::Violated, true),
    fib(&[("N", 10), ("LIMIT", 17712)], Verdict::Verified, true),
];

/// The largest goal has a minute.
const LONGEST_GOAL: Duration = Duration::from_secs(60);

/// Measures every program with every encoding, until the user interrupts.
pub(super) fn measure_all(effort: &Effort, screen: &Screen) -> Result<Vec<SymbolicRow>, Failure> {
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| !(effort.quick && case.long)) {
        for &scheme in case.schemes {
            if interrupt::is_requested() {
                return Ok(rows);
            }
            rows.push(measure(case, scheme, effort, screen)?);
        }
    }
    Ok(rows)
}

fn measure(
    case: &Case,
    scheme: Scheme,
    effort: &Effort,
    screen: &Screen,
) -> Result<SymbolicRow, Failure> {
    let given = case
        .constants
        .iter()
        .map(|&(name, value)| (name.to_owned(), selvedge_report::ConstantJson::Int(value)));
    let file = format!("{}.sel", case.name);
    let loaded = Loaded::compile(file, case.text.to_owned(), given.collect(), screen)?;
    let constants = case.constants.iter().map(|(name, value)| format!(" {name}={value}"));
    let program = format!("{}{}", case.name, constants.collect::<String>());
    let limit = if case.name == "fib" { LONGEST_GOAL.max(effort.limit) } else { effort.limit };
    let start = Instant::now();
    let mut stop = || match interrupt::is_requested() {
        true => Some(Bound::Interrupted),
        false => (start.elapsed() > limit).then_some(Bound::Time),
    };
    let options = Options { scheme, ..Options::default() };
    let outcome =
        selvedge_symbolic::check(loaded.program(), &options, &mut stop, &|| start.elapsed());
    let time = start.elapsed();
    let verdict = outcome.report.verdict();
    if verdict != Verdict::Inconclusive && verdict != case.verdict {
        return Err(Failure::Internal(format!("{program} with {}: {verdict}", scheme.name())));
    }
    let clauses = outcome.stats.depths.last().map_or(0, |depth| depth.formula.clauses);
    let is_done = verdict != Verdict::Inconclusive;
    Ok(SymbolicRow {
        program,
        scheme: scheme.name(),
        pairs: outcome.stats.pairs,
        clauses,
        seconds: is_done.then_some(time.as_secs_f64()),
        verdict: verdict.name(),
    })
}

/// The table.
pub(super) fn text(rows: &[SymbolicRow], screen: &Screen) -> String {
    let mut table = Table::new(&[
        ("symbolic", Align::Left),
        ("scheme", Align::Left),
        ("pairs", Align::Right),
        ("left", Align::Right),
        ("clauses", Align::Right),
        ("time", Align::Right),
        ("verdict", Align::Left),
    ]);
    for row in rows {
        let count = |number: Option<usize>| number.map_or("–".to_owned(), |n| grouped(n as u64));
        let time = row.seconds.map_or("–".to_owned(), |s| seconds(Duration::from_secs_f64(s)));
        table.row(vec![
            row.program.clone(),
            row.scheme.to_owned(),
            count(row.pairs.map(|(all, _)| all)),
            count(row.pairs.map(|(_, left)| left)),
            grouped(row.clauses),
            time,
            row.verdict.to_owned(),
        ]);
    }
    let head = screen.paint.style(Style::Strong, "symbolic checks");
    format!("\n{head}\n\n{}", table.render(screen.width, screen.paint))
}

/// What should be reached, as far as it was measured.
pub(super) fn goals(rows: &[SymbolicRow], effort: &Effort) -> Vec<Goal> {
    let find = |program: &str, scheme: &str| {
        rows.iter().find(|row| row.program == program && row.scheme == scheme)
    };
    let mut goals = Vec::new();
    for (program, most) in [
        ("fib N=5 LIMIT=144", 1),
        ("fib N=5 LIMIT=145", 1),
        ("fib N=7 LIMIT=987", 3),
        ("fib N=7 LIMIT=988", 3),
        ("fib N=10 LIMIT=17711", 60),
        ("fib N=10 LIMIT=17712", 60),
    ] {
        let row = find(program, "order");
        let time = row.and_then(|row| row.seconds);
        goals.push(Goal {
            goal: format!("symbolic {program}: less than {most} s"),
            measured: time.map(|time| seconds(Duration::from_secs_f64(time))),
            met: row.map(|_| time.is_some_and(|time| time < f64::from(most))),
        });
    }
    for program in ["rounds N=10", "rounds N=25", "rounds N=50"] {
        let pairs = find(program, "mat").and_then(|row| row.pairs);
        goals.push(Goal {
            goal: format!("symbolic {program}: mat keeps at most a tenth of the pairs"),
            measured: pairs.map(|(all, left)| format!("{:.1} %", 100.0 * left as f64 / all as f64)),
            met: pairs.map(|(all, left)| 10 * left <= all),
        });
    }
    for program in ["rounds N=25", "rounds N=50"] {
        let order = find(program, "order").and_then(|row| row.seconds);
        // What did not come to its end took at least the limit.
        let other = |scheme| {
            find(program, scheme).map(|row| row.seconds.unwrap_or(effort.limit.as_secs_f64()))
        };
        let fastest = other("token").zip(other("mat")).map(|(token, mat)| token.min(mat));
        let ratio = order.zip(fastest).map(|(order, other)| other / order);
        goals.push(Goal {
            goal: format!("symbolic {program}: order at least 10 times as fast as token and mat"),
            measured: ratio.map(|ratio| format!("{ratio:.0} times or more")),
            met: ratio.map(|ratio| ratio >= 10.0),
        });
    }
    goals
}
