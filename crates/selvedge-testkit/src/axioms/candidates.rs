//! Every execution that a program can have, under whatever model.
//!
//! What all models have in common is all that is demanded of a candidate: threads do what their code says with the values
//! that they read; each read takes its value from a write; the writes of a location are in an order; `po ∪ rf ∪ asw` is
//! acyclic; read-modify-writes are atomic; and each location by itself is sequentially consistent.
//!
//! # Each candidate once
//!
//! As `po ∪ rf ∪ asw` is acyclic, a candidate can be built event by event such that what an event depends on is there before it:
//! let always the first thread go on whose next event is *ready*, that is, no read from a write to come. A candidate is
//! built in this one way. So, before a later thread goes on, it has to be settled for each earlier thread that it is not ready:
//! its next read takes its value from none of the writes that are there (`unseen`).
//!
//! An operation that waits needs not happen at all. It does not if and only if the last write of its location does
//! not satisfy it: memory is fair.

use selvedge_core::Order;

use crate::litmus::{Instruction, LitmusProgram, Meeting, Next, State};

use super::execution::{Event, Execution, Kind, Readers, Stop};
use super::meetings::{self, Use};
use super::relation::{MOST_EVENTS, Relation, Set};

/// Why the executions of a program are not enumerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It has too many events, or too many steps were taken.
    TooLarge,
    /// A thread gives up a mutex that it does not hold, or shares one twice.
    Misuse,
    /// The language cannot say it, or has another meaning for it: a thread without a step has ended before everything.
    NoModel,
}

/// Calls `visit` with each candidate, once. Gives up after so many steps.
///
/// # Errors
/// If it gives up. What was visited is then only a part.
pub fn candidates(
    program: &LitmusProgram,
    most_steps: usize,
    visit: &mut dyn FnMut(&Execution),
) -> Result<(), Refusal> {
    Builder::new(program, most_steps, visit).go_on()
}

struct Builder<'a> {
    program: &'a LitmusProgram,
    variables: usize,
    /// For each thread and instruction, the locations that the rest of the code may write.
    may_write: Vec<Vec<u64>>,
    steps_left: usize,
    most_events: usize,
    visit: &'a mut dyn FnMut(&Execution),
    /// What is built so far.
    execution: Execution,
    is_there: Vec<bool>,
    /// Writes that the next read of a thread does not take its value from.
    unseen: Vec<Set>,
    /// `(po|loc ∪ rf ∪ mo ∪ fr)⁺`.
    coherence: Relation,
}

/// An event still without a thread.
#[derive(Clone, Copy)]
struct Part {
    kind: Kind,
    at: usize,
    order: Order,
    value: i64,
}

impl<'a> Builder<'a> {
    fn new(
        program: &'a LitmusProgram,
        most_steps: usize,
        visit: &'a mut dyn FnMut(&Execution),
    ) -> Self {
        let variables = program.variables();
        let count = program.threads.len();
        let initial = |(at, value): (usize, i64)| Event {
            thread: None,
            nth: 0,
            kind: Kind::Initial,
            at: Some(at),
            order: Order::NonAtomic,
            value,
            from: None,
        };
        let events: Vec<Event> = program.memory().into_iter().enumerate().map(initial).collect();
        let mut states = vec![State::default(); count];
        for (state, code) in states.iter_mut().zip(&program.threads) {
            state.settle(code);
        }
        let starts_or_joins =
            |one: &&Instruction| matches!(one, Instruction::Spawn(_) | Instruction::Join(_));
        let beginnings_and_ends = program.threads.iter().flatten().filter(starts_or_joins).count();
        let may_write = (0..count).map(|thread| writes_from(program, thread)).collect();
        let first = variables + program.mutexes();
        Self {
            program,
            variables,
            may_write,
            steps_left: most_steps,
            // Relations have the beginnings and ends of threads, too.
            most_events: MOST_EVENTS.saturating_sub(beginnings_and_ends),
            visit,
            execution: Execution {
                threads: vec![Vec::new(); count],
                writes: (0..events.len()).map(|write| vec![write]).collect(),
                stops: vec![Stop::Absent; count],
                conditions: first..first + program.conditions(),
                mailboxes: first + program.conditions()..events.len(),
                events,
                states,
            },
            is_there: (0..count).map(|thread| !program.is_spawned(thread)).collect(),
            unseen: vec![Set::default(); count],
            coherence: Relation::EMPTY,
        }
    }

    fn does(&self, thread: usize) -> Next {
        self.execution.states[thread].does(&self.program.threads[thread])
    }

    /// What a thread does next, its end included if others can notice it.
    fn pending(&self, thread: usize) -> Option<Instruction> {
        match self.does(thread) {
            _ if !self.is_there[thread] => None,
            Next::Does(instruction) => Some(instruction),
            Next::Ends | Next::Failed if meetings::is_open(&self.execution, thread) => {
                Some(Instruction::Meet(Meeting::Close))
            }
            _ => None,
        }
    }

    /// Builds everything that begins with what is there.
    fn go_on(&mut self) -> Result<(), Refusal> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(Refusal::TooLarge)?;
        let unseen = self.unseen.clone();
        let result = self.first_ready_thread();
        self.unseen = unseen;
        result
    }

    fn first_ready_thread(&mut self) -> Result<(), Refusal> {
        for thread in 0..self.is_there.len() {
            let Some(instruction) = self.pending(thread) else { continue };
            match instruction {
                Instruction::Join(child) => {
                    if self.is_there[child] && self.does(child) == Next::Ends {
                        return self.event(thread, instruction, Kind::Join(child), 0);
                    }
                }
                Instruction::Store(at, value, order) => {
                    let value = value.of(&self.execution.states[thread].registers);
                    return self.store(thread, Part { kind: Kind::Write, at, order, value });
                }
                Instruction::Unlock(mutex) => {
                    let (at, order) = (self.variables + mutex, Order::Release);
                    if !self.holds(thread, at) {
                        return Err(Refusal::Misuse);
                    }
                    return self.store(thread, Part { kind: Kind::Write, at, order, value: 0 });
                }
                Instruction::Unshare(mutex) => {
                    let at = self.variables + mutex;
                    if !self.execution.shares(thread, at) {
                        return Err(Refusal::Misuse);
                    }
                    return self.unshare(thread, instruction, at);
                }
                Instruction::Meet(Meeting::Woken(condition)) => {
                    let at = self.execution.conditions.start + condition;
                    if let Some(signal) = meetings::waker(&self.execution, thread, at) {
                        return self.woken(thread, instruction, signal);
                    }
                }
                Instruction::Fence(_) => return self.event(thread, instruction, Kind::Fence, 0),
                Instruction::Spawn(child) => {
                    self.is_there[child] = true;
                    let result = self.event(thread, instruction, Kind::Spawn(child), 0);
                    self.is_there[child] = false;
                    return result;
                }
                Instruction::Choose(_, below) => {
                    for value in 0..below {
                        self.event(thread, instruction, Kind::Choice, value.into())?;
                    }
                    return Ok(());
                }
                Instruction::Share(mutex)
                    if self.execution.shares(thread, self.variables + mutex) =>
                {
                    return Err(Refusal::Misuse);
                }
                _ => {
                    let at = self.location(thread, instruction);
                    let present = self.sources(instruction, at);
                    for &(write, newest) in &present {
                        if !self.unseen[thread].has(newest) {
                            self.read(thread, instruction, at, write)?;
                        }
                    }
                    present.iter().for_each(|&(_, newest)| self.unseen[thread].insert(newest));
                    if !waits(instruction) && !self.may_still_be_written(at, thread) {
                        return Ok(());
                    }
                }
            }
        }
        self.nothing_is_ready();
        Ok(())
    }

    /// The location of an instruction that reads.
    fn location(&self, thread: usize, instruction: Instruction) -> usize {
        if let Instruction::Meet(meeting) = instruction {
            return self.program.meeting_place(meeting, thread);
        }
        let mutex = || instruction.mutex().map(|mutex| self.variables + mutex);
        instruction.variable().or_else(mutex).expect("it reads a location")
    }

    /// The writes that an operation may read from, each with the event that makes it possible: the write, or the last
    /// release of a reader in between if it is a writer's.
    fn sources(&self, instruction: Instruction, at: usize) -> Vec<(usize, usize)> {
        let writes = &self.execution.writes[at];
        let last = writes[writes.len() - 1];
        match instruction {
            // Who comes after a later writer has not come before it: that one would have learnt of its release.
            Instruction::Share(_) => vec![(last, last)],
            Instruction::Lock(_) => match self.execution.readers_after(at, last) {
                Readers::Inside => Vec::new(),
                Readers::Left(newest) => vec![(last, newest)],
                Readers::None => vec![(last, last)],
            },
            // Every write there is part of an update, and no two of them take their value from the same.
            Instruction::Meet(meeting) if !matches!(meeting, Meeting::Poll(..)) => {
                vec![(last, last)]
            }
            _ => writes.iter().map(|&write| (write, write)).collect(),
        }
    }

    /// Whether a thread other than this one may write the location later.
    fn may_still_be_written(&self, at: usize, reader: usize) -> bool {
        let writes = |thread: usize| {
            let rest = self.execution.states[thread].next;
            let may = self.may_write[thread].get(rest).copied().unwrap_or(0);
            thread != reader && may >> at & 1 == 1
        };
        (0..self.is_there.len()).any(writes)
    }

    /// Whether the thread took the mutex and has not given it up.
    fn holds(&self, thread: usize, at: usize) -> bool {
        let events = &self.execution.events;
        let own = self.execution.threads[thread].iter().rev().map(|&event| &events[event]);
        let mut own = own.filter(|event| event.at == Some(at) && event.kind.writes());
        own.next().is_some_and(|event| event.kind == Kind::UpdateWrite)
    }

    fn read(
        &mut self,
        thread: usize,
        instruction: Instruction,
        at: usize,
        write: usize,
    ) -> Result<(), Refusal> {
        let value = self.execution.events[write].value;
        for (what, answer) in uses(instruction, thread, value, &self.execution.states[thread]) {
            let saved = self.save(thread);
            let is_coherent = match what {
                Use::Reads(kind, order) => {
                    let part = Part { kind, at, order, value };
                    self.add_read(thread, part, write)?
                }
                Use::Updates(new, order) | Use::Fails(new, order) => {
                    let (kind, of_read) = (Kind::UpdateRead, order.of_read_part());
                    let read = Part { kind, at, order: of_read, value };
                    let (kind, of_write) = (Kind::UpdateWrite, order.of_write_part());
                    let part = Part { kind, at, order: of_write, value: new };
                    let place = 1 + self.place(at, write);
                    self.add_read(thread, read, write)? && self.add_write(thread, part, place)?
                }
            };
            self.execution.states[thread].failed |= matches!(what, Use::Fails(..));
            if is_coherent {
                self.proceed(thread, instruction, answer)?;
            }
            self.restore(thread, saved);
        }
        Ok(())
    }

    fn woken(
        &mut self,
        thread: usize,
        instruction: Instruction,
        signal: usize,
    ) -> Result<(), Refusal> {
        let saved = self.save(thread);
        self.add(Event {
            thread: Some(thread),
            nth: self.execution.threads[thread].len(),
            kind: Kind::Woken,
            at: None,
            order: Order::Relaxed,
            value: 0,
            from: Some(signal),
        })?;
        self.proceed(thread, instruction, 0)?;
        self.restore(thread, saved);
        Ok(())
    }

    fn store(&mut self, thread: usize, part: Part) -> Result<(), Refusal> {
        let Next::Does(instruction) = self.does(thread) else { unreachable!("it stores") };
        for place in 1..=self.execution.writes[part.at].len() {
            let saved = self.save(thread);
            if self.add_write(thread, part, place)? {
                self.proceed(thread, instruction, 0)?;
            }
            self.restore(thread, saved);
        }
        Ok(())
    }

    fn unshare(
        &mut self,
        thread: usize,
        instruction: Instruction,
        at: usize,
    ) -> Result<(), Refusal> {
        let saved = self.save(thread);
        let part = Part { kind: Kind::Unshare, at, order: Order::Release, value: 0 };
        self.add_part(thread, part, None)?;
        self.proceed(thread, instruction, 0)?;
        self.restore(thread, saved);
        Ok(())
    }

    /// An event that is no access.
    fn event(
        &mut self,
        thread: usize,
        instruction: Instruction,
        kind: Kind,
        value: i64,
    ) -> Result<(), Refusal> {
        let order = match instruction {
            Instruction::Fence(order) => order,
            _ => Order::Relaxed,
        };
        let saved = self.save(thread);
        self.add(Event {
            thread: Some(thread),
            nth: self.execution.threads[thread].len(),
            kind,
            at: None,
            order,
            value,
            from: None,
        })?;
        self.proceed(thread, instruction, value)?;
        self.restore(thread, saved);
        Ok(())
    }

    /// Runs the thread on with this value, and everything after it.
    fn proceed(
        &mut self,
        thread: usize,
        instruction: Instruction,
        value: i64,
    ) -> Result<(), Refusal> {
        let state = &mut self.execution.states[thread];
        if let Some(register) = instruction.register() {
            state.registers[register] = value;
        }
        // What fails stays where it is, and an end is behind everything.
        if !state.failed && instruction != Instruction::Meet(Meeting::Close) {
            state.next += 1;
            state.settle(&self.program.threads[thread]);
        }
        let unseen = std::mem::take(&mut self.unseen[thread]);
        let result = self.go_on();
        self.unseen[thread] = unseen;
        result
    }

    fn save(&self, thread: usize) -> (State, usize, Relation) {
        (self.execution.states[thread], self.execution.events.len(), self.coherence)
    }

    fn restore(&mut self, thread: usize, (state, count, coherence): (State, usize, Relation)) {
        self.execution.states[thread] = state;
        self.coherence = coherence;
        for event in self.execution.events.drain(count..).rev() {
            self.execution.threads[thread].pop();
            if let (true, Some(at)) = (event.kind.writes(), event.at) {
                self.execution.writes[at].retain(|&write| write < count);
            }
        }
    }

    fn place(&self, at: usize, write: usize) -> usize {
        let place = self.execution.writes[at].iter().position(|&other| other == write);
        place.expect("every write is in the order")
    }

    fn add(&mut self, event: Event) -> Result<usize, Refusal> {
        let number = self.execution.events.len();
        if number == self.most_events {
            return Err(Refusal::TooLarge);
        }
        self.execution.events.push(event);
        self.execution.threads[event.thread.expect("it is not initial")].push(number);
        Ok(number)
    }

    fn add_part(
        &mut self,
        thread: usize,
        Part { kind, at, order, value }: Part,
        from: Option<usize>,
    ) -> Result<usize, Refusal> {
        let nth = self.execution.threads[thread].len();
        self.add(Event { thread: Some(thread), nth, kind, at: Some(at), order, value, from })
    }

    /// Accesses of the thread to the location.
    fn own(&self, thread: usize, at: usize) -> Set {
        let mut all = Set::default();
        let own = self.execution.threads[thread].iter();
        own.filter(|&&event| self.execution.events[event].at == Some(at))
            .for_each(|&event| all.insert(event));
        all
    }

    /// Adds a read. Returns whether its location is still coherent.
    fn add_read(&mut self, thread: usize, part: Part, write: usize) -> Result<bool, Refusal> {
        let before = self.own(thread, part.at) | Set::of(write);
        let mut behind = Set::default();
        let later = 1 + self.place(part.at, write);
        self.execution.writes[part.at][later..].iter().for_each(|&write| behind.insert(write));
        let event = self.add_part(thread, part, Some(write))?;
        Ok(self.order(event, before, behind))
    }

    /// Adds a write at a place of the modification order. Returns whether its location is still coherent, and
    /// read-modify-writes are atomic.
    fn add_write(&mut self, thread: usize, part: Part, place: usize) -> Result<bool, Refusal> {
        let (mut before, mut behind) = (self.own(thread, part.at), Set::default());
        let writes = &self.execution.writes[part.at];
        writes[..place].iter().for_each(|&write| before.insert(write));
        writes[place..].iter().for_each(|&write| behind.insert(write));
        for (number, event) in self.execution.events.iter().enumerate() {
            if event.from.is_some_and(|from| writes[..place].contains(&from)) {
                before.insert(number);
            }
        }
        // The write behind it must not be the second part of a read-modify-write of the one before it.
        let is_between_parts = writes
            .get(place)
            .is_some_and(|&next| self.execution.events[next].kind == Kind::UpdateWrite);
        let event = self.add_part(thread, part, None)?;
        self.execution.writes[part.at].insert(place, event);
        Ok(!is_between_parts && self.order(event, before, behind))
    }

    /// Orders a new event of a location. Returns whether there is no cycle.
    fn order(&mut self, event: usize, before: Set, behind: Set) -> bool {
        let mut last = behind;
        for next in behind.iter() {
            last = last | self.coherence.row(next);
        }
        let mut first = before;
        for earlier in 0..event {
            if !(self.coherence.row(earlier) & before).is_empty() {
                first.insert(earlier);
            }
        }
        for next in last.iter() {
            self.coherence.add(event, next);
        }
        for earlier in first.iter() {
            self.coherence.add(earlier, event);
            last.iter().for_each(|next| self.coherence.add(earlier, next));
        }
        (first & last).is_empty()
    }

    /// All threads have ended or wait. It is a candidate unless one waits for what is there, or has still to read.
    fn nothing_is_ready(&mut self) {
        for thread in 0..self.is_there.len() {
            let stop = match self.does(thread) {
                _ if !self.is_there[thread] => Stop::Absent,
                Next::Ends | Next::Failed if meetings::is_open(&self.execution, thread) => return,
                Next::Ends => Stop::Ended,
                Next::Assumed => Stop::Assumed,
                Next::Failed => Stop::Failed(self.execution.states[thread].next),
                Next::Does(Instruction::Join(_) | Instruction::Meet(Meeting::Woken(_))) => {
                    Stop::Waits
                }
                Next::Does(instruction) => {
                    let at = self.location(thread, instruction);
                    let state = &self.execution.states[thread];
                    let goes_on = |&(write, _): &(usize, usize)| {
                        let value = self.execution.events[write].value;
                        !uses(instruction, thread, value, state).is_empty()
                    };
                    let sources = self.sources(instruction, at);
                    if !waits(instruction) || sources.last().is_some_and(goes_on) {
                        return;
                    }
                    Stop::Waits
                }
            };
            self.execution.stops[thread] = stop;
        }
        (self.visit)(&self.execution);
    }
}

/// Whether the instruction may have to wait for a write.
fn waits(instruction: Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Lock(_)
            | Instruction::Share(_)
            | Instruction::Await(..)
            | Instruction::AwaitUpdate(..)
            | Instruction::Meet(Meeting::Receive(..))
    )
}

/// What an instruction may do with a value that it reads, and what it answers; nothing, if it waits for another one.
fn uses(instruction: Instruction, thread: usize, value: i64, state: &State) -> Vec<(Use, i64)> {
    let registers = &state.registers;
    let mut all = Vec::new();
    let mut may = |what: Use| all.push((what, value));
    match instruction {
        Instruction::Load(_, _, order) => may(Use::Reads(Kind::Read, order)),
        Instruction::Update(_, _, change, order) => {
            may(Use::Updates(change.of(value, registers), order));
        }
        Instruction::Compare { expected, new, success, failure, weak, .. } => {
            let spuriously = value == expected.of(registers);
            if spuriously {
                may(Use::Updates(new.of(registers), success));
            }
            if !spuriously || weak {
                may(Use::Reads(Kind::FailedUpdate { spuriously }, failure));
            }
        }
        Instruction::Await(_, _, until, order) if until.holds(value, registers) => {
            may(Use::Reads(Kind::Read, order));
        }
        Instruction::AwaitUpdate(_, _, until, change, order) if until.holds(value, registers) => {
            may(Use::Updates(change.of(value, registers), order));
        }
        Instruction::Lock(_) | Instruction::TryLock(..) if value == 0 => {
            may(Use::Updates(1, Order::Acquire));
        }
        Instruction::Share(_) if value == 0 => may(Use::Reads(Kind::Share, Order::Acquire)),
        Instruction::TryLock(..) => {
            may(Use::Reads(Kind::FailedUpdate { spuriously: false }, Order::Relaxed));
        }
        Instruction::Meet(meeting) => return meetings::uses(meeting, thread, value, registers),
        _ => {}
    }
    all
}

/// For each instruction, the locations that it and those behind it may write, as bits.
fn writes_from(program: &LitmusProgram, thread: usize) -> Vec<u64> {
    let (code, variables) = (&program.threads[thread], program.variables());
    // Behind its code it may still close its mailbox.
    let mut later = if program.has_mailboxes() { 1 << program.mailbox(thread) } else { 0 };
    let mut all = vec![later; code.len() + 1];
    for (place, instruction) in code.iter().enumerate().rev() {
        if !matches!(instruction, Instruction::Load(..) | Instruction::Await(..)) {
            let mutex = instruction.mutex().map(|mutex| variables + mutex);
            let meeting = match *instruction {
                Instruction::Meet(meeting) => Some(program.meeting_place(meeting, thread)),
                _ => None,
            };
            if let Some(at) = instruction.variable().or(mutex).or(meeting) {
                later |= 1 << at;
            }
        }
        all[place] = later;
    }
    all
}
