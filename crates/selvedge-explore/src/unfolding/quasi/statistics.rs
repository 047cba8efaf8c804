//! Where the time goes, and what the causality trees look like: sections 6.2 and 6.4 of the paper.

use std::time::Duration;

use selvedge_core::{Histogram, Statistics};

use crate::unfolding::events::Unfolding;

/// What the explorer is busy with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Running the program, forwards and backwards.
    Running,
    /// Adding events to the unfolding, and passing down sleepers.
    Adding,
    /// Reversing races: conflicting extensions.
    Reversing,
    /// Finding out of what spikes can be made.
    Building,
    /// Looking for an alternative in the comb.
    Searching,
}

const PHASES: [(Phase, &str); 5] = [
    (Phase::Running, "running the program"),
    (Phase::Adding, "adding events"),
    (Phase::Reversing, "reversing races"),
    (Phase::Building, "building combs"),
    (Phase::Searching, "searching combs"),
];

/// Adds up the time of each phase.
#[derive(Debug)]
pub(super) struct Stopwatch {
    phase: Phase,
    since: Duration,
    spent: [Duration; PHASES.len()],
}

impl Stopwatch {
    pub(super) fn start(now: Duration) -> Self {
        Self { phase: Phase::Running, since: now, spent: [Duration::ZERO; PHASES.len()] }
    }

    /// From `now` on the explorer is busy with `phase`.
    pub(super) fn enter(&mut self, phase: Phase, now: Duration) {
        self.spent[self.phase as usize] += now.saturating_sub(self.since);
        (self.phase, self.since) = (phase, now);
    }

    /// Returns what was found out.
    pub(super) fn statistics(&self, unfolding: &Unfolding) -> Statistics {
        let trees = unfolding.tree_statistics();
        let mut numbers = vec![
            ("events made", trees.events as f64),
            ("events at most at one time", trees.most_events as f64),
            ("prunings", trees.prunings as f64),
        ];
        let mut deepest = [0; crate::unfolding::events::DISTANCES];
        for (name, depths) in [
            (["thread trees", "their mean depth", "their greatest depth"], &trees.threads),
            (["object trees", "their mean depth", "their greatest depth"], &trees.objects),
        ] {
            numbers.push((name[0], depths.deepest.len() as f64));
            numbers.push((name[1], depths.sum as f64 / depths.nodes.max(1) as f64));
            let greatest = depths.deepest.iter().copied().max().unwrap_or(0);
            numbers.push((name[2], f64::from(greatest)));
            for depth in &depths.deepest {
                deepest[((u32::BITS - depth.leading_zeros()) as usize).min(deepest.len() - 1)] += 1;
            }
        }
        let (causality, conflict) = unfolding.distances();
        Statistics {
            numbers,
            histograms: vec![
                Histogram::by_powers("greatest depths of the trees", &deepest),
                Histogram::by_powers("distances of queries in thread trees", &causality),
                Histogram::by_powers("distances of queries in object trees", &conflict),
            ],
            times: PHASES.iter().map(|&(phase, name)| (name, self.spent[phase as usize])).collect(),
        }
    }
}
