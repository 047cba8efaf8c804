//! How many executions a search through graphs will have, from random ones.
//!
//! After D. E. Knuth, *Estimating the Efficiency of Backtrack Programs* (1975): where a graph can go on in several ways, one of them is
//! taken at random. Its share of the search (`share.rs`) is then its probability, so the mean of `1 / share` over random executions, and of
//! nothing for a way that comes to no execution of its own, is the number of executions.
//!
//! **Guarantee:** the mean is unbiased. The share that a search itself has done is not used for an estimate: what comes first in its
//! order has more executions than what comes later, by orders of magnitude.

use selvedge_core::GraphSystem;

use crate::options::{Options, Silent};
use crate::search::estimate::{Range, WIDER, range};
use crate::search::expected::Sampled;
use crate::search::random::Random;
use crate::search::seen::Seen;

use super::models::Memory;
use super::search::Search;
use super::task::{Planned, Task};

/// Estimates the number of executions under a memory model by random ones, as long as `go_on`, which gets their number, returns true.
/// The same seed and number lead to the same estimate. `None`: none of them came to its end.
pub fn estimate_graphs<S: GraphSystem>(
    system: &mut S,
    memory: Memory,
    options: &Options,
    seed: u64,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Option<Sampled> {
    let mut own = options.clone();
    (own.keep_going, own.data_races, own.limits.executions) = (true, false, None);
    let mut silent = Silent;
    let mut search = Search::new(system, memory, &own, &mut silent);
    let (mut weights, mut drawn) = (Vec::new(), Vec::new());
    while go_on(weights.len() as u64) && !search.stopped {
        let mut random = Random::nth(seed, weights.len() as u64);
        let weight = search.probe(&mut random);
        if weight > 0.0 {
            drawn.push((search.graph().hash(), weight));
        }
        weights.push(weight);
    }
    let is_known = !search.stopped && weights.iter().any(|&weight| weight > 0.0);
    // Many ways come to nothing, so the few that do not stand for many executions, and more of them are missing.
    let range = is_known.then(|| range(&weights, &Seen::default(), seed))?;
    Some(Sampled::new(Range { high: range.high * WIDER, ..range }, drawn))
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Goes one way at random. Returns for how many executions it stands.
    fn probe(&mut self, random: &mut Random) -> f64 {
        self.levels.truncate(1);
        self.levels[0].tasks = vec![Planned::first(Task::Begin)];
        let (mut level, mut index) = (0, 0);
        loop {
            let Planned { mark, task, share } = self.levels[level].tasks[index];
            self.levels.truncate(level + 1);
            for level in &mut self.levels {
                level.tasks.clear();
            }
            self.levels[level].graph.truncate(mark);
            let before = self.report.counts.maximal();
            self.share = share;
            self.perform(task);
            self.divide(false);
            if self.stopped {
                return 0.0;
            }
            // The share of what was performed is now that of the graph as it is, and of the tasks.
            let drawn = random.next() as f64 / u64::MAX as f64;
            let mut at = drawn * share - self.share;
            let tasks = self.levels.iter().enumerate().flat_map(|(level, it)| {
                it.tasks
                    .iter()
                    .enumerate()
                    .map(move |(index, planned)| (level, index, planned.share))
            });
            let mut chosen = None;
            for (level, index, share) in tasks {
                if at < 0.0 {
                    break;
                }
                at -= share;
                chosen = Some((level, index));
            }
            match chosen {
                Some(next) => (level, index) = next,
                None if self.report.counts.maximal() > before => return 1.0 / self.share,
                None => return 0.0,
            }
        }
    }
}
