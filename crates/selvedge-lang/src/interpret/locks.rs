//! Mutexes, reader-writer locks, semaphores, condition variables, barriers.

use selvedge_core::ViolationKind;

use crate::ir::{ObjectRef, Op};

use super::execute::{cell, content};
use super::fault::{self, Failure};
use super::load::Loaded;
use super::machine::{FREE, Machine, Phase, Thread, held_by};

impl Machine {
    pub(super) fn use_mutex(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let op = loaded.op(thread.pc);
        let (Op::Lock { mutex } | Op::Unlock { mutex } | Op::TryLock { mutex, .. }) = op else {
            return Ok(());
        };
        let element = self.element(me, thread, *mutex);
        let cell = cell(loaded, *mutex, element);
        let owner = self.cells[cell];
        let mine = owner == held_by(me);
        let result = i32::from(owner == FREE);
        self.record.add(thread.pc, element, 0, Some(result), &[]);
        match op {
            Op::Lock { .. } if mine => return Err(self.locked_again(loaded, me, thread, *mutex)),
            Op::Unlock { .. } if !mine => {
                return Err(self.not_held(loaded, me, thread, "unlock of", *mutex));
            }
            Op::Unlock { .. } => self.set_cell(cell as u32, FREE),
            _ if owner == FREE => self.set_cell(cell as u32, held_by(me)),
            _ => {}
        }
        if let Op::TryLock { target, .. } = op {
            self.set_local(me, thread.base + target.0, result);
        }
        Ok(())
    }

    pub(super) fn use_rwlock(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let op = loaded.op(thread.pc);
        let (Op::ReadLock { rwlock }
        | Op::ReadUnlock { rwlock }
        | Op::TryReadLock { rwlock, .. }
        | Op::WriteLock { rwlock }
        | Op::WriteUnlock { rwlock }
        | Op::TryWriteLock { rwlock, .. }) = op
        else {
            return Ok(());
        };
        let rwlock = *rwlock;
        let element = self.element(me, thread, rwlock);
        let (cell, set) = (cell(loaded, rwlock, element), content(loaded, rwlock, element));
        let held = self.hold_of(cell, set, me);
        let (readable, writable) = self.takeable(cell, set, me);
        let result = match op {
            Op::TryReadLock { .. } => readable,
            Op::TryWriteLock { .. } => writable,
            _ => true,
        };
        self.record.add(thread.pc, element, 0, Some(i32::from(result)), &[]);
        match op {
            Op::ReadLock { .. } | Op::WriteLock { .. } if held != Hold::Nothing => {
                return Err(self.locked_again(loaded, me, thread, rwlock));
            }
            Op::ReadUnlock { .. } if held != Hold::Reading => {
                return Err(self.not_held(loaded, me, thread, "read_unlock of", rwlock));
            }
            Op::WriteUnlock { .. } if held != Hold::Writing => {
                return Err(self.not_held(loaded, me, thread, "write_unlock of", rwlock));
            }
            Op::ReadUnlock { .. } => self.remove_reader(set, me),
            Op::WriteUnlock { .. } => self.set_cell(cell as u32, FREE),
            Op::ReadLock { .. } | Op::TryReadLock { .. } if result => self.add_reader(set, me),
            _ if result => self.set_cell(cell as u32, held_by(me)),
            _ => {}
        }
        if let Op::TryReadLock { target, .. } | Op::TryWriteLock { target, .. } = op {
            self.set_local(me, thread.base + target.0, i32::from(result));
        }
        Ok(())
    }

    /// Returns how a thread holds a reader-writer lock.
    pub(super) fn hold_of(&self, cell: usize, readers: usize, thread: usize) -> Hold {
        if self.cells[cell] == held_by(thread) {
            Hold::Writing
        } else if self.readers[readers].binary_search(&thread).is_ok() {
            Hold::Reading
        } else {
            Hold::Nothing
        }
    }

    /// Returns whether a thread can now take a reader-writer lock for reading, and for writing.
    pub(super) fn takeable(&self, cell: usize, readers: usize, thread: usize) -> (bool, bool) {
        let no_writer = self.cells[cell] == FREE;
        let readers = &self.readers[readers];
        (no_writer && readers.binary_search(&thread).is_err(), no_writer && readers.is_empty())
    }

    pub(super) fn use_semaphore(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let op = loaded.op(thread.pc);
        let (Op::Up { semaphore } | Op::Down { semaphore } | Op::TryDown { semaphore, .. }) = op
        else {
            return Ok(());
        };
        let element = self.element(me, thread, *semaphore);
        let cell = cell(loaded, *semaphore, element);
        let count = self.cells[cell];
        let possible = count > 0;
        self.record.add(thread.pc, element, count, Some(i32::from(possible)), &[]);
        match op {
            Op::Up { .. } => {
                let Some(more) = count.checked_add(1) else {
                    let name = loaded.name(*semaphore, element as usize);
                    let message = format!("the count of `{name}` overflows 32 bits");
                    let kind = ViolationKind::Arithmetic;
                    return Err(fault::violation(loaded, thread.pc, kind, message));
                };
                self.set_cell(cell as u32, more);
            }
            _ if possible => self.set_cell(cell as u32, count - 1),
            _ => {}
        }
        if let Op::TryDown { target, .. } = op {
            self.set_local(me, thread.base + target.0, i32::from(possible));
        }
        Ok(())
    }

    /// First half of a wait: gives the mutex up and parks.
    pub(super) fn wait(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::Wait { cond, mutex } = loaded.op(thread.pc) else { return Ok(()) };
        let element = self.element(me, thread, *mutex);
        self.record.add(thread.pc, self.element(me, thread, *cond), 0, Some(0), &[element as i32]);
        let cell = cell(loaded, *mutex, element);
        if self.cells[cell] != held_by(me) {
            return Err(self.not_held(loaded, me, thread, "wait with", *mutex));
        }
        self.set_cell(cell as u32, FREE);
        let cond = content(loaded, *cond, self.element(me, thread, *cond));
        self.add_waiter(cond, me);
        self.threads[me].phase = Phase::Parked;
        Ok(())
    }

    /// Second half of a wait: takes the mutex again.
    pub(super) fn retake(&mut self, loaded: &Loaded, me: usize, thread: &Thread) {
        let Op::Wait { cond, mutex } = loaded.op(thread.pc) else { return };
        let element = self.element(me, thread, *mutex);
        self.record.add(thread.pc, self.element(me, thread, *cond), 0, Some(0), &[element as i32]);
        self.set_cell(cell(loaded, *mutex, element) as u32, held_by(me));
        self.threads[me].phase = Phase::Ready;
        self.threads[me].pc += 1;
    }

    /// A signal or a broadcast.
    pub(super) fn wake(&mut self, loaded: &Loaded, me: usize, thread: &Thread, choice: u32) {
        let op = loaded.op(thread.pc);
        let (Op::Signal { cond } | Op::Broadcast { cond }) = op else { return };
        let element = self.element(me, thread, *cond);
        let cond = content(loaded, *cond, element);
        let woken = self.woken(cond, matches!(op, Op::Signal { .. }).then_some(choice));
        let numbers: Vec<i32> = woken.iter().map(|&thread| thread as i32).collect();
        self.record.add(thread.pc, element, 0, Some(0), &numbers);
        for woken in woken {
            self.remove_waiter(cond, woken);
            self.set_other(woken, Thread { phase: Phase::Woken, ..self.threads[woken] });
        }
    }

    /// Whom alternative `choice` of a signal on a condition variable wakes; without it, whom a
    /// broadcast wakes.
    pub(super) fn woken(&self, cond: usize, choice: Option<u32>) -> Vec<usize> {
        let mut waiters = self.waiters[cond].clone();
        self.names.sort(&mut waiters);
        match choice {
            Some(choice) => waiters.get(choice as usize).copied().into_iter().collect(),
            None => waiters,
        }
    }

    /// First half of passing a barrier.
    pub(super) fn arrive(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        barrier: ObjectRef,
    ) {
        let element = self.element(me, thread, barrier);
        let cells = barrier_cells(loaded, barrier, element);
        let generation = self.cells[cells.generation as usize];
        let arrived = self.cells[cells.arrived as usize] + 1;
        let parties = loaded.parties(barrier.global, element as usize);
        self.record.add(thread.pc, element, arrived, Some(0), &[parties]);
        if arrived == parties {
            self.set_cell(cells.arrived, 0);
            self.set_cell(cells.generation, generation.wrapping_add(1));
        } else {
            self.set_cell(cells.arrived, arrived);
        }
        self.threads[me].generation = generation;
        self.threads[me].phase = Phase::Passing;
    }

    /// Second half of passing a barrier.
    pub(super) fn pass(&mut self, loaded: &Loaded, me: usize, thread: &Thread) {
        if let Op::Arrive { barrier } = loaded.op(thread.pc) {
            let element = self.element(me, thread, *barrier);
            self.record.add(thread.pc, element, 0, Some(0), &[]);
        }
        self.threads[me].phase = Phase::Ready;
        self.threads[me].pc += 1;
    }

    #[cold]
    fn locked_again(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        lock: ObjectRef,
    ) -> Failure {
        let name = loaded.name(lock, self.element(me, thread, lock) as usize);
        let me = self.thread_name(loaded, me);
        let message = format!("`{name}` is locked again by thread {me}, which holds it");
        fault::violation(loaded, thread.pc, ViolationKind::Misuse, message)
    }

    #[cold]
    fn not_held(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        what: &str,
        lock: ObjectRef,
    ) -> Failure {
        let element = self.element(me, thread, lock);
        let name = loaded.name(lock, element as usize);
        let holders = match self.holders(loaded, lock, element) {
            holders if holders.is_empty() => "it is free".to_owned(),
            holders => {
                let names: Vec<_> =
                    holders.iter().map(|&holder| self.thread_name(loaded, holder)).collect();
                format!("held by {}", names.join(", "))
            }
        };
        let me = self.thread_name(loaded, me);
        let message = format!("{what} `{name}`, which thread {me} does not hold ({holders})");
        fault::violation(loaded, thread.pc, ViolationKind::Misuse, message)
    }

    /// Who holds a lock, in any mode.
    pub(super) fn holders(&self, loaded: &Loaded, lock: ObjectRef, element: u32) -> Vec<usize> {
        let owner = self.cells[cell(loaded, lock, element)];
        if owner != FREE {
            return vec![owner as usize - 1];
        }
        let is_rwlock = matches!(
            loaded.program.globals[lock.global.index()].kind,
            crate::ir::GlobalKind::RwLock
        );
        if !is_rwlock {
            return Vec::new();
        }
        let mut readers = self.readers[content(loaded, lock, element)].clone();
        self.names.sort(&mut readers);
        readers
    }
}

/// How a thread holds a reader-writer lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Nothing,
    Reading,
    Writing,
}

/// The two cells of a barrier; also the objects of its even and its odd generations.
#[derive(Clone, Copy)]
pub(super) struct BarrierCells {
    /// How many have arrived in the current generation.
    pub(super) arrived: u32,
    /// The current generation.
    pub(super) generation: u32,
}

impl BarrierCells {
    /// Returns the object of a generation.
    pub(super) fn object(self, generation: i32) -> u32 {
        self.arrived + (generation & 1) as u32
    }
}

pub(super) fn barrier_cells(loaded: &Loaded, barrier: ObjectRef, element: u32) -> BarrierCells {
    let first = loaded.globals[barrier.global.index()].base + 2 * element;
    BarrierCells { arrived: first, generation: first + 1 }
}
