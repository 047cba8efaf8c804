//! GenMAT: mutually atomic transactions of two threads.
//!
//! M. Ganai, S. Kundu: *Reduction of Verification Conditions for Concurrent System using Mutually
//! Atomic Transactions*, SPIN 2009, Algorithm 1. Comments `[l.N]` name the lines of that listing.
//!
//! | paper | here |
//! |---|---|
//! | `(f_i ⋯ l_i, f_j ⋯ l_j)` | [`Transactions`], indices of steps |
//! | `⊣_i` | the index after the last step |
//! | `Q`, `Q'` | `queue`, `seen` |
//! | `TP(MAT_ij)` | [`passes`] |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** for two threads without branches, a token that passes only where [`passes`] says
//! takes exactly one way through each class.
//! **Differs from the paper:** in which order the two threads end is nothing that a program of ours
//! can see. So of the transactions that go to the end of both threads only one pass is kept, from the
//! end of the first to the second; with both, a class could be met twice.
//! **Cost:** one row of the table of conflicts for each pair in the queue.
//! **Tests:** in this file, against all interleavings; `tests/classes.rs`.

/// Transactions of two threads, from and to these steps. The index after the last step of a thread
/// is its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Transactions {
    /// First and last step in the first thread.
    pub first: (usize, usize),
    /// First and last step in the second thread.
    pub second: (usize, usize),
}

/// One round of the algorithm, as the paper's Figure 4 shows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    /// The pair taken from the queue.
    pub pair: (usize, usize),
    /// The transactions chosen for it.
    pub chosen: Transactions,
    /// The pairs that are new in the queue.
    pub added: Vec<(usize, usize)>,
}

/// Runs GenMAT on two threads with `sizes` steps. `conflict(a, b)`: whether step `a` of the first
/// and `b` of the second are dependent. The second thread has the higher priority.
pub fn generate(sizes: (usize, usize), conflict: &dyn Fn(usize, usize) -> bool) -> Vec<Round> {
    // Per step of the second thread, and its end: the steps of the first it conflicts with.
    let conflicts: Vec<Vec<usize>> = (0..=sizes.1)
        .map(|b| match b == sizes.1 {
            true => vec![sizes.0],
            false => (0..sizes.0).filter(|&a| conflict(a, b)).collect(),
        })
        .collect();
    // [l.3] Pairs stay in `seen` when they leave `queue`, so `Q \ Q'` is `queue`.
    let mut rounds = Vec::new();
    let mut seen = std::collections::BTreeSet::from([(0, 0)]);
    let mut queue = std::collections::VecDeque::from([(0, 0)]);
    // [l.4-6]
    while let Some((f1, f2)) = queue.pop_front() {
        // [l.7-9] The first step of the second thread that conflicts with anything ahead, and the first
        // that it conflicts with: nothing before them does. The ends always conflict.
        let found = (f2..=sizes.1).find_map(|l2| {
            let at = conflicts[l2].partition_point(|&a| a < f1);
            conflicts[l2].get(at).map(|&l1| (l1, l2))
        });
        let Some((l1, l2)) = found else { continue };
        // [l.11-14]
        let candidates = match (l1 == sizes.0, l2 == sizes.1) {
            (true, true) => vec![],
            (true, false) => vec![(f1, l2 + 1)],
            (false, true) => vec![(l1 + 1, f2)],
            (false, false) => vec![(l1 + 1, l2 + 1), (l1 + 1, f2), (f1, l2 + 1)],
        };
        // [l.15]
        let added: Vec<_> = candidates.into_iter().filter(|&pair| seen.insert(pair)).collect();
        queue.extend(&added);
        // [l.10]
        let chosen = Transactions { first: (f1, l1), second: (f2, l2) };
        rounds.push(Round { pair: (f1, f2), chosen, added });
    }
    rounds
}

/// A step of one of two threads: which thread, 0 or 1, and its index there.
pub type StepOfTwo = (usize, usize);

/// Returns the passes of a token that the rounds allow, from a step to a step of the other thread, sorted.
pub fn passes(sizes: (usize, usize), rounds: &[Round]) -> Vec<(StepOfTwo, StepOfTwo)> {
    let mut passes = Vec::new();
    for Round { chosen: Transactions { first: (f1, l1), second: (f2, l2) }, .. } in rounds {
        let is_end = *l1 == sizes.0 && *l2 == sizes.1;
        // From the end of a thread is from its last step.
        let (last1, last2) =
            ((*l1).min(sizes.0.wrapping_sub(1)), (*l2).min(sizes.1.wrapping_sub(1)));
        if *f2 < sizes.1 && sizes.0 > 0 {
            passes.push(((0, last1), (1, *f2)));
        }
        if *f1 < sizes.0 && sizes.1 > 0 && !is_end {
            passes.push(((1, last2), (0, *f1)));
        }
    }
    passes.sort_unstable();
    passes.dedup();
    passes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use selvedge_testkit::Random;

    use super::*;

    /// A step: which variable, and whether it is written.
    type Access = (usize, bool);

    fn conflict(a: Access, b: Access) -> bool {
        a.0 == b.0 && (a.1 || b.1)
    }

    /// Per class of interleavings of two threads, how many interleavings the passes allow.
    fn allowed(threads: [&[Access]; 2]) -> BTreeMap<Vec<(usize, usize, bool)>, usize> {
        let sizes = (threads[0].len(), threads[1].len());
        let rounds = generate(sizes, &|a, b| conflict(threads[0][a], threads[1][b]));
        let passes = passes(sizes, &rounds);
        let mut classes = BTreeMap::new();
        for word in 0_u32..1 << (sizes.0 + sizes.1) {
            if word.count_ones() as usize != sizes.1 {
                continue;
            }
            let mut next = [0, 0];
            let mut places = [vec![0; sizes.0], vec![0; sizes.1]];
            let mut order = Vec::new();
            for place in 0..sizes.0 + sizes.1 {
                let thread = (word >> place & 1) as usize;
                places[thread][next[thread]] = place;
                order.push((thread, next[thread]));
                next[thread] += 1;
            }
            let mut class = Vec::new();
            for a in 0..sizes.0 {
                for b in 0..sizes.1 {
                    if conflict(threads[0][a], threads[1][b]) {
                        class.push((a, b, places[0][a] < places[1][b]));
                    }
                }
            }
            let fits = order.windows(2).all(|pair| {
                pair[0].0 == pair[1].0 || passes.binary_search(&(pair[0], pair[1])).is_ok()
            });
            *classes.entry(class).or_insert(0) += usize::from(fits);
        }
        classes
    }

    #[test]
    fn every_class_once() {
        let mut dice = Random::new(5);
        for _ in 0..1500 {
            let mut thread = || -> Vec<Access> {
                (0..dice.below(6)).map(|_| (dice.below(3), dice.below(2) == 0)).collect()
            };
            let (first, second) = (thread(), thread());
            for (class, count) in allowed([&first, &second]) {
                assert_eq!(count, 1, "{first:?} {second:?}: {class:?}");
            }
        }
    }

    #[test]
    fn the_run_of_figure_4() {
        // W(y) R(x) R(z) R(y) and R(x) W(z) R(z) W(y), with the conflicts that the paper names.
        let conflicts = [(2, 1), (0, 3), (3, 3)];
        let rounds = generate((4, 4), &|a, b| conflicts.contains(&(a, b)));
        assert_eq!(rounds[0].pair, (0, 0));
        assert_eq!(rounds[0].chosen, Transactions { first: (0, 2), second: (0, 1) });
        assert_eq!(rounds[0].added, [(3, 2), (3, 0), (0, 2)]);
        assert_eq!(passes((4, 4), &rounds).len(), 8, "8 of 32, as in the paper");
    }
}
