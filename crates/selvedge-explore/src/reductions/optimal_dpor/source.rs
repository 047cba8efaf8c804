//! Source-DPOR: source sets.
//!
//! P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: *Optimal Dynamic Partial Order Reduction*,
//! POPL 2014, Algorithm 1. Comments `[l.N]` here and in `backtrack.rs` name the lines of that listing, of which line 1 is
//! `Explore(E, Sleep)`.
//!
//! | paper | here |
//! |---|---|
//! | `E` | `Run::execution` |
//! | `Sleep` | `BacktrackSets::sleep` |
//! | `backtrack(E)` | `BacktrackSets::frontiers` |
//! | `notdep(e,E)`, reversible races | `trace/races.rs` |
//! | `I_[E'](v)` | [`is_initial`] |
//! | [l.2-4], [l.10], [l.12] | `backtrack.rs` |
//! | [l.11], the recursive call | the driver, `search/depth_first.rs` |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace (source sets: at least one; sleep sets: at
//! most one). **Not guaranteed:** no redundant work; a run may end redundant.
//! **Differs from the paper:**
//! 1. Locks and other steps that wait, also threads that are blocked at the end: see `races.rs`.
//! 2. A step can have alternatives; the backtrack set holds threads, and all alternatives of a
//!    thread in it are explored.
//! 3. A step that may touch more once a race of it is reversed is examined again at the end of the
//!    execution, when everything that this may depend on is known: the paper's Algorithm 1 takes
//!    `notdep(e,E)` up to the step only, which loses traces then.
//!
//! **Order of threads.** The paper leaves open which thread begins, and which initial is added. Here the last thread by name
//! begins, and the first initial is added: names mean the same in every process, so the search can be divided. On lastzero, mpc, poke and dispatcher fewer executions are
//! redundant by far than with any other combination of highest and lowest; `docs/papers.md` has the numbers.
//!
//! **Cost:** per event, one clock and, per race of it, time linear in the distance to the other event.
//! Memory linear in the length of an execution.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle, golden programs.

mod abroad;
mod worker;

pub(crate) use worker::begin;

use selvedge_core::{Effect, Position, Report, Status, Step, System, ThreadId, dependent};

use self::abroad::Abroad;
use crate::options::{Observer, Options};
use crate::reductions::backtrack::{self, BacktrackSets, Rule};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::depth_first::Halt;
use crate::search::order::Order;
use crate::search::run::Run;
use crate::trace::frontier::Frontier;
use crate::trace::races::{Later, Reversal, reversals};
use crate::trace::sequence::Sequence;
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "source",
    summary: "source sets: one complete execution per trace, some redundant ones",
    advice: "The least memory, and no redundant execution on many programs; on others, redundant \
             executions can outnumber the traces by far.",
    paper: "Abdulla, Aronis, Jonsson, Sagonas, POPL 2014, Algorithm 1",
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
    backtrack::explore(SourceSets::new(), make, options, observer)
}

struct SourceSets {
    order: Order,
    reversal: Reversal,
    /// Events of the execution of which a race must be examined again at its end, in order.
    unstable: Vec<Position>,
    abroad: Abroad,
}

impl<S: System> Rule<S> for SourceSets {
    fn at_state(&mut self, run: &mut Run<'_, S>, _: &mut BacktrackSets) {
        self.order.update(&run.system);
    }

    /// The last thread begins. Which one does is open in the paper, and decides how much is redundant.
    fn first(&self, run: &Run<'_, S>, sleep: &SleepSets) -> Result<Step, Halt> {
        let threads = run.enabled_last_first(&self.order);
        Ok(run.first_awake_of(threads, |step| sleep.contains(step))?.0)
    }

    fn after_step(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets, position: Position) {
        self.unstable.retain(|&older| older < position);
        // All that it depends on happens before it anyway: program order.
        if run.execution.predecessors(position).is_empty() {
            return;
        }
        if !self.reverse_races(run, sets, Later::Event(position)) {
            self.unstable.push(position);
        }
    }

    /// A loop that waits for another thread may have used up all steps. What that thread would do next is seen in no
    /// execution then, so the last event that conflicts with it is a place to go back to.
    fn at_cut(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        let mut effect = Effect::default();
        for place in 0..self.order.len() {
            let thread = self.order.at(place);
            run.sync_to(run.execution.len());
            if run.system.status(thread) != Status::Enabled {
                continue;
            }
            run.system.pending(Step::of(thread), &mut effect);
            let execution = &run.execution;
            let last = (0..execution.len()).map(Position::new).rev().find(|&event| {
                execution.event(event).thread() == thread
                    || dependent(execution.accesses(event), effect.footprint.accesses())
            });
            if let Some(event) = last.filter(|&event| execution.event(event).thread() != thread) {
                self.expand(run, sets, event);
            }
        }
    }

    fn at_end(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        self.unstable.retain(|older| older.index() < run.execution.len());
        for index in 0..self.unstable.len() {
            self.reverse_races(run, sets, Later::Event(self.unstable[index]));
        }
        for place in 0..self.order.len() {
            let thread = self.order.at(place);
            run.sync_to(run.execution.len());
            if run.system.status(thread) == Status::Blocked {
                self.reverse_races(run, sets, Later::Pending(thread));
            }
        }
    }
}

impl SourceSets {
    fn new() -> Self {
        Self {
            order: Order::default(),
            reversal: Reversal::new(),
            unstable: Vec::new(),
            abroad: Abroad::default(),
        }
    }

    /// Adds to the backtrack sets what the races of `later` ask for. Returns whether nothing that comes
    /// after it can matter.
    fn reverse_races<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        sets: &mut BacktrackSets,
        later: Later,
    ) -> bool {
        let mut stable = true;
        let Self { order, reversal, abroad, .. } = self;
        // [l.5-7]
        let expand = reversals(run, later, reversal, &mut |_, reversal| {
            stable &= reversal.stable;
            let (at, sequence) = (reversal.at.index(), &reversal.sequence);
            if at < abroad.floor {
                abroad.ask_for(sequence, at, &mut sets.frontiers[at], order);
            } else {
                ask_for(sequence, &mut sets.frontiers[at], |thread| order.place(thread));
            }
        });
        for at in expand {
            self.expand(run, sets, at);
        }
        stable
    }

    /// Adds all threads that are enabled before the event at a position.
    fn expand<S: System>(
        &mut self,
        run: &mut Run<'_, S>,
        sets: &mut BacktrackSets,
        position: Position,
    ) {
        let at = position.index();
        run.sync_to(at);
        let frontier = &mut sets.frontiers[at];
        for thread in self.order.threads().filter(|&thread| run.is_enabled(thread)) {
            match frontier.threads.contains(&thread) {
                true => {}
                false if at < self.abroad.floor => self.abroad.ask_one(at, frontier, thread),
                false => frontier.threads.push(thread),
            }
        }
    }
}

/// If `I_E'(v) ∩ backtrack(E') = ∅`, adds one member of `I_E'(v)`: the first thread by its `place`.
pub(crate) fn ask_for(
    sequence: &Sequence,
    frontier: &mut Frontier,
    place: impl Fn(ThreadId) -> usize,
) {
    // [l.8-9]
    if !frontier.threads.iter().any(|&thread| is_initial(sequence, thread)) {
        let mut lowest = sequence.step(0).thread;
        for thread in (1..sequence.len()).map(|index| sequence.step(index).thread) {
            if place(thread) < place(lowest) && is_initial(sequence, thread) {
                lowest = thread;
            }
        }
        frontier.threads.push(lowest);
    }
}

/// Returns whether the first event of `thread` in the sequence has no predecessor in it.
pub(crate) fn is_initial(sequence: &Sequence, thread: ThreadId) -> bool {
    let first = (0..sequence.len()).find(|&index| sequence.step(index).thread == thread);
    first.is_some_and(|index| {
        (0..index).all(|before| !dependent(sequence.accesses(before), sequence.accesses(index)))
    })
}
