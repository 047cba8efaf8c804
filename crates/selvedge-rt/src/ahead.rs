//! Steps that a thread takes by itself: to ask the search after each costs a switch between stacks, and
//! where the search is free to choose, its answer is known (`System::step_on`).

use selvedge_core::Effect;

use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::operation::{Operation, Subject};
use crate::runtime::Runtime;

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
    pub(crate) fn allow(&mut self, thread: usize, most: usize, effects: &mut Vec<Effect>) {
        (self.thread, self.most, self.taken) = (thread, most, 1);
        std::mem::swap(&mut self.effects, effects);
    }

    /// Gives the effects of the steps that were taken, and how many these are.
    pub(crate) fn finish(&mut self, effects: &mut Vec<Effect>) -> usize {
        std::mem::swap(&mut self.effects, effects);
        self.most = 0;
        self.taken
    }

    /// Whether a thread may take one more step. Not one that the thread has just spawned.
    #[inline]
    pub(crate) fn is_allowed(&self, thread: usize) -> bool {
        self.taken < self.most && self.thread == thread
    }
}

impl<W: Hooks> Engine<W> {
    /// Takes the running thread's next step if a search that is free to choose would do so.
    #[inline(never)]
    pub(crate) fn goes_on(
        &self,
        operation: &dyn Operation<Runtime<W>>,
        subject: Subject,
        spot: W::Spot,
    ) -> bool {
        let rt = self.rt();
        let me = rt.now.current;
        let can_run = match subject {
            Subject::Nothing => true,
            Subject::Waiting => operation.is_enabled(rt, me),
            Subject::Both => operation.is_enabled(rt, me) && operation.choices(rt, me) == 1,
        };
        // What another thread that it has just spawned does depends on what it finds now.
        if !can_run
            || rt.now.has_whims
            || rt.shared.is_unsteady.get()
            || (0..me).any(|other| rt.is_enabled(other))
        {
            return false;
        }
        rt.note_next(me, spot);
        rt.take(me, 0);
        let mut effects = std::mem::take(&mut rt.ahead.effects);
        let effect = &mut effects[rt.ahead.taken];
        effect.clear();
        operation.effect(rt, me, 0, effect);
        rt.ahead.effects = effects;
        rt.ahead.taken += 1;
        true
    }
}
