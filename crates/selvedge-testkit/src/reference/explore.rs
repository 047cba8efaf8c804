//! All interleavings of a program, by a search of its states, layer by layer.
//!
//! A layer has the states after some number of steps, each with the number of ways that lead to it. So states are visited once, and
//! interleavings are counted all the same.

use std::collections::BTreeMap;

use super::facts::{Deadlock, Executions, Facts};
use super::program::Program;
use super::run::{NoStep, finally, settle, step};
use super::state::{Object, Start, State, Status, Thread, ThreadId, Value};

/// What the program can do; `None` if it has more than `most` states, or is too much work otherwise.
pub fn explore(program: &Program, most: usize) -> Option<Facts> {
    let mut facts = Facts::default();
    let mut executions = Executions::default();
    let mut layer = BTreeMap::from([(initial(program)?, 1_u128)]);
    let mut seen = 1;
    while !layer.is_empty() {
        let mut next = BTreeMap::new();
        for (state, ways) in layer {
            let mut is_last = true;
            for thread in state.threads.keys() {
                for after in steps(program, &state, thread, &mut facts)? {
                    is_last = false;
                    // A number that does not fit is far above what brute force is run on.
                    let total: &mut u128 = next.entry(after).or_default();
                    *total = total.saturating_add(ways);
                }
                if seen + next.len() > most {
                    return None;
                }
            }
            if is_last {
                judge(program, &state, ways, &mut facts, &mut executions)?;
            }
        }
        seen += next.len();
        layer = next;
    }
    facts.executions = Some(executions);
    Some(facts)
}

/// The state in which all threads are before their first visible operation.
fn initial(program: &Program) -> Option<State> {
    let mut state = State { objects: program.objects.clone(), threads: BTreeMap::new() };
    let ids: Vec<ThreadId> = (0..program.threads.len()).map(|number| vec![number as u32]).collect();
    for (number, id) in ids.iter().enumerate() {
        state.threads.insert(id.clone(), Thread::new(Start::Declared(number)));
    }
    for id in &ids {
        settle(program, &mut state, id).ok()?;
    }
    Some(state)
}

/// The states after a step of `thread`, one for each alternative; none if it is blocked.
fn steps(
    program: &Program,
    state: &State,
    thread: &ThreadId,
    facts: &mut Facts,
) -> Option<Vec<State>> {
    let mut states = Vec::new();
    if !matches!(state.threads[thread].status, Status::Before(_)) {
        return Some(states);
    }
    let mut alternatives = 1;
    while states.len() < alternatives {
        let taken = match step(program, state, thread, states.len()) {
            Ok(taken) => taken,
            Err(NoStep::Blocked(_)) => break,
            Err(NoStep::TooLong) => return None,
        };
        alternatives = taken.alternatives;
        facts.violations.extend(taken.fault);
        states.push(taken.state);
    }
    Some(states)
}

/// Judges a state in which no thread can take a step.
fn judge(
    program: &Program,
    state: &State,
    ways: u128,
    facts: &mut Facts,
    executions: &mut Executions,
) -> Option<()> {
    let has = |status| state.threads.values().any(|thread| thread.status == status);
    let waiting: Deadlock = waiting(program, state);
    let total = if has(Status::Failed) {
        &mut executions.complete
    } else if has(Status::Assumed) {
        &mut executions.blocked
    } else if waiting.is_empty() {
        facts.violations.extend(finally(program, state).ok()?);
        let values = program.values();
        let contents = values.iter().map(|(_, at)| content(&state.objects[*at])).collect();
        facts.finals.insert(contents);
        &mut executions.complete
    } else {
        facts.deadlock_lines.insert(waiting.iter().map(|(_, line)| *line).collect());
        facts.deadlocks.insert(waiting);
        &mut executions.deadlocked
    };
    *total = total.saturating_add(ways);
    Some(())
}

/// The threads that wait, without daemons.
fn waiting(program: &Program, state: &State) -> Deadlock {
    let mut waiting = Deadlock::new();
    for (id, thread) in &state.threads {
        let is_daemon = match thread.start {
            Start::Declared(number) => program.threads[number].daemon,
            Start::Routine(..) => false,
            Start::Watch(_) => true,
        };
        if !is_daemon
            && let Status::Before(_) = thread.status
            && let Err(NoStep::Blocked(line)) = step(program, state, id, 0)
        {
            waiting.insert((name(program, state, id), line));
        }
    }
    waiting
}

/// The name of a thread: `p`, `p[2]`, and `p/work#1` for the first that `p` spawned.
fn name(program: &Program, state: &State, id: &ThreadId) -> String {
    match &state.threads[id].start {
        Start::Declared(number) => program.threads[*number].name.clone(),
        Start::Routine(routine, _) => spawned(program, state, id, routine),
        Start::Watch(_) => spawned(program, state, id, "monitor"),
    }
}

fn spawned(program: &Program, state: &State, id: &ThreadId, routine: &str) -> String {
    let (number, parent) = id.split_last().expect("a thread has a number");
    format!("{}/{routine}#{}", name(program, state, &parent.to_vec()), number + 1)
}

/// A value as text.
pub(super) fn content(object: &Object) -> String {
    match object {
        Object::Variable(Value::Int(value)) => value.to_string(),
        Object::Variable(Value::Bool(value)) => value.to_string(),
        Object::Variable(Value::Member(name, _)) => name.clone(),
        Object::List(items) => format!("{items:?}"),
        Object::Map(entries) => format!("{entries:?}"),
        other => panic!("{other:?} has no value"),
    }
}
