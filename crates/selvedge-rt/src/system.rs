//! Checked code as a [`System`].

use selvedge_core::{
    Ahead, Conditions, Describe, Description, Effect, Ending, Fault, Footprint, Foresight, Freed,
    Judging, Mode, ObjectId, ObjectKey, Promises, States, Status, Step, System, ThreadId,
    ThreadKey, ValueChange, Values, Violation, obstacles_by_footprint,
};

use crate::hooks::Hooks;
use crate::program::Program;
use crate::runtime::{Runtime, State, Way};
use crate::switch::resume;
use crate::told::Told;

impl<W: Hooks> Program<W> {
    /// What a step would do now. Returns whether it can run.
    #[inline(always)]
    fn announced(&mut self, step: Step, effect: &mut Effect) -> bool {
        let number = step.thread.index();
        let rt = self.rt_mut();
        effect.clear();
        let operation = rt.threads[number].pending;
        let is_enabled = rt.is_enabled(number);
        // SAFETY: the thread stands at its operation, which is on its stack.
        unsafe { (*operation).effect(rt, number, step.choice, effect) };
        if is_enabled {
            effect.choices = rt.choices(number);
        }
        add_begin(rt, number, effect);
        is_enabled
    }

    /// Notes that a step comes next, and what it does. False if it cannot.
    #[inline(always)]
    fn prepare(&mut self, step: Step, effect: &mut Effect) -> bool {
        let number = step.thread.index();
        let is_enabled = self.announced(step, effect);
        let rt = self.rt_mut();
        if !is_enabled {
            rt.note_unsteady(format!(
                "{} could run before, and cannot now",
                rt.thread_name(number)
            ));
            return false;
        }
        rt.take(number, step.choice);
        if rt.tracing {
            let operation = rt.threads[number].pending;
            // SAFETY: the thread stands at its operation, which is on its stack.
            let text = unsafe { (*operation).text(rt, number) };
            rt.now.last = Some(Told::new(text, rt.threads[number].spot));
        }
        true
    }

    /// Takes the pending step of a thread. Returns the fault that it shows.
    #[inline(always)]
    fn run(&mut self, number: usize) -> Option<Fault> {
        self.steps += 1;
        let thread = &mut self.rt_mut().threads[number];
        if thread.fault.is_some() {
            // It failed before its first step.
            thread.state = State::Failed;
        } else {
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.raw(), number) };
        }
        let rt = self.rt_mut();
        W::took_step(rt, number);
        let thread = &mut rt.threads[number];
        if thread.state == State::Failed { thread.fault.take() } else { None }
    }
}

impl<W: Hooks> System for Program<W> {
    fn restart(&mut self) {
        self.finish();
        let rt = self.rt_mut();
        rt.log.clear();
        rt.scripted = 0;
        self.begin(Way::Announce);
        self.decide();
    }

    fn rewind(&mut self, kept: &[Step]) {
        if !self.started || kept.len() != self.steps {
            self.replay(kept);
            self.decide();
        }
    }

    fn thread_count(&self) -> usize {
        self.rt().threads.len()
    }

    fn thread_key(&self, thread: ThreadId) -> ThreadKey {
        self.rt().names.thread_key(thread.index())
    }

    fn object_key(&self, object: ObjectId) -> ObjectKey {
        self.rt().names.object_key(object)
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> Status {
        let rt = self.rt();
        let Some(it) = rt.threads.get(thread.index()) else { return Status::Absent };
        match it.state {
            State::Absent => Status::Absent,
            State::Ready if rt.shared.is_unsteady.get() => Status::Finished,
            State::Ready if rt.can_run(it, thread.index()) => Status::Enabled,
            State::Ready => Status::Blocked,
            State::Parked => Status::Parked,
            State::Finished => Status::Finished,
            State::Failed => Status::Failed,
        }
    }

    #[inline]
    fn choices(&self, thread: ThreadId) -> u32 {
        self.rt().choices(thread.index())
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        self.announced(step, effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        if self.prepare(step, effect) {
            effect.fault = self.run(step.thread.index());
            self.decide();
        }
    }

    fn obstacles(&mut self, thread: ThreadId, objects: &mut Vec<ObjectId>) {
        obstacles_by_footprint(self, thread, objects);
    }

    fn freed(&self) -> &[Freed] {
        W::freed(self.rt())
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        self.repeat_once();
        let rt = self.rt_mut();
        let any = |state: State| rt.threads.iter().any(|thread| thread.state == state);
        if any(State::Failed) || rt.shared.is_unsteady.get() {
            return (Ending::Complete, None);
        }
        if any(State::Ready) || any(State::Parked) {
            if rt.someone_may_go_on() {
                return (Ending::Blocked, None);
            }
            return (Ending::Deadlocked, Some(rt.deadlock()));
        }
        // SAFETY: the runtime is alive, and no reference into it is held.
        (Ending::Complete, unsafe { W::ends(self.raw()) })
    }

    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(self)
    }

    fn values(&self) -> Option<&dyn Values> {
        Some(self)
    }

    fn judging(&mut self) -> Option<&mut dyn Judging> {
        Some(self)
    }

    fn foresight(&mut self) -> Option<&mut dyn Foresight> {
        None
    }

    fn conditions(&mut self) -> Option<&mut dyn Conditions> {
        None
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        None
    }

    fn promises(&mut self) -> Option<&mut dyn Promises> {
        None
    }
}

impl<W: Hooks> Ahead for Program<W> {
    fn step_on(&mut self, step: Step, most: usize, effects: &mut Vec<Effect>) -> usize {
        if effects.len() < most {
            effects.resize_with(most, Effect::default);
        }
        if !self.prepare(step, &mut effects[0]) {
            return 1;
        }
        let rt = self.rt_mut();
        // After each turn of a loop something is to be decided, and texts are asked for step by step.
        let is_alone = rt.tracing || rt.shared.learned.spins.get();
        rt.ahead.allow(step.thread.index(), if is_alone { 1 } else { most }, effects);
        let fault = self.run(step.thread.index());
        let taken = self.rt_mut().ahead.finish(effects);
        self.steps += taken - 1;
        effects[taken - 1].fault = fault;
        self.decide();
        taken
    }
}

impl<W: Hooks> Values for Program<W> {
    fn instead(&self, object: ObjectId, earlier: usize, later: usize) -> Option<Mode> {
        if self.rt().shared.is_unsteady.get() {
            // Nothing runs any more: to try it out would show something else.
            return None;
        }
        let log = &self.rt().log;
        let (of_earlier, before) = log.get(earlier)?.found?;
        let (of_later, then) = log.get(later)?.found?;
        (of_earlier == object && of_later == object).then(|| then.instead(before))?
    }
}

impl<W: Hooks> Judging for Program<W> {
    /// The end looks at no variable: which threads wait, and what was never given back, follows from the steps
    /// that each thread took.
    fn judged(&mut self, _: &mut Footprint) {}
}

#[inline]
fn add_begin<W: Hooks>(rt: &Runtime<W>, number: usize, effect: &mut Effect) {
    let thread = &rt.threads[number];
    if number != 0 && !thread.begun {
        effect.footprint.add(rt.known[number].wake, Mode::Begin);
    }
}

impl<W: Hooks> Describe for Program<W> {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.rt().thread_name(thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.rt().object_name(object)
    }

    /// Values lie in the memory of the checked code: only operations know their types, and say what they found.
    fn value(&self, _: ObjectId) -> Option<String> {
        None
    }

    fn values_of_last(&self) -> Vec<(ObjectId, ValueChange)> {
        self.rt().now.last.as_ref().map_or_else(Vec::new, |told| told.values.clone())
    }

    fn describe_last(&self) -> Description {
        Told::description(self.rt().now.last.as_ref())
    }

    fn describe_pending(&self, thread: ThreadId) -> Description {
        self.rt().describe_pending(thread.index())
    }
}
