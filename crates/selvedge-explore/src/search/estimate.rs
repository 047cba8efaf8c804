//! How many executions a search will have, from random ones.
//!
//! A random execution `s` takes any enabled thread and any of its alternatives at every step, each as likely as the others, so
//! its probability `P(s)` is known. If `L(s)` is the number of executions of its trace, the mean of `1 / (P(s)·L(s))` is the
//! number of traces: `Σ P(s) · 1/(P(s)·L(s))` counts each of the `L` executions of a trace with `1/L`.
//!
//! **Guarantee:** the mean is unbiased. Its distribution is skewed to the right where there are many threads: most
//! samples are too low, and a few are much too high. So an estimate has a range, from means of samples that are drawn from the sample
//! (bootstrap); if few executions make up most of the sum, larger ones are probably missing, and the range is wider. It is an order of
//! magnitude, and no more. If the executions that make up most of the sum are too rare to be met at all, the mean is far too low, and nothing in the
//! weights says so; the traces that were met do ([`Seen`]). So the estimate is at least theirs.

use selvedge_core::{Step, System, ThreadId};

use crate::options::{Observer, Options, Silent};
use crate::search::marks::{TraceHash, TraceHasher};
use crate::search::order::Order;
use crate::search::random::Random;
use crate::search::run::Run;
use crate::search::seen::Seen;
use crate::trace::linearisations::{MOST_SUBSETS, ln_linearisations};

/// How many samples are drawn from the sample.
const RESAMPLES: usize = 200;
/// If one execution makes up a larger share of the sum, others like it are probably missing.
const LARGE_SHARE: f64 = 0.05;
/// How much wider the range is then.
pub(crate) const WIDER: f64 = 4.0;

/// An estimate of the number of traces: of executions of an optimal search.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// How many random executions it is from.
    pub sampled: u64,
    /// The number, if it is known.
    pub traces: Option<Range>,
    /// How many steps a random execution has, on average.
    pub steps: f64,
    /// The traces that they have met, and what each stands for.
    pub drawn: Vec<(TraceHash, f64)>,
}

/// A number, and where it is likely to be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// The estimate.
    pub estimate: f64,
    /// It is likely not less.
    pub low: f64,
    /// It is likely not more.
    pub high: f64,
}

/// Estimates the number of traces by random executions, as long as `go_on`, which gets their number, returns true. The same
/// seed and number give the same estimate. It is not known if executions are too long to count those of their trace,
/// or reach the limit on steps.
pub fn estimate<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    seed: u64,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Estimate {
    let mut own = options.clone();
    (own.keep_going, own.data_races, own.limits.executions) = (true, false, None);
    let mut silent = Silent;
    let observer: &mut dyn Observer = &mut silent;
    let mut run = Run::new(make, &own, observer);
    let mut order = Order::default();
    let (mut weights, mut seen) = (Vec::new(), Seen::default());
    let (mut drawn, mut hasher) = (Vec::new(), TraceHasher::default());
    let (mut is_known, mut steps) = (true, 0);
    while go_on(weights.len() as u64) && !run.is_stopped() {
        run.backtrack(0);
        let mut random = Random::nth(seed, weights.len() as u64);
        let Some(ln_probability) = one(&mut run, &mut order, &mut random) else {
            is_known = false;
            break;
        };
        let Some(ln_count) = ln_linearisations(&run.execution, MOST_SUBSETS) else {
            is_known = false;
            break;
        };
        seen.add(&run.execution);
        steps += run.execution.len();
        let weight = (-ln_probability - ln_count).exp();
        drawn.push((hasher.hash(&run.execution), weight));
        weights.push(weight);
    }
    let sampled = weights.len() as u64;
    let steps = if sampled == 0 { 0.0 } else { steps as f64 / sampled as f64 };
    let traces = (is_known && sampled > 0).then(|| range(&weights, &seen, seed));
    Estimate { sampled, traces, steps, drawn }
}

/// Runs one execution. Returns the logarithm of its probability; nothing if it did not come to its end.
fn one<S: System>(run: &mut Run<'_, S>, order: &mut Order, random: &mut Random) -> Option<f64> {
    let mut ln_probability = 0.0;
    loop {
        order.update(&run.system);
        let enabled: Vec<ThreadId> =
            order.threads().filter(|&thread| run.is_enabled(thread)).collect();
        if enabled.is_empty() {
            return Some(ln_probability);
        }
        if run.is_at_step_limit() || run.is_stopped() {
            return None;
        }
        let thread = enabled[random.below(enabled.len())];
        let choices = run.system.choices(thread) as usize;
        let choice = random.below(choices) as u32;
        ln_probability -= ((enabled.len() * choices) as f64).ln();
        run.step(Step { thread, choice });
    }
}

/// Returns the mean of these weights with its range, and no less than what was seen says.
pub(crate) fn range(weights: &[f64], seen: &Seen, seed: u64) -> Range {
    let number = weights.len() as f64;
    let sum: f64 = weights.iter().sum();
    let mut random = Random::new(seed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = weights.iter().map(|_| weights[random.below(weights.len())]);
            drawn.sum::<f64>() / number
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let wider = if largest > LARGE_SHARE * sum { WIDER } else { 1.0 };
    let at_least = seen.at_least();
    Range {
        estimate: (sum / number).max(at_least.estimate),
        low: means[RESAMPLES / 20].max(at_least.met),
        high: (means[RESAMPLES - 1 - RESAMPLES / 20] * wider).max(at_least.high),
    }
}
