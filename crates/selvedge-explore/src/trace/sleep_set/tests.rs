//! Sleep sets against the definition, along random paths.

use std::collections::BTreeSet;

use selvedge_core::{Mode, ObjectId, ThreadId, dependent};

use super::*;
use crate::search::random::Random;

/// Steps with what they access: by definition, a set per node.
type Sets = Vec<BTreeSet<(Step, Access)>>;

fn random_step(random: &mut Random) -> (Step, Access) {
    let step = Step { thread: ThreadId::new(random.below(3)), choice: random.below(2) as u32 };
    let mode = [Mode::Read, Mode::Write][random.below(2)];
    (step, Access { object: ObjectId::new(random.below(3)), mode })
}

/// Returns what `sleep` holds at each node, one alternative at a time.
fn contents(sleep: &SleepSets, depth: usize) -> BTreeSet<(Step, Access)> {
    let mut all = BTreeSet::new();
    for sleeper in sleep.at(depth) {
        for choice in 0..2 {
            let step = Step { choice, ..sleeper.step };
            if sleeper.contains(step) {
                all.extend(sleeper.footprint.accesses().iter().map(|&access| (step, access)));
            }
        }
    }
    all
}

#[test]
fn sleep_sets_are_those_of_the_definition() {
    let mut random = Random::new(3);
    for _ in 0..500 {
        let mut sleep = SleepSets::new();
        let mut sets: Sets = vec![BTreeSet::new()];
        for _ in 0..40 {
            match random.below(4) {
                0 | 1 => {
                    let (step, access) = random_step(&mut random);
                    // A step is explored once from a node.
                    let last = sets.last_mut().expect("the root stays");
                    if last.iter().all(|(other, _)| *other != step) {
                        sleep.add(step, 2, &[access]);
                        last.insert((step, access));
                    }
                }
                2 => {
                    let (step, access) = random_step(&mut random);
                    sleep.descend(step, &[access]);
                    let last = sets.last().expect("the root stays");
                    let sleeps_on = |(other, theirs): &&(Step, Access)| {
                        other.thread != step.thread && !dependent(&[*theirs], &[access])
                    };
                    sets.push(last.iter().filter(sleeps_on).copied().collect());
                }
                _ => {
                    let depth = random.below(sets.len());
                    sleep.ascend(depth);
                    sets.truncate(depth + 1);
                }
            }
            for (depth, set) in sets.iter().enumerate() {
                assert_eq!(contents(&sleep, depth), *set, "at {depth}");
            }
            let last = sets.last().expect("the root stays");
            for (step, _) in (0..6).map(|_| random_step(&mut random)) {
                assert_eq!(sleep.contains(step), last.iter().any(|(other, _)| *other == step));
            }
        }
    }
}

#[test]
fn what_was_not_explored_is_not_put_to_sleep() {
    let mut sleep = SleepSets::new();
    sleep.add_event(&Execution::new(), Position::new(0));
    assert!(sleep.last().is_empty());
}
