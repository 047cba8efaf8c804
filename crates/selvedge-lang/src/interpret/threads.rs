//! Starts threads, and runs code beside them.

use std::sync::PoisonError;

use selvedge_core::ThreadId;

use crate::ir::ProcedureId;

use super::fault::{self, Failure};
use super::invisible::{self, Pause};
use super::load::Loaded;
use super::machine::{At, Machine, Phase, Thread, restore};

/// More threads than this in one execution are taken for a loop that never stops spawning: a violation, as the
/// language says.
const MOST_THREADS: i32 = 4_096;

impl Machine {
    /// Starts the threads of the beginning. Part of the initial state: not undone.
    pub(crate) fn start_static_threads(&mut self, loaded: &Loaded) {
        for thread in &loaded.program.threads {
            let number = self.add_thread(None, thread.procedure);
            self.threads[number] =
                self.started(loaded, number, thread.procedure, &thread.arguments);
            self.cells[loaded.global_objects as usize] += 1;
        }
    }

    /// Returns a thread that has run to its first visible instruction, or to its end if it has none.
    fn started(
        &mut self,
        loaded: &Loaded,
        number: usize,
        procedure: ProcedureId,
        arguments: &[i32],
    ) -> Thread {
        let entry = loaded.procedures[procedure.index()];
        let at_start =
            Thread { pc: entry.pc, top: entry.frame, phase: Phase::FaultsAtOnce, ..Thread::ABSENT };
        let mut thread = at_start;
        let stack = &mut self.stacks[number];
        if stack.len() < entry.frame as usize {
            stack.resize(entry.frame as usize, 0);
        }
        stack[..arguments.len()].copy_from_slice(arguments);
        let mark = self.local_log.len();
        let mut budget = self.budget;
        let pause =
            invisible::run(loaded, number, &mut thread, stack, &mut self.local_log, &mut budget);
        let phase = match pause {
            Pause::Visible => Phase::Ready,
            Pause::Returned(result) => {
                thread.result = result.unwrap_or(0);
                Phase::Finished
            }
            Pause::Assumed => Phase::Assumed,
            // The fault is shown in a step of its own, which runs this code again.
            Pause::Fault(_) | Pause::Endless | Pause::Blocked | Pause::AtomicEnd => {
                restore(&mut self.stacks[number], &mut self.local_log, mark);
                return at_start;
            }
        };
        // When the spawn is undone, the slots of a thread that does not exist are not read.
        self.local_log.truncate(mark);
        Thread { phase, ..thread }
    }

    /// Returns the number of the thread that is spawned next.
    pub(crate) fn next_child(&mut self, at: At<'_>, procedure: ProcedureId) -> usize {
        let nth = at.thread.spawned;
        if let Some(child) = self.names.child(at.me, nth) {
            return child;
        }
        let child = self.add_thread(Some((ThreadId::new(at.me), nth)), procedure);
        self.names.adopt(at.me, child);
        self.tell_names(at.loaded);
        child
    }

    /// Passes on the names of new threads, if they are wanted.
    #[cold]
    pub(crate) fn tell_names(&self, loaded: &Loaded) {
        if let Some(told) = &self.names.told {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let new = told.len()..self.threads.len();
            told.extend(new.map(|thread| self.thread_name(loaded, thread)));
        }
    }

    /// Returns whether one more thread would be too many.
    pub(crate) fn is_full(&self, loaded: &Loaded) -> bool {
        self.cells[loaded.global_objects as usize] >= MOST_THREADS
    }

    /// Spawns a thread. Returns its number.
    pub(crate) fn start_child(
        &mut self,
        at: At<'_>,
        procedure: ProcedureId,
        arguments: &[i32],
    ) -> usize {
        let child = self.next_child(at, procedure);
        self.names.threads[child].procedure = procedure;
        let counter = at.loaded.global_objects;
        self.set_cell(counter, self.cells[counter as usize] + 1);
        let state = self.started(at.loaded, child, procedure, arguments);
        self.set_other(child, state);
        self.threads[at.me].spawned += 1;
        child
    }

    /// Runs a guard on a stack of its own.
    pub(crate) fn guard_holds(
        &self,
        at: At<'_>,
        guard: ProcedureId,
        arguments: Vec<i32>,
    ) -> Result<bool, Failure> {
        let entry = at.loaded.procedures[guard.index()];
        let mut stack = arguments;
        stack.resize(entry.frame as usize, 0);
        let mut frame =
            Thread { pc: entry.pc, top: entry.frame, phase: Phase::Ready, ..Thread::ABSENT };
        let (mut log, mut budget) = (Vec::new(), self.budget);
        match invisible::run(at.loaded, at.me, &mut frame, &mut stack, &mut log, &mut budget) {
            Pause::Returned(result) => Ok(result == Some(1)),
            Pause::Fault(fault) => Err(fault),
            Pause::Endless => Err(fault::endless(self.budget)),
            Pause::Visible | Pause::AtomicEnd | Pause::Blocked | Pause::Assumed => Ok(false),
        }
    }
}
