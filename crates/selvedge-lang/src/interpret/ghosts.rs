//! Ghost variables, and when their accesses order steps.
//!
//! An access to a ghost is no step: it belongs to the step whose local code reaches it. So the accesses of a step are those of
//! its visible operation and of all ghosts up to the next one, and only a try can tell which these are. They are in the footprint like others, so
//! two steps that access the same ghost are dependent, unless both read it or both count with it. That is what soundness needs: the order of
//! all other steps shows in no ghost, and nothing but properties reads ghosts. A ghost that no property reads, directly or by way
//! of other ghosts, has no accesses at all (`check/ghosts.rs`).

use selvedge_core::{Effect, Elsewhere, Flexibility, Footprint};

use crate::ir::{Ghost, GlobalId, GlobalKind, Op, Program};
use crate::ops::Operation;

use super::invisible::Pause;
use super::load::Loaded;
use super::machine::{At, Machine, Phase, Thread};

/// No execution counts so far: each time is an instruction, and one of 2^30 does not end in time.
const FAR_FROM_OVERFLOW: u32 = 1 << 30;

/// What is known of the ghosts of a program.
pub(crate) struct Ghosts {
    /// Whether any is accessed.
    pub(super) any: bool,
    /// Whether an invariant reads one.
    pub(super) checked: bool,
    /// Per global, whether all updates of it count: their order does not show.
    counts: Vec<bool>,
}

impl Ghosts {
    pub(super) fn of(program: &Program) -> Self {
        let is_small = |&value: &i32| value.unsigned_abs() < FAR_FROM_OVERFLOW;
        let globals = program.globals.iter().map(|global| match &global.kind {
            GlobalKind::Ghost { initial, .. } => initial.iter().all(is_small),
            _ => false,
        });
        let mut ghosts = Self { any: false, checked: false, counts: globals.collect() };
        let look = |op: &Op| match op {
            Op::Ghost(op) => Some((op.ghost().global, matches!(op, Ghost::Write { .. }))),
            _ => None,
        };
        for procedure in &program.procedures {
            for (ghost, is_written) in procedure.code.iter().filter_map(|it| look(&it.op)) {
                ghosts.any = true;
                ghosts.counts[ghost.index()] &= !is_written;
            }
        }
        let invariants = program.invariants.iter().map(|invariant| invariant.procedure);
        ghosts.checked = program
            .called_from(invariants.collect::<Vec<_>>())
            .into_iter()
            .any(|it| program.procedures[it.index()].code.iter().any(|it| look(&it.op).is_some()));
        ghosts
    }

    /// Returns whether all updates of a ghost count.
    pub(crate) fn counts(&self, ghost: GlobalId) -> bool {
        self.counts[ghost.index()]
    }
}

/// Returns whether the step of a thread that can take one may access ghosts after its visible operation.
pub(super) fn may_follow(loaded: &Loaded, thread: &Thread) -> bool {
    loaded.ghosts.any && {
        // The first half of an operation is followed by nothing.
        let operation = loaded.op(thread.pc).operation();
        let is_half = thread.phase == Phase::Ready
            && operation.is_some_and(|operation| operation.facts().has_second_half);
        !is_half && loaded.foresight[thread.pc as usize].ghosts
    }
}

/// Notes that which ghosts a step accesses may depend on the state in which it is taken.
pub(super) fn make_flexible(loaded: &Loaded, thread: &Thread, effect: &mut Effect) {
    if !may_follow(loaded, thread) {
        return;
    }
    let operation = loaded.op(thread.pc).operation();
    let finds = operation.is_none_or(|operation| operation.facts().finds);
    let is_same = !finds && !loaded.foresight[thread.pc as usize].ghosts_decide;
    match effect.flexibility {
        Flexibility::Fixed | Flexibility::Lock if is_same => return,
        Flexibility::Fixed => effect.flexibility = Flexibility::Conditional,
        Flexibility::Lock => effect.flexibility = Flexibility::Blocking,
        Flexibility::Conditional | Flexibility::Blocking => {}
    }
    effect.elsewhere = Elsewhere::Anything;
}

impl Machine {
    /// Runs the local code after a visible operation, with the accesses to ghosts in it.
    #[inline]
    pub(super) fn run_after(
        &mut self,
        loaded: &Loaded,
        me: usize,
        footprint: &mut Footprint,
        budget: &mut u64,
    ) -> Pause {
        let pause = self.run_invisible(loaded, me, budget);
        if loaded.ghosts.any {
            self.run_ghosts(loaded, me, footprint, budget, pause)
        } else {
            pause
        }
    }

    fn run_ghosts(
        &mut self,
        loaded: &Loaded,
        me: usize,
        footprint: &mut Footprint,
        budget: &mut u64,
        mut pause: Pause,
    ) -> Pause {
        loop {
            let thread = self.threads[me];
            let (Pause::Visible, Op::Ghost(op)) = (&pause, loaded.op(thread.pc)) else {
                return pause;
            };
            let at = At { loaded, me, thread: &thread };
            op.footprint(self, at, 0, footprint);
            if let Err(fault) = self.execute(at, 0) {
                return Pause::Fault(fault);
            }
            pause = self.run_invisible(loaded, me, budget);
        }
    }
}
