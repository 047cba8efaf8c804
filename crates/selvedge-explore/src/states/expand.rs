//! What follows from a state: the steps that are necessary, and where they lead.
//!
//! It depends on the state, and on which states have a smaller number: not on what else was found in the meantime. A state
//! that is not in the store yet will get a number greater than those of all that are. So states may be expanded in any order, and by
//! several workers at a time, each against the same store; the result is the same.

use std::ops::Range;

use selvedge_core::{Budget, Effect, Fault, Promises, Status, Step, System, ThreadId};

use super::hash::Hash;
use super::persistent::Persistent;
use super::store::{StateId, Store};

/// What follows from some states, in their order.
#[derive(Default)]
pub(super) struct Followed {
    states: Vec<Expanded>,
    steps: Vec<Taken>,
    /// What is wrong with some of the steps, in their order.
    faults: Vec<Fault>,
    /// Of the states that are not in the store, one after the other.
    bytes: Vec<u8>,
    /// Of each state, for each promise: whether it is asked, and whether it is kept.
    meanings: Vec<(bool, bool)>,
}

/// A state that was expanded.
pub(super) struct Expanded {
    /// Where its steps end.
    end: usize,
    /// Whether only some of its steps were taken.
    pub(super) is_reduced: bool,
    /// What it means for promises, if there are any.
    pub(super) meaning: Option<Result<Meaning, String>>,
}

/// What a state means for promises.
pub(super) struct Meaning {
    /// Its executions do not count: a thread has failed, or an `assume` is false.
    pub(super) is_void: bool,
    of_promises: Range<usize>,
}

/// A step that was taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) step: Step,
    /// Whether it passed a mark of progress.
    pub(super) is_marked: bool,
    /// One of `Followed::faults`.
    fault: Option<usize>,
    pub(super) to: To,
}

/// Where a step leads.
#[derive(Clone, Copy)]
pub(super) enum To {
    Known(StateId),
    /// A state that was not in the store; its bytes are a part of `Followed::bytes`.
    New {
        hash: Hash,
        start: usize,
        end: usize,
    },
}

impl Followed {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.steps.clear();
        self.faults.clear();
        self.bytes.clear();
        self.meanings.clear();
    }

    /// Returns the states that were expanded, each with its steps.
    pub(super) fn states(&self) -> impl Iterator<Item = (&Expanded, &[Taken])> {
        let mut start = 0;
        self.states.iter().map(move |state| {
            let steps = &self.steps[start..state.end];
            start = state.end;
            (state, steps)
        })
    }

    /// Returns these bytes of states that were not in the store.
    pub(super) fn bytes(&self, start: usize, end: usize) -> &[u8] {
        &self.bytes[start..end]
    }

    /// Returns what is wrong with a step.
    pub(super) fn fault(&self, taken: &Taken) -> Option<&Fault> {
        taken.fault.map(|fault| &self.faults[fault])
    }

    /// Returns for each promise whether a state asks for it, and whether it keeps it.
    pub(super) fn meaning(&self, meaning: &Meaning) -> &[(bool, bool)] {
        &self.meanings[meaning.of_promises.clone()]
    }
}

/// Expands states; its buffers are kept.
pub(super) struct Expander {
    /// `None`: all steps are taken in every state.
    persistent: Option<Persistent>,
    promises: usize,
    hash_bits: u32,
    steps: Vec<Step>,
    /// What each thread can do in the state at hand.
    statuses: Vec<Status>,
    saved: Vec<u8>,
    effect: Effect,
}

impl Expander {
    pub(super) fn new(is_whole: bool, promises: usize, hash_bits: u32) -> Self {
        Self {
            persistent: (!is_whole).then(Persistent::default),
            promises,
            hash_bits,
            steps: Vec::new(),
            statuses: Vec::new(),
            saved: Vec::new(),
            effect: Effect::default(),
        }
    }

    /// Adds what follows from some states, up to where the budget is exhausted.
    pub(super) fn expand_all<S: System>(
        &mut self,
        system: &mut S,
        states: Range<StateId>,
        store: &Store,
        budget: &Budget,
        into: &mut Followed,
    ) {
        let mut state = states.start;
        while state < states.end && !budget.is_spent() {
            self.expand(system, state, store, into);
            state = state.next();
        }
    }

    /// Adds what follows from a state.
    fn expand<S: System>(
        &mut self,
        system: &mut S,
        state: StateId,
        store: &Store,
        into: &mut Followed,
    ) {
        if let Some(states) = system.states() {
            states.restore(store.bytes(state));
        }
        list_steps(system, &mut self.steps, &mut self.statuses);
        let meaning = match self.promises {
            0 => None,
            _ => self.meaning(system, into),
        };
        let mut first = self.steps.len();
        if first > 0
            && let Some(persistent) = &mut self.persistent
        {
            first = persistent.first(system, &mut self.steps, &self.statuses);
        }
        // The proviso: some state that follows is expanded later. So no step is put off without end: from each state, such
        // states lead to one in which all steps are taken.
        let mut leads_on = false;
        let mut is_reduced = false;
        for index in 0..self.steps.len() {
            if index == first && leads_on {
                is_reduced = true;
                break;
            }
            leads_on |= self.take(system, state, self.steps[index], store, into);
        }
        into.states.push(Expanded { end: into.steps.len(), is_reduced, meaning });
    }

    /// Takes one step and goes back. Returns whether it leads to a state that is expanded later.
    fn take<S: System>(
        &mut self,
        system: &mut S,
        state: StateId,
        step: Step,
        store: &Store,
        into: &mut Followed,
    ) -> bool {
        system.step(step, &mut self.effect);
        let is_marked = self.promises > 0
            && system.promises().is_some_and(|promises| promises.has_passed_mark(step.thread));
        self.saved.clear();
        if let Some(states) = system.states() {
            states.save(&mut self.saved);
        }
        system.rewind(&[]);
        let fault = self.effect.fault.take().map(|fault| {
            into.faults.push(fault);
            into.faults.len() - 1
        });
        let hash = Hash::of(&self.saved, self.hash_bits);
        let (to, leads_on) = match store.find(hash, &self.saved) {
            Some(next) => (To::Known(next), next > state),
            None => {
                let start = into.bytes.len();
                into.bytes.extend_from_slice(&self.saved);
                (To::New { hash, start, end: into.bytes.len() }, true)
            }
        };
        into.steps.push(Taken { step, is_marked, fault, to });
        leads_on
    }

    /// Returns what the current state means for promises.
    fn meaning<S: System>(
        &self,
        system: &mut S,
        into: &mut Followed,
    ) -> Option<Result<Meaning, String>> {
        let is_void =
            self.statuses.iter().any(|status| matches!(status, Status::Assumed | Status::Failed));
        let promises = system.promises()?;
        let start = into.meanings.len();
        for promise in 0..self.promises {
            match asked_and_kept(promises, promise) {
                Ok(meaning) => into.meanings.push(meaning),
                Err(why) => return Some(Err(why)),
            }
        }
        Some(Ok(Meaning { is_void, of_promises: start..into.meanings.len() }))
    }
}

fn asked_and_kept(promises: &mut dyn Promises, promise: usize) -> Result<(bool, bool), String> {
    Ok((promises.is_asked(promise)?, promises.is_kept(promise)?))
}

/// Lists all steps that can be taken now, by ascending threads, and what each thread can do.
pub(super) fn list_steps<S: System>(system: &S, steps: &mut Vec<Step>, statuses: &mut Vec<Status>) {
    steps.clear();
    statuses.clear();
    for thread in (0..system.thread_count()).map(ThreadId::new) {
        let status = system.status(thread);
        statuses.push(status);
        if status == Status::Enabled {
            let choices = system.choices(thread);
            steps.extend((0..choices).map(|choice| Step { thread, choice }));
        }
    }
}
