//! Units of work: their children depend on them alone, so that it does not matter where, when, how often and
//! in which order they are run; and few of them are pending.

use std::collections::BTreeMap;

use selvedge_core::{Ending, Execution, TraceKey};
use selvedge_testkit::Random;
use selvedge_testkit::script::{Op, Script, ScriptSystem, random_script};

use super::Search;
use super::unit::{Item, Unit};
use crate::options::{Observer, Options};

/// The traces that were seen, and how often.
#[derive(Default)]
struct Seen(BTreeMap<(TraceKey, Ending), u32>);

impl Observer for Seen {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        *self.0.entry((TraceKey::of(execution), ending)).or_default() += 1;
    }
}

fn options() -> Options {
    Options { keep_going: true, ..Options::default() }
}

/// Runs all units, taking the one that `pick` says of so many.
fn explore(script: &Script, mut pick: impl FnMut(usize) -> usize) -> Run {
    let (options, mut seen) = (options(), Seen::default());
    let make = || ScriptSystem::new(script.clone());
    let mut search = Search::new(&make, &options, &mut seen);
    let mut most = 0;
    while !search.pending.is_empty() {
        most = most.max(search.pending.len());
        let nth = pick(search.pending.len());
        let unit = search.pending.swap_remove(nth);
        search.perform(unit);
    }
    let longest = search.run.report.longest;
    Run { seen: seen.0, most, longest }
}

struct Run {
    seen: BTreeMap<(TraceKey, Ending), u32>,
    /// How many units were pending at most.
    most: usize,
    longest: usize,
}

/// The children of a unit, run by itself in a system of its own.
fn children_of(script: &Script, unit: Unit) -> Vec<Vec<Item>> {
    let (options, mut seen) = (options(), Seen::default());
    let make = || ScriptSystem::new(script.clone());
    let mut search = Search::new(&make, &options, &mut seen);
    search.pending.clear();
    search.perform(unit);
    search.pending.into_iter().map(|unit| unit.items).collect()
}

#[test]
fn children_depend_on_the_unit_alone() {
    let mut random = Random::new(1);
    for _ in 0..300 {
        let script = random_script(&mut random, 3);
        let (options, mut seen) = (options(), Seen::default());
        let make = || ScriptSystem::new(script.clone());
        let mut search = Search::new(&make, &options, &mut seen);
        for _ in 0..60 {
            if search.pending.is_empty() {
                break;
            }
            let nth = random.below(search.pending.len());
            let unit = search.pending.swap_remove(nth);
            let known = search.pending.len();
            search.perform(unit.clone());
            let here = search.pending[known..].iter().map(|unit| unit.items.clone());
            let here: Vec<_> = here.collect();
            assert_eq!(here, children_of(&script, unit), "{script:?}");
        }
    }
}

#[test]
fn the_order_of_units_does_not_matter() {
    let mut random = Random::new(2);
    for _ in 0..1_000 {
        let script = random_script(&mut random, 3);
        let one = explore(&script, |count| count - 1);
        let other = explore(&script, |count| random.below(count));
        assert_eq!(one.seen, other.seen, "{script:?}");
        assert!(one.seen.values().all(|&times| times == 1), "{script:?}");
    }
}

/// A worker that dies has run its unit without a result: the unit is run again.
#[test]
fn a_unit_that_is_run_again_has_the_same_children() {
    let mut random = Random::new(3);
    for _ in 0..300 {
        let script = random_script(&mut random, 3);
        let expected = explore(&script, |count| count - 1).seen;
        let (options, mut seen, mut pending) = (options(), BTreeMap::new(), None);
        loop {
            let (make, mut now) = (|| ScriptSystem::new(script.clone()), Seen::default());
            let mut worker = Search::new(&make, &options, &mut now);
            worker.pending = pending.clone().unwrap_or(worker.pending);
            if worker.pending.is_empty() {
                break;
            }
            for _ in 0..1 + random.below(4) {
                if !worker.pending.is_empty() {
                    let nth = random.below(worker.pending.len());
                    let unit = worker.pending.swap_remove(nth);
                    worker.perform(unit);
                }
            }
            let left = std::mem::take(&mut worker.pending);
            if random.below(7) > 0 {
                pending = Some(left);
                for (class, times) in now.0 {
                    *seen.entry(class).or_insert(0) += times;
                }
            }
        }
        assert_eq!(seen, expected, "{script:?}");
    }
}

#[test]
fn few_units_are_pending() {
    let mut random = Random::new(4);
    for _ in 0..1_000 {
        let script = random_script(&mut random, 3);
        let run = explore(&script, |count| count - 1);
        assert!(run.most <= 1 + run.longest * run.longest, "{}: {script:?}", run.most);
    }
}

/// The writer can come after any of the 2^10 sets of readers. They are found a few at a time.
#[test]
fn many_readers_of_a_lock() {
    let mut script = vec![vec![Op::ReadLock(0), Op::ReadUnlock(0)]; 10];
    script.push(vec![Op::WriteLock(0), Op::WriteUnlock(0)]);
    let run = explore(&script, |count| count - 1);
    assert_eq!(run.seen.len(), 1 << 10);
    assert!(run.seen.values().all(|&times| times == 1));
    assert!(run.most <= 1 + run.longest * run.longest, "{}", run.most);
}
