//! A few random executions before a long search: a violation that many executions show is found at once, wherever an exhaustive
//! search would come to it.
//!
//! A search that is over after a few executions is left alone: it finds everything itself, and its counts and the violation
//! that it meets first stay what they are. The seeds are fixed, so that the same program has the same answer.

use selvedge_core::{Bound, Inconclusive, Report, Schedule, Violation};
use selvedge_explore::{Limits, Observer, Options, Sampling};

use crate::source::{Sample, Subject};

/// A search that needs fewer executions is left alone.
const SHORT: u64 = 200;

/// How many executions are tried, one half uniformly, the other with random priorities.
const EXECUTIONS: u64 = 200;

/// Each of them has at most so many steps.
const STEPS: usize = 2000;

/// What random priorities are meant for: bugs that need so many steps in a certain order.
const DEPTH: u32 = 3;

/// What comes of random executions.
pub(crate) enum Early {
    /// They are all that is run: with what they found, or with what was found when the budget was spent.
    Ends(Box<Report>),
    /// The search follows; these violations are found already.
    GoesOn(Vec<(Violation, Schedule)>),
}

/// Returns the options of a search that ends after a few executions, unless that was asked for anyway.
pub(crate) fn short(options: &Options) -> Option<Options> {
    let steps = options.limits.steps.min(STEPS);
    let limits = Limits { executions: Some(SHORT), steps, ..options.limits.clone() };
    let is_less = options.limits.executions.is_none_or(|asked| asked > SHORT);
    is_less.then(|| Options { limits, ..options.clone() })
}

/// Returns whether such a search would have gone on.
pub(crate) fn was_cut(report: &Report) -> bool {
    report.inconclusive.contains(&Inconclusive::Bound(Bound::Executions(SHORT)))
}

/// Runs random executions until one shows a violation, or all of them if the search is to go on after that. Returns what was
/// found, with a word about how.
pub(crate) fn find<L: Subject>(
    loaded: &L,
    options: &Options,
    observer: &mut dyn Observer,
) -> Option<Report> {
    let limits = Limits { steps: options.limits.steps.min(STEPS), ..options.limits.clone() };
    let options = Options { limits, ..options.clone() };
    let mut before = 0;
    for sampling in [Sampling::Uniform, Sampling::Pct { depth: DEPTH }] {
        let sample = Sample { sampling, executions: EXECUTIONS / 2, seed: 0 };
        let mut report = loaded.sample(sample, &options, None, observer);
        before += report.counts.total();
        if !report.violations.is_empty() {
            report.inconclusive.clear();
            report.fact("found", format!("by random execution {before}, before the search"));
            return Some(report);
        }
    }
    None
}

/// Adds the violations that the search did not come to.
pub(crate) fn add(early: Vec<(Violation, Schedule)>, report: &mut Report) {
    for (violation, schedule) in early {
        if !report.knows(&violation) {
            report.violations.push((violation, schedule));
        }
    }
}
