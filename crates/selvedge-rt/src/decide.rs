//! Finds out what threads do where they stand, as far as the next steps depend on it: does a spin loop give up, or
//! wait forever if nothing changes (`spin/mod.rs`)? Does it matter that an operation ends spuriously
//! (`spurious.rs`)?
//!
//! The thread continues aside, and then the execution runs again up to where it was.

use selvedge_core::Step;

use crate::hooks::Hooks;
use crate::program::Program;
use crate::runtime::{Runtime, State, Way};
use crate::spin::{Alone, Key};
use crate::switch::resume;

impl<W: Hooks> Program<W> {
    /// Finds out what threads do where they stand.
    #[inline(always)]
    pub(crate) fn decide(&mut self) {
        self.decide_whims();
        self.decide_loops();
        // A thread that left its loop may have come to an operation that may end spuriously.
        while self.rt().now.has_whims {
            self.decide_whims();
            self.decide_loops();
        }
    }

    /// Tries out threads that stand still in a loop of which it is not known whether it gives up, or whether
    /// the next turn does something. The state is then what it was, but that a thread whose loop gives up
    /// continues.
    #[inline]
    fn decide_loops(&mut self) {
        if self.rt().shared.learned.spins.get() {
            self.decide_open_loops();
        }
    }

    #[inline(never)]
    fn decide_open_loops(&mut self) {
        let mut tried = 0;
        while let Some((number, key, inside)) = open_loop(self.rt()) {
            tried += 1;
            let rt = self.rt();
            if tried > rt.shared.settings.caps.tried + rt.threads.len() {
                let name = rt.thread_name(number);
                let spot = key.spot;
                return rt.note_unsteady(format!(
                    "{name}, in the loop at {spot}, comes to new states after the same steps, without end"
                ));
            }
            let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
            let alone = match inside {
                // When the lock was released, before another thread took it.
                Some(_) => self.try_alone(number, key, 1, &kept[..self.changed_after(number)]),
                None => {
                    let turns = self.rt().shared.settings.spin_turns as usize;
                    self.try_alone(number, key, turns, &kept)
                }
            };
            let mut loops = self.rt().shared.learned.loops.borrow_mut();
            let is_news = match inside {
                Some(inside) => loops.decide_turn(key, inside, &alone),
                None => loops.decide_loop(key, &alone),
            };
            drop(loops);
            self.run_again(&kept);
            if is_news {
                self.rt().learn();
            }
        }
    }

    /// Returns how many steps were taken when a thread had come to stand still and all that it saw was last changed.
    fn changed_after(&self, thread: usize) -> usize {
        let stood = self.rt().threads[thread].last_step.map_or(0, |step| step + 1);
        stood.max(self.rt().now.spins.changed_after(thread).unwrap_or(0))
    }

    /// Takes the steps of the first execution that comes to its end once more: so nondeterministic code is noticed
    /// where no prefix is run again, be it because there is one execution only.
    #[inline]
    pub(crate) fn repeat_once(&mut self) {
        if !std::mem::replace(&mut self.repeated, true) {
            let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
            self.run_again(&kept);
        }
    }

    /// Takes the same steps again, and keeps what the last one was.
    fn run_again(&mut self, kept: &[Step]) {
        let last = self.rt_mut().now.last.take();
        self.replay(kept);
        self.rt_mut().now.last = last;
    }

    /// Lets a thread that stands still after the steps `kept` run alone.
    #[cold]
    fn try_alone(
        &mut self,
        number: usize,
        key: Key<W>,
        turns: usize,
        kept: &[Step],
    ) -> Option<Alone<W>> {
        let last = self.rt_mut().now.last.take();
        let tracing = std::mem::replace(&mut self.rt_mut().tracing, false);
        self.replay_aside(kept);
        let rt = self.rt_mut();
        let (state, filled) = (rt.state_of(number), W::set_apart(rt, number));
        let before = rt.now.spins.leave_alone(number, key, state, filled, turns).before;
        rt.threads[number].operations = before;
        self.leave(number, 0);
        let rt = self.rt_mut();
        (rt.tracing, rt.now.last) = (tracing, last);
        // If it came to its end, or failed, it left the loop.
        rt.now.spins.alone.take().filter(|alone| alone.end.is_some())
    }

    /// A thread continues aside with this alternative, as far as it is followed.
    fn leave(&mut self, number: usize, choice: u32) {
        let rt = self.rt_mut();
        // It may be elsewhere when the same steps are taken again.
        if let Some(step) = rt.threads[number].last_step {
            rt.log[step].next = None;
        }
        (rt.now.way, rt.now.choice) = (Way::Aside, choice);
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.raw(), number) };
    }

    /// Tries out threads that stand at an operation of which it is not known whether it matters that it ends
    /// spuriously. The state is then what it was, but that a thread for which it does not matter stands at
    /// the operation itself.
    #[inline]
    fn decide_whims(&mut self) {
        while self.rt().now.has_whims {
            match open_whim(self.rt()) {
                Some((number, key)) => self.decide_whim(number, key),
                None => self.rt_mut().now.has_whims = false,
            }
        }
    }

    #[cold]
    fn decide_whim(&mut self, number: usize, key: Key<W>) {
        let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
        let rt = self.rt_mut();
        let last = rt.now.last.take();
        let tracing = std::mem::replace(&mut rt.tracing, false);
        rt.begin_trial(number, key.spot);
        self.leave(number, 1);
        let rt = self.rt_mut();
        let returned = rt.now.trial.take().is_some_and(|trial| trial.returned && !trial.changed);
        // What it would still do is no result of the code.
        W::abandon(&mut rt.threads[number].own);
        rt.shared.learned.whims.borrow_mut().insert(key, !returned);
        (rt.tracing, rt.now.last) = (tracing, last);
        self.run_again(&kept);
    }
}

/// A thread that stands still, and should be tried: with nothing changed, or with these values of what locks
/// guard.
fn open_loop<W: Hooks>(rt: &Runtime<W>) -> Option<(usize, Key<W>, Option<u64>)> {
    if rt.shared.is_unsteady.get() {
        return None;
    }
    let loops = &mut rt.shared.learned.loops.borrow_mut();
    rt.threads.iter().enumerate().find_map(|(number, thread)| {
        let is_ready = thread.state == State::Ready;
        let (key, inside) = is_ready.then(|| rt.now.spins.open(number, loops))??;
        Some((number, key, inside))
    })
}

fn open_whim<W: Hooks>(rt: &Runtime<W>) -> Option<(usize, Key<W>)> {
    if rt.shared.is_unsteady.get() {
        return None;
    }
    rt.threads.iter().enumerate().find_map(|(number, thread)| {
        let key = thread.whim.filter(|_| thread.state == State::Ready);
        key.filter(|&key| rt.whim_matters(key).is_none()).map(|key| (number, key))
    })
}
