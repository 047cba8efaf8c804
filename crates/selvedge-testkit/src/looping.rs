//! Random programs that may run without end, with a semantics of their own: how many states they have, and what can go
//! wrong, by a search that shares nothing with the tool.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

pub mod promises;

use crate::random::Random;

/// A statement; each is on a line of its own. Variables, values and mutexes are small numbers.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// `x = k;`
    Set(usize, i32),
    /// `x = y;`, which is two steps.
    Copy(usize, usize),
    /// `atomic { if x == k { y = l; } }`
    IfSet(usize, i32, usize, i32),
    /// `await x == k;`
    Await(usize, i32),
    /// `assert x != k;`
    Assert(usize, i32),
    /// `while x == k {}`
    Spin(usize, i32),
    Lock(usize),
    Unlock(usize),
    /// Two threads meet at the barrier.
    Arrive,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Looping {
    threads: Vec<(bool, Vec<Statement>)>,
}

const VARIABLES: usize = 3;
const MUTEXES: usize = 2;
const NAMES: [&str; VARIABLES] = ["x", "y", "z"];

/// What a program can do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    /// How many states it has.
    pub states: usize,
    /// How many of them are final.
    pub finals: usize,
    /// The lines of assertions that can fail.
    pub failures: BTreeSet<u32>,
    /// The lines of the threads that wait in a deadlock, sorted.
    pub deadlocks: BTreeSet<Vec<u32>>,
}

/// What one thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Before a statement.
    Before(usize),
    /// In the middle of a copy, with what was read.
    Copying(usize, i32),
    /// At the barrier, and whether it may go on.
    Arrived(usize, bool),
    Ended,
    Failed(usize),
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<At>,
    variables: [i32; VARIABLES],
    /// Who holds each mutex.
    mutexes: [Option<usize>; MUTEXES],
}

impl Looping {
    /// Returns program number `seed`.
    pub fn new(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let has_barrier = random.one_in(4);
        let thread = |random: &mut Random| {
            let mut body = Vec::new();
            for _ in 0..1 + random.below(4) {
                add(random, has_barrier, &mut body, [false; MUTEXES]);
            }
            (!random.one_in(3), body)
        };
        Self { threads: (0..2 + random.below(2)).map(|_| thread(random)).collect() }
    }

    /// Returns all that it can do; `None` if it has more than `most` states.
    pub fn reach(&self, most: usize) -> Option<Reached> {
        let initial = State {
            threads: vec![At::Before(0); self.threads.len()],
            variables: [0; VARIABLES],
            mutexes: [None; MUTEXES],
        };
        let mut reached = Reached::default();
        let mut seen = BTreeSet::from([initial.clone()]);
        let mut work = vec![initial];
        while let Some(state) = work.pop() {
            if seen.len() > most {
                return None;
            }
            let mut is_final = true;
            for thread in 0..self.threads.len() {
                if let Some((next, _)) = self.step(&state, thread, &mut reached) {
                    is_final = false;
                    if seen.insert(next.clone()) {
                        work.push(next);
                    }
                }
            }
            if is_final {
                reached.finals += 1;
                self.judge(&state, &mut reached);
            }
        }
        reached.states = seen.len();
        Some(reached)
    }

    fn judge(&self, state: &State, reached: &mut Reached) {
        let threads = || state.threads.iter().enumerate();
        let waiting = threads().filter_map(|(thread, at)| match *at {
            At::Before(place) | At::Arrived(place, _) => Some(self.line(thread, place)),
            At::Copying(..) | At::Ended | At::Failed(_) => None,
        });
        let mut waiting: Vec<u32> = waiting.collect();
        waiting.sort_unstable();
        if !waiting.is_empty() && !threads().any(|(_, at)| matches!(at, At::Failed(_))) {
            reached.deadlocks.insert(waiting);
        }
    }

    /// The state after a step of a thread, and whether that has done a statement; `None` if it cannot take one.
    fn step(&self, state: &State, thread: usize, reached: &mut Reached) -> Option<(State, bool)> {
        let mut next = state.clone();
        let on = |place: usize| match place + 1 < self.threads[thread].1.len() {
            true => At::Before(place + 1),
            false if self.threads[thread].0 => At::Before(0),
            false => At::Ended,
        };
        let place = match state.threads[thread] {
            At::Before(place) | At::Copying(place, _) | At::Arrived(place, _) => place,
            At::Ended | At::Failed(_) => return None,
        };
        let (mut after, mut is_done) = (on(place), true);
        match (self.threads[thread].1[place], state.threads[thread]) {
            (Statement::Copy(to, _), At::Copying(_, value)) => next.variables[to] = value,
            (_, At::Arrived(_, may_pass)) => {
                if !may_pass {
                    return None;
                }
            }
            (Statement::Set(to, value), _) => next.variables[to] = value,
            (Statement::Copy(_, from), _) => {
                (after, is_done) = (At::Copying(place, state.variables[from]), false);
            }
            (Statement::IfSet(at, value, to, new), _) => {
                if state.variables[at] == value {
                    next.variables[to] = new;
                }
            }
            (Statement::Await(at, value), _) if state.variables[at] != value => return None,
            (Statement::Await(..), _) => {}
            (Statement::Assert(at, value), _) => {
                if state.variables[at] == value {
                    reached.failures.insert(self.line(thread, place));
                    (after, is_done) = (At::Failed(place), false);
                }
            }
            (Statement::Spin(at, value), _) => {
                if state.variables[at] == value {
                    (after, is_done) = (At::Before(place), false);
                }
            }
            (Statement::Lock(mutex), _) => {
                if state.mutexes[mutex].is_some() {
                    return None;
                }
                next.mutexes[mutex] = Some(thread);
            }
            (Statement::Unlock(mutex), _) => next.mutexes[mutex] = None,
            (Statement::Arrive, _) => {
                is_done = false;
                let waits = |at: &At| matches!(at, At::Arrived(_, false));
                after = match next.threads.iter().position(waits) {
                    Some(other) => {
                        if let At::Arrived(_, may_pass) = &mut next.threads[other] {
                            *may_pass = true;
                        }
                        At::Arrived(place, true)
                    }
                    None => At::Arrived(place, false),
                };
            }
        }
        next.threads[thread] = after;
        Some((next, is_done))
    }

    /// The line of a statement in the text.
    fn line(&self, thread: usize, place: usize) -> u32 {
        let before: usize = self.threads[..thread].iter().map(|(_, body)| body.len() + 2).sum();
        (HEADER.lines().count() + before + 1 + place + 1) as u32
    }
}

/// Adds a statement, or a critical section with some.
fn add(
    random: &mut Random,
    has_barrier: bool,
    body: &mut Vec<Statement>,
    mut held: [bool; MUTEXES],
) {
    let (at, to) = (random.below(VARIABLES), random.below(VARIABLES));
    let mut value = || random.below(2) as i32;
    let (one, other) = (value(), value());
    let statement = match random.below(9) {
        0 | 1 => Statement::Set(to, one),
        2 => Statement::Copy(to, at),
        3 => Statement::IfSet(at, one, to, other),
        4 => Statement::Await(at, one),
        5 if random.one_in(2) => Statement::Assert(at, 1),
        6 => Statement::Spin(at, one),
        7 if has_barrier => Statement::Arrive,
        8 if !held.iter().all(|&held| held) => {
            let mutex = random.below(MUTEXES);
            // A mutex is not locked again by who has it.
            let mutex = if held[mutex] { 1 - mutex } else { mutex };
            body.push(Statement::Lock(mutex));
            held[mutex] = true;
            add(random, has_barrier, body, held);
            Statement::Unlock(mutex)
        }
        _ => Statement::Set(to, one),
    };
    body.push(statement);
}

/// What all programs begin with.
const HEADER: &str = "shared x = 0;
shared y = 0;
shared z = 0;
mutex m0;
mutex m1;
barrier b(2);
";

impl Display for Looping {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, &|_, _| false)
    }
}

impl Looping {
    /// Writes it, with marks of progress before some statements.
    fn write(&self, f: &mut Formatter<'_>, has_mark: &dyn Fn(usize, usize) -> bool) -> fmt::Result {
        f.write_str(HEADER)?;
        for (number, (loops, body)) in self.threads.iter().enumerate() {
            writeln!(f, "thread t{number} {{{}", if *loops { " loop {" } else { "" })?;
            for (place, statement) in body.iter().enumerate() {
                if has_mark(number, place) {
                    write!(f, "    progress;")?;
                }
                match *statement {
                    Statement::Set(to, value) => writeln!(f, "    {} = {value};", NAMES[to]),
                    Statement::Copy(to, from) => {
                        writeln!(f, "    {} = {};", NAMES[to], NAMES[from])
                    }
                    Statement::IfSet(at, value, to, new) => writeln!(
                        f,
                        "    atomic {{ if {} == {value} {{ {} = {new}; }} }}",
                        NAMES[at], NAMES[to]
                    ),
                    Statement::Await(at, value) => {
                        writeln!(f, "    await {} == {value};", NAMES[at])
                    }
                    Statement::Assert(at, value) => {
                        writeln!(f, "    assert {} != {value};", NAMES[at])
                    }
                    Statement::Spin(at, value) => {
                        writeln!(f, "    while {} == {value} {{ }}", NAMES[at])
                    }
                    Statement::Lock(mutex) => writeln!(f, "    lock m{mutex};"),
                    Statement::Unlock(mutex) => writeln!(f, "    unlock m{mutex};"),
                    Statement::Arrive => writeln!(f, "    arrive(b);"),
                }?;
            }
            writeln!(f, "}}{}", if *loops { " }" } else { "" })?;
        }
        Ok(())
    }
}
