//! What the interpreter can tell about its state: [`Conditions`].
//!
//! `orders.rs` runs two steps in both orders, `state.rs` names states and threads, and `may.rs` says what a thread
//! may still touch, by following its code (`follow.rs`).

mod follow;
mod known;
pub(super) mod may;
mod orders;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use selvedge_core::{
    Commutation, Conditions, Describe, Footprint, Holding, MayAccess, MayTouch, ObjectId, StateKey,
    Step, ThreadId, Violation, ViolationKind,
};

use crate::ir::{AtomicId, Compute, ConditionArgument, Independence, Op, Program, Slot, Thread};

use super::Interpreter;
use super::invisible::Pause;
use super::load::Loaded;
use super::machine::{Machine, Phase};
pub use known::FindConstraints;
use known::Known;
pub use may::Caps;
use may::May;

/// Per instruction, the slots of its frame that still matter before it.
pub(super) struct Live(Vec<Vec<Slot>>);

impl Live {
    pub(super) fn at(&self, pc: u32) -> &[Slot] {
        &self.0[pc as usize]
    }
}

/// What is found out once about a program, when the first question comes.
pub(super) struct Analysis {
    pub(super) live: Live,
    may: May,
    /// Whether the handle of a spawned thread can be kept.
    names_matter: bool,
    constraints: Known,
}

impl Analysis {
    fn new(loaded: &Loaded, caps: Caps) -> Self {
        let names_matter = loaded.code.iter().any(|it| match &it.op {
            Op::Compute { value, .. } => *value == Compute::Own,
            op => matches!(op, Op::Thread(Thread::Spawn { target: Some(_), .. })),
        });
        let procedures = loaded.program.procedures.iter();
        let live = Live(procedures.flat_map(|it| it.live_slots(&loaded.program)).collect());
        Self {
            live,
            may: May::new(loaded, caps),
            names_matter,
            constraints: Known::of(&loaded.program),
        }
    }
}

impl Interpreter {
    pub(super) fn parts(&mut self) -> (&Loaded, &mut Machine, &mut Analysis) {
        let (loaded, caps) = (&self.loaded, self.caps);
        let analysis = self.analysis.get_or_insert_with(|| Box::new(Analysis::new(loaded, caps)));
        (loaded, self.machine.get_mut(), analysis)
    }
}

impl Conditions for Interpreter {
    fn try_both_orders(&mut self, first: Step, second: Step) -> Commutation {
        let (loaded, machine, analysis) = self.parts();
        machine.try_both_orders(loaded, analysis, first, second)
    }

    fn constraints(&mut self, first: ThreadId, second: ThreadId) -> Vec<Holding> {
        let finder = self.finder.clone();
        let (loaded, machine, analysis) = self.parts();
        // Blocks that commute may still break an invariant in one of the orders, and what follows them may update ghosts.
        if !loaded.program.invariants.is_empty() || loaded.ghosts.any {
            return Vec::new();
        }
        let threads = [first.index(), second.index()];
        let [Some(a), Some(b)] = threads.map(|thread| machine.section_of(loaded, thread)) else {
            return Vec::new();
        };
        let mut holding = Vec::new();
        for constraint in analysis.constraints.of_pair(a, b, finder.as_deref()) {
            let (loaded, independence) = analysis.constraints.get(constraint, loaded);
            let Independence { first, second, .. } = *independence;
            let reads = [((a, b), threads), ((b, a), [threads[1], threads[0]])]
                .into_iter()
                .filter(|&(sides, _)| sides == (first, second))
                .find_map(|(_, threads)| machine.holds(loaded, independence, threads));
            holding.extend(reads.map(|reads| Holding { constraint, reads }));
        }
        holding
    }

    fn refute(
        &mut self,
        holding: &Holding,
        first: ThreadId,
        second: ThreadId,
    ) -> Option<Violation> {
        if self.try_both_orders(Step::of(first), Step::of(second)).same {
            return None;
        }
        let (loaded, machine, analysis) = self.parts();
        let (stated, independence) = analysis.constraints.get(holding.constraint, loaded);
        let program = &stated.program;
        let (a, b) =
            (section_name(program, independence.first), section_name(program, independence.second));
        let text = &program.sites[independence.site.index()].text;
        let message = format!("`{text}` is wrong: {a} and {b} do not commute here");
        let places = vec![program.place(independence.site)];
        Some(Violation {
            kind: ViolationKind::Constraint,
            message,
            places,
            notes: machine.both_outcomes(loaded, analysis, first.index(), second.index()),
            thread: None,
        })
    }

    fn may_access(&mut self, thread: ThreadId) -> Arc<MayAccess> {
        let (loaded, machine, analysis) = self.parts();
        let thread = thread.index();
        if let Some(known) = machine.known_may(thread) {
            return Arc::clone(known);
        }
        let may = analysis.may.of_thread(loaded, machine, &analysis.live, thread);
        machine.keep_may(thread, &may);
        may
    }

    fn may_touch(&mut self, thread: ThreadId) -> MayTouch {
        // Without a count of who has it, in most states.
        let known = self.machine.get_mut().known_may(thread.index()).map(MayTouch::of);
        known.unwrap_or_else(|| MayTouch::of(&self.may_access(thread)))
    }

    fn name_of(&self, object: ObjectId) -> String {
        self.object_name(object)
    }

    fn is_steady(&mut self, thread: ThreadId) -> bool {
        let caps = self.caps;
        let (loaded, machine, analysis) = self.parts();
        follow::is_steady(loaded, machine, &analysis.live, caps, thread.index())
    }

    fn state(&mut self) -> StateKey {
        let (loaded, machine, analysis) = self.parts();
        StateKey(machine.state(loaded, analysis))
    }
}

/// Returns how messages call an atomic section.
fn section_name(program: &Program, section: AtomicId) -> String {
    let atomic = &program.atomics[section.index()];
    let name = atomic.reference();
    format!(
        "`{}`",
        name.unwrap_or_else(|| program.procedures[atomic.procedure.index()].name.clone())
    )
}

impl Machine {
    /// Returns the atomic section at which a thread stands.
    fn section_of(&self, loaded: &Loaded, thread: usize) -> Option<AtomicId> {
        let state = self.threads.get(thread)?;
        match loaded.op(state.pc) {
            Op::AtomicBegin { atomic } if state.phase == Phase::Ready => Some(*atomic),
            _ => None,
        }
    }

    /// Returns what the condition looks at, if it holds for the sections at which these threads stand. One
    /// that fails does not hold.
    fn holds(
        &mut self,
        loaded: &Loaded,
        independence: &Independence,
        threads: [usize; 2],
    ) -> Option<Vec<ObjectId>> {
        let Some(condition) = &independence.condition else { return Some(Vec::new()) };
        let slot = |argument: &ConditionArgument| {
            let (thread, slot) = match *argument {
                ConditionArgument::First(slot) => (threads[0], slot),
                ConditionArgument::Second(slot) => (threads[1], slot),
            };
            self.stacks[thread][(self.threads[thread].base + slot.0) as usize]
        };
        let arguments: Vec<i32> = condition.arguments.iter().map(slot).collect();
        let mut footprint = Footprint::new();
        match self.look(loaded, condition.procedure, &arguments, &mut footprint) {
            Pause::Returned(Some(1)) => {
                Some(footprint.accesses().iter().map(|access| access.object).collect())
            }
            _ => None,
        }
    }
}
