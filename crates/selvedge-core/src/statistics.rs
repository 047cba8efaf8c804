//! Statistics of a search.

use std::time::Duration;

/// Statistics of a search.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Statistics {
    /// Named numbers.
    pub numbers: Vec<(&'static str, f64)>,
    /// How often which values occurred.
    pub histograms: Vec<Histogram>,
    /// Where the time went.
    pub times: Vec<(&'static str, Duration)>,
}

/// How often which values occurred.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Of what.
    pub name: &'static str,
    /// Ranges of values, ascending, up to the last that occurred.
    pub bars: Vec<Bar>,
}

/// How often values in a range occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// The smallest value.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// How often.
    pub count: u64,
}

impl Histogram {
    /// From counts by powers of two: of 0, of 1, of 2 to 3, of 4 to 7, …
    pub fn by_powers(name: &'static str, counts: &[u64]) -> Self {
        let len = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let bar = |(power, &count): (usize, &u64)| {
            let from = if power == 0 { 0 } else { 1 << (power - 1) };
            Bar { from, to: (2 * from).saturating_sub(1).max(from), count }
        };
        Self { name, bars: counts[..len].iter().enumerate().map(bar).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_by_powers_of_two() {
        let histogram = Histogram::by_powers("distance", &[5, 4, 3, 0, 1, 0]);
        let bars: Vec<_> = histogram.bars.iter().map(|bar| (bar.from, bar.to, bar.count)).collect();
        assert_eq!(bars, [(0, 0, 5), (1, 1, 4), (2, 3, 3), (4, 7, 0), (8, 15, 1)]);
        assert!(Histogram::by_powers("nothing", &[0, 0]).bars.is_empty());
    }
}
