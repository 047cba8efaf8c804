//! The pass against the definition, on random executions.

use std::collections::BTreeSet;

use selvedge_core::{Effect, Footprint, Step, ThreadId};

use super::*;
use crate::search::random::Random;

fn random_execution(random: &mut Random) -> Execution {
    const MODES: [Mode; 6] =
        [Mode::Read, Mode::Write, Mode::Acquire, Mode::Release, Mode::Up, Mode::Down];
    let mut execution = Execution::new();
    for _ in 0..10 {
        let mut footprint = Footprint::new();
        for _ in 0..1 + random.below(2) {
            // Variables are 0 and 1, the others synchronise.
            match random.below(3) {
                0 => footprint.add(ObjectId::new(2), MODES[2 + random.below(4)]),
                _ => footprint.add(ObjectId::new(random.below(2)), MODES[random.below(2)]),
            }
        }
        let plain = random.below(3) > 0;
        let effect = Effect { footprint, choices: 1, plain, ..Effect::default() };
        execution.push(Step::of(ThreadId::new(random.below(3))), &effect);
    }
    execution
}

/// Pairs of events and objects that race, from the definition.
fn literal(execution: &Execution) -> BTreeSet<(Position, Position, ObjectId)> {
    let all: Vec<Position> = execution.positions().collect();
    let ordinary = |e: Position, access: &Access| is_ordinary(execution.event(e).plain, *access);
    let directly =
        |a: Position, b: Position| {
            execution.event(a).thread() == execution.event(b).thread()
                || execution.accesses(a).iter().filter(|x| !ordinary(a, x)).any(|x| {
                    execution.accesses(b).iter().any(|y| !ordinary(b, y) && x.dependent(*y))
                })
        };
    let mut before = BTreeSet::new();
    for &b in &all {
        for &a in all[..b.index()].iter().rev() {
            let through = |c: &Position| before.contains(&(a, *c)) && before.contains(&(*c, b));
            if directly(a, b) || all[..b.index()].iter().any(through) {
                before.insert((a, b));
            }
        }
    }
    let mut races = BTreeSet::new();
    for &b in &all {
        for &a in &all[..b.index()] {
            for x in execution.accesses(a) {
                let conflict =
                    |y: &&Access| x.mode.is_memory() && y.mode.is_memory() && x.dependent(**y);
                if execution.accesses(b).iter().any(|y| conflict(&y))
                    && (execution.event(a).plain || execution.event(b).plain)
                    && !before.contains(&(a, b))
                {
                    races.insert((a, b, x.object));
                }
            }
        }
    }
    races
}

#[test]
fn the_pass_finds_what_the_definition_says() {
    let mut random = Random::new(1);
    let mut racy = 0;
    for _ in 0..3_000 {
        let execution = random_execution(&mut random);
        let expected = literal(&execution);
        let found = find(&execution);
        // Each found one is real, and every pair of threads and object that races is found.
        let pair = |a: Position, b: Position| {
            let mut pair = [a, b].map(|e| execution.event(e).thread());
            pair.sort_unstable();
            pair
        };
        for race in &found {
            assert!(expected.contains(&(race.first, race.second, race.object)));
        }
        let found: BTreeSet<_> =
            found.iter().map(|race| (pair(race.first, race.second), race.object)).collect();
        let expected: BTreeSet<_> =
            expected.iter().map(|&(a, b, object)| (pair(a, b), object)).collect();
        assert_eq!(found, expected);
        racy += usize::from(!expected.is_empty());
    }
    assert!((500..2_900).contains(&racy), "{racy} of 3,000 executions have a data race");
}
