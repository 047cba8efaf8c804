//! An experiment: the paper's construction for three and more threads, GenExtraTP, as it is printed.
//!
//! It loses classes. That is why `encode/passes.rs` does something else.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_symbolic::encode::transactions::{Round, Transactions, generate};

/// A variable, and whether it is written; `None` is the end of a thread.
type Access = Option<(char, bool)>;
/// A thread, and the index of a step in it; the index behind the last one is its end.
type At = (usize, usize);

const READ_X: Access = Some(('x', false));
const WRITE_X: Access = Some(('x', true));
const WRITE_Y: Access = Some(('y', true));

fn dependent(a: Access, b: Access) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some((x, writes)), Some((y, too))) => x == y && (writes || too),
        _ => false,
    }
}

/// All passes: those of each pair of threads, and the extra ones.
fn printed_passes(threads: &[Vec<Access>]) -> BTreeSet<(At, At)> {
    let mut rounds: BTreeMap<(usize, usize), Vec<Round>> = BTreeMap::new();
    for i in 0..threads.len() {
        for j in i + 1..threads.len() {
            let sizes = (threads[i].len() - 1, threads[j].len() - 1);
            let conflict = |a: usize, b: usize| dependent(threads[i][a], threads[j][b]);
            rounds.insert((i, j), generate(sizes, &conflict));
        }
    }
    let mut of_pair: BTreeMap<(usize, usize), BTreeSet<(At, At)>> = BTreeMap::new();
    for (&(i, j), rounds) in &rounds {
        for Round { chosen: Transactions { first, second }, .. } in rounds {
            let passes = of_pair.entry((i, j)).or_default();
            passes.insert(((i, first.1), (j, second.0)));
            passes.insert(((j, second.1), (i, first.0)));
        }
    }
    let leads = |from: At, to: usize| {
        let pair = (from.0.min(to), from.0.max(to));
        of_pair[&pair].iter().any(|&(a, b)| a == from && b.0 == to)
    };
    let mut all: BTreeSet<(At, At)> = of_pair.values().flatten().copied().collect();
    for (&(i, j), rounds) in &rounds {
        for Round { chosen: Transactions { first, second }, .. } in rounds {
            for (mine, other, range, last) in [(i, j, first, second.1), (j, i, second, first.1)] {
                for m in range.0..range.1 {
                    let elsewhere =
                        (0..threads.len()).any(|k| k != mine && k != other && leads((mine, m), k));
                    if elsewhere && !leads((mine, m), other) {
                        all.insert(((other, last), (mine, m + 1)));
                    }
                }
            }
        }
    }
    all
}

/// The classes of accesses, and whether a schedule of each is allowed.
fn classes(threads: &[Vec<Access>]) -> BTreeMap<Vec<(At, At)>, bool> {
    let passes = printed_passes(threads);
    let mut classes = BTreeMap::new();
    let mut open: Vec<Vec<At>> = vec![Vec::new()];
    while let Some(schedule) = open.pop() {
        let mut is_whole = true;
        for (thread, steps) in threads.iter().enumerate() {
            let next = schedule.iter().filter(|at| at.0 == thread).count();
            if next < steps.len() {
                is_whole = false;
                open.push(schedule.iter().copied().chain([(thread, next)]).collect());
            }
        }
        if !is_whole {
            continue;
        }
        let access = |at: At| threads[at.0][at.1];
        let mut class = Vec::new();
        for (place, &b) in schedule.iter().enumerate() {
            for &a in &schedule[..place] {
                if a.0 != b.0 && access(a).is_some() && dependent(access(a), access(b)) {
                    class.push((a, b));
                }
            }
        }
        class.sort_unstable();
        let fits = schedule
            .windows(2)
            .all(|pair| pair[0].0 == pair[1].0 || passes.contains(&(pair[0], pair[1])));
        *classes.entry(class).or_insert(false) |= fits;
    }
    classes
}

#[test]
fn the_printed_construction_loses_classes() {
    let threads =
        [vec![READ_X, WRITE_Y, None], vec![WRITE_X, WRITE_Y, None], vec![READ_X, WRITE_Y, None]];
    let classes = classes(&threads);
    assert_eq!(classes.len(), 24);
    assert_eq!(classes.values().filter(|&&found| !found).count(), 2);
}

#[test]
fn for_two_threads_it_loses_none() {
    let threads = [vec![READ_X, WRITE_Y, WRITE_X, None], vec![WRITE_X, WRITE_Y, READ_X, None]];
    assert!(classes(&threads).values().all(|&found| found));
}
