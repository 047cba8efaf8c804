//! The search: states are taken over in the order in which they were reached.

use std::num::NonZeroUsize;

use selvedge_core::{
    Effect, Ended, Fault, Inconclusive, Promises, Report, Status, Step, System, Verdict,
};

use super::expand::{Expanded, Expander, Followed, Taken, To};
use super::growth;
use super::hash::Hash;
use super::liveness::{self, Graph};
use super::store::{Keeps, Put, StateId, Store};
use super::workers::{Alone, Team, Workers};
use crate::options::Observer;
use crate::search::run::Run;

/// A search of the state graph, which can be paused.
pub(crate) struct Search<'a, S> {
    pub(super) run: Run<'a, S>,
    pub(super) store: Store,
    pub(super) hash_bits: u32,
    /// The state that is expanded next.
    at: StateId,
    /// The first state that is one step further away than that.
    further: StateId,
    /// The final states, as far as it is known.
    finals: Vec<StateId>,
    /// What the promises of the program are decided on, if it makes any.
    graph: Option<Graph>,
    /// Whether all steps are taken in every state.
    is_whole: bool,
    /// The threads whose names make no difference.
    pub(super) renamed: Vec<String>,
    // Buffers.
    pub(super) steps: Vec<Step>,
    pub(super) statuses: Vec<Status>,
    pub(super) bytes: Vec<u8>,
    pub(super) effect: Effect,
    /// Whether a state was expanded only in part.
    is_reduced: bool,
}

impl<'a, S: System> Search<'a, S> {
    /// Begins in the initial state of a system that can save its states.
    pub(super) fn new(mut run: Run<'a, S>) -> Self {
        let promises = run.system.promises();
        let graph = promises.map(|promises| Graph::new(promises.count(), &run.options.budget));
        // A promise is about every state on the way: nothing is left out.
        let is_whole = run.options.unreduced || graph.is_some();
        let renamed = match run.system.states() {
            Some(states) if run.options.symmetry && !is_whole => states.up_to_renaming(),
            _ => Vec::new(),
        };
        let (keeps, hash_bits) = match run.options.hash_compact {
            true => (Keeps::Hashes, run.options.caps.hash_bits),
            false => (Keeps::States, u64::BITS),
        };
        let store = Store::new(keeps, run.options.caps.kept_states);
        let mut search = Self {
            run,
            store,
            hash_bits,
            at: StateId::FIRST,
            further: StateId::FIRST.next(),
            finals: Vec::new(),
            graph,
            is_whole,
            renamed,
            steps: Vec::new(),
            statuses: Vec::new(),
            bytes: Vec::new(),
            effect: Effect::default(),
            is_reduced: false,
        };
        search.save();
        search.store.put(Hash::of(&search.bytes, hash_bits), &search.bytes, None);
        search
    }

    /// Returns one that expands states of this search.
    fn expander(&self) -> Expander {
        let promises = self.graph.as_ref().map_or(0, Graph::promises);
        Expander::new(self.is_whole, promises, self.hash_bits)
    }

    /// Returns another system of the program, whose states are those of this search, and one that expands them.
    pub(super) fn member(&self, make: &dyn Fn() -> S) -> (S, Expander) {
        let mut system = make();
        if !self.renamed.is_empty()
            && let Some(states) = system.states()
        {
            states.up_to_renaming();
        }
        (system, self.expander())
    }

    /// Returns so many workers, if there are several and others can expand states of this search.
    pub(super) fn team(&mut self, make: &dyn Fn() -> S, workers: NonZeroUsize) -> Option<Team<S>>
    where
        S: Send,
    {
        let is_shared = self.run.system.states().is_some_and(|states| states.mean_the_same());
        let piece = self.run.options.caps.piece;
        (workers.get() > 1 && is_shared).then(|| Team::new(workers, piece, || self.member(make)))
    }

    /// As [`Search::advance_with`], alone.
    pub(crate) fn advance(&mut self, is_enough: impl Fn(u64, usize) -> bool) -> bool {
        let mut alone = Alone::new(self.expander());
        self.advance_with(&mut alone, is_enough)
    }

    /// Expands states until there are none left, or something ends the search, or `is_enough` says so of the steps taken and
    /// the bytes of all states. Returns whether the search is over.
    pub(super) fn advance_with(
        &mut self,
        workers: &mut impl Workers<S>,
        is_enough: impl Fn(u64, usize) -> bool,
    ) -> bool {
        while self.store.has(self.at) && !self.run.is_stopped() {
            let budget = &self.run.options.budget;
            let found = workers.expand(&mut self.run.system, self.at, &self.store, budget);
            // A worker that was interrupted has left out states; but then the budget is exhausted, and nothing is taken over.
            for (found, expanded, steps) in in_order(found) {
                if self.run.is_stopped() {
                    break;
                }
                if is_enough(self.run.report.steps, self.store.bytes_in_use()) {
                    return false;
                }
                if self.at == self.further {
                    self.run.report.longest += 1;
                    self.further = self.store.end();
                }
                let goes_on = self.take_over(found, expanded, steps);
                self.run.report.states = Some(self.store.len() as u64);
                if !goes_on {
                    break;
                }
                let share = self.store.share_up_to(self.at);
                self.run.after_steps(steps.len().max(1), &|| share);
                self.at = self.at.next();
            }
            self.store.expanded_before(self.at);
        }
        if !self.run.is_stopped() {
            self.decide_promises();
        }
        true
    }

    /// Decides what is promised, when all states are known.
    fn decide_promises(&mut self) {
        let Some(graph) = self.graph.take() else { return };
        let fairness = self.run.options.fairness;
        let mut kept = 0;
        for promise in 0..graph.promises() {
            let Some(violation) = self.promises().map(|promises| promises.broken(promise)) else {
                return;
            };
            let Some(lasso) = liveness::broken(&graph, promise, violation.kind, fairness) else {
                kept += 1;
                continue;
            };
            let Some((steps, cycle)) = self.steps_of(&lasso) else {
                self.run.give_up(
                    "an execution that breaks a promise was found, but states with the same hash hide its steps: leave out \
                     --hash-compact"
                        .to_owned(),
                );
                continue;
            };
            let violation = liveness::told(violation, &steps, cycle, fairness);
            self.run.note_broken(violation, &steps, cycle);
            if self.run.is_stopped() {
                return;
            }
        }
        if !self.run.is_stopped() {
            let (of, fairness) = (graph.promises(), fairness.name());
            let told = match self.is_proof() {
                true => format!("{kept} of {of} kept, fairness: {fairness}"),
                false => format!(
                    "{} of {of} broken, fairness: {fairness}; whether others are kept is not known: the search is incomplete",
                    of - kept
                ),
            };
            self.run.report.fact("promises", told);
        }
    }

    /// Returns whether nothing was left out, when the search is over.
    fn is_proof(&self) -> bool {
        self.run.report.inconclusive.is_empty() && self.store.keeps() == Keeps::States
    }

    fn promises(&mut self) -> Option<&mut dyn Promises> {
        self.run.system.promises()
    }

    /// Returns how much memory the states need.
    pub(crate) fn bytes_in_use(&self) -> usize {
        self.store.bytes_in_use()
    }

    /// Returns whether what was found is an answer, when the search is over.
    pub(crate) fn has_answer(&self) -> bool {
        let is_spent = self.run.options.budget.is_spent();
        !is_spent && self.run.report.verdict() != Verdict::Inconclusive
    }

    /// Tells an observer of all final states, in the order in which they were found: for one that was not told of the search.
    pub(crate) fn retell(&mut self, observer: &mut dyn Observer) {
        observer.begins();
        for index in 0..self.finals.len() {
            let state = self.finals[index];
            self.restore(state);
            let (ending, violation) = self.run.system.end();
            if observer.wants_steps() {
                let how = match violation {
                    Some(_) => Ended::Violated,
                    None => Ended::Maximal(ending),
                };
                let steps = self.path(state);
                observer.ended(&steps, how);
                self.restore(state);
            }
            if let Some(conditions) = self.run.system.conditions() {
                observer.state(conditions, ending);
            }
        }
    }

    /// Ends the search: what was found.
    pub(crate) fn into_report(mut self) -> Report {
        self.note_compaction();
        let is_cut = self.store.has(self.at) && self.run.report.violations.is_empty();
        if is_cut && let Some(system) = self.run.system.states() {
            let grows = growth::growing(system, &self.store);
            if let Some(it) = grows {
                self.run.report.fact(
                    "most values",
                    format!("{}: {} in {} of the states", it.name, it.values, it.of),
                );
            }
        }
        if !self.renamed.is_empty() {
            let told =
                format!("states are up to the names of threads: {}", self.renamed.join(", "));
            self.run.report.fact("symmetry", told);
        }
        if let Some(path) = self.about_path() {
            self.run.report.fact("path", path.to_owned());
        }
        self.run.into_report()
    }

    /// Says whether the execution with the first violation is the shortest.
    fn about_path(&self) -> Option<&'static str> {
        let (violation, _) = self.run.report.violations.first()?;
        let is_searched_whole = !self.is_reduced && self.store.keeps() == Keeps::States;
        Some(match (violation.kind.is_about_promises(), is_searched_whole) {
            (true, _) => {
                "may not be the shortest: neither the steps before the cycle nor the cycle"
            }
            (false, true) => "the shortest, before it is rearranged for fewer context switches",
            (false, false) => match self.store.keeps() {
                Keeps::States => "may not be the shortest; --unreduced finds the shortest",
                Keeps::Hashes => {
                    "may not be the shortest; --unreduced without --hash-compact finds the shortest"
                }
            },
        })
    }

    /// Says that different states may have been taken for one.
    fn note_compaction(&mut self) {
        let is_complete = !self.store.has(self.at) && !self.run.is_stopped();
        if self.store.keeps() == Keeps::Hashes && is_complete {
            let chance = chance(self.store.len(), self.hash_bits);
            self.run.report.note(Inconclusive::Assumed(format!(
                "--hash-compact keeps {} bits of each state, and takes different states with the same bits for one: the \
                 chance that this hides something is about {chance:.0e}; to keep every state in full, leave it out",
                self.hash_bits
            )));
        }
    }

    /// Takes over what was found of the next state. Returns false if the search ends.
    fn take_over(&mut self, found: &Followed, expanded: &Expanded, steps: &[Taken]) -> bool {
        let state = self.at;
        if let (Some(graph), Some(meaning)) = (&mut self.graph, &expanded.meaning) {
            match meaning {
                Ok(meaning) => graph.enter(meaning.is_void, found.meaning(meaning)),
                Err(why) => {
                    self.run.give_up(why.clone());
                    self.run.stop_now();
                    return false;
                }
            }
        }
        if steps.is_empty() {
            self.finish(state);
        }
        for taken in steps {
            self.run.report.steps += 1;
            if let Some(fault) = found.fault(taken) {
                self.note_fault(state, taken.step, fault);
                if self.run.is_stopped() {
                    return false;
                }
            }
            let put = match taken.to {
                To::Known(next) => Put::Known(next),
                To::New { hash, start, end } => {
                    self.store.put(hash, found.bytes(start, end), Some((state, taken.step)))
                }
            };
            let (Put::New(next) | Put::Known(next)) = put else {
                self.run.give_up(format!(
                    "there are more than {} states, which is all that `states` can keep",
                    self.store.len()
                ));
                self.run.stop_now();
                return false;
            };
            if let Some(graph) = &mut self.graph {
                graph.add(next.index(), taken.step.thread, taken.is_marked);
            }
        }
        self.is_reduced |= expanded.is_reduced;
        true
    }

    /// Judges a state in which no thread is enabled.
    fn finish(&mut self, state: StateId) {
        self.restore(state);
        let (ending, violation) = self.run.system.end();
        let is_violated = violation.is_some();
        self.finals.push(state);
        self.run.count_ending(ending);
        if self.run.wants_steps() {
            let steps = self.path(state);
            let how = if is_violated { Ended::Violated } else { Ended::Maximal(ending) };
            self.run.tell_ended(&steps, how);
        }
        if let Some(violation) = violation.filter(|it| !self.run.report.knows(it)) {
            let steps = self.path(state);
            self.follow(&steps);
            // Names of spawned threads depend on how they came into being.
            let violation = self.run.system.end().1.unwrap_or(violation);
            self.run.note_violation_behind(violation, steps);
        } else if is_violated && !self.run.options.keep_going {
            self.run.stop_now();
        }
        self.restore(state);
        self.run.tell_state(ending);
        let share = self.store.share_up_to(state);
        self.run.after_execution(&|| share);
    }

    #[cold]
    fn note_fault(&mut self, state: StateId, step: Step, fault: &Fault) {
        match fault {
            Fault::GaveUp(reason) => self.run.give_up(reason.clone()),
            Fault::Violation(violation) => {
                if self.run.report.knows(violation) {
                    return;
                }
                let mut steps = self.path(state);
                steps.push(self.step_that_fails(&steps, step, violation));
                let violation = self.follow(&steps).unwrap_or_else(|| violation.clone());
                self.run.note_violation_behind(violation, steps);
            }
        }
    }

    fn restore(&mut self, state: StateId) {
        if let Some(states) = self.run.system.states() {
            states.restore(self.store.bytes(state));
        }
    }
}

/// Returns the chance that two of so many states have the same hash of so many bits, or more than that chance.
fn chance(states: usize, bits: u32) -> f64 {
    let states = states as f64;
    (states * (states - 1.0) / 2.0 / 2_f64.powi(bits as i32)).min(1.0)
}

/// Returns what was found, state by state.
fn in_order(found: &[Followed]) -> impl Iterator<Item = (&Followed, &Expanded, &[Taken])> {
    found.iter().flat_map(|found| found.states().map(move |(state, steps)| (found, state, steps)))
}
