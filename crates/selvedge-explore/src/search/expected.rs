//! How many executions a running search will have: what random executions say, and more and more what the search itself says.

use crate::search::estimate::Range;
use crate::search::marks::{Marks, TraceHash};

/// By which factor executions / share is off, typically, when so much of the branches is done: a rule of thumb, from a dozen programs. Early the
/// result is low, as branches that are not known yet do not count.
const OFF: [(f64, f64); 4] = [(0.01, 12.0), (0.05, 4.0), (0.1, 3.0), (0.25, 2.0)];
/// When more is done.
const OFF_LATE: f64 = 1.5;
/// How far the share that was met may be off: this many standard deviations.
const DEVIATIONS: f64 = 2.0;

/// So many that all stand for the same number say something.
const ENOUGH: f64 = 8.0;

/// What random executions say about a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Sampled {
    /// How many executions it will have.
    pub range: Range,
    /// The traces or graphs that they have met, and what each stands for.
    pub drawn: Vec<(TraceHash, f64)>,
    marks: Marks,
}

impl Sampled {
    /// What was drawn, and the number of executions that follows from it.
    pub fn new(range: Range, drawn: Vec<(TraceHash, f64)>) -> Self {
        Self { range, marks: Marks::new(&drawn), drawn }
    }

    /// The search has come to the end of an execution.
    #[inline]
    pub fn meet(&mut self, trace: TraceHash) {
        self.marks.meet(trace);
    }

    /// The search begins again.
    pub fn begin(&mut self) {
        self.marks.begin();
    }

    /// Returns whether the number of executions does not depend on a few that happen to stand for many.
    pub fn is_telling(&self) -> bool {
        self.marks.number() >= ENOUGH
    }

    /// Returns the total, when there were so many executions, all of which were met. Nothing if that is beyond the range before
    /// anything that was drawn was met.
    pub fn expected(&self, done: u64) -> Option<Range> {
        let met = self.marks.share();
        if met == 0.0 {
            return expected(done, 0.0, Some(self.range));
        }
        let deviation = ((1.0 - met) / (met * self.marks.number())).sqrt();
        Some(Range::around(done as f64 / met, (DEVIATIONS * deviation).exp()).at_least(done))
    }
}

impl Range {
    /// Returns the range of an estimate that may be off by a factor.
    fn around(estimate: f64, off: f64) -> Self {
        Self { estimate, low: estimate / off, high: estimate * off }
    }

    /// There are at least those that were done.
    fn at_least(self, done: u64) -> Self {
        let at_least = |number: f64| number.max(done as f64);
        let Self { estimate, low, high } = self;
        Self { estimate: at_least(estimate), low: at_least(low), high: at_least(high) }
    }
}

/// Returns the total, when there were so many executions, which the search takes for this share of all by its branches. `prior` is from random
/// executions. It weighs less the more executions there were, and nothing when there are as many as it said. Nothing is known
/// without it before a share is done. Alone, without a share, it never says that more than half is done, and nothing when that would be
/// beyond its range.
pub fn expected(done: u64, share: f64, prior: Option<Range>) -> Option<Range> {
    let is_share = share.is_finite() && share > 0.0 && share <= 1.0 && done > 0;
    let number = done as f64;
    let searched = is_share.then(|| {
        let off = OFF.iter().find(|&&(most, _)| share <= most).map_or(OFF_LATE, |&(_, off)| off);
        Range::around(number / share, off)
    });
    let range = match (prior, searched) {
        (Some(prior), Some(searched)) => {
            let weight = (number / prior.estimate).min(1.0);
            let mix = |a: f64, b: f64| ((1.0 - weight) * a.ln() + weight * b.ln()).exp();
            Range {
                estimate: mix(prior.estimate, searched.estimate),
                low: mix(prior.low, searched.low),
                high: mix(prior.high, searched.high),
            }
        }
        (Some(prior), None) => {
            let estimate = prior.estimate.max(2.0 * number);
            Some(Range { estimate, ..prior }).filter(|range| range.estimate <= range.high)?
        }
        (None, searched) => searched?,
    };
    Some(range.at_least(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: Range = Range { estimate: 1_000.0, low: 100.0, high: 10_000.0 };

    #[test]
    fn the_search_takes_over_from_the_random_executions() {
        assert_eq!(expected(0, 0.0, None), None);
        assert_eq!(expected(0, 0.0, Some(PRIOR)), Some(PRIOR));
        let half = expected(500, 0.1, Some(PRIOR)).expect("both are known");
        assert!(1_000.0 < half.estimate && half.estimate < 5_000.0, "{half:?}");
        let all = expected(1_000, 0.5, Some(PRIOR)).expect("both are known");
        assert!((all.estimate - 2_000.0).abs() < 1e-6, "{all:?}");
        assert!((all.high - 3_000.0).abs() < 1e-6, "{all:?}");
    }

    #[test]
    fn there_are_no_fewer_than_were_done() {
        let later = expected(500, 0.0, Some(PRIOR)).expect("it is known");
        assert!(later.low >= 500.0 && later.high >= 500.0, "{later:?}");
        let share = expected(50_000, 1.0, None).expect("it is known");
        assert!(share.low >= 50_000.0, "{share:?}");
    }

    #[test]
    fn random_executions_alone_do_not_say_that_the_end_is_near() {
        let done = |executions| {
            expected(executions, 0.0, Some(PRIOR)).map(|it| executions as f64 / it.estimate)
        };
        assert_eq!(done(250), Some(0.25));
        assert_eq!((done(900), done(5_000)), (Some(0.5), Some(0.5)));
        assert_eq!(done(5_001), None, "there are more than the range allows, or nearly so");
    }

    #[test]
    fn the_range_is_wide_while_little_is_done() {
        let early = expected(10, 0.001, None).expect("it is known");
        let late = expected(10, 0.5, None).expect("it is known");
        assert!(early.high / early.low > 100.0 && late.high / late.low < 3.0, "{early:?} {late:?}");
    }

    /// Ten that stand for 100 each: what was met is the share, whatever the number of executions.
    #[test]
    fn what_was_met_says_how_much_is_done() {
        let drawn = (0..10).map(|trace| (trace, 100.0)).collect();
        let mut sampled = Sampled::new(PRIOR, drawn);
        assert_eq!(sampled.expected(100), Some(PRIOR), "nothing was met yet");
        for trace in 0..5 {
            sampled.meet(trace);
            sampled.meet(trace);
            sampled.meet(1_000 + trace);
        }
        let half = sampled.expected(5_000).expect("it is known");
        assert!((half.estimate - 11_000.0).abs() < 1e-6, "one of eleven was not drawn: {half:?}");
        assert!(half.low < 9_000.0 && half.high > 13_000.0, "five are few: {half:?}");
        (5..10).for_each(|trace| sampled.meet(trace));
        let all = sampled.expected(5_000).expect("it is known");
        assert!((all.estimate - 5_500.0).abs() < 1e-6, "never all: {all:?}");
        sampled.begin();
        assert_eq!(sampled.expected(0), Some(PRIOR), "it began again");
    }

    #[test]
    fn a_few_that_stand_for_many_say_nothing() {
        let is_telling = |weight: f64| {
            let drawn = (0..100).map(|trace| (trace, if trace == 0 { weight } else { 1.0 }));
            Sampled::new(PRIOR, drawn.collect()).is_telling()
        };
        assert!(is_telling(1.0) && is_telling(10.0));
        assert!(!is_telling(1_000.0));
    }
}
