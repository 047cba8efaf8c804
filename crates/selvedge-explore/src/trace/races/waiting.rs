//! Races with a step that can wait: taking a reader-writer lock, an `await`, lowering a semaphore.
//!
//! Reversing a race `e ⋖ e'` runs `e'` after `pre(E,e).K` where `K = notdep(e,E)`, as for any other step.
//! But `K` may contain other events that block `e'`: with `x = 1 ‖ y = 1 ‖ await x == 0 && y == 0`
//! neither race alone can be reversed. Then it is reversed after each *largest* part of `K` that is
//! closed under happens-before and after which `e'` can run (`enabling.rs` finds them).
//!
//! **Why the largest parts are enough.** Let `w'.e'…` be a continuation of `E' = pre(E,e)` that no branch of
//! `E'` has begun, where `e' ` runs after `w'` and would wait after `e.w'`. Of all branches `b` of `E'`,
//! explored or asleep, take one for which the longest prefix of that continuation that is independent of `b`
//! is longest, and of those one with an execution that begins with `E'.b.w'` and has the fewest
//! events outside of `w'` that block `e'` without `b`: call them `X`. The events of `w'` are a part of its
//! `K` after which `e'` can run, so a largest part `L ⊇ w'` is tried, and `L.e'` is inserted or covered by
//! a branch `c`, a weak initial of it. If `c` is in `w'`, or `e'`, the continuation has begun after all.
//! If `c` is independent of `w'` and of `e'`, it contradicts the first choice. Otherwise `c` is in `L ∩ X`, and
//! the execution that begins with `E'.c`, the rest of `L`, and `e'` contradicts the second one. So each largest
//! part is needed, and no other is: what a smaller part leads to is found from the executions of the larger one.

use selvedge_core::{
    Access, Execution, Position, System, ThreadId, commute, may_enable_only, never_disables,
};
use smallvec::SmallVec;

use super::enabling::largest_parts;
use super::{Later, OnReversal, Reversal, decided, hard_causes, parts, place, what_if};
use crate::search::run::Run;
use crate::trace::clock::{Clock, join};
use crate::trace::sequence::Move;

/// A step that can wait, executed or not.
pub(super) struct Waiting {
    later: Later,
    pub(super) thread: ThreadId,
    accesses: SmallVec<[Access; 4]>,
    /// What happens before it whatever it waits for: a clock.
    known: Clock,
    /// Whether one object alone decides when it can run.
    single: bool,
}

impl Waiting {
    pub(super) fn new<S: System>(
        run: &Run<'_, S>,
        later: Later,
        accesses: SmallVec<[Access; 4]>,
    ) -> Self {
        let execution = &run.execution;
        let (thread, end, previous) = match later {
            Later::Event(position) => {
                let thread = execution.event(position).thread();
                (thread, position, execution.previous_of_thread(position))
            }
            Later::Pending(thread) => {
                (thread, Position::new(execution.len()), execution.last_of(thread))
            }
        };
        let mut known = Clock::new();
        for cause in previous.into_iter().chain(hard_causes(execution, &accesses, end)) {
            join(&mut known, execution.clock(cause));
        }
        let own = accesses.iter().filter(|access| !access.mode.is_cause());
        let single = own.clone().count() == 1 && own.clone().all(|access| !access.mode.is_memory());
        Self { later, thread, accesses, known, single }
    }

    /// Calls `found` with every sequence that reverses a race of the step. Returns the positions of nodes
    /// where the effect of the step is not known: they must be expanded in full.
    pub(super) fn reversals<S: System>(
        &self,
        run: &mut Run<'_, S>,
        reversal: &mut Reversal,
        found: OnReversal<'_>,
    ) -> Vec<Position> {
        let mut expand = Vec::new();
        // What happens before a race that was reversed is reversed from there.
        let mut reversed = Clock::new();
        for e in self.candidates(&run.execution) {
            let id = run.execution.event(e).id;
            if self.single && reversed.get(id.thread.index()).is_some_and(|&n| n > id.nth) {
                continue;
            }
            match self.reverse(run, e, reversal, found) {
                Reversed::Nothing => {}
                Reversed::Some => join(&mut reversed, run.execution.clock(e)),
                Reversed::Unknown => expand.push(e),
            }
        }
        expand
    }

    /// Returns the events of other threads, latest first, that it conflicts with and that it could run without.
    fn candidates(&self, execution: &Execution) -> SmallVec<[Position; 8]> {
        let mut candidates: SmallVec<[Position; 8]> = SmallVec::new();
        for (nth, access) in self.accesses.iter().enumerate() {
            let mut look_at = |(position, other): (Position, Access)| {
                if self.knows(execution, position) {
                    // If nothing commutes with it, everything before it is known too.
                    return commute(other.mode, other.mode) || execution.is_relaxed();
                }
                if !commute(other.mode, access.mode) && !may_enable_only(other.mode, access.mode) {
                    candidates.push(position);
                }
                true
            };
            let _known = match self.later {
                _ if access.mode.is_cause() => continue,
                Later::Event(event) => execution.history_of_access(event, nth).all(&mut look_at),
                Later::Pending(_) => {
                    let end = Position::new(execution.len());
                    execution.history(access.object, end).all(&mut look_at)
                }
            };
        }
        if let Later::Event(position) = self.later
            && execution.is_relaxed()
        {
            candidates.extend_from_slice(execution.predecessors(position));
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.dedup();
        candidates
    }

    /// Returns whether the event happens before the step, whatever that waits for, or is of its thread.
    pub(super) fn knows(&self, execution: &Execution, position: Position) -> bool {
        let id = execution.event(position).id;
        id.thread == self.thread
            || self.known.get(id.thread.index()).is_some_and(|&count| count > id.nth)
    }

    /// Finds the sequences that put it before `e`.
    fn reverse<S: System>(
        &self,
        run: &mut Run<'_, S>,
        e: Position,
        reversal: &mut Reversal,
        found: OnReversal<'_>,
    ) -> Reversed {
        let (before, after) = parts(&run.execution, e, self.later);
        let known = match self.later {
            Later::Event(later) => decided(run, e, later, &before),
            Later::Pending(_) => None,
        };
        let is_decided = known.is_some();
        let alternatives = match known {
            Some(decided) => {
                let choices = match self.later {
                    Later::Event(later) => run.execution.event(later).choices,
                    Later::Pending(_) => 1,
                };
                let decided = decided.map(|(step, now)| Move::new(step, choices, now));
                Some(decided.into_iter().collect())
            }
            None => what_if(run, e, &before, self.thread),
        };
        let Some(alternatives) = alternatives else { return Reversed::Unknown };
        let mut reversed = Reversed::Nothing;
        for last in &alternatives {
            place(run, e, &before, last, &after, reversal);
            match self.later {
                Later::Event(position) => {
                    let now = last.footprint.accesses();
                    reversal.goes_on_after(&run.execution, position, now);
                }
                Later::Pending(_) => reversal.stable = false,
            }
            found(&run.execution, reversal);
            reversed = Reversed::Some;
        }
        // If `e` can never make a step wait, then this one can run right after it: see there.
        let disables = |access: &Access| !never_disables(access.mode);
        if is_decided || !alternatives.is_empty() || !run.execution.accesses(e).iter().any(disables)
        {
            return reversed;
        }
        let Some(parts) = largest_parts(run, self, e, before) else { return Reversed::Unknown };
        for part in parts {
            for last in part.alternatives {
                reversal.start(&run.execution, e, &part.events);
                reversal.sequence.push_move(&last);
                found(&run.execution, reversal);
                reversed = Reversed::Some;
            }
        }
        reversed
    }
}

/// What came of reversing a race.
enum Reversed {
    /// The step is not enabled without the other.
    Nothing,
    /// At least one sequence.
    Some,
    /// The events cannot be run without `e`, so the effect is not known.
    Unknown,
}
