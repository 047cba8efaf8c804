//! Takes steps, and tries them.

use selvedge_core::{Effect, Elsewhere, Fault, Flexibility, Footprint, Mode, ObjectId, Status};

use crate::ir::Op;
use crate::ops::{Operation, Then};

use super::awaited::{Receivers, Section, add_reads};
use super::fault::{self, Failure};
use super::ghosts;
use super::invisible::{self, Pause};
use super::load::Loaded;
use super::machine::{At, Machine, Phase, Thread};

impl Machine {
    /// Takes a step that stays.
    #[inline]
    pub(super) fn step(&mut self, loaded: &Loaded, me: usize, choice: u32, effect: &mut Effect) {
        let thread = &self.threads[me];
        self.record.start(thread.pc, thread.phase);
        self.begin_step(me);
        self.perform(loaded, me, choice, effect);
    }

    /// Takes a step and takes it back; if it is blocked, tells the `await` where.
    fn try_step(
        &mut self,
        loaded: &Loaded,
        me: usize,
        choice: u32,
        effect: &mut Effect,
    ) -> Result<(), BlockedAt> {
        self.tentatively(me, |machine| match machine.perform(loaded, me, choice, effect) {
            true => Ok(()),
            false => Err(BlockedAt { pc: machine.threads[me].pc }),
        })
    }

    /// Does something in a step of `me`, and takes it back.
    pub(crate) fn tentatively<T>(&mut self, me: usize, act: impl FnOnce(&mut Self) -> T) -> T {
        let was_on = std::mem::replace(&mut self.record.on, false);
        self.begin_step(me);
        let result = act(self);
        self.undo_step();
        self.record.on = was_on;
        result
    }

    /// Returns the `await` that is false, if `me` stands at an atomic section and is blocked there.
    pub(super) fn blocking_await(&mut self, loaded: &Loaded, me: usize) -> Option<u32> {
        if self.quick_status(loaded, me).is_some() {
            return None;
        }
        self.try_step(loaded, me, 0, &mut Effect::default()).err().map(|blocked| blocked.pc)
    }

    /// Returns the status of a thread at an atomic section that may wait.
    pub(crate) fn tried_status(&mut self, loaded: &Loaded, me: usize) -> Status {
        match self.try_step(loaded, me, 0, &mut Effect::default()) {
            Ok(()) => Status::Enabled,
            Err(_) => Status::Blocked,
        }
    }

    /// What the pending step of a thread would do with alternative `choice`.
    pub(super) fn pending(&mut self, loaded: &Loaded, me: usize, choice: u32, effect: &mut Effect) {
        let thread = self.threads[me];
        let tracks_end = self.tracks_end(loaded, me);
        effect.clear();
        let at = At { loaded, me, thread: &thread };
        let has_ghosts = ghosts::may_follow(loaded, &thread);
        if !tracks_end && !has_ghosts && self.simple_effect(at, effect) {
            loaded.add_checks(&mut effect.footprint);
            return;
        }
        let is_enabled = self.quick_status(loaded, me) == Some(Status::Enabled);
        let may_end = is_enabled && tracks_end && loaded.foresight[thread.pc as usize].may_end;
        if has_ghosts && is_enabled || is_unclear(loaded, &thread, may_end) {
            // If it is blocked, the effect is what it waits with.
            let _ = self.try_step(loaded, me, choice, effect);
            effect.fault = None;
            return;
        }
        self.other_effect(at, choice, effect);
        loaded.add_checks(&mut effect.footprint);
        if !is_enabled {
            effect.elsewhere = Elsewhere::Anything;
        }
        self.add_begin(loaded, me, &thread, &mut effect.footprint);
        if may_end {
            effect.footprint.add(self.names.life(me), Mode::End);
        }
    }

    /// The objects that keep the pending step of a thread, which is blocked, waiting. An atomic section
    /// waits as long as what it read on the way to an `await` that is false stays as it is.
    pub(super) fn obstacles(&mut self, loaded: &Loaded, me: usize, objects: &mut Vec<ObjectId>) {
        let mut effect = Effect::default();
        if self.quick_status(loaded, me).is_some() {
            self.pending(loaded, me, 0, &mut effect);
        } else {
            let mut budget = self.budget;
            self.tentatively(me, |machine| {
                machine.run_section(loaded, me, &mut effect.footprint, &mut budget);
            });
        }
        let own = effect.footprint.accesses().iter().filter(|access| !access.mode.is_cause());
        objects.extend(own.map(|access| access.object));
    }

    /// Adds what decides whether a section of `me` can run, beyond what it did.
    fn add_awaited(&self, section: &Section, me: usize, footprint: &mut Footprint) {
        if !section.objects.is_empty() {
            add_reads(&section.objects, footprint);
        }
        section.ghosts.iter().for_each(|&ghost| footprint.add(ghost, Mode::GhostRead));
        let mut add = |thread: usize| {
            let Some(receiver) = self.threads.get(thread) else { return };
            let life = self.names.life(thread);
            let is_there = footprint.accesses().iter().any(|access| access.object == life);
            // It has not ended itself, and a thread that does not exist cannot be named.
            if thread != me && receiver.phase != Phase::Absent && !is_there {
                footprint.add(life, Mode::Alive);
            }
        };
        match &section.receivers {
            Receivers::Known(threads) => threads.iter().copied().for_each(&mut add),
            Receivers::Any => (0..self.threads.len()).for_each(&mut add),
        }
    }

    /// Performs the pending step of `me`; false if it turns out to be blocked.
    #[inline]
    pub(crate) fn perform(
        &mut self,
        loaded: &Loaded,
        me: usize,
        choice: u32,
        effect: &mut Effect,
    ) -> bool {
        effect.clear();
        // A copy: the thread itself is changed in place, field by field, which is faster than
        // writing all of it back.
        self.threads[me].marked = false;
        let before = self.threads[me];
        let mut budget = self.budget;
        let is_section =
            before.phase == Phase::Ready && matches!(loaded.op(before.pc), Op::AtomicBegin { .. });
        let pause = if is_section {
            effect.flexibility = if loaded.foresight[before.pc as usize].may_await {
                Flexibility::Blocking
            } else {
                Flexibility::Conditional
            };
            effect.order = loaded.foresight[before.pc as usize].order;
            let pause = Some(self.run_section(loaded, me, &mut effect.footprint, &mut budget));
            if let Some(section) = loaded.awaited(before.pc) {
                self.add_awaited(section, me, &mut effect.footprint);
            }
            pause
        } else {
            let at = At { loaded, me, thread: &before };
            if !self.simple_effect(at, effect) {
                self.other_effect(at, choice, effect);
            }
            if self.tracks_end(loaded, me) {
                raise_flexibility(loaded, &before, effect);
            }
            ghosts::make_flexible(loaded, &before, effect);
            self.run_one(at, choice, &mut effect.footprint, &mut budget)
        };
        loaded.add_checks(&mut effect.footprint);
        self.add_begin(loaded, me, &before, &mut effect.footprint);
        self.threads[me].begun = true;
        let broken = self.check_invariants(loaded, &effect.footprint);
        let pause = match pause {
            // A step fails once.
            Some(Pause::Fault(_) | Pause::Endless | Pause::Blocked | Pause::AtomicEnd) => pause,
            other => broken.map(|fault| Pause::Fault(Box::new(fault))).or(other),
        };
        match pause {
            // A thread that waits after its visible operation has a phase that says so.
            Some(Pause::Visible) | None => {
                self.may_end_elsewhere(loaded, me, &before, effect);
                return true;
            }
            Some(Pause::Blocked | Pause::AtomicEnd) => return false,
            Some(Pause::Returned(result)) => {
                self.threads[me].phase = Phase::Finished;
                self.threads[me].result = result.unwrap_or(0);
            }
            Some(Pause::Assumed) => {
                self.threads[me].phase = Phase::Assumed;
                self.may_end_elsewhere(loaded, me, &before, effect);
                return true;
            }
            Some(Pause::Fault(fault)) => self.fail(loaded, me, *fault, effect),
            Some(Pause::Endless) => self.fail(loaded, me, *fault::endless(self.budget), effect),
        }
        if self.tracks_end(loaded, me) {
            effect.footprint.add(self.names.life(me), Mode::End);
        }
        true
    }

    #[cold]
    fn fail(&mut self, loaded: &Loaded, me: usize, fault: Fault, effect: &mut Effect) {
        self.threads[me].phase = Phase::Failed;
        effect.fault = Some(self.attribute(loaded, me, fault));
    }

    /// Returns what a thread can do now; `None` if only a try can tell.
    #[inline]
    pub(super) fn quick_status(&self, loaded: &Loaded, me: usize) -> Option<Status> {
        let thread = &self.threads[me];
        let can_run = match thread.phase {
            Phase::Ready | Phase::Woken | Phase::Passing => match loaded.op(thread.pc) {
                Op::Variable(_) => true,
                Op::AtomicBegin { .. } if loaded.foresight[thread.pc as usize].may_await => {
                    return None;
                }
                op => op.operation().is_none_or(|op| op.can_run(self, At { loaded, me, thread })),
            },
            Phase::Absent => return Some(Status::Absent),
            Phase::FaultsAtOnce => true,
            Phase::Parked => return Some(Status::Parked),
            Phase::Finished => return Some(Status::Finished),
            Phase::Assumed => return Some(Status::Assumed),
            Phase::Failed => return Some(Status::Failed),
        };
        Some(if can_run { Status::Enabled } else { Status::Blocked })
    }

    /// Returns how many alternatives the pending step has.
    #[inline]
    pub(crate) fn choices(&self, at: At<'_>) -> u32 {
        match (at.thread.phase, at.loaded.op(at.thread.pc)) {
            (_, Op::Variable(_)) => 1,
            (Phase::Ready, op) => op.operation().map_or(1, |op| op.choices(self, at)),
            _ => 1,
        }
    }

    /// Records the effect of an operation on a variable that always accesses it in the same way. Returns false if
    /// it is something else.
    #[inline]
    fn simple_effect(&self, at: At<'_>, effect: &mut Effect) -> bool {
        let Op::Variable(op) = at.loaded.op(at.thread.pc) else { return false };
        let Some(mode) = op.fixed_mode() else { return false };
        if at.thread.phase != Phase::Ready {
            return false;
        }
        let variable = op.variable();
        let plain = at.loaded.globals[variable.global.index()].plain;
        effect.order = Some(op.order(plain, true));
        effect.footprint.add(self.object(at, variable), mode);
        effect.elsewhere = Elsewhere::AtMostThis;
        true
    }

    /// The effect of any visible operation that is not an atomic section.
    fn other_effect(&mut self, at: At<'_>, choice: u32, effect: &mut Effect) {
        let operation = at.loaded.op(at.thread.pc).operation();
        let (true, Some(op)) = (at.thread.phase.is_at_operation(), operation) else { return };
        effect.choices = self.choices(at);
        effect.flexibility = op.flexibility(self, at);
        effect.elsewhere = op.elsewhere(self, at);
        effect.order = op.memory_order(self, at);
        op.footprint(self, at, choice, &mut effect.footprint);
    }

    /// Runs one visible operation and the invisible code after it. Returns `None` if it blocks there.
    #[inline]
    fn run_one(
        &mut self,
        at: At<'_>,
        choice: u32,
        footprint: &mut Footprint,
        budget: &mut u64,
    ) -> Option<Pause> {
        match at.thread.phase {
            Phase::Ready | Phase::Woken | Phase::Passing => {
                if let Err(fault) = self.execute(at, choice) {
                    return Some(Pause::Fault(fault));
                }
                if self.threads[at.me].phase != Phase::Ready {
                    return None;
                }
            }
            Phase::FaultsAtOnce => self.threads[at.me].phase = Phase::Ready,
            Phase::Absent | Phase::Parked | Phase::Finished | Phase::Assumed | Phase::Failed => {
                debug_assert!(false, "a step of a thread that cannot take one");
                return None;
            }
        }
        Some(self.run_after(at.loaded, at.me, footprint, budget))
    }

    /// Performs the visible instruction at which a thread stands, and moves past it. A thread that has to wait
    /// afterwards gets another phase and stays where it is.
    #[inline]
    pub(super) fn execute(&mut self, at: At<'_>, choice: u32) -> Result<(), Failure> {
        let then = match at.loaded.op(at.thread.pc) {
            Op::Variable(op) => op.execute(self, at, choice)?,
            op => match op.operation() {
                Some(op) => op.execute(self, at, choice)?,
                None => Then::Next,
            },
        };
        if then == Then::Next {
            self.threads[at.me].pc += 1;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn run_invisible(&mut self, loaded: &Loaded, me: usize, budget: &mut u64) -> Pause {
        let (thread, stack) = (&mut self.threads[me], &mut self.stacks[me]);
        invisible::run(loaded, me, thread, stack, &mut self.local_log, budget)
    }

    /// Runs an atomic section and the invisible code after it.
    fn run_section(
        &mut self,
        loaded: &Loaded,
        me: usize,
        footprint: &mut Footprint,
        budget: &mut u64,
    ) -> Pause {
        let mut open = 0;
        loop {
            match self.run_inside(loaded, me, footprint, budget) {
                Pause::Visible => open += 1,
                Pause::AtomicEnd if open > 1 => open -= 1,
                Pause::AtomicEnd => return self.run_after(loaded, me, footprint, budget),
                pause => return pause,
            }
        }
    }

    /// Runs code as a part of one step, up to a border of an atomic section: past it, whether it begins there
    /// ([`Pause::Visible`]) or ends.
    fn run_inside(
        &mut self,
        loaded: &Loaded,
        me: usize,
        footprint: &mut Footprint,
        budget: &mut u64,
    ) -> Pause {
        loop {
            match self.run_invisible(loaded, me, budget) {
                Pause::Visible => {}
                pause => return pause,
            }
            let thread = self.threads[me];
            let Some(op) = loaded.op(thread.pc).operation() else {
                self.threads[me].pc += 1;
                return Pause::Visible;
            };
            let at = At { loaded, me, thread: &thread };
            op.footprint(self, at, 0, footprint);
            // Of what waits, only what a task awaits stands in a section.
            if matches!(loaded.op(thread.pc), Op::Thread(_)) && !op.can_run(self, at) {
                return Pause::Blocked;
            }
            if let Err(fault) = self.execute(at, 0) {
                return Pause::Fault(fault);
            }
        }
    }

    /// Runs a procedure that only looks at the state, such as `finally`, and takes it back.
    pub(super) fn look(
        &mut self,
        loaded: &Loaded,
        procedure: crate::ir::ProcedureId,
        arguments: &[i32],
        footprint: &mut Footprint,
    ) -> Pause {
        let entry = loaded.procedures[procedure.index()];
        // A temporary thread, after all others.
        let me = self.threads.len();
        self.threads.push(Thread {
            pc: entry.pc,
            top: entry.frame,
            phase: Phase::Ready,
            ..Thread::ABSENT
        });
        let mut stack = arguments.to_vec();
        stack.resize(entry.frame as usize, 0);
        self.stacks.push(stack);
        let mut budget = self.budget;
        let pause = self.tentatively(me, |machine| {
            loop {
                match machine.run_inside(loaded, me, footprint, &mut budget) {
                    Pause::Visible | Pause::AtomicEnd => {}
                    pause => break pause,
                }
            }
        });
        self.threads.pop();
        self.stacks.pop();
        pause
    }

    /// Returns whether the end of a thread is an access: others can see it, or it was spawned.
    #[inline]
    pub(super) fn tracks_end(&self, loaded: &Loaded, me: usize) -> bool {
        loaded.observes_ends || me >= loaded.static_threads()
    }

    /// Notes of a step that `me` took there, and that did not end the thread, whether it may do so in another state, if that is an
    /// access.
    #[inline]
    fn may_end_elsewhere(&self, loaded: &Loaded, me: usize, thread: &Thread, effect: &mut Effect) {
        if effect.elsewhere == Elsewhere::AtMostThis
            && self.tracks_end(loaded, me)
            && loaded.foresight[thread.pc as usize].may_end
        {
            effect.elsewhere = Elsewhere::Anything;
        }
    }

    #[inline]
    fn add_begin(&self, loaded: &Loaded, me: usize, thread: &Thread, footprint: &mut Footprint) {
        if me >= loaded.static_threads() && !thread.begun {
            footprint.add(self.names.wake(me), Mode::Begin);
        }
    }
}

/// Where a step turned out to be blocked: at an `await` that is false, or of a task that has not ended.
struct BlockedAt {
    pc: u32,
}

/// Returns whether only a try can tell what the pending step would touch. `may_end` tells whether it may
/// end its thread and that is an access.
fn is_unclear(loaded: &Loaded, thread: &Thread, may_end: bool) -> bool {
    let op = loaded.op(thread.pc);
    match thread.phase {
        Phase::FaultsAtOnce => return true,
        Phase::Ready if matches!(op, Op::AtomicBegin { .. }) => return true,
        // What follows belongs to the second half.
        Phase::Ready if op.operation().is_some_and(|op| op.facts().has_second_half) => {
            return may_end;
        }
        _ => {}
    }
    may_end && loaded.foresight[thread.pc as usize].may_go_on
}

/// Whether the thread's life ends in a step may depend on what the step finds: then its footprint
/// depends on the state.
fn raise_flexibility(loaded: &Loaded, thread: &Thread, effect: &mut Effect) {
    let foresight = loaded.foresight[thread.pc as usize];
    if thread.phase == Phase::Ready
        && foresight.may_end
        && foresight.may_go_on
        && effect.flexibility == Flexibility::Fixed
        && (loaded.op(thread.pc).operation().is_some_and(|op| op.facts().finds)
            || loaded.may_check(thread.pc))
    {
        effect.flexibility = Flexibility::Conditional;
    }
}
