//! Judges a maximal execution.

use selvedge_core::{Ending, Fault, Footprint, Status, Violation, ViolationKind};

use crate::ir::Op;

use super::fault::{self, count};
use super::invisible::Pause;
use super::load::Loaded;
use super::machine::{At, Machine, Phase, Thread};

impl Machine {
    pub(crate) fn end(&mut self, loaded: &Loaded) -> (Ending, Option<Violation>) {
        if self.any(Phase::Failed) {
            return (Ending::Complete, None);
        }
        if self.any(Phase::Assumed) {
            return (Ending::Blocked, None);
        }
        let mut threads: Vec<_> = (0..self.threads.len()).collect();
        threads.retain(|&thread| self.threads[thread].phase != Phase::Absent);
        self.names.sort(&mut threads);
        let waiting: Vec<_> =
            threads.iter().filter_map(|&thread| self.waits_for_ever(loaded, thread)).collect();
        if !waiting.is_empty() {
            return (Ending::Deadlocked, Some(self.deadlock(loaded, &waiting)));
        }
        (Ending::Complete, self.finally(loaded))
    }

    /// Adds reads of what `finally` looks at, if it runs here.
    pub(crate) fn judged(&mut self, loaded: &Loaded, footprint: &mut Footprint) {
        let Some(finally) = loaded.program.finally else { return };
        let waits = |machine: &mut Self| {
            (0..machine.threads.len())
                .any(|thread| machine.waits_for_ever(loaded, thread).is_some())
        };
        if !self.any(Phase::Failed) && !self.any(Phase::Assumed) && !waits(self) {
            self.look(loaded, finally, &[], footprint);
        }
    }

    fn any(&self, phase: Phase) -> bool {
        self.threads.iter().any(|thread| thread.phase == phase)
    }

    fn waits_for_ever(&mut self, loaded: &Loaded, thread: usize) -> Option<Waiting> {
        let is_daemon = match loaded.program.threads.get(thread) {
            Some(thread) => thread.daemon,
            None => {
                let procedure = self.names.threads[thread].procedure;
                loaded.program.procedures[procedure.index()].watches
            }
        };
        let await_pc = self.blocking_await(loaded, thread);
        let waits = await_pc.is_some()
            || matches!(self.quick_status(loaded, thread), Some(Status::Blocked | Status::Parked));
        (waits && !is_daemon).then_some(Waiting { thread, await_pc })
    }

    fn finally(&mut self, loaded: &Loaded) -> Option<Violation> {
        let fault = match self.look(loaded, loaded.program.finally?, &[], &mut Footprint::new()) {
            Pause::Fault(fault) => *fault,
            Pause::Endless => *fault::endless(self.budget),
            _ => return None,
        };
        match fault {
            Fault::Violation(mut violation) => {
                if violation.kind == ViolationKind::Assertion {
                    violation.kind = ViolationKind::Finally;
                }
                Some(violation)
            }
            // The end of an execution has no other way to tell.
            Fault::GaveUp(reason) => Some(Violation {
                kind: ViolationKind::Resources,
                message: format!("`finally` {reason}"),
                places: Vec::new(),
                notes: Vec::new(),
                thread: None,
            }),
        }
    }

    fn deadlock(&self, loaded: &Loaded, waiting: &[Waiting]) -> Violation {
        let message = match waiting {
            [only] => format!("deadlock: {} is blocked", self.thread_name(loaded, only.thread)),
            _ => format!("deadlock: {} are blocked", count(waiting.len(), "thread")),
        };
        let place = |waiting: &Waiting| {
            let pc = waiting.await_pc.unwrap_or(self.threads[waiting.thread].pc);
            loaded.program.place(loaded.site(pc))
        };
        let note = |&Waiting { thread, await_pc }: &Waiting| {
            let waits = self.waits_for(loaded, thread, await_pc);
            format!("{} {waits}", self.thread_name(loaded, thread))
        };
        let mut notes: Vec<_> = waiting.iter().map(note).collect();
        notes.extend(self.cycle(loaded, waiting));
        Violation {
            kind: ViolationKind::Deadlock,
            message,
            places: waiting.iter().map(place).collect(),
            notes,
            thread: None,
        }
    }

    /// Returns what a blocked or parked thread waits for: "waits for m, held by writer". In an atomic
    /// section, `await_pc` is the `await` that is false.
    pub(crate) fn waits_for(&self, loaded: &Loaded, me: usize, await_pc: Option<u32>) -> String {
        let thread = self.waiting_at(me, await_pc);
        let at = At { loaded, me, thread: &thread };
        if let Op::Await { .. } = loaded.op(thread.pc) {
            return format!("waits until `{}`", fault::text(loaded, thread.pc));
        }
        let operation = loaded.op(at.thread.pc).operation();
        operation.map_or_else(|| "waits".to_owned(), |op| op.waits_for(self, at))
    }

    /// Returns a thread that stands where it waits: in an atomic section, at `await_pc`.
    fn waiting_at(&self, me: usize, await_pc: Option<u32>) -> Thread {
        let thread = self.threads[me];
        Thread { pc: await_pc.unwrap_or(thread.pc), ..thread }
    }

    /// "cycle: a → m → b → n → a", if the waits-for relation has a cycle.
    fn cycle(&self, loaded: &Loaded, waiting: &[Waiting]) -> Option<String> {
        for &Waiting { thread: start, .. } in waiting {
            let mut path = vec![start];
            let mut text = self.thread_name(loaded, start);
            let mut at = start;
            let await_pc = |at: usize| waiting.iter().find(|it| it.thread == at)?.await_pc;
            while let Some((lock, next)) = self.waits_for_thread(loaded, at, await_pc(at)) {
                if let Some(lock) = lock {
                    text.push_str(" → ");
                    text.push_str(&lock);
                }
                text.push_str(" → ");
                text.push_str(&self.thread_name(loaded, next));
                if next == start {
                    return Some(format!("cycle: {text}"));
                }
                if path.contains(&next) {
                    break;
                }
                path.push(next);
                at = next;
            }
        }
        None
    }

    /// Returns the thread that must go on before `me` can, and the lock between them.
    fn waits_for_thread(
        &self,
        loaded: &Loaded,
        me: usize,
        await_pc: Option<u32>,
    ) -> Option<(Option<String>, usize)> {
        let thread = self.waiting_at(me, await_pc);
        let at = At { loaded, me, thread: &thread };
        match at.thread.phase {
            Phase::Ready | Phase::Woken => {
                loaded.op(at.thread.pc).operation()?.waits_for_thread(self, at)
            }
            _ => None,
        }
    }

    /// Returns the name of a thread as the user would write it; of a spawned one, after its creator.
    pub(crate) fn thread_name(&self, loaded: &Loaded, thread: usize) -> String {
        let mut parts = Vec::new();
        let mut at = thread;
        while let Some((creator, nth)) = self.names.threads[at].creator {
            let procedure = self.names.threads[at].procedure;
            let name = &loaded.program.procedures[procedure.index()].name;
            parts.push((name, nth + 1));
            at = creator.index();
        }
        let mut full = loaded.program.threads[at].full_name();
        // Of a long line of ancestors the youngest matter.
        if parts.len() > MOST_ANCESTORS {
            full.push_str(&format!("/…{}…", parts.len() - MOST_ANCESTORS));
            parts.truncate(MOST_ANCESTORS);
        }
        for (name, nth) in parts.iter().rev() {
            full.push_str(&format!("/{name}#{nth}"));
        }
        full
    }
}

/// A name shows no more generations than this.
const MOST_ANCESTORS: usize = 6;

/// A blocked thread, and its place if it is at an `await`.
struct Waiting {
    thread: usize,
    await_pc: Option<u32>,
}
