//! How many executions a running search will have: what random executions say, and more and more what the search itself says.

use selvedge_explore::Range;

/// By which factor executions / share is off, typically, when so much is done: a rule of thumb, from a dozen programs. Early the
/// result is low, as branches that are not known yet do not count.
const OFF: [(f64, f64); 4] = [(0.01, 12.0), (0.05, 4.0), (0.1, 3.0), (0.25, 2.0)];
/// When more is done.
const OFF_LATE: f64 = 1.5;

/// Returns the total, when there were so many executions, which the search takes for this share of all. `prior` is from random
/// executions. It weighs less the more executions there were, and nothing when there are as many as it said. Nothing is known
/// without it before a share is done. Alone, without a share, it never says that more than half is done, and nothing when that would be
/// beyond its range.
pub(super) fn expected(done: u64, share: f64, prior: Option<Range>) -> Option<Range> {
    let done = done as f64;
    let is_share = share.is_finite() && share > 0.0 && share <= 1.0 && done > 0.0;
    let searched = is_share.then(|| {
        let off = OFF.iter().find(|&&(most, _)| share <= most).map_or(OFF_LATE, |&(_, off)| off);
        let estimate = done / share;
        Range { estimate, low: estimate / off, high: estimate * off }
    });
    let range = match (prior, searched) {
        (Some(prior), Some(searched)) => {
            let weight = (done / prior.estimate).min(1.0);
            let mix = |a: f64, b: f64| ((1.0 - weight) * a.ln() + weight * b.ln()).exp();
            Range {
                estimate: mix(prior.estimate, searched.estimate),
                low: mix(prior.low, searched.low),
                high: mix(prior.high, searched.high),
            }
        }
        (Some(prior), None) => {
            let estimate = prior.estimate.max(2.0 * done);
            Some(Range { estimate, ..prior }).filter(|range| range.estimate <= range.high)?
        }
        (None, searched) => searched?,
    };
    // There are at least those that were done.
    let at_least = |number: f64| number.max(done);
    let Range { estimate, low, high } = range;
    Some(Range { estimate: at_least(estimate), low: at_least(low), high: at_least(high) })
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
}
