//! The way from checked code into the engine: announcing operations, and running them.

use selvedge_core::{Fault, Mode, ObjectId, ValueChange, ViolationKind};

use crate::fiber::ROOM;
use crate::hooks::{AtOnce, Hooks};
use crate::log::Found;
use crate::operation::{Operation, Running, Subject};
use crate::operations::{self, Spin};
use crate::registers;
use crate::runtime::{Call, Runtime, State, Way};
use crate::spin::{Observed, Pause, SPIN_STEP};
use crate::spurious::Whim;
use crate::state::clear_stack_below;
use crate::switch::resume;

/// The engine, entered from checked code: what is allocated now does not belong to that code.
pub struct Engine<W: Hooks> {
    rt: *mut Runtime<W>,
    /// What ran before.
    code: W::Code,
}

impl<W: Hooks> Drop for Engine<W> {
    #[inline]
    fn drop(&mut self) {
        let is_aside = self.rt().now.way == Way::Aside;
        if is_aside {
            clear_stack_below();
        }
        W::left(self.rt());
        W::switch(self.code);
        if is_aside {
            registers::clear();
        }
    }
}

impl<W: Hooks> Engine<W> {
    /// # Panics
    /// Outside of a check.
    #[inline]
    #[track_caller]
    pub fn enter() -> Self {
        match Self::try_enter() {
            Some(engine) => engine,
            None => W::outside(),
        }
    }

    /// `None` outside of a check.
    #[inline]
    #[track_caller]
    pub fn try_enter() -> Option<Self> {
        let rt = W::running();
        if rt.is_null() {
            W::stranger();
            return None;
        }
        // SAFETY: the runtime is alive while its code runs.
        keep_room(unsafe { &*rt });
        // SAFETY: as above.
        W::entered(unsafe { &mut *rt });
        Some(Self { rt, code: W::switch(W::engine_code()) })
    }

    /// The runtime. Do not hold the reference while checked code runs.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "one thread of the system runs all of it, one at a time"
    )]
    pub fn rt(&self) -> &mut Runtime<W> {
        // SAFETY: the runtime is alive while its code runs. The scheduler holds no reference while
        // a thread runs, and callers none while they switch.
        unsafe { &mut *self.rt }
    }

    /// The same, to switch with.
    pub fn raw(&self) -> *mut Runtime<W> {
        self.rt
    }

    /// The number of the running thread.
    #[inline]
    pub fn me(&self) -> usize {
        self.rt().now.current
    }

    /// Announces an operation and comes back when it is chosen: the caller then performs it. Returns
    /// the alternative to take.
    #[inline]
    pub fn visible(&self, operation: &impl Operation<Runtime<W>>, spot: W::Spot) -> u32 {
        let rt = self.rt();
        let me = rt.now.current;
        let about = W::announces(rt);
        if rt.now.way == Way::Aside {
            return self.visible_aside(operation, about, spot);
        }
        rt.threads[me].operations += 1;
        rt.shared.beat();
        if rt.shared.learned.rwlocks.get() {
            rt.note_lock_order(operation);
        }
        if rt.now.way != Way::Announce {
            return self.at_once(operation, spot);
        }
        rt.threads[me].spot = spot;
        if rt.labels.is_some() {
            self.give_up_unlabelled(operation);
        }
        let choice = self.chosen(operation, spot);
        if let Some(fault) = W::chosen(self.rt(), about, spot) {
            self.stop(fault);
        }
        choice
    }

    /// Comes back when an operation is chosen. Returns the alternative to take.
    #[inline]
    fn chosen(&self, operation: &impl Operation<Runtime<W>>, spot: W::Spot) -> u32 {
        let rt = self.rt();
        let me = rt.now.current;
        // The next step of a script may be this one: then its position need not be announced.
        if let Some(step) = rt.next_of_script()
            && step.thread.index() == me
            && operation.is_enabled(rt, me)
            && rt.take_scripted(me, step.choice, spot)
        {
            return self.taken(step.choice);
        }
        if rt.ahead.is_allowed(me) && rt.goes_on(operation, operation.is_subject_to(), spot) {
            return 0;
        }
        let choice = self.announce(operation, operation.is_subject_to(), spot);
        self.taken(choice)
    }

    #[inline]
    fn taken(&self, choice: u32) -> u32 {
        if choice > 0 {
            let rt = self.rt();
            rt.now.spins.chose(rt.now.current, choice);
        }
        choice
    }

    /// As [`Engine::visible`], for a thread that runs aside.
    #[cold]
    fn visible_aside(
        &self,
        operation: &dyn Operation<Runtime<W>>,
        about: W::About,
        spot: W::Spot,
    ) -> u32 {
        let choice = self.call_at(operation, spot, Call::Operation);
        if let Some(fault) = W::chosen(self.rt(), about, spot) {
            self.stop(fault);
        }
        choice
    }

    /// Stands at an operation and asks what to do with it. Returns the alternative to take.
    fn call_at(&self, operation: &dyn Operation<Runtime<W>>, spot: W::Spot, call: Call<W>) -> u32 {
        self.rt().stand_at(operation, Subject::Both, spot);
        self.call(call);
        self.rt().now.choice
    }

    /// Has the scheduler do something; see `aside.rs`.
    #[cold]
    pub(crate) fn call(&self, call: Call<W>) {
        let here = 0_u8;
        let rt = self.rt();
        let thread = &mut rt.threads[rt.now.current];
        (thread.call, thread.stack_end) = (Some(call), &raw const here as usize);
        self.suspend();
    }

    /// Stops the running thread: an explorer of graphs answers its operations, and this one has no label.
    #[cold]
    #[inline(never)]
    fn give_up_unlabelled(&self, operation: &dyn Operation<Runtime<W>>) -> ! {
        let rt = self.rt();
        let text = operation.text(rt, rt.now.current);
        self.give_up_all(format!(
            "`{text}` is not supported under a memory model yet: \
             `sequentially_consistent(true)` checks this code without one"
        ))
    }

    /// The running thread performed an operation on an object: what it came to know, or left.
    #[inline]
    pub fn observed(&self, object: ObjectId, what: Observed) {
        let rt = self.rt();
        if rt.shared.learned.watches.get() {
            match rt.now.way {
                Way::Aside => self.call(Call::Observed(object, what)),
                Way::Announce | Way::Drain | Way::Close => rt.note_observed(object, what),
            }
        }
    }

    /// The end of a turn of a loop: the thread continues when something that it read in the turn has changed.
    pub fn pause(&self, verb: &'static str, spot: W::Spot) {
        let rt = self.rt();
        let me = rt.now.current;
        if rt.now.way == Way::Aside {
            self.call_at(&Spin { verb }, spot, Call::Pause(spot));
            return;
        }
        let learned = &rt.shared.learned;
        if !learned.spins.get() {
            // What was read so far is not known: again, from the start. Nothing is learned during teardown.
            if rt.now.way == Way::Announce {
                learned.spins.set(true);
                learned.watches.set(true);
                rt.learn();
            }
            return;
        }
        rt.threads[me].looks.clear();
        match rt.pause(spot) {
            Pause::GoesOn => return,
            Pause::Endless => self.give_up(rt.endless(spot)),
            Pause::Stands | Pause::Assumed => {}
        }
        self.visible(&Spin { verb }, spot);
        self.note_pause();
        self.rt().now.spins.go_on(me);
    }

    /// The running step is the end of a turn, and nothing else.
    fn note_pause(&self) {
        let rt = self.rt();
        let last = rt.threads[rt.now.current].last_step.filter(|_| rt.now.way == Way::Announce);
        if let Some(step) = last.and_then(|last| rt.log.get_mut(last)) {
            step.spins = true;
        }
        self.note(|_| SPIN_STEP.to_owned());
    }

    /// The running thread comes to an operation that may end spuriously. Returns whether it does.
    #[inline]
    pub fn ends_without_reason(&self, verb: &'static str, spot: W::Spot) -> bool {
        match self.rt().now.way {
            Way::Aside => self.call_at(&Whim { verb }, spot, Call::Whim(spot)) == 1,
            Way::Announce => self.chooses_whim(verb, spot),
            Way::Drain | Way::Close => false,
        }
    }

    fn chooses_whim(&self, verb: &'static str, spot: W::Spot) -> bool {
        let rt = self.rt();
        let me = rt.now.current;
        let Some(key) = rt.whim(spot) else { return false };
        rt.threads[me].whim = key;
        let ends = self.visible(&Whim { verb }, spot) == 1;
        let rt = self.rt();
        rt.threads[me].whim = None;
        if ends && rt.now.way == Way::Announce {
            rt.threads[me].whims.push(spot);
        }
        self.note(|_| match ends {
            true => format!("{verb}: ends spuriously"),
            false => format!("{verb}: no spurious ending"),
        });
        ends
    }

    /// Returns whether the running thread is tried out, so that a write that changes nothing is none.
    pub fn is_tried(&self) -> bool {
        self.rt().now.trial.is_some()
    }

    /// Stands at an operation until it is chosen.
    #[inline(never)]
    fn announce(
        &self,
        operation: &dyn Operation<Runtime<W>>,
        subject: Subject,
        spot: W::Spot,
    ) -> u32 {
        let rt = self.rt();
        rt.stand_at(operation, subject, spot);
        rt.note_next(rt.now.current, spot);
        if !self.lets_others_follow() {
            self.suspend();
        }
        self.rt().now.choice
    }

    /// While a script is followed, lets other threads take their steps from here: that is one switch for each
    /// instead of two. True if it is the running thread's turn again.
    fn lets_others_follow(&self) -> bool {
        loop {
            let rt = self.rt();
            let me = rt.now.current;
            let Some(step) = rt.next_of_script() else { return false };
            let next = step.thread.index();
            // One that let this one follow continues when this one stands still.
            let is_known = rt.threads.get(next).is_some_and(|thread| next == me || !thread.runs);
            if !is_known || W::is_unwinding() || !rt.begin_scripted(next, step.choice) {
                return false;
            }
            if next == me {
                return true;
            }
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, next) };
        }
    }

    /// The thread now waits to be woken; comes back when it runs on with `operation`.
    pub fn park(&self, operation: &dyn Operation<Runtime<W>>, spot: W::Spot) {
        let rt = self.rt();
        let me = rt.now.current;
        let thread = &mut rt.threads[me];
        if rt.now.way == Way::Close || W::is_abandoned(&thread.own) {
            return;
        }
        thread.state = State::Parked;
        rt.stand_at(operation, Subject::Both, spot);
        self.suspend();
    }

    /// Back to the scheduler; returns when this thread is chosen.
    pub(crate) fn suspend(&self) {
        self.switch_away();
        W::resumed(self.rt());
    }

    /// Back to the scheduler; returns when this thread is chosen, or taken down.
    fn switch_away(&self) {
        let rt = self.rt();
        let yielder = rt.threads[rt.now.current].yielder;
        // SAFETY: the runtime is alive, and no reference into it is held. The yielder lives at the bottom of the
        // stack that runs.
        unsafe {
            W::switches(self.rt, || {
                (*yielder).suspend(());
                W::switch(W::engine_code());
            });
        }
    }

    /// Runs an operation without asking, if that is possible.
    #[cold]
    fn at_once(&self, operation: &dyn Operation<Runtime<W>>, spot: W::Spot) -> u32 {
        let rt = self.rt();
        let me = rt.now.current;
        rt.now.drained += 1;
        match W::at_once(rt) {
            AtOnce::AsUsual => {}
            AtOnce::Now => return 0,
            AtOnce::Never => self.stand_still(),
        }
        if rt.now.way == Way::Close {
            return 0;
        }
        if rt.now.way == Way::Drain
            && rt.now.drained > rt.shared.settings.caps.drained
            && !W::is_unwinding()
        {
            // Its destructors may take as many steps again.
            rt.now.drained = 0;
            W::take_down(rt);
        }
        rt.stand_at(operation, Subject::Both, spot);
        if operation.is_enabled(rt, me) {
            rt.threads[me].pending = Running::one();
            return 0;
        }
        self.suspend();
        self.rt().now.choice
    }

    /// Whether what the running operation does is to be put into words.
    #[inline]
    pub fn is_told(&self) -> bool {
        let rt = self.rt();
        rt.tracing
            && rt.now.way == Way::Announce
            && rt.threads[rt.now.current].asked.silent.is_none()
    }

    /// What the running operation did, with values; asked for only in replays.
    #[inline]
    pub fn note(&self, text: impl FnOnce(&Runtime<W>) -> String) {
        if self.is_told() {
            let text = text(self.rt());
            if let Some(last) = &mut self.rt().now.last {
                last.text = text;
            }
        }
    }

    /// What the running step found in an object and what it left there; asked for only in replays.
    #[inline]
    pub fn note_values(&self, object: ObjectId, values: impl FnOnce(&Runtime<W>) -> ValueChange) {
        if self.is_told() {
            let change = values(self.rt());
            if let Some(last) = &mut self.rt().now.last {
                last.note_values(object, change);
            }
        }
    }

    /// How the running step found its object, before it changes it.
    #[inline]
    pub fn found(&self, object: ObjectId, found: Found) {
        let rt = self.rt();
        if rt.now.way == Way::Announce
            && let Some(last) = rt.threads[rt.now.current].last_step
            && let Some(step) = rt.log.get_mut(last)
        {
            // What is compared with it later is of this execution, so that addresses must be, too.
            if let Some(then) = step.found.replace((object, found))
                && then != (object, found)
            {
                rt.note_found(last, then, (object, found));
            }
        }
    }

    /// Stops the running thread: the code is wrong in a way that a panic would not tell.
    #[cold]
    pub fn fail(&self, kind: ViolationKind, message: String, spots: &[W::Spot]) -> ! {
        let rt = self.rt();
        let me = rt.now.current;
        let violation = rt.violation(me, kind, message, spots);
        if rt.now.way == Way::Close {
            W::fail_at_close(violation.message);
        }
        self.stop(Fault::Violation(violation))
    }

    /// Stops the running thread, which stands still with all that it holds until it is taken down.
    #[cold]
    pub(crate) fn stop(&self, fault: Fault) -> ! {
        self.note_fault(fault);
        self.stand_still()
    }

    /// The same where nothing may unwind: comes back when `is_over`.
    #[cold]
    pub fn stop_until(&self, fault: Fault, is_over: impl Fn(&Runtime<W>) -> bool) {
        self.note_fault(fault);
        while !is_over(self.rt()) {
            self.switch_away();
        }
    }

    fn note_fault(&self, fault: Fault) {
        let rt = self.rt();
        let thread = &mut rt.threads[rt.now.current];
        thread.fault = Some(fault);
        thread.state = State::Failed;
    }

    fn stand_still(&self) -> ! {
        loop {
            self.suspend();
        }
    }

    /// Stops the running thread: it is unknown how it continues.
    #[cold]
    pub fn give_up(&self, reason: String) -> ! {
        self.stop(Fault::GaveUp(reason))
    }

    /// The same, and it makes no sense to look at other executions.
    #[cold]
    pub(crate) fn give_up_all(&self, reason: String) -> ! {
        self.rt().note_hopeless(&reason);
        self.give_up(reason)
    }

    /// The code of the running thread came to its end: its last step.
    pub fn end(&self) {
        let me = self.me();
        let spot = self.rt().threads[me].spawned_at;
        if rt_asks(self.rt()) {
            return;
        }
        // The spot is where the thread was spawned, since its end has no place.
        self.visible(&operations::End, spot);
    }

    /// For those who wait in a loop for the end of the running thread.
    pub fn ended(&self) {
        let life = self.rt().known[self.me()].life;
        self.observed(life, Observed::Changed(Mode::Alive));
    }
}

/// Returns whether operations are answered by an explorer of graphs: then the end of a thread is no step.
fn rt_asks<W: Hooks>(rt: &Runtime<W>) -> bool {
    rt.labels.is_some() && rt.now.way == Way::Announce
}

/// Ends the running thread if its stack is about to overflow.
#[inline]
pub fn keep_room<W: Hooks>(rt: &Runtime<W>) {
    let least = rt.now.least_stack;
    if (&raw const least as usize) < least {
        touch_guard(least - ROOM);
    }
}

/// Touches the page below a stack, which shows that it overflows.
#[cold]
fn touch_guard(limit: usize) {
    // SAFETY: the page is mapped, and cannot be read: a signal handler ends the thread.
    unsafe { std::ptr::read_volatile(limit as *const u8) };
}
