//! Checked code as a [`System`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_core::{
    Ahead, Conditions, Describe, Description, Effect, Ending, Fault, Footprint, Foresight, Freed,
    Judging, Mode, ObjectId, Status, Step, System, ThreadId, Values, Violation, ViolationKind,
    obstacles_by_footprint,
};

use super::fiber::{body, resume, start};
use super::runtime::{Runtime, Shared, State, Way, place, set_running};

/// Executions of the whole process. A stamp of 0 means: never used.
static EPOCHS: AtomicU64 = AtomicU64::new(1);

/// The closure under test, driven one visible operation at a time.
pub(crate) struct Program {
    rt: *mut Runtime,
    /// How many steps of this execution were taken.
    steps: usize,
    /// Whether an execution is under way.
    started: bool,
}

impl Program {
    /// `tracing`: whether texts of steps will be asked for.
    pub(crate) fn new(shared: Rc<Shared>, tracing: bool) -> Self {
        super::panics::install();
        super::crash::install();
        super::exit::install();
        Self { rt: Box::into_raw(Runtime::new(shared, tracing)), steps: 0, started: false }
    }

    /// Whether a thread stands at the end of a turn of a spin loop.
    pub(crate) fn ends_turn(&self, thread: ThreadId) -> bool {
        let thread = self.rt().threads.get(thread.index());
        thread.is_some_and(|it| it.state == State::Ready && it.touched.stands.is_some())
    }

    pub(super) fn raw(&self) -> *mut Runtime {
        self.rt
    }

    #[inline]
    pub(super) fn rt(&self) -> &Runtime {
        // SAFETY: the runtime lives as long as this, and no thread of it runs now.
        unsafe { &*self.rt }
    }

    #[inline]
    pub(super) fn rt_mut(&mut self) -> &mut Runtime {
        // SAFETY: as above, and the borrow of `self` is exclusive.
        unsafe { &mut *self.rt }
    }

    /// Runs what is left of an execution to its end, so that nothing it owns is lost.
    fn finish(&mut self) {
        if !self.started {
            return;
        }
        self.started = false;
        let rt = self.rt_mut();
        rt.script = &raw const *<&[Step]>::default();
        if rt.is_broken {
            self.leave_all();
        }
        let is_alive = |rt: &Runtime| rt.threads.iter().any(|thread| thread.fiber.is_some());
        if is_alive(self.rt()) {
            self.drain();
        }
        if is_alive(self.rt()) {
            self.abort();
        }
        // What a thread left that could not be taken down: nobody can drop it any more.
        for thread in &mut self.rt_mut().threads {
            thread.locals.drain(..).for_each(|(_, value)| std::mem::forget(value));
        }
        self.close();
    }

    /// After a crash nothing runs any more: other threads may use what the one that crashed left half done.
    fn leave_all(&mut self) {
        for thread in &mut self.rt_mut().threads {
            if let Some(fiber) = thread.fiber.take() {
                fiber.forget();
            }
        }
        super::panics::forget_uncaught();
    }

    /// Lets the threads that can run do so, one after the other.
    fn drain(&mut self) {
        self.rt_mut().way = Way::Drain;
        loop {
            let rt = self.rt();
            // One that failed before its first step stands at it, but does not go on; nor does one that is
            // taken down, and waits in a destructor.
            let goes_on = |&number: &usize| {
                let thread = &rt.threads[number];
                let is_left = thread.fault.is_some() || thread.aborting;
                thread.fiber.is_some() && !is_left && rt.is_enabled(number)
            };
            let Some(next) = (0..rt.threads.len()).find(goes_on) else { return };
            self.rt_mut().choice = 0;
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, next) };
        }
    }

    /// Takes down the stacks of threads that wait for ever.
    fn abort(&mut self) {
        // Those that were spawned last may use what is on the stacks of the others. One that was not spawned
        // in this execution may be in the next.
        let is_alive = |rt: &Runtime, number: &usize| rt.threads[*number].fiber.is_some();
        let last = |rt: &Runtime| (0..rt.threads.len()).rev().find(|number| is_alive(rt, number));
        while let Some(number) = last(self.rt()) {
            self.rt_mut().drained = 0;
            self.rt_mut().threads[number].aborting = true;
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, number) };
            if let Some(fiber) = self.rt_mut().threads[number].fiber.take() {
                // It came back although it is taken down: leave it alone.
                fiber.forget();
            }
        }
        super::panics::forget_uncaught();
    }

    /// Sets static data back.
    fn close(&mut self) {
        let rt = self.rt_mut();
        rt.way = Way::Close;
        rt.current = 0;
        let resets = std::mem::take(&mut rt.resets);
        let before = set_running(self.rt);
        for reset in resets.into_iter().rev() {
            // A destructor that panics has nobody to tell.
            let _ = catch_unwind(AssertUnwindSafe(|| reset.reset()));
        }
        set_running(before);
    }

    /// Starts again and takes the steps `kept`, which were taken before.
    pub(super) fn replay(&mut self, kept: &[Step]) {
        // The start runs up to the first operation, and as many steps as are its own.
        self.replay_with(kept, kept);
    }

    /// `script`: the steps that threads take by themselves if they come to them.
    pub(super) fn replay_with(&mut self, kept: &[Step], script: &[Step]) {
        self.finish();
        let rt = self.rt_mut();
        rt.log.truncate(kept.len());
        rt.script = &raw const *script;
        rt.scripted = 0;
        self.begin();
        while self.rt().scripted < kept.len() {
            let step = kept[self.rt().scripted];
            let number = step.thread.index();
            if number >= self.rt().threads.len()
                || !self.rt_mut().begin_scripted(number, step.choice)
            {
                break;
            }
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, number) };
        }
        let rt = self.rt_mut();
        // Threads before the step at which it is noticed ran as they do.
        rt.script = &raw const *<&[Step]>::default();
        self.steps = kept.len();
    }

    fn begin(&mut self) {
        let rt = self.rt_mut();
        rt.way = Way::Announce;
        rt.epoch = EPOCHS.fetch_add(1, Ordering::Relaxed);
        rt.names.start(rt.epoch);
        rt.drained = 0;
        rt.current = 0;
        rt.last = None;
        rt.leaks.clear();
        rt.memory.clear();
        rt.touching = [None; 2];
        rt.values.clear();
        rt.changed_at.clear();
        rt.alone = None;
        rt.unwinding = 0;
        rt.created = 0;
        rt.is_broken = false;
        let asks = rt.reuses() || rt.watches_block;
        for thread in &mut rt.threads {
            thread.arena.asks = asks;
            if thread.state != State::Absent {
                thread.state = State::Absent;
                thread.arena.reset();
                thread.touched.clear();
                thread.begun = false;
                thread.spawned = 0;
                thread.aborting = false;
                thread.allocates = false;
                thread.unwinding = false;
                thread.token = false;
                thread.fault = None;
                thread.panic = None;
                thread.panic_before = None;
                thread.locals.clear();
                thread.drops_locals = false;
                thread.is_done = false;
                thread.dropping.clear();
                thread.last_step = None;
                thread.sent = 0;
                thread.operations = 0;
                thread.whims.clear();
                thread.crash = None;
            }
        }
        rt.threads[0].spot = rt.shared.checked_at;
        self.steps = 0;
        self.started = true;
        let program = Rc::clone(&self.rt().shared.program);
        // SAFETY: no reference into the runtime is held.
        unsafe { start(self.rt, 0, body(move || program(), |_| ())) };
        // The first step shows it.
        let main = &mut self.rt_mut().threads[0];
        if main.state == State::Failed {
            main.state = State::Ready;
            main.pending = super::operation::Running::ONE;
        }
    }

    /// What a step would do now. Gives whether it can run.
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
            rt.last = Some((text, rt.threads[number].spot));
        }
        true
    }

    /// Finds out what threads do where they stand, as far as the next steps depend on it.
    #[inline(always)]
    fn decide(&mut self) {
        self.decide_whims();
        self.decide_loops();
        // A thread that left its loop may have come to an operation that may end without reason.
        while self.rt().has_whims {
            self.decide_whims();
            self.decide_loops();
        }
    }

    /// Takes the pending step of a thread. Gives the fault that it shows.
    #[inline(always)]
    fn run(&mut self, number: usize) -> Option<Fault> {
        self.steps += 1;
        let thread = &mut self.rt_mut().threads[number];
        if thread.fault.is_some() {
            // It failed before its first step.
            thread.state = State::Failed;
        } else {
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, number) };
        }
        let rt = self.rt_mut();
        if rt.watches_block {
            rt.watch_step(number);
        }
        let thread = &mut rt.threads[number];
        if thread.state == State::Failed { thread.fault.take() } else { None }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: it came from a box, and nothing runs any more.
        drop(unsafe { Box::from_raw(self.rt) });
    }
}

impl System for Program {
    fn restart(&mut self) {
        self.finish();
        let rt = self.rt_mut();
        rt.log.clear();
        rt.scripted = 0;
        self.begin();
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
        &self.rt().memory.freed
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
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
        let written = rt.written_after_free();
        self.close();
        (Ending::Complete, written.or_else(|| leak(self.rt())))
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
}

impl Ahead for Program {
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

impl Values for Program {
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

impl Judging for Program {
    /// The end looks at no variable: which threads wait, and what was never given back, follows from the steps
    /// that each thread took.
    fn judged(&mut self, _: &mut Footprint) {}
}

#[inline]
fn add_begin(rt: &Runtime, number: usize, effect: &mut Effect) {
    let thread = &rt.threads[number];
    if number != 0 && !thread.begun {
        effect.footprint.add(thread.wake, Mode::Begin);
    }
}

fn leak(rt: &Runtime) -> Option<Violation> {
    if let Some((object, spot)) = rt.leaks.guards().next() {
        let name = rt.object_name(object);
        return Some(Violation {
            kind: ViolationKind::Leak,
            message: format!("{name} is never unlocked: the guard taken here is leaked"),
            places: vec![place(spot)],
            notes: Vec::new(),
            thread: None,
        });
    }
    let left = rt.leaks.left();
    let Some((what, spot)) = left.first() else {
        return rt.shared.block_leaks.then(|| rt.leaked_block()).flatten();
    };
    let more = match left.len() {
        1 => String::new(),
        more => format!(", and {} more", more - 1),
    };
    Some(Violation {
        kind: ViolationKind::Leak,
        message: format!("{what} is never freed{more}"),
        places: left.iter().map(|(_, spot)| place(spot)).take(8).collect(),
        notes: vec![format!(
            "{what} was made at {spot}, and something still refers to it at the end"
        )],
        thread: None,
    })
}

impl Describe for Program {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.rt().thread_name(thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.rt().object_name(object)
    }

    /// Values lie in the memory of the checked code, which knows their types: texts of steps have them.
    fn value(&self, _: ObjectId) -> Option<String> {
        None
    }

    fn describe_last(&self) -> Description {
        match &self.rt().last {
            Some((text, spot)) => Description { text: text.clone(), place: Some(place(spot)) },
            None => Description { text: String::new(), place: None },
        }
    }

    fn describe_pending(&self, thread: ThreadId) -> Description {
        self.rt().describe_pending(thread.index())
    }
}
