//! Checked code as a [`GraphSystem`].

use std::rc::Rc;

use selvedge_core::{
    Answer, Bits, Description, Effect, Ending, Fault, GraphDescribe, GraphSystem, Label, Location,
    ObjectId, ThreadId, ValueChange, Violation,
};

use crate::hooks::Hooks;
use crate::labels::Labels;
use crate::program::Program;
use crate::runtime::{Shared, State, Way};
use crate::switch::resume;
use crate::told::Told;

/// The code under check, answered by an explorer of graphs.
pub struct GraphProgram<W: Hooks> {
    program: Program<W>,
}

impl<W: Hooks> GraphProgram<W> {
    /// `tracing`: whether texts of steps will be asked for.
    pub fn new(shared: Rc<Shared<W>>, tracing: bool) -> Self {
        let mut program = Program::new(shared, tracing);
        program.rt_mut().labels = Some(Box::new(Labels::default()));
        Self { program }
    }

    /// The object at a location.
    pub fn object(&self, at: Location) -> ObjectId {
        let labels = self.program.rt().labels.as_ref();
        labels.expect("internal error: no labels").object(at)
    }

    /// What the last step found in objects, and what it left there.
    pub fn values_of_last(&self) -> Vec<(ObjectId, ValueChange)> {
        self.program.rt().now.last.as_ref().map_or_else(Vec::new, |told| told.values.clone())
    }

    /// The name of an object.
    pub fn object_name(&self, object: ObjectId) -> String {
        self.program.rt().object_name(object)
    }

    /// What the operation of a thread would touch, as without a memory model.
    pub fn effect(&mut self, thread: ThreadId, effect: &mut Effect) {
        let rt = self.program.rt_mut();
        effect.clear();
        let operation = rt.threads[thread.index()].pending;
        // SAFETY: the thread stands at its operation, which is on its stack.
        unsafe { (*operation).effect(rt, thread.index(), 0, effect) };
    }

    /// Returns the violation if the remaining threads wait forever. `None` if one of them may continue.
    pub fn deadlock(&self) -> Option<Violation> {
        let rt = self.program.rt();
        (!rt.someone_may_go_on()).then(|| rt.deadlock())
    }

    /// Returns whether threads that wait could go on, and do in another execution: their time will be up, or they wait for one of
    /// several locations, and another one has changed.
    fn is_covered_elsewhere(&self, last: &dyn Fn(Location) -> Option<Bits>) -> bool {
        let rt = self.program.rt();
        let has_changed = |&(at, value): &(Location, Bits)| last(at).is_some_and(|it| it != value);
        let may_go_round = rt.threads.iter().any(|thread| {
            thread.state == State::Ready && thread.asked.several_changes.iter().any(has_changed)
        });
        may_go_round || rt.someone_may_go_on()
    }

    /// Returns whether a thread exists in this execution.
    pub fn exists(&self, thread: ThreadId) -> bool {
        let thread = self.program.rt().threads.get(thread.index());
        thread.is_some_and(|thread| thread.state != State::Absent)
    }
}

impl<W: Hooks> GraphSystem for GraphProgram<W> {
    fn restart(&mut self) {
        self.program.finish();
        self.program.begin(Way::Announce);
    }

    fn thread_count(&self) -> usize {
        self.program.rt().threads.len()
    }

    fn is_root(&self, thread: ThreadId) -> bool {
        thread.index() == 0
    }

    fn label(&self, thread: ThreadId) -> Label {
        let rt = self.program.rt();
        let Some(it) = rt.threads.get(thread.index()) else { return Label::Ended };
        match it.state {
            State::Failed => Label::Failed,
            // It failed before its first operation.
            State::Ready if it.fault.is_some() => Label::Failed,
            State::Ready if !rt.shared.is_unsteady.get() => it.asked.label,
            State::Absent | State::Ready | State::Parked | State::Finished => Label::Ended,
        }
    }

    fn satisfies(&self, thread: ThreadId, value: Bits) -> bool {
        let satisfies = self.program.rt().threads[thread.index()].asked.satisfies;
        // SAFETY: the thread stands at its operation, and what it asks with is on its stack.
        unsafe { (*satisfies)(value) }
    }

    fn proceed(&mut self, thread: ThreadId, answer: Answer) -> Option<Bits> {
        let number = thread.index();
        let rt = self.program.rt_mut();
        let asked = &mut rt.threads[number].asked;
        asked.answer = Some(answer);
        let updates = matches!(
            asked.label,
            Label::Update { .. } | Label::Await { update: true, .. } | Label::Try { .. }
        );
        let next = asked.next;
        let wrote = match answer {
            // SAFETY: as above.
            Answer::Value(value) if updates => Some(unsafe { (*next)(value) }),
            _ => None,
        };
        let rt = self.program.rt_mut();
        if rt.tracing {
            let operation = rt.threads[number].pending;
            // SAFETY: as above.
            let text = unsafe { (*operation).text(rt, number) };
            rt.now.last = Some(Told::new(text, rt.threads[number].spot));
        }
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.program.raw(), number) };
        W::took_step(self.program.rt_mut(), number);
        wrote
    }

    fn initial(&self, at: Location) -> Bits {
        let labels = self.program.rt().labels.as_ref();
        labels.map_or(0, |labels| labels.initial(at))
    }

    fn fault(&self, thread: ThreadId) -> Option<Fault> {
        self.program.rt().threads[thread.index()].fault.clone()
    }

    selvedge_core::without! { rewind_of_threads }

    fn has_memory(&self) -> bool {
        true
    }

    fn would_write(&self, thread: ThreadId, value: Bits) -> Option<Bits> {
        let next = self.program.rt().threads[thread.index()].asked.next;
        // SAFETY: the thread stands at its operation, and what it asks with is on its stack.
        Some(unsafe { (*next)(value) })
    }

    fn is_newest(&mut self, thread: ThreadId, newest: bool) {
        self.program.rt_mut().threads[thread.index()].asked.newest = newest;
    }

    fn memory_of(&self, at: Location) -> Location {
        self.program.rt().labels.as_ref().map_or(at, |labels| labels.memory_of(at))
    }

    fn judge(
        &mut self,
        last: &dyn Fn(Location) -> Option<Bits>,
    ) -> Option<(Ending, Option<Violation>)> {
        let threads = self.thread_count();
        let ended = (0..threads).all(|nth| self.label(ThreadId::new(nth)) == Label::Ended);
        if !ended && self.is_covered_elsewhere(last) {
            return Some((Ending::Blocked, None));
        }
        // SAFETY: the runtime is alive, and no reference into it is held.
        ended.then(|| (Ending::Complete, unsafe { W::ends(self.program.raw()) }))
    }
}

/// The texts of steps are there if it was made with `tracing`.
impl<W: Hooks> GraphDescribe for GraphProgram<W> {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.program.rt().thread_name(thread.index())
    }

    fn location_name(&self, at: Location) -> String {
        self.object_name(self.object(at))
    }

    fn is_variable(&self, _: Location) -> bool {
        true
    }

    // Bits do not tell whether they are a number, and of which type: texts of steps have the values.
    fn value_text(&self, _: Location, _: Bits) -> Option<String> {
        None
    }

    fn describe_last(&self) -> Description {
        Told::description(self.program.rt().now.last.as_ref())
    }

    fn describe_pending(&mut self, thread: ThreadId) -> Description {
        self.program.rt().describe_pending(thread.index())
    }
}
