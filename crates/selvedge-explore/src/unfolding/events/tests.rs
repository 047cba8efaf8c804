//! Causality and conflict as the trees answer them, against the definitions.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::{Effect, Execution, Footprint, Mode, ObjectId, Position, Step, ThreadId};

use super::*;
use crate::search::random::Random;
use crate::unfolding::quasi::Extensions;

/// A program without control flow: the footprints of each thread's steps.
type Program = Vec<Vec<Footprint>>;

const MODES: [Mode; 9] = [
    Mode::Read,
    Mode::Read,
    Mode::Write,
    Mode::Acquire,
    Mode::Probe,
    Mode::ShareAcquire,
    Mode::Up,
    Mode::Down,
    Mode::Arrive,
];

/// Two share a chunk of `lmax`, the others have one each.
const OBJECTS: [usize; 4] = [0, 3, 9, 18];

fn random_program(random: &mut Random) -> Program {
    let step = |random: &mut Random| {
        let accesses = (0..random.below(3)).map(|_| Access {
            object: ObjectId::new(OBJECTS[random.below(OBJECTS.len())]),
            mode: MODES[random.below(MODES.len())],
        });
        accesses.collect()
    };
    (0..2 + random.below(3))
        .map(|_| (0..1 + random.below(4)).map(|_| step(random)).collect())
        .collect()
}

/// What is known of an event by definition: its step, its footprint, and its history without it.
struct Known {
    thread: ThreadId,
    footprint: Footprint,
    history: BTreeSet<EventRef>,
}

/// Runs the program at random and notes the events. A thread may take one of two alternatives of a step.
fn run(
    program: &Program,
    extensions: &mut Extensions,
    known: &mut BTreeMap<EventRef, Known>,
    random: &mut Random,
) {
    let mut execution = Execution::new();
    extensions.path.clear();
    let mut left: Vec<ThreadId> = Vec::new();
    for (index, thread) in program.iter().enumerate() {
        left.extend(std::iter::repeat_n(ThreadId::new(index), thread.len()));
    }
    while !left.is_empty() {
        let thread = left.swap_remove(random.below(left.len()));
        let footprint = program[thread.index()][execution.of_thread(thread).len()].clone();
        let choice = u32::from(random.below(4) == 0);
        let effect = Effect { footprint, ..Effect::default() };
        execution.push(Step { thread, choice }, &effect);
        extensions.path.push(None);
        // Events are asked for in any order, and not all of them.
        if random.below(3) == 0 {
            let position = Position::new(random.below(execution.len()));
            extensions.executed(&execution, position);
        }
    }
    let path = &extensions.path;
    for position in execution.positions() {
        let Some(event) = path[position.index()] else { continue };
        let before = execution
            .positions()
            .filter(|&other| other != position && execution.happens_before(other, position));
        let history: BTreeSet<EventRef> =
            before.map(|other| path[other.index()].expect("causes have names too")).collect();
        let footprint = Footprint::of_event(execution.accesses(position));
        let new = Known { thread: execution.event(position).thread(), footprint, history };
        if let Some(known) = known.get(&event) {
            assert_eq!(known.history, new.history, "one name, two histories");
        }
        known.insert(event, new);
    }
}

/// Returns whether two events are in conflict, by definition.
fn are_in_conflict(known: &BTreeMap<EventRef, Known>, a: EventRef, b: EventRef) -> bool {
    let whole = |event: EventRef| known[&event].history.iter().copied().chain([event]);
    whole(a).any(|x| {
        whole(b).any(|y| {
            let (one, other) = (&known[&x], &known[&y]);
            let dependent = one.thread == other.thread || one.footprint.dependent(&other.footprint);
            x != y && dependent && !one.history.contains(&y) && !other.history.contains(&x)
        })
    })
}

fn check(unfolding: &mut Unfolding, known: &BTreeMap<EventRef, Known>) {
    // The newest first: where it is in the trees of objects is not known before the question.
    for (&a, one) in known.iter().rev() {
        assert_eq!(unfolding.thread(a), one.thread);
        assert_eq!(unfolding.size(a) as usize, one.history.len() + 1);
        for (&b, other) in known {
            let before = a == b || other.history.contains(&a);
            assert_eq!(unfolding.is_before(a, b), before, "{a:?} < {b:?}");
            let conflict = are_in_conflict(known, a, b);
            assert_eq!(unfolding.are_in_conflict(a, b), conflict, "{a:?} # {b:?}");
            let compatible = |&cause: &EventRef| !are_in_conflict(known, cause, b);
            if one.history.iter().all(compatible) {
                assert_eq!(unfolding.excludes(a, b), conflict, "{a:?} # {b:?}");
                let rest = unfolding.touched_after(&steps_before(unfolding, a), b);
                let disjoint = unfolding.touched(a).is_disjoint(rest);
                assert!(!(disjoint && conflict), "{a:?} # {b:?}");
            }
        }
    }
}

/// Returns how many steps each thread took in the history of `event`.
fn steps_before(unfolding: &Unfolding, event: EventRef) -> Vec<u32> {
    let steps = unfolding.latest(event).iter().map(|latest| match *latest {
        Some(latest) => unfolding.depth(latest) - u32::from(latest == event),
        None => 0,
    });
    steps.collect()
}

#[test]
fn causality_and_conflict_are_those_of_the_definitions() {
    let mut random = Random::new(1);
    for number in 0..400 {
        let program = random_program(&mut random);
        let mut extensions = Extensions::new(Unfolding::new(2 + number % 3));
        let mut known = BTreeMap::new();
        for _ in 0..6 {
            run(&program, &mut extensions, &mut known, &mut random);
        }
        // Events have places only once someone asked about conflicts.
        if number % 2 == 0 {
            check(&mut extensions.unfolding, &known);
        }
        known = forget_some(&mut extensions.unfolding, known, &mut random);
        check(&mut extensions.unfolding, &known);
        for _ in 0..4 {
            run(&program, &mut extensions, &mut known, &mut random);
        }
        check(&mut extensions.unfolding, &known);
    }
}

/// Keeps a few events and what is before them.
fn forget_some(
    unfolding: &mut Unfolding,
    known: BTreeMap<EventRef, Known>,
    random: &mut Random,
) -> BTreeMap<EventRef, Known> {
    let roots: Vec<EventRef> = known.keys().copied().filter(|_| random.below(4) == 0).collect();
    let names = unfolding.retain(roots.iter().copied());
    let is_kept = |event: &EventRef| {
        roots.iter().any(|root| root == event || known[root].history.contains(event))
    };
    let kept: Vec<EventRef> = known.keys().copied().filter(is_kept).collect();
    assert_eq!(kept.len(), unfolding.len());
    let renamed = |event: &EventRef| names[event.index()].expect("it was kept");
    kept.iter()
        .map(|event| {
            let old = &known[event];
            let history = old.history.iter().map(renamed).collect();
            let new = Known { thread: old.thread, footprint: old.footprint.clone(), history };
            (renamed(event), new)
        })
        .collect()
}
