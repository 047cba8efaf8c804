//! What there is to know about the executions of a program under a model.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::Ending;
use selvedge_explore::Memory;

use crate::litmus::LitmusProgram;

use super::candidates::{Refusal, candidates};
use super::execution::{Event, Execution, Kind, Stop};
use super::happens_before::data_races;
use super::is_consistent;
use super::relations::Relations;

/// The name of an event: its thread, and how many events of the thread come before it.
pub type Name = (usize, usize);

/// Two accesses that race, the one with the smaller name first.
pub type Race = (Name, Name);

/// An execution graph as numbers: how it ends, its events with what they read from, and the modification orders. Two
/// graphs are the same if and only if these are.
pub type Form = Vec<i64>;

/// What a program does under a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Its graphs, sorted.
    pub graphs: Vec<Form>,
    /// Which threads are deadlocked together.
    pub deadlocks: BTreeSet<Vec<usize>>,
    /// Which instructions fail, with their threads.
    pub failures: BTreeSet<(usize, usize)>,
    /// The data races of each graph, two threads and location that have some. The explorer names one of them.
    pub races: BTreeSet<Vec<Race>>,
}

/// The kinds of events in a [`Form`], and what is behind them there.
#[derive(Clone, Copy)]
pub(super) enum Entry {
    /// A read, and the write that it reads from, if that is not the initial one.
    Read(Reads, Option<Name>),
    Write {
        updates: bool,
    },
    /// The end of a reader's section. Which writer is the next one follows from what its beginning reads from.
    Unshare,
    Fence,
    Spawn(usize),
    Join(usize),
    Choice,
}

#[derive(Clone, Copy)]
pub(super) enum Reads {
    Alone,
    Spuriously,
    ForUpdate,
    Sharing,
}

/// Writes a [`Form`].
pub(super) struct Scribe(Form);

impl Scribe {
    pub(super) fn new(ending: Ending) -> Self {
        Self(vec![match ending {
            Ending::Complete => 0,
            Ending::Deadlocked => 1,
            Ending::Blocked => 2,
        }])
    }

    fn numbers(&mut self, numbers: &[usize]) {
        self.0.extend(numbers.iter().map(|&number| number as i64));
    }

    pub(super) fn event(&mut self, entry: Entry, place: Option<(usize, usize)>, value: i64) {
        match entry {
            Entry::Read(reads, from) => {
                self.numbers(&[0, reads as usize]);
                match from {
                    None => self.numbers(&[0]),
                    Some((thread, nth)) => self.numbers(&[1, thread, nth]),
                }
            }
            Entry::Write { updates } => self.numbers(&[1, usize::from(updates)]),
            Entry::Fence => self.numbers(&[2]),
            Entry::Spawn(child) => self.numbers(&[3, child]),
            Entry::Join(child) => self.numbers(&[4, child]),
            Entry::Choice => self.numbers(&[5]),
            Entry::Unshare => self.numbers(&[6]),
        }
        if let Some((at, order)) = place {
            self.numbers(&[at, order]);
        }
        self.0.push(value);
    }

    /// The events of a thread, or the writes of a location, are all told.
    pub(super) fn end(&mut self) {
        self.0.push(-1);
    }

    /// A write, in modification order.
    pub(super) fn write(&mut self, (thread, nth): Name) {
        self.numbers(&[thread, nth]);
    }

    pub(super) fn finish(self) -> Form {
        self.0
    }
}

/// How the execution ends, as all explorers see it.
fn ending(execution: &Execution) -> Ending {
    let any = |holds: fn(&Stop) -> bool| execution.stops.iter().any(holds);
    if any(|stop| matches!(stop, Stop::Failed(_))) {
        Ending::Complete
    } else if any(|&stop| stop == Stop::Assumed) {
        Ending::Blocked
    } else if any(|&stop| stop == Stop::Waits) {
        Ending::Deadlocked
    } else {
        Ending::Complete
    }
}

/// The name of an event, as all explorers see it: for them, the end of a wait is part of what comes next.
fn name(execution: &Execution, event: &Event) -> Option<Name> {
    let thread = event.thread?;
    let before = &execution.threads[thread][..event.nth];
    let is_told = |&&number: &&usize| execution.events[number].kind != Kind::Woken;
    Some((thread, before.iter().filter(is_told).count()))
}

/// What an event reads, writes or chooses. The state of a condition variable or a mailbox follows from the order of
/// the operations on it, and from who was woken.
fn told_value(execution: &Execution, number: usize) -> i64 {
    let event = &execution.events[number];
    match event.at {
        Some(at) if execution.mailboxes.contains(&at) => 0,
        Some(at) if execution.conditions.contains(&at) => match event.kind {
            // The read part has the number before.
            Kind::UpdateWrite => execution.events[number - 1].value & !event.value,
            _ => 0,
        },
        _ => event.value,
    }
}

fn form(execution: &Execution) -> Form {
    let mut scribe = Scribe::new(ending(execution));
    let name = |number: usize| name(execution, &execution.events[number]);
    for thread in &execution.threads {
        for &number in thread {
            let event = &execution.events[number];
            let from = event.from.and_then(name);
            let entry = match event.kind {
                Kind::FailedUpdate { spuriously: true } => Entry::Read(Reads::Spuriously, from),
                Kind::Read | Kind::FailedUpdate { .. } => Entry::Read(Reads::Alone, from),
                Kind::UpdateRead => Entry::Read(Reads::ForUpdate, from),
                Kind::Write | Kind::Initial => Entry::Write { updates: false },
                Kind::UpdateWrite => Entry::Write { updates: true },
                Kind::Share => Entry::Read(Reads::Sharing, from),
                Kind::Unshare => Entry::Unshare,
                Kind::Fence => Entry::Fence,
                Kind::Spawn(child) => Entry::Spawn(child),
                Kind::Join(child) => Entry::Join(child),
                Kind::Choice => Entry::Choice,
                Kind::Woken => continue,
                Kind::Begin | Kind::End => unreachable!("only relations have them"),
            };
            // A fence has an ordering and no location.
            let is_fence = event.kind == Kind::Fence;
            let at = event.at.map(|at| at + 1).or(is_fence.then_some(0));
            let place = at.map(|at| (at, event.order as usize));
            scribe.event(entry, place, told_value(execution, number));
        }
        scribe.end();
    }
    for writes in &execution.writes {
        writes.iter().filter_map(|&write| name(write)).for_each(|name| scribe.write(name));
        scribe.end();
    }
    scribe.finish()
}

impl Facts {
    fn add(&mut self, execution: &Execution, relations: &Relations) {
        self.graphs.push(form(execution));
        if ending(execution) == Ending::Deadlocked {
            let waits = |&thread: &usize| execution.stops[thread] == Stop::Waits;
            self.deadlocks.insert((0..execution.stops.len()).filter(waits).collect());
        }
        let failed = |(thread, &stop): (usize, &Stop)| match stop {
            Stop::Failed(instruction) => Some((thread, instruction)),
            _ => None,
        };
        self.failures.extend(execution.stops.iter().enumerate().filter_map(failed));
        let mut races: BTreeMap<_, Vec<Race>> = BTreeMap::new();
        for (a, b) in data_races(relations) {
            let (a, b) = (&execution.events[a], &execution.events[b]);
            if let (Some(first), Some(second)) = (name(execution, a), name(execution, b)) {
                let race = (first.min(second), first.max(second));
                races.entry((race.0.0, race.1.0, a.at)).or_default().push(race);
            }
        }
        self.races.extend(races.into_values());
    }
}

/// What a program does under each of these models, by their axioms.
///
/// # Errors
/// If the program is too large, or misuses a mutex.
pub fn facts(
    program: &LitmusProgram,
    models: &[Memory],
    most_steps: usize,
) -> Result<Vec<Facts>, Refusal> {
    let mut all = vec![Facts::default(); models.len()];
    candidates(program, most_steps, &mut |execution| {
        let relations = Relations::new(execution);
        for (facts, &memory) in all.iter_mut().zip(models) {
            if is_consistent(&relations, memory) {
                facts.add(execution, &relations);
            }
        }
    })?;
    all.iter_mut().for_each(|facts| facts.graphs.sort());
    Ok(all)
}
