//! Canonical names of classes of executions, computed from the definitions.
//!
//! This is the yardstick for every explorer, so it shares nothing with [`Execution`]'s clocks: it goes through the
//! accesses once and counts.

use crate::dependence::commute;
use crate::execution::Execution;
use crate::ids::{EventId, ThreadId};
use crate::op::{Access, Mode};

/// The name of a Mazurkiewicz trace: equal exactly if two executions have the same events (thread,
/// number, alternative, accesses) and the same happens-before.
///
/// Each access is named by how many accesses of each thread come before it and do not commute with it. The accesses
/// of a thread have the same order in all executions, so with the same events the counts say which of two dependent events
/// comes first; and happens-before is the closure of that and of the order in each thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceKey(Vec<u32>);

impl TraceKey {
    /// The class of `execution`.
    pub fn of(execution: &Execution) -> Self {
        Self(name(execution, |access, history, key| history.earlier(access.mode, key)))
    }
}

/// The name of an observation class: equal exactly if two executions have the same events (thread,
/// number, alternative, accesses), every read of a variable observes the same write, and accesses
/// to anything else (locks, semaphores, mailboxes) that do not commute come in the same order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObservationKey(Vec<u32>);

impl ObservationKey {
    /// The class of `execution`.
    pub fn of(execution: &Execution) -> Self {
        Self::with(execution, |_| true)
    }

    /// Returns the class of `execution` if the order in which locks are taken does not count.
    pub fn without_locks(execution: &Execution) -> Self {
        Self::with(execution, |access| !matches!(access.mode, Mode::Acquire | Mode::Release))
    }

    /// Returns the class of `execution` if the order of sends does not count.
    pub fn without_sends(execution: &Execution) -> Self {
        Self::with(execution, |access| access.mode != Mode::Send)
    }

    /// Returns the class of `execution` if the order counts of those accesses that are to no variable and
    /// that `is_ordered` holds for.
    fn with(execution: &Execution, is_ordered: impl Fn(Access) -> bool) -> Self {
        let is_variable = variables(execution);
        Self(name(execution, |access, history, key| match is_variable[access.object.index()] {
            true if access.mode.reads() => history.source(key),
            false if is_ordered(access) => history.earlier(access.mode, key),
            _ => {}
        }))
    }
}

/// The name of a class with observers: equal exactly if two executions have the same events (thread, number, alternative,
/// accesses), every read of a variable finds the same write and comes after the same writes, and accesses to anything else that
/// do not commute come in the same order. So the order of two writes counts only if a read tells it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObserversKey(Vec<u32>);

impl ObserversKey {
    /// The class of `execution`.
    pub fn of(execution: &Execution) -> Self {
        let is_variable = variables(execution);
        Self(name(execution, |access, history, key| match access.mode {
            Mode::Write if is_variable[access.object.index()] => history.reads(key),
            mode => {
                history.earlier(mode, key);
                if mode.reads() {
                    history.source(key);
                }
            }
        }))
    }
}

/// Names the events of an execution in an order that is the same for all interleavings: thread by thread. What `more`
/// adds to the key says where an access comes among those to its object.
fn name(execution: &Execution, more: impl Fn(Access, &History, &mut Vec<u32>)) -> Vec<u32> {
    let mut histories: Vec<History> = Vec::new();
    let (mut names, mut ranges) = (Vec::new(), Vec::new());
    for position in execution.positions() {
        let event = execution.event(position);
        let start = names.len();
        names.extend([event.thread().number(), event.id.nth, event.choice]);
        let mut accesses = execution.accesses(position).to_vec();
        accesses.sort_unstable();
        names.push(accesses.len() as u32);
        for &access in &accesses {
            let object = access.object.index();
            if histories.len() <= object {
                histories.resize_with(object + 1, History::default);
            }
            names.extend([access.object.number(), access.mode as u32]);
            more(access, &histories[object], &mut names);
        }
        for access in accesses {
            histories[access.object.index()].add(event.id, access.mode);
        }
        ranges.push((event.id, start..names.len()));
    }
    ranges.sort_unstable_by_key(|(id, _)| *id);
    let mut key = Vec::with_capacity(names.len());
    ranges.into_iter().for_each(|(_, range)| key.extend_from_slice(&names[range]));
    key
}

/// For each object, whether it is only read and written.
fn variables(execution: &Execution) -> Vec<bool> {
    let mut variables = Vec::new();
    for access in execution.positions().flat_map(|position| execution.accesses(position)) {
        let object = access.object.index();
        if variables.len() <= object {
            variables.resize(object + 1, true);
        }
        variables[object] &= access.mode.is_memory();
    }
    variables
}

/// The accesses to one object so far.
#[derive(Default)]
struct History {
    /// How often each thread accessed it in each mode, by thread and mode.
    counts: Vec<(ThreadId, Mode, u32)>,
    /// The event that wrote it last.
    written: Option<EventId>,
}

impl History {
    fn add(&mut self, event: EventId, mode: Mode) {
        match self.counts.binary_search_by_key(&(event.thread, mode), |&(t, m, _)| (t, m)) {
            Ok(found) => self.counts[found].2 += 1,
            Err(place) => self.counts.insert(place, (event.thread, mode, 1)),
        }
        if mode.writes() {
            self.written = Some(event);
        }
    }

    /// How many accesses of each thread do not commute with one in this mode.
    fn earlier(&self, mode: Mode, key: &mut Vec<u32>) {
        self.count(|other| !commute(other, mode), key);
    }

    /// How many accesses of each thread read.
    fn reads(&self, key: &mut Vec<u32>) {
        self.count(Mode::reads, key);
    }

    fn count(&self, counts: impl Fn(Mode) -> bool, key: &mut Vec<u32>) {
        let start = key.len();
        key.push(0);
        for &(thread, _, count) in self.counts.iter().filter(|entry| counts(entry.1)) {
            match &mut key[start + 1..] {
                [.., last, sum] if *last == thread.number() => *sum += count,
                _ => {
                    key.extend([thread.number(), count]);
                    key[start] += 1;
                }
            }
        }
    }

    /// Which event a read sees.
    fn source(&self, key: &mut Vec<u32>) {
        match self.written {
            None => key.push(0),
            Some(event) => key.extend([1, event.thread.number(), event.nth]),
        }
    }
}
