//! Every reachable state once: search of the state graph, with persistent sets.
//!
//! P. Godefroid: *Partial-Order Methods for the Verification of Concurrent Systems*, LNCS 1032, 1996, chapter 4
//! (persistent sets); D. Bošnački, S. Leue, A. Lluch Lafuente: *Partial-Order Reduction for General State Exploring
//! Algorithms*, SPIN 2006 (the proviso for a search in any order).
//!
//! | papers | here |
//! |---|---|
//! | `Closed`, `Open` | the states up to the current one, and those after it, in a [`Store`](store::Store) |
//! | persistent set | `Persistent` in `persistent.rs`: all steps of some threads |
//! | proviso `C3` | `Expander::expand` in `expand.rs`: a step leads to a state that is still open |
//!
//! **Equivalence:** states: each is expanded once, however many executions lead there.
//! **Guarantee:** every final state, deadlock and failing step is found; the search ends if there are finitely many
//! states, also if executions do not. Limits on the length of executions do not apply. **Not guaranteed:** that a state in
//! which a thread can run is visited, if steps that do not interfere lead past it.
//! **Differs from the paper:**
//! 1. What a thread may still access is found from where it stands and what its slots hold
//!    ([`Conditions::may_access`](selvedge_core::Conditions::may_access)), not from a table of its code.
//! 2. The search is breadth first, so that a violation has a path with the fewest steps of all that are explored.
//! 3. No sleep sets: with states that are met again they are not sound as they are (Godefroid, section 5.3).
//!
//! **Symmetry:** with `Options::symmetry`, states that differ only in the names of threads that run the same code count once
//! (C. N. Ip, D. L. Dill: *Better Verification Through Symmetry*, FMSD 9, 1996); what can be renamed is the system's answer
//! ([`States::up_to_renaming`](selvedge_core::States::up_to_renaming)). The path to a state is found by following the states
//! from the initial one, so it has the names that its steps have.
//! **Promises** (`eventually`, `leads_to`, marks of progress) are decided on the whole graph, without persistent sets:
//! `liveness/`.
//! **Several workers** (`workers.rs`) expand open states at a time, in rounds; what they find is taken over in the order of the
//! states, so that counts, verdict and paths are those of one worker. Promises are then decided on the graph by one.
//! **`Options::hash_compact`** keeps a hash of each state that was expanded (P. Wolper, D. Leroy: *Reliable Hashing Without Collision
//! Detection*, CAV 1993), so that nothing is proved.
//! **Cost:** memory of all states; per state, one restore and for each step taken, one save. Data races are about
//! executions, not about states, and are not covered.
//! **Tests:** `selvedge-testkit/tests/states.rs`: random programs, with and without loops, against searches that share no
//! code with this one.

mod expand;
mod growth;
mod hash;
mod liveness;
mod paths;
mod persistent;
mod search;
mod store;
mod workers;

use std::num::NonZeroUsize;

use selvedge_core::{Report, System};

use crate::options::{Jobs, Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::run::Run;

pub(crate) use search::Search;

/// Why a program is not searched.
const CANNOT_SAVE: &str = "this program cannot save its state (System::states), as models in `.sel` files can: use another algorithm";

pub(crate) const INFO: Info = Info {
    name: "states",
    summary: "every reachable state once, with persistent sets",
    advice: "For models that loop: spin locks, servers, barriers in rounds, retransmission; executions may be endless \
             if there are finitely many states. Needs memory for all states; does not detect data races.",
    paper: "Godefroid, LNCS 1032, 1996; Bošnački, Leue, Lluch Lafuente, SPIN 2006",
    equivalence: Equivalence::State,
    covers: Covers { data_races: false, ..Covers::EVERYTHING },
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::Unreduced, Setting::HashCompact, Setting::Fairness, Setting::SharedStates],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    explore_by(make, options, observer, |search| search.advance(|_, _| false))
}

/// Explores with [`Options::jobs`] threads, each of which has a system of its own: the report is that of
/// [`Algorithm::States`](crate::Algorithm::States), which has one.
/// If the bytes of a state do not mean the same to all systems of the program
/// ([`States::mean_the_same`](selvedge_core::States::mean_the_same)), only one works.
pub fn explore_states<S: System + Send>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let Jobs(workers) = options.jobs;
    explore_by(make, options, observer, |search| {
        let mut advance = advance_by(search, make, workers);
        advance(search, &|_, _| false)
    })
}

/// Returns what does as [`Search::advance`], by several workers if they can expand the states of this search.
pub(crate) fn advance_by<S: System + Send>(
    search: &mut Search<'_, S>,
    make: &dyn Fn() -> S,
    workers: NonZeroUsize,
) -> impl FnMut(&mut Search<'_, S>, &dyn Fn(u64, usize) -> bool) -> bool + use<S> {
    let mut team = search.team(make, workers);
    move |search, is_enough| match &mut team {
        Some(team) => search.advance_with(team, is_enough),
        None => search.advance(is_enough),
    }
}

fn explore_by<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
    advance: impl FnOnce(&mut Search<'_, S>) -> bool,
) -> Report {
    let mut run = Run::deciding_promises(make, options, observer);
    if run.system.states().is_none() {
        run.give_up(CANNOT_SAVE.to_owned());
        return run.into_report();
    }
    if options.data_races {
        run.give_up(
            "`states` does not detect data races, which are about executions: use another algorithm for them"
                .to_owned(),
        );
    }
    let mut search = Search::new(run);
    advance(&mut search);
    search.into_report()
}

/// Begins a search that can be paused, of a system that can save its states and promises nothing.
pub(crate) fn begin<'a, S: System>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
) -> Search<'a, S> {
    Search::new(Run::new(make, options, observer))
}
