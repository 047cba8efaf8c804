//! A test that frees memory which others know is explored twice: plain reads and writes are not seen at first, and a second
//! search makes those of such memory steps, which takes longer. See `rt/plain.rs`.

use std::rc::Rc;

use selvedge_core::Verdict;

use super::Builder;
use super::besides::has_few_preemptions;
use crate::outcome::{Outcome, Plain};
use crate::rt::{Guards, Shared, Spot};

/// Whether a signal handler can have a plain use become an operation.
const IS_POSSIBLE: bool = cfg!(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
));

impl Builder {
    /// Which freed blocks are inaccessible.
    pub(super) fn guards(&self) -> Guards {
        match self.guard_freed.or_else(of_environment) {
            Some(true) => Guards::All,
            _ if self.second.guards => Guards::Published,
            _ => Guards::Nothing,
        }
    }

    /// What a search that is over tells about plain uses of freed memory.
    pub(super) fn plain_uses_of(&self, shared: &Shared) -> Plain {
        match self.guards() {
            Guards::Nothing if shared.frees_known.get() => Plain::Unseen,
            Guards::Published => Plain::Guarded,
            Guards::Nothing | Guards::All => Plain::Fine,
        }
    }

    /// Looks for plain uses of freed memory, if the first search passed and they are possible. Returns the outcome of
    /// both.
    #[track_caller]
    pub(super) fn with_plain_uses(
        &self,
        mut first: Outcome,
        program: Rc<dyn Fn()>,
        here: Spot,
    ) -> Outcome {
        if !self.looks_for_plain_uses(&first) {
            return first;
        }
        let mut again = self.clone();
        again.second.guards = true;
        again.options.budget = selvedge_core::Budget::unlimited();
        again.times.all = self.times.all.map(|all| all.saturating_sub(first.time()));
        let second = again.explore_within_budget(program, here, None);
        if second.verdict() == Verdict::Violated {
            return second;
        }
        first.plain_uses = Plain::Explored(second.executions());
        for doubt in &second.report().inconclusive {
            if !first.report().inconclusive.contains(doubt) {
                first.found_out.report.note(doubt.clone());
            }
        }
        let about = crate::failure::no_plain_use(second.executions());
        first.found_out.report.fact("freed memory", about);
        first
    }

    fn looks_for_plain_uses(&self, first: &Outcome) -> bool {
        IS_POSSIBLE
            && self.guard_freed.or_else(of_environment).is_none()
            && first.plain_uses == Plain::Unseen
            && first.memory.is_none()
            && (first.verdict() == Verdict::Verified || has_few_preemptions(first))
            && self.algorithm.info().covers.data_races
            && self.schedule(first.checked_at).is_none()
    }
}

/// Whether the environment asks for guarded memory: the command that shows an execution again does.
fn of_environment() -> Option<bool> {
    let asked = std::env::var("SELVEDGE_GUARD_FREED").ok();
    asked.filter(|asked| !asked.is_empty()).map(|asked| asked != "0")
}
