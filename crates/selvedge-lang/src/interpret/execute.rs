//! Performs visible instructions: variables here, the rest in the files beside it.

use selvedge_core::ViolationKind;

use crate::ir::{ObjectRef, Op, Operand};

use super::fault::{self, Failure};
use super::load::{Loaded, value};
use super::machine::{Machine, Thread};

impl Machine {
    /// Performs the visible instruction at which thread `me` stands, and moves past it. `thread`
    /// is a copy of it from before. A thread that has to wait afterwards gets another phase and
    /// stays where it is.
    #[inline]
    pub(super) fn execute(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        choice: u32,
    ) -> Result<(), Failure> {
        match loaded.op(thread.pc) {
            Op::Read { target, variable } => {
                let element = self.element(me, thread, *variable);
                let found = self.cells[cell(loaded, *variable, element)];
                self.set_local(me, thread.base + target.0, found);
                self.record.add(thread.pc, element, 0, Some(found), &[]);
            }
            Op::Write { variable, value } => {
                let element = self.element(me, thread, *variable);
                let cell = cell(loaded, *variable, element);
                let (old, new) = (self.cells[cell], self.value(me, thread, *value));
                self.set_cell(cell as u32, new);
                self.record.add(thread.pc, element, old, Some(new), &[]);
            }
            _ => return self.execute_rarer(loaded, me, thread, choice),
        }
        self.threads[me].pc += 1;
        Ok(())
    }

    #[inline(never)]
    fn execute_rarer(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        choice: u32,
    ) -> Result<(), Failure> {
        match loaded.op(thread.pc) {
            Op::CompareExchange { .. } | Op::Exchange { .. } | Op::FetchAdd { .. } => {
                self.read_modify_write(loaded, me, thread)?;
            }
            Op::Lock { .. } | Op::Unlock { .. } | Op::TryLock { .. } => {
                self.use_mutex(loaded, me, thread)?;
            }
            Op::ReadLock { .. }
            | Op::ReadUnlock { .. }
            | Op::TryReadLock { .. }
            | Op::WriteLock { .. }
            | Op::WriteUnlock { .. }
            | Op::TryWriteLock { .. } => self.use_rwlock(loaded, me, thread)?,
            Op::Up { .. } | Op::Down { .. } | Op::TryDown { .. } => {
                self.use_semaphore(loaded, me, thread)?;
            }
            // These stay where they are until they may go on.
            Op::Wait { .. } => return self.wait(loaded, me, thread),
            Op::Arrive { barrier } => {
                self.arrive(loaded, me, thread, *barrier);
                return Ok(());
            }
            // This one jumps.
            Op::Receive { .. } => return self.receive(loaded, me, thread),
            Op::Signal { .. } | Op::Broadcast { .. } => self.wake(loaded, me, thread, choice),
            Op::ReadContainer { .. } => self.read_container(loaded, me, thread)?,
            Op::ChangeContainer { .. } => self.change_container(loaded, me, thread)?,
            Op::Spawn { .. } => self.spawn(loaded, me, thread)?,
            Op::Join { thread: other } => {
                let other = self.value(me, thread, *other);
                self.record.add(thread.pc, 0, 0, Some(0), &[other]);
            }
            Op::Send { .. } => self.send(loaded, me, thread)?,
            Op::Choose { target, low, high } => {
                let (low, high) = (self.value(me, thread, *low), self.value(me, thread, *high));
                let count = alternatives(loaded, thread.pc, low, high)?;
                // Below `high`, so it fits.
                let chosen = (i64::from(low) + i64::from(choice.min(count - 1))) as i32;
                self.set_local(me, thread.base + target.0, chosen);
                self.record.add(thread.pc, 0, 0, Some(chosen), &[low, high]);
            }
            Op::Yield => self.record.add(thread.pc, 0, 0, Some(0), &[]),
            op => debug_assert!(!op.is_visible(), "{op:?} has no rule"),
        }
        self.threads[me].pc += 1;
        Ok(())
    }

    fn read_modify_write(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let op = loaded.op(thread.pc);
        let (Op::CompareExchange { target, variable, .. }
        | Op::Exchange { target, variable, .. }
        | Op::FetchAdd { target, variable, .. }) = op
        else {
            return Ok(());
        };
        let element = self.element(me, thread, *variable);
        let cell = cell(loaded, *variable, element);
        let old = self.cells[cell];
        let (result, new) = match op {
            Op::CompareExchange { expected, new, .. } => {
                let (expected, new) =
                    (self.value(me, thread, *expected), self.value(me, thread, *new));
                let same = old == expected;
                self.record.add(thread.pc, element, old, Some(i32::from(same)), &[expected, new]);
                (i32::from(same), if same { new } else { old })
            }
            Op::FetchAdd { delta, .. } => {
                let delta = self.value(me, thread, *delta);
                let Some(new) = old.checked_add(delta) else {
                    self.record.add(thread.pc, element, old, None, &[delta]);
                    return Err(sum_overflows(loaded, thread.pc, *variable, element, old, delta));
                };
                self.record.add(thread.pc, element, old, Some(old), &[delta]);
                (old, new)
            }
            Op::Exchange { new, .. } => {
                let new = self.value(me, thread, *new);
                self.record.add(thread.pc, element, old, Some(old), &[new]);
                (old, new)
            }
            _ => (old, old),
        };
        if new != old {
            self.set_cell(cell as u32, new);
        }
        self.set_local(me, thread.base + target.0, result);
        Ok(())
    }

    #[inline]
    pub(super) fn value(&self, me: usize, thread: &Thread, operand: Operand) -> i32 {
        value(operand, &self.stacks[me], thread.base)
    }

    pub(super) fn values(&self, me: usize, thread: &Thread, operands: &[Operand]) -> Vec<i32> {
        operands.iter().map(|&operand| self.value(me, thread, operand)).collect()
    }

    /// Returns which element of its global an object reference means.
    #[inline]
    pub(super) fn element(&self, me: usize, thread: &Thread, object: ObjectRef) -> u32 {
        self.value(me, thread, object.index) as u32
    }
}

/// Returns the cell of an element, whose number is also that of its object. Not for barriers.
#[inline]
pub(super) fn cell(loaded: &Loaded, object: ObjectRef, element: u32) -> usize {
    (loaded.globals[object.global.index()].base + element) as usize
}

/// Returns the index of an element's list, map, readers or waiters.
pub(super) fn content(loaded: &Loaded, object: ObjectRef, element: u32) -> usize {
    (loaded.globals[object.global.index()].content + element) as usize
}

/// More alternatives than this are not a choice but an input: a violation, as the language says.
const MOST_ALTERNATIVES: i64 = 1_000_000;

/// Returns how many values `choose(low..high)` has.
pub(super) fn alternatives(loaded: &Loaded, pc: u32, low: i32, high: i32) -> Result<u32, Failure> {
    let count = i64::from(high) - i64::from(low);
    if count <= 0 {
        let message = format!("`choose({low}..{high})` has nothing to choose from");
        return Err(fault::violation(loaded, pc, ViolationKind::Bounds, message));
    }
    if count > MOST_ALTERNATIVES {
        let message =
            format!("`choose({low}..{high})` has {count} alternatives; 1,000,000 are allowed");
        return Err(fault::violation(loaded, pc, ViolationKind::Resources, message));
    }
    Ok(count as u32)
}

#[cold]
fn sum_overflows(
    loaded: &Loaded,
    pc: u32,
    variable: ObjectRef,
    element: u32,
    old: i32,
    delta: i32,
) -> Failure {
    let name = loaded.name(variable, element as usize);
    let message = format!("`fetch_add({name}, {delta})` overflows 32 bits ({name} = {old})");
    fault::violation(loaded, pc, ViolationKind::Arithmetic, message)
}
