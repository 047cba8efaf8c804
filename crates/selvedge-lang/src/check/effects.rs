//! What code does beyond computing, and where that is allowed.
//!
//! Direct effects are judged where they stand. What a routine does, calls included, is known only
//! when all bodies have been checked; then the calls that stand in restricted regions are judged.

use super::Checker;
use super::body::Region;
use crate::diagnostic::Diagnostic;
use crate::ir::ProcedureId;
use crate::span::Span;

/// A kind of effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Reads something shared.
    Read,
    /// Changes something shared.
    Write,
    /// Spawns, sends, raises a semaphore.
    Send,
    /// Waits or chooses: never part of a larger step.
    Wait,
    Assume,
    Await,
    /// Reads a ghost, where that is allowed.
    Ghost,
}

impl Effect {
    const ALL: [Effect; 7] = [
        Effect::Read,
        Effect::Write,
        Effect::Send,
        Effect::Wait,
        Effect::Assume,
        Effect::Await,
        Effect::Ghost,
    ];
}

impl Region {
    /// Returns whether such an effect may stand here.
    pub(super) fn allows(self, effect: Effect) -> bool {
        match self {
            Region::Thread => true,
            Region::Atomic => effect != Effect::Wait,
            // Its own `await` ends a part of it; one in a routine would wait in the middle.
            Region::Task => !matches!(effect, Effect::Wait | Effect::Await),
            Region::Look | Region::Always | Region::Promise => {
                matches!(effect, Effect::Read | Effect::Ghost)
            }
            Region::Await | Region::Condition => effect == Effect::Read,
            Region::Ghost => effect == Effect::Ghost,
            Region::Guard | Region::Constant => false,
        }
    }

    /// Returns what is wrong with `what` here.
    pub(super) fn refusal(self, what: &str) -> (String, &'static str) {
        match self {
            Region::Thread | Region::Atomic => (
                format!("{what} is not allowed inside `atomic`"),
                "an atomic block is one step that never stops half-way",
            ),
            Region::Task => (
                format!("{what} is not allowed in a task"),
                "a task is one step up to its next `await`, which stands in the task itself",
            ),
            Region::Look => (
                format!("{what} is not allowed in `finally`"),
                "`finally` only looks at the final state",
            ),
            Region::Always => (
                format!("{what} is not allowed in `always`"),
                "an invariant only looks at the state between two steps",
            ),
            Region::Promise => (
                format!("{what} is not allowed in `eventually` or `leads_to`"),
                "a promise only looks at the states between steps",
            ),
            Region::Await => (
                format!("{what} is not allowed in the condition of `await`"),
                "the condition only looks; to look and change in one step write `atomic { await c; … }`",
            ),
            Region::Condition => (
                format!("{what} is not allowed in an independence constraint"),
                "the condition only looks at the state before the two steps",
            ),
            Region::Ghost => (
                format!("{what} is not allowed in the update of a ghost variable"),
                "use local variables, constants and other ghosts: read into a local variable before it",
            ),
            Region::Guard => (
                format!("{what} is not allowed in a pattern or guard of `receive`"),
                "use local variables only: read into one before the `receive`",
            ),
            Region::Constant => {
                (format!("{what} is not constant"), "use numbers, constants and `len(array)`")
            }
        }
    }
}

/// The first place where a routine has an effect.
#[derive(Clone, Debug)]
struct Origin {
    what: String,
    span: Span,
}

/// What a routine does, by [`Effect`].
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    origins: [Option<Origin>; Effect::ALL.len()],
}

#[derive(Debug)]
struct Call {
    caller: Option<ProcedureId>,
    callee: ProcedureId,
    region: Region,
    span: Span,
}

/// Everything that is known about effects.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// By [`ProcedureId`].
    pub(super) routines: Vec<Summary>,
    calls: Vec<Call>,
}

impl Effects {
    pub(super) fn add(&mut self, owner: ProcedureId, effect: Effect, what: &str, span: Span) {
        let origin = &mut self.routines[owner.index()].origins[effect as usize];
        if origin.is_none() {
            *origin = Some(Origin { what: what.to_owned(), span });
        }
    }

    pub(super) fn add_call(
        &mut self,
        caller: Option<ProcedureId>,
        callee: ProcedureId,
        region: Region,
        span: Span,
    ) {
        self.calls.push(Call { caller, callee, region, span });
    }

    /// Propagates the effects of every routine to its callers.
    fn propagate(&mut self) {
        let mut callers = vec![Vec::new(); self.routines.len()];
        for call in &self.calls {
            if let Some(caller) = call.caller {
                callers[call.callee.index()].push(caller);
            }
        }
        let mut work: Vec<ProcedureId> = (0..self.routines.len()).map(ProcedureId::new).collect();
        while let Some(callee) = work.pop() {
            for &caller in &callers[callee.index()] {
                if self.inherit(caller, callee) {
                    work.push(caller);
                }
            }
        }
    }

    /// Returns whether the caller got something new.
    fn inherit(&mut self, caller: ProcedureId, callee: ProcedureId) -> bool {
        let mut grown = false;
        for effect in Effect::ALL {
            let theirs = &self.routines[callee.index()].origins[effect as usize];
            let mine = &self.routines[caller.index()].origins[effect as usize];
            if mine.is_none() && theirs.is_some() {
                self.routines[caller.index()].origins[effect as usize] = theirs.clone();
                grown = true;
            }
        }
        grown
    }
}

impl Checker<'_> {
    /// Judges the calls in restricted regions. All bodies have been checked.
    pub(super) fn check_calls(&mut self) {
        self.effects.propagate();
        for call in std::mem::take(&mut self.effects.calls) {
            self.check_call(&call);
        }
    }

    fn check_call(&mut self, call: &Call) {
        let summary = &self.effects.routines[call.callee.index()];
        let refused = Effect::ALL.into_iter().filter(|&effect| !call.region.allows(effect));
        let Some(origin) =
            refused.filter_map(|effect| summary.origins[effect as usize].as_ref()).next()
        else {
            return;
        };
        let name = &self.routines[call.callee.index()].decl.name.text;
        let (message, help) = call.region.refusal(&format!("the call of `{name}`"));
        let error = Diagnostic::error(call.span, message)
            .other(origin.span, format!("because of {} here", origin.what))
            .help(help);
        self.report(error);
    }
}
