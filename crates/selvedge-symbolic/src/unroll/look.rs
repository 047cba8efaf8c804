//! Looks at the final state: `finally`, and whether an atomic section would wait.

use std::collections::BTreeMap;

use selvedge_lang::ir::Label;

use super::Unrolled;
use super::run::{Look, Runner};
use super::state::{Section, State};
use crate::solver::Lit;
use selvedge_core::{Budget, Spent};

impl Unrolled {
    /// Returns whether the section that starts where `state` stands may wait.
    pub(super) fn section_awaits(&self, state: &mut State) -> bool {
        let frame = state.frame();
        let procedure = &self.program.procedures[frame.procedure.index()];
        procedure.section_awaits(&self.program, Label::new(frame.pc), &self.may_await)
    }

    /// Tries the section before which `state` stands on the final state. The last stop is blocked
    /// if it waits there.
    pub(super) fn try_section(&mut self, mut state: State, budget: &Budget) -> Result<(), Spent> {
        let Some(stop) = self.stops.last().copied() else { return Ok(()) };
        state.guard = stop.lit;
        state.control = Lit::TRUE;
        state.section = Some(Section { event: None, depth: 1 });
        let frame = state.frame();
        let (procedure, next) = (frame.procedure, frame.pc + 1);
        let loops = std::mem::take(&mut self.loops[procedure.index()]);
        state.go_to(next, &loops);
        self.loops[procedure.index()] = loops;
        let index = self.stops.len() - 1;
        let mut runner = Runner::Look(Look { is_section: true, ..Look::default() });
        self.run(&mut runner, state, budget)?;
        if let Runner::Look(look) = runner {
            self.stops[index].blocked = self.circuit.any(&look.blocked);
        }
        Ok(())
    }

    /// Runs `finally` on the final state.
    pub(super) fn run_finally(&mut self, budget: &Budget) -> Result<(), Spent> {
        let Some(procedure) = self.program.finally else { return Ok(()) };
        let frame = self.new_frame(procedure, Vec::new());
        let state = State {
            guard: self.finally_runs,
            control: Lit::TRUE,
            frames: vec![frame],
            last: Vec::new(),
            holds: BTreeMap::new(),
            section: None,
        };
        let mut runner = Runner::Look(Look::default());
        self.run(&mut runner, state, budget)?;
        if let Runner::Look(look) = runner {
            self.finally_faults = look.faults;
        }
        Ok(())
    }
}
