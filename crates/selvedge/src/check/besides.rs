//! A test that uses orderings weaker than `SeqCst` is explored twice: first a load returns the last store; if there is no
//! violation, a second search under RC11 lets it return every value that the orderings allow.
//!
//! The first search is faster and supports every operation. The verdict is about both: if the second one meets an unsupported
//! operation or reaches a limit, it is inconclusive.

use std::rc::Rc;

use selvedge_core::{Bound, Inconclusive, Verdict};
use selvedge_explore::Memory;

use super::Builder;
use super::kept::{Interrupted, Kept};
use crate::outcome::{Besides, Outcome};
use crate::rt::Spot;

impl Builder {
    /// Returns whether all orderings count as `SeqCst`: loads see the last store. Data races still follow the orderings.
    ///
    /// Otherwise a check that passes and has used weaker orderings is explored once more, under [`Memory::Rc11`], where a load
    /// may return older values. If that search meets an operation that is not supported under a memory model, the verdict is
    /// [`Inconclusive`](Verdict::Inconclusive): this option then asks for the result of the first one. After a first search with a
    /// bound on preemptions, the second one is limited to 20,000 executions, or 20 times as many as the first had if that is more.
    ///
    /// `SELVEDGE_SEQUENTIALLY_CONSISTENT=1` in the environment does so for every check.
    pub fn sequentially_consistent(mut self, on: bool) -> Self {
        self.second.is_left_out = on;
        self
    }

    /// Explores the program, and once more under a memory model if that can matter.
    #[track_caller]
    pub(super) fn explore_and_besides(
        &self,
        program: Rc<dyn Fn()>,
        here: Spot,
        kept: Option<(&mut Kept, Option<Interrupted>)>,
    ) -> Outcome {
        let mut first = self.explore_within_budget(Rc::clone(&program), here, kept);
        first = self.with_plain_uses(first, Rc::clone(&program), here);
        if !self.is_open_to_more(&first) {
            return first;
        }
        let mut again = self.clone();
        again.memory = Some(Memory::Rc11);
        again.second.is_running = true;
        again.options.budget = selvedge_core::Budget::unlimited();
        if has_few_preemptions(&first) {
            // No proof is at stake: as much as does not take much longer.
            let most = self.second.extent.after(first.executions());
            let asked = self.options.limits.executions.unwrap_or(u64::MAX);
            again.options.limits.executions = Some(most.min(asked));
        }
        again.times.all = self.times.all.map(|all| all.saturating_sub(first.time()));
        let second = again.explore_within_budget(program, here, None);
        match second.verdict() {
            Verdict::Violated => return second,
            Verdict::Verified => {
                first.besides = Some(Besides::Explored(Memory::Rc11, second.executions()));
            }
            Verdict::Inconclusive => {
                first.besides = Some(Besides::NotAll(Memory::Rc11, second.executions()));
                for doubt in &second.report().inconclusive {
                    first.found_out.report.note(doubt.clone());
                }
            }
        }
        first.describe_memory();
        first
    }

    /// Returns whether nothing is wrong so far, and loads of older values may show something.
    fn is_open_to_more(&self, first: &Outcome) -> bool {
        !self.second.is_left_out
            && !is_left_out_by_environment()
            && first.memory.is_none()
            && first.uses_weak_orderings()
            && (first.verdict() == Verdict::Verified || has_few_preemptions(first))
            && self.sample.is_none()
            && self.schedule(first.checked_at).is_none()
    }
}

/// Tests that were written for loom cannot call `sequentially_consistent`.
fn is_left_out_by_environment() -> bool {
    std::env::var_os("SELVEDGE_SEQUENTIALLY_CONSISTENT").is_some_and(|on| on != "0")
}

/// Returns whether nothing but a bound on preemptions is in the way of a proof. There is none in the second search.
pub(super) fn has_few_preemptions(first: &Outcome) -> bool {
    let is_bound =
        |reason: &Inconclusive| matches!(reason, Inconclusive::Bound(Bound::Preemptions { .. }));
    first.verdict() == Verdict::Inconclusive && first.report().inconclusive.iter().all(is_bound)
}
