//! Which traces random executions have met, and how many there are at least.
//!
//! A trace that was met once among many executions is likely one of many such: the number of those that were met once and twice says
//! how many were not met. Chao's estimate (1984) is `d + f₁(f₁ − 1) / 2(f₂ + 1)`, where `d` traces were met, `f₁` of them once and
//! `f₂` twice. It is that of the number of traces if all are equally likely, and too low if not: a lower bound, which holds
//! also where the mean of weights depends on executions that are too rare to be met.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};
use selvedge_core::{Execution, TraceKey};

/// How far the number that was not met may be off: this many standard deviations.
const DEVIATIONS: f64 = 1.96;

/// Traces that were met.
#[derive(Default)]
pub(crate) struct Seen {
    /// How often, by a hash of their names: a collision makes the estimate lower by one.
    times: FxHashMap<u64, u32>,
    once: f64,
    twice: f64,
}

/// Numbers of traces.
pub(super) struct AtLeast {
    /// There are so many.
    pub(super) met: f64,
    /// There are probably so many, or more.
    pub(super) estimate: f64,
    /// The estimate may be as high as this.
    pub(super) high: f64,
}

impl Seen {
    /// Adds an execution.
    pub(super) fn add(&mut self, execution: &Execution) {
        let mut hasher = FxHasher::default();
        TraceKey::of(execution).hash(&mut hasher);
        let times = self.times.entry(hasher.finish()).or_default();
        *times += 1;
        match *times {
            1 => self.once += 1.0,
            2 => (self.once, self.twice) = (self.once - 1.0, self.twice + 1.0),
            3 => self.twice -= 1.0,
            _ => {}
        }
    }

    /// Returns how many traces there are at least.
    pub(super) fn at_least(&self) -> AtLeast {
        let met = self.times.len() as f64;
        let unmet = self.once * (self.once - 1.0) / (2.0 * (self.twice + 1.0));
        if unmet <= 0.0 {
            return AtLeast { met, estimate: met, high: met };
        }
        let ratio = self.once / self.twice.max(1.0);
        let variance =
            self.twice.max(1.0) * (0.5 * ratio.powi(2) + ratio.powi(3) + 0.25 * ratio.powi(4));
        // The number of what was not met is positive, and its distribution skewed: log-normal.
        let spread = (DEVIATIONS * (1.0 + variance / unmet.powi(2)).ln().sqrt()).exp();
        AtLeast { met, estimate: met + unmet, high: met + unmet * spread }
    }
}
