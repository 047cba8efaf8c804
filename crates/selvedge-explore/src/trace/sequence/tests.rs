//! Weak initials against the definition: some sequence with the same trace begins with the step.

use std::collections::BTreeSet;

use selvedge_core::{Mode, ObjectId, ThreadId};

use super::*;
use crate::search::random::Random;
use crate::trace::tests::Script;

/// Returns all sequences that swapping neighbouring independent steps of different threads leads to.
fn equivalent(steps: &[(ThreadId, Access)]) -> BTreeSet<Vec<(ThreadId, usize)>> {
    type Named = (ThreadId, usize, Access);
    let nth = |index: usize| steps[..index].iter().filter(|(it, _)| *it == steps[index].0).count();
    let named = |index: usize| -> Named { (steps[index].0, nth(index), steps[index].1) };
    let mut todo: Vec<Vec<Named>> = vec![(0..steps.len()).map(named).collect()];
    let mut seen = BTreeSet::new();
    while let Some(sequence) = todo.pop() {
        if !seen.insert(sequence.iter().map(|&(thread, nth, _)| (thread, nth)).collect()) {
            continue;
        }
        for index in 1..sequence.len() {
            let [(a, _, x), (b, _, y)] = [sequence[index - 1], sequence[index]];
            if a != b && !dependent(&[x], &[y]) {
                let mut swapped = sequence.clone();
                swapped.swap(index - 1, index);
                todo.push(swapped);
            }
        }
    }
    seen
}

fn sequence_of(steps: &[(ThreadId, Access)]) -> Sequence {
    let mut sequence = Sequence::default();
    for &(thread, access) in steps {
        sequence.push(Step::of(thread), 1, &[access]);
    }
    sequence
}

#[test]
fn weak_initials_are_those_of_the_definition() {
    let mut random = Random::new(1);
    let mut met = [0; 3];
    for _ in 0..3000 {
        let mut script = Script::of_accesses(&mut random, 3, 2);
        // Each thread's first step, as it is before the sequence.
        let firsts: Vec<Access> = script.threads.iter().map(|thread| thread[0]).collect();
        let mut steps = Vec::new();
        for _ in 0..random.below(6) {
            let enabled = script.enabled();
            let thread = enabled[random.below(enabled.len())];
            steps.push((thread, script.take(thread)));
        }
        let sequence = sequence_of(&steps);
        for (index, &first) in firsts.iter().enumerate() {
            let thread = ThreadId::new(index);
            let step = Move::new(Step::of(thread), 1, Footprint::of_event(&[first]));
            let place = steps.iter().position(|(other, _)| *other == thread);
            let mut all = steps.clone();
            if place.is_none() {
                all.push((thread, first));
            }
            let begins = |sequence: &Vec<(ThreadId, usize)>| sequence[0] == (thread, 0);
            let expected = match (equivalent(&all).iter().any(begins), place) {
                (false, _) => Initial::No,
                (true, Some(place)) => Initial::At(place),
                (true, None) => Initial::Absent,
            };
            let found = sequence.weak_initial(0..sequence.len(), &step);
            assert_eq!(found, expected, "{thread:?} in {steps:?}");
            met[match found {
                Initial::No => 0,
                Initial::At(_) => 1,
                Initial::Absent => 2,
            }] += 1;
        }
    }
    assert!(met.iter().all(|&times| times > 500), "each answer is common: {met:?}");
}

#[test]
fn only_the_listed_items_count() {
    let write = |object| Access { object: ObjectId::new(object), mode: Mode::Write };
    let [p, q] = [ThreadId::new(0), ThreadId::new(1)];
    let sequence = sequence_of(&[(p, write(0)), (q, write(1)), (p, write(2))]);
    let of_q = Move::new(Step::of(q), 1, Footprint::of_event(&[write(0)]));
    assert_eq!(sequence.weak_initial([0, 2].into_iter(), &of_q), Initial::No);
    assert_eq!(sequence.weak_initial([2].into_iter(), &of_q), Initial::Absent);
    assert_eq!(sequence.weak_initial([1, 2].into_iter(), &of_q), Initial::At(0));
    assert_eq!(sequence.weak_initial([2, 1].into_iter(), &of_q), Initial::At(1));
}

#[test]
fn another_alternative_is_another_step() {
    let read = Access { object: ObjectId::new(0), mode: Mode::Read };
    let thread = ThreadId::new(0);
    let mut sequence = Sequence::default();
    sequence.push(Step { thread, choice: 1 }, 3, &[read]);
    let alternative = |choice| Move::new(Step { thread, choice }, 3, Footprint::of_event(&[read]));
    assert_eq!(sequence.weak_initial(0..1, &alternative(1)), Initial::At(0));
    assert_eq!(sequence.weak_initial(0..1, &alternative(2)), Initial::No);
    let mut several = alternative(0);
    assert!(!several.extend(Step { thread, choice: 2 }, &[read]), "not the next one");
    assert!(several.extend(Step { thread, choice: 1 }, &[read]));
    assert_eq!(sequence.weak_initial(0..1, &several), Initial::At(0));
    assert!(!several.is_complete());
    assert!(several.extend(Step { thread, choice: 2 }, &[read]) && several.is_complete());
}

/// They cover a sequence when every alternative of some thread is there.
#[test]
fn alternatives_are_complete_when_none_is_missing() {
    let mut random = Random::new(2);
    for _ in 0..2000 {
        let choices = 1 + random.below(4) as u32;
        let mut alternatives = Alternatives::default();
        let mut there: [BTreeSet<u32>; 2] = Default::default();
        for _ in 0..8 {
            let thread = random.below(2);
            let choice = random.below(choices as usize) as u32;
            let step = Step { thread: ThreadId::new(thread), choice };
            let mut by = Move::new(step, choices, Footprint::new());
            there[thread].insert(choice);
            let next = Step { choice: choice + 1, ..step };
            if next.choice < choices && random.below(2) == 0 && by.extend(next, &[]) {
                there[thread].insert(next.choice);
            }
            let complete = alternatives.add(&by);
            assert_eq!(complete, there[thread].len() == choices as usize, "{there:?}");
            if complete {
                break;
            }
        }
    }
}
