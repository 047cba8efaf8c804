//! Operations that may end spuriously: a wait that is not notified, `park` without a token, a weak
//! compare-exchange that fails although it found what it expected. `std` allows all of these.
//!
//! Whether one does is a choice of its own, made so often for each thread and place as
//! [`Spurious::most`](crate::Spurious::most) says. But most code looks again, and comes back: then the choice is
//! left out, and costs nothing. To see whether it does, the thread is tried out when it comes to the operation: left
//! alone, the operation ends spuriously, again and again. The choice is left out only if the thread
//!
//! - comes back to the same operation,
//! - on the way only reads, or takes and gives up locks, and leaves what they guard as it was, and
//! - is in a state (`state.rs`) that it was in after an earlier turn: then the loop never ends by itself.
//!
//! If that is unknown, because the way back is too long or each turn leads to a new state, there is a choice: that is the
//! safe answer, so that the limits below cost executions, but hide nothing.
//!
//! Whether there is a choice depends on what the thread came to know so far, and on nothing else: steps that commute
//! must not decide which steps others take. So the answer is kept with that. It is found out in the first state in
//! which the thread comes there with this knowledge; in another state, in which others did more, the answer might
//! differ, but only in what is left out anyway.
//!
//! What is left out is what a loop that looks again would see if it woke while others change what it looks at, before
//! they notify it; that others find its lock taken then; and what it remembers of its first turns only.
//! [`Spurious::everywhere`](crate::Spurious::everywhere) leaves out nothing.

use selvedge_core::{Effect, Mode};

use crate::hooks::Hooks;
use crate::operation::{Operation, Waits};
use crate::runtime::{Runtime, Trial};
use crate::spin::Key;

impl<W: Hooks> Runtime<W> {
    /// The running thread comes to an operation that may end spuriously. `None` if it does not; else it is
    /// chosen, and a key if it is not known whether that matters.
    pub(crate) fn whim(&mut self, spot: W::Spot) -> Option<Option<Key<W>>> {
        let (me, shared) = (self.now.current, std::rc::Rc::clone(&self.shared));
        let spurious = &shared.settings.spurious;
        if spurious.most == 0 {
            return None;
        }
        let key = match spurious.everywhere {
            true => None,
            false if !shared.learned.watches.get() => {
                // What it came to know so far is not known: again, from the start.
                shared.learned.watches.set(true);
                self.learn();
                return None;
            }
            false => {
                let history = self.now.spins.history(me);
                let key = Key { thread: self.names.stable_thread(me), spot, history };
                let matters = self.whim_matters(key);
                if matters == Some(false) {
                    spurious.is_left_out.set(true);
                    return None;
                }
                matters.is_none().then_some(key)
            }
        };
        let is_here = |taken: &&W::Spot| W::is_same(**taken, spot);
        let taken = self.threads[me].whims.iter().filter(is_here).count() as u32;
        if key.is_none() && taken >= spurious.most {
            spurious.is_bounded.set(true);
            return None;
        }
        self.now.has_whims |= key.is_some();
        Some(key)
    }

    /// Returns whether it matters that an operation ends spuriously, if that is known.
    pub(crate) fn whim_matters(&self, key: Key<W>) -> Option<bool> {
        self.shared.learned.whims.borrow().get(&key).copied()
    }

    /// A thread whose operation at a place ends spuriously, again and again.
    pub(crate) fn begin_trial(&mut self, thread: usize, spot: W::Spot) {
        let filled = W::set_apart(self, thread);
        self.now.trial = Some(Trial {
            thread,
            spot,
            operations: 0,
            before: self.threads[thread].operations,
            filled,
            states: Vec::new(),
            changed: false,
            returned: false,
        });
    }

    /// The thread that is tried out comes to an operation that may end spuriously.
    pub(crate) fn note_return(&mut self, spot: W::Spot) {
        let me = self.now.current;
        let is_back = |trial: &&mut Trial<W>| trial.thread == me && W::is_same(trial.spot, spot);
        if self.now.trial.as_mut().filter(is_back).is_none() {
            return;
        }
        let Some(mut trial) = self.now.trial.take() else { return };
        if !W::take_back(self, me, trial.filled) {
            trial.filled = W::set_apart(self, me);
        }
        self.threads[me].operations = trial.before;
        trial.operations = 0;
        if let Some(state) = self.state_of(me) {
            trial.returned = trial.states.contains(&state);
            trial.states.push(state);
        }
        self.now.trial = Some(trial);
    }

    /// The alternative that the thread which is tried out takes; `None` if enough is known.
    pub(crate) fn choice_in_trial(
        &mut self,
        operation: &dyn Operation<Self>,
        spot: W::Spot,
    ) -> Option<u32> {
        let me = self.now.current;
        let patience = self.shared.settings.caps.patience;
        let trial = self.now.trial.as_mut().filter(|trial| trial.thread == me)?;
        trial.operations += 1;
        let is_over = trial.returned || trial.changed || trial.operations > patience.operations;
        let is_back = W::is_same(spot, trial.spot);
        if is_over || trial.states.len() >= patience.turns {
            return None;
        }
        match operation.choices(self, me) {
            // Another operation that may end spuriously does not.
            _ if operation.is_whim() => Some(u32::from(is_back)),
            1 => (operation.is_enabled(self, me) && changes_nothing(self, me, operation))
                .then_some(0),
            _ => None,
        }
    }
}

/// Returns whether an operation only looks at something, or takes or gives up a lock.
fn changes_nothing<W: Hooks>(
    rt: &mut Runtime<W>,
    me: usize,
    operation: &dyn Operation<Runtime<W>>,
) -> bool {
    let mut effect = Effect::default();
    operation.effect(rt, me, 0, &mut effect);
    let is_neutral = |mode| {
        let looks = matches!(mode, Mode::Read | Mode::Probe | Mode::Alive | Mode::Join);
        let locks = matches!(mode, Mode::Acquire | Mode::Release);
        looks || locks || matches!(mode, Mode::ShareAcquire | Mode::ShareRelease)
    };
    effect.footprint.accesses().iter().all(|access| is_neutral(access.mode))
}

/// Chooses whether an operation ends spuriously.
pub(crate) struct Whim {
    pub(crate) verb: &'static str,
}

impl<W: Hooks> Operation<Runtime<W>> for Whim {
    fn choices(&self, _rt: &Runtime<W>, _me: usize) -> u32 {
        2
    }

    fn left_alone(&self) -> Option<u32> {
        Some(0)
    }

    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn is_whim(&self) -> bool {
        true
    }

    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }
}
