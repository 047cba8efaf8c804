//! Going on freely: which step is taken next, and how it is found quickly.

use selvedge_core::{Access, Effect, Flexibility, Mode, Status, Step, System, ThreadId};
use smallvec::SmallVec;

use super::unit::Mark;
use super::{Search, is_only};

/// What came of taking the next step without looking at anything.
enum Plain {
    /// It was taken.
    Taken,
    /// No thread is enabled.
    Maximal,
    /// There is something to look at.
    Unknown,
}

/// What came of a thread that may take the next step.
enum Look {
    /// It has ended.
    Over,
    /// It is not enabled.
    NotNow,
    /// Its step can be made to wait. Whether it is enabled was not looked at.
    CanWait,
    /// Its step has alternatives, and cannot be made to wait.
    HasAlternatives,
    /// Its step was taken.
    Taken,
}

impl<S: System> Search<'_, S> {
    /// Continues freely to the end of the execution.
    pub(super) fn go_on(&mut self) {
        while !self.run.is_stopped() {
            match self.take_if_plain() {
                Plain::Taken => continue,
                Plain::Maximal => return self.run.finish(),
                Plain::Unknown => {}
            }
            let Some(step) = self.chosen() else {
                if self.run.threads().any(|thread| self.run.is_enabled(thread)) {
                    self.run.finish_redundant();
                } else {
                    self.run.finish();
                }
                return;
            };
            if self.run.is_at_step_limit() {
                self.run.finish_cut();
                return;
            }
            let choices = self.run.system.choices(step.thread);
            self.take(step, choices, Mark::Free);
            self.after_step();
        }
    }

    fn after_step(&mut self) {
        let done = self.done;
        self.run.after_step(&|| done);
    }

    /// Takes the chosen step, if nothing sleeps and the step has no alternatives: the common case, in which nothing is
    /// to be looked at.
    fn take_if_plain(&mut self) -> Plain {
        if self.run.is_at_step_limit() || self.is_open() {
            return Plain::Unknown;
        }
        let put_off = match self.marks.last() {
            Some(&Mark::Head(put_off, _)) if self.run.is_enabled(put_off) => Some(put_off),
            _ => None,
        };
        if let Some(thread) = put_off {
            return match self.take_if_alone(thread, Mark::Free) {
                true => self.taken_plainly(),
                false => Plain::Unknown,
            };
        }
        match self.first_place() {
            0 => self.take_first_of_live(),
            first => self.take_first_from(first),
        }
    }

    /// Takes the step of the first thread that is enabled, of those that have not ended; last, if it can be made to wait.
    fn take_first_of_live(&mut self) -> Plain {
        let mut waiting: SmallVec<[ThreadId; 8]> = SmallVec::new();
        let mut nth = 0;
        while let Some(&place) = self.live.get(nth) {
            let thread = self.order.at(place);
            match self.look_at(thread) {
                Look::Taken => return self.taken_plainly(),
                Look::HasAlternatives => return Plain::Unknown,
                Look::Over => {
                    self.live.remove(nth);
                    continue;
                }
                Look::CanWait => waiting.push(thread),
                Look::NotNow => {}
            }
            nth += 1;
        }
        self.take_waiting(&waiting)
    }

    /// As [`take_first_of_live`](Self::take_first_of_live), where the threads before this place come last.
    fn take_first_from(&mut self, first: usize) -> Plain {
        let mut waiting: SmallVec<[ThreadId; 8]> = SmallVec::new();
        for place in (first..self.order.len()).chain(0..first) {
            let thread = self.order.at(place);
            match self.look_at(thread) {
                Look::Taken => return self.taken_plainly(),
                Look::HasAlternatives => return Plain::Unknown,
                Look::CanWait => waiting.push(thread),
                Look::Over | Look::NotNow => {}
            }
        }
        self.take_waiting(&waiting)
    }

    /// Takes the step of the first of these threads that is enabled. Their steps can be made to wait, and there is no other.
    fn take_waiting(&mut self, waiting: &[ThreadId]) -> Plain {
        let enabled = waiting.iter().copied().find(|&thread| self.run.is_enabled(thread));
        let Some(thread) = enabled else { return Plain::Maximal };
        if self.run.system.choices(thread) > 1 {
            return Plain::Unknown;
        }
        self.run.step(Step::of(thread));
        self.note_taken(Mark::Free);
        self.taken_plainly()
    }

    fn taken_plainly(&mut self) -> Plain {
        self.after_step();
        Plain::Taken
    }

    /// Takes the step of a thread, if it is enabled, has no alternatives, and cannot be made to wait. That it can is kept in
    /// mind until the thread takes it: point 7 of the contract of `System`.
    #[inline]
    fn look_at(&mut self, thread: ThreadId) -> Look {
        let last = self.run.execution.last_of(thread);
        if self.waiting.contains(&(thread, last)) {
            debug_assert!(
                !self.run.is_enabled(thread) || self.can_wait(thread),
                "what can wait can wait until it runs"
            );
            return Look::CanWait;
        }
        match self.run.system.status(thread) {
            Status::Enabled => {}
            Status::Finished | Status::Assumed | Status::Failed => return Look::Over,
            Status::Absent | Status::Blocked | Status::Parked => return Look::NotNow,
        }
        let nth = self.taken_by(thread);
        if !self.guesses.is_special(thread, nth) {
            let is_plain = |effect: &Effect| {
                effect.choices == 1 && !can_wait(effect.flexibility, effect.footprint.accesses())
            };
            if self.run.step_if(Step::of(thread), is_plain) {
                self.note_taken(Mark::Free);
                return Look::Taken;
            }
            self.guesses.note(thread, nth, true);
        }
        if self.can_wait(thread) {
            self.waiting.retain(|(other, _)| *other != thread);
            self.waiting.push((thread, last));
            return Look::CanWait;
        }
        if self.run.system.choices(thread) > 1 {
            return Look::HasAlternatives;
        }
        self.guesses.note(thread, nth, false);
        self.run.step(Step::of(thread));
        self.note_taken(Mark::Free);
        Look::Taken
    }

    /// Takes the step of a thread, which is enabled, if it has no alternatives; returns whether it did.
    #[inline]
    pub(super) fn take_if_alone(&mut self, thread: ThreadId, mark: Mark) -> bool {
        let nth = self.taken_by(thread);
        if self.guesses.is_special(thread, nth) {
            if self.run.system.choices(thread) > 1 {
                return false;
            }
            self.run.step(Step::of(thread));
        } else if !self.run.step_if(Step::of(thread), |effect| effect.choices == 1) {
            self.guesses.note(thread, nth, true);
            return false;
        }
        self.note_taken(mark);
        true
    }

    /// Returns how many steps a thread has taken.
    #[inline]
    fn taken_by(&self, thread: ThreadId) -> usize {
        self.run.execution.of_thread(thread).len()
    }

    /// Notes that every thread may have a step left.
    pub(super) fn fill_live(&mut self) {
        self.live.clear();
        self.live.extend(0..self.order.len());
    }

    /// Returns the step that is taken if nothing speaks against it: of the thread that was just put off, if that is
    /// enabled, or else of the least thread. Steps that can wait come last: while one of them is put off and cannot
    /// run, others have to sleep.
    pub(super) fn chosen(&mut self) -> Option<Step> {
        if let Some(&Mark::Head(put_off, _)) = self.marks.last()
            && self.run.is_enabled(put_off)
            && let Some(step) = self.first_awake(put_off)
        {
            return Some(step);
        }
        let enabled: SmallVec<[ThreadId; 8]> = self.in_order().collect();
        let mut waiting: SmallVec<[ThreadId; 4]> = SmallVec::new();
        for thread in enabled {
            if self.can_wait(thread) {
                waiting.push(thread);
            } else if let Some(step) = self.first_awake(thread) {
                return Some(step);
            }
        }
        waiting.into_iter().find_map(|thread| self.first_awake(thread))
    }

    /// Returns the enabled threads, that with the least name first. But a thread that has run freely for very long
    /// comes last, since it may wait in a loop for the others. (How the steps of a block are ordered must not matter.)
    fn in_order(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let (first, count) = (self.first_place(), self.order.len());
        let around = move |place| if place < count { place } else { place - count };
        (first..first + count)
            .map(move |place| self.order.at(around(place)))
            .filter(|&thread| self.run.is_enabled(thread))
    }

    /// Returns the place in the order of the thread that comes first.
    fn first_place(&self) -> usize {
        self.tired().map_or(0, |thread| self.order.place(thread) + 1)
    }

    /// Returns the thread that took the last steps freely, if they are as many as `tiring`.
    fn tired(&self) -> Option<ThreadId> {
        let steps = self.run.execution.steps();
        let last = steps.last()?.thread;
        // Most of the time one look is enough.
        let from = steps.len().checked_sub(self.run.options.caps.tiring)?;
        let is_free = |mark: &Mark| matches!(mark, Mark::Free | Mark::Other);
        (steps[from].thread == last
            && steps[from..].iter().all(|step| step.thread == last)
            && self.marks[from..].iter().all(is_free))
        .then_some(last)
    }

    /// Returns whether the pending step of a thread, which is enabled, can be made to wait.
    fn can_wait(&mut self, thread: ThreadId) -> bool {
        self.run.system.pending(Step::of(thread), &mut self.effect);
        can_wait(self.effect.flexibility, self.effect.footprint.accesses())
    }
}

/// Returns whether a step that is enabled can be made to wait. What only joins threads that have ended cannot.
#[inline]
fn can_wait(flexibility: Flexibility, accesses: &[Access]) -> bool {
    flexibility == Flexibility::Blocking && !is_only(accesses, Mode::Join)
}
