//! Sleep sets alone.
//!
//! P. Godefroid: *Partial-Order Methods for the Verification of Concurrent Systems*, LNCS 1032, 1996,
//! chapter 5.
//!
//! | thesis | here |
//! |---|---|
//! | `s.Sleep` | `SleepSets::last` |
//! | the loop over `T` at each state | `backtrack.rs`, with a backtrack set of all threads |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace. **Not guaranteed:** no redundant work; every
//! enabled thread is tried at every node, and most of these attempts end redundant.
//! **Differs from the paper:** 1. sleepers keep the footprint they had when they were explored, since
//! the footprint of a pending step can depend on the state. 2. Threads are tried in the order of their names, so that
//! what is left of a state means the same in every process (`sleep/worker.rs`).
//! **Cost:** time per execution linear in its length times the size of the sleep sets.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle, golden programs.

mod worker;

pub(crate) use worker::begin;

use selvedge_core::{Report, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::reductions::backtrack::{self, Rule};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::order::Order;
use crate::search::run::Run;
use crate::trace::frontier::Frontier;
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "sleep",
    summary: "sleep sets alone",
    advice: "As a baseline: what sleep sets contribute alone. The other reductions include them.",
    paper: "Godefroid, LNCS 1032, 1996",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds, Setting::Division],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    backtrack::explore(EveryThread::default(), make, options, observer)
}

/// From every state, every thread is tried that does not sleep.
#[derive(Default)]
struct EveryThread {
    order: Order,
}

impl<S: System> Rule<S> for EveryThread {
    fn frontier(&mut self, run: &Run<'_, S>, sleep: &SleepSets, _: ThreadId) -> Frontier {
        self.order.update(&run.system);
        let is_awake = |&thread: &ThreadId| {
            let mut all = (0..run.system.choices(thread)).map(|choice| Step { thread, choice });
            all.any(|step| !sleep.contains(step))
        };
        let enabled = self.order.threads().filter(|&thread| run.is_enabled(thread));
        enabled.filter(is_awake).collect()
    }
}
