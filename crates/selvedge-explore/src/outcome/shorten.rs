//! The same execution with as few context switches as its class allows.
//!
//! Any order of the events that respects happens-before leads to the same result. A thread that runs
//! may as well run as far as it can: having done more never forces a switch. So the only choice
//! is which thread runs next, each time as far as possible. Breadth-first search over these choices finds the
//! fewest switches; if that takes too long, the thread that can run longest runs first.

use std::collections::{BTreeMap, VecDeque};

use selvedge_core::{Budget, Execution, Position, Step, ThreadId, ThreadSet};

/// Which events must stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// All: the end of the execution matters.
    End,
    /// What happens before the last event.
    Last,
}

/// So many states are looked at before the search gives up. Beyond, blocks are chosen greedily: any order that keeps
/// happens-before is the same execution, only longer to read.
const MOST_STATES: usize = 20_000;

/// With more threads than this an execution stays in the order in which it was found: no one reads
/// it by columns, and every choice has too many alternatives.
const MOST_THREADS: usize = 64;

/// Returns how often control passes from one thread to another.
pub(crate) fn context_switches(steps: &[Step]) -> usize {
    steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
}

/// Returns the steps of an equivalent execution with few context switches.
pub(crate) fn shorten(execution: &Execution, goal: Goal, budget: &Budget) -> Vec<Step> {
    let Some(last) = execution.positions().last() else { return Vec::new() };
    let needed: Vec<Position> = match goal {
        Goal::End => execution.positions().collect(),
        Goal::Last => {
            execution.positions().filter(|&e| execution.happens_before(e, last)).collect()
        }
    };
    let as_it_was: Vec<Step> = needed.iter().map(|&e| execution.event(e).step()).collect();
    let threads: ThreadSet = as_it_was.iter().map(|step| step.thread).collect();
    if threads.len() > MOST_THREADS {
        return as_it_was;
    }
    let order = Order::new(execution, &needed);
    let blocks = order.fewest_blocks(budget).or_else(|| order.greedy_blocks(budget));
    let Some(blocks) = blocks else { return as_it_was };
    let steps = order.steps(execution, &blocks);
    if context_switches(&steps) < context_switches(&as_it_was) { steps } else { as_it_was }
}

/// The events to be ordered: per thread, and what each needs.
struct Order {
    threads: Vec<Vec<Position>>,
    /// `needs[t][n]`: how many events of each thread must come before the `n`-th of `t`.
    needs: Vec<Vec<Vec<u32>>>,
}

/// How many events of each thread are done.
type Done = Vec<u32>;

impl Order {
    fn new(execution: &Execution, needed: &[Position]) -> Self {
        let mut ids: Vec<ThreadId> = needed.iter().map(|&e| execution.event(e).thread()).collect();
        ids.sort_unstable();
        ids.dedup();
        let threads: Vec<Vec<Position>> = ids
            .iter()
            .map(|&id| {
                needed.iter().copied().filter(|&e| execution.event(e).thread() == id).collect()
            })
            .collect();
        // A clock counts events of the thread from its first on; all of these are needed too.
        let need = |e: Position| -> Vec<u32> {
            ids.iter().map(|id| execution.clock(e)[id.index()]).collect()
        };
        let needs =
            threads.iter().map(|events| events.iter().map(|&e| need(e)).collect()).collect();
        Self { threads, needs }
    }

    /// Runs `thread` as far as it can go. Returns whether it could go at all.
    fn run(&self, thread: usize, done: &mut Done) -> bool {
        let before = done[thread];
        while let Some(needs) = self.needs[thread].get(done[thread] as usize)
            && needs.iter().zip(&*done).enumerate().all(|(t, (n, d))| t == thread || n <= d)
        {
            done[thread] += 1;
        }
        done[thread] > before
    }

    fn is_all(&self, done: &Done) -> bool {
        done.iter().zip(&self.threads).all(|(&done, events)| done as usize == events.len())
    }

    /// Returns the threads in the order in which they run, each as far as it can, with the fewest of them.
    fn fewest_blocks(&self, budget: &Budget) -> Option<Vec<usize>> {
        let start: Done = vec![0; self.threads.len()];
        let mut came_from: BTreeMap<Done, (Done, usize)> = BTreeMap::new();
        let mut queue = VecDeque::from([start.clone()]);
        while let Some(done) = queue.pop_front() {
            if budget.is_spent() {
                return None;
            }
            if self.is_all(&done) {
                let mut blocks = Vec::new();
                let mut at = done;
                while let Some((before, thread)) = came_from.get(&at) {
                    blocks.push(*thread);
                    at = before.clone();
                }
                blocks.reverse();
                return Some(blocks);
            }
            for thread in 0..self.threads.len() {
                let mut next = done.clone();
                if self.run(thread, &mut next) && next != start && !came_from.contains_key(&next) {
                    came_from.insert(next.clone(), (done.clone(), thread));
                    queue.push_back(next);
                }
            }
            if came_from.len() > MOST_STATES {
                return None;
            }
        }
        None
    }

    /// `None`: there was no time for it.
    fn greedy_blocks(&self, budget: &Budget) -> Option<Vec<usize>> {
        let mut done: Done = vec![0; self.threads.len()];
        let mut blocks = Vec::new();
        while !self.is_all(&done) {
            if budget.is_spent() {
                return None;
            }
            let best = (0..self.threads.len())
                .filter_map(|thread| {
                    let mut next = done.clone();
                    self.run(thread, &mut next).then_some((next[thread] - done[thread], thread))
                })
                .max_by_key(|&(length, thread)| (length, std::cmp::Reverse(thread)));
            let Some((_, thread)) = best else { break };
            self.run(thread, &mut done);
            blocks.push(thread);
        }
        Some(blocks)
    }

    fn steps(&self, execution: &Execution, blocks: &[usize]) -> Vec<Step> {
        let mut done: Done = vec![0; self.threads.len()];
        let mut steps = Vec::new();
        for &thread in blocks {
            let from = done[thread] as usize;
            self.run(thread, &mut done);
            let events = &self.threads[thread][from..done[thread] as usize];
            steps.extend(events.iter().map(|&e| execution.event(e).step()));
        }
        steps
    }
}

#[cfg(test)]
mod tests;
