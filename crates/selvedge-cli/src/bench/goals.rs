//! The last table: the goals, and whether they are met.

use std::time::Duration;

use selvedge_report::{Align, Style, Table, grouped, rate, seconds};
use serde::Serialize;

use super::measure::{Effort, Measurement};
use super::rate::RateRow;
use crate::screen::Screen;

/// A goal.
#[derive(Serialize)]
pub(super) struct Goal {
    pub(super) goal: String,
    /// What was measured; `None`: nothing.
    pub(super) measured: Option<String>,
    /// `None`: not measured.
    pub(super) met: Option<bool>,
}

/// Returns all goals, as far as they were measured.
pub(super) fn all(rows: &[RateRow], effort: &Effort) -> Vec<Goal> {
    let mut goals = Vec::new();
    for title in ["alternate N=4", "alternate N=5", "readers N=8", "lastzero N=8"] {
        goals.push(fast(rows, title, 200_000));
    }
    goals.push(short(rows, "lastzero N=15", Duration::from_secs(3), effort));
    goals.push(small(rows, "lastzero N=15", 60_000_000));
    goals.push(short(rows, "readers N=13", Duration::from_millis(200), effort));
    goals.push(alike(rows, 0.3));
    goals.push(close(rows, 2.0));
    goals.push(ahead(rows, 0.3));
    goals.push(small_with(rows, "poke T=12 I=3", "quasi", |row| &row.quasi, 180_000_000));
    goals
}

/// Returns the measurement of `optimal` on a program; outer `None`: it was left out.
fn optimal<'a>(rows: &'a [RateRow], title: &str) -> Option<Option<&'a Measurement>> {
    rows.iter().find(|row| row.title == title).map(|row| row.optimal.as_ref())
}

fn fast(rows: &[RateRow], title: &str, least: u64) -> Goal {
    let measured = optimal(rows, title).flatten();
    let speed = measured.and_then(|measured| rate(measured.total(), measured.time()));
    Goal {
        goal: format!("{title}: at least {} executions/s", grouped(least)),
        measured: speed.map(|speed| format!("{}/s", grouped(speed))),
        met: speed.map(|speed| speed >= least),
    }
}

fn short(rows: &[RateRow], title: &str, most: Duration, effort: &Effort) -> Goal {
    let goal = format!("{title}: less than {}", seconds(most));
    match optimal(rows, title) {
        Some(Some(measured)) => {
            let time = measured.time();
            Goal { goal, measured: Some(seconds(time)), met: Some(time < most) }
        }
        // It was stopped, but so late that the goal is missed all the same.
        Some(None) if effort.limit >= most => {
            let measured = Some(format!("> {}", seconds(effort.limit)));
            Goal { goal, measured, met: Some(false) }
        }
        Some(None) | None => Goal { goal, measured: None, met: None },
    }
}

fn small(rows: &[RateRow], title: &str, most: u64) -> Goal {
    small_with(rows, title, "optimal", |row| &row.optimal, most)
}

fn small_with(
    rows: &[RateRow],
    title: &str,
    name: &str,
    of: fn(&RateRow) -> &Option<Measurement>,
    most: u64,
) -> Goal {
    let row = rows.iter().find(|row| row.title == title);
    let peak = row.and_then(|row| of(row).as_ref()).map(|measured| measured.peak_bytes);
    let by = if name == "optimal" { String::new() } else { format!(" ({name})") };
    Goal {
        goal: format!("{title}: less than {} of memory{by}", megabytes(most)),
        measured: peak.map(megabytes),
        met: peak.map(|peak| peak < most),
    }
}

/// Decimal, with a digit more than the goal has.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Returns the geometric mean: twice as long on one program and half as long on another is the same.
fn alike(rows: &[RateRow], most: f64) -> Goal {
    let ratios = rows.iter().filter(|row| row.is_without_redundancy()).filter_map(|row| row.ratio);
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    let mean = geometric_mean(&ratios);
    // A mean hides what is far away from it.
    let spread = ratios.first().zip(ratios.last());
    let measured = mean.zip(spread).map(|(mean, (least, greatest))| {
        format!("{mean:.2} ({} rows, {least:.2} to {greatest:.2})", ratios.len())
    });
    let percent = most * 100.0;
    Goal {
        goal: format!("optimal/source on average: within {percent:.0} % of each other"),
        measured,
        met: mean.map(|mean| mean <= 1.0 + most && 1.0 / mean <= 1.0 + most),
    }
}

/// On no program without redundant executions should one of `quasi` take more than so many times as
/// long as one of `optimal`.
fn close(rows: &[RateRow], most: f64) -> Goal {
    let rows = rows.iter().filter(|row| row.is_without_redundancy());
    let ratios: Vec<f64> = rows.filter_map(|row| row.quasi_ratio).collect();
    let slowest = ratios.iter().copied().max_by(f64::total_cmp);
    let measured = slowest.zip(geometric_mean(&ratios)).map(|(slowest, mean)| {
        format!("{slowest:.2} ({} rows, {mean:.2} on average)", ratios.len())
    });
    Goal {
        goal: format!("quasi/optimal on every program: at most {most}"),
        measured,
        met: slowest.map(|slowest| slowest <= most),
    }
}

/// Where more than this share of the executions of `source` are redundant, `quasi` should finish first.
fn ahead(rows: &[RateRow], share: f64) -> Goal {
    let mut times: Vec<f64> = Vec::new();
    for row in rows {
        if let (Some(source), Some(quasi)) = (&row.source, &row.quasi)
            && source.executions.redundant as f64 > share * source.total() as f64
        {
            times.push(quasi.seconds / source.seconds);
        }
    }
    let slowest = times.iter().copied().max_by(f64::total_cmp);
    Goal {
        goal: format!("quasi before source where over {:.0} % are redundant", share * 100.0),
        measured: slowest
            .map(|slowest| format!("in at most {slowest:.2} of its time ({} rows)", times.len())),
        met: slowest.map(|slowest| slowest < 1.0),
    }
}

fn geometric_mean(numbers: &[f64]) -> Option<f64> {
    let logarithms = numbers.iter().map(|number| number.ln());
    (!numbers.is_empty()).then(|| (logarithms.sum::<f64>() / numbers.len() as f64).exp())
}

/// Returns the table.
pub(super) fn text(goals: &[Goal], screen: &Screen) -> String {
    let mut table =
        Table::new(&[("goal", Align::Left), ("measured", Align::Right), ("", Align::Left)]);
    for goal in goals {
        let met = match goal.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "not measured",
        };
        let measured = goal.measured.clone().unwrap_or("–".to_owned());
        table.row(vec![goal.goal.clone(), measured, met.to_owned()]);
    }
    let head = screen.paint.style(Style::Strong, "Goals");
    format!(
        "\n{head}: speeds and times are those of optimal; averages and ratios are over the rows\n\
         without redundant executions, averages are geometric means\n\n{}",
        table.render(screen.table_width, screen.paint)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rate::tests::row;

    fn met(goal: Goal) -> Option<bool> {
        goal.met
    }

    #[test]
    fn speeds_times_and_memory() {
        // 1000 executions in 2 s, with 5 MB.
        let rows = [row("p", Some((2.0, 0)), Some((2.0, 0)), None)];
        assert_eq!(met(fast(&rows, "p", 500)), Some(true));
        assert_eq!(met(fast(&rows, "p", 501)), Some(false));
        assert_eq!(met(fast(&rows, "q", 1)), None);
        let effort = Effort::new(false, Duration::from_secs(10));
        assert_eq!(met(short(&rows, "p", Duration::from_secs(3), &effort)), Some(true));
        assert_eq!(met(short(&rows, "p", Duration::from_secs(2), &effort)), Some(false));
        assert_eq!(met(small(&rows, "p", 5_000_001)), Some(true));
        assert_eq!(met(small(&rows, "p", 5_000_000)), Some(false));
    }

    #[test]
    fn what_was_stopped_late_misses_its_goal() {
        let rows = [row("p", None, None, None)];
        let effort = Effort::new(false, Duration::from_secs(3));
        assert_eq!(met(short(&rows, "p", Duration::from_secs(3), &effort)), Some(false));
        assert_eq!(met(short(&rows, "p", Duration::from_secs(4), &effort)), None);
        assert_eq!(met(short(&rows, "q", Duration::from_secs(3), &effort)), None);
    }

    #[test]
    fn the_average_of_ratios() {
        let row = |title, source, optimal| row(title, source, optimal, None);
        let twice = row("p", Some((1.0, 0)), Some((2.0, 0)));
        let half = row("q", Some((2.0, 0)), Some((1.0, 0)));
        let redundant = row("r", Some((1.0, 1)), Some((9.0, 0)));
        let unfinished = row("s", None, Some((9.0, 0)));
        assert_eq!(met(alike(&[redundant, unfinished], 0.3)), None);
        assert_eq!(met(alike(&[twice], 0.3)), Some(false));
        assert_eq!(met(alike(&[half], 0.3)), Some(false));
        let twice = row("p", Some((1.0, 0)), Some((2.0, 0)));
        let half = row("q", Some((2.0, 0)), Some((1.0, 0)));
        let goal = alike(&[twice, half], 0.3);
        assert_eq!(goal.measured.as_deref(), Some("1.00 (2 rows, 0.50 to 2.00)"));
        assert_eq!(goal.met, Some(true));
    }

    #[test]
    fn quasi_beside_the_others() {
        let same = row("p", Some((1.0, 0)), Some((1.0, 0)), Some((1.5, 0)));
        assert_eq!(met(close(&[same], 2.0)), Some(true));
        let fast = row("p", Some((1.0, 0)), Some((1.0, 0)), Some((0.5, 0)));
        let slow = row("p", Some((1.0, 0)), Some((1.0, 0)), Some((2.5, 0)));
        let goal = close(&[fast, slow], 2.0);
        assert_eq!(goal.measured.as_deref(), Some("2.50 (2 rows, 1.12 on average)"));
        assert_eq!(goal.met, Some(false));
        // 500 of 1500 are redundant, 400 of 1400 are not enough.
        let goal = ahead(&[row("p", Some((2.0, 500)), None, Some((1.0, 0)))], 0.3);
        assert_eq!(goal.measured.as_deref(), Some("in at most 0.50 of its time (1 rows)"));
        assert_eq!(goal.met, Some(true));
        assert_eq!(
            met(ahead(&[row("p", Some((2.0, 500)), None, Some((3.0, 0)))], 0.3)),
            Some(false)
        );
        assert_eq!(met(ahead(&[row("p", Some((2.0, 400)), None, Some((3.0, 0)))], 0.3)), None);
    }
}
