//! Mutexes, reader-writer locks, semaphores, condition variables, barriers: cells like others.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{
    Cond, GlobalId, GlobalKind, Lock, LockMode, ObjectRef, Op, Semaphore, SiteId, Slot,
};

use super::cells::{CellId, CellName};
use super::events::{EventId, Read, Write};
use super::run::{Runner, Turn};
use super::state::State;
use super::{CutReason, Unrolled};
use crate::circuit::Word;
use crate::solver::Lit;

/// A signal or a broadcast. Whom it can wake is known when all threads are unrolled.
pub(super) struct Waker {
    event: EventId,
    /// The condition variables that it may mean.
    conditions: Vec<(Lit, GlobalId, u32)>,
    is_broadcast: bool,
}

/// What a blocking step wants of a cell before it can be taken, under a condition.
struct Wish {
    cell: CellId,
    condition: Lit,
    /// What it is good for.
    is_met: fn(&mut Unrolled, &Word) -> Lit,
}

fn is_zero(unrolled: &mut Unrolled, word: &Word) -> Lit {
    unrolled.circuit.is(word, 0)
}

fn is_positive(unrolled: &mut Unrolled, word: &Word) -> Lit {
    unrolled.circuit.less(&Word::constant(0, word.width()), word)
}

impl Unrolled {
    pub(super) fn synchronise(&mut self, turn: &mut Turn<'_>, op: &Op) -> Result<(), CutReason> {
        match op {
            Op::Lock(Lock::Acquire { mode, lock }) => self.acquire(turn, *mode, *lock),
            Op::Lock(Lock::Release { mode, lock }) => self.release(turn, *mode, *lock),
            Op::Lock(Lock::Try { mode, target, lock }) => {
                self.try_lock(turn, *mode, *target, *lock)
            }
            Op::Semaphore(Semaphore::Down { semaphore }) => self.down(turn, *semaphore),
            Op::Semaphore(Semaphore::Count { .. }) => {
                Err(CutReason::Unsupported("`count` of a semaphore".to_owned()))
            }
            Op::Semaphore(op) => self.change_count(turn, op),
            Op::Barrier(op) => self.arrive(turn, op.barrier()),
            Op::Cond(Cond::Wait { cond, mutex }) => self.wait(turn, *cond, *mutex),
            Op::Cond(Cond::Signal { cond }) => self.wake(turn, *cond, false),
            Op::Cond(Cond::Broadcast { cond }) => self.wake(turn, *cond, true),
            op => Err(CutReason::Unsupported(format!("{op:?}"))),
        }
    }

    fn wake(
        &mut self,
        turn: &mut Turn<'_>,
        cond: ObjectRef,
        is_broadcast: bool,
    ) -> Result<(), CutReason> {
        let elements = self.elements(turn.state, cond)?.into_iter();
        let conditions = elements.map(|(lit, element)| (lit, cond.global, element)).collect();
        if let Some(event) = self.here(turn) {
            self.wakers.push(Waker { event, conditions, is_broadcast });
        }
        Ok(())
    }

    /// Returns the cells of a lock: held for writing (or at all), and how many read it.
    fn lock_cells(&mut self, global: GlobalId, element: u32) -> (CellId, Option<CellId>) {
        let writer = self.cell(CellName::Value(global, element));
        let is_shared = matches!(self.program.globals[global.index()].kind, GlobalKind::RwLock);
        let readers = is_shared.then(|| self.cell(CellName::Readers(global, element)));
        (writer, readers)
    }

    /// Adds a step that is taken only when all conditions hold, and is blocked while one does not.
    fn blocking_event(
        &mut self,
        thread: usize,
        state: &mut State,
        wishes: &[Wish],
        site: SiteId,
    ) -> EventId {
        let event = self.new_event(thread, state, site, true);
        let mut unmet = Vec::new();
        for wish in wishes {
            let value = self.final_value(wish.cell);
            let met = (wish.is_met)(self, &value);
            unmet.push(self.circuit.and(wish.condition, !met));
        }
        let blocked = self.circuit.any(&unmet);
        self.set_blocked(blocked);
        for wish in wishes {
            let guard = self.circuit.and(state.guard, wish.condition);
            let value = self.read_cell(&mut Runner::Thread(thread), Some(event), wish.cell, guard);
            let met = (wish.is_met)(self, &value);
            self.circuit.imply(&[guard], &[met]);
        }
        event
    }

    fn acquire(
        &mut self,
        turn: &mut Turn<'_>,
        mode: LockMode,
        lock: ObjectRef,
    ) -> Result<(), CutReason> {
        let Runner::Thread(me) = *turn.runner else { return Ok(()) };
        let elements = self.elements(turn.state, lock)?;
        let is_read = mode == LockMode::Read;
        let mut wishes = Vec::new();
        let mut misuses = Vec::new();
        for &(condition, element) in &elements {
            let (writer, readers) = self.lock_cells(lock.global, element);
            let mine = self.holds_any(turn.state, writer, readers);
            let condition_free = self.circuit.and(condition, !mine);
            misuses.push(self.circuit.and(condition, mine));
            wishes.push(Wish { cell: writer, condition: condition_free, is_met: is_zero });
            if let Some(cell) = readers
                && !is_read
            {
                wishes.push(Wish { cell, condition: condition_free, is_met: is_zero });
            }
        }
        let event = self.blocking_event(me, turn.state, &wishes, turn.site);
        let misuse = self.circuit.any(&misuses);
        self.fault(turn, misuse, ViolationKind::Misuse);
        for (condition, element) in elements {
            self.take(turn, event, lock.global, element, condition, is_read);
        }
        Ok(())
    }

    /// The thread now holds a lock, under a condition.
    fn take(
        &mut self,
        turn: &mut Turn<'_>,
        event: EventId,
        global: GlobalId,
        element: u32,
        condition: Lit,
        is_read: bool,
    ) {
        let (writer, readers) = self.lock_cells(global, element);
        let guard = self.circuit.and(turn.state.guard, condition);
        let cell = match readers {
            Some(readers) if is_read => {
                let count = self.read_cell(turn.runner, Some(event), readers, guard);
                let one = Word::constant(1, count.width());
                let more = self.circuit.add(&count, &one).0;
                self.write_cell(turn.runner, Some(event), readers, guard, &more);
                readers
            }
            _ => {
                let held = Word::boolean(Lit::TRUE);
                self.write_cell(turn.runner, Some(event), writer, guard, &held);
                writer
            }
        };
        let hold = self.circuit.or(turn.state.hold(cell), condition);
        turn.state.holds.insert(cell, hold);
        // Where its thread may hold it already, the step may fail and take nothing.
        if guard == self.events[event.index()].guard && cell == writer {
            self.events[event.index()].takes = Some(cell);
        }
    }

    fn holds_any(&mut self, state: &State, writer: CellId, readers: Option<CellId>) -> Lit {
        let reading = readers.map_or(Lit::FALSE, |cell| state.hold(cell));
        self.circuit.or(state.hold(writer), reading)
    }

    fn release(
        &mut self,
        turn: &mut Turn<'_>,
        mode: LockMode,
        lock: ObjectRef,
    ) -> Result<(), CutReason> {
        let elements = self.elements(turn.state, lock)?;
        let Some(event) = self.here(turn) else { return Ok(()) };
        let is_read = mode == LockMode::Read;
        let mut misuses = Vec::new();
        let mut held = Vec::new();
        for &(condition, element) in &elements {
            let (writer, readers) = self.lock_cells(lock.global, element);
            let cell = if is_read { readers.unwrap_or(writer) } else { writer };
            misuses.push(self.circuit.and(condition, !turn.state.hold(cell)));
            held.push((condition, cell));
        }
        let misuse = self.circuit.any(&misuses);
        self.fault(turn, misuse, ViolationKind::Misuse);
        for (condition, cell) in held {
            let guard = self.circuit.and(turn.state.guard, condition);
            let value = if is_read {
                let count = self.read_cell(turn.runner, Some(event), cell, guard);
                self.circuit.subtract(&count, &Word::constant(1, count.width())).0
            } else {
                Word::boolean(Lit::FALSE)
            };
            self.write_cell(turn.runner, Some(event), cell, guard, &value);
            let hold = self.circuit.and(turn.state.hold(cell), !condition);
            turn.state.holds.insert(cell, hold);
        }
        Ok(())
    }

    fn try_lock(
        &mut self,
        turn: &mut Turn<'_>,
        mode: LockMode,
        target: Slot,
        lock: ObjectRef,
    ) -> Result<(), CutReason> {
        let elements = self.elements(turn.state, lock)?;
        let Some(event) = self.here(turn) else { return Ok(()) };
        let is_read = mode == LockMode::Read;
        let mut results = Vec::new();
        for (condition, element) in elements {
            let (writer, readers) = self.lock_cells(lock.global, element);
            let guard = self.circuit.and(turn.state.guard, condition);
            let value = self.read_cell(turn.runner, Some(event), writer, guard);
            let mut free = self.circuit.is(&value, 0);
            if let Some(cell) = readers {
                let fits = if is_read {
                    !turn.state.hold(cell)
                } else {
                    let count = self.read_cell(turn.runner, Some(event), cell, guard);
                    self.circuit.is(&count, 0)
                };
                free = self.circuit.and(free, fits);
            }
            let taken = self.circuit.and(condition, free);
            self.take(turn, event, lock.global, element, taken, is_read);
            results.push(taken);
        }
        let result = self.circuit.any(&results);
        self.store(turn.state, target, Word::boolean(result));
        Ok(())
    }

    /// `up` and `try_down`.
    fn change_count(&mut self, turn: &mut Turn<'_>, op: &Semaphore) -> Result<(), CutReason> {
        let semaphore = op.semaphore();
        let elements = self.elements(turn.state, semaphore)?;
        let at = self.here(turn);
        let count = self.read(turn.runner, at, turn.state.guard, semaphore.global, &elements);
        let one = Word::integer(1);
        let (new, changes) = if let Semaphore::TryDown { target, .. } = op {
            let possible = is_positive(self, &count);
            self.store(turn.state, *target, Word::boolean(possible));
            (self.circuit.subtract(&count, &one).0, possible)
        } else {
            let (more, overflow) = self.circuit.add(&count, &one);
            self.fault(turn, overflow, ViolationKind::Arithmetic);
            (more, Lit::TRUE)
        };
        for (condition, element) in elements {
            let cell = self.cell(CellName::Value(semaphore.global, element));
            let guard = self.circuit.all(&[turn.state.guard, condition, changes]);
            self.write_cell(turn.runner, at, cell, guard, &new);
        }
        Ok(())
    }

    fn down(&mut self, turn: &mut Turn<'_>, semaphore: ObjectRef) -> Result<(), CutReason> {
        let Runner::Thread(me) = *turn.runner else { return Ok(()) };
        let elements = self.elements(turn.state, semaphore)?;
        let mut wishes = Vec::new();
        for &(condition, element) in &elements {
            let cell = self.cell(CellName::Value(semaphore.global, element));
            wishes.push(Wish { cell, condition, is_met: is_positive });
        }
        let event = self.blocking_event(me, turn.state, &wishes, turn.site);
        for wish in wishes {
            let guard = self.circuit.and(turn.state.guard, wish.condition);
            let count = self.read_cell(turn.runner, Some(event), wish.cell, guard);
            let less = self.circuit.subtract(&count, &Word::integer(1)).0;
            self.write_cell(turn.runner, Some(event), wish.cell, guard, &less);
        }
        Ok(())
    }

    /// Adds two steps: arriving, and continuing when all have arrived.
    fn arrive(&mut self, turn: &mut Turn<'_>, barrier: ObjectRef) -> Result<(), CutReason> {
        let Runner::Thread(me) = *turn.runner else { return Ok(()) };
        let elements = self.elements(turn.state, barrier)?;
        let &[(Lit::TRUE, element)] = elements.as_slice() else {
            return Err(CutReason::Unsupported("a barrier with an index that varies".to_owned()));
        };
        let GlobalKind::Barrier { parties } = &self.program.globals[barrier.global.index()].kind
        else {
            return Ok(());
        };
        let parties = parties[element as usize] as i32;
        let arrived_cell = self.cell(CellName::Value(barrier.global, element));
        let generation_cell = self.cell(CellName::Generation(barrier.global, element));
        let event = self.new_event(me, turn.state, turn.site, false);
        let arrived = self.read_cell(turn.runner, Some(event), arrived_cell, turn.state.guard);
        let generation =
            self.read_cell(turn.runner, Some(event), generation_cell, turn.state.guard);
        let one = Word::constant(1, arrived.width());
        let more = self.circuit.add(&arrived, &one).0;
        let all = self.circuit.is(&more, parties);
        let none = Word::constant(0, arrived.width());
        let now = self.circuit.choose_word(all, &none, &more);
        self.write_cell(turn.runner, Some(event), arrived_cell, turn.state.guard, &now);
        let next = self.circuit.add(&generation, &one).0;
        let opens = self.circuit.and(turn.state.guard, all);
        self.write_cell(turn.runner, Some(event), generation_cell, opens, &next);

        let pass = self.new_event(me, turn.state, turn.site, true);
        let at_end = self.final_value(generation_cell);
        let closed = self.circuit.equal_words(&at_end, &generation);
        self.set_blocked(closed);
        let found = self.read_cell(turn.runner, Some(pass), generation_cell, turn.state.guard);
        let still_closed = self.circuit.equal_words(&found, &generation);
        self.circuit.imply(&[turn.state.guard], &[!still_closed]);
        Ok(())
    }

    /// Adds two steps: releasing the mutex to wait, and acquiring it again after a signal.
    fn wait(
        &mut self,
        turn: &mut Turn<'_>,
        cond: ObjectRef,
        mutex: ObjectRef,
    ) -> Result<(), CutReason> {
        let Runner::Thread(me) = *turn.runner else { return Ok(()) };
        let (conds, mutexes) =
            (self.elements(turn.state, cond)?, self.elements(turn.state, mutex)?);
        let (&[(Lit::TRUE, cond_element)], &[(Lit::TRUE, mutex_element)]) =
            (conds.as_slice(), mutexes.as_slice())
        else {
            let reason = "a condition variable or mutex with an index that varies";
            return Err(CutReason::Unsupported(reason.to_owned()));
        };
        let lock = self.cell(CellName::Value(mutex.global, mutex_element));
        let waiting = self.cell(CellName::Waiting(cond.global, cond_element, me));
        let event = self.new_event(me, turn.state, turn.site, false);
        self.fault(turn, !turn.state.hold(lock), ViolationKind::Misuse);
        let (yes, no) = (Word::boolean(Lit::TRUE), Word::boolean(Lit::FALSE));
        self.write_cell(turn.runner, Some(event), lock, turn.state.guard, &no);
        self.write_cell(turn.runner, Some(event), waiting, turn.state.guard, &yes);
        let wishes =
            [waiting, lock].map(|cell| Wish { cell, condition: Lit::TRUE, is_met: is_zero });
        let again = self.blocking_event(me, turn.state, &wishes, turn.site);
        self.write_cell(turn.runner, Some(again), lock, turn.state.guard, &yes);
        self.events[again.index()].takes = Some(lock);
        turn.state.holds.insert(lock, Lit::TRUE);
        Ok(())
    }

    /// Adds the accesses of signals and broadcasts.
    pub(super) fn connect_wakers(&mut self) {
        for waker in std::mem::take(&mut self.wakers) {
            let guard = self.events[waker.event.index()].guard;
            let mut chosen = Vec::new();
            for &(condition, global, element) in &waker.conditions {
                for thread in 0..self.threads.len() {
                    let name = CellName::Waiting(global, element, thread);
                    let Some(&cell) = self.cell_ids.get(&name) else { continue };
                    let guard = self.circuit.and(guard, condition);
                    let value = self.circuit.fresh_word(1);
                    let wakes = if waker.is_broadcast {
                        self.circuit.and(guard, value.truth())
                    } else {
                        let lit = self.circuit.fresh();
                        self.circuit.imply(&[lit], &[guard]);
                        self.circuit.imply(&[lit], &[value.truth()]);
                        chosen.push((lit, self.circuit.and(guard, value.truth())));
                        lit
                    };
                    let no = Word::boolean(Lit::FALSE);
                    let event = &mut self.events[waker.event.index()];
                    event.reads.insert(cell, Read { guard, value });
                    event.writes.insert(cell, Write { guard: wakes, value: no });
                    event.wakes.push((wakes, thread));
                }
            }
            let lits: Vec<Lit> = chosen.iter().map(|&(lit, _)| lit).collect();
            self.circuit.at_most_one(&lits);
            for &(_, waits) in &chosen {
                self.circuit.imply(&[waits], &lits);
            }
        }
    }
}
