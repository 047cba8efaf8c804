//! Which events an operation is, and what its thread does with the answers.

use std::sync::Arc;

use selvedge_core::{Answer, Bits, Effect, Label, Location, Order, Status, ThreadId};

use super::locations::{What, bits, number};
use super::{Inner, Last};
use crate::interpret::machine::{ContentUndo, Message as Letter};
use crate::interpret::{At, FREE, Phase, held_by};
use crate::ir::{
    Barrier, Choice, Cond, Container, GlobalKind, Lock, LockMode, Message, ObjectRef, Op,
    Semaphore, Thread, Variable,
};

/// How far a thread is in an operation of several events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Before its first event.
    Operation,
    /// `wait`: it is among the waiters, and releases the mutex next.
    Enlisted,
    /// `signal`: it chooses among these.
    Choosing(Arc<[u32]>),
    /// `signal`: it has chosen, and these stay.
    Chosen { woken: u32, left: Arc<[u32]> },
    /// `signal`, `broadcast`: it wakes these, from this one on.
    Waking { woken: Arc<[u32]>, next: usize },
    /// `arrive`: it awaits the others, from this one on.
    Gathering { next: usize },
    /// `arrive`: it is the last one, and opens this round.
    Opening { round: u32 },
    /// `arrive`: it awaits that this round is opened.
    Closed { round: u32 },
    /// It is over, and so is its mailbox.
    Over,
}

/// A lock that is neither free nor held by the thread at hand.
const TAKEN: i32 = i32::MAX;

/// A step that touches nothing.
const NOTHING: Label = Label::Choose(1);

impl Inner {
    fn of(&mut self, what: What) -> Location {
        self.locations.of(what)
    }

    fn cell(&self, me: usize, object: ObjectRef) -> u32 {
        self.machine.cell(self.machine.at(&self.loaded, me), object) as u32
    }

    fn is_plain(&self, object: ObjectRef) -> bool {
        self.loaded.globals[object.global.index()].plain
    }

    fn held(&self, me: usize, lock: u32) -> Option<LockMode> {
        let holds = &self.threads[me].now.holds;
        holds.iter().find(|(held, _)| *held == lock).map(|(_, mode)| *mode)
    }

    /// The first object of a barrier.
    fn barrier(&self, me: usize, barrier: ObjectRef) -> u32 {
        let element = self.machine.element(self.machine.at(&self.loaded, me), barrier);
        self.loaded.globals[barrier.global.index()].base + 2 * element
    }

    fn round(&self, me: usize, barrier: u32) -> u32 {
        let passed = &self.threads[me].now.passed;
        passed.iter().find(|(it, _)| *it == barrier).map_or(0, |(_, rounds)| *rounds)
    }

    /// Finds out what a thread stands at.
    pub(super) fn stand(&mut self, me: usize) {
        let phase = self.machine.threads[me].phase;
        let is_over = self.threads[me].now.stage == Stage::Over;
        let label = match phase {
            Phase::Finished | Phase::Failed if self.has_messages && !is_over => {
                let at = self.of(What::Mailbox(me as u32));
                Label::Update { at, order: Order::Relaxed }
            }
            Phase::Finished | Phase::Absent => Label::Ended,
            Phase::Failed => Label::Failed,
            Phase::Assumed => Label::Assumed,
            Phase::FaultsAtOnce => NOTHING,
            Phase::Parked => {
                let at = self.of(What::Token(me as u32));
                Label::Await { at, order: Order::Relaxed, update: true }
            }
            Phase::Ready | Phase::Woken | Phase::Passing => self.label_of_operation(me),
        };
        self.threads[me].now.label = label;
    }

    fn label_of_operation(&mut self, me: usize) -> Label {
        let pc = self.machine.threads[me].pc;
        match self.loaded.op(pc) {
            Op::Variable(op) => {
                let op = op.clone();
                self.label_of_variable(me, &op)
            }
            Op::Lock(op) => {
                let op = op.clone();
                self.label_of_lock(me, &op)
            }
            Op::Semaphore(op) => {
                let op = op.clone();
                let cell = self.cell(me, op.semaphore());
                let at = self.of(What::Object(cell));
                match op {
                    Semaphore::Up { .. } => Label::Update { at, order: Order::Release },
                    Semaphore::Down { .. } => {
                        Label::Await { at, order: Order::Acquire, update: true }
                    }
                    Semaphore::TryDown { .. } => {
                        Label::Try { at, success: Order::Acquire, failure: Order::Relaxed }
                    }
                }
            }
            Op::Cond(op) => {
                let op = op.clone();
                self.label_of_condition(me, &op)
            }
            Op::Barrier(op) => {
                let op = op.clone();
                self.label_of_barrier(me, &op)
            }
            Op::Container(op) => {
                let (object, changes) = match op {
                    Container::Ask { container, .. } => (*container, false),
                    Container::Change { container, .. } => (*container, true),
                };
                let cell = self.cell(me, object);
                let at = self.of(What::Object(cell));
                match changes {
                    false => Label::Load { at, order: Order::NonAtomic },
                    true => Label::Update { at, order: Order::NonAtomic },
                }
            }
            Op::Thread(Thread::Spawn { procedure, .. }) => {
                let procedure = *procedure;
                let thread = self.machine.threads[me];
                let at = At { loaded: &self.loaded, me, thread: &thread };
                let child = self.machine.next_child(at, procedure);
                Label::Spawn(ThreadId::new(child))
            }
            Op::Thread(Thread::Join { thread }) => {
                let at = self.machine.at(&self.loaded, me);
                Label::Join(ThreadId::new(self.machine.value(at, *thread) as usize))
            }
            Op::Message(op) => {
                let (to, order, waits) = match op {
                    Message::Send { to, .. } => {
                        let at = self.machine.at(&self.loaded, me);
                        (self.machine.value(at, *to) as u32, Order::Release, None)
                    }
                    Message::Receive { after, .. } => {
                        (me as u32, Order::Acquire, Some(after.is_none()))
                    }
                };
                let at = self.of(What::Mailbox(to));
                match waits {
                    None => Label::Update { at, order },
                    Some(true) => Label::Await { at, order, update: true },
                    Some(false) => Label::Try { at, success: order, failure: Order::Relaxed },
                }
            }
            Op::Choice(Choice::Choose { .. }) => {
                let at = self.machine.at(&self.loaded, me);
                Label::Choose(self.machine.choices(at))
            }
            Op::Choice(Choice::Fence { order }) => Label::Fence(*order),
            Op::AtomicBegin { .. } => self.label_of_section(me, pc),
            _ => NOTHING,
        }
    }

    fn label_of_variable(&mut self, me: usize, op: &Variable) -> Label {
        let variable = op.variable();
        let cell = self.cell(me, variable);
        let order = op.order(self.is_plain(variable), true);
        let at = self.of(What::Object(cell));
        let here = self.machine.at(&self.loaded, me);
        match op {
            Variable::Read { .. } => Label::Load { at, order },
            Variable::Write { value, .. } => {
                Label::Store { at, order, value: bits(self.machine.value(here, *value)) }
            }
            Variable::Exchange { .. } | Variable::FetchAdd { .. } => Label::Update { at, order },
            Variable::CompareExchange { expected, new, .. } => Label::Compare {
                at,
                expected: bits(self.machine.value(here, *expected)),
                new: bits(self.machine.value(here, *new)),
                success: order,
                failure: op.order(false, false),
                weak: false,
            },
        }
    }

    fn label_of_lock(&mut self, me: usize, op: &Lock) -> Label {
        let (mode, lock) = match op {
            Lock::Acquire { mode, lock }
            | Lock::Release { mode, lock }
            | Lock::Try { mode, lock, .. } => (*mode, *lock),
        };
        let cell = self.cell(me, lock);
        let held = self.held(me, cell);
        let at = self.of(What::Object(cell));
        // What is misused shows at once, and a try to take what one holds fails: all that is known to the thread.
        match op {
            Lock::Release { .. } if held != Some(mode) => NOTHING,
            Lock::Acquire { .. } | Lock::Try { .. } if held.is_some() => NOTHING,
            Lock::Release { .. } if mode == LockMode::Mutex => Label::Unlock(at),
            Lock::Acquire { .. } if mode == LockMode::Mutex => Label::Lock(at),
            Lock::Try { .. } if mode == LockMode::Mutex => Label::TryLock(at),
            Lock::Release { .. } => Label::Update { at, order: Order::Release },
            Lock::Acquire { .. } => Label::Await { at, order: Order::Acquire, update: true },
            Lock::Try { .. } => Label::Try { at, success: Order::Acquire, failure: Order::Relaxed },
        }
    }

    fn label_of_condition(&mut self, me: usize, op: &Cond) -> Label {
        let (cond, mutex) = match op {
            Cond::Wait { cond, mutex } => (*cond, Some(self.cell(me, *mutex))),
            Cond::Signal { cond } | Cond::Broadcast { cond } => (*cond, None),
        };
        let cond = self.cell(me, cond);
        if let Some(mutex) = mutex {
            if self.machine.threads[me].phase == Phase::Woken {
                return Label::Lock(self.of(What::Object(mutex)));
            }
            if self.held(me, mutex).is_none() {
                return NOTHING;
            }
            if self.threads[me].now.stage == Stage::Enlisted {
                return Label::Unlock(self.of(What::Object(mutex)));
            }
        }
        let waiters = self.of(What::Waiters(cond));
        match self.threads[me].now.stage.clone() {
            Stage::Choosing(among) => Label::Choose(among.len() as u32),
            Stage::Chosen { left, .. } => {
                let value = self.waiters(false, &left);
                Label::Store { at: waiters, order: Order::Relaxed, value }
            }
            Stage::Waking { woken, next } => {
                Label::Update { at: self.of(What::Token(woken[next])), order: Order::Relaxed }
            }
            _ => Label::Await { at: waiters, order: Order::Relaxed, update: true },
        }
    }

    fn label_of_barrier(&mut self, me: usize, op: &Barrier) -> Label {
        let barrier = self.barrier(me, op.barrier());
        let global = op.barrier().global.index();
        let round = self.round(me, barrier);
        if self.machine.threads[me].phase == Phase::Ready {
            return if self.loaded.globals[global].crowded {
                Label::Update { at: self.of(What::Count(barrier)), order: Order::AcqRel }
            } else {
                let at = self.of(What::Arrived { barrier, round, thread: me as u32 });
                Label::Store { at, order: Order::Release, value: 1 }
            };
        }
        let (what, is_mine) = match self.threads[me].now.stage {
            Stage::Opening { round } => (What::Opened { barrier, round }, true),
            Stage::Closed { round } => (What::Opened { barrier, round }, false),
            Stage::Gathering { next } => match self.parties[global].get(next) {
                Some(&thread) => (What::Arrived { barrier, round, thread }, false),
                // There are more places than threads that could come.
                None => (What::Opened { barrier, round }, false),
            },
            _ => return NOTHING,
        };
        let at = self.of(what);
        match is_mine {
            true => Label::Store { at, order: Order::Release, value: 1 },
            false => Label::Await { at, order: Order::Acquire, update: false },
        }
    }

    fn label_of_section(&mut self, me: usize, pc: u32) -> Label {
        let Some(object) = self.first_access(me) else { return NOTHING };
        let at = self.of(What::Object(object));
        let section = &self.sections[&pc];
        let order = section.order;
        match (self.loaded.foresight[pc as usize].may_await, section.writes) {
            (true, update) => Label::Await { at, order, update },
            (false, false) => Label::Load { at, order },
            (false, true) => Label::Try { at, success: order, failure: order },
        }
    }

    /// Whether a value lets the await end at which a thread stands, or the try succeed.
    pub(super) fn is_satisfied(&mut self, me: usize, value: Bits) -> bool {
        let thread = self.machine.threads[me];
        if thread.phase == Phase::Parked {
            return value == 1;
        }
        match self.loaded.op(thread.pc) {
            Op::Semaphore(_) => number(value) > 0,
            Op::Lock(Lock::Acquire { mode, .. } | Lock::Try { mode, .. }) => {
                if *mode == LockMode::Read { number(value) >= 0 } else { value == 0 }
            }
            Op::Cond(_) => self.contents.content(value).first() != Some(&1),
            Op::Barrier(_) => value == 1,
            Op::Message(_) => self.trying(me, value, |all| {
                let thread = all.machine.threads[me];
                let at = At { loaded: &all.loaded, me, thread: &thread };
                matches!(all.loaded.op(thread.pc), Op::Message(op) if op.finds(&all.machine, at))
            }),
            Op::AtomicBegin { .. } if self.loaded.foresight[thread.pc as usize].may_await => self
                .trying(me, value, |all| {
                    all.machine.tried_status(&all.loaded, me) == Status::Enabled
                }),
            Op::AtomicBegin { .. } => self.trying(me, value, |all| {
                let mut effect = Effect::default();
                all.machine.perform(&all.loaded, me, 0, &mut effect);
                effect.footprint.accesses().iter().any(|access| access.mode.writes())
            }),
            _ => true,
        }
    }

    /// Does something with a value in its place, and takes it back.
    fn trying<T>(&mut self, me: usize, value: Bits, act: impl FnOnce(&mut Self) -> T) -> T {
        let what = self.touched(me);
        self.machine.record.on = false;
        self.machine.begin_step(me);
        if let Some(what) = what {
            self.put(what, value);
        }
        let result = act(self);
        self.machine.undo_step();
        self.machine.record.on = true;
        result
    }

    /// What the label of a thread is about.
    fn touched(&self, me: usize) -> Option<What> {
        let at = match self.threads[me].now.label {
            Label::Load { at, .. }
            | Label::Store { at, .. }
            | Label::Update { at, .. }
            | Label::Compare { at, .. }
            | Label::Try { at, .. }
            | Label::Await { at, .. }
            | Label::Lock(at)
            | Label::TryLock(at)
            | Label::Unlock(at) => at,
            _ => return None,
        };
        self.locations.what(at)
    }

    /// Puts a value into the machine, for the step at hand.
    pub(super) fn put(&mut self, what: What, value: Bits) {
        match what {
            What::Object(object) => {
                let id = selvedge_core::ObjectId::new(object as usize);
                let Some((global, element)) = self.loaded.program.global_of(id) else { return };
                let content = self.loaded.globals[global.index()].content as usize + element;
                match self.loaded.program.globals[global.index()].kind {
                    GlobalKind::List { .. } => {
                        let new = self.contents.content(value).iter().copied().collect();
                        let old = std::mem::replace(&mut self.machine.lists[content], new);
                        self.machine.content_log.push(ContentUndo::ListCleared(content, old));
                    }
                    GlobalKind::Map { .. } => {
                        let pairs = self.contents.content(value).chunks_exact(2);
                        let new = pairs.map(|pair| (pair[0], pair[1])).collect();
                        let old = std::mem::replace(&mut self.machine.maps[content], new);
                        self.machine.content_log.push(ContentUndo::MapCleared(content, old));
                    }
                    _ => self.machine.set_cell(object, number(value)),
                }
            }
            What::Mailbox(thread) => {
                let thread = thread as usize;
                let mut letters = std::collections::VecDeque::new();
                let mut rest = self.contents.content(value).get(1..).unwrap_or(&[]);
                while let [length, more @ ..] = rest {
                    let (letter, after) = more.split_at(*length as usize);
                    let object = self.machine.names.mailbox(thread);
                    letters.push_back(Letter::new(object, letter.iter().copied()));
                    rest = after;
                }
                let old = std::mem::replace(&mut self.machine.mailboxes[thread], letters);
                self.machine.content_log.push(ContentUndo::MailboxReplaced(thread, old));
            }
            _ => {}
        }
    }

    /// What the step at hand has made of a value.
    fn get(&mut self, what: What) -> Bits {
        match what {
            What::Object(object) => {
                let id = selvedge_core::ObjectId::new(object as usize);
                let Some((global, element)) = self.loaded.program.global_of(id) else { return 0 };
                let content = self.loaded.globals[global.index()].content as usize + element;
                match self.loaded.program.globals[global.index()].kind {
                    GlobalKind::List { .. } => {
                        let list: Vec<i32> = self.machine.lists[content].iter().copied().collect();
                        self.contents.number(&list)
                    }
                    GlobalKind::Map { .. } => {
                        let map = &self.machine.maps[content];
                        let map: Vec<i32> = map.iter().flat_map(|(&k, &v)| [k, v]).collect();
                        self.contents.number(&map)
                    }
                    _ => bits(self.machine.cells[object as usize]),
                }
            }
            What::Mailbox(thread) => {
                let mut content = vec![0];
                for letter in &self.machine.mailboxes[thread as usize] {
                    content.push(letter.values().len() as i32);
                    content.extend_from_slice(letter.values());
                }
                self.contents.number(&content)
            }
            _ => 0,
        }
    }

    /// The value of a location at the beginning.
    pub(super) fn initial_value(&mut self, at: Location) -> Bits {
        match self.locations.what(at) {
            Some(what @ (What::Object(_) | What::Mailbox(_))) => self.get(what),
            Some(What::Waiters(_)) => self.waiters(false, &[]),
            _ => 0,
        }
    }

    fn waiters(&mut self, busy: bool, threads: &[u32]) -> Bits {
        let mut content = vec![i32::from(busy)];
        content.extend(threads.iter().map(|&thread| thread as i32));
        self.contents.number(&content)
    }

    /// Does what an answer says. Returns what is written, if the answer was to something that writes what it computes.
    pub(super) fn take(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let thread = self.machine.threads[me];
        match thread.phase {
            Phase::Finished | Phase::Failed => {
                self.threads[me].now.stage = Stage::Over;
                self.last = Last::Part { pc: thread.pc, text: "ends".to_owned() };
                return Some(self.contents.number(&[1]));
            }
            Phase::Parked => {
                self.machine.threads[me].phase = Phase::Woken;
                self.last = Last::Part { pc: thread.pc, text: "is woken".to_owned() };
                return Some(0);
            }
            _ => {}
        }
        match self.loaded.op(thread.pc).clone() {
            Op::Lock(op) => self.take_lock(me, &op, answer),
            Op::Cond(op) => self.take_condition(me, &op, answer),
            Op::Barrier(op) => self.take_barrier(me, &op, answer),
            Op::Thread(Thread::Spawn { .. }) => {
                self.take_spawn(me);
                None
            }
            Op::Choice(_) => {
                let choice = if let Answer::Chosen(choice) = answer { choice } else { 0 };
                self.perform(me, choice, |_| {}, |_, _| None)
            }
            Op::Message(Message::Send { .. }) => self.take_send(me, answer),
            _ => self.take_value(me, answer),
        }
    }

    /// An operation on one object: runs with the value that was read.
    fn take_value(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let what = self.touched(me);
        let value = match answer {
            Answer::Value(value) | Answer::Failed(value) => Some(value),
            Answer::Chosen(_) | Answer::Done => None,
        };
        let is_section =
            matches!(self.loaded.op(self.machine.threads[me].pc), Op::AtomicBegin { .. });
        let load = |all: &mut Self| {
            if let (Some(what), Some(value)) = (what, value) {
                all.put(what, value);
            }
        };
        let (wrote, strays) = self.perform(me, 0, load, |all, effect| {
            let objects = all.loaded.global_objects as usize;
            let mut accesses = effect.footprint.accesses().iter();
            let strays = accesses.any(|access| {
                let index = access.object.index();
                index < objects && what.is_some_and(|what| what != What::Object(index as u32))
            });
            (what.map(|what| all.get(what)), is_section && strays)
        });
        if strays {
            self.give_up(
                me,
                "reads several elements of an array in one step, which has no meaning under a memory model; \
                 use one element per `await` or atomic block"
                    .to_owned(),
            );
        }
        wrote
    }

    fn take_lock(&mut self, me: usize, op: &Lock, answer: Answer) -> Option<Bits> {
        let (mode, lock) = match op {
            Lock::Acquire { mode, lock }
            | Lock::Release { mode, lock }
            | Lock::Try { mode, lock, .. } => (*mode, *lock),
        };
        let cell = self.cell(me, lock);
        let at = self.machine.at(&self.loaded, me);
        let content = match mode {
            LockMode::Mutex => None,
            LockMode::Read | LockMode::Write => Some(self.machine.content(at, lock)),
        };
        let held = self.held(me, cell);
        let failed = matches!(answer, Answer::Failed(_));
        self.perform(
            me,
            0,
            |all| match (held, content) {
                (Some(LockMode::Read), Some(content)) => all.machine.add_reader(content, me),
                (Some(_), _) => all.machine.set_cell(cell, held_by(me)),
                (None, _) if failed => all.machine.set_cell(cell, TAKEN),
                (None, _) => all.machine.set_cell(cell, FREE),
            },
            |_, _| (),
        );
        let is_misuse = self.machine.threads[me].phase == Phase::Failed
            && match op {
                Lock::Acquire { .. } => held.is_some(),
                Lock::Release { .. } => held != Some(mode),
                Lock::Try { .. } => false,
            };
        if is_misuse {
            return None;
        }
        let Answer::Value(old) = answer else {
            // A mutex, or a lock that was not taken.
            if matches!(answer, Answer::Done) {
                self.hold(me, cell, mode, matches!(op, Lock::Acquire { .. }));
            }
            return None;
        };
        let takes = !matches!(op, Lock::Release { .. });
        self.hold(me, cell, mode, takes);
        Some(bits(match (mode, takes) {
            (LockMode::Read, true) => number(old).wrapping_add(1),
            (LockMode::Read, false) => number(old).wrapping_sub(1),
            (LockMode::Write, true) => -1,
            (LockMode::Write, false) | (LockMode::Mutex, _) => 0,
        }))
    }

    fn hold(&mut self, me: usize, lock: u32, mode: LockMode, takes: bool) {
        let now = &mut self.threads[me].now;
        let mut holds = now.holds.to_vec();
        match takes {
            true => holds.push((lock, mode)),
            false => holds.retain(|(held, _)| *held != lock),
        }
        now.holds = holds.into();
    }

    fn take_condition(&mut self, me: usize, op: &Cond, answer: Answer) -> Option<Bits> {
        let pc = self.machine.threads[me].pc;
        if let Cond::Wait { mutex, cond } = op {
            let (lock, cond) = (self.cell(me, *mutex), self.cell(me, *cond));
            let is_woken = self.machine.threads[me].phase == Phase::Woken;
            if let Answer::Value(value) = answer {
                let mut threads: Vec<u32> = self.enlisted(value);
                threads.push(me as u32);
                threads.sort_unstable();
                self.threads[me].now.stage = Stage::Enlisted;
                let name = self.object_name(cond);
                self.last = Last::Part { pc, text: format!("wait({name}): among the waiters") };
                return Some(self.waiters(false, &threads));
            }
            let is_held = self.held(me, lock).is_some();
            self.perform(
                me,
                0,
                |all| all.machine.set_cell(lock, if is_held { held_by(me) } else { FREE }),
                |_, _| (),
            );
            self.threads[me].now.stage = Stage::Operation;
            if is_woken || is_held {
                self.hold(me, lock, LockMode::Mutex, is_woken);
            }
            return None;
        }
        let wakes_all = matches!(op, Cond::Broadcast { .. });
        match (self.threads[me].now.stage.clone(), answer) {
            (Stage::Operation, Answer::Value(value)) => {
                let waiting: Arc<[u32]> = self.enlisted(value).into();
                if !wakes_all && waiting.len() > 1 {
                    self.threads[me].now.stage = Stage::Choosing(Arc::clone(&waiting));
                    self.last = self.part(me, "looks who waits");
                    return Some(self.waiters(true, &waiting));
                }
                self.wake(me, waiting, 0);
                Some(self.waiters(false, &[]))
            }
            (Stage::Choosing(among), Answer::Chosen(choice)) => {
                let woken = among[choice as usize];
                let left = among.iter().copied().filter(|&it| it != woken).collect();
                self.threads[me].now.stage = Stage::Chosen { woken, left };
                self.last = self.part(me, "chooses");
                None
            }
            (Stage::Chosen { woken, .. }, _) => {
                self.wake(me, Arc::new([woken]), 0);
                None
            }
            (Stage::Waking { woken, next }, _) => {
                self.wake(me, woken, next + 1);
                Some(1)
            }
            _ => None,
        }
    }

    fn enlisted(&self, value: Bits) -> Vec<u32> {
        let content = self.contents.content(value);
        content.iter().skip(1).map(|&thread| thread as u32).collect()
    }

    /// Goes on to wake these threads from `next` on, or is done.
    fn wake(&mut self, me: usize, woken: Arc<[u32]>, next: usize) {
        if next < woken.len() {
            self.threads[me].now.stage = Stage::Waking { woken, next };
            self.last = self.part(me, "takes waiters off the list");
            return;
        }
        self.threads[me].now.stage = Stage::Operation;
        let thread = self.machine.threads[me];
        let cond = match self.loaded.op(thread.pc) {
            Op::Cond(Cond::Signal { cond } | Cond::Broadcast { cond }) => *cond,
            _ => return,
        };
        let content = self.machine.content(self.machine.at(&self.loaded, me), cond);
        self.perform(
            me,
            0,
            |all| woken.iter().for_each(|&it| all.machine.add_waiter(content, it as usize)),
            |_, _| (),
        );
    }

    fn take_barrier(&mut self, me: usize, op: &Barrier, answer: Answer) -> Option<Bits> {
        let barrier = self.barrier(me, op.barrier());
        let global = op.barrier().global;
        let element = (barrier - self.loaded.globals[global.index()].base) as usize / 2;
        let needed = self.loaded.parties(global, element);
        if self.machine.threads[me].phase == Phase::Ready {
            self.perform(me, 0, |_| {}, |_, _| ());
            let Answer::Value(count) = answer else {
                self.gather(me, barrier, global.index(), needed, 0);
                return None;
            };
            let (arrived, round) = (count as u32 + 1, (count >> 32) as u32);
            let is_last = arrived as i32 == needed;
            let stage = if is_last { Stage::Opening { round } } else { Stage::Closed { round } };
            self.threads[me].now.stage = stage;
            let (arrived, round) = if is_last { (0, round + 1) } else { (arrived, round) };
            return Some(Bits::from(round) << 32 | Bits::from(arrived));
        }
        match self.threads[me].now.stage {
            Stage::Gathering { next } => {
                self.gather(me, barrier, global.index(), needed, next + 1);
            }
            _ => self.pass(me, barrier),
        }
        None
    }

    /// Awaits the others at a barrier, from the given one on.
    fn gather(&mut self, me: usize, barrier: u32, global: usize, needed: i32, from: usize) {
        let parties = &self.parties[global];
        let next = (from..parties.len()).find(|&it| parties[it] != me as u32);
        match next {
            None if parties.len() as i32 >= needed => self.pass(me, barrier),
            _ => {
                let next = next.unwrap_or(parties.len());
                self.threads[me].now.stage = Stage::Gathering { next };
                if from > 0 {
                    self.last = self.part(me, "sees that another one has arrived");
                }
            }
        }
    }

    fn pass(&mut self, me: usize, barrier: u32) {
        self.threads[me].now.stage = Stage::Operation;
        let mut passed = self.threads[me].now.passed.to_vec();
        match passed.iter_mut().find(|(it, _)| *it == barrier) {
            Some((_, rounds)) => *rounds += 1,
            None => passed.push((barrier, 1)),
        }
        self.threads[me].now.passed = passed.into();
        self.perform(me, 0, |_| {}, |_, _| ());
    }

    fn take_spawn(&mut self, me: usize) {
        let Label::Spawn(child) = self.threads[me].now.label else { return };
        let child = child.index();
        // What the step does to other threads is taken back, but not that it started one.
        let started = self.perform(me, 0, |_| {}, |all, _| all.machine.threads.get(child).copied());
        if let Some(started) = started {
            self.machine.threads[child] = started;
            self.begin(child);
        }
        self.last = Last::Operation;
    }

    fn take_send(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let (Some(what @ What::Mailbox(to)), Answer::Value(value)) = (self.touched(me), answer)
        else {
            return None;
        };
        let to = to as usize;
        let is_closed = self.contents.content(value).first() == Some(&1);
        let load = |all: &mut Self| {
            all.put(what, value);
            let phase = if is_closed { Phase::Finished } else { Phase::Ready };
            if to != me {
                let seen = all.machine.threads[to];
                all.machine.set_other(to, crate::interpret::machine::Thread { phase, ..seen });
            }
        };
        let wrote = self.perform(me, 0, load, |all, _| all.get(what));
        Some(if is_closed { value } else { wrote })
    }
}
