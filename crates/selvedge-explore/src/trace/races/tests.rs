//! Races and the sequences that reverse them, against the definitions, on random executions.

use std::collections::BTreeSet;

use selvedge_core::{Status, dependent};

use super::*;
use crate::options::{Options, Silent};
use crate::search::random::Random;
use crate::trace::tests::{Script, happens_before};

/// A sequence that reverses a race: at which event, and whose steps, first those that do not depend on what comes after `e'`.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Reversed {
    at: Position,
    steps: Vec<ThreadId>,
}

fn steps(sequence: &Sequence) -> Vec<ThreadId> {
    (0..sequence.len()).map(|index| sequence.step(index).thread).collect()
}

/// Returns what [`reversals`] finds, with all of `notdep(e,E)`.
fn found(run: &mut Run<'_, Script>, later: Later) -> BTreeSet<Reversed> {
    let mut all = BTreeSet::new();
    let expand = reversals(run, later, &mut Reversal::new(), &mut |execution, reversal| {
        if reversal.stable {
            reversal.load_rest(execution);
        }
        assert!(all.insert(Reversed { at: reversal.at, steps: steps(&reversal.sequence) }), "once");
    });
    assert!(expand.is_empty(), "the program is deterministic");
    run.sync_to(run.execution.len());
    all
}

/// Returns the same by definition. `e'` races with `e` if they are dependent, of different threads, `e'` can run after
/// `pre(E,e).notdep(e,E)`, and no other such event, and no event at all that `e'` does not wait for, is between them.
fn expected(script: &Script, execution: &Execution, later: Later) -> BTreeSet<Reversed> {
    let before = happens_before(execution);
    let (thread, end, access) = match later {
        Later::Event(e2) => (execution.event(e2).thread(), e2.index(), execution.accesses(e2)[0]),
        Later::Pending(thread) => {
            let nth = execution.of_thread(thread).len();
            (thread, execution.len(), script.threads[thread.index()][nth])
        }
    };
    let waits = access.mode == Mode::Acquire;
    let own: Vec<usize> = (0..end).filter(|&x| execution.steps()[x].thread == thread).collect();
    let notdep = |e: usize, from: usize, to: usize| {
        (from..to).filter(move |&x| x != end).filter(|&x| !before[e][x]).collect::<Vec<_>>()
    };
    let possible = |e: usize| {
        let mut system = Script::new(script.threads.clone());
        for x in (0..e).chain(notdep(e, e + 1, end)) {
            system.take(execution.steps()[x].thread);
        }
        system.enabled().contains(&thread)
    };
    let is_candidate = |e: &usize| {
        let is_known = own.last().is_some_and(|&last| before[*e][last]);
        execution.steps()[*e].thread != thread
            && !is_known
            && dependent(execution.accesses(Position::new(*e)), &[access])
    };
    let candidates: Vec<usize> = (0..end).filter(is_candidate).filter(|&e| possible(e)).collect();
    let between = |e: usize| {
        let is_between = |x: usize| {
            let reaches = own.last().is_some_and(|&last| before[x][last])
                || dependent(execution.accesses(Position::new(x)), &[access]);
            before[e][x] && reaches && (!waits || candidates.contains(&x))
        };
        (e + 1..end).any(is_between)
    };
    let races = candidates.iter().copied().filter(|&e| !between(e));
    let reversed = races.map(|e| {
        let mut sequence = notdep(e, e + 1, end);
        let rest = notdep(e, end, execution.len());
        let mut steps: Vec<ThreadId> =
            sequence.drain(..).map(|x| execution.steps()[x].thread).collect();
        steps.push(thread);
        steps.extend(rest.iter().map(|&x| execution.steps()[x].thread));
        Reversed { at: Position::new(e), steps }
    });
    reversed.collect()
}

/// Runs a program at random to the end, and compares all races. Returns how many there are, and how many of them are
/// with threads that are blocked at the end.
fn compare(script: &Script, random: &mut Random) -> (usize, usize) {
    let (options, mut observer) = (Options::default(), Silent);
    let make = || script.clone();
    let mut run = Run::new(&make, &options, &mut observer);
    loop {
        let enabled: Vec<ThreadId> = run.threads().filter(|&it| run.is_enabled(it)).collect();
        if enabled.is_empty() {
            break;
        }
        run.step(Step::of(enabled[random.below(enabled.len())]));
    }
    let events = (0..run.execution.len()).map(Position::new).map(Later::Event);
    let is_blocked = |&thread: &ThreadId| run.system.status(thread) == Status::Blocked;
    let blocked: Vec<ThreadId> = run.threads().filter(is_blocked).collect();
    let (mut of_events, mut of_blocked) = (0, 0);
    for later in events.chain(blocked.into_iter().map(Later::Pending)) {
        let found = found(&mut run, later);
        let what = format!("{later:?} of {:?} in {script:?}", run.execution.steps());
        assert_eq!(found, expected(script, &run.execution, later), "{what}");
        for reversal in &found {
            let mut system = Script::new(script.threads.clone());
            let before = run.execution.steps()[..reversal.at.index()].iter();
            before.map(|step| step.thread).chain(reversal.steps.iter().copied()).for_each(
                |thread| {
                    system.take(thread);
                },
            );
        }
        match later {
            Later::Event(_) => of_events += found.len(),
            Later::Pending(_) => of_blocked += found.len(),
        }
    }
    (of_events, of_blocked)
}

#[test]
fn reads_and_writes() {
    let mut random = Random::new(4);
    let mut races = 0;
    for _ in 0..1000 {
        let script = Script::of_accesses(&mut random, 3, 3);
        races += compare(&script, &mut random).0;
    }
    assert!(races > 2000, "races are common: {races}");
}

#[test]
fn mutexes() {
    let mut random = Random::new(5);
    let (mut races, mut blocked) = (0, 0);
    for _ in 0..1000 {
        let script = Script::with_locks(&mut random);
        let (of_events, of_blocked) = compare(&script, &mut random);
        races += of_events;
        blocked += of_blocked;
    }
    assert!(races > 2000 && blocked > 20, "races are common: {races}, {blocked}");
}

/// The part of the sequence that other executions with the same prefix share ends with `e'`.
#[test]
fn the_stable_part_is_shared() {
    let mut random = Random::new(6);
    for _ in 0..300 {
        let script = Script::of_accesses(&mut random, 3, 2);
        let (options, mut observer) = (Options::default(), Silent);
        let make = || script.clone();
        let mut run = Run::new(&make, &options, &mut observer);
        let stable = |run: &mut Run<'_, Script>, later| {
            let mut all = BTreeSet::new();
            reversals(run, Later::Event(later), &mut Reversal::new(), &mut |_, reversal| {
                assert!(reversal.stable, "reads and writes act the same everywhere");
                all.insert((reversal.at, steps(&reversal.sequence)));
            });
            all
        };
        let mut first = Vec::new();
        while let Some(thread) = {
            let enabled: Vec<ThreadId> = run.threads().filter(|&it| run.is_enabled(it)).collect();
            (!enabled.is_empty()).then(|| enabled[random.below(enabled.len())])
        } {
            let last = Position::new(run.execution.len());
            run.step(Step::of(thread));
            first.push(stable(&mut run, last));
        }
        for (index, first) in first.iter().enumerate() {
            assert_eq!(stable(&mut run, Position::new(index)), *first, "at the end as at once");
        }
    }
}
