//! The way from checked code into the engine: announcing operations, and running them.

use std::panic::{Location, resume_unwind};

use selvedge_core::{Fault, ObjectId, Step, ViolationKind};

use super::alone::End;
use super::arena::{self, Arena};
use super::fiber::{Abort, resume};
use super::operation::{Operation, Running, Spot, Subject};
use super::runtime::{Found, Logged, Runtime, State, Way, running};
use super::stranger;

/// The engine, entered from checked code: what is allocated now does not belong to that code.
pub(crate) struct Engine {
    rt: *mut Runtime,
    arena: *mut Arena,
}

impl Drop for Engine {
    #[inline]
    fn drop(&mut self) {
        arena::switch(self.arena);
    }
}

impl Engine {
    /// # Panics
    /// Outside of a check.
    #[inline]
    #[track_caller]
    pub(crate) fn enter() -> Self {
        match Self::try_enter() {
            Some(engine) => engine,
            None => outside(),
        }
    }

    /// `None` outside of a check.
    #[inline]
    #[track_caller]
    pub(crate) fn try_enter() -> Option<Self> {
        let rt = running();
        if rt.is_null() {
            stranger::note(Location::caller());
            return None;
        }
        keep_room(rt);
        // SAFETY: the runtime is alive while its code runs.
        unsafe { (*rt).touching = [None; 2] };
        Some(Self { rt, arena: arena::switch(std::ptr::null_mut()) })
    }

    /// The runtime. Do not hold the reference while checked code runs.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "one thread of the system runs all of it, by turns")]
    pub(crate) fn rt(&self) -> &mut Runtime {
        // SAFETY: the runtime is alive while its code runs. The scheduler holds no reference while
        // a thread runs, and callers none while they switch.
        unsafe { &mut *self.rt }
    }

    pub(crate) fn raw(&self) -> *mut Runtime {
        self.rt
    }

    /// The number of the running thread.
    #[inline]
    pub(crate) fn me(&self) -> usize {
        self.rt().current
    }

    /// Announces an operation and comes back when it is chosen: the caller then performs it. Gives
    /// the alternative to take.
    #[inline]
    pub(crate) fn visible(&self, operation: &impl Operation, spot: Spot) -> u32 {
        let rt = self.rt();
        let me = rt.current;
        // Others may free what it is about while it stands there.
        let touching = std::mem::take(&mut rt.touching);
        if !rt.threads[me].dropping.is_empty() {
            self.note_visible_drop();
        }
        let thread = &mut rt.threads[me];
        thread.operations += 1;
        rt.shared.pulse.beat();
        if rt.shared.learned.rwlocks.get() {
            self.note_lock_order(operation);
        }
        if rt.way != Way::Announce {
            return self.at_once(operation, spot);
        }
        thread.spot = spot;
        let choice = self.chosen(operation, spot);
        if self.rt().memory.has_freed_objects {
            self.check_alive(touching, spot);
        }
        choice
    }

    /// Comes back when an operation is chosen. Gives the alternative to take.
    #[inline]
    fn chosen(&self, operation: &impl Operation, spot: Spot) -> u32 {
        let rt = self.rt();
        let me = rt.current;
        // The next step of a script may be this one: then nobody needs to know that it stands here.
        if let Some(step) = rt.next_of_script()
            && step.thread.index() == me
            && operation.is_enabled(rt, me)
            && rt.take_scripted(me, step.choice, spot)
        {
            return self.taken(step.choice);
        }
        if rt.ahead.is_allowed(me) && self.goes_on(operation, operation.is_subject_to(), spot) {
            return 0;
        }
        let choice = self.announce(operation, operation.is_subject_to(), spot);
        self.taken(choice)
    }

    #[inline]
    fn taken(&self, choice: u32) -> u32 {
        if choice > 0 {
            self.chose(choice);
        }
        choice
    }

    /// Stands at an operation until it is chosen.
    #[inline(never)]
    fn announce(&self, operation: &dyn Operation, subject: Subject, spot: Spot) -> u32 {
        let rt = self.rt();
        rt.stand_at(operation, subject, spot);
        rt.note_next(rt.current, spot);
        if !self.lets_others_follow() {
            self.suspend();
        }
        self.rt().choice
    }

    /// While a script is followed, lets other threads take their steps from here: that is one switch for each
    /// instead of two. True if it is the running thread's turn again.
    fn lets_others_follow(&self) -> bool {
        loop {
            let rt = self.rt();
            let me = rt.current;
            let Some(step) = rt.next_of_script() else { return false };
            let next = step.thread.index();
            // One that let this one follow goes on when this one stands still.
            let is_known = rt.threads.get(next).is_some_and(|thread| next == me || !thread.runs);
            if !is_known || is_unwinding() || !rt.begin_scripted(next, step.choice) {
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
    pub(crate) fn park(&self, operation: &dyn Operation, spot: Spot) {
        let rt = self.rt();
        let me = rt.current;
        let thread = &mut rt.threads[me];
        if rt.way == Way::Close || thread.aborting {
            return;
        }
        thread.state = State::Parked;
        rt.stand_at(operation, Subject::Both, spot);
        match rt.way {
            Way::Alone => self.end_alone(End::Left),
            _ => self.suspend(),
        }
    }

    /// Back to the scheduler; returns when this thread is chosen.
    pub(super) fn suspend(&self) {
        self.switch_away();
        let rt = self.rt();
        let thread = &rt.threads[rt.current];
        if thread.aborting && !thread.allocates && !is_unwinding() {
            self.unwind();
        }
    }

    /// As [`Engine::visible`], in the allocator, through which nothing may unwind: a thread that is taken down
    /// goes on to its next operation.
    pub(super) fn visible_in_allocator(&self, operation: &impl Operation, spot: Spot) -> u32 {
        let me = self.me();
        self.rt().threads[me].allocates = true;
        let choice = self.visible(operation, spot);
        self.rt().threads[me].allocates = false;
        choice
    }

    /// Back to the scheduler; returns when this thread is chosen, or taken down.
    fn switch_away(&self) {
        let rt = self.rt();
        let is_unwinding = is_unwinding();
        rt.unwinding += u32::from(is_unwinding);
        let thread = &mut rt.threads[rt.current];
        thread.unwinding = is_unwinding;
        // SAFETY: the yielder lives at the bottom of the stack that runs.
        unsafe { (*thread.yielder).suspend(()) };
        arena::switch(std::ptr::null_mut());
        let rt = self.rt();
        rt.unwinding -= u32::from(is_unwinding);
    }

    /// Takes down the stack of the running thread.
    fn unwind(&self) -> ! {
        let abort = Box::new(Abort);
        let rt = self.rt();
        rt.threads[rt.current].unwinding = true;
        arena::switch(self.arena);
        resume_unwind(abort)
    }

    /// Runs an operation without asking, if that is possible.
    #[cold]
    fn at_once(&self, operation: &dyn Operation, spot: Spot) -> u32 {
        let rt = self.rt();
        let me = rt.current;
        rt.drained += 1;
        if rt.threads[me].allocates {
            return 0;
        }
        if rt.threads[me].aborting {
            if !is_unwinding() {
                self.unwind();
            }
            // A destructor may wait for something that never comes.
            if rt.drained > rt.shared.caps.drained {
                self.stand_for_ever();
            }
            return 0;
        }
        if rt.way == Way::Close {
            return 0;
        }
        if rt.way == Way::Drain && rt.drained > rt.shared.caps.drained && !is_unwinding() {
            rt.threads[me].aborting = true;
            // Its destructors may take as many steps again.
            rt.drained = 0;
            self.unwind();
        }
        if rt.way == Way::Trial {
            return self.in_trial(operation, spot);
        }
        rt.stand_at(operation, Subject::Both, spot);
        if rt.way == Way::Alone {
            let choice = match operation.choices(rt, me) {
                1 => Some(0),
                _ => operation.left_alone(),
            };
            let choice = choice.filter(|_| operation.is_enabled(rt, me) && self.is_turn());
            if choice.is_none() {
                self.end_alone(End::Left);
            }
            self.rt().threads[me].pending = Running::ONE;
            return self.taken(choice.unwrap_or(0));
        }
        if operation.is_enabled(rt, me) {
            rt.threads[me].pending = Running::ONE;
            return 0;
        }
        self.suspend();
        self.rt().choice
    }

    /// What the running operation did, with values; asked for only in replays.
    #[inline]
    pub(crate) fn note(&self, text: impl FnOnce(&Runtime) -> String) {
        let rt = self.rt();
        if rt.tracing && rt.way == Way::Announce {
            let text = text(rt);
            if let Some(last) = &mut rt.last {
                last.0 = text;
            }
        }
    }

    /// How the running step found its object, before it changes it.
    #[inline]
    pub(crate) fn found(&self, object: ObjectId, found: Found) {
        let rt = self.rt();
        if rt.way == Way::Announce
            && let Some(last) = rt.threads[rt.current].last_step
            && let Some(step) = rt.log.get_mut(last)
        {
            step.found = Some((object, found));
        }
    }

    /// Stops the running thread: the code is wrong in a way that a panic would not tell.
    #[cold]
    pub(crate) fn fail(&self, kind: ViolationKind, message: String, spots: &[Spot]) -> ! {
        let rt = self.rt();
        let me = rt.current;
        let violation = rt.violation(me, kind, message, spots);
        if rt.way == Way::Close {
            let message = violation.message;
            panic!("{message}");
        }
        self.stop(Fault::Violation(violation))
    }

    /// Stops the running thread, which stands still with all that it holds until it is taken down.
    #[cold]
    pub(super) fn stop(&self, fault: Fault) -> ! {
        self.note_fault(fault);
        self.stand_for_ever()
    }

    /// The same in the allocator, through which nothing may unwind: comes back when the thread is taken down,
    /// which then happens at its next operation.
    #[cold]
    pub(super) fn stop_in_allocator(&self, fault: Fault) {
        self.note_fault(fault);
        while !self.rt().threads[self.me()].aborting {
            self.switch_away();
        }
    }

    fn note_fault(&self, fault: Fault) {
        let rt = self.rt();
        let thread = &mut rt.threads[rt.current];
        thread.fault = Some(fault);
        thread.state = State::Failed;
    }

    fn stand_for_ever(&self) -> ! {
        loop {
            self.suspend();
        }
    }

    /// Stops the running thread: nobody can tell how it goes on.
    #[cold]
    pub(crate) fn give_up(&self, reason: String) -> ! {
        self.stop(Fault::GaveUp(reason))
    }

    /// The same, and it makes no sense to look at other executions.
    #[cold]
    pub(super) fn give_up_all(&self, reason: String) -> ! {
        self.rt().note_hopeless(&reason);
        self.give_up(reason)
    }

    /// The running thread asks who it is, or for something of its own: if it takes down an `Arc`, it matters
    /// who does.
    #[inline]
    pub(crate) fn note_self(&self) {
        if self.is_dropping() {
            self.note_visible_drop();
        }
    }

    /// Whether the running thread takes down an `Arc` whose count does not matter so far.
    pub(crate) fn is_dropping(&self) -> bool {
        !self.rt().threads[self.me()].dropping.is_empty()
    }

    /// Dropping the last `Arc` did something visible: from now on its count matters.
    #[cold]
    fn note_visible_drop(&self) {
        crate::sync::arc::note_visible_drop(self.rt());
    }
}

impl Runtime {
    /// The running thread now stands at `operation`.
    fn stand_at(&mut self, operation: &dyn Operation, subject: Subject, spot: Spot) {
        let thread = &mut self.threads[self.current];
        // SAFETY: only the lifetime changes: the operation is looked at only while its thread
        // stands there.
        thread.pending = unsafe {
            std::mem::transmute::<*const dyn Operation, *const dyn Operation>(
                operation as *const dyn Operation,
            )
        };
        thread.subject = subject;
        thread.spot = spot;
    }

    /// The step of the script that comes next.
    #[inline]
    fn next_of_script(&self) -> Option<Step> {
        // SAFETY: the script is valid while it is followed; see `System::rewind`.
        unsafe { &*self.script }.get(self.scripted).copied()
    }

    /// Takes the pending step of a thread, which the script wants next; false if the code does not do
    /// the same as before.
    pub(crate) fn begin_scripted(&mut self, me: usize, choice: u32) -> bool {
        let spot = self.threads[me].spot;
        if !self.is_enabled(me) {
            self.note_difference(me, spot);
            return false;
        }
        self.take_scripted(me, choice, spot)
    }

    /// Takes the step at `spot`, which can run and which the script wants next; false if the code does
    /// not do the same as before.
    #[inline]
    fn take_scripted(&mut self, me: usize, choice: u32, spot: Spot) -> bool {
        match self.log.get(self.scripted) {
            Some(logged) if logged.thread as usize == me && std::ptr::eq(logged.spot, spot) => {}
            Some(_) => {
                self.note_difference(me, spot);
                return false;
            }
            None => self.log.push(Logged::new(me, choice, spot)),
        }
        let thread = &mut self.threads[me];
        thread.begun = true;
        thread.pending = Running::ONE;
        thread.last_step = Some(self.scripted);
        self.scripted += 1;
        self.choice = choice;
        true
    }

    /// A thread takes its next step, which is new.
    #[inline]
    pub(super) fn take(&mut self, me: usize, choice: u32) {
        let thread = &mut self.threads[me];
        thread.begun = true;
        thread.last_step = Some(self.log.len());
        self.log.push(Logged::new(me, choice, thread.spot));
        self.choice = choice;
    }

    /// A thread came to its next operation: after the same steps it must be the same.
    pub(super) fn note_next(&mut self, me: usize, spot: Spot) {
        let last = self.threads[me].last_step;
        if let Some(logged) = last.and_then(|last| self.log.get_mut(last)) {
            match logged.next {
                Some(next) if !std::ptr::eq(next, spot) => self.note_other_next(me, next, spot),
                _ => logged.next = Some(spot),
            }
        }
    }

    #[cold]
    fn note_other_next(&mut self, me: usize, next: Spot, spot: Spot) {
        let name = self.thread_name(me);
        self.note_unsteady(format!(
            "after the same steps {name} was at {next}, and now it is at {spot}"
        ));
    }

    #[cold]
    fn note_difference(&mut self, me: usize, spot: Spot) {
        let then = match self.log.get(self.scripted) {
            Some(logged) => logged.spot.to_string(),
            None => "could go on".to_owned(),
        };
        let name = self.thread_name(me);
        let step = self.scripted + 1;
        self.note_unsteady(format!(
            "step {step} of the same schedule was at {then}, and now {name} is at {spot}"
        ));
        self.script = &raw const *<&[Step]>::default();
    }
}

/// Whether the running thread unwinds. Others may have been stopped while they did, and the system counts
/// all of them as one thread.
#[inline]
pub(crate) fn is_unwinding() -> bool {
    std::thread::panicking() && unwinds_itself()
}

#[cold]
fn unwinds_itself() -> bool {
    let rt = running();
    // SAFETY: the runtime is alive while its code runs.
    rt.is_null() || unsafe { (*rt).unwinding == 0 || (&(*rt).threads)[(*rt).current].unwinding }
}

/// Whether showing a value may take a step. Not when the check is over, and not when a panic is about to
/// be told: whoever is stopped there holds up the panics of all others.
pub(crate) fn may_step_to_show() -> bool {
    Engine::try_enter().is_some() && !std::thread::panicking()
}

/// The engine needs so much of a stack. If there is less left, it overflows before the engine holds
/// anything that others need.
pub(super) const ROOM: usize = 32 << 10;

/// Ends the running thread if its stack is about to overflow.
#[inline]
pub(super) fn keep_room(rt: *mut Runtime) {
    // SAFETY: the runtime is alive while its code runs.
    let least = unsafe { (*rt).least_stack };
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

#[cold]
#[track_caller]
fn outside() -> ! {
    panic!(
        "selvedge: types of `selvedge` work only in code that `selvedge::check` runs; \
         is this thread a `std::thread`, or is the check over?"
    )
}
