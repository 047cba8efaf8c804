//! A compiled program as a [`System`].

use std::cell::UnsafeCell;
use std::rc::Rc;

use selvedge_core::{
    Ahead, Conditions, Describe, Description, Effect, Ending, Footprint, Foresight, Freed, Judging,
    Mode, ObjectId, Status, Step, System, ThreadId, ValueChange, Values, Violation,
    obstacles_by_footprint, without,
};

use crate::machine::{Machine, Shared, State};
use crate::perform::Then;
use crate::worker;

/// A program that was loaded, driven one visible operation at a time. There may be several at a time, which take turns.
pub struct Program {
    machine: UnsafeCell<Box<Machine>>,
}

impl Program {
    pub(crate) fn new(shared: Rc<Shared>, is_tracing: bool) -> Self {
        Self { machine: UnsafeCell::new(Machine::new(shared, is_tracing)) }
    }

    /// Returns the machine, with its execution in memory.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "asking may have to run the steps again first")]
    fn machine(&self) -> &mut Machine {
        // SAFETY: a program belongs to one thread of the system, its code does not run now, and no method holds a
        // reference while it calls another.
        let machine = unsafe { &mut *self.machine.get() };
        if !machine.owns_memory() && !machine.is_over() {
            machine.run_again();
        }
        machine
    }

    /// Returns what the program wrote so far, if texts are asked for.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.machine().output).into_owned()
    }
}

impl Machine {
    /// Takes the steps of this execution again: another machine had the memory.
    #[cold]
    fn run_again(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        if !self.is_started {
            return;
        }
        self.follow(&steps);
        self.decide();
    }

    /// Takes these steps from the beginning.
    pub(crate) fn follow(&mut self, steps: &[Step]) {
        self.begin();
        for &step in steps {
            if self.is_over() {
                return;
            }
            self.take(step, None);
        }
    }

    /// Takes the pending step of a thread.
    fn take(&mut self, step: Step, effect: Option<&mut Effect>) {
        let me = step.thread.index();
        if self.is_over() {
            // The search begins again, and does not look at what it found.
            return;
        }
        if self.threads[me].state != State::Ready || !self.is_enabled(me) {
            let name = self.thread_name(me);
            self.note_unsteady(format!("{name} could run before, and cannot now"));
            return;
        }
        let (op, pc) = (self.threads[me].op, self.threads[me].pc);
        self.note_place(step, pc);
        let before = self.is_tracing.then(|| {
            let text = self.op_text(me);
            format!("{text}{}", self.found_text(me, step.choice))
        });
        self.note_turn(me);
        self.note_seen(me, step.choice);
        match self.perform(me, step.choice) {
            Ok(Then::GoesOn(result)) => {
                self.learns(me, result);
                self.threads[me].result = result;
                self.resume(me);
            }
            Ok(Then::Stands) => {}
            Err(fault) => self.fail(me, fault),
        }
        self.last = before.map(|text| (format!("{text}{}", self.left_text(op)), pc));
        let fault = self.take_fault(me);
        if let Some(effect) = effect {
            effect.fault = fault;
        }
    }

    /// Returns whether a search that is free to choose lets a thread take its next step.
    fn goes_on(&self, me: usize) -> bool {
        let can_run =
            |number: usize| self.threads[number].state == State::Ready && self.is_enabled(number);
        !self.is_over() && can_run(me) && self.choices(me) == 1 && !(0..me).any(can_run)
    }

    /// Notes where a step is: the same steps must be at the same places.
    fn note_place(&mut self, step: Step, pc: usize) {
        let at = self.steps.len();
        self.steps.push(step);
        worker::record(at, step);
        match self.log.get(at) {
            Some(&(known, place)) if known == step => {
                if place != pc {
                    let (then, now) = (self.place_text(place), self.place_text(pc));
                    let name = self.thread_name(step.thread.index());
                    self.note_unsteady(format!(
                        "step {} of the same schedule was at {then}, and now {name} is at {now}",
                        at + 1
                    ));
                }
            }
            _ => {
                self.log.truncate(at);
                self.log.push((step, pc));
            }
        }
    }

    fn place_text(&self, pc: usize) -> String {
        self.place(pc).map_or_else(|| "the end of a thread".to_owned(), |place| place.to_string())
    }
}

impl System for Program {
    // Numbers of threads and objects are those of one process, in which the whole search is.
    without! { thread_key object_key states promises }

    fn restart(&mut self) {
        // SAFETY: the borrow is exclusive.
        let machine = unsafe { &mut *self.machine.get() };
        machine.begin();
        machine.decide();
    }

    fn rewind(&mut self, kept: &[Step]) {
        // SAFETY: the borrow is exclusive.
        let machine = unsafe { &mut *self.machine.get() };
        if machine.is_over()
            || (machine.owns_memory() && machine.is_started && kept.len() == machine.steps.len())
        {
            return;
        }
        machine.follow(kept);
        machine.decide();
    }

    fn thread_count(&self) -> usize {
        self.machine().threads.len()
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> Status {
        let machine = self.machine();
        let Some(it) = machine.threads.get(thread.index()) else { return Status::Absent };
        match it.state {
            State::Absent => Status::Absent,
            State::Ready if machine.is_over() => Status::Finished,
            State::Ready if machine.is_enabled(thread.index()) => Status::Enabled,
            State::Ready => Status::Blocked,
            State::Parked => Status::Parked,
            State::Finished | State::Exited => Status::Finished,
            State::Assumed => Status::Assumed,
            State::Failed => Status::Failed,
        }
    }

    fn choices(&self, thread: ThreadId) -> u32 {
        self.machine().choices(thread.index())
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        self.machine().effect(step.thread.index(), step.choice, effect);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        let machine = self.machine();
        machine.effect(step.thread.index(), step.choice, effect);
        machine.take(step, Some(effect));
        machine.decide();
    }

    fn obstacles(&mut self, thread: ThreadId, objects: &mut Vec<ObjectId>) {
        obstacles_by_footprint(self, thread, objects);
    }

    fn freed(&self) -> &[Freed] {
        &[]
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let machine = self.machine();
        let any = |state: State| machine.threads.iter().any(|thread| thread.state == state);
        if any(State::Failed) || machine.is_over() {
            return (Ending::Complete, None);
        }
        if any(State::Assumed) {
            return (Ending::Blocked, None);
        }
        if machine.has_exited || (!any(State::Ready) && !any(State::Parked)) {
            let looks = machine.shared.leaks.get();
            return (Ending::Complete, looks.then(|| machine.leak()).flatten());
        }
        // Time alone would end the wait: the execution in which it does covers this one.
        let is_timed = machine.threads.iter().any(|thread| match thread.state {
            State::Ready => thread.op.is_timed(),
            State::Parked => thread.waits_on.is_some_and(|(_, timed)| timed),
            _ => false,
        });
        match is_timed {
            true => (Ending::Blocked, None),
            false => (Ending::Deadlocked, Some(machine.deadlock())),
        }
    }

    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        Some(self)
    }

    fn values(&self) -> Option<&dyn Values> {
        None
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
}

impl Ahead for Program {
    fn step_on(&mut self, step: Step, most: usize, effects: &mut Vec<Effect>) -> usize {
        if effects.len() < most {
            effects.resize_with(most, Effect::default);
        }
        let (machine, me) = (self.machine(), step.thread.index());
        machine.effect(me, step.choice, &mut effects[0]);
        machine.take(step, Some(&mut effects[0]));
        machine.decide();
        let mut taken = 1;
        // Texts are asked for step by step.
        while taken < most
            && !machine.is_tracing
            && effects[taken - 1].fault.is_none()
            && machine.goes_on(me)
        {
            machine.effect(me, 0, &mut effects[taken]);
            machine.take(Step::of(step.thread), Some(&mut effects[taken]));
            machine.decide();
            taken += 1;
        }
        taken
    }
}

impl Judging for Program {
    /// Which threads wait follows from the steps that each took. What memory points to is looked at if leaks are asked for.
    fn judged(&mut self, footprint: &mut Footprint) {
        let machine = self.machine();
        if machine.shared.leaks.get() {
            let objects = machine.shared.objects.borrow();
            objects.cells_so_far().for_each(|cell| footprint.add(cell, Mode::Read));
        }
    }
}

impl Describe for Program {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.machine().thread_name(thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.machine().object_name(object)
    }

    fn value(&self, object: ObjectId) -> Option<String> {
        self.machine().object_value(object)
    }

    fn values_of_last(&self) -> Vec<(ObjectId, ValueChange)> {
        Vec::new()
    }

    fn describe_last(&self) -> Description {
        let machine = self.machine();
        match &machine.last {
            Some((text, pc)) => Description { text: text.clone(), place: machine.place(*pc) },
            None => Description { text: String::new(), place: None },
        }
    }

    fn describe_pending(&self, thread: ThreadId) -> Description {
        self.machine().describe_pending(thread.index())
    }
}
