//! Advice for a test that is inconclusive.

use selvedge_core::{Bound, Inconclusive};
use selvedge_report::Advice;

/// Returns what happened, and what to change in the test.
pub(crate) fn advice(reason: &Inconclusive) -> Advice {
    let next = match reason {
        Inconclusive::Bound(Bound::Executions(most)) => {
            format!("raise the limit: Builder::max_executions({})", most.saturating_mul(10))
        }
        Inconclusive::Bound(Bound::Steps(most)) => format!(
            "does a loop end only by chance? make the test smaller, or raise the limit: Builder::max_steps({})",
            most.saturating_mul(10)
        ),
        Inconclusive::Bound(Bound::Preemptions { most, .. }) => format!(
            "raise the bound: Builder::preemptions({}), or leave it out to cover everything",
            most.saturating_add(1)
        ),
        Inconclusive::Bound(Bound::Time) => {
            "raise the limit (Builder::max_time), make the test smaller, or search for bugs with few preemptions first: \
             Builder::preemptions(2)"
                .to_owned()
        }
        Inconclusive::Bound(Bound::Sampling(_)) => {
            "leave out Builder::sample to cover all executions".to_owned()
        }
        Inconclusive::Nondeterministic(_) => {
            "does it depend on time, on random numbers, on addresses, on what an earlier run left, or on threads and locks \
             of `std`?"
                .to_owned()
        }
        // The reason contains its own hint.
        Inconclusive::Bound(_)
        | Inconclusive::GaveUp(_)
        | Inconclusive::Assumed(_)
        | Inconclusive::DataRace(_) => return reason.into(),
    };
    Advice { what: reason.to_string(), next: vec![next] }
}
