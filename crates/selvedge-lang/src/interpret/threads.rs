//! Starting threads.

use selvedge_core::{ThreadId, ViolationKind};

use crate::ir::{Op, ProcedureId};

use super::fault::{self, Failure};
use super::invisible::{self, Pause};
use super::load::Loaded;
use super::machine::{Machine, Phase, Thread, restore};

/// More threads than this in one execution are taken for a loop that never stops spawning: a violation, as the
/// language says.
const MOST_THREADS: i32 = 4_096;

impl Machine {
    /// Starts the threads of the beginning. Part of the initial state: not undone.
    pub(super) fn start_static_threads(&mut self, loaded: &Loaded) {
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
            Pause::Returned(_) => Phase::Finished,
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

    /// Returns the number of the thread that `creator` would spawn next.
    pub(super) fn next_child(
        &mut self,
        creator: usize,
        thread: &Thread,
        procedure: ProcedureId,
    ) -> usize {
        if let Some(child) = self.names.child(creator, thread.spawned) {
            return child;
        }
        let child = self.add_thread(Some((ThreadId::new(creator), thread.spawned)), procedure);
        self.names.adopt(creator, child);
        child
    }

    /// Returns whether one more thread would be too many.
    pub(super) fn is_full(&self, loaded: &Loaded) -> bool {
        self.cells[loaded.global_objects as usize] >= MOST_THREADS
    }

    pub(super) fn spawn(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::Spawn { procedure, arguments, target } = loaded.op(thread.pc) else {
            return Ok(());
        };
        let arguments = self.values(me, thread, arguments);
        self.record.add(thread.pc, 0, 0, Some(0), &arguments);
        if self.is_full(loaded) {
            let message = "too many threads: an execution can have 4,096".to_owned();
            return Err(fault::violation(loaded, thread.pc, ViolationKind::Resources, message));
        }
        let child = self.next_child(me, thread, *procedure);
        self.names.threads[child].procedure = *procedure;
        let count = self.cells[loaded.global_objects as usize];
        self.set_cell(loaded.global_objects, count + 1);
        let state = self.started(loaded, child, *procedure, &arguments);
        self.set_other(child, state);
        self.threads[me].spawned += 1;
        if let Some(target) = target {
            self.set_local(me, thread.base + target.0, child as i32);
        }
        Ok(())
    }
}
