//! What a pending visible operation would touch, and how it may act elsewhere.

use selvedge_core::{Flexibility, Footprint, Mode, ObjectId};

use crate::ir::{ObjectRef, Op};

use super::execute::{cell, content};
use super::load::Loaded;
use super::locks::{Hold, barrier_cells};
use super::machine::{FREE, Machine, Phase, Thread, held_by};
use super::messages::Found;

impl Machine {
    /// Adds what the operation at which `thread` stands touches, if alternative `choice` of it
    /// runs now; if it is blocked, what decides when it can run. Not for atomic sections.
    #[inline]
    pub(super) fn footprint(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        choice: u32,
        footprint: &mut Footprint,
    ) {
        if thread.phase != Phase::Ready {
            return self.footprint_behind(loaded, me, thread, footprint);
        }
        let (object, mode) = match loaded.op(thread.pc) {
            Op::Read { variable, .. } => (*variable, Mode::Read),
            Op::Write { variable, .. } => (*variable, Mode::Write),
            Op::Exchange { variable, .. } | Op::FetchAdd { variable, .. } => {
                (*variable, Mode::Update)
            }
            _ => return self.footprint_rarer(loaded, me, thread, choice, footprint),
        };
        let element = self.element(me, thread, object);
        footprint.add(ObjectId::new(cell(loaded, object, element)), mode);
    }

    fn footprint_rarer(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        choice: u32,
        footprint: &mut Footprint,
    ) {
        let op = loaded.op(thread.pc);
        let (object, mode) = match op {
            Op::CompareExchange { variable, expected, .. } => {
                let old = self.cells[self.cell_of(loaded, me, thread, *variable)];
                let same = old == self.value(me, thread, *expected);
                (*variable, if same { Mode::Update } else { Mode::Read })
            }
            Op::ReadContainer { container, .. } => (*container, Mode::Read),
            Op::ChangeContainer { container, .. } => (*container, Mode::Update),
            Op::Lock { mutex } | Op::Unlock { mutex } | Op::TryLock { mutex, .. } => {
                (*mutex, self.mutex_mode(loaded, me, thread, *mutex))
            }
            Op::ReadLock { rwlock }
            | Op::ReadUnlock { rwlock }
            | Op::TryReadLock { rwlock, .. }
            | Op::WriteLock { rwlock }
            | Op::WriteUnlock { rwlock }
            | Op::TryWriteLock { rwlock, .. } => {
                (*rwlock, self.rwlock_mode(loaded, me, thread, *rwlock))
            }
            Op::Up { semaphore } => {
                let may_overflow = loaded.globals[semaphore.global.index()].may_overflow;
                (*semaphore, if may_overflow { Mode::Update } else { Mode::Up })
            }
            Op::Down { semaphore } => (*semaphore, Mode::Down),
            Op::TryDown { semaphore, .. } => {
                let possible = self.cells[self.cell_of(loaded, me, thread, *semaphore)] > 0;
                (*semaphore, if possible { Mode::Down } else { Mode::Probe })
            }
            Op::Wait { cond, mutex } => {
                let cell = self.cell_of(loaded, me, thread, *mutex);
                if self.cells[cell] != held_by(me) {
                    (*mutex, Mode::Probe)
                } else {
                    self.add_object(loaded, me, thread, *cond, Mode::Wait, footprint);
                    (*mutex, Mode::Release)
                }
            }
            Op::Signal { cond } | Op::Broadcast { cond } => {
                self.add_object(loaded, me, thread, *cond, Mode::Signal, footprint);
                let cond = self.content_of(loaded, me, thread, *cond);
                let choice = matches!(op, Op::Signal { .. }).then_some(choice);
                for woken in self.woken(cond, choice) {
                    footprint.add(self.names.wake(woken), Mode::Wake);
                }
                return;
            }
            Op::Arrive { barrier } => return self.arrival(loaded, me, thread, *barrier, footprint),
            _ => return self.footprint_of_threads(loaded, me, thread, footprint),
        };
        self.add_object(loaded, me, thread, object, mode, footprint);
    }

    /// Of operations on threads and messages.
    fn footprint_of_threads(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        footprint: &mut Footprint,
    ) {
        match loaded.op(thread.pc) {
            Op::Spawn { procedure, .. } if !self.is_full(loaded) => {
                let child = self.next_child(me, thread, *procedure);
                footprint.add(self.names.life(child), Mode::Spawn);
                footprint.add(self.names.wake(child), Mode::Spawn);
            }
            Op::Join { thread: other } => {
                let other = self.value(me, thread, *other) as usize;
                footprint.add(self.names.life(other), Mode::Join);
            }
            Op::Send { to, .. } => {
                let to = self.value(me, thread, *to) as usize;
                if !self.has_stopped(to) {
                    footprint.add(self.names.mailbox(to), Mode::Send);
                    footprint.add(self.names.message(me, thread.sent), Mode::Post);
                }
                footprint.add(self.names.life(to), Mode::Alive);
            }
            Op::Receive { .. } => match self.find_message(loaded, me, thread) {
                Found::Message { position, .. } => {
                    footprint.add(self.mailboxes[me][position].object, Mode::Take);
                }
                Found::Nothing | Found::Fault(_) => {
                    footprint.add(self.names.mailbox(me), Mode::Timeout);
                }
            },
            _ => {}
        }
    }

    /// Of a thread that is not at the first half of its operation.
    fn footprint_behind(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        footprint: &mut Footprint,
    ) {
        match (thread.phase, loaded.op(thread.pc)) {
            (Phase::Woken, Op::Wait { mutex, .. }) => {
                self.add_object(loaded, me, thread, *mutex, Mode::Acquire, footprint);
                footprint.add(self.names.wake(me), Mode::Woken);
            }
            (Phase::Passing, Op::Arrive { barrier }) => {
                let cells = barrier_cells(loaded, *barrier, self.element(me, thread, *barrier));
                let object = cells.object(thread.generation);
                footprint.add(ObjectId::new(object as usize), Mode::Pass);
            }
            _ => {}
        }
    }

    /// Arrivals of one generation commute: they are counted. If more threads may come than there
    /// are parties, the order of arrival matters, and no two arrivals commute.
    fn arrival(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        barrier: ObjectRef,
        footprint: &mut Footprint,
    ) {
        let cells = barrier_cells(loaded, barrier, self.element(me, thread, barrier));
        if loaded.globals[barrier.global.index()].crowded {
            footprint.add(ObjectId::new(cells.object(0) as usize), Mode::Update);
            footprint.add(ObjectId::new(cells.object(1) as usize), Mode::Update);
        } else {
            let object = cells.object(self.cells[cells.generation as usize]);
            footprint.add(ObjectId::new(object as usize), Mode::Arrive);
        }
    }

    fn mutex_mode(&self, loaded: &Loaded, me: usize, thread: &Thread, mutex: ObjectRef) -> Mode {
        let owner = self.cells[self.cell_of(loaded, me, thread, mutex)];
        match loaded.op(thread.pc) {
            Op::Lock { .. } if owner != held_by(me) => Mode::Acquire,
            Op::TryLock { .. } if owner == FREE => Mode::Acquire,
            Op::Unlock { .. } if owner == held_by(me) => Mode::Release,
            _ => Mode::Probe,
        }
    }

    fn rwlock_mode(&self, loaded: &Loaded, me: usize, thread: &Thread, rwlock: ObjectRef) -> Mode {
        let cell = self.cell_of(loaded, me, thread, rwlock);
        let readers = self.content_of(loaded, me, thread, rwlock);
        let held = self.hold_of(cell, readers, me);
        let (readable, writable) = self.takeable(cell, readers, me);
        match loaded.op(thread.pc) {
            Op::ReadLock { .. } if held == Hold::Nothing => Mode::ShareAcquire,
            Op::TryReadLock { .. } if readable => Mode::ShareAcquire,
            Op::ReadUnlock { .. } if held == Hold::Reading => Mode::ShareRelease,
            Op::WriteLock { .. } if held == Hold::Nothing => Mode::Acquire,
            Op::TryWriteLock { .. } if writable => Mode::Acquire,
            Op::WriteUnlock { .. } if held == Hold::Writing => Mode::Release,
            _ => Mode::Probe,
        }
    }

    /// Returns whether a blocking lock operation will run into a misuse instead.
    #[inline]
    pub(super) fn is_misuse(&self, loaded: &Loaded, me: usize, thread: &Thread) -> bool {
        if thread.phase != Phase::Ready {
            return false;
        }
        match loaded.op(thread.pc) {
            Op::Lock { mutex } => self.mutex_mode(loaded, me, thread, *mutex) == Mode::Probe,
            Op::ReadLock { rwlock } | Op::WriteLock { rwlock } => {
                self.rwlock_mode(loaded, me, thread, *rwlock) == Mode::Probe
            }
            _ => false,
        }
    }

    fn add_object(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        object: ObjectRef,
        mode: Mode,
        footprint: &mut Footprint,
    ) {
        footprint.add(ObjectId::new(self.cell_of(loaded, me, thread, object)), mode);
    }

    #[inline]
    pub(super) fn cell_of(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        object: ObjectRef,
    ) -> usize {
        cell(loaded, object, self.element(me, thread, object))
    }

    pub(super) fn content_of(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        object: ObjectRef,
    ) -> usize {
        content(loaded, object, self.element(me, thread, object))
    }
}

/// Returns how the step may act in another state. Not for atomic sections.
#[inline]
pub(super) fn flexibility(loaded: &Loaded, thread: &Thread, misuse: bool) -> Flexibility {
    match thread.phase {
        Phase::Ready => {}
        Phase::Woken => return Flexibility::Lock,
        Phase::Passing => return Flexibility::Blocking,
        _ => return Flexibility::Fixed,
    }
    match loaded.op(thread.pc) {
        // It depends on what the thread itself did before, and always runs.
        Op::Lock { .. } | Op::ReadLock { .. } | Op::WriteLock { .. } if misuse => {
            Flexibility::Fixed
        }
        Op::Lock { .. } => Flexibility::Lock,
        Op::ReadLock { .. }
        | Op::WriteLock { .. }
        | Op::Down { .. }
        | Op::Join { .. }
        | Op::Receive { after: None, .. } => Flexibility::Blocking,
        Op::CompareExchange { .. }
        | Op::TryLock { .. }
        | Op::TryReadLock { .. }
        | Op::TryWriteLock { .. }
        | Op::TryDown { .. }
        | Op::Signal { .. }
        | Op::Broadcast { .. }
        | Op::Send { .. }
        | Op::Receive { after: Some(_), .. } => Flexibility::Conditional,
        _ => Flexibility::Fixed,
    }
}

/// Returns whether the step reads or writes without synchronising anything: what can race.
#[inline]
pub(super) fn is_plain(loaded: &Loaded, thread: &Thread) -> bool {
    let object = match loaded.op(thread.pc) {
        Op::Read { variable, .. } | Op::Write { variable, .. } => variable,
        Op::ReadContainer { container, .. } | Op::ChangeContainer { container, .. } => container,
        _ => return false,
    };
    thread.phase == Phase::Ready && loaded.globals[object.global.index()].plain
}
