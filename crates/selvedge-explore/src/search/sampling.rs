//! Random executions, for programs too large to exhaust.
//!
//! *PCT* is from S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: *A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010, Algorithm 1: threads run by random
//! priorities, and at `depth - 1` random steps the running thread's priority drops below all others.
//!
//! **Guarantee:** none beyond chance; the verdict is never `verified`. With `n` threads and at most `k`
//! steps, one PCT execution finds a bug of depth `d` with probability at least `1 / (n·k^(d-1))`.
//! **Differs from the paper:** 1. `k` is not known beforehand: it is the length of the longest execution
//! seen so far.

use selvedge_core::{Bound, Inconclusive, Report, Status, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::search::order::Order;
use crate::search::random::Random;
use crate::search::run::Run;

/// How to pick executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// Any enabled thread, each as likely as the others, at every step.
    Uniform,
    /// Probabilistic concurrency testing: random priorities, lowered at `depth - 1` random steps.
    Pct {
        /// The number of ordering constraints that a bug needs; at least 1.
        depth: u32,
    },
}

/// Runs `executions` random executions. The same seed gives the same ones.
pub fn sample<S: System>(
    sampling: Sampling,
    executions: u64,
    seed: u64,
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut run = Run::new(make, options, observer);
    let mut order = Order::default();
    let mut random = Random::new(seed);
    let mut longest = 1;
    for taken in 0..executions {
        if run.is_stopped() {
            break;
        }
        run.backtrack(0);
        let mut scheduler = match sampling {
            Sampling::Uniform => {
                random = Random::nth(seed, taken);
                Scheduler::Uniform
            }
            Sampling::Pct { depth } => Scheduler::pct(depth, longest, &mut random),
        };
        let share = || taken as f64 / executions as f64;
        one(&mut run, &mut order, &mut scheduler, &mut random, &share);
        longest = longest.max(run.execution.len());
        run.after_execution(&share);
    }
    let mut report = run.into_report();
    note_sampled(&mut report);
    report
}

/// Says that executions are missing.
pub(crate) fn note_sampled(report: &mut Report) {
    report.note(Inconclusive::Bound(Bound::Sampling(report.counts.total())));
}

/// Runs one execution to its end.
pub(crate) fn one<S: System>(
    run: &mut Run<'_, S>,
    order: &mut Order,
    scheduler: &mut Scheduler,
    random: &mut Random,
    share: &dyn Fn() -> f64,
) {
    loop {
        // By their names, as their numbers depend on what the system has run before.
        order.update(&run.system);
        let mut enabled: Vec<ThreadId> =
            order.threads().filter(|&thread| run.is_enabled(thread)).collect();
        if enabled.is_empty() {
            return run.finish();
        }
        if run.is_at_step_limit() {
            return run.finish_cut();
        }
        enabled.retain(|&thread| run.is_within_preemptions(thread));
        let Some(thread) = scheduler.pick(&enabled, run.execution.len(), random) else {
            return run.finish_preempted(false);
        };
        let choice = random.below(run.system.choices(thread) as usize) as u32;
        run.step(Step { thread, choice });
        run.after_step(share);
        if run.is_stopped() {
            return;
        }
        debug_assert_ne!(run.system.status(thread), Status::Absent);
    }
}

pub(crate) enum Scheduler {
    Uniform,
    Pct {
        /// Priority of each thread, by its number; the highest enabled one runs.
        priorities: Vec<u64>,
        /// The steps at which the running thread's priority drops.
        change_points: Vec<usize>,
        /// The next priority to drop to: lower than all before.
        low: u64,
    },
}

/// Priorities that threads begin with are above this, dropped ones below.
const MIDDLE: u64 = 1 << 32;

impl Scheduler {
    fn pct(depth: u32, length: usize, random: &mut Random) -> Self {
        let change_points = (1..depth).map(|_| random.below(length.max(1))).collect();
        Scheduler::Pct { priorities: Vec::new(), change_points, low: MIDDLE }
    }

    /// Returns the thread that runs next; `None` if there is none.
    fn pick(&mut self, enabled: &[ThreadId], at: usize, random: &mut Random) -> Option<ThreadId> {
        let last = enabled.iter().max()?;
        match self {
            Scheduler::Uniform => Some(enabled[random.below(enabled.len())]),
            Scheduler::Pct { priorities, change_points, low } => {
                while priorities.len() <= last.index() {
                    priorities.push(MIDDLE + random.next() % MIDDLE);
                }
                let highest = |priorities: &[u64]| {
                    enabled.iter().copied().max_by_key(|thread| priorities[thread.index()])
                };
                if change_points.contains(&at) {
                    *low -= 1;
                    let running = highest(priorities)?;
                    priorities[running.index()] = *low;
                }
                highest(priorities)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three drops in a row: then the thread that dropped first has the highest priority again.
    #[test]
    fn a_priority_drops_below_all_that_dropped_before() {
        let mut scheduler = Scheduler::Pct {
            priorities: vec![MIDDLE + 3, MIDDLE + 2, MIDDLE + 1],
            change_points: vec![1, 2, 3],
            low: MIDDLE,
        };
        let threads = [0, 1, 2].map(ThreadId::new);
        let picked = [0, 1, 2, 3, 4].map(|at| {
            scheduler.pick(&threads, at, &mut Random::new(0)).expect("a thread is enabled").index()
        });
        assert_eq!(picked, [0, 1, 2, 0, 0]);
    }
}
