//! Context-sensitive dynamic partial-order reduction.
//!
//! E. Albert, P. Arenas, M. García de la Banda, M. Gómez-Zamalloa, P. Stuckey: *Context-Sensitive Dynamic
//! Partial Order Reduction*, CAV 2017; as lines 14 and 16 of Algorithm 1 in the paper on
//! constrained reduction (CAV 2018).
//!
//! | paper | here |
//! |---|---|
//! | `updateSleepCS` | [`Conditions::try_both_orders`](selvedge_core::Conditions::try_both_orders) |
//! | `sleep(E)`, with sequences | `Sleepers` in `sleepers.rs` |
//!
//! **Equivalence:** states: executions that end in the same state count as the same.
//! **Guarantee:** every final state, deadlock and failing step is found. **Not guaranteed:** that a state is met once, or
//! that no execution is redundant.
//! **Differs from the paper:**
//! 1. The races of what is pruned are looked for: see `lost.rs`.
//! 2. Everything that `source.rs` says about steps that wait or act differently.
//!
//! **Cost:** as `source`; and per race, the steps from its first to its second event are taken again.
//! **Tests:** `selvedge-testkit/tests/constrained.rs`: states of random programs against a search of the state graph.

use selvedge_core::{Report, System};

use crate::conditional::{self, Means};
use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};

pub(crate) const INFO: Info = Info {
    name: "context-sensitive",
    summary: "source sets; prunes an order that leads to the same state as the other one",
    advice: "Where steps often commute in the current state and no constraint is declared; `constrained` \
             includes it.",
    paper: "Albert, Arenas, García de la Banda, Gómez-Zamalloa, Stuckey, CAV 2017",
    equivalence: Equivalence::State,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    conditional::explore(Means::States, make, options, observer)
}
