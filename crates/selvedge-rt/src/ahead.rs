//! Steps that a thread takes by itself: to ask the search after each costs a switch between stacks, and
//! where the search is free to choose, its answer is known (`Ahead::step_on`).

use crate::hooks::Hooks;
use crate::operation::{Operation, Subject};
use crate::runtime::Runtime;

impl<W: Hooks> Runtime<W> {
    /// Takes the running thread's next step if a search that is free to choose would do so.
    #[inline(never)]
    pub(crate) fn goes_on(
        &mut self,
        operation: &dyn Operation<Self>,
        subject: Subject,
        spot: W::Spot,
    ) -> bool {
        let me = self.now.current;
        let can_run = match subject {
            Subject::Nothing => true,
            Subject::Waiting => operation.is_enabled(self, me),
            Subject::Both => operation.is_enabled(self, me) && operation.choices(self, me) == 1,
        };
        // What another thread that it has just spawned does depends on what it finds now.
        if !can_run
            || self.now.has_whims
            || self.shared.is_unsteady.get()
            || (0..me).any(|other| self.is_enabled(other))
        {
            return false;
        }
        self.note_next(me, spot);
        self.take(me, 0);
        let mut effects = std::mem::take(&mut self.ahead.effects);
        let effect = &mut effects[self.ahead.taken];
        effect.clear();
        operation.effect(self, me, 0, effect);
        self.ahead.effects = effects;
        self.ahead.taken += 1;
        true
    }
}
