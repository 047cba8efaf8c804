//! Steps that a thread takes by itself: to ask the search after each costs a switch between stacks, and
//! where the search is free to choose, its answer is known (`System::step_on`).

use selvedge_core::Effect;

use super::engine::Engine;
use super::operation::{Operation, Spot, Subject};

/// How far a thread may go on, and what it did.
#[derive(Default)]
pub(crate) struct Ahead {
    thread: usize,
    /// How many steps it may take, and how many it took.
    most: usize,
    taken: usize,
    effects: Vec<Effect>,
}

impl Ahead {
    /// Lets a thread that takes a step go on behind it, up to `most` steps in all.
    pub(super) fn allow(&mut self, thread: usize, most: usize, effects: &mut Vec<Effect>) {
        (self.thread, self.most, self.taken) = (thread, most, 1);
        std::mem::swap(&mut self.effects, effects);
    }

    /// Gives the effects of the steps that were taken, and how many these are.
    pub(super) fn finish(&mut self, effects: &mut Vec<Effect>) -> usize {
        std::mem::swap(&mut self.effects, effects);
        self.most = 0;
        self.taken
    }

    /// Whether a thread may take one more step. Not one that the thread has just spawned.
    #[inline]
    pub(super) fn is_allowed(&self, thread: usize) -> bool {
        self.taken < self.most && self.thread == thread
    }
}

impl Engine {
    /// Takes the running thread's next step if a search that is free to choose would do so.
    #[inline(never)]
    pub(super) fn goes_on(&self, operation: &dyn Operation, subject: Subject, spot: Spot) -> bool {
        let rt = self.rt();
        let me = rt.current;
        let can_run = match subject {
            Subject::Nothing => true,
            Subject::Waiting => operation.is_enabled(rt, me),
            Subject::Both => operation.is_enabled(rt, me) && operation.choices(rt, me) == 1,
        };
        if !can_run || rt.shared.is_unsteady.get() || (0..me).any(|other| rt.is_enabled(other)) {
            return false;
        }
        let mut effects = std::mem::take(&mut rt.ahead.effects);
        let effect = &mut effects[rt.ahead.taken];
        effect.clear();
        operation.effect(rt, me, 0, effect);
        let is_asked = effect.can_be_disabled();
        rt.ahead.effects = effects;
        if is_asked {
            return false;
        }
        rt.note_next(me, spot);
        rt.take(me, 0);
        rt.ahead.taken += 1;
        true
    }
}
