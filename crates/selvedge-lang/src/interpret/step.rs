//! Takes steps, and tries them.

use selvedge_core::{Effect, Fault, Flexibility, Footprint, Mode, ObjectId, Status};

use crate::ir::Op;

use super::awaited::add_reads;
use super::fault;
use super::footprint::{flexibility, is_plain};
use super::invisible::{self, Pause};
use super::load::Loaded;
use super::machine::{Machine, Phase, Thread};

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
        self.record.on = false;
        self.begin_step(me);
        let taken = self.perform(loaded, me, choice, effect);
        let pc = self.threads[me].pc;
        self.undo_step();
        self.record.on = true;
        if taken { Ok(()) } else { Err(BlockedAt { pc }) }
    }

    /// The `await` that is false, if `me` stands at an atomic section and is blocked there.
    pub(super) fn blocking_await(&mut self, loaded: &Loaded, me: usize) -> Option<u32> {
        if self.quick_status(loaded, me).is_some() {
            return None;
        }
        self.try_step(loaded, me, 0, &mut Effect::default()).err().map(|blocked| blocked.pc)
    }

    /// The status of a thread at an atomic section that may wait.
    pub(super) fn tried_status(&mut self, loaded: &Loaded, me: usize) -> Status {
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
        if !tracks_end && self.simple_effect(loaded, me, &thread, effect) {
            return;
        }
        let is_enabled = self.quick_status(loaded, me) == Some(Status::Enabled);
        let may_end = is_enabled && tracks_end && loaded.foresight[thread.pc as usize].may_end;
        if is_unclear(loaded, &thread, may_end) {
            // If it is blocked, the effect is what it waits with.
            let _ = self.try_step(loaded, me, choice, effect);
            effect.fault = None;
            return;
        }
        self.other_effect(loaded, me, &thread, choice, effect);
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
            self.record.on = false;
            self.begin_step(me);
            self.run_section(loaded, me, &mut effect.footprint, &mut budget);
            self.undo_step();
            self.record.on = true;
        }
        let own = effect.footprint.accesses().iter().filter(|access| !access.mode.is_cause());
        objects.extend(own.map(|access| access.object));
    }

    /// Whether another thread can disable the pending step of `me`, which is enabled, not counting mutexes.
    #[inline]
    pub(super) fn can_be_disabled(&self, loaded: &Loaded, me: usize) -> bool {
        let thread = &self.threads[me];
        match (thread.phase, loaded.op(thread.pc)) {
            (Phase::Ready, Op::AtomicBegin { .. }) => {
                loaded.foresight[thread.pc as usize].may_await
            }
            (_, Op::Join { .. }) => false,
            _ => flexibility(loaded, thread, false) == Flexibility::Blocking,
        }
    }

    /// Performs the pending step of `me`; false if it turns out to be blocked.
    #[inline]
    pub(super) fn perform(
        &mut self,
        loaded: &Loaded,
        me: usize,
        choice: u32,
        effect: &mut Effect,
    ) -> bool {
        effect.clear();
        // A copy: the thread itself is changed in place, field by field, which is faster than
        // writing all of it back.
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
            let pause = self.run_section(loaded, me, &mut effect.footprint, &mut budget);
            let awaited = loaded.awaited(before.pc);
            if !awaited.is_empty() {
                add_reads(awaited, &mut effect.footprint);
            }
            pause
        } else {
            if !self.simple_effect(loaded, me, &before, effect) {
                self.other_effect(loaded, me, &before, choice, effect);
            }
            if self.tracks_end(loaded, me) {
                raise_flexibility(loaded, &before, effect);
            }
            self.run_one(loaded, me, &before, choice, &mut budget)
        };
        self.add_begin(loaded, me, &before, &mut effect.footprint);
        self.threads[me].begun = true;
        match pause {
            // A thread that waits behind its visible operation has a phase that says so.
            Some(Pause::Visible) | None => return true,
            Some(Pause::Blocked | Pause::AtomicEnd) => return false,
            Some(Pause::Returned(_)) => self.threads[me].phase = Phase::Finished,
            Some(Pause::Assumed) => {
                self.threads[me].phase = Phase::Assumed;
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

    /// The effect of reading or writing a variable; false if it is something else.
    #[inline]
    fn simple_effect(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        effect: &mut Effect,
    ) -> bool {
        let (variable, mode) = match loaded.op(thread.pc) {
            Op::Read { variable, .. } => (*variable, Mode::Read),
            Op::Write { variable, .. } => (*variable, Mode::Write),
            _ => return false,
        };
        if thread.phase != Phase::Ready {
            return false;
        }
        effect.plain = loaded.globals[variable.global.index()].plain;
        let object = ObjectId::new(self.cell_of(loaded, me, thread, variable));
        effect.footprint.add(object, mode);
        true
    }

    /// The effect of any visible operation that is not an atomic section.
    fn other_effect(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        choice: u32,
        effect: &mut Effect,
    ) {
        effect.choices = self.choices(loaded, me, thread);
        effect.flexibility = flexibility(loaded, thread, self.is_misuse(loaded, me, thread));
        effect.plain = is_plain(loaded, thread);
        self.footprint(loaded, me, thread, choice, &mut effect.footprint);
    }

    /// One visible operation and the invisible code behind it; `None` if it waits right there.
    #[inline]
    fn run_one(
        &mut self,
        loaded: &Loaded,
        me: usize,
        before: &Thread,
        choice: u32,
        budget: &mut u64,
    ) -> Option<Pause> {
        match before.phase {
            Phase::Ready => {
                if let Err(fault) = self.execute(loaded, me, before, choice) {
                    return Some(Pause::Fault(fault));
                }
                if self.threads[me].phase != Phase::Ready {
                    return None;
                }
            }
            Phase::FaultsAtOnce => self.threads[me].phase = Phase::Ready,
            Phase::Woken => self.retake(loaded, me, before),
            Phase::Passing => self.pass(loaded, me, before),
            Phase::Absent | Phase::Parked | Phase::Finished | Phase::Assumed | Phase::Failed => {
                debug_assert!(false, "a step of a thread that cannot take one");
                return None;
            }
        }
        Some(self.run_invisible(loaded, me, budget))
    }

    #[inline]
    fn run_invisible(&mut self, loaded: &Loaded, me: usize, budget: &mut u64) -> Pause {
        let (thread, stack) = (&mut self.threads[me], &mut self.stacks[me]);
        invisible::run(loaded, me, thread, stack, &mut self.local_log, budget)
    }

    /// An atomic section and the invisible code behind it.
    fn run_section(
        &mut self,
        loaded: &Loaded,
        me: usize,
        footprint: &mut Footprint,
        budget: &mut u64,
    ) -> Option<Pause> {
        let mut open = 0;
        loop {
            let pause = self.run_invisible(loaded, me, budget);
            let thread = self.threads[me];
            match pause {
                Pause::Visible if matches!(loaded.op(thread.pc), Op::AtomicBegin { .. }) => {
                    open += 1;
                    self.threads[me].pc += 1;
                }
                Pause::Visible => {
                    self.footprint(loaded, me, &thread, 0, footprint);
                    if let Err(fault) = self.execute(loaded, me, &thread, 0) {
                        return Some(Pause::Fault(fault));
                    }
                }
                Pause::AtomicEnd if open > 1 => open -= 1,
                Pause::AtomicEnd => return Some(self.run_invisible(loaded, me, budget)),
                pause => return Some(pause),
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
        // A thread for the moment, behind all others.
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
        self.record.on = false;
        self.begin_step(me);
        let mut budget = self.budget;
        let pause = loop {
            let pause = self.run_invisible(loaded, me, &mut budget);
            let thread = self.threads[me];
            match pause {
                Pause::Visible if matches!(loaded.op(thread.pc), Op::AtomicBegin { .. }) => {
                    self.threads[me].pc += 1;
                }
                Pause::AtomicEnd => {}
                Pause::Visible => {
                    self.footprint(loaded, me, &thread, 0, footprint);
                    if let Err(fault) = self.execute(loaded, me, &thread, 0) {
                        break Pause::Fault(fault);
                    }
                }
                pause => break pause,
            }
        };
        self.undo_step();
        self.record.on = true;
        self.threads.pop();
        self.stacks.pop();
        pause
    }

    /// Whether the end of a thread is an access: others can see it, or it was spawned.
    #[inline]
    pub(super) fn tracks_end(&self, loaded: &Loaded, me: usize) -> bool {
        loaded.observes_ends || me >= loaded.static_threads()
    }

    #[inline]
    fn add_begin(&self, loaded: &Loaded, me: usize, thread: &Thread, footprint: &mut Footprint) {
        if me >= loaded.static_threads() && !thread.begun {
            footprint.add(self.names.wake(me), Mode::Begin);
        }
    }
}

/// Where a step turned out to be blocked: at an `await` that is false.
struct BlockedAt {
    pc: u32,
}

/// Whether only a try can tell what the pending step would touch. `may_end` tells whether it may
/// end its thread and that is an access.
fn is_unclear(loaded: &Loaded, thread: &Thread, may_end: bool) -> bool {
    match (thread.phase, loaded.op(thread.pc)) {
        (Phase::FaultsAtOnce, _) | (Phase::Ready, Op::AtomicBegin { .. }) => true,
        // What comes behind these belongs to their second half.
        (Phase::Ready, Op::Wait { .. } | Op::Arrive { .. }) => may_end,
        _ => may_end && loaded.foresight[thread.pc as usize].may_go_on,
    }
}

/// Whether the thread's life ends in a step may depend on what the step finds: then its footprint
/// depends on the state.
fn raise_flexibility(loaded: &Loaded, thread: &Thread, effect: &mut Effect) {
    let foresight = loaded.foresight[thread.pc as usize];
    let finds_something = matches!(
        loaded.op(thread.pc),
        Op::Read { .. }
            | Op::Exchange { .. }
            | Op::FetchAdd { .. }
            | Op::Up { .. }
            | Op::ReadContainer { .. }
            | Op::ChangeContainer { .. }
    );
    if finds_something
        && thread.phase == Phase::Ready
        && foresight.may_end
        && foresight.may_go_on
        && effect.flexibility == Flexibility::Fixed
    {
        effect.flexibility = Flexibility::Conditional;
    }
}
