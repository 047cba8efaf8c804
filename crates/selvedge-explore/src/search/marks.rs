//! How much of a search is done, by traces that were drawn at random before.
//!
//! A trace that a random execution has met stands for so many traces (`estimate.rs`). A search meets those that were drawn one after
//! the other: what the ones that it has met stand for, of what all of them stand for, is the share of it that is done. In which order it
//! explores, and how large its subtrees are, makes no difference to that. The share is that of a sample, so it is off by chance.

use rustc_hash::FxHashMap;
use selvedge_core::{Execution, Mode, ObjectId, Position};

use crate::search::random::Random;

/// A number of a trace or a graph: the same for all executions of it, and in all systems of a program, whose threads may have
/// other numbers.
pub type TraceHash = u64;

/// What was drawn, and what it stands for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Marks {
    /// What each stands for, and whether the search has met it.
    drawn: FxHashMap<TraceHash, (f64, bool)>,
    /// What those stand for that it has met.
    met: f64,
    /// What all of them stand for.
    all: f64,
    /// The sum of the squares.
    squares: f64,
}

impl Marks {
    pub(crate) fn new(drawn: &[(TraceHash, f64)]) -> Self {
        let mut marks = Self::default();
        for &(trace, weight) in drawn {
            marks.drawn.entry(trace).or_default().0 += weight;
            marks.all += weight;
            marks.squares += weight * weight;
        }
        marks
    }

    /// The search has come to a trace.
    #[inline]
    pub(crate) fn meet(&mut self, trace: TraceHash) {
        if let Some((weight, is_met)) = self.drawn.get_mut(&trace)
            && !*is_met
        {
            *is_met = true;
            self.met += *weight;
        }
    }

    /// The search begins again.
    pub(crate) fn begin(&mut self) {
        self.drawn.values_mut().for_each(|(_, is_met)| *is_met = false);
        self.met = 0.0;
    }

    /// Returns the share of the search that is done: as if one more had been drawn that the search has not met, so never all of it.
    pub(crate) fn share(&self) -> f64 {
        match self.met > 0.0 {
            true => self.met / (self.all + self.all / self.number()),
            false => 0.0,
        }
    }

    /// Returns how many that all stand for the same number would tell as much as these do.
    pub(crate) fn number(&self) -> f64 {
        self.all * self.all / self.squares
    }
}

/// Tells traces apart.
#[derive(Default)]
pub struct TraceHasher {
    /// For each event, a number of it together with all that happens before it.
    pasts: Vec<u64>,
    /// Threads that were spawned, and a number of the event that did it.
    spawned: Vec<(ObjectId, u64)>,
}

impl TraceHasher {
    /// Returns the number of the trace of an execution. An event is told by what happens before it, and a spawned thread by the event
    /// that spawned it.
    pub fn hash(&mut self, execution: &Execution) -> TraceHash {
        self.pasts.clear();
        self.spawned.clear();
        let mut sum = 0_u64;
        for position in execution.positions() {
            let before = match execution.previous_of_thread(position) {
                Some(previous) => self.pasts[previous.index()],
                None => self.origin(execution, position),
            };
            // A sum, as their order may be another one in another execution of the trace.
            let others = execution.predecessors(position).iter();
            let others =
                others.fold(0_u64, |sum, other| sum.wrapping_add(self.pasts[other.index()]));
            let choice = execution.event(position).choice;
            let mut past = mixed(mixed(before ^ u64::from(choice)).wrapping_add(mixed(others)));
            for access in execution.accesses(position) {
                if access.mode == Mode::Spawn {
                    past = mixed(past);
                    self.spawned.push((access.object, past));
                }
            }
            self.pasts.push(past);
            sum = sum.wrapping_add(past);
        }
        sum
    }

    /// Returns a number of the thread whose first event this is.
    fn origin(&self, execution: &Execution, first: Position) -> u64 {
        let begin = execution.accesses(first).iter().find(|access| access.mode == Mode::Begin);
        let spawned =
            begin.and_then(|begin| self.spawned.iter().find(|(object, _)| *object == begin.object));
        match spawned {
            Some(&(_, by)) => mixed(!by),
            None => mixed(u64::from(execution.event(first).thread().number())),
        }
    }
}

/// Returns a number of which all bits depend on all bits of this one (SplitMix64).
pub(crate) fn mixed(number: u64) -> u64 {
    Random::new(number).next()
}
