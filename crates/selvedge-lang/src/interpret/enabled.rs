//! Whether a step can be taken, and with how many alternatives.

use selvedge_core::Status;

use crate::ir::Op;

use super::execute::alternatives;
use super::load::Loaded;
use super::locks::{Hold, barrier_cells};
use super::machine::{FREE, Machine, Phase, Thread, held_by};
use super::messages::Found;

impl Machine {
    /// Returns what a thread can do now; `None` if only a try can tell.
    #[inline]
    pub(super) fn quick_status(&self, loaded: &Loaded, me: usize) -> Option<Status> {
        let thread = &self.threads[me];
        let can_run = match thread.phase {
            Phase::Ready => match loaded.op(thread.pc) {
                Op::Read { .. } | Op::Write { .. } => true,
                Op::AtomicBegin { .. } if loaded.foresight[thread.pc as usize].may_await => {
                    return None;
                }
                _ => self.can_run(loaded, me, thread),
            },
            Phase::Absent => return Some(Status::Absent),
            Phase::FaultsAtOnce => true,
            Phase::Parked => return Some(Status::Parked),
            Phase::Woken => match loaded.op(thread.pc) {
                Op::Wait { mutex, .. } => {
                    self.cells[self.cell_of(loaded, me, thread, *mutex)] == FREE
                }
                _ => false,
            },
            Phase::Passing => match loaded.op(thread.pc) {
                Op::Arrive { barrier } => {
                    let cells = barrier_cells(loaded, *barrier, self.element(me, thread, *barrier));
                    self.cells[cells.generation as usize] != thread.generation
                }
                _ => false,
            },
            Phase::Finished => return Some(Status::Finished),
            Phase::Assumed => return Some(Status::Assumed),
            Phase::Failed => return Some(Status::Failed),
        };
        Some(if can_run { Status::Enabled } else { Status::Blocked })
    }

    fn can_run(&self, loaded: &Loaded, me: usize, thread: &Thread) -> bool {
        match loaded.op(thread.pc) {
            Op::Lock { mutex } => {
                let owner = self.cells[self.cell_of(loaded, me, thread, *mutex)];
                owner == FREE || owner == held_by(me)
            }
            Op::ReadLock { rwlock } | Op::WriteLock { rwlock } => {
                let cell = self.cell_of(loaded, me, thread, *rwlock);
                let readers = self.content_of(loaded, me, thread, *rwlock);
                let (readable, writable) = self.takeable(cell, readers, me);
                let takeable = match loaded.op(thread.pc) {
                    Op::ReadLock { .. } => readable,
                    _ => writable,
                };
                // Taking it twice is a misuse that shows at once.
                takeable || self.hold_of(cell, readers, me) != Hold::Nothing
            }
            Op::Down { semaphore } => self.cells[self.cell_of(loaded, me, thread, *semaphore)] > 0,
            Op::Join { thread: other } => {
                let other = self.value(me, thread, *other) as usize;
                self.threads[other].phase == Phase::Finished
            }
            Op::Receive { after: None, .. } => {
                !matches!(self.find_message(loaded, me, thread), Found::Nothing)
            }
            _ => true,
        }
    }

    /// Returns how many alternatives the pending step has.
    #[inline]
    pub(super) fn choices(&self, loaded: &Loaded, me: usize, thread: &Thread) -> u32 {
        if thread.phase != Phase::Ready {
            return 1;
        }
        match loaded.op(thread.pc) {
            Op::Signal { cond } => {
                self.waiters[self.content_of(loaded, me, thread, *cond)].len().max(1) as u32
            }
            Op::Choose { low, high, .. } => {
                let (low, high) = (self.value(me, thread, *low), self.value(me, thread, *high));
                alternatives(loaded, thread.pc, low, high).unwrap_or(1)
            }
            _ => 1,
        }
    }
}
