//! Constrained dynamic partial-order reduction.
//!
//! E. Albert, M. Gómez-Zamalloa, M. Isabel, A. Rubio: *Constrained Dynamic Partial Order Reduction*,
//! CAV 2018, Algorithm 1. `mod.rs` has the search, with the lines of the listing; `docs/papers.md` lists all parts of the
//! paper, also those in other crates.
//!
//! | paper | here |
//! |---|---|
//! | `back(E)`, `sleep(E)` | `Node::frontier` in `mod.rs`, `Sleepers` in `sleepers.rs` |
//! | `I_{e,n}`, `C(S)` | [`Conditions::constraints`](selvedge_core::Conditions::constraints) |
//! | `U⇒`, `W(b)`, `G(C)` | `lasts` in `independence.rs`, `MayAccess`, `Holding::reads` |
//! | `updateSleepCS` | [`Conditions::try_both_orders`](selvedge_core::Conditions::try_both_orders) |
//!
//! **Equivalence:** states: executions that end in the same state count as the same.
//! **Guarantee:** every final state, deadlock and failing step is found. **Not guaranteed:** that a state is met once, or
//! that no execution is redundant.
//! **Differs from the paper:**
//! 1. The paper's algorithm misses states on rare programs: what it prunes would have shown races.
//!    `lost.rs` finds them.
//! 2. `W` is computed for threads as they stand, with what they know, and for threads that are not enabled too.
//! 3. Tasks that commute may make a thread together: see `independence.rs`.
//! 4. Steps that are not atomic sections take part too, by comparing states; whatever waits, locks or sends does not.
//! 5. Steps that commute wherever they meet are not ordered at all: see `unordered.rs`.
//! 6. Steps that commute but act differently in the other order: see `fragile.rs`.
//! 7. Everything that `source.rs` says about steps that wait or act differently.
//!
//! **Cost:** as `source`; and per race, the steps from its first to its second event are taken again.
//! **Tests:** `selvedge-testkit/tests/constrained.rs`: states of random programs against a search of the state graph.

use selvedge_core::{Report, System};

use crate::conditional::{self, Means};
use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};

pub(crate) const INFO: Info = Info {
    name: "constrained",
    summary: "source sets and independence constraints: one execution where tasks commute",
    advice: "For atomic tasks that mostly commute: counters, sums, sorting, queues. Uses `independent` \
             declarations or synthesised constraints, and compares states where none holds.",
    paper: "Albert, Gómez-Zamalloa, Isabel, Rubio, CAV 2018",
    equivalence: Equivalence::State,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds, Setting::Constraints],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    conditional::explore(Means::Constraints, make, options, observer)
}
