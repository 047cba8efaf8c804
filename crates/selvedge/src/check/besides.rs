//! A test that uses orderings weaker than `SeqCst` is explored twice: first a load returns the last store; if there is no
//! violation, a second search under RC11 lets it return every value that the orderings allow.
//!
//! The first search is faster and supports every operation. If the second one meets an unsupported operation or reaches its
//! limit, the report says so, and the test passes with the result of the first.

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
    /// may return older values. That search is limited to 20,000 executions, or 20 times as many as the first one had if that is
    /// more. If it reaches this limit, or an operation that is not supported under a memory model, the report says so.
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
        if !self.is_open_to_more(&first) {
            return first;
        }
        let mut again = self.clone();
        again.memory = Some(Memory::Rc11);
        again.second.is_running = true;
        again.options.budget = selvedge_core::Budget::unlimited();
        let most = self.second.extent.after(first.executions());
        let asked = self.options.limits.executions.unwrap_or(u64::MAX);
        again.options.limits.executions = Some(most.min(asked));
        again.times.all = self.times.all.map(|all| all.saturating_sub(first.time()));
        let second = again.explore_within_budget(program, here, None);
        match second.verdict() {
            Verdict::Violated => return second,
            Verdict::Verified => {
                first.besides = Some(Besides::Explored(Memory::Rc11, second.executions()));
            }
            Verdict::Inconclusive => {
                let reason = second.report().inconclusive.first().map(Inconclusive::to_string);
                first.besides = Some(Besides::NotAll(Memory::Rc11, reason.unwrap_or_default()));
            }
        }
        first.describe_memory();
        first
    }

    /// Returns whether nothing is wrong so far, and loads of older values may show something.
    fn is_open_to_more(&self, first: &Outcome) -> bool {
        !self.second.is_left_out
            && first.memory.is_none()
            && first.uses_weak_orderings()
            && (first.verdict() == Verdict::Verified || has_few_preemptions(first))
            && self.sample.is_none()
            && self.schedule(first.checked_at).is_none()
    }
}

/// Returns whether nothing but a bound on preemptions is in the way of a proof. There is none in the second search.
fn has_few_preemptions(first: &Outcome) -> bool {
    let is_bound =
        |reason: &Inconclusive| matches!(reason, Inconclusive::Bound(Bound::Preemptions { .. }));
    first.verdict() == Verdict::Inconclusive && first.report().inconclusive.iter().all(is_bound)
}
