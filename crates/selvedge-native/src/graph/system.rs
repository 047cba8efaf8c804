//! A compiled program as a [`GraphSystem`].

use std::rc::Rc;

use selvedge_core::{
    Answer, Bits, Description, Ending, Fault, GraphDescribe, GraphSystem, Label, Location,
    ThreadId, Violation,
};

use crate::machine::{Machine, Shared, State};
use crate::objects::Object;
use crate::op::Op;

/// A program that was loaded, answered by an explorer of graphs.
pub struct GraphProgram {
    machine: Box<Machine>,
}

impl GraphProgram {
    pub(crate) fn new(shared: Rc<Shared>, is_tracing: bool) -> Self {
        let mut machine = Machine::new(shared, is_tracing);
        machine.locations = Some(Box::default());
        Self { machine }
    }

    /// Returns what the program wrote so far, if texts are asked for.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.machine.output).into_owned()
    }

    fn cell_size(&self, at: Location) -> Option<usize> {
        let object = self.machine.locations.as_ref()?.object(at);
        match self.machine.shared.objects.borrow().get(object) {
            Object::Cell { size, .. } => Some(size),
            _ => None,
        }
    }
}

impl GraphSystem for GraphProgram {
    fn restart(&mut self) {
        self.machine.begin();
    }

    fn thread_count(&self) -> usize {
        self.machine.threads.len()
    }

    fn is_root(&self, thread: ThreadId) -> bool {
        thread.index() == 0
    }

    fn label(&self, thread: ThreadId) -> Label {
        self.machine.label(thread.index())
    }

    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool {
        self.machine.threads[thread.index()].asked.ready.holds(value)
    }

    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits> {
        let (me, machine) = (thread.index(), &mut self.machine);
        let asked = &mut machine.threads[me].asked;
        asked.answer = Some(answer);
        let updates = matches!(
            asked.label,
            Label::Update { .. } | Label::Await { update: true, .. } | Label::Try { .. }
        );
        let wrote = match answer {
            Answer::Value(value) if updates => Some(asked.update.next(value)),
            _ => None,
        };
        if machine.is_tracing {
            let text = machine.answered_text(me, answer);
            machine.last = Some((text, machine.threads[me].pc));
        }
        machine.threads[me].begun = true;
        machine.resume(me);
        wrote
    }

    fn initial(&self, at: Location) -> Bits {
        self.machine.locations.as_ref().map_or(0, |locations| locations.initial(at))
    }

    fn fault(&self, thread: ThreadId) -> Option<Fault> {
        self.machine.threads[thread.index()].fault.clone()
    }

    selvedge_core::without! { rewind_of_threads }

    fn has_memory(&self) -> bool {
        true
    }

    fn would_write(&self, thread: ThreadId, value: Bits) -> Option<Bits> {
        let asked = &self.machine.threads[thread.index()].asked;
        Some(match asked.label {
            Label::Compare { new, .. } => new,
            _ => asked.update.next(value),
        })
    }

    fn is_newest(&mut self, thread: ThreadId, newest: bool) {
        self.machine.threads[thread.index()].asked.newest = newest;
    }

    fn memory_of(&self, at: Location) -> Location {
        self.machine.locations.as_ref().map_or(at, |locations| locations.memory_of(at))
    }

    fn judge(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
    ) -> Option<(Ending, Option<Violation>)> {
        let machine = &self.machine;
        let labels = || (0..machine.threads.len()).map(|thread| machine.label(thread));
        if labels().any(|label| label == Label::Failed) || machine.is_over() {
            return Some((Ending::Complete, None));
        }
        if labels().any(|label| label == Label::Assumed) {
            return Some((Ending::Blocked, None));
        }
        if machine.has_exited || labels().all(|label| label == Label::Ended) {
            let looks = machine.shared.leaks.get();
            return Some((Ending::Complete, looks.then(|| machine.leak()).flatten()));
        }
        let is_timed = |thread: &crate::machine::Thread| {
            thread.state == State::Ready
                && (thread.op.is_timed() || thread.waits_on.is_some_and(|(_, timed)| timed))
        };
        // A loop that waits at one of its reads while another would find something else: there it was chosen to wait as well.
        let goes_on = |thread: &crate::machine::Thread| {
            let looks = thread.asked.looks.iter();
            let waits = matches!(thread.asked.label, Label::Await { .. } | Label::Lock(_));
            let mut changed =
                looks.filter(|look| last(look.at).is_some_and(|now| now != look.value));
            thread.state == State::Ready && waits && changed.next().is_some()
        };
        // One that waits for more mutexes, and has some that another one waits for: it has them only because they are taken
        // one after the other.
        let is_awaited = |at: &Location| labels().any(|label| label == Label::Lock(*at));
        let gives_way = |thread: &crate::machine::Thread| {
            thread.state == State::Ready
                && matches!(thread.op, Op::LockAll { .. })
                && thread.asked.taken.iter().any(is_awaited)
        };
        let is_over = |thread| is_timed(thread) || goes_on(thread) || gives_way(thread);
        Some(match machine.threads.iter().any(is_over) {
            true => (Ending::Blocked, None),
            false => (Ending::Deadlocked, Some(machine.deadlock())),
        })
    }
}

impl GraphDescribe for GraphProgram {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.machine.thread_name(thread.index())
    }

    fn location_name(&self, at: Location) -> String {
        let object = self.machine.locations.as_ref().map(|locations| locations.object(at));
        object.map_or_else(String::new, |object| self.machine.object_name(object))
    }

    fn is_variable(&self, at: Location) -> bool {
        self.cell_size(at).is_some()
    }

    fn value_text(&self, at: Location, value: Bits) -> Option<String> {
        self.machine.bits_text(value, self.cell_size(at)?)
    }

    fn describe_last(&self) -> Description {
        match &self.machine.last {
            Some((text, pc)) => Description { text: text.clone(), place: self.machine.place(*pc) },
            None => Description { text: String::new(), place: None },
        }
    }

    fn describe_pending(&mut self, thread: ThreadId) -> Description {
        self.machine.describe_pending(thread.index())
    }
}

impl Machine {
    /// Returns what the operation of a thread does with this answer.
    fn answered_text(&self, me: usize, answer: Answer) -> String {
        let thread = &self.threads[me];
        let size = match thread.op {
            Op::Access { size, .. } | Op::Compare { size, .. } => size,
            _ => 0,
        };
        let value = |bits| self.bits_text(bits, size).unwrap_or_default();
        match (thread.asked.label, answer) {
            (Label::Access { .. }, _) => self.op_text(me),
            (Label::Load { order, .. } | Label::Await { order, .. }, Answer::Value(read))
                if size > 0 =>
            {
                format!("{} ({order}) → {}", self.op_text(me), value(read))
            }
            (Label::Store { order, value: wrote, .. }, _) if size > 0 => {
                format!("{} ({order}) ← {}", self.op_text(me), value(wrote))
            }
            (Label::Update { order, .. }, Answer::Value(read)) if size > 0 => {
                let new = thread.asked.update.next(read);
                format!("{} ({order}) → {} ← {}", self.op_text(me), value(read), value(new))
            }
            (Label::Compare { success, .. }, Answer::Value(read)) => {
                format!("{} ({success}): finds {}, succeeds", self.op_text(me), value(read))
            }
            (Label::Compare { failure, expected, .. }, Answer::Failed(read)) => {
                let how = if read == expected { "fails spuriously" } else { "fails" };
                format!("{} ({failure}): finds {}, {how}", self.op_text(me), value(read))
            }
            (Label::TryLock(_) | Label::Try { .. }, Answer::Failed(_)) => {
                format!("{}: not possible now", self.op_text(me))
            }
            (Label::Choose(_), Answer::Chosen(choice)) => format!("{}: {choice}", self.op_text(me)),
            _ => self.op_text(me),
        }
    }
}
