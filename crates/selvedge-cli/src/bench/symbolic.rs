//! The table of the symbolic checks: three encodings of the same programs.

use std::time::{Duration, Instant};

use selvedge_core::Verdict;
use selvedge_report::{Align, Style, Table, grouped, seconds};
use selvedge_symbolic::{Options, Scheme};
use serde::Serialize;

use super::goals::Goal;
use super::measure::Effort;
use crate::exit::Failure;
use crate::guard::{self, Guard};
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

const CASES: [Case; 15] = [
    rounds(&[("N", 1)], Verdict::Verified, false),
    rounds(&[("N", 2)], Verdict::Verified, true),
    rounds(&[("N", 5)], Verdict::Verified, true),
    rounds(&[("N", 10)], Verdict::Verified, true),
    rounds(&[("N", 25)], Verdict::Verified, true),
    rounds(&[("N", 50)], Verdict::Verified, true),
    rounds(&[("N", 2), ("BUG", 1)], Verdict::Violated, false),
    rounds(&[("N", 25), ("BUG", 1)], Verdict::Violated, true),
    rounds(&[("N", 50), ("BUG", 1)], Verdict::Violated, true),
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
            if guard::is_interrupted() {
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
    let guard = Guard::start(Some(limit));
    let options = Options { scheme, ..Options::default() };
    let outcome =
        selvedge_symbolic::check(loaded.program(), &options, guard.budget(), &|| start.elapsed());
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

/// Returns the table.
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

/// Returns what should be reached, as far as it was measured.
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
    for program in ["rounds N=2", "rounds N=10", "rounds N=25", "rounds N=50"] {
        let left = |scheme| find(program, scheme).and_then(|row| row.pairs).map(|(_, left)| left);
        goals.push(few_pairs(program, left("token").zip(left("mat"))));
    }
    for program in ["rounds N=25", "rounds N=50", "rounds N=25 BUG=1", "rounds N=50 BUG=1"] {
        let others = ["token", "mat"].map(|scheme| find(program, scheme));
        goals.push(ahead(program, find(program, "order"), others, effort.limit));
    }
    goals
}

/// Returns the pairs that are left with `token` and with `mat`.
fn few_pairs(program: &str, left: Option<(usize, usize)>) -> Goal {
    Goal {
        goal: format!("symbolic {program}: mat keeps at most a tenth of the pairs of token"),
        measured: left.map(|(token, mat)| {
            let share = 100.0 * mat as f64 / token as f64;
            format!("{share:.1} % ({} of {})", grouped(mat as u64), grouped(token as u64))
        }),
        met: left.map(|(token, mat)| 10 * mat <= token),
    }
}

/// `order` and the others. What did not come to its end took longer than the limit.
fn ahead(
    program: &str,
    order: Option<&SymbolicRow>,
    others: [Option<&SymbolicRow>; 2],
    limit: Duration,
) -> Goal {
    let order = order.and_then(|row| row.seconds);
    let fastest = match others {
        [Some(token), Some(mat)] => {
            let time = |row: &SymbolicRow| row.seconds.unwrap_or(f64::INFINITY);
            Some(time(token).min(time(mat)))
        }
        _ => None,
    };
    let ratio = order.zip(fastest).map(|(order, other)| match other.is_finite() {
        true => (other / order, format!("{:.0} times", other / order)),
        false => {
            let ratio = limit.as_secs_f64() / order;
            (ratio, format!("over {ratio:.0} times: neither ends within {}", seconds(limit)))
        }
    });
    Goal {
        goal: format!("symbolic {program}: order at least 10 times as fast as token and mat"),
        met: ratio.as_ref().map(|(ratio, _)| *ratio >= 10.0),
        measured: ratio.map(|(_, text)| text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seconds: Option<f64>) -> SymbolicRow {
        let (program, scheme, verdict) = (String::new(), "", "");
        SymbolicRow { program, scheme, pairs: None, clauses: 0, seconds, verdict }
    }

    #[test]
    fn what_does_not_end_is_behind() {
        let limit = Duration::from_secs(10);
        let measure = |order: f64, token: Option<f64>, mat: Option<f64>| {
            let [order, token, mat] = [Some(order), token, mat].map(row);
            let goal = ahead("p", Some(&order), [Some(&token), Some(&mat)], limit);
            (goal.met, goal.measured.unwrap_or_default())
        };
        assert_eq!(measure(0.1, Some(9.0), Some(1.0)), (Some(true), "10 times".to_owned()));
        assert_eq!(measure(0.1, None, Some(0.5)), (Some(false), "5 times".to_owned()));
        let neither = "over 100 times: neither ends within 10.0 s".to_owned();
        assert_eq!(measure(0.1, None, None), (Some(true), neither));
        assert_eq!(measure(5.0, None, None).0, Some(false), "unknown");
        assert_eq!(ahead("p", None, [None, None], limit).met, None);
    }

    #[test]
    fn a_tenth_of_the_pairs() {
        assert_eq!(few_pairs("p", Some((100, 10))).met, Some(true));
        assert_eq!(few_pairs("p", Some((109, 11))).met, Some(false));
        assert_eq!(few_pairs("p", None).met, None);
    }
}
