//! Programs without control flow, for tests of data structures: small enough for brute force.

use std::collections::BTreeSet;

use selvedge_core::{
    Access, Effect, Ending, Execution, Flexibility, Mode, ObjectId, Position, Status, Step, System,
    ThreadId, Violation, dependent, without,
};

use crate::search::random::Random;

/// For each thread, what its steps access. Only acquiring a mutex can wait.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) threads: Vec<Vec<Access>>,
    taken: Vec<usize>,
    held: BTreeSet<ObjectId>,
}

/// The first two objects are variables, the others mutexes.
const VARIABLES: usize = 2;

impl Script {
    pub(crate) fn new(threads: Vec<Vec<Access>>) -> Self {
        let taken = vec![0; threads.len()];
        Self { threads, taken, held: BTreeSet::new() }
    }

    /// Returns a program of reads and writes: `steps` for each of `threads`.
    pub(crate) fn of_accesses(random: &mut Random, threads: usize, steps: usize) -> Self {
        let thread = |random: &mut Random| (0..steps).map(|_| access(random)).collect();
        Self::new((0..threads).map(|_| thread(random)).collect())
    }

    /// Returns a program with critical sections of two mutexes, which can deadlock.
    pub(crate) fn with_locks(random: &mut Random) -> Self {
        let lock = |nth, mode| Access { object: ObjectId::new(VARIABLES + nth), mode };
        let thread = |random: &mut Random| {
            let mut steps = Vec::new();
            for _ in 0..1 + random.below(2) {
                let (first, nested) = (random.below(2), random.below(3) == 0);
                steps.push(lock(first, Mode::Acquire));
                if nested {
                    steps.push(lock(1 - first, Mode::Acquire));
                }
                steps.push(access(random));
                if nested {
                    steps.push(lock(1 - first, Mode::Release));
                }
                steps.push(lock(first, Mode::Release));
                if random.below(2) == 0 {
                    steps.push(access(random));
                }
            }
            steps
        };
        Self::new((0..3).map(|_| thread(random)).collect())
    }

    /// Returns the pending access of a thread, if there is one.
    pub(crate) fn next(&self, thread: ThreadId) -> Option<Access> {
        self.threads[thread.index()].get(self.taken[thread.index()]).copied()
    }

    /// Returns the threads that can take a step.
    pub(crate) fn enabled(&self) -> Vec<ThreadId> {
        let threads = (0..self.threads.len()).map(ThreadId::new);
        threads.filter(|&thread| self.status(thread) == Status::Enabled).collect()
    }

    /// Takes the step of `thread`. Returns what it accessed.
    pub(crate) fn take(&mut self, thread: ThreadId) -> Access {
        let access = self.next(thread).expect("the thread has a step");
        assert_eq!(self.status(thread), Status::Enabled, "the step can be taken");
        self.taken[thread.index()] += 1;
        match access.mode {
            Mode::Acquire => self.held.insert(access.object),
            Mode::Release => self.held.remove(&access.object),
            _ => true,
        };
        access
    }

    /// Returns the order of the dependent events of a sequence of steps from the beginning, each named by its thread and index in
    /// the thread: the trace, by definition.
    pub(crate) fn trace(&self, steps: &[ThreadId]) -> Trace {
        let mut system = Script::new(self.threads.clone());
        let mut events: Vec<(Named, Access)> = Vec::new();
        let mut trace = Trace::default();
        for &thread in steps {
            let name = (thread, system.taken[thread.index()]);
            let access = system.take(thread);
            for (before, other) in &events {
                if before.0 == thread || dependent(&[*other], &[access]) {
                    trace.order.insert((*before, name));
                }
            }
            trace.events.insert(name);
            events.push((name, access));
        }
        trace
    }

    /// Returns all maximal sequences of steps.
    pub(crate) fn interleavings(&self) -> Vec<Vec<ThreadId>> {
        let mut all = Vec::new();
        let mut todo = vec![(Script::new(self.threads.clone()), Vec::new())];
        while let Some((system, steps)) = todo.pop() {
            let enabled = system.enabled();
            if enabled.is_empty() {
                all.push(steps);
                continue;
            }
            for thread in enabled {
                let (mut next, mut longer) = (system.clone(), steps.clone());
                next.take(thread);
                longer.push(thread);
                todo.push((next, longer));
            }
        }
        all
    }
}

/// An event: its thread, and its index in the thread.
pub(crate) type Named = (ThreadId, usize);

/// Events, and which of the dependent ones come first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Trace {
    events: BTreeSet<Named>,
    order: BTreeSet<(Named, Named)>,
}

fn access(random: &mut Random) -> Access {
    let mode = [Mode::Read, Mode::Write][random.below(2)];
    Access { object: ObjectId::new(random.below(VARIABLES)), mode }
}

/// Returns whether each event of an execution happens before each other one: the transitive closure of program order and
/// the order of dependent events.
pub(crate) fn happens_before(execution: &Execution) -> Vec<Vec<bool>> {
    let len = execution.len();
    let mut before = vec![vec![false; len]; len];
    for b in 0..len {
        for a in (0..b).rev() {
            let (x, y) = (Position::new(a), Position::new(b));
            let ordered = execution.event(x).thread() == execution.event(y).thread()
                || dependent(execution.accesses(x), execution.accesses(y));
            if ordered || (a + 1..b).any(|between| before[a][between] && before[between][b]) {
                before[a][b] = true;
            }
        }
    }
    before
}

impl System for Script {
    without! { thread_key object_key rewind obstacles freed ahead values judging foresight conditions states promises }

    fn restart(&mut self) {
        *self = Self::new(std::mem::take(&mut self.threads));
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn status(&self, thread: ThreadId) -> Status {
        match self.next(thread) {
            None => Status::Finished,
            Some(next) if next.mode == Mode::Acquire && self.held.contains(&next.object) => {
                Status::Blocked
            }
            Some(_) => Status::Enabled,
        }
    }

    fn choices(&self, _: ThreadId) -> u32 {
        1
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        effect.clear();
        let next = self.next(step.thread).expect("the thread has a step");
        effect.footprint.add(next.object, next.mode);
        if next.mode == Mode::Acquire {
            effect.flexibility = Flexibility::Lock;
        }
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.pending(step, effect);
        self.take(step.thread);
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let is_blocked = (0..self.threads.len())
            .any(|thread| self.status(ThreadId::new(thread)) == Status::Blocked);
        (if is_blocked { Ending::Deadlocked } else { Ending::Complete }, None)
    }
}
