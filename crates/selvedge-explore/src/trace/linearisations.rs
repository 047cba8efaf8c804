//! How many executions a trace has: the linearisations of its happens-before relation.
//!
//! Counting them is #P-complete in general (Brightwell and Winkler 1991), so the work is limited. What helps is that traces of
//! programs fall apart. Events of which no two are ordered across two groups are interleaved freely: the product of
//! the counts of the groups times a binomial. Events of which all are ordered across two groups come group by group: the product.
//! If the diagram of the order is a tree, `trees.rs` counts in polynomial time.
//! Otherwise one of the minimal events comes first, and what is left falls apart again; counts of subsets are kept.

mod trees;

use rustc_hash::FxHashMap;
use selvedge_core::{Execution, Position};

/// Longer executions are not looked at. Also the depth of the recursion.
const MOST_EVENTS: usize = 256;
const WORDS: usize = MOST_EVENTS / 64;

/// How many subsets are kept, of one execution. Beyond it there is no count, and the caller says so.
pub(crate) const MOST_SUBSETS: usize = 20_000;

/// A set of events.
type Set = [u64; WORDS];

/// Returns the natural logarithm of the number of executions that are equivalent to this one; nothing if that takes
/// too much work: more than `most` subsets of events.
pub(crate) fn ln_linearisations(execution: &Execution, most: usize) -> Option<f64> {
    let length = execution.len();
    if length > MOST_EVENTS {
        return None;
    }
    let mut before = vec![[0; WORDS]; length];
    for (later, before) in before.iter_mut().enumerate() {
        for earlier in 0..later {
            if execution.happens_before(Position::new(earlier), Position::new(later)) {
                insert(before, earlier);
            }
        }
    }
    Counter::new(before, most).count(all(length))
}

struct Counter {
    /// What is before an event, and what is before or after it.
    before: Vec<Set>,
    ordered: Vec<Set>,
    known: FxHashMap<Set, f64>,
    most: usize,
}

impl Counter {
    fn new(before: Vec<Set>, most: usize) -> Self {
        let mut ordered = before.clone();
        for (later, before) in before.iter().enumerate() {
            for earlier in members(before) {
                insert(&mut ordered[earlier], later);
            }
        }
        Self { before, ordered, known: FxHashMap::default(), most }
    }

    /// Returns the logarithm of the number of linearisations of some events.
    fn count(&mut self, events: Set) -> Option<f64> {
        let size = len(&events);
        if size <= 1 {
            return Some(0.0);
        }
        if let Some(&known) = self.known.get(&events) {
            return Some(known);
        }
        if self.known.len() >= self.most {
            return None;
        }
        let mut total = 0.0;
        let free = self.group(&events, |counter, event| counter.ordered[event]);
        if free != events {
            // Any interleaving of the two groups.
            let rest = minus(&events, &free);
            total += ln_binomial(size, len(&free));
            total += self.count(free)? + self.count(rest)?;
        } else {
            let unordered = |counter: &Self, event: usize| minus(&events, &counter.ordered[event]);
            let chained = self.group(&events, unordered);
            if chained != events {
                total += self.count(chained)? + self.count(minus(&events, &chained))?;
            } else if let Some(edges) = self.tree(&events) {
                total = trees::ln_count(size, &edges);
            } else {
                let minimal: Vec<usize> = members(&events)
                    .filter(|&event| len(&and(&self.before[event], &events)) == 0)
                    .collect();
                let mut counts = Vec::with_capacity(minimal.len());
                for first in minimal {
                    let mut rest = events;
                    rest[first / 64] &= !(1 << (first % 64));
                    counts.push(self.count(rest)?);
                }
                total = ln_sum(&counts);
            }
        }
        self.known.insert(events, total);
        Some(total)
    }

    /// Returns the diagram of the order of these events, which are connected, if it is a tree: pairs of which the second comes directly
    /// after the first, numbered within these events.
    fn tree(&self, events: &Set) -> Option<Vec<(usize, usize)>> {
        let numbers: Vec<usize> = members(events).collect();
        let mut edges = Vec::new();
        for (later, &event) in numbers.iter().enumerate() {
            let before = and(&self.before[event], events);
            let mut direct = before;
            for other in members(&before) {
                direct = minus(&direct, &self.before[other]);
            }
            if edges.len() + len(&direct) >= numbers.len() {
                return None;
            }
            let number = |other| numbers.binary_search(&other).ok();
            edges.extend(members(&direct).filter_map(number).map(|earlier| (earlier, later)));
        }
        Some(edges)
    }

    /// Returns the events that are connected with the first one.
    fn group(&self, events: &Set, neighbours: impl Fn(&Self, usize) -> Set) -> Set {
        let mut group = [0; WORDS];
        let mut next = vec![members(events).next().expect("internal error: it is not empty")];
        insert(&mut group, next[0]);
        while let Some(event) = next.pop() {
            let near = minus(&and(&neighbours(self, event), events), &group);
            for other in members(&near) {
                insert(&mut group, other);
                next.push(other);
            }
        }
        group
    }
}

fn all(length: usize) -> Set {
    let mut set = [0; WORDS];
    (0..length).for_each(|event| insert(&mut set, event));
    set
}

fn insert(set: &mut Set, event: usize) {
    set[event / 64] |= 1 << (event % 64);
}

fn len(set: &Set) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}

fn and(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|word| a[word] & b[word])
}

fn minus(a: &Set, b: &Set) -> Set {
    std::array::from_fn(|word| a[word] & !b[word])
}

fn members(set: &Set) -> impl Iterator<Item = usize> + use<> {
    let mut left = *set;
    std::iter::from_fn(move || {
        let word = left.iter().position(|&word| word != 0)?;
        let bit = left[word].trailing_zeros() as usize;
        left[word] &= left[word] - 1;
        Some(64 * word + bit)
    })
}

/// Returns the logarithm of the number of ways to choose some of all.
fn ln_binomial(all: usize, some: usize) -> f64 {
    let factors = 1..=some.min(all - some);
    factors.map(|nth| ((all + 1 - nth) as f64 / nth as f64).ln()).sum()
}

/// Returns the logarithm of a sum of numbers that are known by theirs.
fn ln_sum(logarithms: &[f64]) -> f64 {
    let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logarithms.iter().map(|ln| (ln - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::random::Random;

    /// Tries all orders.
    fn brute_force(before: &[Set], left: Set) -> u64 {
        if len(&left) == 0 {
            return 1;
        }
        let first = members(&left).filter(|&event| len(&and(&before[event], &left)) == 0);
        first
            .map(|event| {
                let mut rest = left;
                rest[event / 64] &= !(1 << (event % 64));
                brute_force(before, rest)
            })
            .sum()
    }

    #[test]
    fn counts_are_those_of_brute_force() {
        let mut random = Random::new(7);
        for _ in 0..500 {
            let length = 1 + random.below(8);
            let odds = 1 + random.below(5);
            let mut before = vec![[0; WORDS]; length];
            for later in 0..length {
                for earlier in (0..later).rev() {
                    if random.below(odds) == 0 {
                        let inherited = before[earlier];
                        insert(&mut before[later], earlier);
                        before[later]
                            .iter_mut()
                            .zip(inherited)
                            .for_each(|(word, more)| *word |= more);
                    }
                }
            }
            let expected = brute_force(&before, all(length)) as f64;
            let found = Counter::new(before, MOST_SUBSETS).count(all(length)).expect("it is small");
            assert!((found.exp() / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn trees_are_counted_as_by_brute_force() {
        let mut random = Random::new(11);
        for _ in 0..500 {
            let length = 2 + random.below(7);
            let edges: Vec<(usize, usize)> = (1..length)
                .map(|event| {
                    let other = random.below(event);
                    if random.below(2) == 0 { (event, other) } else { (other, event) }
                })
                .collect();
            let mut before = vec![[0; WORDS]; length];
            for _ in 0..length {
                for &(earlier, later) in &edges {
                    let mut inherited = before[earlier];
                    insert(&mut inherited, earlier);
                    before[later].iter_mut().zip(inherited).for_each(|(word, more)| *word |= more);
                }
            }
            let expected = brute_force(&before, all(length)) as f64;
            let found = trees::ln_count(length, &edges);
            assert!((found.exp() / expected - 1.0).abs() < 1e-9, "{edges:?} {found} {expected}");
        }
    }

    /// A writer and many readers, each with a step of its own before the read.
    #[test]
    fn readers_and_a_writer_are_a_tree() {
        let readers = 40;
        let mut before = vec![[0; WORDS]; 2 * readers + 1];
        for reader in 0..readers {
            let (own, read) = (1 + 2 * reader, 2 + 2 * reader);
            insert(&mut before[read], own);
            if reader % 2 == 0 {
                insert(&mut before[read], 0);
            } else {
                insert(&mut before[0], own);
                insert(&mut before[0], read);
            }
        }
        for read in (0..readers).step_by(2).map(|reader| 2 + 2 * reader) {
            let inherited = before[0];
            before[read].iter_mut().zip(inherited).for_each(|(word, more)| *word |= more);
        }
        assert!(Counter::new(before, 100).count(all(2 * readers + 1)).is_some());
    }

    #[test]
    fn too_much_work_is_no_count() {
        // Two chains that cross everywhere: what is left after each step is another subset, and no tree.
        let mut before = vec![[0; WORDS]; 12];
        for event in 2..12_usize {
            for other in [Some(event - 2), event.checked_sub(5)].into_iter().flatten() {
                let mut inherited = before[other];
                insert(&mut inherited, other);
                before[event].iter_mut().zip(inherited).for_each(|(word, more)| *word |= more);
            }
        }
        assert!(Counter::new(before.clone(), 3).count(all(12)).is_none());
        assert!(Counter::new(before, MOST_SUBSETS).count(all(12)).is_some());
    }
}
