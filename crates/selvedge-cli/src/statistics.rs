//! Statistics of a search, as text: `check --stats`.

use selvedge_core::{Histogram, Statistics};
use selvedge_report::{grouped, seconds};

/// The longest bar.
const WIDTH: u64 = 32;

/// Returns the lines below the summary.
pub(crate) fn text(statistics: &Statistics) -> String {
    let mut out = String::from("\nstatistics\n");
    for (name, number) in &statistics.numbers {
        out.push_str(&format!("  {name:34}{:>12}\n", show(*number)));
    }
    let total: f64 = statistics.times.iter().map(|(_, time)| time.as_secs_f64()).sum();
    for (name, time) in &statistics.times {
        let share = if total > 0.0 { time.as_secs_f64() / total * 100.0 } else { 0.0 };
        out.push_str(&format!("  {name:34}{:>12}{share:>6.0} %\n", seconds(*time)));
    }
    statistics.histograms.iter().for_each(|histogram| out.push_str(&bars(histogram)));
    out
}

fn show(number: f64) -> String {
    if number.fract() == 0.0 { grouped(number as u64) } else { format!("{number:.1}") }
}

fn bars(histogram: &Histogram) -> String {
    let most = histogram.bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let all: u64 = histogram.bars.iter().map(|bar| bar.count).sum();
    let mut out = format!("\n{}: {}\n", histogram.name, grouped(all));
    for bar in &histogram.bars {
        let range = match (bar.from, bar.to) {
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from} to {to}"),
        };
        let share = bar.count as f64 / all.max(1) as f64 * 100.0;
        // Whatever occurred is seen.
        let length = (bar.count * WIDTH).div_ceil(most) as usize;
        let line = format!(
            "  {range:>14}{:>13}{share:>6.1} %  {}",
            grouped(bar.count),
            "#".repeat(length)
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn numbers_shares_and_bars() {
        let statistics = Statistics {
            numbers: vec![("events made", 1234.0), ("their mean depth", 2.25)],
            histograms: vec![Histogram::by_powers("distances", &[64, 0, 2])],
            times: vec![
                ("running the program", Duration::from_millis(300)),
                ("adding events", Duration::from_millis(100)),
            ],
        };
        let expected = "
statistics
  events made                              1,234
  their mean depth                           2.2
  running the program                     0.30 s    75 %
  adding events                           0.10 s    25 %

distances: 66
               0           64  97.0 %  ################################
               1            0   0.0 %
          2 to 3            2   3.0 %  #
";
        assert_eq!(text(&statistics), expected);
    }
}
