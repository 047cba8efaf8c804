//! Which events an operation is.

use std::sync::Arc;

use selvedge_core::{Bits, Effect, Label, Location, Mode, Order, Status, ThreadId};

use super::locations::{What, bits, number};
use super::{First, Inner};
use crate::interpret::{At, Phase};
use crate::ir::{
    Barrier, Choice, Cond, Container, Lock, LockMode, ObjectRef, Op, Thread, Variable,
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

/// A step that touches nothing.
const NOTHING: Label = Label::Choose(1);

impl Inner {
    pub(super) fn of(&mut self, what: What) -> Location {
        self.locations.of(what)
    }

    pub(super) fn cell(&self, me: usize, object: ObjectRef) -> u32 {
        self.machine.cell(self.machine.at(&self.loaded, me), object) as u32
    }

    fn is_plain(&self, object: ObjectRef) -> bool {
        self.loaded.globals[object.global.index()].plain
    }

    pub(super) fn held(&self, me: usize, lock: u32) -> Option<LockMode> {
        let holds = &self.threads[me].now.holds;
        holds.iter().find(|(held, _)| *held == lock).map(|(_, mode)| *mode)
    }

    /// The first object of a barrier.
    pub(super) fn barrier(&self, me: usize, barrier: ObjectRef) -> u32 {
        let element = self.machine.element(self.machine.at(&self.loaded, me), barrier);
        self.loaded.globals[barrier.global.index()].base + 2 * element
    }

    pub(super) fn round(&self, me: usize, barrier: u32) -> u32 {
        let passed = &self.threads[me].now.passed;
        passed.iter().find(|(it, _)| *it == barrier).map_or(0, |(_, rounds)| *rounds)
    }

    /// Finds out what a thread stands at.
    pub(super) fn stand(&mut self, me: usize) {
        let phase = self.machine.threads[me].phase;
        let is_over = self.threads[me].now.stage == Stage::Over;
        let label = match phase {
            Phase::Finished | Phase::Failed if self.has_messages && !is_over => {
                Label::Close(self.of(What::Mailbox(me as u32)))
            }
            Phase::Finished | Phase::Absent => Label::Ended,
            Phase::Failed => Label::Failed,
            Phase::Assumed => Label::Assumed,
            Phase::FaultsAtOnce => NOTHING,
            Phase::Parked => {
                let at = self.of(What::Token(me as u32));
                Label::Await { at, order: Order::Unseen, update: true }
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
                let cell = self.cell(me, op.semaphore());
                op.event(self.locations.of(What::Object(cell)))
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
                let receiver = op.receiver(&self.machine, self.machine.at(&self.loaded, me));
                op.event(self.locations.of(What::Mailbox(receiver)))
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
            Lock::Acquire { .. } if mode == LockMode::Mutex => Label::Lock(at),
            Lock::Release { .. } if mode == LockMode::Mutex => Label::Unlock(at),
            Lock::Try { .. } if mode == LockMode::Mutex => Label::TryLock(at),
            Lock::Acquire { .. } if !self.tried[lock.global.index()] => match mode {
                LockMode::Read => Label::Share(at),
                LockMode::Mutex | LockMode::Write => Label::Lock(at),
            },
            Lock::Release { .. } if !self.tried[lock.global.index()] => match mode {
                LockMode::Read => Label::Unshare(at),
                LockMode::Mutex | LockMode::Write => Label::Unlock(at),
            },
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
                Label::Store { at: waiters, order: Order::Unseen, value }
            }
            Stage::Waking { woken, next } => {
                Label::Update { at: self.of(What::Token(woken[next])), order: Order::Unseen }
            }
            _ => Label::Await { at: waiters, order: Order::Unseen, update: true },
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
        let at = match self.first_access(me) {
            First::Object(object) => self.of(What::Object(object)),
            First::Blocked => {
                let at = self.of(What::Never(me as u32));
                return Label::Await { at, order: Order::Relaxed, update: false };
            }
            First::Nothing => return NOTHING,
        };
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
            Op::AtomicBegin { .. } => {
                let what = self.touched(me);
                self.trying(me, value, |all| {
                    let mut effect = Effect::default();
                    all.machine.perform(&all.loaded, me, 0, &mut effect);
                    // Whatever is not known to leave the object as it is writes: `up` and `down` do.
                    effect.footprint.accesses().iter().any(|access| {
                        what == Some(What::Object(access.object.number()))
                            && !matches!(access.mode, Mode::Read | Mode::Probe)
                    })
                })
            }
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
    pub(super) fn touched(&self, me: usize) -> Option<What> {
        self.locations.what(self.threads[me].now.label.location()?)
    }
}
